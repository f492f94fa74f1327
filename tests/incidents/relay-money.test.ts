/** Money that others lost, gave away or made up while relaying. */
import { afterEach, beforeEach, expect } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, type Script, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';
import { incident } from './incident.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;
const balance = 1_000_000;

beforeEach(async () => {
  gateway = await createTestGateway({ quota: balance });
  upstream = await startUpstream((response) => sendJson(response, completion(10, 5)));
  await gateway.option('ModelRatio', '{"gpt-4o-mini":1,"dall-e-2":1}');
  key = (await gateway.token()).key;
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  expect(await gateway.balance()).toBeGreaterThanOrEqual(0);
  await gateway.close();
  await upstream.stop();
});

const chat = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'one two three' }] };
const ask = (more: object = {}, signal?: AbortSignal) => gateway.chat(key, { ...chat, ...more }, {}, signal);
const frame = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`;
const words = (content: string) => frame({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
const stop = frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
const streaming = (...frames: string[]) =>
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(frames.join(''));
  });
/** Answers after a while, as long as it may. */
const withinLimit: Script = async (response, { body }) => {
  await Bun.sleep(20);
  sendJson(response, completion(10, JSON.parse(String(body)).max_tokens));
};
const rows = async () => (await gateway.logs()).filter(({ type }) => type === 2);
const ended = () => expect.poll(() => gateway.relay.open()).toBe(0);

incident(
  'CVE-2026-71479',
  'a count of images near 2^64 wrapped the charge below zero and credited the caller',
  async () => {
    await gateway.channel(upstream.url, { models: 'dall-e-2' });
    upstream.script((response) => sendJson(response, { created: 1, data: [{ url: 'https://pictures.example/1' }] }));
    const charges: number[] = [];
    for (const n of ['1', '18446744073709551615', '-1', '1e300', '9007199254740993', '0.5', '"7"']) {
      const request = new Request('http://gateway/v1/images/generations', {
        method: 'POST',
        headers: { authorization: `Bearer sk-${key}` },
        body: `{"model":"dall-e-2","prompt":"x","n":${n}}`,
      });
      await (await gateway.relay.handle(request, '/v1/images/generations', { ip: () => '127.0.0.1' })).text();
    }
    for (const { quota } of await rows()) charges.push(quota);
    // One picture came each time, and one is paid each time.
    expect(charges[0]).toBeGreaterThan(0);
    expect(new Set(charges).size).toBe(1);
    expect(await gateway.balance()).toBe(balance - charges.reduce((sum, one) => sum + one, 0));
  },
);

incident('octopus#243', 'an upstream that reported negative usage credited the caller', async () => {
  await gateway.channel(upstream.url);
  for (const [prompt, output] of [
    [-1000, -1000],
    [10, -5],
    [Number.MIN_SAFE_INTEGER, 5],
  ] as const) {
    upstream.script((response) => sendJson(response, completion(prompt, output)));
    await (await ask()).text();
  }
  for (const { quota } of await rows()) expect(quota).toBeGreaterThan(0);
  expect(await gateway.balance()).toBeLessThan(balance);
});

incident('new-api#6609', 'parallel requests each read the same balance and overspent it five times', async () => {
  await gateway.close();
  gateway = await createTestGateway({ quota: 2000 });
  await gateway.option('ModelRatio', '{"gpt-4o-mini":1}');
  await gateway.channel(upstream.url);
  key = (await gateway.token()).key;
  upstream.script(withinLimit);
  const statuses = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const response = await ask({ max_tokens: 100 });
      await response.text();
      return response.status;
    }),
  );
  expect(statuses.filter((status) => status !== 200).length).toBeGreaterThan(20);
  const spent = (await rows()).reduce((sum, { quota }) => sum + quota, 0);
  expect(spent).toBeLessThanOrEqual(2000);
  expect((await gateway.balance()) + spent).toBe(2000);
});

incident('new-api#5690', 'whoever had a large balance was trusted, and nothing was held for the request', async () => {
  await gateway.channel(upstream.url);
  let held = 0;
  const id = gateway.userId;
  upstream.script((response) => {
    held = balance - gateway.balances.account(id, 0).available();
    sendJson(response, completion(10, 5));
  });
  await (await ask()).text();
  expect(held).toBeGreaterThan(0);
});

incident(
  'octopus#234',
  'a key’s quota was checked first and counted later, so parallel requests passed it',
  async () => {
    await gateway.channel(upstream.url);
    key = (await gateway.token({ unlimited_quota: false, remain_quota: 300 })).key;
    upstream.script(withinLimit);
    await Promise.all(Array.from({ length: 30 }, async () => (await ask({ max_tokens: 40 })).text()));
    expect((await rows()).reduce((sum, { quota }) => sum + quota, 0)).toBeLessThanOrEqual(300);
  },
);

incident('litellm#34732', 'parallel requests of a session passed its budget together', async () => {
  await gateway.channel(upstream.url);
  key = (await gateway.token({ day_budget: 300 })).key;
  upstream.script(withinLimit);
  await Promise.all(Array.from({ length: 30 }, async () => (await ask({ max_tokens: 40 })).text()));
  expect((await rows()).reduce((sum, { quota }) => sum + quota, 0)).toBeLessThanOrEqual(300);
});

incident('new-api#4168', 'a prompt was charged although nothing ever came back', async () => {
  await gateway.channel(upstream.url);
  streaming(frame({ error: { message: 'overloaded', type: 'server_error' } }));
  expect((await ask({ stream: true })).status).toBeGreaterThanOrEqual(500);
  expect([await rows(), await gateway.balance()]).toEqual([[], balance]);
  // A stream that opens and says nothing.
  streaming('');
  await (await ask({ stream: true })).text();
  await ended();
  expect([await rows(), await gateway.balance()]).toEqual([[], balance]);
});

incident('new-api#5287', 'the words of an upstream’s error were billed as output', async () => {
  await gateway.channel(upstream.url);
  streaming(words('one two '), frame({ error: { message: 'a very long story of what went wrong '.repeat(50) } }));
  await (await ask({ stream: true })).text();
  expect((await rows())[0]).toMatchObject({ end_reason: 'upstream_broken', completion_tokens: 2 });
});

incident('new-api#5290', 'an answer without a usage object was given back in full', async () => {
  await gateway.channel(upstream.url);
  streaming(words('one two three'), stop, 'data: [DONE]\n\n');
  await (await ask({ stream: true })).text();
  expect((await rows())[0]).toMatchObject({ usage_source: 'estimated', completion_tokens: 3 });
  expect(await gateway.balance()).toBeLessThan(balance);
});

incident('new-api#7062', 'the upstream went on writing, and costing, after the client had left', async () => {
  await gateway.channel(upstream.url);
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(words('one two'));
  });
  const leave = new AbortController();
  const response = await ask({ stream: true }, leave.signal);
  await response.body?.getReader().read();
  leave.abort();
  await expect.poll(() => upstream.requests[0]?.closed).toBe(true);
  await ended();
});

incident('new-api#5235', 'whoever left before a whole answer was ready paid nothing for it', async () => {
  await gateway.channel(upstream.url);
  const leave = new AbortController();
  upstream.script((response) => {
    // The headers are out, the answer is made.
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{');
    setTimeout(() => leave.abort(), 30);
    setTimeout(() => response.end(JSON.stringify(completion(10, 5)).slice(1)), 90);
  });
  await ask({}, leave.signal).catch(() => null);
  await ended();
  expect((await rows())[0]).toMatchObject({ end_reason: 'client_gone', completion_tokens: 5 });
});

incident('litellm#27639', 'what was reserved for requests that failed was never given back', async () => {
  await gateway.channel(upstream.url);
  upstream.script((response) => sendJson(response, { error: { message: 'no' } }, 500));
  for (let n = 0; n < 5; n++) await (await ask()).text();
  expect(gateway.balances.account(gateway.userId, 0).available()).toBe(balance);
});

incident(
  'litellm#30460',
  'what was reserved for requests whose clients left blocked their users for hours',
  async () => {
    await gateway.channel(upstream.url);
    upstream.script(() => undefined);
    for (let n = 0; n < 5; n++) {
      const leave = new AbortController();
      const requested = ask({}, leave.signal).catch(() => null);
      await expect.poll(() => upstream.requests.length).toBe(n + 1);
      leave.abort();
      await requested;
    }
    await ended();
    await gateway.ledger.drain();
    expect(gateway.balances.account(gateway.userId, 0).available()).toBe(await gateway.balance());
  },
);

incident('litellm#15740', 'usage that a stream told twice was added up twice', async () => {
  await gateway.channel(upstream.url);
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  streaming(words('one'), stop, frame({ choices: [], usage }), frame({ choices: [], usage }), 'data: [DONE]\n\n');
  await (await ask({ stream: true })).text();
  const [row, ...others] = await rows();
  expect([row?.prompt_tokens, row?.completion_tokens, others]).toEqual([10, 5, []]);
});

incident('litellm#6633', 'streams whose answers had no id of their own shared one row of the log', async () => {
  await gateway.channel(upstream.url);
  streaming(words('one'), stop, 'data: [DONE]\n\n');
  for (let n = 0; n < 3; n++) await (await ask({ stream: true })).text();
  expect(new Set((await rows()).map(({ request_id }) => request_id)).size).toBe(3);
});

incident(
  'new-api: service/quota.go',
  'quota was computed with floats, so that bills could not be recomputed',
  async () => {
    await gateway.channel(upstream.url);
    await gateway.option('ModelRatio', '{"gpt-4o-mini":0.1}');
    upstream.script((response) => sendJson(response, completion(3, 0)));
    for (let n = 0; n < 10; n++) await (await ask()).text();
    for (const { quota } of await rows()) expect(Number.isInteger(quota)).toBe(true);
  },
);

incident('new-api: main.go', 'a stop cut every stream without a word, and charged nobody', async () => {
  await gateway.channel(upstream.url);
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(words('one two'));
  });
  const { AppError } = await import('../../server/contract/errors.ts');
  const response = await ask({ stream: true });
  const text = response.text();
  await expect.poll(() => upstream.requests.length).toBe(1);
  await Bun.sleep(20);
  const reason = new AppError('shutting_down', { seconds: 5 });
  gateway.relay.close(reason);
  const refused = await ask();
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
  gateway.relay.cut(reason);
  expect(await text).toContain('shutting_down');
  expect((await rows())[0]).toMatchObject({ end_reason: 'stopped' });
});

incident(
  'new-api: relay/helper/stream_scanner.go',
  'lines of more than ten megabytes were dropped from streams',
  async () => {
    await gateway.channel(upstream.url);
    streaming(words('x'.repeat(11 * 1024 * 1024)), stop, 'data: [DONE]\n\n');
    const text = await (await ask({ stream: true })).text();
    expect(text.length).toBeGreaterThan(11 * 1024 * 1024);
  },
);

incident(
  'CVE-2024-6587',
  'a caller’s `api_base` sent the provider’s key to a host of the caller’s choice',
  async () => {
    const attacker = await startUpstream((response) => sendJson(response, completion(1, 1)));
    await gateway.channel(upstream.url);
    for (const name of ['api_base', 'base_url', 'api_key', 'custom_llm_provider', 'headers'])
      await (await ask({ [name]: attacker.url })).text();
    expect(attacker.requests).toEqual([]);
    await attacker.stop();
  },
);

incident('CVE-2025-62155', 'an upstream’s redirect was followed into the network it should not reach', async () => {
  const inside = await startUpstream((response) => sendJson(response, completion(1, 1)));
  await gateway.channel(upstream.url);
  upstream.script((response) => {
    response.writeHead(307, { location: `${inside.url}/admin` });
    response.end();
  });
  expect((await ask()).status).toBe(502);
  expect(inside.requests).toEqual([]);
  await inside.stop();
});
