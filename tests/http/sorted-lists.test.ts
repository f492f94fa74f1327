/** Paged lists are sorted by the server: the first row of the first page is the first of all. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';

let api: ApiFixture;
let admin: Headers;
const count = 35;
/** Every number from 0 on once, in no order. */
const shuffled = Array.from({ length: count }, (_, n) => (n * 13) % count);
const at = Math.floor(Date.now() / 1000) - 1000;

beforeAll(async () => {
  api = await createApiFixture();
  admin = await api.login('tester', 'password1');
  const { query } = api.gateway.database;
  for (const n of shuffled) {
    await api.send('POST', '/api/token/', { name: `key ${String(n).padStart(2, '0')}` }, admin);
    await api.send('POST', '/api/redemption/', { name: `code ${n}`, quota: 1000 + n, count: 1 }, admin);
    await api.gateway.services.users.create({
      username: `user${n}`,
      password: 'password1',
      displayName: '',
      role: 1,
      quota: 0,
    });
  }
  const users = await query.selectFrom('users').select(['id', 'username']).where('username', 'like', 'user%').execute();
  for (const { id, username } of users)
    await query
      .updateTable('accounts')
      .set({ used_quota: 10 + Number(username.slice(4)) })
      .where('id', '=', id)
      .execute();
  await query
    .insertInto('logs')
    .values(
      shuffled.map((n, index) => ({
        request_id: `r${n}`,
        created_at: at + index,
        type: 2,
        user_id: 1,
        username: 'tester',
        token_name: 'k',
        model_name: `m-${String(n).padStart(2, '0')}`,
        use_time: 0,
        prompt_tokens: n,
        completion_tokens: n * 2,
        quota: n * 3,
        other: JSON.stringify({ ms: n }),
      })) as never,
    )
    .execute();
});
afterAll(() => api?.close());

const get = async (path: string) => {
  const { body } = await api.send('GET', path, undefined, admin);
  const data = body.data as { items?: Record<string, unknown>[] } | Record<string, unknown>[];
  return Array.isArray(data) ? data : (data.items ?? []);
};

test.each([
  ['/api/log/?type=2&p=1&page_size=10', 'quota', 'quota', (count - 1) * 3],
  ['/api/log/self?type=2&p=1&page_size=10', 'quota', 'quota', (count - 1) * 3],
  ['/api/log/?type=2&p=1&page_size=10', 'prompt_tokens', 'prompt_tokens', count - 1],
  ['/api/log/?type=2&p=1&page_size=10', 'completion_tokens', 'completion_tokens', (count - 1) * 2],
  ['/api/log/?type=2&p=1&page_size=10', 'model_name', 'model_name', 'm-34'],
  ['/api/log/?type=2&p=1&page_size=10', 'duration', 'quota', (count - 1) * 3],
  ['/api/log/?type=2&p=1&page_size=10', 'created_at', 'created_at', at + count - 1],
  ['/api/user/?p=1&page_size=10', 'used_quota', 'used_quota', 10 + count - 1],
  ['/api/user/search?keyword=user&p=1&page_size=10', 'used_quota', 'used_quota', 10 + count - 1],
  ['/api/token/?p=0&size=10', 'name', 'name', 'key 34'],
  ['/api/token/search?keyword=key&p=0&size=10', 'name', 'name', 'key 34'],
  ['/api/redemption/?p=1&page_size=10', 'quota', 'quota', 1000 + count - 1],
  ['/api/redemption/search?keyword=code&p=1&page_size=10', 'quota', 'quota', 1000 + count - 1],
])(
  '%s by %s begins with the greatest of all rows, and ends with it the other way round',
  async (path, sort, field, greatest) => {
    const falling = await get(`${path}&sort=-${sort}`);
    expect(falling[0]?.[field]).toBe(greatest);
    expect(falling).toHaveLength(10);
    const rising = await get(`${path}&sort=${sort}`);
    expect(rising[0]?.[field]).not.toBe(greatest);
    const last = (await get(`${path.replace(/([?&]p=)(\d)/, (_, p, n) => `${p}${Number(n) + 3}`)}&sort=${sort}`)).at(
      -1,
    );
    expect(last?.[field]).toBe(greatest);
  },
);

test('pages of a sorted list hold every row once', async () => {
  const seen: unknown[] = [];
  for (let page = 1; page <= 4; page++)
    seen.push(...(await get(`/api/log/?type=2&p=${page}&page_size=10&sort=-quota`)).map((row) => row.quota));
  expect(seen).toEqual([...shuffled].sort((one, other) => other - one).map((n) => n * 3));
});

test('codes are sorted by when they expire; those that never do come last', async () => {
  const later = at + 86_400;
  for (const [name, expired_time] of [
    ['ends never', 0],
    ['ends late', later + 9],
    ['ends soon', later],
  ] as const)
    await api.send('POST', '/api/redemption/', { name, quota: 1, count: 1, expired_time }, admin);
  const names = async (sort: string) =>
    (await get(`/api/redemption/search?keyword=ends&p=1&page_size=10&sort=${sort}`)).map(({ name }) => name);
  expect(await names('expired_time')).toEqual(['ends soon', 'ends late', 'ends never']);
  expect(await names('-expired_time')).toEqual(['ends never', 'ends late', 'ends soon']);
});

