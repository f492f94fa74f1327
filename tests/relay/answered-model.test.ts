/** Which model answered: what the upstream says of itself beside what was sent, in the row, in the counts and in an alert. */
import { describe, expect, test } from 'vitest';
import { isOtherModel, plainModel, requestIdIn, statedCostIn } from '../../server/contract/answered-model.ts';
import { sharedGateway } from '../support/shared-gateway.ts';
import { sendJson, sendStream } from '../support/upstream.ts';

const { gateway, upstream, key, row } = await sharedGateway();

const ratios = new Map(
  ['gpt-4o', 'gpt-4o-mini', 'o3', 'claude-sonnet-4-5', 'claude-haiku-4-5', 'gemini-2.5-pro', 'gemini-2.5-flash'].map(
    (name) => [name, 1],
  ),
);
const tables = { modelRatio: ratios, modelPrice: new Map<string, number>() };
const isOther = (sent: string, answered: string, requested = sent) =>
  isOtherModel(tables, { sent, answered, requested });

test.each([
  ['gpt-4o', 'gpt-4o-2024-08-06'],
  ['gpt-4o-2024-05-13', 'gpt-4o-2024-08-06'],
  ['gpt-4o', 'openai/gpt-4o'],
  ['openai/gpt-4o:free', 'gpt-4o'],
  ['GPT-4o', 'gpt-4o'],
  ['claude-sonnet-4-5', 'claude-sonnet-4-5-20250929'],
  ['claude-sonnet-4-5-latest', 'claude-sonnet-4-5-20250929'],
  ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'claude-sonnet-4-5-20250929'],
  ['claude-sonnet-4-5@20250929', 'claude-sonnet-4-5'],
  ['claude-sonnet-4.5', 'claude-sonnet-4-5'],
  ['gemini-2.5-pro', 'models/gemini-2.5-pro-001'],
  ['gemini-2.5-pro-preview-05-06', 'gemini-2.5-pro'],
  // What is not sold may be a name for anything.
  ['ep-20250101-abc', 'gpt-4o'],
  ['my-deployment', 'gpt-4o'],
  ['gpt-4o', 'accounts/x/routers/fast'],
  ['gpt-4o', ''],
])('%s answered by %s is one model', (sent, answered) => {
  expect(isOther(sent, answered)).toBe(false);
});

test.each([
  ['gpt-4o', 'gpt-4o-mini'],
  ['gpt-4o', 'gpt-4o-mini-2024-07-18'],
  ['gpt-4o-mini', 'gpt-4o'],
  ['claude-sonnet-4-5', 'claude-haiku-4-5-20251001'],
  ['gemini-2.5-pro', 'gemini-2.5-flash'],
  ['openai/gpt-4o', 'openai/o3'],
])('%s answered by %s is another model', (sent, answered) => {
  expect(isOther(sent, answered)).toBe(true);
});

test('a deployment is known by what its client asked for', () => {
  expect(isOther('my-deployment', 'gpt-4o-2024-08-06', 'gpt-4o')).toBe(false);
  expect(isOther('my-deployment', 'gpt-4o-mini', 'gpt-4o')).toBe(true);
});

test('a long name takes no time and no room', () => {
  expect(plainModel('-1234'.repeat(100_000)).length).toBeLessThanOrEqual(200);
});

test.each([
  [{ cost: 0.0123 }, 0.0123],
  [{ cost: { total_cost: 0.5 } }, 0.5],
  [{ cost_in_usd_ticks: 37_756_000 }, 0.0037756],
  [{ estimated_cost: 0.01 }, 0.01],
  [{ cost: 0 }, 0],
  [{ cost: -1 }, null],
  [{ cost: 1e9 }, null],
  [{ cost: '0.5' }, null],
  [{ cost: Number.NaN }, null],
  [{}, null],
  [null, null],
])('the cost that %j states', (usage, dollars) => {
  expect(statedCostIn(usage)).toBe(dollars);
});

