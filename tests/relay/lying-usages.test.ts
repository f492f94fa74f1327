/** Upstreams that answer with another model, or say what cannot be of what they used: each is marked, and billed as the option says. */
import { expect, test } from 'vitest';
import { sharedGateway } from '../support/shared-gateway.ts';
import { sendJson, sendStream } from '../support/upstream.ts';

const { gateway, upstream, key, row } = await sharedGateway();

const encoder = new TextEncoder();
/** As many tokens as usual usage says. */
const words = 'word '.repeat(500);
const answers = (model: string, usage: unknown, stream: boolean) =>
  upstream.script((response) => {
    const message = { role: 'assistant', content: words };
    const whole = {
      id: 'c',
      object: 'chat.completion',
      model,
      choices: [{ index: 0, message, finish_reason: 'stop' }],
    };
    if (!stream) return sendJson(response, { ...whole, ...(usage === undefined ? {} : { usage }) });
    const frame = (members: object) => ({ id: 'c', object: 'chat.completion.chunk', model, ...members });
    const frames = [
      frame({ choices: [{ index: 0, delta: { content: words } }] }),
      frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
      ...(usage === undefined ? [] : [frame({ choices: [], usage })]),
    ];
    const lines = [...frames.map((one) => `data: ${JSON.stringify(one)}\n\n`), 'data: [DONE]\n\n'];
    void sendStream(
      response,
      lines.map((one) => encoder.encode(one)),
    );
  });

interface Row {
  readonly quota: number;
  readonly source: string;
  readonly marks: readonly string[] | undefined;
  readonly otherModel: boolean;
  readonly pricedAs: string | undefined;
}

/** Everything at 4 for an answer's token. */
const ratios = { 'gpt-4o': 1.25, 'gpt-4o-mini': 0.075, o3: 5, 'claude-haiku-4-5': 0.5 };

async function answered(setting: string, model: string, usage: unknown, stream: boolean): Promise<Row> {
  await gateway.option('ModelRatio', JSON.stringify(ratios));
  await gateway.option(
    'CompletionRatio',
    JSON.stringify(Object.fromEntries(Object.keys(ratios).map((name) => [name, 4]))),
  );
  const { items } = await gateway.services.channels.list({}, 0, 100);
  for (const { id } of items) await gateway.services.channels.remove(id);
  await gateway.channel(upstream.url, { models: 'gpt-4o', setting });
  answers(model, usage, stream);
  const body = { model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }], stream };
  const response = await gateway.chat(key, { ...body, ...(stream ? { stream_options: { include_usage: true } } : {}) });
  await response.text();
  expect(response.status).toBe(200);
  const log = await row();
  const other = JSON.parse(log?.other ?? '{}') as {
    readonly usage_marks?: readonly string[];
    readonly priced_as?: string;
    readonly admin_info?: { readonly other_model?: boolean };
  };
  return {
    ...{ quota: log?.quota ?? -1, source: log?.usage_source ?? '', marks: other.usage_marks },
    ...{ otherModel: other.admin_info?.other_model === true, pricedAs: other.priced_as },
  };
}

const usage = { prompt_tokens: 1000, completion_tokens: 500, total_tokens: 1500 };
/** At a ratio. */
const priceAt = (ratio: number) => (1000 + 4 * 500) * ratio;
const wanted = '{"bill_answered":true,"trusted_usage":true}';
const untrusted = '{"bill_answered":true,"trusted_usage":false}';

const mismatches = [
  ['gpt-4o-mini', 'gpt-4o-mini'],
  ['gpt-4o-mini-2024-07-18', 'gpt-4o-mini'],
  ['openai/gpt-4o-mini', 'gpt-4o-mini'],
  ['claude-haiku-4-5-20251001', 'claude-haiku-4-5'],
  ['anthropic/claude-haiku-4-5', 'claude-haiku-4-5'],
  ['o3', null],
  ['o3-2025-04-16', null],
  ['openai/o3', null],
] as const;

test.each(
  mismatches.flatMap(([model, cheaper], at) =>
    [wanted, untrusted, ''].map((setting, other) => [model, cheaper, setting, (at + other) % 2 === 0] as const),
  ),
)(
  'a gpt-4o that is in truth %s is marked, and charged as %s where it is cheaper and the channel (%s) wants that; streamed: %s',
  async (model, cheaper, setting, stream) => {
    const isBilledSo = cheaper !== null && setting === wanted;
    expect(await answered(setting, model, usage, stream)).toMatchObject({
      ...{ otherModel: true, source: 'reported', marks: undefined },
      pricedAs: isBilledSo ? cheaper : undefined,
      quota: isBilledSo ? priceAt(ratios[cheaper]) : priceAt(ratios['gpt-4o']),
    });
  },
);

/** As a local count has it, and little more. */
const counted = [2500, 2700] as const;
const lies = [
  ['a negative prompt', { ...usage, prompt_tokens: -1000 }, 'estimated', undefined, counted],
  ['a negative answer', { ...usage, completion_tokens: -500 }, 'estimated', undefined, counted],
  ['more than there is', { ...usage, prompt_tokens: 1e15 }, 'estimated', undefined, counted],
  ['none', undefined, 'estimated', undefined, counted],
  ['nothing but zeros', { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, 'estimated', undefined, counted],
  ['a prompt far larger than it was', { ...usage, prompt_tokens: 100_000 }, 'reported', ['above_sent'], 127_500],
  [
    'more output than the model writes',
    { ...usage, completion_tokens: 50_000 },
    'reported',
    ['above_limit', 'above_delivered'],
    251_250,
  ],
  ['more output than bytes', { ...usage, completion_tokens: 5000 }, 'reported', ['above_delivered'], 26_250],
] as const;

test.each(lies.flatMap((lie) => [false, true].map((stream) => [...lie, stream] as const)))(
  'an upstream that reports %s is marked, and what cannot be is counted here',
  async (_what, reported, source, marks, charged, stream) => {
    const found = await answered('', 'gpt-4o', reported, stream);
    expect([found.source, new Set(found.marks)]).toEqual([source, new Set(marks)]);
    const [low, high] = typeof charged === 'number' ? [charged, charged] : charged;
    expect(found.quota).toBeGreaterThanOrEqual(low);
    expect(found.quota).toBeLessThanOrEqual(high);
  },
);

test('locally counted words are marked as nobody’s claim, however long the answer is', async () => {
  await gateway.channel(upstream.url, { models: 'gpt-4o' });
  const long = 'word '.repeat(20_000);
  upstream.script((response) =>
    sendJson(response, {
      ...{ id: 'c', object: 'chat.completion', model: 'gpt-4o' },
      choices: [{ index: 0, message: { role: 'assistant', content: long }, finish_reason: 'stop' }],
    }),
  );
  expect((await gateway.chat(key, { model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] })).status).toBe(200);
  const log = await row();
  expect(log?.usage_source).not.toBe('reported');
  expect(JSON.parse(log?.other ?? '{}').usage_marks).toBeUndefined();
});
