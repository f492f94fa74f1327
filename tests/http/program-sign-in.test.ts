/** Programs sign in by a code that their user approves, and what they get ends with their user. */
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemTimers } from '../../server/contract/timers.ts';
import { pathKindOf } from '../../server/http/path-kind.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
let api: ApiFixture;
let root: { id: number; headers: Headers };
let ann: { id: number; headers: Headers };
let upstream: Upstream;
let aheadMs = 0;
/** What monitors count: each step with how it ended. */
let steps: string[] = [];
const now = () => Date.now() + aheadMs;

beforeEach(async () => {
  aheadMs = 0;
  steps = [];
  api = await createApiFixture(
    { onSignIn: (step, result) => void steps.push(`${step} ${result}`) },
    { now, relay: { timers: { ...systemTimers, now } } },
  );
  root = await api.addUser('root', 100);
  ann = await api.addUser('ann', 1);
  upstream = await startUpstream((response) => sendJson(response, completion(1000, 100)));
  await api.gateway.channel(upstream.url);
  await api.gateway.option('SelfUseModeEnabled', 'true');
  await api.gateway.option('agents.sign_in', 'true');
  await api.send('PUT', '/api/user/', { id: ann.id, add_quota: 5_000_000 }, root.headers);
});
afterEach(async () => {
  expect(await api.gateway.verify()).toEqual([]);
  await api.close();
  await upstream.stop();
});

interface Words {
  readonly error?: string;
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly access_token: string;
  readonly expires_in: number;
  readonly refresh_token: string;
}
const post = async (path: string, form: Record<string, string>, headers: Headers = {}) => {
  const response = await fetch(api.base + path, {
    method: 'POST',
    headers: { 'x-gateway-client-ip': '127.0.0.1', 'x-forwarded-proto': 'https', ...headers },
    body: new URLSearchParams(form),
  });
  return { status: response.status, words: (await response.json()) as Words };
};
const begin = async (ip = '127.0.0.1', client = 'gateway') =>
  post(
    '/oauth/device_authorization',
    { client_id: client, host: 'lap<b>top' },
    { 'x-gateway-client-ip': ip, 'x-gateway-tls': '1' },
  );
const redeem = (code: string) => post('/oauth/token', { grant_type: deviceGrant, device_code: code });
const renew = (token: string) => post('/oauth/token', { grant_type: 'refresh_token', refresh_token: token });
const look = async (code: string, headers = ann.headers) =>
  (await api.send('POST', '/api/device/look', { code }, headers)).body;
const decide = async (code: string, approve: boolean, headers = ann.headers) =>
  (await api.send('POST', '/api/device/decide', { code, approve }, headers)).body;
const signIn = async () => {
  const { words } = await begin();
  expect((await decide(words.user_code, true)).success).toBe(true);
  return { ...(await redeem(words.device_code)).words, code: words };
};
const statusWith = async (headers: Headers, query = '') => {
  await api.gateway.sync();
  const path = '/v1/chat/completions';
  const body = '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi"}]}';
  const request = new Request(`http://gateway${path}${query}`, { method: 'POST', headers, body });
  return (await api.gateway.relay.handle(request, path, { ip: () => '127.0.0.1' })).status;
};
const withToken = (token: string) => statusWith({ authorization: `Bearer ${token}` });
const keysOf = async () =>
  (await api.send('GET', '/api/token/', undefined, ann.headers)).body.data as {
    id: number;
    name: string;
    key: string;
    kind?: string;
  }[];

test('sign-in addresses do not exist without the option', async () => {
  await api.gateway.option('agents.sign_in', 'false');
  expect((await begin()).status).toBe(404);
  expect((await redeem('x')).status).toBe(404);
  for (const name of ['oauth-authorization-server', 'opencode'])
    expect((await fetch(`${api.base}/.well-known/${name}`)).status).toBe(404);
  expect((await look('BBBB-BBBB')).code).toBe('route_unknown');
});