test('an id of an upstream is a word of its headers', () => {
  expect(requestIdIn(new Headers({ 'request-id': 'req_011' }))).toBe('req_011');
  expect(requestIdIn(new Headers({ 'x-request-id': 'a', 'request-id': 'b' }))).toBe('a');
  expect(requestIdIn(new Headers({ 'x-request-id': 'x'.repeat(129) }))).toBeNull();
  expect(requestIdIn(new Headers({ 'x-request-id': 'a "quoted" one' }))).toBeNull();
  expect(requestIdIn(new Headers())).toBeNull();
});

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, cost: 0.0025 };
const answer = (model: string) => ({
  id: 'c',
  object: 'chat.completion',
  model,
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage,
});
const encoder = new TextEncoder();
const frames = (model: string) =>
  [
    { id: 'c', object: 'chat.completion.chunk', model, choices: [{ index: 0, delta: { content: 'hi' } }] },
    { id: 'c', object: 'chat.completion.chunk', model, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { id: 'c', object: 'chat.completion.chunk', model, choices: [], usage },
  ]
    .map((frame) => encoder.encode(`data: ${JSON.stringify(frame)}\n\n`))
    .concat(encoder.encode('data: [DONE]\n\n'));
const adminOf = async () => {
  const log = await row();
  return (JSON.parse(log?.other ?? '{}') as { admin_info: Record<string, unknown> }).admin_info;
};
const ask = async (stream: boolean) =>
  (await gateway.chat(key, { model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }], stream })).text();

test.each([false, true])('the row keeps model, id and stated cost of an answer; streamed: %s', async (stream) => {
  await gateway.channel(upstream.url, { models: 'gpt-4o' });
  upstream.script((response) => {
    response.setHeader('x-request-id', 'req_77');
    if (stream) void sendStream(response, frames('gpt-4o-mini-2024-07-18'));
    else sendJson(response, answer('gpt-4o-mini-2024-07-18'));
  });
  await ask(stream);
  expect(await adminOf()).toMatchObject({
    upstream_request_id: 'req_77',
    answered_model: 'gpt-4o-mini-2024-07-18',
    other_model: true,
    stated_cost: 0.0025,
  });
});

test('another name of the same model is kept and not marked, the same name is not kept', async () => {
  await gateway.channel(upstream.url, { models: 'gpt-4o' });
  upstream.script((response) => sendJson(response, answer('gpt-4o-2024-08-06')));
  await ask(false);
  const dated = await adminOf();
  expect(dated.answered_model).toBe('gpt-4o-2024-08-06');
  expect(dated.other_model).toBeUndefined();
  upstream.script((response) => sendJson(response, answer('gpt-4o')));
  await ask(false);
  const same = await adminOf();
  expect(same.answered_model).toBeUndefined();
  expect(same.upstream_request_id).toBeUndefined();
});

