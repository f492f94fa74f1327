import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';

let api: ApiFixture;
let admin: Headers;
let user: { id: number; headers: Headers };

beforeAll(async () => {
  api = await createApiFixture();
  admin = await api.login('tester', 'password1');
  user = await api.addUser('alice', 1);
});
afterAll(() => api.close());

const call = async (method: string, path: string, body?: unknown, headers = admin) =>
  (await api.send(method, path, body, headers)).body;
const create = async (fields: object) => (await call('POST', '/api/redemption/', fields)).data as string[];
const redeem = (key: string, headers = user.headers) => call('POST', '/api/user/topup', { key }, headers);

test('a batch is made, listed, searched and read', async () => {
  const codes = await create({ name: 'spring', quota: 500, count: 3 });
  expect(codes).toHaveLength(3);
  for (const code of codes) expect(code).toMatch(/^[0-9a-f]{32}$/);
  const page = (await call('GET', '/api/redemption/?p=0&page_size=2')).data as {
    items: { id: number }[];
    page: number;
  };
  expect(page).toMatchObject({ page: 1, page_size: 2, total: 3 });
  expect(page.items[0]).toMatchObject({ name: 'spring', quota: 500, status: 1, used_user_id: 0, key: codes[2] });
  const id = page.items[0]?.id ?? 0;
  for (const keyword of ['spr', String(id)]) {
    const found = (await call('GET', `/api/redemption/search?keyword=${keyword}&p=1&page_size=10`)).data;
    expect((found as { items: { id: number }[] }).items.map((item) => item.id)).toContain(id);
  }
  expect((await call('GET', '/api/redemption/search?keyword=%25')).data).toMatchObject({ total: 0 });
  expect((await call('GET', `/api/redemption/${id}`)).data).toMatchObject({ id, key: codes[2] });
});

test('a code without a name is named after its worth', async () => {
  await create({ quota: 500_000 });
  expect((await call('GET', '/api/redemption/?p=1')).data).toMatchObject({ items: [{ name: '$1.00' }, {}, {}, {}] });
});

test.each([
  [{ name: 'x'.repeat(21), quota: 1, count: 1 }, '兑换码名称长度必须在1-20之间'],
  [{ name: 'x', quota: 1, count: 0 }, '兑换码个数必须大于0'],
  [{ name: 'x', quota: 1, count: 101 }, '一次兑换码批量生成的个数不能大于 100'],
  [{ name: 'x', quota: 0, count: 1 }, '兑换码额度必须大于0'],
])('refused: %j', async (fields, message) => {
  expect(await call('POST', '/api/redemption/', fields, { ...admin, 'accept-language': 'zh' })).toMatchObject({
    success: false,
    message,
  });
});

test('a code is redeemed once, logged, and cannot be edited after', async () => {
  const [key = ''] = await create({ name: 'once', quota: 12_345 });
  expect(await redeem(` ${key} `)).toMatchObject({ success: true, data: 12_345 });
  expect(await redeem(key)).toMatchObject({ success: false, code: 'redemption_used' });
  expect(await redeem(key, admin)).toMatchObject({ success: false, code: 'redemption_used' });
  expect((await call('GET', '/api/user/self', undefined, user.headers)).data).toMatchObject({ quota: 12_345 });
  const { items } = (await call('GET', '/api/redemption/search?keyword=once')).data as { items: { id: number }[] };
  expect(items[0]).toMatchObject({ status: 3, used_user_id: user.id, used_username: 'alice' });
  const id = items[0]?.id ?? 0;
  for (const change of [
    { id, quota: 1 },
    { id, status: 1, status_only: true },
  ])
    expect(await call('PUT', '/api/redemption/', change)).toMatchObject({ code: 'redemption_used_edit' });
  const logs = (await call('GET', '/api/log/self?type=1', undefined, user.headers)).data as { items: unknown[] };
  expect(logs.items).toMatchObject([{ content: `通过兑换码充值 ＄0.024690 额度，兑换码ID ${id}` }]);
  expect(await api.gateway.verify()).toEqual([]);
});

test('500 parallel calls with one code: one succeeds', async () => {
  const [key = ''] = await create({ name: 'race', quota: 1000 });
  const before = await api.gateway.balance();
  const answers = await Promise.all(Array.from({ length: 500 }, () => redeem(key, admin)));
  expect(answers.filter((answer) => answer.success)).toHaveLength(1);
  expect(new Set(answers.filter((answer) => !answer.success).map((answer) => answer.code))).toEqual(
    new Set(['redemption_used']),
  );
  expect((await api.gateway.balance()) - before).toBe(1000);
});