test('a program asks, its user sees who asks and approves, and it is served', async () => {
  const { words } = await begin();
  expect(words.user_code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
  expect(Buffer.from(words.device_code, 'base64url')).toHaveLength(32);
  expect((await redeem(words.device_code)).words.error).toBe('authorization_pending');
  expect((await look(words.user_code.toLowerCase().replace('-', ''))).data).toMatchObject({
    name: 'gateway',
    host: 'lap-b-top',
    address: '127.0.0.1',
  });
  await decide(words.user_code, true);
  const { words: issued } = await redeem(words.device_code);
  expect(await withToken(issued.access_token)).toBe(200);
  expect(await statusWith({ 'x-api-key': issued.access_token })).toBe(200);
  expect(await withToken(`sk-${issued.access_token}`)).toBe(200);
  expect(await keysOf()).toMatchObject([{ name: 'gateway on lap-b-top', key: '', kind: 'agent' }]);
});

test('a program reads its own spend and budget, until its token ends', async () => {
  const { access_token: token } = await signIn();
  const [key] = await keysOf();
  const change = { ...key, day_budget: 1_000_000, unlimited_quota: true };
  expect((await api.send('PUT', '/api/token/', change, ann.headers)).body).toMatchObject({ success: true });
  expect(await withToken(token)).toBe(200);
  await api.gateway.ledger.drain();
  const usage = async (bearer: string) =>
    (await api.send('GET', '/api/usage/token/', undefined, { authorization: `Bearer ${bearer}` })).body;
  const rows = await api.gateway.rows<{ used: number }>('SELECT used_quota AS used FROM tokens');
  const used = rows[0]?.used ?? 0;
  expect(used).toBeGreaterThan(0);
  expect((await usage(token)).data).toMatchObject({
    name: 'gateway on lap-b-top',
    day: { used, limit: 1_000_000 },
    month: { used, limit: 0 },
    balance: 5_000_000 - used,
  });
  expect((await usage(`${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`)).code).toBe('token_invalid');
  aheadMs += 3_600_000;
  expect((await usage(token)).code).toBe('token_invalid');
});

test('the program of a person who was removed reads nothing of the account', async () => {
  const { access_token: token } = await signIn();
  const usage = async () =>
    (await api.send('GET', '/api/usage/token/', undefined, { authorization: `Bearer ${token}` })).body;
  expect((await usage()).data).toMatchObject({ balance: 5_000_000 });
  await api.send('POST', '/api/user/manage', { id: ann.id, action: 'disable' }, root.headers);
  expect(await usage()).toMatchObject({ success: false, code: 'user_disabled' });
  await api.send('POST', '/api/user/manage', { id: ann.id, action: 'enable' }, root.headers);
  expect((await usage()).data).toMatchObject({ balance: 5_000_000 });
});

test('a program may send its token wherever its dialect has a key', async () => {
  const { access_token: token } = await signIn();
  const places: Headers[] = [
    { 'x-goog-api-key': token },
    { 'api-key': token },
    { 'x-api-key': token, authorization: `Bearer ${token}` },
    { 'sec-websocket-protocol': `realtime, openai-insecure-api-key.${token}` },
  ];
  for (const headers of places) expect([headers, await statusWith(headers)]).toEqual([headers, 200]);
  expect(await statusWith({}, `?key=${token}`)).toBe(200);
});

test('a program has the group of its user, and no more when that goes', async () => {
  const { access_token: token } = await signIn();
  expect(await withToken(token)).toBe(200);
  expect((await api.send('PUT', '/api/user/', { id: ann.id, group: 'vip' }, root.headers)).body).toMatchObject({
    success: true,
  });
  expect(await withToken(token)).toBeGreaterThanOrEqual(400);
});

test('opencode is told by its own login what to run, and reads its models with what that printed', async () => {
  const headers = { 'x-gateway-client-ip': '127.0.0.1' };
  const told = await (await fetch(`${api.base}/.well-known/opencode`, { headers })).json();
  const variable = 'GATEWAY_TOKEN_OF_OPENCODE';
  expect(told).toMatchObject({
    auth: { command: ['gateway', 'token', 'print', '--kept', '--url', api.base], env: variable },
    config: { provider: { gateway: { options: { baseURL: `${api.base}/v1`, apiKey: `{env:${variable}}` } } } },
    remote_config: {
      url: `${api.base}/v1/models?for=opencode`,
      headers: { authorization: `Bearer {env:${variable}}` },
    },
  });
  const { access_token: token } = await signIn();
  await api.gateway.sync();
  const list = new Request('http://gateway/v1/models?for=opencode', { headers: { authorization: `Bearer ${token}` } });
  const response = await api.gateway.relay.handle(list, '/v1/models', { ip: () => '127.0.0.1' });
  expect(await response.json()).toEqual({
    provider: {
      gateway: {
        models: { 'gpt-4o-mini': { name: 'gpt-4o-mini', limit: { context: 128_000, output: 16_384 } } },
      },
    },
  });
});

test('a program that keeps its token gets one for a day, which ends with the sign-in as well', async () => {
  const { refresh_token: refresh } = await signIn();
  const { words } = await post('/oauth/token', { grant_type: 'refresh_token', refresh_token: refresh, kept: 'true' });
  expect(words.expires_in).toBe(86_400);
  aheadMs += 86_399_000;
  expect(await withToken(words.access_token)).toBe(200);
  expect((await renew(words.refresh_token)).words.expires_in).toBe(3600);
  await api.send('DELETE', `/api/token/${(await keysOf())[0]?.id}`, undefined, ann.headers);
  expect(await withToken(words.access_token)).toBe(401);
});

test('a code serves once, for the tokens and for the decision', async () => {
  const { code } = await signIn();
  expect((await redeem(code.device_code)).words.error).toBe('expired_token');
  expect((await decide(code.user_code, true)).code).toBe('sign_in_code');
});

test('a denied program and one whose code is over get nothing', async () => {
  const denied = (await begin()).words;
  await decide(denied.user_code, false);
  expect((await redeem(denied.device_code)).words.error).toBe('access_denied');
  const late = (await begin()).words;
  aheadMs += 600_001;
  expect((await look(late.user_code)).code).toBe('sign_in_code');
  expect((await redeem(late.device_code)).words.error).toBe('expired_token');
});

test('a program that asks too often is told to slow down', async () => {
  const { words } = await begin();
  expect((await redeem(words.device_code)).status).toBe(400);
  expect(await redeem(words.device_code)).toMatchObject({ status: 429, words: { error: 'slow_down' } });
  aheadMs += 5000;
  expect((await redeem(words.device_code)).words.error).toBe('authorization_pending');
});

test('approval takes a session of this origin: neither another page, nor an access token, nor a stranger', async () => {
  const { words } = await begin();
  const elsewhere = { ...ann.headers, 'sec-fetch-site': 'cross-site' };
  expect((await decide(words.user_code, true, elsewhere)).code).toBe('cross_site');
  const token = (await api.send('POST', '/api/user/token', {}, ann.headers)).body.data as string;
  const byToken = { authorization: `Bearer ${token}`, 'new-api-user': String(ann.id) };
  expect((await decide(words.user_code, true, byToken)).code).toBe('login_required');
  expect((await decide(words.user_code, true, {})).code).toBe('login_required');
  expect((await redeem(words.device_code)).words.error).toBe('authorization_pending');
  expect((await post('/oauth/token', { grant_type: deviceGrant }, { origin: 'https://evil.example' })).status).toBe(
    403,
  );
});

test('ten wrong codes of a user end the guessing for a while', async () => {
  const { words } = await begin();
  for (let guess = 0; guess < 10; guess++) expect((await look('BBBB-BBBB')).code).toBe('sign_in_code');
  expect((await look(words.user_code)).code).toBe('too_many_attempts');
  aheadMs += 600_001;
  const again = (await begin()).words;
  expect((await look(again.user_code)).success).toBe(true);
});

test('a code that one person decided stays decided, and one of two who approve at once decides', async () => {
  const bob = await api.addUser('bob', 1);
  const denied = (await begin()).words;
  await decide(denied.user_code, false);
  expect((await decide(denied.user_code, true, bob.headers)).code).toBe('sign_in_code');
  expect((await redeem(denied.device_code)).words.error).toBe('access_denied');
  const { words } = await begin();
  const both = await Promise.all([decide(words.user_code, true), decide(words.user_code, true, bob.headers)]);
  expect(both.filter(({ success }) => success)).toHaveLength(1);
  const winner = both[0]?.success === true ? ann.id : bob.id;
  await redeem(words.device_code);
  expect(await api.gateway.rows("SELECT user_id FROM tokens WHERE kind = 'agent'")).toEqual([{ user_id: winner }]);
});

test('of many who come with the same code, or the same refresh token, one gets tokens', async () => {
  const { words } = await begin();
  await decide(words.user_code, true);
  const wanted = await Promise.all(Array.from({ length: 10 }, () => redeem(words.device_code)));
  const issued = wanted.filter(({ status }) => status === 200);
  expect(issued).toHaveLength(1);
  expect(await keysOf()).toHaveLength(1);
  const refresh = issued[0]?.words.refresh_token ?? '';
  const renewed = await Promise.all(Array.from({ length: 10 }, () => renew(refresh)));
  const pairs = renewed.filter(({ status }) => status === 200);
  expect(pairs).toHaveLength(1);
  expect(await withToken(pairs[0]?.words.access_token ?? '')).toBe(200);
});

test('one user who guesses keeps nobody else of the network out', async () => {
  const { words } = await begin();
  const { headers } = await api.addUser('guesser', 1);
  for (let guess = 0; guess < 120; guess++) await look('BBBB-BBBB', headers);
  expect((await look(words.user_code, headers)).code).toBe('too_many_attempts');
  expect((await decide(words.user_code, true)).success).toBe(true);
});

test('a guesser with many accounts is stopped by his network', async () => {
  for (let guess = 0; guess < 10; guess++) {
    const { headers } = await api.addUser(`guesser${guess}`, 1);
    for (let again = 0; again < 10; again++) expect((await look('BBBB-BBBB', headers)).code).toBe('sign_in_code');
  }
  const { words } = await begin();
  expect((await look(words.user_code)).code).toBe('too_many_attempts');
  expect((await decide(words.user_code, true)).code).toBe('too_many_attempts');
});

test('a device code and a refresh token that nobody gave out, and those of the other kind, get nothing', async () => {
  const { words } = await begin();
  const { refresh_token: refresh } = await signIn();
  for (const code of ['', 'x', words.user_code, refresh, `${words.device_code}=`])
    expect([code, (await redeem(code)).words.error]).toEqual([code, 'expired_token']);
  for (const token of ['', 'x', words.device_code, words.user_code])
    expect([token, (await renew(token)).words.error]).toEqual([token, 'invalid_grant']);
  expect((await post('/oauth/token', { grant_type: 'password', username: 'ann' })).words.error).toBe(
    'unsupported_grant_type',
  );
  const stolen = { grant_type: deviceGrant, device_code: words.device_code, client_id: 'claude_code' };
  expect((await post('/oauth/token', stolen)).words.error).toBe('invalid_grant');
});

test('signed-in programs are listed with place, time and cost for their user and for administrators, who sign them out', async () => {
  const { access_token: token } = await signIn();
  const list = async (headers: Headers, query = '') =>
    (await api.send('GET', `/api/device/${query}`, undefined, headers)).body;
  expect(await withToken(token)).toBe(200);
  await api.gateway.ledger.drain();
  const [used] = await api.gateway.rows<{ used: number }>('SELECT day_used AS used FROM tokens');
  expect(used?.used).toBeGreaterThan(0);
  const row = {
    name: 'gateway on lap-b-top',
    client: 'gateway',
    host: 'lap-b-top',
    address: '127.0.0.1',
    spent_today: used?.used,
  };
  const own = (await list(ann.headers)).data as { open: boolean; items: { id: number; last_used_time: number }[] };
  expect(own).toMatchObject({ open: true, items: [row] });
  expect(own.items[0]?.last_used_time).toBeGreaterThan(Date.now() / 1000 - 60);
  expect((await list(root.headers)).data).toEqual({ open: true, items: [] });
  expect((await list(root.headers, `?user_id=${ann.id}`)).data).toMatchObject({ items: [row] });
  const bob = await api.addUser('bob', 1);
  const eve = await api.addUser('eve', 10);
  expect((await list(bob.headers, `?user_id=${ann.id}`)).code).toBe('user_rank_read');
  expect((await list(eve.headers, `?user_id=${root.id}`)).code).toBe('user_rank_read');
  const id = own.items[0]?.id;
  const end = async (headers: Headers, key = id) =>
    (await api.send('POST', '/api/device/end', { id: key }, headers)).body;
  expect((await end(bob.headers)).code).toBe('not_found');
  expect((await end(eve.headers, 999)).code).toBe('not_found');
  expect(await withToken(token)).toBe(200);
  expect((await end(eve.headers)).success).toBe(true);
  expect([await withToken(token), (await list(ann.headers)).data]).toEqual([401, { open: true, items: [] }]);
  const { access_token: second } = await signIn();
  const [mine] = ((await list(ann.headers)).data as typeof own).items;
  expect((await end(ann.headers, mine?.id)).success).toBe(true);
  expect(await withToken(second)).toBe(401);
  const audited = await api.gateway.rows<{ actor: string }>(
    "SELECT actor FROM audit WHERE action = 'sign_in.revoke' ORDER BY id",
  );
  expect(audited.map(({ actor }) => actor)).toEqual(['eve', 'ann']);
  // A plain key is none of them.
  const { id: key } = await api.gateway.token();
  expect((await end(root.headers, key)).code).toBe('not_found');
});

test('what was spent yesterday is not spent today, and what is signed in stays listed while nothing new may sign in', async () => {
  const { access_token: token } = await signIn();
  expect(await withToken(token)).toBe(200);
  await api.gateway.ledger.drain();
  aheadMs += 86_400_000;
  await api.gateway.option('agents.sign_in', 'false');
  const { data } = (await api.send('GET', '/api/device/', undefined, ann.headers)).body;
  expect(data).toMatchObject({ open: false, items: [{ spent_today: 0 }] });
});

test('a network that revokes without end is told to slow down, and ends nothing by it', async () => {
  const { refresh_token: refresh, access_token: token } = await signIn();
  const revoke = (value: string) => post('/oauth/revoke', { token: value });
  for (let call = 0; call < 300; call++) await api.gateway.services.signIns.revoke('x', '127.0.0.1');
  expect(await revoke(refresh)).toMatchObject({ status: 429, words: { error: 'slow_down' } });
  expect(await withToken(token)).toBe(200);
  aheadMs += 60_001;
  expect((await revoke(refresh)).status).toBe(200);
  expect(await withToken(token)).toBe(401);
});

test('Claude Code signs in by its own form, without a client id, and its key names the address', async () => {
  const asked = await post('/oauth/device_authorization', { surface: 'claude_code' });
  expect(asked).toMatchObject({ status: 200, words: { expires_in: 600, interval: 5 } });
  expect((await look(asked.words.user_code)).data).toMatchObject({ name: 'Claude Code', host: 'unknown' });
  await decide(asked.words.user_code, true);
  const { words } = await redeem(asked.words.device_code);
  expect(words).toMatchObject({ token_type: 'Bearer', expires_in: 3600 });
  expect(words).not.toHaveProperty('email');
  expect((await keysOf())[0]?.name).toBe('Claude Code on 127.0.0.1');
  expect((await renew(words.refresh_token)).words.expires_in).toBe(3600);
  const metadata = await (
    await fetch(`${api.base}/.well-known/oauth-authorization-server`, { headers: { 'x-gateway-tls': '1' } })
  ).json();
  expect(metadata).toMatchObject({ gateway_protocol_version: 1, token_endpoint_auth_methods_supported: ['none'] });
});

test('what a gateway speaks stands under /protocol, over TLS or on this machine alone, and only while programs may sign in', async () => {
  const read = (headers: Headers) => fetch(`${api.base}/protocol`, { headers });
  const shown = await read({ 'x-gateway-tls': '1' });
  expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'text/markdown; charset=utf-8']);
  expect(await shown.text()).toContain('/managed/settings');
  expect((await read({ 'x-gateway-client-ip': '10.0.0.9' })).status).toBe(400);
  await api.gateway.option('agents.sign_in', 'false');
  expect((await read({ 'x-gateway-tls': '1' })).status).toBe(404);
});

