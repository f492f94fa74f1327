import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let api: ApiFixture;
let admin: Headers;
let upstream: Upstream;
beforeEach(async () => {
  upstream = await startUpstream((response) => sendJson(response, {}));
  api = await createApiFixture();
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
const list = async (
  query = '',
): Promise<{ id: number; name: string; tag: string; status: number; priority: number; models: string }[]> =>
  (await call('GET', `/api/channel/?p=0&page_size=100${query}`)).data as never;

test('tags: set, edited, enabled, disabled, dissolved', async () => {
  const ids = [await add('a'), await add('b'), await add('c')];
  expect((await call('POST', '/api/channel/batch/tag', { ids: ids.slice(0, 2), tag: 'blue' })).data).toBe(2);
  expect((await call('POST', '/api/channel/tag/disabled', { tag: 'blue' })).data).toBe(2);
  expect((await list()).map(({ status }) => status)).toEqual([1, 2, 2]);
  await call('POST', '/api/channel/tag/enabled', { tag: 'blue' });
  expect((await list()).map(({ status }) => status)).toEqual([1, 1, 1]);
  await call('PUT', '/api/channel/tag', { tag: 'blue', priority: 7, models: 'x,y', groups: '' });
  const [first] = await list();
  expect(first).toMatchObject({ tag: 'blue', priority: 7, models: 'x,y' });
  await call('PUT', '/api/channel/tag', { tag: 'blue', new_tag: 'green' });
  expect((await list()).filter(({ tag }) => tag === 'green')).toHaveLength(2);
  await call('PUT', '/api/channel/tag', { tag: 'green', new_tag: '' });
  expect((await list()).every(({ tag }) => tag === '')).toBe(true);
});

test.each([
  ['PUT', '/api/channel/tag', { tag: 'a' }, '没有任何修改！'],
  ['PUT', '/api/channel/tag', { priority: 1 }, '标签不能为空！'],
  ['PUT', '/api/channel/tag', { tag: 'a', model_mapping: '{' }, '模型映射必须是合法的 JSON 格式！'],
  ['POST', '/api/channel/tag/enabled', {}, '标签不能为空！'],
  ['POST', '/api/channel/fetch_models', { type: 1, base_url: 'http://x', key: '' }, '请填写密钥'],
])('%s %s with %j says %s', async (method, path, body, message) => {
  const answer = await api.send(method, path, body, { ...admin, 'accept-language': 'zh' });
  expect(answer.body).toMatchObject({ success: false, message });
});

test('in tag mode a page is a number of tags, with all of their channels; what has no tag is left out', async () => {
  for (const [name, tag] of [
    ['a', 'x'],
    ['b', 'x'],
    ['c', 'y'],
    ['d', ''],
  ] as const)
    await add(name, { tag });
  const page = async (p: number) => {
    const { body, headers } = await api.send('GET', `/api/channel/?p=${p}&page_size=1&tag_mode=true`, undefined, admin);
    return { names: (body.data as { name: string }[]).map(({ name }) => name), total: headers.get('x-total-count') };
  };
  expect(await page(0)).toEqual({ names: ['c'], total: '2' });
  expect(await page(1)).toEqual({ names: ['b', 'a'], total: '2' });
  expect(await page(2)).toEqual({ names: [], total: '2' });
});

test('a copy has everything but the past', async () => {
  const id = await add('a', { priority: 3, models: 'm,n' });
  const { data } = await call('POST', `/api/channel/copy/${id}`);
  expect(data).toMatchObject({ name: 'a_复制', priority: 3, models: 'm,n', used_quota: 0, key: '' });
  expect((data as { id: number }).id).not.toBe(id);
});

test('many are deleted, enabled and disabled at once', async () => {
  const ids = [await add('a'), await add('b'), await add('c')];
  expect((await call('POST', '/api/channel/batch/status', { ids: ids.slice(0, 2), status: 2 })).data).toBe(2);
  expect((await call('DELETE', '/api/channel/disabled')).data).toBe(2);
  expect((await call('POST', '/api/channel/batch', { ids: [...ids, 999] })).data).toBe(1);
  expect(await list()).toEqual([]);
  expect((await call('POST', '/api/channel/fix')).data).toBe(0);
});

test('lists are filtered by status and type, totals too', async () => {
  await add('a');
  const b = await add('b', { type: 43 });
  await call('PUT', '/api/channel/', { id: b, status: 2 });
  expect((await list('&status=2')).map(({ name }) => name)).toEqual(['b']);
  expect((await list('&type=1')).map(({ name }) => name)).toEqual(['a']);
  const { headers } = await api.send('GET', '/api/channel/?status=2', undefined, admin);
  expect(headers.get('x-total-count')).toBe('1');
});

test.each([
  ['OpenAI’s form', { data: [{ id: 'b' }, { id: 'a' }, { id: 'a' }] }, ['a', 'b']],
  ['Gemini’s form', { models: [{ name: 'models/g' }] }, ['g']],
])('models of the upstream in %s', async (_name, answer, names) => {
  upstream.script((response) => sendJson(response, answer));
  const id = await add('a', { base_url: upstream.url });
  expect((await call('GET', `/api/channel/fetch_models/${id}`)).data).toEqual(names);
  expect(upstream.requests[0]).toMatchObject({
    path: '/v1/models',
    headers: { authorization: 'Bearer sk-secret-value' },
  });
  const body = { type: 1, base_url: `${upstream.url}/v1`, key: 'sk-one\nsk-two' };
  expect((await call('POST', '/api/channel/fetch_models', body)).data).toEqual(names);
  expect(upstream.requests[1]).toMatchObject({ path: '/v1/models', headers: { authorization: 'Bearer sk-one' } });
});

test('an upstream that cannot be asked is an answer, without its key or address', async () => {
  upstream.script((response) => sendJson(response, { error: 'sk-secret-value is wrong' }, 401));
  const id = await add('a', { base_url: upstream.url });
  const answer = await call('GET', `/api/channel/fetch_models/${id}`);
  expect(answer.success).toBe(false);
  expect(answer.message).toContain('HTTP 401');
  expect(JSON.stringify(answer)).not.toContain('sk-secret');
});

test.each([
  [1, [{ hard_limit_usd: 100 }, { total_usage: 2550 }], 74.5],
  [43, [{ balance_infos: [{ currency: 'CNY', total_balance: '7.50' }] }], 7.5],
  [40, [{ data: { totalBalance: '3.25' } }], 3.25],
  [20, [{ data: { total_credits: 10, total_usage: 4 } }], 6],
  [10, [{ data: { totalPoints: 12 } }], 12],
])('the balance of type %i', async (type, answers, balance) => {
  const rest = [...answers];
  upstream.script((response, { path }) =>
    sendJson(response, type === 1 && path.includes('usage') ? answers[1] : (rest[0] ?? {})),
  );
  const id = await add('a', { type, base_url: upstream.url });
  expect(await call('GET', `/api/channel/update_balance/${id}`)).toMatchObject({ success: true, balance });
  expect(await list()).toMatchObject([{ balance }]);
});

test('a provider without such a call says so', async () => {
  const id = await add('a', { type: 17 });
  const answer = await api.send('GET', `/api/channel/update_balance/${id}`, undefined, {
    ...admin,
    'accept-language': 'zh',
  });
  expect(answer.body).toMatchObject({ success: false, message: '尚未实现' });
});

test('several are tested at once; a round over all runs only once', async () => {
  await api.close();
  api = await createApiFixture({}, { channelTests: true });
  admin = (await api.addUser('boss', 10)).headers;
  const at = { base_url: upstream.url };
  const ids = [await add('a', at), await add('b', at)];
  upstream.script((response) => sendJson(response, completion(1, 1)));
  const { data } = await call('POST', '/api/channel/batch/test', { ids });
  expect(data).toMatchObject([{ success: true }, { success: true }]);
  const answered = Promise.withResolvers<void>();
  upstream.script(async (response) => {
    await answered.promise;
    sendJson(response, completion(1, 1));
  });
  const { bulkTests } = api.gateway.services;
  const started = await Promise.allSettled([bulkTests.startTests(), bulkTests.startTests()]);
  // Either may be the first at the database.
  expect(started.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  expect((await call('GET', '/api/channel/test')).success).toBe(false);
  answered.resolve();
  // Once that one is over.
  await expect.poll(async () => (await call('GET', '/api/channel/test')).success).toBe(true);
});

test('the route of a model is explained', async () => {
  await add('a', { priority: 5, weight: 30, model_mapping: '{"m":"n"}' });
  await add('b', { priority: 5 });
  const off = await add('c');
  await call('PUT', '/api/channel/', { id: off, status: 2 });
  await add('d', { group: 'vip' });
  const { data } = await call('GET', '/api/route/explain?model=m');
  expect(data).toMatchObject({
    group: 'default',
    channels: [
      { name: 'a', share: 0.8, upstream_model: 'n' },
      { name: 'b', share: 0.2 },
    ],
    left_out: [
      { name: 'c', reason: 'disabled by hand' },
      { name: 'd', reason: 'not in group default' },
    ],
  });
});

test('trouble disables a channel only where it should, with reason and time; a passed test enables it again', async () => {
  const id = await add('a');
  const failure = {
    channelId: id,
    keyIndex: 0,
    lastKey: true,
    kind: 'key' as const,
    status: 401,
    type: '',
    code: '',
    message: 'no',
  };
  const { channels, options } = api.gateway.services;
  expect(await channels.troubled(failure)).toBeNull();
  await options.set('AutomaticDisableChannelEnabled', 'true', 100);
  for (const harmless of [
    { ...failure, status: 403 },
    { ...failure, lastKey: false },
    { ...failure, code: 'insufficient_user_quota' },
  ])
    expect(await channels.troubled(harmless)).toBeNull();
  expect(await channels.troubled({ ...failure, status: 400, message: 'PERMISSION DENIED for you' })).toContain(
    'PERMISSION',
  );
  const [row] = (await list()) as { status: number; other_info?: string }[];
  expect(row?.status).toBe(3);
  expect(JSON.parse(row?.other_info ?? '')).toMatchObject({
    status_reason: expect.any(String),
    status_time: expect.any(Number),
  });
  await channels.test(id, '', false);
  expect((await list())[0]?.status).toBe(3);
  await options.set('AutomaticEnableChannelEnabled', 'true', 100);
  await channels.test(id, '', false);
  expect((await list())[0]?.status).toBe(1);
});

test('explain shows the rules of a model: at a provider, at a channel with another name for it, and the operator’s own', async () => {
  const explain = async (query: string) => (await call('GET', `/api/models/explain?${query}`)).data as Explained;
  interface Explained {
    readonly upstream_model: string;
    readonly provider: string;
    readonly facts: readonly { member: string; value: unknown; source: string; assumed: boolean }[];
    readonly rules: readonly { member: string; kind: string }[];
  }
  const mistral = await explain('model=mistral-large-latest&provider=mistral');
  expect(mistral.facts.find(({ member }) => member === 'efforts')).toMatchObject({ value: [], assumed: false });
  expect(mistral.rules).toContainEqual(
    expect.objectContaining({ dialect: 'openai-chat', member: 'seed', kind: 'renamed', value: 'random_seed' }),
  );
  for (const { source } of mistral.facts) expect(source).toMatch(/^https:/);

  const id = await add('a', { type: 14, models: 'm', model_mapping: '{"m":"claude-opus-5-5"}' });
  const at = await explain(`model=m&channel=${id}`);
  expect(at).toMatchObject({ model: 'm', upstream_model: 'claude-opus-5-5', provider: 'anthropic' });
  expect(at.facts).toContainEqual(expect.objectContaining({ member: 'refuses temperature', value: true }));

  const rules = [{ models: '^claude-opus-5-5', takes: ['temperature'], outputCap: 777 }];
  const put = (value: string) => call('PUT', '/api/option/', { key: 'model_rules', value });
  expect(await put(JSON.stringify(rules))).toMatchObject({ success: true });
  const after = await explain(`model=m&channel=${id}`);
  expect(after.facts.map(({ member }) => member)).not.toContain('refuses temperature');
  expect(after.facts).toContainEqual({ member: 'outputCap', value: 777, source: 'model_rules', assumed: false });

  expect((await explain('model=nobody-knows-me&provider=custom')).facts).toEqual([]);
  expect(await call('GET', '/api/models/explain?model=m&provider=nowhere')).toMatchObject({ success: false });
});

test.each([
  ['{"a":1}', 'list of rules'],
  ['[{}]', 'rule 1: models'],
  ['[{"models":"("}]', 'rule 1: models'],
  ['[{"models":"^a"},{"models":"^b","outputCap":-1}]', 'rule 2: outputCap'],
  ['[{"models":"^a","refuses":["nonsense"]}]', 'rule 1: refuses'],
  ['[{"models":"^a","outputcap":5}]', 'no member outputcap'],
  ['[{"models":"^a","efforts":["Very High"]}]', 'rule 1: efforts'],
  ['[{"models":"^a"},{"models":"^b(?=c)"}]', 'rule 2: models must be a pattern of RE2'],
  ['[{"models":"(a)\\\\1"}]', 'rule 1: models must be a pattern of RE2'],
  ['[', 'JSON'],
])('the rules %s are refused: %s', async (value, said) => {
  const answer = await api.send(
    'PUT',
    '/api/option/',
    { key: 'model_rules', value },
    { ...admin, 'accept-language': 'en' },
  );
  expect(answer.body.success).toBe(false);
  expect(answer.body.message).toContain(said);
});
