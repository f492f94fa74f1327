/** What is looked at before anything of a request is read: rates and balance; and that what is read then is bounded. */
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLeasedBalances } from '../../server/billing/leases/leased-balance.ts';
import { relayRoutes } from '../../server/relay/intake/routes.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;

beforeEach(async () => {
  upstream = await startUpstream((response) => sendJson(response, completion(10, 5)));
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

async function open(options: Parameters<typeof createTestGateway>[0] = {}): Promise<void> {
  gateway = await createTestGateway(options);
  await gateway.channel(upstream.url, { models: 'gpt-4o-mini,free-model,text-embedding-3-small,whisper-1,dall-e-2' });
}

const ask = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }], max_tokens: 100 };

interface Sent {
  readonly response: Response;
  /** Whether anybody has looked at the body. */
  readonly read: boolean;
}

/** A body that says whether it was read. */
async function send(path: string, key: string, body: Uint8Array | string, headers: Record<string, string> = {}) {
  let read = false;
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json', ...headers },
    body: new ReadableStream(
      {
        pull(controller) {
          read = true;
          controller.enqueue(bytes);
          controller.close();
        },
      },
      { highWaterMark: 0 },
    ),
    duplex: 'half',
  } as RequestInit);
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  return { response, read } satisfies Sent;
}

const codeOf = async (response: Response): Promise<unknown> => {
  const answer = (await response.json()) as {
    error?: { code?: unknown; message?: string; type?: unknown };
    code?: unknown;
  };
  return answer.error?.code ?? answer.code ?? answer.error?.type;
};

const paths = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/responses',
  '/v1/messages',
  '/v1beta/models/gpt-4o-mini:generateContent',
  '/v1/embeddings',
  '/v1/rerank',
  '/v1/moderations',
  '/v1/images/generations',
  '/v1/images/edits',
  '/v1/audio/speech',
  '/v1/audio/transcriptions',
  '/mj/submit/imagine',
  '/suno/submit/music',
] as const;

test.each(paths)('%s: without balance the body is not even read', async (path) => {
  await open({ quota: 0 });
  await gateway.option('DrawingEnabled', 'true');
  await gateway.option('TaskEnabled', 'true');
  const { key } = await gateway.token();
  const { response, read } = await send(path, key, 'not even JSON');
  expect(response.status).toBe(/messages$|responses$/.test(path) ? 429 : 403);
  expect(await response.text()).toContain('balance is insufficient');
  expect(read).toBe(false);
  const row = await gateway.lastLog();
  expect(row).toMatchObject({ model_name: '', end_reason: 'refused' });
  expect(JSON.parse(row?.other ?? '{}')).toMatchObject({ refused: 'user_exhausted', unread: true });
});

test('whatever the route, nothing is read for a key that nobody has', async () => {
  await open();
  const routes = [
    // The playground's callers have a session instead.
    ...relayRoutes.filter(({ session }) => session !== true).map(({ path }) => path.replace('{model}', 'gpt-4o-mini')),
    '/api/show',
    '/mj/submit/imagine',
  ];
  for (const path of new Set(routes)) {
    const { response, read } = await send(path, 'nobodys', '{');
    expect([path, response.status === 401 || response.status === 403, read]).toEqual([path, true, false]);
  }
});

test('free questions are bounded: one model, or a list of ids that are texts and numbers', async () => {
  await open();
  const { key } = await gateway.token();
  const long = { response: (await send('/api/show', key, `{"model":"${'x'.repeat(70_000)}"}`)).response };
  expect(long.response.status).toBe(413);
  await gateway.option('DrawingEnabled', 'true');
  const nested = `{"ids":[${'['.repeat(20_000)}${']'.repeat(20_000)},"a",1]}`;
  const { response } = await send('/mj/task/list-by-condition', key, nested);
  expect([response.status, await response.json()]).toEqual([200, []]);
});

test('a key whose limit or budget is used up, and one that asks too often, is refused before its body is read', async () => {
  await open();
  const spent = await gateway.token({ unlimited_quota: false, remain_quota: 0 });
  const budget = await gateway.token({ day_budget: 1 });
  const rate = await gateway.token({ rpm_limit: 1 });
  const group = await gateway.token();
  expect((await gateway.chat(budget.key, ask)).status).toBe(429);
  await gateway.call('user.update', { id: gateway.userId, add_quota: 1 });
  expect((await gateway.chat(rate.key, ask)).status).toBe(200);
  await gateway.option('GroupLimits', '{"default":{"rpm":1}}');
  expect((await gateway.chat(group.key, ask)).status).toBe(200);
  for (const [{ key }, code] of [
    [spent, 'limit_rpm'],
    [rate, 'limit_rpm'],
  ] as const) {
    const { response, read } = await send('/v1/chat/completions', key, '{');
    expect([await codeOf(response), read]).toEqual([code, false]);
  }
  await gateway.option('GroupLimits', '{}');
  const { response, read } = await send('/v1/chat/completions', spent.key, '{');
  expect([await codeOf(response), read]).toEqual(['token_exhausted', false]);
});