test('a thousand codes wait beside each other, each for its own', async () => {
  const { signIns } = api.gateway.services;
  const start = async (network: number) => {
    const begun = await signIns.begin('gateway', `h${network}`, `10.${network >> 8}.${network & 255}.1`);
    if (typeof begun === 'string') throw new Error(begun);
    return begun;
  };
  const first = await start(0);
  aheadMs += 590_000;
  const waiting = [];
  for (let network = 1; network < 500; network++) waiting.push(await start(network));
  aheadMs += 10_000;
  for (let network = 500; network < 1000; network++) waiting.push(await start(network));
  expect(new Set(waiting.map(({ userCode }) => userCode)).size).toBe(999);
  for (const at of [0, 498, 499, 998]) {
    const { userCode, deviceCode } = waiting[at] ?? first;
    expect((await look(userCode)).data).toMatchObject({ host: `h${at + 1}` });
    await decide(userCode, true);
    expect((await redeem(deviceCode)).status).toBe(200);
  }
  expect((await redeem(first.deviceCode)).words.error).toBe('expired_token');
});

test('so many codes wait at once and no more', async () => {
  const { services } = api.gateway;
  for (let network = 0; network < 500; network++)
    expect(typeof (await services.signIns.begin('gateway', 'h', `10.0.${network >> 8}.${network & 255}`))).toBe(
      'object',
    );
  expect(await begin('10.9.9.9')).toMatchObject({ status: 429, words: { error: 'slow_down' } });
});