describe('billed as the answered model', () => {
  const yes = { setting: '{"bill_answered":true,"trusted_usage":true}' };
  const dollars = { prompt_tokens: 1000, completion_tokens: 500, total_tokens: 1500 };
  /** @returns quota of the row, and the model whose price it had; '' = the one that was asked for. */
  const bill = async (setting: string, model: string, more: object = {}) => {
    await gateway.option('ModelRatio', '{"gpt-4o":1.25,"gpt-4o-mini":0.075,"o3":5,"none-free":0}');
    await gateway.option('ModelPrice', '{"per-call":0.001}');
    await gateway.option('CompletionRatio', '{}');
    const { items } = await gateway.services.channels.list({}, 0, 100);
    for (const { id } of items) await gateway.services.channels.remove(id);
    await gateway.channel(upstream.url, { models: 'gpt-4o', setting });
    upstream.script((response) => sendJson(response, { ...answer(model), usage: dollars, ...more }));
    await ask(false);
    const log = await row();
    const { priced_as: as = '' } = JSON.parse(log?.other ?? '{}') as { priced_as?: string };
    return [log?.quota, as];
  };

  test('where it is cheaper, its channel wants it and is trusted', async () => {
    const asked = await bill('', 'gpt-4o-mini-2024-07-18');
    expect(asked[1]).toBe('');
    const [cheaper = 0, as] = await bill(yes.setting, 'gpt-4o-mini-2024-07-18');
    expect(as).toBe('gpt-4o-mini');
    expect(Number(cheaper)).toBeLessThan(Number(asked[0]) / 10);
    expect(Number(cheaper)).toBeGreaterThan(0);
  });

  test.each([
    ['the channel does not want it', '{"trusted_usage":true}', 'gpt-4o-mini'],
    ['the channel wants something else', '{"bill_answered":"yes","trusted_usage":true}', 'gpt-4o-mini'],
    ['the channel is not trusted', '{"bill_answered":true,"trusted_usage":false}', 'gpt-4o-mini'],
    ["its trust is the usual one, and the address is not the provider's", '{"bill_answered":true}', 'gpt-4o-mini'],
    ['it is dearer', yes.setting, 'o3'],
    ['it is the same model', yes.setting, 'gpt-4o-2024-08-06'],
    ['the site does not sell it', yes.setting, 'unknown-model'],
    ['it costs nothing', yes.setting, 'none-free'],
    ['it has a price for each call', yes.setting, 'per-call'],
  ])('not where %s', async (_why, setting, model) => {
    const [asked] = await bill('', 'gpt-4o');
    expect(await bill(setting, model)).toEqual([asked, '']);
  });

  test('not where the upstream reports no usage', async () => {
    const [, as] = await bill(yes.setting, 'gpt-4o-mini', { usage: undefined });
    expect(as).toBe('');
  });

  test('a row that was billed so recomputes', async () => {
    await bill(yes.setting, 'gpt-4o-mini');
    expect((await gateway.services.logs.verify({})).unequal).toBe(0);
  });
});

test.each([
  [
    'Claude',
    14,
    {
      ...{ id: 'msg', type: 'message', role: 'assistant', model: 'gpt-4o-mini', stop_reason: 'end_turn' },
      content: [{ type: 'text', text: 'hi' }],
      usage: { input_tokens: 10, output_tokens: 1 },
    },
  ],
  [
    'Gemini',
    24,
    {
      candidates: [{ content: { role: 'model', parts: [{ text: 'hi' }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 1 },
      modelVersion: 'gpt-4o-mini',
    },
  ],
])('the model is read from answers that are translated: %s', async (_name, type, body) => {
  await gateway.channel(upstream.url, { models: 'gpt-4o', type });
  upstream.script((response) => sendJson(response, body));
  await ask(false);
  expect(await adminOf()).toMatchObject({ answered_model: 'gpt-4o-mini', other_model: true });
});

test('users do not read what is for operators', async () => {
  await gateway.channel(upstream.url, { models: 'gpt-4o' });
  upstream.script((response) => sendJson(response, answer('gpt-4o-mini')));
  await ask(false);
  const log = await row();
  const own = await gateway.services.logs.get(String(log?.id), log?.user_id);
  expect(own.other).not.toContain('gpt-4o-mini');
});

test('answers of another model are counted by channel and alerted', async () => {
  const id = await gateway.channel(upstream.url, { models: 'gpt-4o', name: 'swaps' });
  upstream.script((response) => sendJson(response, answer('gpt-4o-mini')));
  await ask(false);
  await ask(false);
  await row();
  const { otherModels } = gateway.relay.stats();
  expect(otherModels).toContainEqual(expect.objectContaining({ sent: 'gpt-4o', answered: 'gpt-4o-mini', count: 2 }));
  const { trafficRecorder, alerts } = gateway.services;
  trafficRecorder.add(gateway.relay.takeTraffic());
  await trafficRecorder.flush();
  await alerts.check();
  const { alerts: open } = await alerts.list();
  expect(open.filter(({ kind }) => kind === 'other_model')).toEqual([
    expect.objectContaining({ subject: String(id), text: expect.stringMatching(/swaps.* 2 .*gpt-4o → gpt-4o-mini/) }),
  ]);
});
