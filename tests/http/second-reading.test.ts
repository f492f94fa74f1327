/** What a second reading of the specification found different, tried as users and administrators would. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createConsoleAssets } from '../../server/http/console-assets.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let api: ApiFixture;
let upstream: Upstream;
let root: Headers;
let plain: Headers;
let plainId: number;

beforeEach(async () => {
  api = await createApiFixture({}, { channelTests: true });
  upstream = await startUpstream((response) =>
    sendJson(response, {
      choices: [{ message: { content: 'hi' } }],
      usage: { prompt_tokens: 3, completion_tokens: 1 },
    }),
  );
  ({ headers: root } = await api.addUser('root', 100));
  ({ headers: plain, id: plainId } = await api.addUser('plain', 1));
});
afterEach(async () => {
  await api.close();
  await upstream.stop();
});

const ask = async (method: string, path: string, body?: unknown, as: Headers = root, language = 'zh') =>
  (await api.send(method, path, body, { 'accept-language': language, ...as })).body;
const works = async (method: string, path: string, body?: unknown, as: Headers = root): Promise<unknown> => {
  const answer = await ask(method, path, body, as);
  expect([method, path, answer.message, answer.success]).toEqual([method, path, answer.message, true]);
  return answer.data;
};
const refuses = async (code: string, method: string, path: string, body?: unknown, as: Headers = root) =>
  expect((await ask(method, path, body, as)).code).toBe(code);
const set = (key: string, value: string) => works('PUT', '/api/option/', { key, value });
const register = (username: string, as: Headers = {}) =>
  ask('POST', '/api/user/register', { username, password: 'password1', password2: 'password1' }, as);
const channel = { type: 1, name: 'one', key: 'sk-key-one', models: 'm' };

test.each([
  ['a zero-width space', 'ro​ot'],
  ['a mark that turns the direction', 'ab‮cd'],
  ['a soft hyphen', 'ro­ot'],
  ['a filler', 'roㅤot'],
  ['a tab', 'ro\tot'],
])('a username with %s is refused, and the message says why', async (_name, username) => {
  const answer = await register(username);
  expect([answer.success, answer.message]).toEqual([false, '输入不合法：用户名不能包含不可见或控制字符']);
  const english = await register(username, { 'accept-language': 'en' });
  expect(english.message).toContain('the username must not contain invisible or control characters');
});

test('names that read alike are one name', async () => {
  expect((await register('Caf\u00e9')).success).toBe(true);
  expect((await register('Cafe\u0301')).code).toBe('username_taken');
  expect((await register('caf\u00e9')).code).toBe('username_taken');
  expect((await register('PLAIN')).code).toBe('username_taken');
  expect((await register('李雷')).success).toBe(true);
});

test('an address of mail is one address in any case, also as a username', async () => {
  const { users } = api.gateway.services;
  const email = 'New2@x.co';
  const fields = { password: 'password1', displayName: '', role: 1, quota: 0 };
  await users.create({ ...fields, username: 'mailed', email });
  // As names from a declarative file may be; who registers has none like it.
  for (const username of ['new2@x.co', 'NEW2@X.CO']) {
    await expect(users.create({ ...fields, username })).rejects.toMatchObject({ code: 'username_taken' });
    expect((await register(username)).code).toBe('input_invalid');
  }
});

test('validator findings are in the caller’s language', async () => {
  expect((await ask('PUT', '/api/user/', { id: plainId, quota: 1.5 })).message).toBe('无效的参数：quota 必须是整数');
  expect((await ask('PUT', '/api/user/', { id: plainId, quota: 1.5 }, root, 'en')).message).toBe(
    'Invalid parameters: quota must be a whole number',
  );
  const action = await ask('POST', '/api/user/manage', { id: plainId, action: 'praise' });
  expect(action.message).toBe('无效的参数：action 必须是 disable、enable、delete、promote、demote 之一');
  expect((await ask('GET', '/api/channel/99999')).message).toBe('渠道 99999 不存在');
  expect((await ask('GET', '/api/channel/99999', undefined, root, 'en')).message).toBe('channel 99999 does not exist');
});

test('a user who changes the own name gets an error', async () => {
  await refuses('self_username', 'PUT', '/api/user/self', { username: 'other' }, plain);
  await works('PUT', '/api/user/self', { username: 'plain', display_name: 'P', role: 100, quota: 9 }, plain);
  expect(await works('GET', '/api/user/self', undefined, plain)).toMatchObject({
    display_name: 'P',
    role: 1,
    quota: 0,
  });
});

test('a picture has its address and is one; a file that is not there is no page', async () => {
  const assets = createConsoleAssets(() => ({ botCheck: false, payAddress: '' }));
  const get = (path: string) => assets(new Request(`http://gateway${path}`), path);
  expect([get('/nothing.png')?.status, get('/favicon.ico')?.status]).toEqual([404, 404]);
  const bytes = await import('node:fs').then(({ readFileSync }) => readFileSync('web/public/logo.png'));
  expect(bytes.subarray(1, 4).toString()).toBe('PNG');
});

test('a payment gateway without TLS may be sent the form, and no other', () => {
  const policy = (payAddress: string) =>
    createConsoleAssets(() => ({ botCheck: false, payAddress }))(new Request('http://gateway/'), '/')?.headers.get(
      'content-security-policy',
    ) ?? null;
  if (policy('') === null) return;
  expect(policy('http://pay.example:81/x')).toContain("form-action 'self' https: http://pay.example:81;");
  expect(policy('https://pay.example')).toContain("form-action 'self' https:;");
});

test.each<readonly [string, string]>([
  ['ContextTiers', '{"x":5}'],
  ['ContextTiers', '{"x":[{"input":2}]}'],
  ['ContextTiers', '{"x":[{"above":1000}]}'],
  ['Chats', '[1]'],
  ['Chats', '[{"a":1}]'],
  ['claude.model_headers_settings', '{"claude":{"a header":"x"}}'],
  ['claude.model_headers_settings', '{"claude":{"x":"a\\nb"}}'],
  ['claude.model_headers_settings', '{"claude":"x"}'],
  ...['Host', 'content-length', 'Transfer-Encoding', 'connection', 'x-api-key', 'Authorization', 'cookie'].map(
    (name) => ['claude.model_headers_settings', JSON.stringify({ claude: { 'x-one': '1', [name]: 'x' } })] as const,
  ),
  ['claude.default_max_tokens', '{"default":"many"}'],
  ['claude.default_max_tokens', '{"default":0}'],
  ['gemini.safety_settings', '{"default":1}'],
  ['gemini.supported_imagine_models', '[1]'],
])('%s is not %s', (key, value) => refuses('option_invalid', 'PUT', '/api/option/', { key, value }));

test('fitting values are kept', async () => {
  await set('ContextTiers', '{"x":[{"above":200000,"input":2,"output":1.5}]}');
  await set('Chats', '[{"a":"https://chat.example/#{key}"}]');
  await set('claude.model_headers_settings', '{"claude":{"anthropic-beta":["a","b"],"x-one":"1"}}');
});

test('drawing and tasks that are off take no orders and return no lists', async () => {
  await set('DrawingEnabled', 'false');
  await set('TaskEnabled', 'false');
  await refuses('drawing_closed', 'GET', '/api/mj/self', undefined, plain);
  await refuses('tasks_closed', 'GET', '/api/task/self', undefined, plain);
  await works('GET', '/api/mj/');
  const { key } = await api.gateway.token();
  for (const [path, words] of [
    ['/mj/submit/imagine', 'Drawing is not enabled'],
    ['/suno/submit/music', 'Tasks are not enabled'],
  ] as const) {
    const answer = await api.gateway.relay.handle(
      new Request(`http://gateway${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer sk-${key}`, 'accept-language': 'en' },
        body: JSON.stringify({ prompt: 'a cat' }),
      }),
      path,
      { ip: () => '127.0.0.1' },
    );
    expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining(words)]);
  }
});

test('the enabled ways to log in are public', async () => {
  await set('PasswordRegisterEnabled', 'false');
  await set('RegisterEnabled', 'false');
  expect(await works('GET', '/api/status', undefined, {})).toMatchObject({
    register_enabled: false,
    password_register_enabled: false,
    password_login_enabled: true,
  });
});

test('a model that is asked to think has a limit of its own', async () => {
  const id = await api.gateway.channel(upstream.url, { type: 14, models: 'claude-sonnet-4-5' });
  expect(id).toBeGreaterThan(0);
  await api.gateway.option(
    'claude.default_max_tokens',
    '{"default":8192,"claude-sonnet-4-5":4096,"claude-sonnet-4-5-thinking":10000}',
  );
  await api.gateway.option('ModelRatio', '{"claude-sonnet-4-5":1.5,"claude-sonnet-4-5-thinking":1.5}');
  const { key } = await api.gateway.token();
  const limitOf = async (model: string) => {
    await api.gateway.chat(key, { model, messages: [{ role: 'user', content: 'hi' }] });
    return (JSON.parse(upstream.requests.at(-1)?.body.toString() ?? '{}') as { max_tokens?: number }).max_tokens;
  };
  await api.gateway.channel(upstream.url, { type: 14, models: 'claude-sonnet-4-5-thinking' });
  expect([await limitOf('claude-sonnet-4-5'), await limitOf('claude-sonnet-4-5-thinking')]).toEqual([4096, 10_000]);
});

test('an empty tag is refused where a tag is set, in the document’s words', async () => {
  const id = await api.gateway.channel(upstream.url, { tag: 'blue' });
  const empty = await ask('POST', '/api/channel/batch/tag', { ids: [id], tag: '' });
  expect([empty.success, empty.message]).toEqual([false, '标签不能为空！']);
  expect(await works('POST', '/api/channel/batch/tag', { ids: [id], dissolve: true })).toBe(1);
  expect(await works('GET', `/api/channel/${id}`)).toMatchObject({ tag: '' });
});

test.each([
  [{ weight: -1 }, '权重必须是非负整数！'],
  [{ weight: 1.5 }, '权重必须是非负整数！'],
  [{ weight: 'much' }, '权重必须是非负整数！'],
  [{ priority: 1.5 }, '优先级必须是整数！'],
  [{ priority: 'high' }, '优先级必须是整数！'],
])('a tag with %j is refused in the document’s words', async (change, message) => {
  await api.gateway.channel(upstream.url, { tag: 'blue' });
  const answer = await ask('PUT', '/api/channel/tag', { tag: 'blue', ...change });
  expect([answer.success, answer.message]).toEqual([false, message]);
});

test('a type with a version of its own stores the usual one where none is given', async () => {
  const [made] = (await works('POST', '/api/channel/', { ...channel, type: 18 })) as { other: string }[];
  expect(made?.other).toBe('v2.1');
});

test('a provider without such a list says so in the caller’s language', async () => {
  const { message } = await ask('POST', '/api/channel/fetch_models', { type: 18, key: 'a|b|c', base_url: '' });
  expect(message).not.toMatch(/[a-z]{4}/);
});

test('a channel test is labelled and in no user’s sums', async () => {
  const id = await api.gateway.channel(upstream.url);
  expect(await ask('GET', `/api/channel/test/${id}`)).toMatchObject({ success: true });
  await api.gateway.ledger.drain();
  const { items } = (await works('GET', '/api/log/?p=1&page_size=10')) as { items: Record<string, unknown>[] };
  expect(items).toMatchObject([{ token_name: '模型测试', content: '模型测试', quota: 0, user_id: 0 }]);
  expect(await works('GET', '/api/log/self/stat', undefined, plain)).toEqual({
    quota: 0,
    requests: 0,
    errors: 0,
    refused: 0,
    rpm: 0,
    tpm: 0,
  });
});

test('a token cannot be put into a group that its user may not use', async () => {
  await set('GroupRatio', '{"default":1,"vip":0.5,"open":1}');
  await set('UserUsableGroups', '{"default":"d","open":"o"}');
  const made = (await works('POST', '/api/token/', { name: 't', group: 'open' }, plain)) as { id: number };
  await refuses('token_group', 'POST', '/api/token/', { name: 't', group: 'vip' }, plain);
  await refuses('token_group', 'PUT', '/api/token/', { id: made.id, group: 'vip' }, plain);
  await set('UserUsableGroups', '{"default":"d"}');
  await works('PUT', '/api/token/', { id: made.id, group: 'open', name: 'still' }, plain);
});

test('a token has one of four states', async () => {
  const { id } = (await works('POST', '/api/token/', { name: 't' }, plain)) as { id: number };
  for (const status of [0, 3, 4, 9, -1])
    await refuses('params_invalid', 'PUT', '/api/token/?status_only=true', { id, status }, plain);
});

test('online payment is offered where the payment service can call back', async () => {
  for (const [key, value] of [
    ['PayAddress', 'http://pay.example'],
    ['EpayId', '1'],
    ['EpayKey', 'secret'],
  ] as const)
    await set(key, value);
  expect(await works('GET', '/api/status', undefined, {})).toMatchObject({ enable_online_topup: false });
  await set('ServerAddress', 'https://gateway.example');
  expect(await works('GET', '/api/status', undefined, {})).toMatchObject({ enable_online_topup: true });
});