test('one network gets thirty codes in ten minutes, and unknown clients none', async () => {
  for (let code = 0; code < 30; code++) expect((await begin()).status).toBe(200);
  expect((await begin()).words.error).toBe('slow_down');
  expect((await begin('10.0.0.1', 'stranger')).words.error).toBe('invalid_client');
});

test('a refresh token that was exchanged is refused for a minute and ends the sign-in afterwards', async () => {
  const first = await signIn();
  const second = (await renew(first.refresh_token)).words;
  expect((await renew(first.refresh_token)).words.error).toBe('invalid_grant');
  const third = (await renew(second.refresh_token)).words;
  expect(await withToken(third.access_token)).toBe(200);
  aheadMs += 61_000;
  expect((await renew(second.refresh_token)).words.error).toBe('invalid_grant');
  expect((await renew(third.refresh_token)).words.error).toBe('invalid_grant');
  expect(await withToken(third.access_token)).toBe(401);
});

test('a refresh token that was exchanged twice ends the sign-in, however often whoever has it exchanged since', async () => {
  const { refresh_token: stolen } = await signIn();
  const second = (await renew(stolen)).words;
  const third = (await renew(second.refresh_token)).words;
  expect(await withToken(third.access_token)).toBe(200);
  const [head = '', ...tail] = stolen.split('.');
  expect((await renew([`${head.slice(1)}${head[0]}`, ...tail].join('.'))).words.error).toBe('invalid_grant');
  expect(await withToken(third.access_token)).toBe(200);
  expect((await renew(stolen)).words.error).toBe('invalid_grant');
  expect((await renew(third.refresh_token)).words.error).toBe('invalid_grant');
  expect(await withToken(third.access_token)).toBe(401);
});

