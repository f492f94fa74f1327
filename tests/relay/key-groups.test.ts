/** Keys with several groups: which is tried first, when the next one is, and what is charged and counted. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { groupOrder } from '../../server/contract/key-groups.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let first: Upstream;
let second: Upstream;
beforeAll(async () => {
  gateway = await createTestGateway({ quota: 50_000_000 });
  first = await startUpstream((response) => sendJson(response, completion));
  second = await startUpstream((response) => sendJson(response, completion));
  await gateway.option('RetryTimes', '0');
  await gateway.option('GroupRatio', '{"default":1,"vip":2,"cheap":0.5,"closed":0.1}');
  await gateway.option('UserUsableGroups', '{"default":"d","vip":"v","cheap":"c"}');
});
afterAll(async () => {
  await gateway.close();
  await first.stop();
  await second.stop();
});
const made: number[] = [];
beforeEach(async () => {
  for (const id of made.splice(0)) await gateway.services.channels.remove(id);
  for (const upstream of [first, second]) {
    upstream.requests.length = 0;
    upstream.script((response) => sendJson(response, completion));
  }
  await gateway.option('GroupLimits', '{}');
  await gateway.option('general_setting.route_trace_enabled', 'true');
});

const completion = {
  ...{ id: 'c', object: 'chat.completion', model: 'gpt-4.1' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10_000, completion_tokens: 2_000, total_tokens: 12_000 },
};
/** Of the answer above in a group of factor 1: quota. */
const price = (10_000 * 2 + 2_000 * 8) / 2;
const broken = (upstream: Upstream, status = 500) =>
  upstream.script((response) => sendJson(response, { error: { message: 'no' } }, status));

async function open(upstream: Upstream, group: string, fields: object = {}): Promise<number> {
  const id = await gateway.channel(upstream.url, { type: 1, models: 'gpt-4.1', group, ...fields });
  made.push(id);
  return id;
}
const keyWith = async (group: string, fields: object = {}) => (await gateway.token({ group, ...fields })).key;
async function send(key: string, body: object = {}, path = '/v1/chat/completions') {
  await gateway.sync();
  const chat = { model: 'gpt-4.1', messages: [{ role: 'user', content: 'hi' }], max_tokens: 2000, ...body };
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(chat),
  });
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  return { status: response.status, text: await response.text(), trace: response.headers.get('x-gateway-trace') ?? '' };
}
const row = async () => (await gateway.logs())[0];

test('the groups of a key are tried in its order, and the price is that of the group that serves', async () => {
  await open(first, 'vip');
  await open(second, 'default');
  const key = await keyWith('vip,default');
  expect((await send(key)).status).toBe(200);
  expect(await row()).toMatchObject({ group: 'vip', quota: price * 2 });
  broken(first);
  const { status, trace } = await send(key);
  expect([status, first.requests.length, second.requests.length]).toEqual([200, 2, 1]);
  expect(await row()).toMatchObject({ group: 'default', quota: price });
  expect(trace).toContain('groups=vip failed:unavailable > default served');
  expect(JSON.parse((await row())?.other ?? '')).not.toHaveProperty('virtual_model');
});

test('a group that does not serve the model, or whose channels are out, is passed over', async () => {
  await open(second, 'default');
  const key = await keyWith('vip,default');
  expect((await send(key)).status).toBe(200);
  expect(await row()).toMatchObject({ group: 'default' });
  const id = await open(first, 'vip', { status: 2 });
  expect((await send(key)).status).toBe(200);
  expect([first.requests.length, (await row())?.group]).toEqual([0, 'default']);
  await gateway.services.channels.update(id, { status: 1 });
  expect((await send(key)).status).toBe(200);
  expect((await row())?.group).toBe('vip');
});

test('a mistake of the caller does not go on to another group', async () => {
  await open(first, 'vip');
  await open(second, 'default');
  broken(first, 400);
  expect((await send(await keyWith('vip,default'))).status).toBe(400);
  expect(second.requests).toHaveLength(0);
});

test('a dearer group behind a cheap one is held for before it is sent to, or passed over where it cannot be paid', async () => {
  await open(first, 'cheap');
  await open(second, 'vip');
  broken(first);
  const key = await keyWith('cheap,vip', { remain_quota: 100_000, unlimited_quota: false });
  let held = 0;
  const available = () => gateway.balances.account(gateway.userId, 0).available();
  const before = available();
  second.script((response) => {
    held = before - available();
    sendJson(response, completion);
  });
  expect((await send(key)).status).toBe(200);
  expect(held).toBeGreaterThanOrEqual((2000 * 8 * 2) / 2);
  const poor = await keyWith('cheap,vip', { remain_quota: 9000, unlimited_quota: false });
  const { status } = await send(poor);
  expect([status >= 400, second.requests.length]).toEqual([true, 1]);
});

