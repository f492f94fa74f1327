/** Keys of tokens as the consoles and scripts of this family read them, and as these present them. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { localOwner } from '../../server/http/call.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let api: ApiFixture;
let root: Headers;
let upstream: Upstream;

beforeEach(async () => {
  api = await createApiFixture();
  ({ headers: root } = await api.addUser('root', 100));
  upstream = await startUpstream((response) => sendJson(response, completion(1, 1)));
});
afterEach(async () => {
  await api.close();
  await upstream.stop();
});

interface Row {
  readonly id: number;
  readonly key: string;
}
const bare = /^[A-Za-z0-9]{48}$/;
const ask = async (method: string, path: string, body?: unknown) =>
  (await api.send(method, path, body, root)).body.data;

test('every answer of the API carries the key without sk-', async () => {
  const made = (await ask('POST', '/api/token/', { name: 'laptop', unlimited_quota: true })) as Row;
  const rows: Readonly<Record<string, unknown>> = {
    create: made,
    get: await ask('GET', `/api/token/${made.id}`),
    list: ((await ask('GET', '/api/token/?p=0&size=10')) as Row[])[0],
    'search by name': ((await ask('GET', '/api/token/search?keyword=laptop')) as Row[])[0],
    'search by key': ((await ask('GET', `/api/token/search?token=${made.key}`)) as Row[])[0],
    'search by key, with sk-': ((await ask('GET', `/api/token/search?token=sk-${made.key}`)) as Row[])[0],
    'search by key, twice': ((await ask('GET', `/api/token/search?token=sk-sk-${made.key}`)) as Row[])[0],
    update: await ask('PUT', '/api/token/', { id: made.id, name: 'desk' }),
    'update of the status': await ask('PUT', '/api/token/?status_only=true', { id: made.id, status: 1 }),
  };
  for (const [name, row] of Object.entries(rows)) {
    expect((row as Row | undefined)?.key, name).toBe(made.key);
  }
  expect(made.key).toMatch(bare);
  const rotated = (await api.gateway.call('token.rotate', { id: made.id }, localOwner)) as Row;
  expect(rotated.key).toMatch(bare);
  expect(rotated.key).not.toBe(made.key);
});

test('a key of one’s own may be given with any number of sk-', async () => {
  const key = 'canaryOwnKey0123456789';
  const made = (await ask('POST', '/api/token/', { name: 'own', key: `sk-sk-${key}` })) as Row;
  expect(made.key).toBe(key);
});

test.each(['', 'sk-', 'sk-sk-', 'sk-sk-sk-'])('the relay takes a key with %j in front', async (prefix) => {
  const { gateway } = api;
  await gateway.channel(upstream.url);
  await gateway.option('SelfUseModeEnabled', 'true');
  const made = (await ask('POST', '/api/token/', { name: 'laptop', unlimited_quota: true })) as Row;
  await ask('PUT', '/api/user/', { id: 2, add_quota: 5_000_000 });
  await gateway.sync();
  const credentials: Headers[] = [
    { authorization: `Bearer ${prefix}${made.key}` },
    { 'x-api-key': `${prefix}${made.key}` },
    { 'x-goog-api-key': `${prefix}${made.key}` },
    // An administrator's pin stands behind the key.
    { authorization: `Bearer ${prefix}${made.key}-1` },
  ];
  for (const headers of credentials) {
    const path = '/v1/chat/completions';
    const request = new Request(`http://gateway${path}`, {
      method: 'POST',
      headers,
      body: '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi"}]}',
    });
    const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
    expect(response.status, JSON.stringify(headers)).toBe(200);
  }
});

test('a key may have an order of groups that its user may use, and no other', async () => {
  await api.gateway.option('GroupRatio', '{"default":1,"vip":2,"closed":1}');
  await api.gateway.option('UserUsableGroups', '{"default":"d","vip":"v"}');
  const { headers: user } = await api.addUser('ann', 1);
  const make = async (group?: string) => {
    const { body } = await api.send('POST', '/api/token/', { name: 'k', unlimited_quota: true, group }, user);
    return body.success === true ? (body.data as { group: string }).group : body.code;
  };
  for (const group of ['vip,default', 'default,vip', 'auto', 'cheapest']) expect(await make(group)).toBe(group);
  for (const group of ['vip,closed', 'closed', ',', Array.from({ length: 17 }, (_, at) => `g${at}`).join(',')])
    expect(await make(group), group).toBe('token_group');
  // Names that every object has.
  for (const group of ['constructor', '__proto__', 'default,toString'])
    expect(await make(group), group).toBe('token_group');
  expect(await make(` vip, default,vip${','.repeat(5000)}`)).toBe('vip,default');
  expect(await make()).toBe('');
  await api.gateway.option('DefaultUseAutoGroup', 'true');
  expect(await make()).toBe('auto');
  expect(await make('vip')).toBe('vip');
});