test('as many bodies are read at once as the key may send at once, and each makes room when it is refused', async () => {
  await open();
  const { key } = await gateway.token({ concurrency_limit: 1 });
  for (let n = 0; n < 3; n++) {
    const [one, two] = await Promise.all([gateway.chat(key, '{'), gateway.chat(key, '{')]);
    expect([one.status, two.status].sort()).toEqual([400, 429]);
  }
  expect((await gateway.chat(key, ask)).status).toBe(200);
});

test('a body that cannot be read counts as a request; one that is refused for its model does not', async () => {
  await open();
  const { key } = await gateway.token({ rpm_limit: 2 });
  for (let n = 0; n < 3; n++) expect((await gateway.chat(key, { ...ask, model: 'unheard-of' })).status).toBe(404);
  for (let n = 0; n < 2; n++) expect((await gateway.chat(key, '{')).status).toBe(400);
  expect(await codeOf(await gateway.chat(key, '{'))).toBe('limit_rpm');
});

test('a caller without a balance is admitted where something is free; a model that is not free is refused afterwards', async () => {
  await open({ quota: 0 });
  const { key } = await gateway.token();
  const ratios = (model: object) => gateway.option('ModelRatio', JSON.stringify({ 'gpt-4o-mini': 1, ...model }));
  const refusal = async () => {
    const { response, read } = await send('/v1/chat/completions', key, JSON.stringify(ask));
    return [await codeOf(response), read];
  };
  expect(await refusal()).toEqual(['user_exhausted', false]);
  await ratios({ 'free-model': 0 });
  expect(await refusal()).toEqual(['user_exhausted', true]);
  expect((await gateway.chat(key, { ...ask, model: 'free-model' })).status).toBe(200);
  // A model without a price and without a channel is of no use to any caller.
  await ratios({ 'not-served': 0 });
  expect(await refusal()).toEqual(['user_exhausted', false]);
  await gateway.option('GroupRatio', '{"default":0}');
  expect((await gateway.chat(key, ask)).status).toBe(200);
  await gateway.option('GroupRatio', '{"default":1}');
  expect(await refusal()).toEqual(['user_exhausted', false]);
  await gateway.option('GroupGroupRatio', '{"default":{"default":0}}');
  expect((await gateway.chat(key, ask)).status).toBe(200);
  await gateway.option('GroupGroupRatio', '{}');
  // The operator's own use of a site for itself.
  await gateway.option('SelfUseModeEnabled', 'true');
  expect((await gateway.chat(key, ask)).status).toBe(200);
});

test('a caller that got nothing from other machines is checked before its next body is read', async () => {
  const requested: number[] = [];
  let lease: 'exhausted' | 'elsewhere' | 'granted' = 'exhausted';
  await open({
    quota: 1000,
    leased: true,
    relay: {
      leaseSource: {
        acquire: async (_to, more) => {
          requested.push(more);
          if (lease === 'granted') {
            const { accounts, memory } = gateway.balances.money;
            const { userId } = gateway;
            createLeasedBalances({ accounts, memory }).addLease({ kind: 'account', userId, id: userId }, 1000);
          }
          return lease;
        },
        limits: async () => ({ limit: 0, used: 0 }),
        funds: async () => ({ balance: 0, limit: null, used: 0, dayUsed: 0, monthUsed: 0 }),
      },
    },
  });
  const { key } = await gateway.token();
  const outcome = async () => {
    const { response, read } = await send('/v1/chat/completions', key, JSON.stringify(ask));
    return [await codeOf(response), read];
  };
  expect(await outcome()).toEqual(['user_exhausted', true]);
  requested.length = 0;
  expect(await outcome()).toEqual(['user_exhausted', false]);
  lease = 'elsewhere';
  expect(await outcome()).toEqual(['balance_elsewhere', false]);
  expect(requested).toEqual([1, 1]);
  lease = 'granted';
  expect((await outcome())[1]).toBe(true);
});

const players = async (body: string) =>
  gateway.relay.handle(
    new Request('http://gateway/pg/chat/completions', { method: 'POST', body, headers: { cookie: 'session=x' } }),
    '/pg/chat/completions',
    { ip: () => '127.0.0.1' },
  );

test('the playground counts in the group that its body names; without a balance it is refused before its body is read', async () => {
  await open();
  await gateway.option('UserUsableGroups', '{"default":"d","vip":"v"}');
  await gateway.option('GroupRatio', '{"default":1,"vip":1}');
  await gateway.option('GroupLimits', '{"default":{"rpm":1}}');
  await gateway.channel(upstream.url, { models: 'gpt-4o-mini', group: 'vip' });
  const inGroup = (group: string) => players(JSON.stringify({ ...ask, group }));
  expect((await inGroup('default')).status).toBe(200);
  expect((await inGroup('vip')).status).toBe(200);
  expect((await inGroup('default')).status).toBe(429);
  await gateway.call('user.update', { id: gateway.userId, add_quota: -(await gateway.balance()) });
  expect(await codeOf(await players('{'))).toBe('user_exhausted');
});

