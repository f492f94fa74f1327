import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let api: ApiFixture;
let admin: Headers;
let upstream: Upstream;
beforeEach(async () => {
  upstream = await startUpstream((response) => sendJson(response, {}));
  api = await createApiFixture({}, { channelTests: true });
  admin = (await api.addUser('boss', 10)).headers;
});
afterEach(async () => {
  await api.close();
  await upstream.stop();
});

const call = async (method: string, path: string, body?: unknown) => (await api.send(method, path, body, admin)).body;
const add = async (name: string, more: object = {}): Promise<number> => {
  const { data } = await call('POST', '/api/channel/', { type: 1, name, key: 'sk-secret-value', models: 'm', ...more });
  return (data as { id: number }[])[0]?.id ?? 0;
};
const list = async (): Promise<{ id: number; name: string }[]> =>
  (await call('GET', '/api/channel/?p=0&page_size=100')).data as never;

const answered = { id: 'x', object: 'chat.completion', choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } };

test('a channel is asked before it is stored, and leaves nothing behind', async () => {
  const fields = { type: 1, name: 'new', base_url: upstream.url, models: 'm,n', key: 'sk-typed-before-saving' };
  upstream.script((response) => sendJson(response, answered));
  expect(await call('POST', '/api/channel/try', { ...fields, model: 'n' })).toMatchObject({
    success: true,
    message: '',
  });
  expect(upstream.requests[0]?.headers.authorization).toBe('Bearer sk-typed-before-saving');
  expect(JSON.parse(String(upstream.requests[0]?.body))).toMatchObject({ model: 'n' });
  upstream.script((response) => sendJson(response, { error: { message: 'sk-typed-before-saving is wrong' } }, 401));
  const rejected = await call('POST', '/api/channel/try', fields);
  expect(rejected.success).toBe(false);
  expect(JSON.stringify(rejected)).not.toContain('sk-typed');
  expect(await list()).toEqual([]);
  expect((await call('POST', '/api/channel/try', { ...fields, key: '' })).message).toBe('请填写密钥');
});

test('a stored channel is tried as it would be after the change, with its own key', async () => {
  const id = await add('a', { base_url: upstream.url });
  upstream.script((response) => sendJson(response, answered));
  const body = { id, base_url: `${upstream.url}/v1/`, models: 'm,n', model: 'n' };
  expect(await call('POST', '/api/channel/try', body)).toMatchObject({ success: true });
  expect(upstream.requests[0]?.headers.authorization).toBe('Bearer sk-secret-value');
  expect((await call('GET', `/api/channel/${id}`)).data).toMatchObject({ base_url: upstream.url, status: 1 });
  expect(await list()).toHaveLength(1);
});

test('a stored channel is tried elsewhere with a key that is typed for it', async () => {
  const id = await add('a', { base_url: 'http://127.0.0.1:1' });
  upstream.script((response) => sendJson(response, answered));
  const body = { id, type: 1, base_url: upstream.url, models: 'm', key: 'sk-typed-for-it' };
  expect(await call('POST', '/api/channel/try', body)).toMatchObject({ success: true });
  expect(upstream.requests[0]?.headers.authorization).toBe('Bearer sk-typed-for-it');
});

test('several keys make several channels, or one that uses them in turn', async () => {
  const key = 'sk-first-of-two\n sk-second-of-two \n';
  await add('apart', { key });
  expect((await list()).map(({ name }) => name).sort()).toEqual(['apart_1', 'apart_2']);
  const id = await add('together', { key, setting: '{"key_mode":"turn"}', base_url: upstream.url });
  expect(await list()).toHaveLength(3);
  upstream.script((response) => sendJson(response, answered));
  for (let turn = 0; turn < 2; turn += 1) await call('GET', `/api/channel/test/${id}`);
  expect(upstream.requests.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer sk-first-of-two',
    'Bearer sk-second-of-two',
  ]);
});

test('a channel that answered before it was stored is not called untested', async () => {
  const fields = { type: 1, name: 'new', base_url: `${upstream.url}/`, models: 'm', key: 'sk-typed-before-saving' };
  upstream.script((response) => sendJson(response, answered));
  await call('POST', '/api/channel/try', fields);
  const stored = async (more: object) =>
    ((await call('POST', '/api/channel/', { ...fields, ...more })).data as { test_time: number }[])[0]?.test_time;
  expect(await stored({ key: 'sk-of-somebody-else' })).toBe(0);
  expect(await stored({ base_url: 'http://127.0.0.1:1' })).toBe(0);
  expect(await stored({})).toBeGreaterThan(0);
});

test.each(['not a url', 'api.openai.com', 'ftp://host', 'http://', 'http://a b'])(
  'the address %s of a channel is refused with its reason',
  async (address) => {
    const body = { type: 1, name: 'a', key: 'sk-1', models: 'm', base_url: address };
    for (const path of ['/api/channel/', '/api/channel/try'])
      expect(await call('POST', path, body)).toMatchObject({
        success: false,
        code: 'channel_address',
        message: expect.stringContaining(address),
      });
    const id = await add('b');
    expect(await call('PUT', '/api/channel/', { id, key: 'sk-2', base_url: address })).toMatchObject({
      code: 'channel_address',
    });
  },
);

test.each([
  ['setting', '“setting”必须是合法的 JSON 格式！'],
  ['param_override', '“param_override”必须是合法的 JSON 格式！'],
  ['status_code_mapping', '“status_code_mapping”必须是合法的 JSON 格式！'],
  ['model_mapping', '模型映射必须是合法的 JSON 格式！'],
])('%s that is no JSON is refused under its own name', async (field, message) => {
  const body = { type: 1, name: 'a', key: 'sk-1', models: 'm', [field]: '{' };
  expect((await call('POST', '/api/channel/', body)).message).toBe(message);
});

test('who tests a channel whose host cannot be reached reads its name, and a caller of the channel does not', async () => {
  const fields = { type: 1, name: 'new', base_url: 'https://no-such-host.invalid', models: 'm', key: 'sk-a' };
  const tried = (await call('POST', '/api/channel/try', fields)) as unknown as { success: boolean; message: string };
  expect(tried.success).toBe(false);
  expect(tried.message).toContain('no-such-host.invalid');
  expect(tried.message).not.toContain('***');
  await add('away', { base_url: fields.base_url });
  const { key } = await api.gateway.token();
  const refused = await api.gateway.chat(key, { model: 'm', messages: [] });
  expect(await refused.text()).not.toContain('no-such-host');
});
