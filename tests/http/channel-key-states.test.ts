/** Single keys of one channel: looked at, tested, switched off and on, and never shown. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import type { TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

const keys = ['sk-canary-first-aaaa', 'sk-canary-second-bbbb', 'sk-canary-third-cccc'] as const;
const hint = (at: number) => `sk-c…${'abc'[at]?.repeat(4)}`;
const answered = { id: 'x', object: 'chat.completion', choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } };

interface Key {
  readonly key_id: string;
  readonly hint: string;
  readonly status: string;
  readonly wait_ms: number;
  readonly waiting_models: readonly { readonly model: string; readonly wait_ms: number }[];
  readonly error: string;
  readonly error_time: number;
  readonly used_time: number;
}

interface Row {
  readonly action: string;
  readonly detail: string;
}

let api: ApiFixture;
let admin: Headers;
let root: Headers;
let upstream: Upstream;
let token: string;
let id: number;
/** What the upstream answers to a key, where it is not well. */
let refusals: Record<string, readonly [status: number, message: string]>;
const sentKeys = () => upstream.requests.map(({ headers }) => String(headers.authorization).replace('Bearer ', ''));

beforeAll(async () => {
  upstream = await startUpstream((response, { headers }) => {
    const [status, message] = refusals[String(headers.authorization).replace('Bearer ', '')] ?? [200, ''];
    if (status === 200) sendJson(response, answered);
    else sendJson(response, { error: { message, type: 'x', code: 'y' } }, status, { 'retry-after': '600' });
  });
  // The fixture is made before its relay can be asked.
  const late: { gateway: TestGateway | null } = { gateway: null };
  api = await createApiFixture(
    {},
    {
      channelTests: true,
      more: {
        statusOf: async (ids, model = null, withKeys = false) =>
          (late.gateway?.relay.channelStatuses(ids, model) ?? []).map((status, at) =>
            withKeys ? { ...status, keys: late.gateway?.relay.keyHealth(ids[at] ?? 0) ?? [] } : status,
          ),
      },
    },
  );
  late.gateway = api.gateway;
  admin = (await api.addUser('boss', 10)).headers;
  root = (await api.addUser('owner', 100)).headers;
  token = (await api.gateway.token()).key;
});
afterAll(async () => {
  await api.close();
  await upstream.stop();
});
beforeEach(async () => {
  refusals = {};
  upstream.requests.length = 0;
  if (id !== undefined) await api.gateway.services.channels.remove(id);
  id = await api.gateway.channel(upstream.url, { key: keys.join('\n'), setting: '{"key_mode":"turn"}' });
});

const send = async (method: string, path: string, body?: unknown, who = admin) => {
  const reply = await api.send(method, path, body, who);
  expect(JSON.stringify(reply.body)).not.toContain('canary');
  await api.gateway.sync();
  return reply.body;
};
const list = async () => (await send('GET', `/api/channel/keys/${id}`)).data as Key[];
const idOf = async (at: number) => (await list())[at]?.key_id ?? '';
const switchTo = (key: string, status: 'in_use' | 'off') => send('PUT', `/api/channel/keys/${id}/${key}`, { status });
const ask = () => api.gateway.chat(token, { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] });

test('each key of a channel has a name, a hint and a state', async () => {
  const found = await list();
  expect(found).toMatchObject(
    [0, 1, 2].map((at) => ({ hint: hint(at), status: 'in_use', wait_ms: 0, error: '', used_time: 0 })),
  );
  expect(new Set(found.map(({ key_id }) => key_id)).size).toBe(3);
  await ask();
  const [used, ...others] = await list();
  expect(used?.used_time).toBeGreaterThan(Date.now() / 1000 - 60);
  expect(others.map(({ used_time }) => used_time)).toEqual([0, 0]);
});

test('a key that was refused says so in the words of its upstream, without the key', async () => {
  refusals = { [keys[0]]: [401, `Incorrect API key provided: ${keys[0]}`] };
  await ask();
  const [refused, next] = await list();
  expect(refused).toMatchObject({ status: 'refused', error: 'HTTP 401 · y · Incorrect API key provided: ***' });
  expect(refused?.wait_ms).toBeGreaterThan(59_000);
  expect(refused?.error_time).toBeGreaterThan(Date.now() / 1000 - 60);
  expect(next).toMatchObject({ status: 'in_use', error: '' });
  // It works again.
  refusals = {};
  expect(await send('POST', `/api/channel/keys/${id}/${refused?.key_id}/test`, {})).toMatchObject({ success: true });
  expect((await list())[0]).toMatchObject({ status: 'in_use', wait_ms: 0, error: expect.stringContaining('401') });
});

test('a key that is limited names the model at which it waits', async () => {
  refusals = { [keys[0]]: [429, 'slow down'] };
  await ask();
  const [limited] = await list();
  expect(limited).toMatchObject({ status: 'in_use', wait_ms: 0, error: 'HTTP 429 · y · slow down' });
  expect(limited?.waiting_models).toEqual([{ model: 'gpt-4o-mini', wait_ms: expect.closeTo(600_000, -4) }]);
});

test('waits are whole milliseconds: of keys, of their models, of channels', async () => {
  refusals = { [keys[0]]: [401, 'no'], [keys[1]]: [429, 'slow down'], [keys[2]]: [429, 'slow down'] };
  for (let n = 0; n < 3; n++) await ask();
  const found = await list();
  const { data } = (await send('GET', '/api/route/explain?model=gpt-4o-mini', undefined, root)) as {
    data: { channels: readonly { wait_ms: number }[] };
  };
  for (const waits of [
    found.map(({ wait_ms }) => wait_ms),
    found.flatMap(({ waiting_models: models }) => models.map(({ wait_ms }) => wait_ms)),
    data.channels.map(({ wait_ms }) => wait_ms),
  ]) {
    expect(waits.filter((ms) => ms > 0)).not.toEqual([]);
    expect(waits.filter((ms) => !Number.isInteger(ms))).toEqual([]);
  }
});

