/** Drawings, songs and conversations go through the same channels as everything else: retried, cooled down, ejected, addressed and billed alike. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { providerBySlug } from '../../server/providers/catalogue.ts';
import type { Conversation } from '../../server/relay/endpoints/realtime/conversation.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { realtimeUsage, startRealtimeUpstream } from '../support/realtime-upstream.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

const model = 'gpt-4o-realtime-preview';
const drawing = providerBySlug('midjourney')?.type ?? 0;
let gateway: TestGateway;
let bad: Upstream;
let good: Upstream;
let speaking: ReturnType<typeof startRealtimeUpstream>;
let key: string;

beforeEach(async () => {
  gateway = await createTestGateway();
  bad = await startUpstream((response) => sendJson(response, { description: 'out of order' }, 503));
  good = await startUpstream((response) => sendJson(response, { code: 1, description: 'ok', result: 'mj-1' }));
  speaking = startRealtimeUpstream({ answer: (answer) => answer.done(realtimeUsage(10, 10)) });
  await gateway.option('RetryTimes', '2');
  key = (await gateway.token()).key;
});
afterEach(async () => {
  expect(gateway.relay.open()).toBe(0);
  expect(await gateway.verify()).toEqual([]);
  await Promise.all([bad.stop(), good.stop(), speaking.stop()]);
  await gateway.close();
});

const submit = async (path: string, body: unknown) => {
  const response = await gateway.relay.handle(
    new Request(`http://gateway${path}`, {
      method: 'POST',
      headers: { 'mj-api-secret': `sk-${key}` },
      body: JSON.stringify(body),
    }),
    path,
    { ip: () => '127.0.0.1' },
  );
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};
const draw = () => submit('/mj/submit/imagine', { prompt: 'a cat' });
/** The first is asked first. */
const pair = async (type: number, models: string, second: string, more: Record<string, unknown> = {}) => [
  await gateway.channel(bad.url, { type, models, priority: 10, ...more }),
  await gateway.channel(second, { type, models, priority: 1, key: 'sk-other-secret-key' }),
];
const triedIn = async () => {
  const [log] = await gateway.logs();
  return JSON.parse(log?.other ?? '{}').admin_info;
};

test('a drawing whose first channel fails is ordered at the next, and both are reported', async () => {
  const [first, second] = await pair(drawing, 'mj_imagine', good.url);
  const before = await gateway.balance();
  expect(await draw()).toMatchObject({ status: 200, body: { code: 1, result: 'mj-1' } });
  expect(before - (await gateway.balance())).toBe(50_000);
  expect(good.requests).toHaveLength(1);
  expect(good.requests[0]?.headers['mj-api-secret']).toBe('sk-other-secret-key');
  expect((await gateway.logs())[0]).toMatchObject({ channel: second, quota: 50_000 });
  expect(await triedIn()).toMatchObject({
    use_channel: [String(first), String(second)],
    attempts: [{ channel: first, status: 503, message: 'out of order' }, { channel: second }],
  });
  expect((await gateway.services.tasks.drawings(gateway.userId, ['mj-1']))[0]).toMatchObject({ channel_id: second });
});

test('a song goes to the next channel too', async () => {
  await pair(36, 'suno_music', good.url);
  good.script((response) => sendJson(response, { code: 'success', data: 'song-1' }));
  expect(await submit('/suno/submit/music', { prompt: 'x' })).toMatchObject({ status: 200, body: { data: 'song-1' } });
  expect((await gateway.logs())[0]).toMatchObject({ quota: 50_000, channel: 2 });
});

test('work that may have begun is ordered nowhere else, and no user pays for it', async () => {
  const [first] = await pair(drawing, 'mj_imagine', good.url);
  bad.script((response) => void response.end('<html>'));
  const before = await gateway.balance();
  expect(await draw()).toMatchObject({ status: 502, body: { code: 4, type: 'new_api_error' } });
  expect(good.requests).toEqual([]);
  expect(await gateway.balance()).toBe(before);
  expect((await gateway.logs())[0]).toMatchObject({ type: 5, quota: 0, channel: first, end_reason: 'upstream_failed' });
});

test('a caller’s mistake keeps the upstream’s words and is tried once', async () => {
  await pair(drawing, 'mj_imagine', good.url);
  bad.script((response) => sendJson(response, { code: 24, description: 'banned prompt' }, 400));
  const answer = await draw();
  expect(answer).toMatchObject({ status: 400, body: { code: 24 } });
  expect(answer.body.description).toContain('banned prompt');
  expect(good.requests).toEqual([]);
});

