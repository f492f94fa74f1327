import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAffiliate } from '../../server/domain/affiliate/service.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';

let api: ApiFixture;
let inviter: { id: number; headers: Headers };

beforeAll(async () => {
  api = await createApiFixture();
  inviter = await api.addUser('inviter', 1);
  await api.gateway.option('QuotaForNewUser', '100');
  await api.gateway.option('QuotaForInvitee', '20');
  await api.gateway.option('QuotaForInviter', '600000');
});
afterAll(() => api.close());

const self = async (headers: Headers) =>
  (await api.send('GET', '/api/user/self', undefined, headers)).body.data as Record<string, number>;
const transfer = async (quota: number, headers = inviter.headers) =>
  (await api.send('POST', '/api/user/aff_transfer', { quota }, { ...headers, 'accept-language': 'zh' })).body;

async function invited(name: string) {
  const { affiliate, users } = api.gateway.services;
  const guest = await api.addUser(name, 1);
  const code = (await api.send('GET', '/api/user/aff', undefined, inviter.headers)).body.data as string;
  const by = await affiliate.inviterOf(code);
  await api.gateway.database.query.updateTable('users').set({ inviter_id: by }).where('id', '=', guest.id).execute();
  const user = await users.find(guest.id);
  if (user === undefined) throw new Error('no user');
  return { ...guest, user };
}

test('everybody has one code of their own', async () => {
  const code = async (headers: Headers) => (await api.send('GET', '/api/user/aff', undefined, headers)).body.data;
  const first = await code(inviter.headers);
  expect(first).toMatch(/^[A-Za-z0-9]{4}$/);
  expect(await code(inviter.headers)).toBe(first);
  const other = await api.addUser('other', 1);
  expect(await code(other.headers)).not.toBe(first);
  expect(await api.gateway.services.affiliate.inviterOf('none')).toBe(0);
});

test('a code that is taken is drawn again, 20 times in all, before codes get longer', async () => {
  const { database, ledger, services } = api.gateway;
  let thrown = 0;
  const { code } = createAffiliate({
    database,
    store: {} as never,
    ledger,
    options: services.options,
    now: Date.now,
    randomInt() {
      thrown++;
      return 0;
    },
  });
  const [first, second] = [await api.addUser('first', 1), await api.addUser('second', 1)];
  expect(await code(first.id)).toBe('AAAA');
  thrown = 0;
  expect(await code(second.id)).toBe('AAAAA');
  expect(thrown).toBe(20 * 4 + 5);
});

test('both sides get their reward once, however often it is asked for', async () => {
  const { affiliate } = api.gateway.services;
  const guest = await invited('guest');
  await Promise.all([affiliate.welcome(guest.user), affiliate.welcome(guest.user)]);
  await affiliate.welcome(guest.user);
  expect(await self(guest.headers)).toMatchObject({ quota: 120, inviter_id: inviter.id });
  expect(await self(inviter.headers)).toMatchObject({
    quota: 0,
    aff_count: 1,
    aff_quota: 600_000,
    aff_history_quota: 600_000,
  });
});

test('earned quota is moved from the minimum upwards, once in 500 parallel tries', async () => {
  expect(await transfer(499_999)).toMatchObject({ message: '划转失败：最低划转额度为 ＄1.000000 额度' });
  expect(await transfer(700_000)).toMatchObject({ message: '划转失败：可划转额度不足' });
  const answers = await Promise.all(Array.from({ length: 500 }, () => transfer(500_000)));
  expect(answers.filter((answer) => answer.success)).toHaveLength(1);
  expect(answers.find((answer) => answer.success)?.message).toBe('划转成功');
  expect(await self(inviter.headers)).toMatchObject({ quota: 500_000, aff_quota: 100_000, aff_history_quota: 600_000 });
  expect(await api.gateway.verify()).toEqual([]);
});

test('a user who does not exist has no code', async () => {
  await expect(api.gateway.services.affiliate.code(4711)).rejects.toMatchObject({ code: 'user_unknown' });
});