test('a refresh token that was exchanged signs nobody out who has none of its sign-in', async () => {
  const first = await signIn();
  const other = await signIn();
  await renew(first.refresh_token);
  const [head = ''] = first.refresh_token.split('.');
  const [, ...tail] = other.refresh_token.split('.');
  expect((await renew([head, ...tail].join('.'))).words.error).toBe('invalid_grant');
  expect(await withToken(other.access_token)).toBe(200);
});

test('an approval ends with the password under which it was given', async () => {
  const { words } = await begin();
  await decide(words.user_code, true);
  await api.gateway.services.credentials.replace(ann.id, 'password2');
  expect((await redeem(words.device_code)).words.error).toBe('access_denied');
  expect(await api.gateway.rows("SELECT id FROM tokens WHERE kind = 'agent'")).toEqual([]);
});

test('a new password that comes while a program fetches its tokens ends them, too', async () => {
  const { words } = await begin();
  await decide(words.user_code, true);
  const { tokens, credentials } = api.gateway.services;
  const { create } = tokens;
  const slow = vi.spyOn(tokens, 'create').mockImplementation(async (...input) => {
    await credentials.replace(ann.id, 'password2');
    return create(...input);
  });
  expect((await redeem(words.device_code)).words.error).toBe('access_denied');
  slow.mockRestore();
  expect(await api.gateway.rows("SELECT id FROM tokens WHERE kind = 'agent' AND deleted_at IS NULL")).toEqual([]);
});

test('of many codes that are redeemed at once no more than twenty become keys', async () => {
  const { services } = api.gateway;
  const codes = [];
  for (let n = 0; n < 3; n++) {
    const { words } = await begin();
    await decide(words.user_code, true);
    codes.push(words.device_code);
  }
  for (let n = 0; n < 18; n++)
    await services.tokens.create(ann.id, { name: `p${n}`, unlimited_quota: true }, undefined, undefined, 'agent');
  const { create } = services.tokens;
  const together = Promise.withResolvers<void>();
  let came = 0;
  const slow = vi.spyOn(services.tokens, 'create').mockImplementation(async (...input) => {
    if (++came === codes.length) together.resolve();
    await together.promise;
    return create(...input);
  });
  await Promise.all(codes.map(redeem));
  slow.mockRestore();
  const live = "SELECT id FROM tokens WHERE kind = 'agent' AND deleted_at IS NULL";
  expect((await api.gateway.rows(live)).length).toBeLessThanOrEqual(20);
});

test('an access token ends after an hour and is known by its signature alone', async () => {
  const { access_token: token, refresh_token: refresh } = await signIn();
  expect(await withToken(`${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`)).toBe(401);
  const [head = '', id = '', end = '', signature = ''] = token.split('_');
  const later = (Number.parseInt(end, 36) + 3600).toString(36);
  expect(await withToken([head, id, later, signature].join('_'))).toBe(401);
  aheadMs += 3_600_000;
  expect(await withToken(token)).toBe(401);
  expect(await withToken((await renew(refresh)).words.access_token)).toBe(200);
});

test('the site says how many minutes a token works', async () => {
  await api.gateway.option('agents.token_minutes', '1');
  const { access_token: token, expires_in: life } = await signIn();
  expect(life).toBe(60);
  aheadMs += 59_000;
  expect(await withToken(token)).toBe(200);
  aheadMs += 1_000;
  expect(await withToken(token)).toBe(401);
});

test.each<[string, (keyId: number) => Promise<unknown>]>([
  ['a ban', () => api.send('POST', '/api/user/manage', { id: ann.id, action: 'disable' }, root.headers)],
  ['a new password by an administrator', () => api.gateway.services.credentials.replace(ann.id, 'password2')],
  ['the deletion of its key', (id) => api.send('DELETE', `/api/token/${id}`, undefined, ann.headers)],
  [
    'the deletion of its user',
    () => api.send('POST', '/api/user/manage', { id: ann.id, action: 'delete' }, root.headers),
  ],
])('%s ends a sign-in at once', async (_what, act) => {
  const { access_token: token, refresh_token: refresh } = await signIn();
  expect(await withToken(token)).toBe(200);
  const [key] = await keysOf();
  await act(key?.id ?? 0);
  // Where it came from is nobody's business once the key is gone.
  const live = await api.gateway.rows("SELECT id FROM tokens WHERE kind = 'agent' AND deleted_at IS NULL");
  expect(await api.gateway.rows('SELECT token_id AS id FROM sign_ins')).toEqual(live);
  expect(await withToken(token)).toBeGreaterThanOrEqual(401);
  // What the terminal asks before it prints a token.
  const asked = '/v1/dashboard/billing/subscription';
  const question = new Request(`http://gateway${asked}`, { headers: { authorization: `Bearer ${token}` } });
  expect([401, 403]).toContain((await api.gateway.relay.handle(question, asked, { ip: () => '127.0.0.1' })).status);
  expect((await renew(refresh)).words.error).toBe('invalid_grant');
});

test('the program itself ends its sign-in', async () => {
  const { access_token: token, refresh_token: refresh } = await signIn();
  expect((await post('/oauth/revoke', { token: refresh })).status).toBe(200);
  expect(await withToken(token)).toBe(401);
  expect(await keysOf()).toEqual([]);
});

test('signing out ends the sign-in also with a refresh token that somebody else has exchanged', async () => {
  const { refresh_token: refresh } = await signIn();
  const { access_token: token } = (await renew((await renew(refresh)).words.refresh_token)).words;
  expect(await withToken(token)).toBe(200);
  expect(
    (await post('/oauth/revoke', { token: refresh.replace(/.$/, (last) => (last === '0' ? '1' : '0')) })).status,
  ).toBe(200);
  expect(await withToken(token)).toBe(200);
  await post('/oauth/revoke', { token: refresh });
  expect(await withToken(token)).toBe(401);
});

