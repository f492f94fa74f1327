/** Whose money it was: names that clients give, from the request to sums, each user's for himself. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let api: ApiFixture;
let upstream: Upstream;
let admin: Headers;
let other: Headers;

const session = (name: string, more: Record<string, string> = {}) => ({ 'x-session-id': name, ...more });
const opencode = { 'user-agent': 'opencode/1.18.33 ai-sdk' };

interface Group {
  readonly name: string;
  readonly username: string;
  readonly requests: number;
  readonly tokens: number;
  readonly quota: number;
}

beforeAll(async () => {
  api = await createApiFixture();
  admin = await api.login('tester', 'password1');
  upstream = await startUpstream((response) => sendJson(response, completion(1000, 500)));
  await api.gateway.channel(upstream.url, { models: 'gpt-4o-mini,gpt-4o', tag: 'east' });
  const { key } = await api.gateway.token();
  const { users, tokens } = api.gateway.services;
  const id = await users.create({
    username: 'liar',
    password: 'password1',
    displayName: '',
    role: 1,
    quota: 10_000_000,
  });
  const theirs = await tokens.create(id, { name: 'theirs', unlimited_quota: true });
  await api.gateway.sync();
  other = await api.login('liar', 'password1');
  const ask = async (token: string, headers: Record<string, string>, body: object = {}) => {
    const answer = await api.gateway.chat(token, { model: 'gpt-4o-mini', messages: [], ...body }, headers);
    expect(answer.status).toBe(200);
    await answer.text();
  };
  await ask(key, session('s-1', opencode), { user: 'jo' });
  await ask(key, session('s-1', opencode), { user: 'jo', model: 'gpt-4o' });
  await ask(key, session('s-2'));
  await ask(key, {});
  // Says that it is all the other's.
  await ask(theirs.key, session('s-1', opencode), { user: 'jo' });
  await api.gateway.ledger.drain();
});
afterAll(async () => {
  await api.close();
  await upstream.stop();
});

const get = async <T>(path: string, who = admin): Promise<T> => {
  const answer = await api.send('GET', path, undefined, who);
  expect(answer.status).toBe(200);
  return answer.body.data as T;
};
const by = (what: string, more = '') => get<Group[]>(`/api/log/stat/by?by=${what}${more}`);

test('rows say for whom and by what, to operators and to their owner', async () => {
  const { items } = await get<{ items: { names?: object; id: number }[] }>('/api/log/?type=2&page_size=20');
  expect(items.map(({ names }) => names)).toEqual([
    { agent: 'opencode', session: 's-1', end_user: 'jo' },
    undefined,
    { session: 's-2' },
    { agent: 'opencode', session: 's-1', end_user: 'jo' },
    { agent: 'opencode', session: 's-1', end_user: 'jo' },
  ]);
  const own = await get<{ items: { names?: object }[] }>('/api/log/self?type=2', other);
  expect(own.items.map(({ names }) => names)).toEqual([{ agent: 'opencode', session: 's-1', end_user: 'jo' }]);
  const one = await get<{ names?: object }>(`/api/log/one/${items[2]?.id}`);
  expect(one.names).toEqual({ session: 's-2' });
  const tail = await get<{ names?: object }[]>('/api/log/tail?after=-1&limit=1');
  expect(tail[0]?.names).toEqual({ agent: 'opencode', session: 's-1', end_user: 'jo' });
});

test('a name of one user is another than the same name of another', async () => {
  for (const [kind, name] of [
    ['session', 's-1'],
    ['agent', 'opencode'],
    ['end_user', 'jo'],
  ] as const) {
    const groups = (await by(kind)).filter((one) => one.name === name);
    expect(groups.map(({ username, requests }) => [username, requests])).toEqual([
      ['tester', 2],
      ['liar', 1],
    ]);
  }
  expect(await get<Group[]>('/api/log/self/stat/by?by=session', other)).toMatchObject([
    { name: 's-1', username: '', requests: 1, tokens: 1500 },
  ]);
});

test('sums by any value agree with the whole, to the unit', async () => {
  const whole = await get<{ quota: number; requests: number }>('/api/log/stat?type=2');
  const sum = (groups: readonly Group[]) => groups.reduce((all, { quota }) => all + quota, 0);
  for (const what of ['token', 'label', 'group', 'tag', 'hour', 'day', 'channel', 'model', 'user'])
    expect([what, sum(await by(what))]).toEqual([what, whole.quota]);
  const { items } = await get<{ items: { quota: number; names?: { session?: string } }[] }>('/api/log/?type=2');
  const unnamed = items.filter(({ names }) => names?.session === undefined).reduce((all, one) => all + one.quota, 0);
  expect(unnamed).toBeGreaterThan(0);
  expect(sum(await by('session'))).toBe(whole.quota - unnamed);
});

test('sums by label are those of the keys that have it: a key with two counts in both, one without is nameless', async () => {
  const { tokens } = api.gateway.services;
  const of = async (): Promise<readonly (readonly [string, number, number])[]> =>
    (await by('label')).map(({ name, requests, quota }) => [name, requests, quota] as const);
  const whole = (await by('user')).map(({ name, requests, quota }) => [name, requests, quota] as const);
  const [mine, theirs] = [whole.find(([name]) => name === 'tester'), whole.find(([name]) => name === 'liar')];
  expect([mine?.[1], theirs?.[1]]).toEqual([4, 1]);
  expect(await of()).toEqual([['', 5, (mine?.[2] ?? 0) + (theirs?.[2] ?? 0)]]);
  const rows = await api.gateway.rows<{ id: number; name: string }>('SELECT id, name FROM tokens ORDER BY id');
  const key = rows.find(({ name }) => name !== 'theirs')?.id ?? 0;
  await tokens.update(key, null, { labels: 'team-a, build' }, false);
  await tokens.update(rows.find(({ name }) => name === 'theirs')?.id ?? 0, null, { labels: 'build' }, false);
  expect(await of()).toEqual([
    ['build', 5, (mine?.[2] ?? 0) + (theirs?.[2] ?? 0)],
    ['team-a', 4, mine?.[2]],
  ]);
  // Administrators alone know of labels.
  expect((await api.send('GET', '/api/log/self/stat/by?by=label', undefined, other)).body.success).toBe(false);
  await tokens.update(key, null, { labels: '' }, false);
  expect((await of()).map(([name, requests]) => [name, requests])).toEqual([
    ['', 4],
    ['build', 1],
  ]);
});

test('groups are the dearest first, as many as are asked for; times are in their order', async () => {
  expect((await by('session')).map(({ name, username }) => `${username} ${name}`)).toEqual([
    'tester s-1',
    expect.any(String),
    expect.any(String),
  ]);
  expect(await by('session', '&limit=1')).toMatchObject([{ name: 's-1', username: 'tester', requests: 2 }]);
  expect(await by('tag')).toMatchObject([{ name: 'east', username: '', requests: 5 }]);
  const [hour] = await by('hour');
  expect(Number(hour?.name) % 3600).toBe(0);
});

test('rows are found by each name, alone and together with others', async () => {
  const count = async (query: string, who = admin, path = '/api/log/') =>
    (await get<{ total: number }>(`${path}?type=2&${query}`, who)).total;
  expect(await count('session=s-1')).toBe(3);
  expect(await count('session=s-1&username=tester')).toBe(2);
  expect(await count('session=s-1&model_name=gpt-4o')).toBe(1);
  expect(await count('agent=opencode')).toBe(3);
  expect(await count('end_user=jo&session=s-1')).toBe(3);
  expect(await count('end_user=jo&session=s-2')).toBe(0);
  expect(await count('session=nobody')).toBe(0);
  expect(await count('session=s-1', other, '/api/log/self')).toBe(1);
  expect(await count('session=s-2', other, '/api/log/self')).toBe(0);
  // A name of another kind is no name of this one.
  expect(await count('agent=s-1')).toBe(0);
});

test('sums can be narrowed by a name', async () => {
  expect(await by('model', '&session=s-1&username=tester')).toMatchObject([
    { name: 'gpt-4o', requests: 1 },
    { name: 'gpt-4o-mini', requests: 1 },
  ]);
  const stat = await get<{ requests: number }>('/api/log/stat?session=s-2');
  expect(stat.requests).toBe(1);
});

test('an operator groups by anything, a user by what is his', async () => {
  for (const what of ['channel', 'user', 'tag'])
    expect((await api.send('GET', `/api/log/self/stat/by?by=${what}`, undefined, other)).body.success).toBe(false);
  expect((await api.send('GET', '/api/log/stat/by?by=session', undefined, other)).body.success).toBe(false);
});

test('a conversation is shown to operators, and to its user his own', async () => {
  const found = await get<{ username: string; requests: number; agent: string; models: string[] }>(
    '/api/log/conversation?session=s-1&username=tester',
  );
  expect(found).toMatchObject({
    username: 'tester',
    requests: 2,
    agent: 'opencode',
    models: ['gpt-4o', 'gpt-4o-mini'],
  });
  expect(await get('/api/log/self/conversation?session=s-1', other)).toMatchObject({ username: 'liar', requests: 1 });
  for (const path of ['/api/log/self/conversation?session=s-2', '/api/log/conversation?session=s-1'])
    expect((await api.send('GET', path, undefined, other)).body.success).toBe(false);
});

test('headers that an administrator names count for the keys that he names, and for no other', async () => {
  const { services } = api.gateway;
  const [trusted, plain] = [await api.gateway.token(), await api.gateway.token()];
  await api.gateway.option('names.headers', '{"X-Tenant":"project","x-person":"end_user"}');
  await api.gateway.option('names.keys', String(trusted.id));
  const headers = session('s-9', { 'x-tenant': 'acme', 'x-person': 'ann' });
  for (const { key } of [trusted, plain])
    await (await api.gateway.chat(key, { model: 'gpt-4o-mini', messages: [], user: 'by-the-client' }, headers)).text();
  await api.gateway.ledger.drain();
  const { items } = await services.logs.page({ names: { session: 's-9' } }, 1, 10, true);
  expect(items.map(({ token_id: id, names }) => [id, names]).sort()).toEqual(
    [
      [trusted.id, { session: 's-9', project: 'acme', end_user: 'ann' }],
      [plain.id, { session: 's-9', end_user: 'by-the-client' }],
    ].sort(),
  );
});
