/** The log is counted over time and by what its rows say; filters narrow by how requests ended. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';

let api: ApiFixture;
let admin: Headers;
let alice: Headers;
const at = 1_795_000_000;

interface Facets {
  readonly from: number;
  readonly step: number;
  readonly total: number;
  readonly errors: number;
  readonly sampled: boolean;
  readonly buckets: readonly { at: number; ok: number; errors: number }[];
  readonly facets: readonly {
    by: string;
    values: readonly { value: string; name: string; count: number }[];
    more: { values: number; count: number };
  }[];
}

beforeAll(async () => {
  api = await createApiFixture();
  admin = await api.login('tester', 'password1');
  const { services, database } = api.gateway;
  await services.users.create({ username: 'alice', password: 'password1', displayName: '', role: 1, quota: 0 });
  alice = await api.login('alice', 'password1');
  const { id } = await database.query
    .selectFrom('users')
    .select('id')
    .where('username', '=', 'alice')
    .executeTakeFirstOrThrow();
  await database.query
    .insertInto('channels')
    .values({ id: 7, type: 1, name: 'main', key_sealed: '', created_at: 1 } as never)
    .execute();
  const row = (second: number, more: object = {}) => ({
    request_id: `2026112300000${second}abcd`,
    created_at: at + second,
    type: 2,
    user_id: 1,
    username: 'tester',
    token_name: 'ci',
    channel_id: 7,
    group_name: 'default',
    model_name: 'gpt-4o',
    end_reason: 'completed',
    other: '{"ms":5,"admin_info":{"use_channel":["7"]}}',
    ...more,
  });
  const own = { user_id: id, username: 'alice', token_name: 'phone' };
  const retried = '{"admin_info":{"use_channel":["7","7"],"attempts":[{"channel":7,"reason":"status"}]}}';
  const failed = { type: 5, end_reason: 'upstream_failed', other: '{"failure":"status 429"}' };
  const refused = { type: 5, channel_id: 0, end_reason: 'refused', other: '{"refused":"model_forbidden"}' };
  await database.query
    .insertInto('logs')
    .values([
      row(0),
      row(10, { model_name: 'gpt-4o-mini' }),
      row(20, { other: retried }),
      row(30, failed),
      row(40, { ...failed, model_name: 'gpt-4o-mini' }),
      row(50, refused),
      row(60, own),
      row(70, { ...own, other: retried }),
      row(80, { ...own, ...failed }),
      row(90, { type: 1, channel_id: 0, model_name: '', token_name: '', end_reason: '', other: '' }),
    ] as never)
    .execute();
});
afterAll(() => api?.close());

const range = `start_timestamp=${at}&end_timestamp=${at + 99}`;
const read = async (path: string, headers = admin): Promise<Facets> => {
  const { body } = await api.send('GET', path, undefined, headers);
  expect(body.message).toBe('');
  return body.data as Facets;
};
const valuesOf = (answer: Facets, by: string): Record<string, number> =>
  Object.fromEntries(
    (answer.facets.find((one) => one.by === by)?.values ?? []).map(({ value, count }) => [value, count]),
  );
const listed = async (query: string, headers = admin, path = '/api/log/'): Promise<number> => {
  const { body } = await api.send('GET', `${path}?${range}&${query}`, undefined, headers);
  return (body.data as { total: number }).total;
};

test('every row is in one bucket, and errors are counted apart', async () => {
  const answer = await read(`/api/log/facets?${range}`);
  expect(answer).toMatchObject({ from: at, total: 10, errors: 4, sampled: false, step: 1 });
  expect(answer.buckets.find((one) => one.at === at + 30)).toEqual({ at: at + 30, ok: 0, errors: 1 });
  expect(answer.buckets.reduce((sum, one) => sum + one.ok + one.errors, 0)).toBe(10);
});

test('each kind of value is counted, and channels have their names', async () => {
  const answer = await read(`/api/log/facets?${range}`);
  expect(valuesOf(answer, 'status')).toEqual({ succeeded: 3, retried: 2, failed: 3, refused: 1, event: 1 });
  expect(valuesOf(answer, 'error')).toEqual({ 'status 429': 3, model_forbidden: 1 });
  expect(valuesOf(answer, 'model')).toEqual({ 'gpt-4o': 7, 'gpt-4o-mini': 2 });
  expect(valuesOf(answer, 'user')).toEqual({ tester: 7, alice: 3 });
  expect(valuesOf(answer, 'token')).toEqual({ ci: 6, phone: 3 });
  expect(answer.facets.find(({ by }) => by === 'channel')?.values).toEqual([{ value: '7', name: 'main', count: 8 }]);
});

test('a chosen filter narrows all facets but its own', async () => {
  const answer = await read(`/api/log/facets?${range}&status=failed&model_name=gpt-4o`);
  expect(answer).toMatchObject({ total: 2, errors: 2 });
  expect(valuesOf(answer, 'status')).toEqual({ succeeded: 2, retried: 2, failed: 2, refused: 1 });
  expect(valuesOf(answer, 'model')).toEqual({ 'gpt-4o': 2, 'gpt-4o-mini': 1 });
  expect(valuesOf(answer, 'user')).toEqual({ tester: 1, alice: 1 });
});

test('only the most frequent values are named, and the others are added up', async () => {
  const model = (await read(`/api/log/facets?${range}&limit=1`)).facets.find(({ by }) => by === 'model');
  expect(model).toEqual({
    by: 'model',
    values: [{ value: 'gpt-4o', name: 'gpt-4o', count: 7 }],
    more: { values: 1, count: 2 },
  });
});

test('a user counts own rows alone, and learns nothing of channels or of attempts that failed', async () => {
  const answer = await read(`/api/log/self/facets?${range}&username=tester&channel=9`, alice);
  expect(answer.total).toBe(3);
  expect(answer.facets.map(({ by }) => by)).toEqual(['status', 'error', 'model', 'token', 'group']);
  expect(valuesOf(answer, 'status')).toEqual({ succeeded: 2, failed: 1 });
  expect(JSON.stringify(answer)).not.toContain('main');
  expect(await listed('status=retried', alice, '/api/log/self')).toBe(0);
  expect(await listed('status=succeeded', alice, '/api/log/self')).toBe(2);
  expect((await api.send('GET', `/api/log/facets?${range}`, undefined, alice)).body.success).toBe(false);
});

test.each([
  ['status=retried', 2],
  ['status=failed,refused', 4],
  ['status=succeeded', 3],
  ['status=succeeded,retried&username=alice', 2],
  ['error=status 429', 3],
  ['error=status 429&model_name=gpt-4o-mini', 1],
  ['error=model_forbidden&status=failed', 0],
])('the list with %s has %d rows', async (query, rows) => {
  expect(await listed(query)).toBe(rows);
});

test('a status that does not exist is refused by its name', async () => {
  const { body } = await api.send('GET', '/api/log/?status=nice', undefined, admin);
  expect(body.success).toBe(false);
  expect(body.message).toContain('status');
});

test('facets of many rows come from a sample; rare failures are all counted', async () => {
  const { database, services } = api.gateway;
  const many = 30_000;
  for (let first = 0; first < many; first += 1000)
    await database.query
      .insertInto('logs')
      .values(
        Array.from({ length: 1000 }, (_, index) => ({
          created_at: at + 1000 + first + index,
          type: (first + index) % 1000 === 5 ? 5 : 2,
          user_id: 1,
          username: 'tester',
          model_name: (first + index) % 4 === 0 ? 'quarter' : 'rest',
          end_reason: (first + index) % 1000 === 5 ? 'client_gone' : 'completed',
          other: '{}',
        })) as never,
      )
      .execute();
  const answer = await services.logs.facets({ from: at + 1000, to: at + 1000 + many, retries: true }, 10, true);
  expect(answer.sampled).toBe(true);
  expect(valuesOf(answer as Facets, 'status').client_left).toBe(30);
  expect(answer.total).toBeGreaterThan(many * 0.98);
  expect(answer.total).toBeLessThan(many * 1.02);
  expect((valuesOf(answer as Facets, 'model').quarter ?? 0) / answer.total).toBeCloseTo(0.25, 1);
  const some = await services.logs.facets({ from: at + 1000, to: at + 1000 + many, model: 'quarter' }, 10, true);
  expect(some).toMatchObject({ sampled: false, total: 7500 });
});
