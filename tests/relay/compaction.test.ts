/** Long conversations made short for a client that dies without it: on every dialect, natively where the upstream knows how. */
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { scenarios } from '../protocols/scenarios.ts';
import { context, streamOf } from '../protocols/support.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { type Received, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;
const dialects = ['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini-generate'] as const;

const answer = scenarios['plain text'] ?? [];
const dialectOf = (path: string): ProtocolId =>
  path.includes('/responses')
    ? 'openai-responses'
    : path.includes('/messages')
      ? 'anthropic-messages'
      : path.includes('generateContent')
        ? 'gemini-generate'
        : path.includes('GenerateContent')
          ? 'gemini-generate'
          : 'openai-chat';
/** Answers whatever is asked with a few words; knows nothing of compaction. */
const plain = (response: ServerResponse, { path, body }: Received): unknown => {
  if (path.endsWith('/compact')) return sendJson(response, { error: { message: 'no such path' } }, 404);
  const requested = JSON.parse(body.toString()) as { stream?: boolean };
  const codec = codecs[dialectOf(path)];
  if (requested.stream !== true && !path.includes('stream'))
    return sendJson(response, codec.translation.encodeResponse(answer, context));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  return response.end(streamOf(codec, answer));
};
/** The same, and refuses what it does not know. */
const strict = (response: ServerResponse, received: Received): unknown =>
  received.body.toString().includes('compaction')
    ? sendJson(response, { error: { message: "unknown item type 'compaction_trigger'" } }, 400)
    : plain(response, received);