test('the key of a program can neither be rotated nor given away by a link', async () => {
  await signIn();
  const [key] = await keysOf();
  for (const what of ['rotate', 'share'])
    expect((await api.send('POST', `/api/token/${key?.id}/${what}`, {}, ann.headers)).body.code).toBe('key_hidden');
  expect((await api.send('POST', `/api/token/${key?.id}/key`, {}, ann.headers)).body.code).toBe('key_hidden');
});

test('a file of the site names no program, and gives none a key', async () => {
  const { access_token: token } = await signIn();
  const exported = await api.send('GET', '/api/provision/', undefined, root.headers);
  expect([exported.body.success, JSON.stringify(exported.body.data).includes('gateway on')]).toEqual([true, false]);
  const named = { name: 'gateway on lap-b-top', owner: 'ann', key: 'sk-somebodyKnowsThisKey' };
  const document = { version: 1, label: 's', tokens: [named] };
  expect((await api.send('POST', '/api/provision/', { document }, root.headers)).body.data).toMatchObject([
    { action: 'create', kind: 'token' },
  ]);
  expect(await withToken(token)).toBe(200);
  expect((await keysOf()).map(({ kind }) => kind).sort()).toEqual(['agent', undefined]);
});

test('a file of the site has the options of sign-ins, sets them, and takes them from another site', async () => {
  const set = { 'agents.token_minutes': '30', 'agents.claude_env': '{"A":"1"}' };
  for (const [key, value] of Object.entries(set)) await api.gateway.option(key as keyof typeof set, value);
  const { data } = (await api.send('GET', '/api/provision/', undefined, root.headers)).body;
  const { options } = data as { options: Record<string, unknown> };
  expect(options).toMatchObject({ 'agents.sign_in': 'true', 'agents.token_minutes': '30' });
  expect(Object.keys(options)).toContain('agents.claude_env');
  const own = Object.fromEntries(Object.entries(options).filter(([key]) => key.startsWith('agents.')));
  const other = await createApiFixture();
  try {
    const admin = await other.addUser('admin', 100);
    const document = { version: 1, options: own };
    expect((await other.send('POST', '/api/provision/', { document }, admin.headers)).body.success).toBe(true);
    const read = other.gateway.services.options;
    expect([read.get('agents.sign_in'), read.get('agents.token_minutes')]).toEqual([true, 30]);
    expect(read.get('agents.claude_env')).toEqual(api.gateway.services.options.get('agents.claude_env'));
  } finally {
    await other.close();
  }
});

test('a user has twenty programs at most', async () => {
  const { services } = api.gateway;
  for (let n = 0; n < 20; n++)
    await services.tokens.create(ann.id, { name: `p${n}`, unlimited_quota: true }, undefined, undefined, 'agent');
  const { words } = await begin();
  expect((await decide(words.user_code, true)).code).toBe('sign_in_limit');
});

test('a sign-in over plain HTTP from elsewhere is refused, whatever headers claim', async () => {
  const host = new URL(api.base).host;
  const elsewhere = { 'x-gateway-client-ip': '192.0.2.1' };
  const ask = async (headers: Headers) =>
    (await post('/oauth/device_authorization', { client_id: 'gateway' }, headers)).words.error ?? 'begun';
  expect(await ask(elsewhere)).toBe('invalid_request');
  expect(await ask({ ...elsewhere, origin: `https://${host}` })).toBe('invalid_request');
  // A proxy of this machine that nobody declared makes everybody look as if he were here.
  expect(await ask({ 'x-gateway-undeclared-proxy': '127.0.0.1' })).toBe('invalid_request');
  expect(await ask({ ...elsewhere, 'x-gateway-tls': '1' })).toBe('begun');
  expect(await ask({})).toBe('begun');
});

test('no secret of a sign-in lies in the database or the trail', async () => {
  const { access_token: token, refresh_token: refresh, code } = await signIn();
  const rows = JSON.stringify([
    await api.gateway.rows('SELECT * FROM sign_ins'),
    await api.gateway.rows('SELECT * FROM tokens'),
    await api.gateway.rows('SELECT * FROM audit'),
  ]);
  for (const secret of [token, refresh, code.device_code, code.user_code]) expect(rows).not.toContain(secret);
  expect(rows).toContain('sign_in.approve');
});

test('each address that the metadata names is answered by the site and by no page of the console', async () => {
  const response = await fetch(`${api.base}/.well-known/oauth-authorization-server`, {
    headers: { 'x-gateway-client-ip': '127.0.0.1' },
  });
  const metadata = (await response.json()) as Record<string, unknown>;
  const paths = Object.entries(metadata).flatMap(([name, value]) =>
    name.endsWith('_endpoint') ? [new URL(String(value)).pathname] : [],
  );
  expect(paths).toHaveLength(4);
  expect(paths.map((path) => [path, pathKindOf(path)])).toEqual(paths.map((path) => [path, 'api']));
});

const callback = 'http://127.0.0.1:1455/callback';
const verifier = 'v'.repeat(43);
const challenge = createHash('sha256').update(verifier).digest('base64url');
const codeRequest = {
  ...{ client_id: 'codex', redirect_uri: callback, response_type: 'code', state: 'st' },
  ...{ code_challenge: challenge, code_challenge_method: 'S256' },
};
const authorize = async (more: Headers = {}, query: Record<string, string> | string = codeRequest) => {
  const response = await fetch(`${api.base}/oauth/authorize?${new URLSearchParams(query)}`, {
    headers: { 'x-gateway-client-ip': '127.0.0.1', 'x-gateway-tls': '1', ...more },
    redirect: 'manual',
  });
  return { status: response.status, to: response.headers.get('location') ?? '', text: await response.text() };
};
const approveCode = async (more: Record<string, unknown> = {}, headers = ann.headers) =>
  (await api.send('POST', '/api/device/authorize', { ...codeRequest, approve: true, ...more }, headers)).body;