test('a disabled code is refused until it is enabled again; edits change its worth', async () => {
  const [key = ''] = await create({ name: 'later', quota: 10 });
  const { items } = (await call('GET', '/api/redemption/search?keyword=later')).data as { items: { id: number }[] };
  const id = items[0]?.id ?? 0;
  await call('PUT', '/api/redemption/?status_only=true', { id, status: 2 });
  expect(await redeem(key)).toMatchObject({ code: 'redemption_invalid' });
  await call('PUT', '/api/redemption/?status_only=true', { id, status: 1, quota: 99 });
  expect((await call('PUT', '/api/redemption/', { id, name: 'now', quota: 20 })).data).toMatchObject({
    name: 'now',
    quota: 20,
    status: 1,
  });
  expect(await redeem(key)).toMatchObject({ data: 20 });
});

test('a code that has expired is refused, enabled or not, and counts as one that can be removed', async () => {
  const soon = Math.floor(Date.now() / 1000) + 3600;
  const [key = '', other = ''] = await create({ name: 'short', quota: 10, count: 2, expired_time: soon });
  const { items } = (await call('GET', '/api/redemption/search?keyword=short')).data as {
    items: { id: number; key: string; expired_time: number }[];
  };
  expect(items.map(({ expired_time }) => expired_time)).toEqual([soon, soon]);
  const id = items.find((item) => item.key === key)?.id ?? 0;
  expect(await redeem(other)).toMatchObject({ data: 10 });
  await api.gateway.database.query.updateTable('redemptions').set({ expires_at: 1 }).where('id', '=', id).execute();
  expect(await redeem(key)).toMatchObject({ code: 'redemption_expired' });
  expect(await call('PUT', '/api/redemption/', { id, expired_time: 2 })).toMatchObject({ code: 'redemption_expiry' });
  expect(await call('PUT', '/api/redemption/', { id, name: 'back', expired_time: 1 })).toMatchObject({ success: true });
  expect((await call('DELETE', '/api/redemption/invalid')).data).toBe(5);
  expect(await redeem(key)).toMatchObject({ code: 'redemption_invalid' });
});

test('codes are deleted one by one, or all that can no longer be redeemed', async () => {
  const [key = ''] = await create({ name: 'gone', quota: 10 });
  const { items } = (await call('GET', '/api/redemption/search?keyword=gone')).data as { items: { id: number }[] };
  expect(await call('DELETE', `/api/redemption/${items[0]?.id}/`)).toMatchObject({ success: true });
  expect(await redeem(key)).toMatchObject({ code: 'redemption_invalid' });
  const [used = ''] = await create({ name: 'spent', quota: 10 });
  await redeem(used);
  expect((await call('DELETE', '/api/redemption/invalid')).data).toBe(1);
  const left = (await call('GET', '/api/redemption/?page_size=100')).data as { items: { status: number }[] };
  expect(left.items.every((item) => item.status === 1)).toBe(true);
  expect(await api.gateway.verify()).toEqual([]);
});

test('guessing codes is slowed down; ordinary users reach no list', async () => {
  const guesser = await api.addUser('mallory', 1);
  const answers = [];
  for (let n = 0; n < 22; n++) answers.push((await redeem(`guess${n}`, guesser.headers)).code);
  expect(answers.slice(0, 20)).toEqual(Array(20).fill('redemption_invalid'));
  expect(answers.slice(20)).toEqual(['too_many_attempts', 'too_many_attempts']);
  expect((await api.send('GET', '/api/redemption/', undefined, guesser.headers)).body.code).toBe('role_too_low');
});

test('the second page of codes goes on where the first ends', async () => {
  await create({ name: 'paged', quota: 1, count: 5 });
  const pages = [];
  for (const p of [1, 2, 3]) {
    const { items } = (await call('GET', `/api/redemption/search?keyword=paged&p=${p}&page_size=2`)).data as {
      items: { id: number }[];
    };
    pages.push(...items.map(({ id }) => id));
  }
  expect(pages).toHaveLength(5);
  expect(pages).toEqual([...new Set(pages)].toSorted((a, b) => b - a));
});

test('codes are found by what became of them; one past its date is expired, no longer unused', async () => {
  const [held = '', used = '', late = ''] = await create({ name: 'state', quota: 1, count: 4 });
  const all = async (status: string) => {
    const path = `/api/redemption/search?keyword=state&status=${status}&p=1&page_size=10`;
    return (await call('GET', path)).data as { items: { id: number; key: string }[]; total: number };
  };
  const idOf = async (key: string) => (await all('')).items.find((one) => one.key === key)?.id ?? 0;
  await call('PUT', '/api/redemption/?status_only=true', { id: await idOf(held), status: 2 });
  await redeem(used);
  await api.gateway.rows(`UPDATE redemptions SET expires_at = 5 WHERE id = ${await idOf(late)}`);
  const counts = await Promise.all(
    ['unused', 'disabled', 'used', 'expired', ''].map(async (one) => (await all(one)).total),
  );
  expect(counts).toEqual([1, 1, 1, 1, 4]);
  expect((await all('expired')).items).toMatchObject([{ key: late }]);
  expect(await call('GET', '/api/redemption/?status=lost')).toMatchObject({ success: false });
});
