/** A misspelt member of a body is named; what programs of the family send along is not. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture } from '../support/api.ts';

let api: ApiFixture;
let headers: Record<string, string>;

beforeEach(async () => {
  api = await createApiFixture();
  ({ headers } = await api.addUser('bosses', 100));
});
afterEach(() => api.close());

test.each([
  ['POST', '/api/token/', { name: 't', budgett: 5 }, 'budgett', 'day_budget'],
  ['POST', '/api/token/', { name: 't', remain_quotas: 5 }, 'remain_quotas', 'remain_quota'],
  ['POST', '/api/channel/', { name: 'c', key: 'k', models: 'm', modles: 'm' }, 'modles', 'models'],
  ['PUT', '/api/option/', { key: 'SystemName', value: 'x', vlaue: 'y' }, 'vlaue', 'value'],
  ['POST', '/api/redemption/', { name: 'r', quota: 1, cuont: 2 }, 'cuont', 'count'],
] as const)('%s %s %j', async (method, path, body, name, nearest) => {
  const { status, body: told } = await api.send(method, path, body, headers);
  expect(status).toBe(400);
  expect(told).toMatchObject({ success: false, code: 'member_unknown' });
  expect(told.message).toContain(name);
  expect(told.message).toContain(nearest);
});

test('rows may be sent back as they were read, older and newer ones of the family too', async () => {
  const made = await api.send('POST', '/api/token/', { name: 't', unlimited_quota: true }, headers);
  expect(made.body.success).toBe(true);
  const row = made.body.data as Record<string, unknown>;
  const again = await api.send(
    'PUT',
    '/api/token/',
    { ...row, name: 'u', DeletedAt: null, cross_group_retry: false },
    headers,
  );
  expect(again.body).toMatchObject({ success: true });
  const login = { username: 'nobody', password: 'x', turnstile: '', remember: true };
  expect((await api.send('POST', '/api/user/login', login)).body.code).not.toBe('member_unknown');
});