const redirectOf = ({ data }: { readonly data?: unknown }): string => (data as { redirect: string }).redirect;
const codeFrom = async () => new URL(redirectOf(await approveCode())).searchParams.get('code') ?? '';
const exchange = (code: string, more: Record<string, string> = {}) =>
  post('/oauth/token', {
    ...{ grant_type: 'authorization_code', code, client_id: 'codex', redirect_uri: callback, code_verifier: verifier },
    ...more,
  });

test('a program that sends the browser gets a key by its code and its secret', async () => {
  const page = new URL((await authorize()).to);
  expect([page.pathname, Object.fromEntries(page.searchParams)]).toEqual(['/device', codeRequest]);
  expect((await api.send('POST', '/api/device/authorize', codeRequest, ann.headers)).body.data).toEqual({
    ...{ name: 'Codex', address: expect.any(String), redirect: '' },
  });
  expect(await keysOf()).toEqual([]);
  const back = new URL(redirectOf(await approveCode()));
  expect([back.origin + back.pathname, [...back.searchParams.keys()], back.searchParams.get('state')]).toEqual([
    callback,
    ['code', 'state'],
    'st',
  ]);
  const { status, words } = await exchange(back.searchParams.get('code') ?? '');
  expect([status, words.expires_in]).toEqual([200, 3600]);
  expect(await withToken(words.access_token)).toBe(200);
  expect((await keysOf()).map(({ name, kind }) => [name.startsWith('Codex on'), kind])).toEqual([[true, 'agent']]);
  expect((await renew(words.refresh_token)).status).toBe(200);
  const rows = await api.gateway.rows("SELECT id FROM audit WHERE action = 'sign_in.approve'");
  expect(rows).toHaveLength(1);
});

test('a denial sends the browser back without a code', async () => {
  expect(redirectOf(await approveCode({ approve: false }))).toBe(`${callback}?error=access_denied&state=st`);
  expect(await keysOf()).toEqual([]);
});

test.each([
  ['another client', { client_id: 'gateway' }],
  ['a name that every object has', { client_id: 'constructor' }],
  ['another host', { redirect_uri: 'http://evil.example:1455/callback' }],
  ['a host by its name', { redirect_uri: 'http://localhost:1455/callback' }],
  ['another address of the machine', { redirect_uri: 'http://127.0.0.2:1455/callback' }],
  ['a name before the address', { redirect_uri: 'http://127.0.0.1:1455@evil.example/callback' }],
  ['a host that begins so', { redirect_uri: 'http://127.0.0.1.evil.example:1455/callback' }],
  ['another path', { redirect_uri: 'http://127.0.0.1:1455/callback/x' }],
  ['a path upwards', { redirect_uri: 'http://127.0.0.1:1455/callback/../x' }],
  ['a query', { redirect_uri: 'http://127.0.0.1:1455/callback?x=1' }],
  ['a fragment', { redirect_uri: 'http://127.0.0.1:1455/callback#x' }],
  ['no port', { redirect_uri: 'http://127.0.0.1/callback' }],
  ['a port that is none', { redirect_uri: 'http://127.0.0.1:65536/callback' }],
  ['TLS', { redirect_uri: 'https://127.0.0.1:1455/callback' }],
  ['a line behind', { redirect_uri: 'http://127.0.0.1:1455/callback\n' }],
])('%s sends the browser nowhere, and a user cannot approve it', async (_, more) => {
  const { status, to } = await authorize({}, { ...codeRequest, ...more });
  expect([status, to]).toEqual([400, '']);
  expect((await approveCode(more)).code).toBe('params_invalid');
  expect((await approveCode({ ...more, approve: false })).code).toBe('params_invalid');
});

test.each([
  ['a plain challenge', { code_challenge_method: 'plain' }, 'invalid_request'],
  ['no method', { code_challenge_method: '' }, 'invalid_request'],
  ['no challenge', { code_challenge: '' }, 'invalid_request'],
  ['a short challenge', { code_challenge: 'abc' }, 'invalid_request'],
  ['a token at once', { response_type: 'token' }, 'unsupported_response_type'],
  ['a state of any length', { state: 's'.repeat(513) }, 'invalid_request'],
])('%s goes back to the program as an error, and a user cannot approve it', async (_, more, error) => {
  const { status, to } = await authorize({}, { ...codeRequest, ...more });
  const back = new URL(to);
  expect([status, back.origin + back.pathname, back.searchParams.get('error')]).toEqual([302, callback, error]);
  expect((await approveCode(more)).code).toBe('params_invalid');
});

test('a member that is there twice, another origin, and plain HTTP from elsewhere send the browser nowhere', async () => {
  const twice = `${new URLSearchParams(codeRequest)}&redirect_uri=http%3A%2F%2Fevil.example`;
  expect((await authorize({}, twice)).status).toBe(400);
  expect((await authorize({ origin: 'https://evil.example' })).status).toBe(403);
  expect((await authorize({ 'x-gateway-client-ip': '192.0.2.1', 'x-gateway-tls': '' })).status).toBe(400);
  await api.gateway.option('agents.sign_in', 'false');
  expect((await authorize()).status).toBe(404);
  expect((await approveCode()).code).toBe('route_unknown');
});