test('each request counts in the limits of the group that it is sent to, and full ones are passed over', async () => {
  await open(first, 'vip');
  await open(second, 'default');
  await gateway.option('GroupLimits', '{"vip":{"rpm":1},"default":{"rpm":2}}');
  const key = await keyWith('vip,default');
  const groups = [];
  for (let n = 0; n < 3; n++) {
    expect((await send(key)).status).toBe(200);
    groups.push((await row())?.group);
  }
  expect(groups).toEqual(['vip', 'default', 'default']);
  expect((await send(key)).status).toBe(429);
});

test('auto is the order of the site, cheapest that of the prices, without groups that the user may not use', async () => {
  await open(first, 'vip,default,cheap,closed');
  await gateway.option('AutoGroups', '["closed","vip","default"]');
  expect((await send(await keyWith('auto'))).status).toBe(200);
  expect((await row())?.group).toBe('vip');
  expect((await send(await keyWith('cheapest'))).status).toBe(200);
  expect(await row()).toMatchObject({ group: 'cheap', quota: price / 2 });
  await gateway.option('AutoGroups', '["closed"]');
  expect(await send(await keyWith('auto'))).toMatchObject({ status: 403 });
  expect((await send(await keyWith('closed,vip'))).status).toBe(200);
  expect((await row())?.group).toBe('vip');
});

test('a group whose name looks like an order of groups is that one group', () => {
  const rules = {
    ...{ groupRatios: new Set(['default', 'a', 'b']), usableGroups: new Set(['a', 'b', 'c']), autoGroups: ['b', 'a'] },
    ratioOf: (own: string, group: string) => (own === 'a' && group === 'b' ? 0.1 : group === 'b' ? 3 : 1),
  };
  expect(groupOrder('auto', 'default', rules)).toEqual(['b', 'a']);
  expect(groupOrder('cheapest', 'default', rules)).toEqual(['a', 'default', 'b']);
  expect(groupOrder('cheapest', 'a', rules)).toEqual(['b', 'a']);
  expect(groupOrder(' b, a ,b,c,default', 'default', rules)).toEqual(['b', 'a', 'default']);
});

test('lists of models, token counts and a preview follow the groups of a key', async () => {
  await open(first, 'vip', { models: 'gpt-4.1' });
  await open(second, 'default', { models: 'gpt-4o' });
  const key = await keyWith('vip,default', { name: 'ordered' });
  await gateway.sync();
  const request = new Request('http://gateway/v1/models', { headers: { authorization: `Bearer sk-${key}` } });
  const list = await gateway.relay.handle(request, '/v1/models', { ip: () => '127.0.0.1' });
  const { data } = (await list.json()) as { data: { id: string }[] };
  expect(data.map(({ id }) => id)).toEqual(['gpt-4.1', 'gpt-4o']);
  const explained = await gateway.services.routes.explain({ model: 'gpt-4o', token: 'ordered' }, gateway.userId);
  expect(explained).toMatchObject({
    group: 'default',
    groups: ['vip', 'default'],
    channels: [{ channel_id: made[1] }],
  });
});

test('a virtual model goes through the groups of a key before its next target', async () => {
  await open(first, 'vip', { models: 'gpt-4.1' });
  await open(second, 'default', { models: 'gpt-4.1,gpt-4o' });
  const targets = [{ model: 'gpt-4.1' }, { model: 'gpt-4o' }];
  const chain = await gateway.services.virtualModels.create({ name: 'fast', enabled: true, boundary: '', targets });
  const key = await keyWith('vip,default');
  broken(first);
  expect((await send(key, { model: 'fast' })).status).toBe(200);
  expect(await row()).toMatchObject({ group: 'default', model_name: 'gpt-4.1' });
  expect(JSON.parse((await row())?.other ?? '')).toMatchObject({ virtual_model: 'fast' });
  broken(second);
  const { status } = await send(key, { model: 'fast' });
  expect(status).toBeGreaterThanOrEqual(500);
  expect(second.requests.map(({ body }) => JSON.parse(body.toString()).model)).toEqual([
    'gpt-4.1',
    'gpt-4.1',
    'gpt-4o',
  ]);
  await gateway.services.virtualModels.remove(chain.id);
});
