/** What Claude Code asks of a gateway that it is signed in to, and the budgets that answers tell it of. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { TokenStatus, UserStatus } from '../../server/contract/enum.ts';
import { nextPeriod } from '../../server/contract/period.ts';
import { systemTimers } from '../../server/contract/timers.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
/** The middle of a day in the middle of a month: no period ends while the tests run. */
const noon = Date.UTC(2027, 0, 15, 12);
const [day, month] = [nextPeriod('day', noon / 1000), nextPeriod('month', noon / 1000)];

let tokens = 100;
const answer = () => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-x',
  content: [{ type: 'text', text: 'hello' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: tokens, output_tokens: tokens },
});

beforeAll(async () => {
  upstream = await startUpstream((response) => {
    response.setHeader('anthropic-ratelimit-unified-status', 'rejected');
    response.setHeader('anthropic-ratelimit-requests-remaining', '7');
    sendJson(response, answer());
  });
  const now = () => noon;
  gateway = await createTestGateway({ now, relay: { timers: { ...systemTimers, now } } });
  // Ratios of 1: an answer costs 200.
  await gateway.option('ModelRatio', '{"claude-x":1,"gpt-x":1.25,"text-embedding-x":1}');
  await gateway.option('CompletionRatio', '{"claude-x":1,"gpt-x":4}');
  await gateway.option('ModelPrice', '{"claude-per-call":0.02}');
  await gateway.channel(upstream.url, { type: 14, models: 'claude-x,claude-per-call' });
  await gateway.channel(upstream.url, { type: 1, models: 'gpt-x,text-embedding-x' });
});
afterAll(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});
beforeEach(() => gateway.option('agents.sign_in', 'true'));

const get = (path: string, key: string, headers: Record<string, string> = {}, method = 'GET') => {
  const request = new Request(`http://gateway${path}`, {
    method,
    headers: { authorization: `Bearer sk-${key}`, ...headers },
  });
  return gateway.relay.handle(request, path.split('?')[0] ?? '', { ip: () => '127.0.0.1' });
};
const message = { model: 'claude-x', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] };
/** Spends 200 each time. */
const ask = async (key: string, more: object = {}) => {
  const response = await gateway.send(key, '/v1/messages', { ...message, ...more });
  const body = (await response.json()) as { type: string; error?: { type: string } };
  await gateway.ledger.drain();
  const limits = [...response.headers].filter(([name]) => name.startsWith('anthropic-ratelimit-'));
  const told = Object.fromEntries(
    limits.map(([name, value]) => [name.replace('anthropic-ratelimit-unified-', ''), value]),
  );
  return { status: response.status, told, body, headers: response.headers };
};
const keyWith = async (fields: Parameters<TestGateway['token']>[0]) => (await gateway.token(fields)).key;
const usage = async (key: string) => (await get('/api/oauth/usage', key)).json() as Promise<Usage>;
interface Usage {
  readonly extra_usage: Record<string, unknown>;
  readonly limits: readonly Record<string, unknown>[];
}

const paths: readonly (readonly [method: string, path: string])[] = [
  ['GET', '/managed/settings'],
  ['GET', '/api/oauth/usage'],
  ['GET', '/user/bootstrap'],
  ['POST', '/v1/metrics'],
  ['POST', '/v1/logs'],
  ['POST', '/v1/traces'],
];

test.each(paths)('%s %s is not there while programs may not sign in', async (method, path) => {
  const key = await keyWith({});
  await gateway.option('agents.sign_in', 'false');
  const response = await get(path, key, {}, method);
  expect([response.status, await response.json()]).toEqual([
    404,
    expect.objectContaining({ type: 'error', error: expect.objectContaining({ type: 'not_found_error' }) }),
  ]);
});

test.each(paths)(
  '%s %s wants a key that works, says so in one word, and takes no other method',
  async (method, path) => {
    const refused = await get(path, 'nobody', {}, method);
    expect([refused.status, refused.headers.get('x-should-retry')]).toEqual([401, 'false']);
    const { error, request_id: id } = (await refused.json()) as { error: { type: string }; request_id: string };
    expect([error.type, id]).toEqual(['authentication_error', expect.any(String)]);
    expect((await get(path, await keyWith({}), {}, method === 'GET' ? 'POST' : 'GET')).status).toBe(405);
  },
);

