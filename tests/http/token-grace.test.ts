/** A key is replaced while its old one goes on for a while, and given to somebody by a link that works once. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemTimers } from '../../server/contract/timers.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { rowsOf } from '../support/engines.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

interface Row {
  readonly id: number;
  readonly key: string;
  readonly old_key_hint: string;
  readonly old_key_until: number;
  readonly link_until: number;
  readonly last_ip: string;
}

let api: ApiFixture;
let root: Headers;
let upstream: Upstream;
let ahead = 0;
const now = () => Date.now() + ahead;

beforeEach(async () => {
  ahead = 0;
  api = await createApiFixture({}, { now, relay: { timers: { ...systemTimers, now } } });
  const user = await api.addUser('root', 100);
  root = user.headers;
  upstream = await startUpstream((response) => sendJson(response, completion(1, 1)));
  await api.gateway.channel(upstream.url);
  await api.gateway.option('SelfUseModeEnabled', 'true');
  await ask('PUT', '/api/user/', { id: user.id, add_quota: 5_000_000 });
});
afterEach(async () => {
  await api.close();
  await upstream.stop();
});

const ask = async (method: string, path: string, body?: unknown, headers = root) =>
  (await api.send(method, path, body, headers)).body.data;
const make = async () => (await ask('POST', '/api/token/', { name: 'laptop', unlimited_quota: true })) as Row;
const rotate = async (id: number, hours?: number) =>
  (await ask('POST', `/api/token/${id}/rotate`, hours === undefined ? {} : { grace_hours: hours })) as Row;

async function statusWith(key: string, ip = '127.0.0.1'): Promise<number> {
  await api.gateway.sync();
  const path = '/v1/chat/completions';
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}` },
    body: '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi"}]}',
  });
  return (await api.gateway.relay.handle(request, path, { ip: () => ip })).status;
}

test('a rotated key without grace stops at once', async () => {
  const made = await make();
  const rotated = await rotate(made.id);
  expect(rotated.old_key_until).toBe(0);
  expect(await statusWith(made.key)).toBe(401);
  expect(await statusWith(rotated.key)).toBe(200);
});

test('with grace both keys work, and the server ends the old one when the hours are over', async () => {
  const made = await make();
  const rotated = await rotate(made.id, 2);
  expect(rotated.old_key_hint).toBe(`${made.key.slice(0, 4)}…${made.key.slice(-4)}`);
  expect(rotated.old_key_until).toBeGreaterThan(now() / 1000 + 2 * 3600 - 60);
  expect(await statusWith(made.key)).toBe(200);
  expect(await statusWith(rotated.key)).toBe(200);
  // An administrator's pin behind the old key is one behind the key.
  expect(await statusWith(`${made.key}-1`)).toBe(200);
  ahead = 2 * 3600_000 + 1000;
  expect(await statusWith(made.key)).toBe(401);
  expect(await statusWith(`${made.key}-1`)).toBe(401);
  expect(await statusWith(rotated.key)).toBe(200);
  expect((await ask('GET', `/api/token/${made.id}`)) as Row).toMatchObject({ old_key_hint: '', old_key_until: 0 });
});

test('the old key is ended by hand before its time', async () => {
  const made = await make();
  const rotated = await rotate(made.id, 48);
  expect((await ask('POST', `/api/token/${made.id}/retire`)) as Row).toMatchObject({ old_key_until: 0 });
  expect(await statusWith(made.key)).toBe(401);
  expect(await statusWith(rotated.key)).toBe(200);
});

test('a second rotation leaves the last two keys alone', async () => {
  const made = await make();
  const second = await rotate(made.id, 48);
  const third = await rotate(made.id, 48);
  expect(await statusWith(made.key)).toBe(401);
  expect(await statusWith(second.key)).toBe(200);
  expect(await statusWith(third.key)).toBe(200);
});

test('a disabled or deleted token takes neither key', async () => {
  const made = await make();
  const rotated = await rotate(made.id, 48);
  await ask('PUT', '/api/token/?status_only=true', { id: made.id, status: 2 });
  expect(await statusWith(made.key)).toBe(401);
  await ask('PUT', '/api/token/?status_only=true', { id: made.id, status: 1 });
  expect(await statusWith(made.key)).toBe(200);
  await ask('DELETE', `/api/token/${made.id}`);
  expect(await statusWith(made.key)).toBe(401);
  expect(await statusWith(rotated.key)).toBe(401);
});

test('the log of a key is read with the old key during its grace and not after', async () => {
  const made = await make();
  await rotate(made.id, 1);
  const read = async () => (await api.send('GET', `/api/log/token?key=sk-${made.key}`)).body.success;
  expect(await read()).toBe(true);
  ahead = 3600_000 + 1000;
  expect(await read()).toBe(false);
});

test.each([-1, 721, 1.5])('grace of %s hours is refused', async (grace_hours) => {
  const made = await make();
  expect((await api.send('POST', `/api/token/${made.id}/rotate`, { grace_hours }, root)).body.success).toBe(false);
  expect(await statusWith(made.key)).toBe(200);
});

test('a key that another user had before cannot be made', async () => {
  const made = await make();
  await rotate(made.id, 48);
  const again = await api.send('POST', '/api/token/', { name: 'thief', key: made.key }, root);
  expect(again.body.code).toBe('conflict');
});

const open = (secret: string) => api.send('POST', '/api/token-link', { secret });
const secretOf = (path: string): string => path.slice('/key#'.length);
const share = async (id: number, hours?: number) =>
  (await ask('POST', `/api/token/${id}/share`, hours === undefined ? {} : { hours })) as {
    path: string;
    until: number;
  };

test('a link shows the key once, to the first person who opens it', async () => {
  const made = await make();
  const { path, until } = await share(made.id);
  expect(((await ask('GET', `/api/token/${made.id}`)) as Row).link_until).toBe(until);
  const opened = await open(secretOf(path));
  expect(opened.body.data).toMatchObject({ name: 'laptop', key: made.key, unlimited_quota: true });
  expect(Object.keys(opened.body.data as object)).not.toContain('user_id');
  const again = await open(secretOf(path));
  expect([again.status, again.body.code, again.body.data]).toEqual([404, 'key_link_gone', undefined]);
  expect(((await ask('GET', `/api/token/${made.id}`)) as Row).link_until).toBe(0);
});

test('two who open a link at once get one key between them', async () => {
  const made = await make();
  const { path } = await share(made.id);
  const opened = await Promise.all(Array.from({ length: 6 }, () => open(secretOf(path))));
  expect(opened.filter(({ body }) => body.success)).toHaveLength(1);
});

test('a link ends with its time, its withdrawal, a newer link, a rotation and its token', async () => {
  const made = await make();
  const gone = async (path: string) => expect((await open(secretOf(path))).body.code).toBe('key_link_gone');
  const late = await share(made.id, 1);
  ahead = 3600_000 + 1000;
  await gone(late.path);
  const withdrawn = await share(made.id);
  await ask('DELETE', `/api/token/${made.id}/share`);
  await gone(withdrawn.path);
  const first = await share(made.id);
  await share(made.id);
  await gone(first.path);
  const before = await share(made.id);
  await rotate(made.id, 1);
  await gone(before.path);
  const last = await share(made.id);
  await ask('DELETE', `/api/token/${made.id}`);
  await gone(last.path);
  for (const secret of ['', 'x']) expect((await open(secret)).body.code).toBe('key_link_gone');
});

test('a link is hashed at rest, and the audit trail says who made and who opened it', async () => {
  const made = await make();
  const { path } = await share(made.id, 5);
  const rows = await rowsOf(api.gateway.database, 'SELECT * FROM tokens');
  expect(JSON.stringify(rows)).not.toContain(secretOf(path));
  await open(secretOf(path));
  const { items } = await api.gateway.services.audit.page(1, 10);
  const trail = items.filter(({ target }) => target === String(made.id));
  expect(trail.map(({ action, actor }) => [action, actor])).toEqual([
    ['token.open_shared', ''],
    ['token.share', 'root'],
  ]);
  expect(JSON.stringify(items)).not.toContain(secretOf(path));
  expect(JSON.stringify(items)).not.toContain(made.key);
});

test('another user’s key is neither shared nor rotated nor ended', async () => {
  const made = await make();
  const { headers } = await api.addUser('eve', 1);
  for (const path of ['share', 'rotate', 'retire'])
    expect((await api.send('POST', `/api/token/${made.id}/${path}`, {}, headers)).body.code, path).toBe('not_found');
  expect((await api.send('DELETE', `/api/token/${made.id}/share`, undefined, headers)).body.code).toBe('not_found');
  expect(await statusWith(made.key)).toBe(200);
});

test('the address of a key’s last use is stored with the traffic', async () => {
  const made = await make();
  expect(await statusWith(made.key, '10.0.0.7')).toBe(200);
  api.gateway.services.trafficRecorder.add(api.gateway.relay.takeTraffic());
  await api.gateway.services.trafficRecorder.flush();
  expect(((await ask('GET', `/api/token/${made.id}`)) as Row).last_ip).toBe('10.0.0.7');
  expect(await statusWith(made.key, '10.0.0.8')).toBe(200);
  api.gateway.services.trafficRecorder.add(api.gateway.relay.takeTraffic());
  await api.gateway.services.trafficRecorder.flush();
  expect(((await ask('GET', `/api/token/${made.id}`)) as Row).last_ip).toBe('10.0.0.8');
});