test('a key that is refused cools down, and the channel’s next key draws', async () => {
  const keys = 'sk-first-secret\nsk-second-secret';
  await gateway.channel(good.url, { type: drawing, models: 'mj_imagine', key: keys, setting: '{"key_mode":"turn"}' });
  good.script((response, { headers }) =>
    headers['mj-api-secret'] === 'sk-first-secret'
      ? sendJson(response, { description: 'no' }, 401)
      : sendJson(response, { code: 1, result: `mj-${good.requests.length}` }),
  );
  expect((await draw()).body).toMatchObject({ result: 'mj-2' });
  expect((await draw()).body).toMatchObject({ result: 'mj-3' });
  expect(good.requests.map(({ headers }) => headers['mj-api-secret'])).toEqual([
    'sk-first-secret',
    'sk-second-secret',
    'sk-second-secret',
  ]);
});

const open = async () => {
  const request = new Request(`http://gateway/v1/realtime?model=${model}`, {
    headers: { authorization: `Bearer sk-${key}` },
  });
  return gateway.relay.realtime(request, { ip: () => '127.0.0.1' });
};
const receive = (conversation: Conversation) => {
  const received: { type: string }[] = [];
  conversation.open({
    send: (data) => received.push(JSON.parse(String(data)) as { type: string }),
    close: () => undefined,
  });
  return received;
};

test('a conversation whose first channel refuses the socket is held at the next', async () => {
  // A refused socket has cost nothing: it needs no leave to ask the next.
  await gateway.option('RetryTimes', '0');
  const [first, second] = await pair(1, model, speaking.url);
  const conversation = (await open()) as Conversation;
  const received = receive(conversation);
  conversation.message('{"type":"response.create"}');
  await expect.poll(() => received.at(-1)?.type, { timeout: 5000 }).toBe('response.done');
  conversation.close();
  await expect.poll(() => gateway.relay.open()).toBe(0);
  expect(speaking.seen[0]?.headers.get('authorization')).toBe('Bearer sk-other-secret-key');
  expect((await gateway.logs())[0]).toMatchObject({ channel: second, prompt_tokens: 10 });
  expect(await triedIn()).toMatchObject({
    use_channel: [String(first), String(second)],
    attempts: [{ channel: first, status: 503 }, { channel: second }],
  });
});

test('no upstream opens a socket: the caller gets an error in its own form, and the row names the channels tried', async () => {
  const [first] = await pair(1, model, bad.url);
  const refusal = (await open()) as Response;
  expect(refusal.status).toBe(502);
  expect(await refusal.json()).toMatchObject({ error: { code: 'upstream_status' } });
  expect((await gateway.logs())[0]).toMatchObject({ type: 5, quota: 0, end_reason: 'upstream_failed' });
  expect((await triedIn()).use_channel[0]).toBe(String(first));
});

test('a refused key of a conversation waits, however it was refused', async () => {
  const [first = 0] = await pair(1, model, speaking.url);
  bad.script((response) => sendJson(response, { error: { message: 'no', code: 'invalid_api_key' } }, 401));
  const conversation = (await open()) as Conversation;
  receive(conversation);
  conversation.close();
  await expect.poll(() => gateway.relay.open()).toBe(0);
  expect(gateway.relay.channelStatuses([first])).toMatchObject([{ condition: 'cooling' }]);
  expect(gateway.troubles).toMatchObject([{ channelId: first, kind: 'key', status: 401 }]);
});

test('whatever fails at a channel counts towards its ejection', async () => {
  const channel = await gateway.channel(bad.url, { models: `gpt-4o-mini,mj_imagine,${model}` });
  await gateway.option('RetryTimes', '0');
  await gateway.chat(key, { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'x' }] });
  for (let turn = 0; turn < 2; turn++) {
    await draw();
    await open();
  }
  expect(gateway.relay.channelStatuses([channel])).toMatchObject([{ condition: 'ejected' }]);
  expect(bad.requests.map(({ path }) => path.split('?')[0])).toEqual([
    '/v1/chat/completions',
    '/mj/submit/imagine',
    '/v1/realtime',
    '/v1/realtime',
    '/mj/submit/imagine',
    '/v1/realtime',
    '/v1/realtime',
  ]);
  bad.script((response) => sendJson(response, completion(1, 1)));
});