test('the models of the key are the settings, with the checksum that the client computes again, and nothing is set on the machine', async () => {
  const key = await keyWith({});
  const response = await get('/managed/settings', key);
  const body = (await response.json()) as { uuid: string; checksum: string; settings: Record<string, unknown> };
  expect(body.settings).toEqual({ availableModels: ['claude-per-call', 'claude-x', 'gpt-x'] });
  const text = JSON.stringify({ availableModels: body.settings.availableModels });
  expect(body.checksum).toBe(`sha256:${createHash('sha256').update(text).digest('hex')}`);
  expect(body.uuid).toMatch(/^[\da-f]{8}-[\da-f]{4}-5[\da-f]{3}-8[\da-f]{3}-[\da-f]{12}$/);
  const etag = response.headers.get('etag') ?? '';
  expect(etag).toBe(`"${body.checksum}"`);
  const again = (tag: string) => get('/managed/settings', key, { 'if-none-match': tag });
  expect((await again(etag)).status).toBe(304);
  expect((await again('*')).status).toBe(200);
  expect((await again('"sha256:0"')).status).toBe(200);
  const narrow = await keyWith({ model_limits_enabled: true, model_limits: 'claude-x' });
  expect(((await (await get('/managed/settings', narrow)).json()) as typeof body).settings).toEqual({
    availableModels: ['claude-x'],
  });
});

test('variables are set in the client where the operator says so, in the order of the checksum', async () => {
  await gateway.option('agents.claude_env', '{"B":"2","A":"1"}');
  const { checksum, settings } = (await (await get('/managed/settings', await keyWith({}))).json()) as {
    checksum: string;
    settings: { env: object; availableModels: string[] };
  };
  await gateway.option('agents.claude_env', '{}');
  expect(settings.env).toEqual({ A: '1', B: '2' });
  const sorted = JSON.stringify({ availableModels: settings.availableModels, env: { A: '1', B: '2' } });
  expect(checksum).toBe(`sha256:${createHash('sha256').update(sorted).digest('hex')}`);
});

test('an answer tells the tightest budget with its end, warns from 75 and 95 percent on, and passes nothing of the upstream', async () => {
  const key = await keyWith({ day_budget: 1000, month_budget: 10_000 });
  const steps: [string, string, string | undefined][] = [];
  for (let call = 0; call < 5; call++) {
    const { status, told } = await ask(key);
    expect(status).toBe(200);
    expect(told).toMatchObject({ 'representative-claim': 'overage', reset: String(day), 'overage-reset': String(day) });
    expect(told.status).toBe(told['overage-status']);
    expect(Object.keys(told).filter((name) => name.includes('requests'))).toEqual([]);
    steps.push([told.status ?? '', told['overage-utilization'] ?? '', told['overage-surpassed-threshold']]);
  }
  expect(steps).toEqual([
    ['allowed', '0', undefined],
    ['allowed', '0.2', undefined],
    ['allowed', '0.4', undefined],
    ['allowed', '0.6', undefined],
    ['allowed_warning', '0.8', '0.75'],
  ]);
  const { status, told, body, headers } = await ask(key);
  expect([status, body.error?.type, headers.get('x-should-retry')]).toEqual([429, 'billing_error', 'false']);
  expect(Number(headers.get('retry-after'))).toBe(43_200);
  expect(told).toEqual({
    status: 'rejected',
    reset: String(day),
    'overage-reset': String(day),
    'overage-utilization': '1',
    'overage-surpassed-threshold': '1',
    'overage-period': 'daily',
    'overage-disabled-reason': 'org_spend_cap_reached',
  });
});

test('the warning is the one of the share, and the month counts where it is nearer to its end', async () => {
  const shares: [number, string | undefined, string | undefined][] = [];
  for (const percent of [74, 76, 96]) {
    const key = await keyWith({ day_budget: 100_000_000, month_budget: 100_000 });
    tokens = percent * 500;
    await ask(key);
    tokens = 100;
    const { told } = await ask(key);
    expect(told.reset).toBe(String(month));
    shares.push([percent, told.status, told['overage-surpassed-threshold']]);
    const { limits } = await usage(key);
    expect(limits[1]).toMatchObject({ group: 'monthly', percent, is_active: true });
    expect([limits[1]?.severity, limits[0]?.severity]).toEqual([
      { 74: 'normal', 76: 'warning', 96: 'critical' }[percent],
      'normal',
    ]);
  }
  expect(shares).toEqual([
    [74, 'allowed', undefined],
    [76, 'allowed_warning', '0.75'],
    [96, 'allowed_warning', '0.95'],
  ]);
});

test('of budgets that are used up the last to come back is named', async () => {
  const key = await keyWith({ day_budget: 200, month_budget: 200 });
  await ask(key);
  const { extra_usage: extra, limits } = await usage(key);
  expect([extra.utilization, limits.map(({ is_active: active }) => active)]).toEqual([100, [false, true, false]]);
});

test('a limit of the key and the balance have no end, and say none', async () => {
  const limited = await keyWith({ unlimited_quota: false, remain_quota: 400 });
  await ask(limited);
  const { told } = await ask(limited);
  expect(told).toMatchObject({ status: 'allowed', 'overage-utilization': '0.5' });
  expect([told.reset, told['overage-reset']]).toEqual([undefined, undefined]);
  const spent = await ask(limited);
  expect([spent.status, spent.body.error?.type, spent.headers.get('retry-after')]).toEqual([
    429,
    'billing_error',
    null,
  ]);
  expect(spent.told).toEqual({
    status: 'rejected',
    'overage-utilization': '1',
    'overage-surpassed-threshold': '1',
    'overage-disabled-reason': 'org_spend_cap_reached',
  });
  expect((await usage(limited)).limits).toContainEqual(
    expect.objectContaining({ percent: 100, resets_at: null, is_active: true }),
  );
});

