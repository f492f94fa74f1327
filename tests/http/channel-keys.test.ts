/** A key that was stored is sent where it was stored for; whoever wants it elsewhere has to know it. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { providerByType, providers } from '../../server/providers/catalogue.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

const secret = 'sk-canary-of-the-first-upstream';
const answered = { id: 'x', object: 'chat.completion', choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } };

let api: ApiFixture;
let callers: Readonly<Record<'admin' | 'root', Headers>>;
let upstream: Upstream;
let thief: Upstream;
let id: number;
beforeEach(async () => {
  upstream = await startUpstream((response) => sendJson(response, answered));
  thief = await startUpstream((response) => sendJson(response, answered));
  api = await createApiFixture({}, { channelTests: true });
  callers = { admin: (await api.addUser('boss', 10)).headers, root: (await api.addUser('owner', 100)).headers };
  id = await api.gateway.channel(upstream.url, { key: secret, other: 'plain', setting: '{"key_mode":"turn"}' });
});
afterEach(async () => {
  expect(JSON.stringify(thief.requests)).not.toContain('sk-canary');
  await api.close();
  await upstream.stop();
  await thief.stop();
});

const send = async (method: string, path: string, body: unknown, who: 'admin' | 'root' = 'admin') =>
  (await api.send(method, path, body, callers[who])).body;
const stored = () => api.gateway.services.channels.get(id);

/** Where the key could be led, one field at a time; `URL` is the thief's. */
const detours: readonly (readonly [field: string, change: Readonly<Record<string, unknown>>])[] = [
  ['base_url', { base_url: 'URL' }],
  ['base_url', { base_url: 'URL/v1/' }],
  ['base_url', { base_url: '' }],
  ['base_url', { base_url: 'OURS/somebody/else' }],
  ['base_url', { base_url: 'OURS@evil.example' }],
  ['base_url', { base_url: 'OURS.evil.example' }],
  ['base_url', { base_url: 'not an address' }],
  ['type', { type: providers.find(({ slug }) => slug === 'practice')?.type }],
  ['type, base_url', { type: providers.find(({ slug }) => slug === 'practice')?.type, base_url: 'URL' }],
  ['other', { other: 'x@evil.example/' }],
  ['other', { other: '{"default":"evil.example/"}' }],
  ['setting', { setting: '{"proxy":"URL"}' }],
  ['setting', { setting: { key_mode: 'turn', proxy: 'URL' } }],
  ['setting', { setting: '{"Proxy_URL":"URL"}' }],
  ['setting', { setting: '{"header_override":{"x":"{api_key}"}}' }],
  ['setting', { setting: '{"base_url":"URL"}' }],
];
const filled = (change: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  JSON.parse(JSON.stringify(change).replaceAll('URL', thief.url).replaceAll('OURS', upstream.url)) as Record<
    string,
    unknown
  >;

test.each(detours)(
  '%s %j needs the key, from an administrator and from the super administrator',
  async (fields, change) => {
    const before = await stored();
    for (const who of ['admin', 'root'] as const) {
      const wanted = { id, ...filled(change) };
      expect(await send('PUT', '/api/channel/', wanted, who)).toMatchObject({
        code: 'channel_key_again',
        message: expect.stringContaining(fields),
      });
      expect(await send('PUT', '/api/channel/', { ...wanted, key: ' \n ' }, who)).toMatchObject({
        code: 'channel_key_again',
      });
      expect(await send('POST', '/api/channel/try', { ...wanted, model: 'm' }, who)).toMatchObject({
        code: 'channel_key_again',
      });
    }
    expect(await stored()).toEqual(before);
    for (const path of [
      `/api/channel/test/${id}`,
      `/api/channel/fetch_models/${id}`,
      `/api/channel/update_balance/${id}`,
    ])
      await send('GET', path, undefined);
    expect(thief.requests).toEqual([]);
  },
);

test('a channel with a new key may go to any address, and the stored key is gone', async () => {
  const wanted = { id, base_url: thief.url, key: 'sk-my-own' };
  expect(await send('POST', '/api/channel/try', { ...wanted, model: 'm' })).toMatchObject({ success: true });
  expect(await send('PUT', '/api/channel/', wanted)).toMatchObject({ success: true });
  await send('GET', `/api/channel/test/${id}?model=m`, undefined);
  expect(thief.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer sk-my-own', 'Bearer sk-my-own']);
});

test('a change that does not move the address needs no key', async () => {
  const wanted = {
    id,
    name: 'renamed',
    base_url: `${upstream.url}/v1/`,
    other: '2025-01-01-preview',
    setting: '{"key_mode":"random","dialect":"openai-chat","force_format":true}',
    param_override: '{"temperature":0,"api_key":"{api_key}"}',
    model_mapping: '{"a":"b"}',
    status_code_mapping: '{"429":"500"}',
    openai_organization: 'org',
    priority: 3,
  };
  expect(await send('PUT', '/api/channel/', wanted)).toMatchObject({ success: true });
  await send('GET', `/api/channel/test/${id}?model=m`, undefined);
  expect(upstream.requests.at(-1)?.headers.authorization).toBe(`Bearer ${secret}`);
  // Nothing is filled into a body.
  expect(String(upstream.requests.at(-1)?.body)).not.toContain(secret);
});

test('a copy, a tag and a batch keep the address with the key', async () => {
  const copied = (await send('POST', `/api/channel/copy/${id}`, { base_url: thief.url })).data as {
    id: number;
    base_url: string;
  };
  expect(copied.base_url).toBe(upstream.url);
  expect(await send('PUT', '/api/channel/', { id: copied.id, base_url: thief.url })).toMatchObject({
    code: 'channel_key_again',
  });
  await send('POST', '/api/channel/batch/tag', { ids: [id], tag: 't', base_url: thief.url });
  await send('PUT', '/api/channel/tag', { tag: 't', priority: 2, base_url: thief.url, setting: '{"proxy":"x"}' });
  expect(await stored()).toMatchObject({ base_url: upstream.url, tag: 't', setting: '{"key_mode":"turn"}' });
});

test('a document moves a channel only when it names the key', async () => {
  const { name, type } = await stored();
  const slug = providerByType(type)?.slug;
  const apply = (more: object) =>
    send('POST', '/api/provision', { document: { version: 1, channels: [{ name, type: slug, ...more }] } }, 'root');
  expect(await apply({ base_url: thief.url })).toMatchObject({ code: 'channel_key_again' });
  expect(await apply({ base_url: thief.url, key: ' ' })).toMatchObject({ code: 'channel_key_again' });
  expect(await apply({ setting: { proxy: thief.url } })).toMatchObject({ code: 'channel_key_again' });
  expect((await stored()).base_url).toBe(upstream.url);
  expect(await apply({ base_url: `${upstream.url}/elsewhere`, key: secret })).toMatchObject({ success: true });
  expect((await stored()).base_url).toBe(`${upstream.url}/elsewhere`);
});

test('the owner of the data directory moves a channel with its key', async () => {
  await api.gateway.call('channel.update', { id, base_url: `${upstream.url}/moved` });
  expect((await stored()).base_url).toBe(`${upstream.url}/moved`);
});