test('a packed body may grow as honest ones do, and not a hundred times', async () => {
  await open();
  const { key } = await gateway.token();
  const packed = (body: object) =>
    send('/v1/chat/completions', key, gzipSync(JSON.stringify(body)), { 'content-encoding': 'gzip' });
  // An agent that was shown the same file again and again.
  const file = Array.from({ length: 400 }, (_, n) => `line ${n} of ${(n * 7919) % 1009}: nothing in particular`).join(
    '\n',
  );
  const turns = Array.from({ length: 60 }, (_, n) => ({
    role: n % 2 === 0 ? 'user' : 'assistant',
    content: `${n}${file}`,
  }));
  expect((await packed({ ...ask, messages: turns })).response.status).toBe(200);
  // Small bodies may be as plain as they like.
  expect((await packed({ ...ask, x: 'a'.repeat(500_000) })).response.status).toBe(200);
  const { response } = await packed({ ...ask, x: 'a'.repeat(8_000_000) });
  expect(response.status).toBe(400);
  expect(await response.text()).toContain('100 times');
});

test('bodies and the objects that are billed have a thousand members at most, forms a thousand parts', async () => {
  await open();
  const { key } = await gateway.token();
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`member-${n}`, n]));
  expect((await gateway.chat(key, { ...ask, ...many(900) })).status).toBe(200);
  for (const body of [
    { ...ask, ...many(1100) },
    { ...ask, stream_options: many(1100) },
  ]) {
    const response = await gateway.chat(key, body);
    expect([response.status, await codeOf(response)]).toEqual([400, 'body_too_deep']);
  }
  const form = new FormData();
  form.set('model', 'whisper-1');
  for (let n = 0; n < 1100; n++) form.set(`field${n}`, '1');
  const request = new Request('http://gateway/v1/audio/transcriptions', {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}` },
    body: form,
  });
  const response = await gateway.relay.handle(request, '/v1/audio/transcriptions', { ip: () => '' });
  expect(response.status).toBe(400);
  expect(await response.text()).toContain('1000 parts');
});

const countOf = (key: string, body: unknown) => send('/v1/messages/count_tokens', key, JSON.stringify(body));

test('counting tokens is free, and counts among the requests of its key', async () => {
  await open({ quota: 0 });
  const spent = await gateway.token({ unlimited_quota: false, remain_quota: 0 });
  expect((await countOf(spent.key, ask)).response.status).toBe(200);
  const { key } = await gateway.token({ rpm_limit: 3, concurrency_limit: 1 });
  for (let n = 0; n < 3; n++) expect((await countOf(key, ask)).response.status).toBe(200);
  const { response, read } = await countOf(key, ask);
  expect([response.status, read]).toEqual([429, false]);
  expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
  const narrow = await gateway.token({ model_limits_enabled: true, model_limits: 'other', rpm_limit: 1 });
  expect((await countOf(narrow.key, ask)).response.status).toBe(404);
  await gateway.option('ModelRequestRateLimitEnabled', 'true');
  await gateway.option('ModelRequestRateLimitCount', '1');
  expect((await countOf(spent.key, ask)).response.status).toBe(200);
  expect((await countOf(spent.key, ask)).response.status).toBe(429);
});

test('long prompts are counted by a sample, many at once by their bytes, and none is larger than any model reads', async () => {
  const counted: number[] = [];
  const { promise: mayCount, resolve: go } = Promise.withResolvers<undefined>();
  await open({
    relay: {
      counter: {
        count: async (_model, texts) => {
          counted.push(texts.join('').length);
          await mayCount;
          return texts.map((text) => text.length / 2);
        },
        close: () => undefined,
      },
    },
  });
  const { key } = await gateway.token();
  const units = 1_000_000;
  const asking = () => countOf(key, { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'a'.repeat(units) }] });
  const tokens = async ({ response }: Sent) => ((await response.json()) as { input_tokens: number }).input_tokens;
  const sampled = [asking(), asking()];
  try {
    await expect.poll(() => counted.length).toBe(2);
    // No request waits behind two long ones.
    const third = asking();
    expect(await Promise.race([third.then(tokens), Bun.sleep(2000)])).toBeGreaterThan(units / 4);
  } finally {
    go(undefined);
  }
  for (const each of sampled) {
    const length = await tokens(await each);
    expect(length).toBeGreaterThan(units * 0.45);
    expect(length).toBeLessThan(units * 0.55);
  }
  for (const each of counted) expect(each).toBeLessThan(units / 4);
  const tooLarge = await countOf(key, { ...ask, x: '漢'.repeat(4_000_000) });
  expect(tooLarge.response.status).toBe(413);
});
