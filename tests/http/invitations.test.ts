/** Who gets in by an invitation, and when it is worth something. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';

let api: ApiFixture;
let root: Headers;
let inviter: { id: number; headers: Headers };
let invitation: string;
const options = {
  QuotaForNewUser: '100',
  QuotaForInvitee: '20',
  QuotaForInviter: '3',
  InvitationRequired: 'false',
  InvitationGiftsAfterTopUp: 'false',
  InvitationGiftsPerIp: '0',
  RegistrationsPerIp: '0',
};
let serial = 0;
beforeAll(async () => {
  api = await createApiFixture();
  ({ headers: root } = await api.addUser('root', 100));
});
afterAll(() => api.close());
beforeEach(async () => {
  for (const [key, value] of Object.entries(options)) await api.gateway.option(key, value);
  inviter = await api.addUser(`inviter${++serial}`, 1);
  invitation = (await api.send('GET', '/api/user/aff', undefined, inviter.headers)).body.data as string;
});
afterEach(async () => expect(await api.gateway.verify()).toEqual([]));

/** @param ip as the service is told; each its own unless given. */
async function register(code: string, ip = `192.0.2.${++serial}`) {
  const username = `new${++serial}`;
  const given = { username, password: 'password1', password2: '', email: '', code: '', affCode: code };
  await api.gateway.services.accounts.register(given, { ip, userId: 0, language: 'en', deviceCookie: '' });
  const user = await api.gateway.services.users.findByLogin(username);
  if (user === undefined) throw new Error(username);
  return user;
}
const balanceOf = async (id: number) => (await api.gateway.services.users.find(id))?.balance;
const earned = async () =>
  ((await api.send('GET', '/api/user/self', undefined, inviter.headers)).body.data as Record<string, number>).aff_quota;
const invitedCount = async () =>
  ((await api.send('GET', '/api/user/self', undefined, inviter.headers)).body.data as Record<string, number>).aff_count;
const redeem = async (id: number, quota: number) => {
  const { services } = api.gateway;
  const [code = ''] = await services.redemptions.create(1, { quota });
  const user = await services.users.find(id);
  if (user === undefined) throw new Error('no user');
  return services.redemptions.redeem(user, code);
};

test('without the option both gifts come at registration', async () => {
  const user = await register(invitation);
  expect(await balanceOf(user.id)).toBe(120);
  expect(await earned()).toBe(3);
});

test('with the first top-up both gifts come once; the invited user is counted before', async () => {
  await api.gateway.option('InvitationGiftsAfterTopUp', 'true');
  const user = await register(invitation);
  expect(await balanceOf(user.id)).toBe(100);
  expect([await earned(), await invitedCount()]).toEqual([0, 1]);
  await redeem(user.id, 1000);
  expect(await balanceOf(user.id)).toBe(1120);
  expect([await earned(), await invitedCount()]).toEqual([3, 1]);
  await redeem(user.id, 1000);
  expect(await balanceOf(user.id)).toBe(2120);
  expect(await earned()).toBe(3);
});

test('a paid order brings gifts that wait, a refused callback does not', async () => {
  await api.gateway.option('InvitationGiftsAfterTopUp', 'true');
  const { id } = await register(invitation);
  const order = {
    user_id: id,
    quota: 500,
    amount: 1,
    money: 100,
    currency: 'usd',
    method: 'stripe',
    status: 'pending',
  };
  await api.gateway.database.query
    .insertInto('top_ups')
    .values({ ...order, trade_no: `T${id}`, created_at: 1 } as never)
    .execute();
  await expect(api.gateway.services.wallet.complete('unknown')).rejects.toMatchObject({ code: 'not_found' });
  expect(await earned()).toBe(0);
  await api.gateway.services.wallet.complete(`T${id}`);
  expect(await balanceOf(id)).toBe(620);
  expect(await earned()).toBe(3);
});

test('users invited before the option was set, or elsewhere, bring no second gift', async () => {
  const user = await register(invitation);
  await api.gateway.option('InvitationGiftsAfterTopUp', 'true');
  await redeem(user.id, 1000);
  expect(await balanceOf(user.id)).toBe(1120);
  expect(await earned()).toBe(3);
});

test('an address brings so many gifts a day and no more; further users are invited without', async () => {
  await api.gateway.option('InvitationGiftsPerIp', '2');
  const ip = '198.51.100.7';
  const users = [await register(invitation, ip), await register(invitation, ip), await register(invitation, ip)];
  expect(await Promise.all(users.map(({ id }) => balanceOf(id)))).toEqual([120, 120, 100]);
  expect([await earned(), await invitedCount()]).toEqual([6, 3]);
  expect(users[2]?.inviter_id).toBe(inviter.id);
  const elsewhere = await register(invitation, '198.51.100.8');
  expect(await balanceOf(elsewhere.id)).toBe(120);
  // Nobody's invitation is no gift, and counts for none.
  await register('', ip);
});