test('dollars of each budget are there when they are asked for, with the second of the headers', async () => {
  const perUnit = 500_000;
  const key = await keyWith({ day_budget: perUnit * 5, month_budget: perUnit * 100 });
  await ask(key, { max_tokens: 1 });
  const { extra_usage: extra, limits } = await usage(key);
  expect(extra).toEqual({ is_enabled: true, monthly_limit: 500, used_credits: 0, utilization: 0, currency: 'USD' });
  expect(limits).toEqual([
    {
      kind: 'spend',
      group: 'daily',
      percent: 0,
      resets_at: new Date(day * 1000).toISOString(),
      severity: 'normal',
      is_active: true,
    },
    {
      kind: 'spend',
      group: 'monthly',
      percent: 0,
      resets_at: new Date(month * 1000).toISOString(),
      severity: 'normal',
      is_active: false,
    },
    { kind: 'spend', group: 'monthly', percent: 0, resets_at: null, severity: 'normal', is_active: false },
  ]);
});

test('without the option, and in other dialects, answers tell nothing; the upstream tells nothing in either case', async () => {
  const key = await keyWith({ day_budget: 1000 });
  const chat = await gateway.send(key, '/v1/chat/completions', {
    model: 'claude-x',
    max_tokens: 9,
    messages: message.messages,
  });
  await chat.text();
  expect([...chat.headers.keys()].filter((name) => name.startsWith('anthropic-ratelimit'))).toEqual([]);
  await gateway.option('agents.sign_in', 'false');
  expect((await ask(key)).told).toEqual({});
  // 200 so far: the next one is refused.
  const used = await keyWith({ unlimited_quota: false, remain_quota: 200 });
  await ask(used);
  const refused = await ask(used);
  expect([refused.status, refused.body.error?.type, refused.told]).toEqual([429, 'billing_error', {}]);
});

test('a list of models says what each costs and whose it is, to clients of Anthropic and only where programs may sign in', async () => {
  const key = await keyWith({});
  const version = { 'anthropic-version': '2023-06-01' };
  const described = async (headers: Record<string, string> = version) => {
    const { data } = (await (await get('/v1/models?limit=1000', key, headers)).json()) as {
      data: { id: string; description?: string }[];
    };
    return Object.fromEntries(data.map(({ id, description }) => [id, description]));
  };
  expect(await described()).toMatchObject({
    'claude-x': '$2 / $2 per M, Anthropic Claude',
    'claude-per-call': '$0.02 per call, Anthropic Claude',
    'gpt-x': '$2.5 / $10 per M, OpenAI',
  });
  expect((await described({}))['claude-x']).toBeUndefined();
  await gateway.option('agents.sign_in', 'false');
  expect((await described())['claude-x']).toBeUndefined();
});

test('a client’s report of itself is taken and dropped, and Claude Desktop hears that there is nothing for it', async () => {
  const key = await keyWith({});
  for (const path of ['/v1/metrics', '/v1/logs', '/v1/traces']) {
    const response = await gateway.send(key, path, '{"resourceMetrics":[]}');
    expect([path, response.status, await response.text()]).toEqual([path, 200, '']);
  }
  const absent = await get('/user/bootstrap', key);
  expect([absent.status, ((await absent.json()) as { type: string }).type]).toEqual([404, 'error']);
});

test('a key that is stored as used up says how much that was, where it would serve otherwise and nowhere else', async () => {
  // As other programs of the family store it.
  const spent = async (fields: Parameters<TestGateway['token']>[0] = {}) => {
    const { id, key } = await gateway.token(fields);
    Object.assign(gateway.state.token(id) ?? {}, { status: TokenStatus.exhausted });
    return key;
  };
  const plain = await spent();
  expect((await gateway.send(plain, '/v1/messages', message)).status).toBe(429);
  for (const path of ['/api/oauth/usage', '/managed/settings']) {
    expect((await get(path, plain)).status).toBe(200);
    const elsewhere = await get(path, await spent({ allow_ips: '10.0.0.1' }));
    expect([elsewhere.status, JSON.stringify(await elsewhere.json())]).toEqual([
      403,
      expect.not.stringContaining('limit'),
    ]);
    const over = await get(path, await spent({ expired_time: Math.floor(noon / 1000) - 60 }));
    expect(over.status).toBe(401);
  }
  const owner = gateway.state.user(gateway.userId) ?? {};
  Object.assign(owner, { status: UserStatus.disabled });
  const banned = await get('/api/oauth/usage', plain);
  Object.assign(owner, { status: UserStatus.enabled });
  expect(banned.status).toBe(403);
});