beforeEach(async () => {
  upstream = await startUpstream(plain);
  gateway = await createTestGateway();
  await gateway.option('ModelRatio', '{"m":1}');
  key = (await gateway.token()).key;
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

const channel = (dialect: ProtocolId, models = 'm') =>
  gateway.channel(upstream.url, { type: 199, models, setting: JSON.stringify({ dialect }) });

type Item = Readonly<Record<string, unknown>>;
const user = (text: string): Item => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
const tools = [{ type: 'function', name: 'shell', parameters: { type: 'object', properties: {} }, strict: false }];
const history: readonly Item[] = [
  user('read the file'),
  { type: 'function_call', call_id: 'call_1', name: 'shell', arguments: '{}' },
  { type: 'function_call_output', call_id: 'call_1', output: 'the file says hello' },
];
const trigger = { type: 'compaction_trigger' };

async function ask(path: string, body: unknown) {
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  return { status: response.status, text: await response.text() };
}

/** As Codex reads it: `response.output_item.done` until `response.completed`. */
function readAsCodex(text: string): { items: Item[]; completed: boolean } {
  const events = text
    .split('\n\n')
    .flatMap((frame) => /^data: (.*)$/m.exec(frame)?.[1] ?? [])
    .map((data) => JSON.parse(data) as { type: string; item?: Item });
  return {
    items: events.flatMap(({ type, item }) =>
      type === 'response.output_item.done' && item !== undefined ? [item] : [],
    ),
    completed: events.some(({ type }) => type === 'response.completed'),
  };
}

async function compactedByItem(input: readonly Item[], model = 'm'): Promise<Item> {
  const body = { model, instructions: 'be kind', input: [...input, trigger], tools, stream: true, store: false };
  const { status, text } = await ask('/v1/responses', body);
  expect(status, text).toBe(200);
  const { items, completed } = readAsCodex(text);
  expect(completed).toBe(true);
  const made = items.filter(({ type }) => type === 'compaction');
  expect(items, text).toHaveLength(1);
  expect(made).toHaveLength(1);
  return made[0] ?? {};
}

async function compactedByCall(input: readonly Item[], model = 'm'): Promise<Item[]> {
  const { status, text } = await ask('/v1/responses/compact', { model, instructions: 'be kind', input, tools });
  expect(status, text).toBe(200);
  const compacted = JSON.parse(text) as { object: string; output: Item[]; usage: { output_tokens: number } };
  expect(compacted.object).toBe('response.compaction');
  expect(compacted.usage.output_tokens).toBeGreaterThan(0);
  expect(compacted.output.filter(({ type }) => type === 'compaction')).toHaveLength(1);
  return compacted.output;
}

const lastBody = (): string => upstream.requests.at(-1)?.body.toString() ?? '';
const detailsOf = async (): Promise<readonly Record<string, unknown>[]> =>
  (await gateway.logs()).map(({ other }) => JSON.parse(other || '{}') as Record<string, unknown>);

describe.each(dialects)('%s', (dialect) => {
  test.each([
    ['ignores', plain],
    ['refuses', strict],
  ] as const)('an upstream that %s it: three in a row by item, one row each', async (_name, script) => {
    upstream.script(script);
    await channel(dialect);
    let kept: Item[] = [...history];
    for (let round = 1; round <= 3; round++) {
      const item = await compactedByItem(kept);
      expect(lastBody()).not.toContain('compaction_trigger');
      expect(lastBody()).toContain(round === 1 ? 'the file says hello' : 'Hello');
      kept = [user(`round ${round}`), item];
    }
    const details = await detailsOf();
    expect(details).toHaveLength(3);
    for (const field of details) expect(field).toMatchObject({ compaction: 'summary' });
    // And the conversation goes on.
    const { status } = await ask('/v1/responses', { model: 'm', input: [...kept, user('go on')], tools, stream: true });
    expect(status).toBe(200);
    expect(lastBody()).toContain('Hello');
    expect(lastBody()).not.toContain('gwc1.');
  });

  test('a conversation is compacted three times in a row by calls', async () => {
    await channel(dialect);
    let kept: Item[] = [...history];
    for (let round = 1; round <= 3; round++) {
      const output = await compactedByCall(kept);
      // The user's own words stay beside the summary.
      expect(output.filter(({ type }) => type === 'message')).toEqual(kept.filter(({ role }) => role === 'user'));
      kept = [...output, user(`round ${round}`)];
    }
    expect(await detailsOf()).toHaveLength(3);
  });
});

test('a summary made on one dialect is read on every other one', async () => {
  await gateway.option('SelfUseModeEnabled', 'true');
  for (const dialect of dialects) await channel(dialect, dialect);
  for (const from of dialects) {
    const item = await compactedByItem(history, from);
    for (const to of dialects) {
      const { status } = await ask('/v1/responses', { model: to, input: [item, user('go on')] });
      expect(status, `${from} to ${to}`).toBe(200);
      expect(lastBody(), `${from} to ${to}`).toMatch(/its summary.*Hello/s);
    }
  }
});

test('the summary is sealed, survives a restart with the same key, and is worthless without it', async () => {
  await channel('anthropic-messages');
  const item = await compactedByItem(history);
  expect(String(item.encrypted_content)).not.toContain('Hello');
  const own = key;
  await gateway.close();
  gateway = await createTestGateway();
  await gateway.option('ModelRatio', '{"m":1}');
  await channel('openai-chat');
  key = (await gateway.token()).key;
  expect(key).not.toBe(own);
  expect((await ask('/v1/responses', { model: 'm', input: [item, user('go on')] })).status).toBe(200);
  expect(lastBody()).toContain('Hello');
  const forged = { ...item, encrypted_content: `${String(item.encrypted_content).slice(0, -4)}AAAA` };
  expect((await ask('/v1/responses', { model: 'm', input: [forged] })).status).toBe(400);
});

const nativeItem = { id: 'cmp_up', type: 'compaction', encrypted_content: 'gAAAA-not-ours' };
const nativeUsage = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 120,
};
const nativeStream = [
  ['response.created', { response: { id: 'resp_up', object: 'response', status: 'in_progress', output: [] } }],
  ['response.output_item.added', { output_index: 0, item: nativeItem }],
  ['response.output_item.done', { output_index: 0, item: nativeItem }],
  [
    'response.completed',
    { response: { id: 'resp_up', object: 'response', status: 'completed', output: [nativeItem], usage: nativeUsage } },
  ],
]
  .map(([type, more]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...(more as object) })}\n\n`)
  .join('');
const native = (response: ServerResponse, { path }: Received): unknown => {
  if (path.endsWith('/compact'))
    return sendJson(response, {
      id: 'resp_up',
      object: 'response.compaction',
      created_at: 1,
      output: [nativeItem],
      usage: nativeUsage,
    });
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  return response.end(nativeStream);
};

test('an upstream that knows how gets the bytes as they came, and its answer comes back as it is', async () => {
  upstream.script(native);
  await channel('openai-responses');
  const item = `{"model":"m",  "input":${JSON.stringify([...history, trigger])}, "stream":true}`;
  expect(await ask('/v1/responses', item)).toEqual({ status: 200, text: nativeStream });
  expect(lastBody()).toBe(item);
  const call = `{"model":"m",  "input":${JSON.stringify(history)}}`;
  const compacted = await ask('/v1/responses/compact', call);
  expect(JSON.parse(compacted.text)).toMatchObject({ output: [nativeItem] });
  expect(lastBody()).toBe(call);
  expect(upstream.requests.map(({ path }) => path)).toEqual(['/v1/responses', '/v1/responses/compact']);
  const details = await detailsOf();
  expect(details).toHaveLength(2);
  for (const field of details) expect(field).toMatchObject({ compaction: 'native' });
  const logs = await gateway.logs();
  expect(logs.map(({ prompt_tokens, completion_tokens }) => [prompt_tokens, completion_tokens])).toEqual([
    [100, 20],
    [100, 20],
  ]);
});

test('an upstream that knew nothing of it is not asked natively again, until its channel is edited', async () => {
  const id = await channel('openai-responses');
  await compactedByItem(history);
  expect(upstream.requests).toHaveLength(2);
  await compactedByItem(history);
  expect(upstream.requests).toHaveLength(3);
  await gateway.services.channels.update(id, { name: 'another' });
  await gateway.sync();
  await compactedByItem(history);
  expect(upstream.requests).toHaveLength(5);
  expect(await detailsOf()).toHaveLength(3);
});

test('a key in trouble is no sign that it is not known', async () => {
  upstream.script((response) => sendJson(response, { error: { message: 'no' } }, 401));
  await channel('openai-responses');
  await ask('/v1/responses', { model: 'm', input: [...history, trigger], stream: true });
  expect(upstream.requests).toHaveLength(1);
});

test('a caller’s mistake is returned as it is and is no sign either', async () => {
  const tooLong = {
    error: { message: 'too many tokens', type: 'invalid_request_error', code: 'context_length_exceeded' },
  };
  upstream.script((response) => sendJson(response, tooLong, 400));
  await channel('openai-responses');
  const { status, text } = await ask('/v1/responses', { model: 'm', input: [...history, trigger], stream: true });
  expect(status).toBe(400);
  expect(text).toContain('context_length_exceeded');
  upstream.script(native);
  const again = await ask('/v1/responses', { model: 'm', input: [...history, trigger], stream: true });
  expect(again.text).toBe(nativeStream);
});

test('items that another provider encrypted are left out where they cannot be decrypted, and the row says so', async () => {
  await channel('anthropic-messages');
  expect((await ask('/v1/responses', { model: 'm', input: [nativeItem, user('go on')] })).status).toBe(200);
  expect(lastBody()).not.toContain('gAAAA-not-ours');
  const [field] = await detailsOf();
  expect(JSON.stringify(field?.dropped)).toContain('/messages/0');
});