test('an address makes so many accounts a day', async () => {
  await api.gateway.option('RegistrationsPerIp', '2');
  const network = '2001:db8:1:2::';
  await register('', `${network}1`);
  await register('', `${network}2`);
  await expect(register('', `${network}3`)).rejects.toMatchObject({ code: 'too_many_attempts' });
  await register('', '2001:db8:1:3::1');
});

test('a registration that fails takes neither an account of the day nor a gift', async () => {
  await api.gateway.option('RegistrationsPerIp', '1');
  await api.gateway.option('InvitationGiftsPerIp', '1');
  const ip = '198.51.100.21';
  const given = { username: 'root', password: 'password1', password2: '', email: '', code: '', affCode: invitation };
  const from = { ip, userId: 0, language: 'en', deviceCookie: '' } as const;
  await expect(api.gateway.services.accounts.register(given, from)).rejects.toMatchObject({ code: 'username_taken' });
  expect(await balanceOf((await register(invitation, ip)).id)).toBe(120);
  await expect(register(invitation, ip)).rejects.toMatchObject({ code: 'too_many_attempts' });
});

test('required invitations let in with the code of an enabled user only', async () => {
  await api.gateway.option('InvitationRequired', 'true');
  await expect(register('')).rejects.toMatchObject({ code: 'invitation_needed' });
  await expect(register('zzzz')).rejects.toMatchObject({ code: 'invitation_needed' });
  expect((await register(invitation)).inviter_id).toBe(inviter.id);
  await api.gateway.services.userManagement.manage({ userId: 1, username: 'root', role: 100 }, inviter.id, 'disable');
  await expect(register(invitation)).rejects.toMatchObject({ code: 'invitation_needed' });
  const fresh = await api.addUser(`long${++serial}`, 1);
  expect((await api.send('GET', '/api/user/aff', undefined, fresh.headers)).body.data).toMatch(/^[A-Za-z0-9]{10}$/);
  expect((await api.send('GET', '/api/status')).body.data).toMatchObject({ invitation_required: true });
});

test('a login by another service needs the code too', async () => {
  await api.gateway.option('InvitationRequired', 'true');
  const { createSignUp } = await import('../../server/domain/oauth/sign-up.ts');
  const { database, services } = api.gateway;
  const signUps = { within: <T>(_network: string, run: () => Promise<T>) => run() };
  const { register: enter } = createSignUp({ database, ...services, signUps });
  const known = { username: 'octo', displayName: '', email: '', service: 'GitHub', prefix: 'github_', ip: '192.0.2.9' };
  const identity = { column: 'github_id', id: '7', issuer: '' } as const;
  await expect(enter({ ...known, identity, affCode: '' })).rejects.toMatchObject({ code: 'invitation_needed' });
  expect(await enter({ ...known, identity, affCode: invitation })).toMatchObject({ inviter_id: inviter.id });
});

test('a user has so many keys, makes so many a day, and no more at the same moment; administrators are not limited', async () => {
  await api.gateway.option('token_setting.max_user_tokens', '3');
  const make = (headers: Headers) => api.send('POST', '/api/token/', { name: 'k' }, headers);
  const { id, headers } = await api.addUser(`keys${++serial}`, 1);
  const answers = await Promise.all(Array.from({ length: 8 }, () => make(headers)));
  const codes = answers.map(({ body }) => body.code ?? 'made');
  expect(codes.filter((code) => code === 'made').length).toBeLessThanOrEqual(3);
  expect(new Set(codes.filter((code) => code !== 'made'))).toEqual(new Set(['token_count']));
  const { items } = await api.gateway.services.tokens.list(id, 0, 100);
  for (const token of items) await api.gateway.services.tokens.remove(token.id, id);
  // Deleted ones were made all the same.
  for (let n = 0; n < 4; n++) expect((await make(headers)).body.code).toBe('token_count');
  await api.gateway.database.query.updateTable('tokens').set({ created_at: 1 }).where('user_id', '=', id).execute();
  for (const code of [undefined, undefined, undefined, 'token_count'])
    expect((await make(headers)).body.code).toBe(code);
  for (let n = 0; n < 4; n++) expect((await make(root)).body.success).toBe(true);
  await api.gateway.option('token_setting.max_user_tokens', '0');
  expect((await make(headers)).body.success).toBe(true);
  await api.gateway.option('token_setting.max_user_tokens', '1000');
});

test('the list of users says by name who invited somebody, on whichever page the inviter stands', async () => {
  const { username } = await register(invitation);
  await api.addUser(`later${++serial}`, 1);
  const answer = await api.send('GET', '/api/user/?p=1&page_size=1&sort=-id', undefined, root);
  const { items: latest } = answer.body.data as { items: object[] };
  expect(latest).toHaveLength(1);
  const found = await api.send('GET', `/api/user/search?keyword=${username}&p=1&page_size=1`, undefined, root);
  const name = (await api.gateway.services.users.find(inviter.id))?.username;
  expect(found.body.data).toMatchObject({ items: [{ username, inviter_id: inviter.id, inviter_name: name }] });
  // Who came by himself has none.
  expect(latest[0]).not.toHaveProperty('inviter_name');
});
