/** Whoever saves a channel with what does not act yet is told so in the answer. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';

let api: ApiFixture;
let admin: Headers;
beforeAll(async () => {
  api = await createApiFixture();
  admin = { ...(await api.login('tester', 'password1')), 'accept-language': 'en' };
});
afterAll(() => api.close());

const channel = { type: 1, name: 'c', key: 'sk-canary', models: 'm-1' };
const save = async (method: string, fields: object) => (await api.send(method, '/api/channel/', fields, admin)).body;

test.each([
  [{ settings: '{"azure_responses_version":"preview"}' }, 'settings.azure_responses_version'],
  [{ setting: '{"force_stream":true,"system_prompt":"be kind"}' }, 'setting.force_stream'],
  [{ setting: { nobody_knows: 1 }, header_override: { a: 'b' } }, 'setting.nobody_knows'],
] as const)('%j is named, made or changed', async (fields, names) => {
  const message = `Saved; this does not act yet and is not sent: ${names}`;
  const made = await save('POST', { ...channel, ...fields });
  expect(made).toMatchObject({ success: true, message });
  const [{ id }] = made.data as [{ id: number }];
  expect(await save('PUT', { id, ...fields })).toMatchObject({ success: true, message });
  expect(await save('PUT', { id, weight: 1 })).toMatchObject({ success: true, message: '' });
});

test('a channel as newer clients push it is looked at too', async () => {
  const pushed = { mode: 'single', channel: { ...channel, settings: '{"azure_responses_version":"preview"}' } };
  expect(await save('POST', pushed)).toMatchObject({ message: expect.stringContaining('settings.azure') });
});

test.each([
  {},
  { header_override: '', settings: '{}', setting: '', param_override: '' },
  { header_override: null, settings: null, setting: '{"proxy":"","force_format":false,"system_prompt":""}' },
  { param_override: { operations: [{ mode: 'delete', path: 'seed' }], top_p: 1 } },
  { param_override: { operations: [] } },
  { setting: '{"allow_tiers":true,"key_mode":"turn"}', param_override: '{"temperature":0}' },
])('%j says nothing', async (fields) => {
  expect(await save('POST', { ...channel, ...fields })).toMatchObject({ success: true, message: '' });
});

test('rules that cannot be read are refused when they are saved, and the place is named', async () => {
  const param_override = {
    operations: [
      { mode: 'delete', path: 'a' },
      { mode: 'set_header', path: 'x', value: 'y' },
    ],
  };
  expect(await save('POST', { ...channel, param_override })).toMatchObject({
    success: false,
    code: 'channel_rule_invalid',
    message: expect.stringContaining('operations[1].mode'),
  });
  const long = { operations: [{ mode: 'set', path: 'a', value: 'x'.repeat(300_000) }] };
  expect(await save('POST', { ...channel, param_override: long })).toMatchObject({ code: 'channel_rule_invalid' });
});

test('headers of a channel are a member of its setting, and stay where a client knows none', async () => {
  const settingOf = async (id: number): Promise<string> => {
    const { data } = (await api.send('GET', `/api/channel/${id}`, undefined, admin)).body;
    return (data as { setting: string }).setting;
  };
  const made = await save('POST', { ...channel, setting: { proxy: '' }, header_override: { 'X-A': 'b' } });
  const [{ id }] = made.data as [{ id: number }];
  expect(JSON.parse(await settingOf(id))).toEqual({ proxy: '', header_override: { 'X-A': 'b' } });
  for (const nothing of ['', null, undefined]) await save('PUT', { id, weight: 2, header_override: nothing });
  expect(JSON.parse(await settingOf(id))).toMatchObject({ header_override: { 'X-A': 'b' } });
  const other = { id, header_override: { 'X-B': '{api_key}' } };
  expect(await save('PUT', other)).toMatchObject({ code: 'channel_key_again' });
  expect(await save('PUT', { ...other, key: channel.key })).toMatchObject({ success: true });
  expect(JSON.parse(await settingOf(id))).toEqual({ proxy: '', header_override: { 'X-B': '{api_key}' } });
  await save('PUT', { id, header_override: '{}', key: channel.key });
  expect(JSON.parse(await settingOf(id))).toEqual({ proxy: '' });
});

test.each([
  ['the host', { Host: 'a' }],
  ['a length', { 'Content-Length': '1' }],
  ['the form of the body', { 'content-type': 'text/plain' }],
  ['a header of the connection', { 'transfer-encoding': 'chunked' }],
  ['a header of the proxy', { 'Proxy-Authorization': 'x' }],
  ['no name', { 'a b': 'x' }],
  ['a second line', { a: 'x\ny: z' }],
  ['a list', { a: ['x'] }],
  ["the client's credential", { a: '{client_header:Authorization}' }],
  ["the client's key", { a: '{client_header: x-api-key }' }],
  ["the client's cookie", { a: '{client_header:cookie}' }],
  ["the client's price", { a: '{client_header:X-Vertex-AI-LLM-Shared-Request-Type}' }],
  ['more than a header of the client', { a: 'x {client_header:b}', b: '{client_header:b} x' }],
  ['a pattern that repeats twice', { 're:a*b*': '' }],
  ['a value without an end', { a: 'x'.repeat(4097) }],
  ['65 headers', Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`a${at}`, 'x']))],
])('a channel may not set %s', async (_what, header_override) => {
  expect(await save('POST', { ...channel, header_override })).toMatchObject({
    success: false,
    code: 'channel_rule_invalid',
    params: { field: expect.stringContaining('header_override') },
  });
});

test('a declarative file names it too, in its answer and at the channel', async () => {
  const document = {
    version: 1,
    channels: [{ name: 'p', type: 'openai', key: 'k', models: ['m'], setting: { force_stream: true } }],
  };
  const apply = async () => (await api.send('POST', '/api/provision/', { document }, admin)).body;
  const message = 'channel p: this does not act yet and is not sent: setting.force_stream';
  expect(await apply()).toMatchObject({
    message,
    data: [{ action: 'create', notes: [{ zh: expect.stringContaining('setting.force_stream') }] }],
  });
  expect(await apply()).toMatchObject({ message, data: [{ action: 'unchanged' }] });
  const plain = { version: 1, channels: [{ name: 'q', type: 'openai', key: 'k', models: ['m'] }] };
  expect((await api.send('POST', '/api/provision/', { document: plain }, admin)).body).toMatchObject({ message: '' });
});
