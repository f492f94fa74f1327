import { expect, test } from 'vitest';
import { Balances } from '../../server/billing/balances/money.ts';
import { createRemoteReservations, openMoneyOf } from '../../server/handover/open-requests.ts';

const user = {
  id: 1,
  username: 'u',
  role: 1,
  status: 1,
  group: 'default',
  balance: 1000,
  used: 0,
  balanceVersion: 0,
  overrun: 0,
  setting: {},
};
const never = { at: 0, used: 0 };
const token = {
  id: 7,
  userId: 1,
  name: 't',
  keyHmac: '',
  status: 1,
  expiresAt: -1,
  unlimited: false,
  quotaLimit: 900,
  used: 0,
  modelLimits: null,
  oldKey: null,
  allowIps: [],
  group: '',
  limits: null,
  periods: { day: never, month: never },
};
const rows = {
  user: (id: number) => (id === user.id ? user : undefined),
  token: (id: number) => (id === token.id ? token : undefined),
};

const server = () => {
  const balances = new Balances();
  balances.money.accounts.observeUser(user);
  balances.money.accounts.observeToken(token);
  return balances;
};

test('holds of the former server, present and possible, cannot be spent by the next one', () => {
  const before = server();
  expect(before.account(1, 7).reserve(100, { max: 600 }).ok).toBe(true);
  const after = server();
  const elsewhere = createRemoteReservations(after.money);
  elsewhere.set(openMoneyOf(before.money, rows));
  expect(after.account(1, 0).reserve(401)).toEqual({ ok: false, scope: 'user', remain: 400 });
  expect(after.account(1, 7).reserve(301)).toEqual({ ok: false, scope: 'token', remain: 300 });
  // All of it together is what there is.
  expect(after.account(1, 0).reserve(400).ok).toBe(true);
  expect(before.account(1, 7).reserve(500, { max: 0 }).ok).toBe(true);
});

test('quota that ended requests held there comes free here, and their cost is gone', () => {
  const before = server();
  before.account(1, 7).reserve(600);
  before.account(1, 0).reserve(300);
  const after = server();
  const elsewhere = createRemoteReservations(after.money);
  elsewhere.set(openMoneyOf(before.money, rows));
  expect(after.account(1, 0).available()).toBe(100);
  before.account(1, 7).settle({ reserved: 600, charged: 50 });
  after.account(1, 7).settle({ reserved: 0, charged: 50 });
  // Its bill came first: less, not more.
  expect(after.account(1, 0).available()).toBe(50);
  elsewhere.set(openMoneyOf(before.money, rows));
  expect([after.account(1, 0).available(), after.account(1, 7).available()]).toEqual([650, 650]);
  elsewhere.set({ users: [], tokens: [], groups: [] });
  expect([after.account(1, 0).available(), after.account(1, 7).available()]).toEqual([950, 850]);
});