test('a code is good for its program, address and secret alone, and for a minute', async () => {
  const others: readonly Record<string, string>[] = [
    { code_verifier: 'w'.repeat(43) },
    { code_verifier: challenge },
    { code_verifier: '' },
    { redirect_uri: 'http://127.0.0.1:1456/callback' },
    { redirect_uri: 'http://[::1]:1455/callback' },
    { client_id: 'gateway' },
    { client_id: '' },
  ];
  for (const more of others)
    expect([more, (await exchange(await codeFrom(), more)).words.error]).toEqual([more, 'invalid_grant']);
  // It is no code of a device, and those are none of a browser.
  expect((await redeem(await codeFrom())).words.error).toBe('expired_token');
  const { words: device } = await begin();
  await decide(device.user_code, true);
  expect((await exchange(device.device_code)).words.error).toBe('invalid_grant');
  const late = await codeFrom();
  aheadMs = 61_000;
  expect((await exchange(late)).words.error).toBe('invalid_grant');
  expect(await keysOf()).toEqual([]);
});

test('a code that is used twice gives nothing the second time and ends what it gave', async () => {
  const code = await codeFrom();
  const [one, two] = await Promise.all([exchange(code), exchange(code)]);
  const issued = [one, two].filter(({ status }) => status === 200);
  expect(issued).toHaveLength(1);
  expect((await exchange(code)).words.error).toBe('invalid_grant');
  expect(await withToken(issued[0]?.words.access_token ?? '')).toBe(401);
  expect(await keysOf()).toEqual([]);
});

test.each([
  ['a ban', () => api.send('POST', '/api/user/manage', { id: ann.id, action: 'disable' }, root.headers)],
  ['a new password', () => api.gateway.services.credentials.replace(ann.id, 'password2')],
])('%s between the approval and the exchange gives no key', async (_, change) => {
  const code = await codeFrom();
  await change();
  expect((await exchange(code)).words.error).toBe('access_denied');
  expect(await api.gateway.rows('SELECT id FROM sign_ins')).toEqual([]);
});

test('a user has twenty programs at most, those that send the browser too', async () => {
  const code = await codeFrom();
  for (let n = 0; n < 20; n++) await signIn();
  expect((await exchange(code)).words.error).toBe('access_denied');
  expect((await approveCode()).code).toBe('sign_in_limit');
});

test('no code of a browser lies in the database or the audit log', async () => {
  const code = await codeFrom();
  const { words } = await exchange(code);
  const rows = JSON.stringify([
    await api.gateway.rows('SELECT * FROM sign_ins'),
    await api.gateway.rows('SELECT * FROM audit'),
  ]);
  for (const secret of [code, challenge, words.access_token, words.refresh_token]) expect(rows).not.toContain(secret);
});

test('an access token approves no program', async () => {
  const body = (await api.send('POST', '/api/device/authorize', { ...codeRequest, approve: true }, {})).body;
  expect(body.code).toBe('login_required');
});

test('every abuse of a sign-in is refused and counted by its step and word', async () => {
  const counted = async (abuse: () => Promise<unknown>) => {
    steps = [];
    await abuse();
    return steps;
  };
  const bob = await api.addUser('bob', 1);
  const { words } = await begin();

  // User codes that are guessed.
  for (let guess = 0; guess < 10; guess++)
    expect(await counted(() => look('BBBB-BBBB', bob.headers))).toEqual(['look sign_in_code']);
  expect(await counted(() => look('BBBB-BBBB', bob.headers))).toEqual(['look too_many_attempts']);
  // An approval from a page of another origin, and by another person than the one who decided.
  const foreign = { ...ann.headers, 'sec-fetch-site': 'cross-site' };
  expect(await counted(() => decide(words.user_code, true, foreign))).toEqual(['decide cross_site']);
  expect(await counted(() => decide(words.user_code, true))).toEqual(['decide ok']);
  expect(await counted(() => decide(words.user_code, true, root.headers))).toEqual(['decide sign_in_code']);
  // A device code that is replayed.
  const first = (await redeem(words.device_code)).words;
  expect(await counted(() => redeem(words.device_code))).toEqual(['token expired_token']);
  // A refresh token that is used twice, within a minute and after it.
  const second = (await renew(first.refresh_token)).words;
  expect(await counted(() => renew(first.refresh_token))).toEqual(['token invalid_grant']);
  aheadMs += 61_000;
  expect(await counted(() => renew(first.refresh_token))).toEqual(['token invalid_grant']);
  expect(await counted(() => renew(second.refresh_token))).toEqual(['token invalid_grant']);
  // A page of another site, plain HTTP from elsewhere, and a grant that is none.
  const fields = { client_id: 'gateway' };
  const evil = { origin: 'https://evil.example' };
  expect(await counted(() => post('/oauth/device_authorization', fields, evil))).toEqual(['begin invalid_request']);
  const plain = { 'x-gateway-client-ip': '192.0.2.1' };
  expect(await counted(() => post('/oauth/token', fields, plain))).toEqual(['token invalid_request']);
  expect(await counted(() => post('/oauth/token', fields))).toEqual(['token unsupported_grant_type']);
  // Redirects that are left open.
  const open = { redirect_uri: 'https://evil.example/callback' };
  expect(await counted(() => authorize({}, { ...codeRequest, ...open }))).toEqual(['browser invalid_request']);
  expect(await counted(() => approveCode(open))).toEqual(['decide_browser params_invalid']);
  expect(await counted(() => authorize({}, { ...codeRequest, code_challenge: 'x' }))).toEqual([
    'browser invalid_request',
  ]);
  // More codes than a network gets, and than wait at once.
  for (let code = 1; code < 30; code++) await begin();
  expect(await counted(() => begin())).toEqual(['begin slow_down']);
  expect(await counted(() => begin('10.0.0.1', 'stranger'))).toEqual(['begin invalid_client']);
  const { signIns } = api.gateway.services;
  for (let waiting = 30; waiting < 500; waiting++)
    await signIns.begin('gateway', 'h', `10.${waiting >> 8}.${waiting & 255}.1`);
  expect(await counted(() => begin('10.9.9.9'))).toEqual(['begin slow_down']);
  // Where no program may sign in there is nothing to count.
  await api.gateway.option('agents.sign_in', 'false');
  expect(await counted(() => begin())).toEqual([]);
});
