/** Many small requests of one user cost their exact sum, whichever operation they are of, and each row says what it was charged with. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { recompute } from '../../server/contract/pricing/charge.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;

beforeEach(async () => {
  gateway = await createTestGateway({ quota: 100_000 });
  upstream = await startUpstream((response) => sendJson(response, completion(6, 0)));
  await gateway.option('ModelRatio', '{"small":0.01,"chat":0.1,"gpt-4o-mini":0.075}');
  await gateway.channel(upstream.url, { models: 'small,chat,gpt-4o-mini' });
  ({ key } = await gateway.token());
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

async function ask(path: string, body: object) {
  const response = await gateway.send(key, path, body);
  await response.text();
  return response;
}

const messages = [{ role: 'user', content: 'hi' }];
const embed = () => ask('/v1/embeddings', { model: 'small', input: 'hi' });
const chat = (model: string) => ask('/v1/chat/completions', { model, messages });
const vectors = (tokens: number) =>
  upstream.script((response) => sendJson(response, { data: [{ embedding: [1] }], usage: { prompt_tokens: tokens } }));

/** Every row is recomputed, and they add up to what left the balance. */
async function spent(): Promise<number> {
  const rows = (await gateway.logs()).filter(({ type }) => type === 2);
  let sum = 0;
  for (const { quota, other } of rows) {
    const fields = JSON.parse(other) as { carried?: number };
    expect(typeof fields.carried).toBe('number');
    expect(recompute(fields)?.quota).toBe(quota);
    sum += quota;
  }
  expect(100_000 - (await gateway.balance())).toBe(sum);
  expect(gateway.balances.account(gateway.userId, 0).limits().used).toBe(sum);
  return sum;
}

test('100 embeddings of 49 tokens, one after the other and all at once', async () => {
  vectors(49);
  for (let n = 0; n < 50; n++) await embed();
  expect(await spent()).toBe(24);
  await Promise.all(Array.from({ length: 50 }, embed));
  expect(await spent()).toBe(49);
});

test('chats of two prices and embeddings share one remainder', async () => {
  upstream.script((response) => sendJson(response, completion(4, 0)));
  for (let n = 0; n < 10; n++) await chat('chat');
  upstream.script((response) => sendJson(response, completion(6, 0)));
  for (let n = 0; n < 10; n++) await chat('gpt-4o-mini');
  vectors(20);
  for (let n = 0; n < 5; n++) await embed();
  // 4 + 4.5 + 1
  expect(await spent()).toBe(9);
  await embed();
  await embed();
  expect(await spent()).toBe(9);
  await embed();
  expect(await spent()).toBe(10);
});

test('a balance of nothing but what is left of a unit pays for nothing more than it has', async () => {
  vectors(149);
  await embed();
  const [row] = await gateway.logs();
  expect([row?.quota, JSON.parse(row?.other ?? '{}').carried]).toEqual([1, 0]);
  await embed();
  const [second] = await gateway.logs();
  expect([second?.quota, JSON.parse(second?.other ?? '{}').carried]).toEqual([1, 0.49]);
  await embed();
  const [third] = await gateway.logs();
  expect([third?.quota, JSON.parse(third?.other ?? '{}').carried]).toEqual([2, 0.98]);
});

test('a failed request and a channel’s test leave what was carried as it is', async () => {
  vectors(99);
  await embed();
  upstream.script((response) => sendJson(response, completion(6, 0)));
  const [channel] = await gateway.rows<{ id: number }>('SELECT id FROM channels');
  expect(await gateway.services.channels.test(channel?.id ?? 0, 'chat', false)).toMatchObject({ ok: true });
  upstream.script((response) => sendJson(response, { error: { message: 'no' } }, 400));
  expect((await embed()).status).toBe(400);
  const [failed] = await gateway.logs();
  expect([failed?.quota, JSON.parse(failed?.other ?? '{}').carried]).toEqual([0, undefined]);
  vectors(1);
  await embed();
  const [row] = await gateway.logs();
  expect([row?.quota, JSON.parse(row?.other ?? '{}').carried]).toEqual([1, 0.99]);
});
