/** Models of a channel are picked from what the provider offers, with what they cost here. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { dollarText, sizeText } from '../../web/lib/currency.ts';
import { isApiKey } from '../../web/lib/key-provider.ts';
import { aroundPages, reader, rendered } from './rendered.tsx';

beforeAll(() => aroundPages(reader(100)));
afterAll(() => vi.unstubAllGlobals());

const fact = {
  ...{ model: 'gpt-4o', maker: null, context: 128_000, longest: 4096, takes: [] },
  ...{ input: 2.5, output: 10, cached: null, per_call: null },
};
const unused = { search: '', open: true, onOpen: () => undefined, onChange: () => undefined };
async function picker(name: string, chosen: readonly string[], facts: readonly object[]): Promise<string> {
  const { ModelPicker } = await import('../../web/features/channels/model-picker.tsx');
  const piece = <ModelPicker {...unused} models={[name]} selected={chosen} />;
  return rendered(piece, { answers: { [`model-facts,${name}`]: facts } });
}

test('a model on offer shows its price and size, and whether it is picked', async () => {
  const page = await picker('gpt-4o', ['gpt-4o', 'typed-by-hand'], [fact]);
  expect(page).toContain('$2.50 / $10.00');
  expect(page).toContain('128k');
  expect(page).toMatch(/type="checkbox"[^>]*checked/);
  expect(page).toContain('1 / 1');
});

test('a model without a price says so before a request is refused for it', async () => {
  const page = await picker('house', [], [{ ...fact, model: 'house', context: null, input: null, output: null }]);
  expect(page).toContain('未定价');
  expect(page).not.toMatch(/type="checkbox"[^>]*checked/);
});

test('many models are offered by family, each taken or given back at once; what is alone comes last, and few are one list', async () => {
  const { familiesOf } = await import('../../web/features/channels/model-list.ts');
  const many = [
    ...[
      'gpt-4o',
      'o3',
      'openai/gpt-4.1',
      'o4-mini',
      'claude-sonnet-4-5',
      'text-embedding-3-small',
      'whisper-1',
      'gpt-5',
    ],
    ...['text-embedding-3-large', 'dall-e-2', 'claude-haiku-4-5', '7b-house'],
  ];
  expect(familiesOf(many)).toEqual([
    { name: 'gpt', models: ['gpt-4o', 'openai/gpt-4.1', 'gpt-5'] },
    { name: 'o', models: ['o3', 'o4-mini'] },
    { name: 'claude', models: ['claude-sonnet-4-5', 'claude-haiku-4-5'] },
    { name: 'text-embedding', models: ['text-embedding-3-small', 'text-embedding-3-large'] },
    { name: '', models: ['whisper-1', 'dall-e-2', '7b-house'] },
  ]);
  expect(familiesOf(many.slice(1))).toEqual([{ name: '', models: many.slice(1) }]);
  expect(familiesOf([])).toEqual([]);
  const { ModelPicker } = await import('../../web/features/channels/model-picker.tsx');
  const page = rendered(<ModelPicker {...unused} models={many} selected={['o3', 'o4-mini', 'gpt-5']} />);
  // The family that is taken whole leads, for its models do.
  expect(
    [...page.matchAll(/font-medium">([^<]*)<\/span><span[^>]*>([^<]*)/g)].map(([, name, picked]) => [name, picked]),
  ).toEqual([
    ['o', '2 / 2'],
    ['gpt', '1 / 3'],
    ['claude', '0 / 2'],
    ['text-embedding', '0 / 2'],
    ['其他', '0 / 3'],
  ]);
});

test('an empty offer shows nothing to pick from', async () => {
  const { ModelPicker } = await import('../../web/features/channels/model-picker.tsx');
  expect(rendered(<ModelPicker {...unused} models={[]} selected={[]} />)).toBe('');
});

test.each([
  [2.5, '2.50'],
  [0.075, '0.075'],
  [10, '10.00'],
  [0.0000001, '0.0000001'],
  [0.1 + 0.2, '0.30'],
  [null, '–'],
])('%s dollars are written %s', (value, text) => {
  expect(dollarText(value)).toBe(text);
});

test.each([
  [128_000, '128k'],
  [1_048_576, '1M'],
  [1_500_000, '1.5M'],
  [512, '512'],
  [null, '–'],
])('a size of %s is written %s', (value, text) => {
  expect(sizeText(value)).toBe(text);
});

test('a long text without spaces is a key, the name of a provider is none', () => {
  expect(isApiKey(' sk-abcdefghijklmnopqrstuv\n')).toBe(true);
  expect(isApiKey('Google AI Studio (Gemini)')).toBe(false);
  expect(isApiKey('openrouter')).toBe(false);
});