test('a field that is not offered is refused by its name', async () => {
  const { body } = await api.send('GET', '/api/user/?sort=password_hash', undefined, admin);
  expect(body.success).toBe(false);
  expect(body.message).toContain('sort');
});

test('rows of one key are kept apart from those of another with the same name', async () => {
  const { query } = api.gateway.database;
  const row = {
    created_at: at,
    type: 2,
    user_id: 1,
    username: 'tester',
    token_name: 'twin',
    model_name: 'm',
    quota: 5,
  };
  await query
    .insertInto('logs')
    .values([{ ...row, request_id: 'old', token_id: 901 }] as never)
    .execute();
  expect(await get('/api/log/self?token_name=twin&token_id=902')).toHaveLength(0);
  expect(await get('/api/log/self?token_name=twin&token_id=901')).toHaveLength(1);
});

test('the log finds a channel by a part of its name', async () => {
  const { query } = api.gateway.database;
  await api.gateway.channel('http://127.0.0.1:9', { name: 'Western 50%' });
  const { id } = await query
    .selectFrom('channels')
    .select('id')
    .where('name', '=', 'Western 50%')
    .executeTakeFirstOrThrow();
  const row = { created_at: at, type: 2, user_id: 1, username: 'tester', model_name: 'm', quota: 5 };
  await query
    .insertInto('logs')
    .values([{ ...row, request_id: 'west', channel_id: id }] as never)
    .execute();
  expect((await get('/api/log/?channel_name=western%2050%25')).map((one) => one.request_id)).toEqual(['west']);
  expect(await get('/api/log/?channel_name=east')).toHaveLength(0);
  const { body } = await api.send('GET', '/api/log/stat?channel_name=western', undefined, admin);
  expect(body.data).toMatchObject({ quota: 5, overrun: 0 });
});

test('one row of the log is read by its owner alone, without what operators see', async () => {
  const { query } = api.gateway.database;
  const mine = await api.addUser('owner', 1);
  const other = await api.addUser('other', 1);
  await query
    .insertInto('logs')
    .values([
      { request_id: 'own', created_at: at, type: 2, user_id: mine.id, username: 'owner', other: '{"admin_info":{}}' },
    ] as never)
    .execute();
  const own = await api.send('GET', '/api/log/self/one/own', undefined, mine.headers);
  expect(own.body.data).toMatchObject({ request_id: 'own', other: '{}' });
  const strange = await api.send('GET', '/api/log/self/one/own', undefined, other.headers);
  expect(strange.body).toMatchObject({ success: false, code: 'not_found' });
});

test('rows that came without facts from another gateway are sorted by their duration and summed', async () => {
  const { query } = api.gateway.database;
  const imported = { type: 2, user_id: 1, username: 'tester', model_name: 'imported', quota: 5, other: '' };
  await query
    .insertInto('logs')
    .values([1, 2].map((n) => ({ ...imported, created_at: at + n, use_time: n })) as never)
    .execute();
  const rows = await get('/api/log/?type=2&model_name=imported&p=1&page_size=10&sort=-duration');
  expect(rows.map(({ use_time }) => use_time)).toEqual([2, 1]);
  const { body } = await api.send('GET', '/api/log/stat/by?by=model', undefined, admin);
  expect(body.data).toContainEqual(expect.objectContaining({ name: 'imported', requests: 2, quota: 10 }));
});

test('keys are listed by the status they have now, and how many there are is said', async () => {
  const { query } = api.gateway.database;
  const change = (name: string, values: Readonly<Record<string, number>>) =>
    query.updateTable('tokens').set(values).where('name', '=', name).execute();
  const past = Math.floor(Date.now() / 1000) - 5;
  await change('key 00', { status: 2 });
  await change('key 01', { expires_at: past });
  await change('key 02', { unlimited: 0, quota_limit: 7, used_quota: 7 });
  // Switched off is what it is called, whatever else it is.
  await change('key 03', { status: 2, expires_at: past });
  const listed = async (path: string) => {
    const { body, headers } = await api.send('GET', path, undefined, admin);
    const rows = body.data as { name: string; status: number }[];
    return { names: rows.map(({ name }) => name).sort(), total: Number(headers.get('x-total-count')) };
  };
  for (const path of ['/api/token/?size=2', '/api/token/search?keyword=key&size=2']) {
    expect((await listed(`${path}&status=1`)).total).toBe(count - 4);
    expect(await listed(`${path}&status=2`)).toEqual({ names: ['key 00', 'key 03'], total: 2 });
    expect(await listed(`${path}&status=3`)).toEqual({ names: ['key 01'], total: 1 });
    expect(await listed(`${path}&status=4`)).toEqual({ names: ['key 02'], total: 1 });
    expect((await listed(path)).total).toBe(count);
  }
});
