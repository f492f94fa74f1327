import { afterEach, beforeEach, expect, test } from 'vitest';
import { relevantPart } from '../../server/contract/pricing/open-list.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await createTestGateway();
  await gateway.option('ModelRatio', JSON.stringify({ 'gpt-6.2-sol': 1, 'claude-opus-5-5': 2, drawn: 1 }));
  await gateway.option('CompletionRatio', JSON.stringify({ 'gpt-6.2-sol': 5, 'claude-opus-5-5': 5 }));
  await gateway.option('CacheRatio', JSON.stringify({ 'gpt-6.2-sol': 0.05, 'claude-opus-5-5': 0.05 }));
  for (const table of ['ModelPrice', 'ContextTiers', 'TierFactors', 'PriceDates', 'CreateCacheRatio'])
    await gateway.option(table, '{}');
});
afterEach(() => gateway.close());

interface Proposal {
  readonly changes: readonly { readonly key: string; readonly name: string; readonly after: string | null }[];
  readonly values: Readonly<Record<string, string>>;
  readonly held: readonly { readonly name: string; readonly reason: string }[];
}
const propose = async (list: unknown, careful = true) =>
  (await gateway.call('ratio.propose', {
    text: typeof list === 'string' ? list : JSON.stringify(list),
    careful,
  })) as Proposal;
const ratio = (proposal: Proposal, name: string) =>
  proposal.changes.find((change) => change.key === 'ModelRatio' && change.name === name)?.after;

const lists = {
  litellm: (input: unknown, name = 'gpt-6.2-sol') => ({
    [name]: {
      litellm_provider: 'openai',
      mode: 'chat',
      input_cost_per_token: input,
      output_cost_per_token: 1e-5,
      cache_read_input_token_cost: 1e-7,
    },
  }),
  modelsDev: (input: unknown, name = 'gpt-6.2-sol') => ({
    openai: { id: 'openai', models: { [name]: { id: name, cost: { input, output: 10, cache_read: 0.1 } } } },
  }),
  openRouter: (input: unknown, name = 'gpt-6.2-sol') => ({
    data: [{ id: `openai/${name}`, pricing: { prompt: input, completion: '0.00001', input_cache_read: '0.0000001' } }],
  }),
  genai: (input: unknown, name = 'gpt-6.2-sol') => [
    { id: 'openai', models: [{ id: name, prices: { input_mtok: input, output_mtok: 10, cache_read_mtok: 0.1 } }] },
  ],
};

test.each([
  ['LiteLLM’s map', lists.litellm(2.4e-6)],
  ['models.dev', lists.modelsDev(2.4)],
  ['OpenRouter’s list', lists.openRouter('0.0000024')],
  ['genai-prices', lists.genai(2.4)],
])('%s is proposed in ratios and stored by a person alone', async (_what, list) => {
  const proposal = await propose(list);
  expect(ratio(proposal, 'gpt-6.2-sol')).toBe('1.2');
  expect(proposal.held).toEqual([]);
  expect(JSON.parse(gateway.services.options.text('ModelRatio'))['gpt-6.2-sol']).toBe(1);
  await gateway.call('ratio.apply', { values: proposal.values });
  const again = await propose(list);
  expect([again.changes, again.held]).toEqual([[], []]);
});

test.each([
  ['a negative price', lists.litellm(-1), 'negative'],
  ['a negative price in a text', lists.openRouter('-1'), 'negative'],
  ['no number', lists.openRouter('NaN'), 'not_a_number'],
  ['a text', lists.modelsDev('cheap'), 'not_a_number'],
  ['a thousand million', lists.genai(1e9), 'too_large'],
  ['the unit of another list', lists.litellm(2), 'too_large'],
  ['a threefold move up', lists.litellm(6e-6), 'threefold'],
  ['a threefold move down', lists.modelsDev(0.6), 'threefold'],
] as const)('%s is held back with its reason', async (_what, list, reason) => {
  const { changes, values, held } = await propose(list);
  expect(held).toContainEqual({ name: expect.stringContaining('gpt-6.2-sol'), reason });
  expect([changes, values]).toEqual([[], {}]);
});

test('just under threefold is proposed; without care so is more', async () => {
  expect(ratio(await propose(lists.modelsDev(5.9)), 'gpt-6.2-sol')).toBe('2.95');
  expect(ratio(await propose(lists.modelsDev(60), false), 'gpt-6.2-sol')).toBe('30');
});

test('a price that disappears or changes its unit is held back, a name that is new here is not taken in', async () => {
  const list = {
    'claude-opus-5-5': { litellm_provider: 'anthropic', mode: 'chat' },
    drawn: { litellm_provider: 'openai', mode: 'image_generation', output_cost_per_image: 0.04 },
    'gpt-unknown': { litellm_provider: 'openai', mode: 'chat', input_cost_per_token: 1e-6 },
  };
  const { changes, held } = await propose(list);
  expect(held).toEqual([
    { name: 'drawn', reason: 'unit' },
    { name: 'claude-opus-5-5', reason: 'gone' },
  ]);
  expect(changes).toEqual([]);
});

test('a name that a channel serves is taken in', async () => {
  await gateway.channel('http://127.0.0.1:1', { models: 'gpt-unknown' });
  expect(ratio(await propose(lists.modelsDev(3, 'gpt-unknown')), 'gpt-unknown')).toBe('1.5');
});

test('control characters in a name are refused, in open lists and in others', async () => {
  const bad = 'gpt\u0007-6.2-sol';
  for (const list of [lists.modelsDev(2, bad), { ModelRatio: { [bad]: 1 } }]) {
    const { changes, held } = await propose(list);
    expect(changes).toEqual([]);
    expect(held).toEqual([{ name: 'gpt -6.2-sol', reason: 'control' }]);
  }
});

test.each(['not JSON', '{"a":', '', 'null', '5'])('a value that is not a list is refused: %s', async (list) => {
  await expect(propose(list)).rejects.toMatchObject({ code: 'params_invalid' });
});

test.each(Object.entries(lists))(
  'what the terminal sends of a list in the form of %s proposes the same',
  async (_name, of) => {
    const list = of(_name === 'openRouter' ? '0.0000024' : _name === 'litellm' ? 2.4e-6 : 2.4);
    const short = relevantPart(list, (model) => model === 'gpt-6.2-sol');
    expect(short).not.toBeNull();
    expect(await propose(short)).toEqual(await propose(list));
    expect(relevantPart(list, () => false)).not.toContain('gpt-6.2-sol');
  },
);

test('maps of options are sent as they are', () => {
  expect(relevantPart({ ModelRatio: { a: 1 } }, () => true)).toBeNull();
});

test.each([
  ['models of providers', [{ id: 5, models: [{ id: 'a' }] }]],
  ['models with prices', [{ id: 5, pricing: { prompt: '1' } }]],
])('rows without a name are no list of %s', (_form, rows) => {
  expect(relevantPart(rows, () => true)).toBeNull();
  expect(relevantPart([...rows, { ...rows[0], id: 'named' }], () => true)).not.toBeNull();
});