test('a key that is switched off is sent nowhere, survives edits of the list, and comes back', async () => {
  const second = await idOf(1);
  expect(await switchTo(second, 'off')).toMatchObject({ success: true, data: { hint: hint(1), status: 'off' } });
  for (let n = 0; n < 6; n++) await ask();
  expect(new Set(sentKeys())).toEqual(new Set([keys[0], keys[2]]));
  // Another in front of it, one less behind it.
  await send('PUT', '/api/channel/', { id, key: `sk-canary-fourth-dddd\n${keys[0]}\n${keys[1]}`, priority: 2 });
  expect((await list()).map(({ status }) => status)).toEqual(['in_use', 'in_use', 'off']);
  expect(await idOf(2)).toBe(second);
  // Taken out and put back.
  await send('PUT', '/api/channel/', { id, key: `${keys[0]}\n${keys[2]}` });
  await send('PUT', '/api/channel/', { id, key: keys.join('\n'), setting: '{"key_mode":"random"}' });
  expect((await list()).map(({ status }) => status)).toEqual(['in_use', 'off', 'in_use']);
  expect(await switchTo(hint(1), 'in_use')).toMatchObject({ data: { key_id: second, status: 'in_use' } });
  expect((await list()).map(({ status }) => status)).toEqual(['in_use', 'in_use', 'in_use']);
});

test('the last key in use is not switched off; a list that switches all off takes the channel out of use', async () => {
  await switchTo(await idOf(0), 'off');
  await switchTo(await idOf(1), 'off');
  expect(await switchTo(await idOf(2), 'off')).toMatchObject({ success: false, code: 'channel_last_key' });
  expect((await list()).map(({ status }) => status)).toEqual(['off', 'off', 'in_use']);
  const names = (await list()).map(({ key_id }) => key_id).join(',');
  await send('PUT', '/api/channel/', { id, keys_off: names });
  upstream.requests.length = 0;
  expect((await ask()).status).not.toBe(200);
  expect(upstream.requests).toEqual([]);
  await send('PUT', '/api/channel/', { id, keys_off: '' });
  expect((await ask()).status).toBe(200);
});

test('a key is tested alone, switched off as well, and stays as it was', async () => {
  await switchTo(await idOf(1), 'off');
  expect(await send('POST', `/api/channel/keys/${id}/${hint(1)}/test`, {})).toMatchObject({ success: true });
  expect(sentKeys()).toEqual([keys[1]]);
  refusals = { [keys[1]]: [401, 'no'] };
  const failed = await send('POST', `/api/channel/keys/${id}/${await idOf(1)}/test`, { model: 'gpt-4o-mini' });
  expect(failed).toMatchObject({ success: false, message: expect.stringContaining('no') });
  expect((await list()).map(({ status }) => status)).toEqual(['in_use', 'off', 'in_use']);
  expect((await send('GET', '/api/channel/')).data).toHaveLength(1);
});

test('a key that does not exist, a state that does not, and who may not', async () => {
  expect(await switchTo('0123456789', 'off')).toMatchObject({ code: 'not_found' });
  expect(await send('POST', `/api/channel/keys/${id}/0123456789/test`, {})).toMatchObject({ code: 'not_found' });
  expect(await send('PUT', `/api/channel/keys/${id}/${await idOf(0)}`, { status: 'on' })).toMatchObject({
    success: false,
  });
  expect(await send('PUT', '/api/channel/', { id, keys_off: 'sk-nothing' })).toMatchObject({ code: 'not_found' });
  const user = (await api.addUser('somebody', 1)).headers;
  expect((await api.send('GET', `/api/channel/keys/${id}`, undefined, user)).body.success).toBe(false);
});

test('switches of single keys stand in the audit log with their user', async () => {
  const name = await idOf(0);
  await switchTo(name, 'off');
  // Nothing changes, and nothing is written.
  await switchTo(name, 'off');
  const rows = ((await send('GET', '/api/audit/?page_size=5', undefined, root)).data as { items: readonly Row[] })
    .items;
  expect(JSON.parse(rows[0]?.detail ?? '{}')).toEqual({ id, key_id: name, status: 'off' });
  expect(rows.map(({ action }) => action === 'channel.key_update').slice(0, 2)).toEqual([true, false]);
});

test('a declarative file switches keys by name or hint, and an export says which are off', async () => {
  const name = await idOf(1);
  const apply = (keys_off: unknown) =>
    send(
      'POST',
      '/api/provision',
      { document: { version: 1, channels: [{ name: 'up', type: 'openai', keys_off }] } },
      root,
    );
  await apply([hint(1)]);
  expect((await list()).map(({ status }) => status)).toEqual(['in_use', 'off', 'in_use']);
  expect(await apply([hint(1)])).toMatchObject({ data: [{ action: 'unchanged' }] });
  expect(await apply([name])).toMatchObject({ data: [{ action: 'unchanged' }] });
  const copy = ((await send('POST', `/api/channel/copy/${id}`)).data as { id: number; keys_off: string }) ?? {};
  expect(copy.keys_off).toBe(name);
  await api.gateway.services.channels.remove(copy.id);
  await apply([]);
  expect((await list()).map(({ status }) => status)).toEqual(['in_use', 'in_use', 'in_use']);
});
