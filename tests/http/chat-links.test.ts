import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';

let api: ApiFixture;
let root: Headers;
let plain: Headers;

const chats = [
  { Lobe: 'https://chat.example.com/?key={key}&url={address}' },
  { Cherry: 'cherry://open?k={key}' },
  { 一个名字很长很长的聊天页面: 'https://long.example/{key}' },
];
const open = (index: number, as: Headers) => api.send('POST', `/api/chat/${index}`, {}, as);
const tokensOf = async (as: Headers) =>
  (await api.send('GET', '/api/token/?p=0&size=100', undefined, as)).body.data as { name: string; key: string }[];

beforeEach(async () => {
  api = await createApiFixture();
  ({ headers: root } = await api.addUser('root', 100));
  ({ headers: plain } = await api.addUser('plain', 1));
  await api.send('PUT', '/api/option/', { key: 'Chats', value: JSON.stringify(chats) }, root);
});
afterEach(() => api.close());

test('a chat page gets a key of its own with the limits of the first enabled token, once', async () => {
  await api.send(
    'POST',
    '/api/token/',
    { name: 'laptop', remain_quota: 700, model_limits: 'gpt-4o', rpm_limit: 7 },
    plain,
  );
  const first = await open(0, plain);
  expect(first.body).toMatchObject({ success: true, data: { name: 'Lobe', token_name: 'chat: Lobe' } });
  expect((await open(0, plain)).body.data).toEqual(first.body.data);
  const tokens = await tokensOf(plain);
  expect(tokens).toHaveLength(2);
  const parent = tokens.find(({ name }) => name === 'laptop');
  const child = tokens.find(({ name }) => name === 'chat: Lobe');
  expect(child).toMatchObject({ remain_quota: 700, model_limits: 'gpt-4o', rpm_limit: 7 });
  const { url } = first.body.data as { url: string };
  expect(url).toBe(`https://chat.example.com/?key=sk-${child?.key}&url={address}`);
  expect(url).not.toContain(parent?.key);
});

test('a long name is cut to what a token’s name may have', async () => {
  await api.send('POST', '/api/token/', { name: 'laptop' }, plain);
  expect((await open(2, plain)).body).toMatchObject({ success: true, data: { token_name: 'chat: 一个名字很长很长' } });
});

test('the address is the one that is configured', async () => {
  await api.send('PUT', '/api/option/', { key: 'ServerAddress', value: 'https://relay.example.com/' }, root);
  await api.send('POST', '/api/token/', { name: 'laptop' }, plain);
  const { url } = (await open(0, plain)).body.data as { url: string };
  expect(url).toContain('url=https%3A%2F%2Frelay.example.com');
});

test.each([
  ['当前没有可用的启用令牌，请确认是否有令牌处于启用状态！', 0, JSON.stringify(chats)],
  ['聊天链接配置错误，请联系管理员', 3, JSON.stringify(chats)],
  ['聊天链接配置错误，请联系管理员', 0, '[{"Lobe":"nowhere"}]'],
  ['请联系管理员配置聊天链接', 0, '[]'],
])('%s', async (message, index, value) => {
  await api.send('PUT', '/api/option/', { key: 'Chats', value }, root);
  expect((await open(index, plain)).body).toMatchObject({ success: false, message });
});

test('models without a price are named', async () => {
  await api.send(
    'POST',
    '/api/channel/',
    { type: 1, name: 'one', key: 'k', models: 'gpt-4o,nobody-priced-me', group: 'default' },
    root,
  );
  expect((await api.send('GET', '/api/ratio/unset', undefined, root)).body.data).toEqual(['nobody-priced-me']);
});
