/** Keys that are bound to channels: only these serve them, and where none does the request is refused. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let first: Upstream;
let second: Upstream;
beforeAll(async () => {
  gateway = await createTestGateway({ quota: 50_000_000 });
  first = await startUpstream((response) => sendJson(response, completion));
  second = await startUpstream((response) => sendJson(response, completion));
  await gateway.option('RetryTimes', '2');
  await gateway.option('GroupRatio', '{"default":1,"vip":2}');
  await gateway.option('UserUsableGroups', '{"default":"d","vip":"v"}');
  await gateway.option('general_setting.route_trace_enabled', 'true');
});
afterAll(async () => {
  await gateway.close();
  await first.stop();
  await second.stop();
});
const made: number[] = [];
beforeEach(async () => {
  for (const id of made.splice(0)) await gateway.services.channels.remove(id).catch(() => undefined);
  for (const upstream of [first, second]) {
    upstream.requests.length = 0;
    upstream.script((response) => sendJson(response, completion));
  }
});

const completion = {
  ...{ id: 'c', object: 'chat.completion', model: 'gpt-4.1' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
};
const broken = (upstream: Upstream, status = 500) =>
  upstream.script((response) => sendJson(response, { error: { message: 'no' } }, status));

async function open(upstream: Upstream, fields: object = {}): Promise<number> {
  const id = await gateway.channel(upstream.url, { type: 1, models: 'gpt-4.1', ...fields });
  made.push(id);
  return id;
}
const keyOf = (channels: readonly number[], fields: object = {}) =>
  gateway.token({ channels: channels.join(','), ...fields });
async function get(key: string, path: string) {
  await gateway.sync();
  const headers = { authorization: `Bearer sk-${key}` };
  const response = await gateway.relay.handle(new Request(`http://gateway${path}`, { headers }), path, {
    ip: () => '127.0.0.1',
  });
  return response.json() as Promise<{ data: { id: string; price?: unknown }[] }>;
}
async function send(key: string, body: object = {}, path = '/v1/chat/completions') {
  await gateway.sync();
  const chat = { model: 'gpt-4.1', messages: [{ role: 'user', content: 'hi' }], ...body };
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(chat),
  });
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  return { status: response.status, text: await response.text() };
}
const served = () => [first.requests.length, second.requests.length];

test('a key is served by its channels alone, also where others come first, and where its own fail', async () => {
  await open(first, { priority: 9, weight: 90 });
  const own = await open(second);
  const { key } = await keyOf([own]);
  for (let n = 0; n < 5; n++) expect((await send(key)).status).toBe(200);
  expect(served()).toEqual([0, 5]);
  broken(second);
  expect((await send(key)).status).toBeGreaterThanOrEqual(500);
  expect(first.requests).toHaveLength(0);
  // A key without channels has all of them.
  expect((await send((await gateway.token()).key)).status).toBe(200);
  expect(first.requests).toHaveLength(1);
});

test('several channels of a key share its requests and follow each other as ever', async () => {
  await open(first, { name: 'other', priority: 9 });
  const [one, two] = [await open(first, { priority: 2 }), await open(second)];
  const { key } = await keyOf([two, one]);
  expect((await send(key)).status).toBe(200);
  expect(served()).toEqual([1, 0]);
  broken(first);
  expect((await send(key)).status).toBe(200);
  expect(served()).toEqual([2, 1]);
});

test('a request is refused with the channels, model and group where none of the channels serves it', async () => {
  const own = await open(first, { models: 'gpt-4.1-mini' });
  await open(second);
  const { key } = await keyOf([own]);
  const { status, text } = await send(key);
  expect(status).toBe(403);
  expect(text).toContain(`may only use channels #${own}, and none of them serves model gpt-4.1 in group default`);
  // The group of the key still decides: a channel of another one is no way into it.
  const vip = await open(second, { group: 'vip' });
  const refused = await send((await keyOf([vip])).key);
  expect([refused.status, served()]).toEqual([403, [0, 0]]);
  expect(refused.text).toContain('in group default');
  expect((await send((await keyOf([vip], { group: 'vip' })).key)).status).toBe(200);
});

test('a channel that is off for now is waited for like every other, and one that was deleted is named', async () => {
  const [own, other] = [await open(first), await open(second)];
  const { key } = await keyOf([own]);
  await gateway.services.channels.update(own, { status: 2 });
  expect(await send(key)).toMatchObject({ status: 503, text: expect.stringContaining('No available channel') });
  await gateway.services.channels.update(own, { status: 1 });
  expect((await send(key)).status).toBe(200);
  await gateway.services.channels.remove(own);
  const gone = await send(key);
  expect(gone.status).toBe(403);
  expect(gone.text).toContain(`limited to (#${own}) have been deleted`);
  // Nothing of it went to the channel that is left.
  expect(second.requests).toHaveLength(0);
  const { key: both } = await keyOf([other]);
  expect((await send(both)).status).toBe(200);
});

test('a key whose channels change is served by the new ones with the next request', async () => {
  const [one, two] = [await open(first), await open(second)];
  const { id, key } = await keyOf([one]);
  expect((await send(key)).status).toBe(200);
  await gateway.services.tokens.update(id, null, { channels: String(two) }, false);
  expect((await send(key)).status).toBe(200);
  expect(served()).toEqual([1, 1]);
  await gateway.services.tokens.update(id, null, { channels: '' }, false);
  await gateway.services.channels.remove(two);
  expect((await send(key)).status).toBe(200);
  expect(served()).toEqual([2, 1]);
});

test('an administrator may name one of the channels in the key, and no other', async () => {
  const [one, two] = [await open(first), await open(second)];
  const boss = await gateway.services.users.create({
    ...{ username: 'boss', password: 'password1', displayName: 'Boss', role: 10, quota: 50_000_000 },
  });
  const { key } = await gateway.services.tokens.create(boss, { name: 'k', channels: `${one}`, unlimited_quota: true });
  const refused = await send(`${key}-${two}`);
  expect([refused.status, served()]).toEqual([403, [0, 0]]);
  expect(refused.text).toContain(`may only use channels #${one}: channel #${two} is none of them`);
  expect((await send(`${key}-${one}`)).status).toBe(200);
  expect(served()).toEqual([1, 0]);
});

test('the lists of models have what the channels serve, and a virtual model what its targets do', async () => {
  const own = await open(first, { models: 'gpt-4.1-mini' });
  await open(second, { models: 'gpt-4.1,gpt-4o' });
  await gateway.call('virtual_model.create', {
    name: 'coder',
    targets: [{ model: 'gpt-4.1' }, { model: 'gpt-4.1-mini' }],
  });
  await gateway.call('virtual_model.create', { name: 'writer', targets: [{ model: 'gpt-4o' }] });
  const { key } = await keyOf([own]);
  expect((await get(key, '/v1/models')).data.map(({ id }) => id)).toEqual(['coder', 'gpt-4.1-mini']);
  // The first target has none of the key's channels: the chain goes on to the next.
  expect((await send(key, { model: 'coder' })).status).toBe(200);
  expect(served()).toEqual([1, 0]);
  const { status, text } = await send(key, { model: 'writer' });
  expect([status, served()]).toEqual([403, [1, 0]]);
  expect(text).toContain('none of them serves model gpt-4o');
});

test('the list of a key has nothing of channels that are off, gone or in another group, and each model once', async () => {
  const own = await open(first, { models: 'gpt-4.1,gpt-4.1-mini' });
  const also = await open(second, { models: 'gpt-4.1-mini,gpt-4o' });
  const off = await open(second, { models: 'gpt-4-turbo', status: 2 });
  const elsewhere = await open(second, { models: 'o3', group: 'vip' });
  const gone = await open(second, { models: 'o1' });
  await open(second, { models: 'o4-mini' });
  const { key } = await keyOf([own, also, off, elsewhere, gone]);
  await gateway.services.channels.remove(gone);
  await gateway.sync();
  const { data } = await get(key, '/v1/models');
  // Virtual models of other tests lead to some of these.
  const listed = data.map(({ id }) => id).filter((id) => /^(gpt|o\d)/.test(id));
  expect(listed).toEqual(['gpt-4.1', 'gpt-4.1-mini', 'gpt-4o']);
});

test('a key with several groups is served by the first that has one of its channels', async () => {
  await open(first, { group: 'vip' });
  const own = await open(second, { group: 'default' });
  const { key } = await keyOf([own], { group: 'vip,default' });
  expect((await send(key)).status).toBe(200);
  expect(served()).toEqual([0, 1]);
  expect((await gateway.logs())[0]).toMatchObject({ group: 'default' });
});

test('route explain says which channels the key may use, and leaves the others out by name', async () => {
  const other = await open(first, { name: 'other' });
  const own = await open(second, { name: 'own' });
  const { name } = await keyOf([own], { name: 'bound' });
  expect(await gateway.call('route.explain', { model: 'gpt-4.1', token: name })).toMatchObject({
    bound: [own],
    channels: [{ channel_id: own }],
    left_out: [{ channel_id: other, reason: 'not a channel of the key' }],
  });
  expect(await gateway.call('route.explain', { model: 'gpt-4.1' })).not.toHaveProperty('bound');
});
