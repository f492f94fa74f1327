import fc from 'fast-check';
import { expect, test } from 'vitest';
import { noAllowance } from '../../server/billing/balances/allowance.ts';
import { Balances, createMoney } from '../../server/billing/balances/money.ts';
import { createMemory } from '../../server/billing/balances/shared-memory.ts';
import { UserSlot } from '../../server/billing/balances/slot.ts';
import { createLeasedBalances } from '../../server/billing/leases/leased-balance.ts';
import { createTestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream } from '../support/upstream.ts';

const user = (id: number, balance: number, balanceVersion = 0) => ({
  id,
  username: 'u',
  role: 1,
  status: 1,
  group: 'default',
  balance,
  used: 0,
  balanceVersion,
  overrun: 0,
  setting: {},
});
const never = { at: 0, used: 0 };
const token = (id: number, quotaLimit: number, used = 0) => ({
  id,
  userId: 1,
  name: 't',
  keyHmac: '',
  status: 1,
  expiresAt: -1,
  unlimited: false,
  quotaLimit,
  used,
  modelLimits: null,
  oldKey: null,
  allowIps: [],
  group: '',
  limits: null,
  periods: { day: never, month: never },
});

test('a hold takes of the budgets, the key and the balance, or of none of them', () => {
  const balances = new Balances();
  balances.money.accounts.observeUser(user(1, 100));
  const limits = { rpm: 0, tpm: 0, concurrency: 0, dayBudget: 500, monthBudget: 0 };
  balances.money.accounts.observeToken({ ...token(7, 400), limits });
  const account = balances.account(1, 7);
  const left = () => [account.availableBudget(limits), account.available()];
  expect(account.reserve(300, { budget: 300, limits })).toEqual({ ok: false, scope: 'user', remain: 100 });
  expect(left()).toEqual([500, 100]);
  expect(account.reserve(60, { budget: 501, limits })).toMatchObject({
    ok: false,
    scope: 'budget',
    period: 'day',
    remain: 500,
  });
  expect(left()).toEqual([500, 100]);
  expect(account.reserve(60, { budget: 60, limits })).toEqual({ ok: true });
  expect(left()).toEqual([440, 40]);
  account.settle({ reserved: 60, charged: 10, budget: 60 });
  expect(left()).toEqual([490, 90]);
});

test('a user’s overrun is known from the first request after a start on', () => {
  const balances = new Balances();
  balances.money.accounts.observeUser({ ...user(1, 100), overrun: 70 });
  expect(balances.account(1, 0).overrun()).toBe(70);
  balances.money.accounts.credit({ kind: 'balance', userId: 1, delta: 0, overrun: 5, version: 1 } as never);
  expect(balances.account(1, 0).overrun()).toBe(75);
});

test('a user’s use is that of the row when it is loaded, and charges come on top', () => {
  const balances = new Balances();
  balances.money.accounts.observeUser({ ...user(1, 100), used: 70 });
  const account = balances.account(1, 0);
  const used = () => balances.money.memory.get(account.user + UserSlot.used);
  expect(used()).toBe(70);
  account.settle({ reserved: 0, charged: 5 });
  expect(used()).toBe(75);
});

test('1,000 requests against the balance for 10: 10 are admitted', () => {
  const balances = new Balances();
  balances.money.accounts.observeUser(user(1, 1005));
  const admitted = Array.from({ length: 1000 }, () => balances.account(1, 0).reserve(100)).filter(
    (answer) => answer.ok,
  );
  expect(admitted).toHaveLength(10);
  expect(balances.account(1, 0).reserve(100)).toEqual({ ok: false, scope: 'user', remain: 5 });
});

type Step = { readonly kind: 'hold' | 'settle' | 'credit'; readonly amount: number; readonly part: number };

test('reservations never exceed the balance of the account or the limit of the key', () => {
  const step: fc.Arbitrary<Step> = fc.record({
    kind: fc.constantFrom('hold', 'settle', 'credit'),
    amount: fc.integer({ min: 0, max: 400 }),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const balances = new Balances();
      balances.money.accounts.observeUser(user(1, 1000));
      balances.money.accounts.observeToken(token(7, 700));
      let balance = 1000;
      let used = 0;
      let version = 0;
      const open: number[] = [];
      const held = () => open.reduce((sum, one) => sum + one, 0);
      for (const { kind, amount, part } of steps) {
        if (kind === 'hold') {
          const room = Math.min(balance - held(), 700 - used - held());
          const answer = balances.account(1, 7).reserve(amount);
          expect(answer.ok).toBe(amount <= room && (amount === 0 || balance > 0));
          if (answer.ok) open.push(amount);
        } else if (kind === 'settle' && open.length > 0) {
          const ended = open.splice(Math.floor(part * (open.length - 1)), 1)[0] ?? 0;
          const charged = Math.floor(ended * part);
          balances.account(1, 7).settle({ reserved: ended, charged });
          balance -= charged;
          used += charged;
        } else if (kind === 'credit') {
          version++;
          // An event may come twice; its version shows it.
          for (let n = 0; n < 2; n++)
            balances.money.accounts.credit({ kind: 'balance', userId: 1, delta: amount, version });
          balance += amount;
        }
        expect(balances.account(1, 7).available()).toBe(Math.max(0, Math.min(balance - held(), 700 - used - held())));
      }
    }),
    { numRuns: 500 },
  );
});

test('a refund gives the balance and the key’s quota back, once', () => {
  const balances = new Balances();
  balances.money.accounts.observeUser(user(1, 1000));
  balances.money.accounts.observeToken(token(7, 300));
  balances.account(1, 7).reserve(200);
  balances.account(1, 7).settle({ reserved: 200, charged: 200 });
  const event = { kind: 'balance', userId: 1, delta: 200, version: 1, token: { id: 7, used: -200 } } as const;
  balances.money.accounts.credit(event);
  balances.money.accounts.credit(event);
  expect(balances.account(1, 7).available()).toBe(300);
  expect(balances.account(1, 0).available()).toBe(1000);
});

test('credits that come out of the order of their versions all count, once', () => {
  const balances = new Balances();
  balances.money.accounts.observeUser(user(1, 100));
  const credit = (version: number, delta: number) =>
    balances.money.accounts.credit({ kind: 'balance', userId: 1, delta, version });
  for (const [version, delta] of [
    [2, 50],
    [1, 30],
    [2, 50],
    [1, 30],
    [5, 7],
    [3, 1],
    [4, 2],
    [5, 7],
  ] as const)
    credit(version, delta);
  expect(balances.account(1, 0).available()).toBe(190);
});

test('a user or key that is removed and comes back while requests run has not got their money twice', () => {
  const balances = new Balances();
  balances.money.accounts.observeUser(user(1, 100));
  balances.money.accounts.observeToken(token(7, 90));
  expect(balances.account(1, 7).reserve(80).ok).toBe(true);
  balances.money.accounts.evictUser(1);
  balances.money.accounts.evictToken(7);
  expect([balances.account(1, 0).available(), balances.account(1, 0).reserve(1).ok]).toEqual([0, false]);
  balances.money.accounts.observeUser(user(1, 100));
  balances.money.accounts.observeToken(token(7, 90));
  expect([balances.account(1, 0).available(), balances.account(1, 7).available()]).toEqual([20, 10]);
  balances.account(1, 7).settle({ reserved: 80, charged: 80 });
  expect([balances.account(1, 0).available(), balances.account(1, 7).available()]).toEqual([20, 10]);
});

const share = { most: 300, nodes: 1 };

test('what open requests may cost together stays within the balance, or so far beyond it as its owner ever paid in', () => {
  const balances = new Balances();
  balances.money.accounts.observeUser({ ...user(1, 100), paidIn: 1000 });
  expect(balances.account(1, 0).reserve(10, { max: 60 }).ok).toBe(true);
  expect(balances.account(1, 0).reserve(10, { max: 60 })).toEqual({ ok: false, scope: 'user', remain: 40 });
  expect([
    balances.account(1, 0).availableWith(noAllowance, false),
    balances.account(1, 0).availableWith(share, false),
    balances.account(1, 0).available(),
  ]).toEqual([40, 340, 90]);
  for (let n = 0; n < 5; n++) expect(balances.account(1, 0).reserve(10, { max: 60, share }).ok).toBe(true);
  expect(balances.account(1, 0).reserve(10, { max: 60, share })).toEqual({
    ok: false,
    scope: 'user',
    remain: 40,
  });
  // Of a request that was let in, more is held without asking what it may cost.
  expect(balances.account(1, 0).reserve(40, { max: 0 }).ok).toBe(true);
  expect(balances.account(1, 0).reserve(1, { max: 0 }).ok).toBe(false);
  for (let n = 0; n < 6; n++) balances.account(1, 0).settle({ reserved: 10, charged: 0, max: 60 });
  balances.account(1, 0).settle({ reserved: 40, charged: 0, max: 0 });
  expect([balances.account(1, 0).availableWith(noAllowance, false), balances.account(1, 0).available()]).toEqual([
    100, 100,
  ]);
});

test('a key has no allowance, and neither has who owes, who paid in nothing or who has nothing left', () => {
  const balances = new Balances();
  const { accounts } = balances.money;
  accounts.observeUser({ ...user(1, 100), paidIn: 1000 });
  accounts.observeToken(token(7, 50));
  expect(balances.account(1, 7).availableWith(share, false)).toBe(50);
  expect(balances.account(1, 7).availableUnheld(share, false, null)).toBe(50);
  expect(balances.account(1, 7).reserve(10, { max: 51, share })).toEqual({ ok: false, scope: 'token', remain: 50 });
  expect(balances.account(1, 0).availableUnheld(share, false, null)).toBe(400);
  expect(balances.account(1, 0).availableWith({ ...share, nodes: 3 }, false)).toBe(200);
  expect(balances.account(1, 0).reserve(10, { max: 201, share: { ...share, nodes: 3 } }).ok).toBe(false);
  // Found out between the look and the hold.
  accounts.credit({ kind: 'balance', userId: 1, delta: 0, overrun: 1, version: 1 });
  expect(balances.account(1, 0).availableWith(share, false)).toBe(100);
  expect(balances.account(1, 0).reserve(10, { max: 101, share }).ok).toBe(false);
  accounts.observeUser(user(2, 100));
  expect(balances.account(2, 0).availableWith(share, false)).toBe(100);
  accounts.observeUser({ ...user(3, 0), paidIn: 1000 });
  expect(balances.account(3, 0).availableWith(share, false)).toBe(0);
  expect(balances.account(3, 0).availableUnheld(share, false, null)).toBe(0);
  expect(balances.account(3, 0).reserve(0, { max: 10, share })).toEqual({ ok: false, scope: 'user', remain: 0 });
});

test('the house pays whatever the balance is; the key’s limit holds', () => {
  const balances = new Balances();
  balances.money.accounts.observeUser(user(1, 0));
  balances.money.accounts.observeToken(token(7, 90));
  expect(balances.account(1, 7).reserve(80, { max: 80, selfUse: true }).ok).toBe(true);
  expect(balances.account(1, 7).reserve(80, { max: 80, selfUse: true })).toEqual({
    ok: false,
    scope: 'token',
    remain: 10,
  });
  balances.account(1, 7).settle({ reserved: 80, charged: 70, max: 80, selfUse: true });
  expect(balances.account(1, 0).limits()).toEqual({ limit: 70, used: 70 });
  expect([
    balances.account(1, 7).available(true),
    balances.account(1, 7).availableWith(noAllowance, true),
    balances.account(1, 7).available(),
  ]).toEqual([20, 20, 0]);
});

test('300 requests at once never spend more than there is', async () => {
  const gateway = await createTestGateway({ quota: 2000 });
  const written = (body: Buffer): number =>
    Math.min(400, (JSON.parse(String(body)) as { max_tokens: number }).max_tokens);
  const upstream = await startUpstream((response, { body }) => {
    setTimeout(() => sendJson(response, completion(10, written(body))), 30);
  });
  await gateway.channel(upstream.url);
  const { key } = await gateway.token();
  const ask = { model: 'gpt-4o-mini', max_tokens: 500, messages: [{ role: 'user', content: 'hi' }] };
  const answers = await Promise.all(Array.from({ length: 300 }, () => gateway.chat(key, ask)));
  await Promise.all(answers.map((answer) => answer.text()));
  const served = answers.filter((answer) => answer.status === 200).length;
  expect(upstream.requests).toHaveLength(served);
  // 157 are held for each: the prompt's bound and 500 tokens of answer. What is left affords a shorter answer or two.
  expect(served).toBeGreaterThan(10);
  const tokens = upstream.requests.reduce((sum, { body }) => sum + 10 + 4 * written(body), 0);
  const spent = Math.floor((tokens * 75) / 1000);
  expect(spent).toBeLessThanOrEqual(2000);
  expect(await gateway.balance()).toBe(2000 - spent);
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

test('a user’s paid-in sum is that of the newest row or event, in whichever order they come, and counts nothing twice', () => {
  const balances = new Balances();
  const { accounts } = balances.money;
  const paid = (version: number, paidIn?: number) =>
    accounts.credit({ kind: 'balance', userId: 1, delta: 5, version, ...(paidIn === undefined ? {} : { paidIn }) });
  // Before its user is known.
  paid(3, 30);
  accounts.observeUser({ ...user(1, 100, 2), paidIn: 20 });
  const account = balances.account(1, 0);
  expect([account.paidIn(), account.available()]).toEqual([30, 105]);
  paid(5, 50);
  paid(4, 40);
  paid(5, 60);
  paid(6);
  expect([account.paidIn(), account.available()]).toEqual([50, 120]);
  // An order was given back, and a row from before comes late.
  accounts.observeUser({ ...user(1, 100, 6), paidIn: 45 });
  accounts.observeUser({ ...user(1, 100, 5), paidIn: 50 });
  expect([account.paidIn(), account.available()]).toEqual([45, 120]);
  // Another machine's top-up is learned of with the row.
  accounts.observeUser({ ...user(1, 100, 7), paidIn: 70 });
  expect(account.paidIn()).toBe(70);
  accounts.credit({ kind: 'balance', userId: 1, delta: -5, version: 8, paidIn: 65 });
  expect(account.paidIn()).toBe(65);
  accounts.observeUser(user(2, 10));
  expect(balances.account(2, 0).paidIn()).toBe(0);
});

test('on one of several machines, what is owed follows the ledger, in whichever order statements and movements arrive', () => {
  const accountState = (version: number, overrun: number, paidIn = 0) => ({ version, overrun, paidIn });
  const begin = () => {
    const money = createMoney(createMemory(1), undefined, {
      epoch: () => 1,
      isValid: () => true,
      remainingMs: () => 1,
    });
    const balances = new Balances(money);
    const { accounts } = money;
    accounts.observeUser({ ...user(1, 100, 5), overrun: 7 });
    const leased = createLeasedBalances(money);
    return {
      account: balances.account(1, 0),
      moved: (version: number, overrun: number) =>
        accounts.credit({ kind: 'balance', userId: 1, delta: overrun, version, overrun }),
      granted: (amount: number, ...stated: Parameters<typeof accountState>) =>
        leased.addLease({ kind: 'account', userId: 1, id: 1 }, amount, accountState(...stated)),
      row: (version: number, overrun: number, paidIn: number) =>
        accounts.observeUser({ ...user(1, 100, version), overrun, paidIn }),
    };
  };
  // Two machines made the user owe 10 and 20; a third top-up paid all of it back.
  const steps = {
    before: ({ granted }: ReturnType<typeof begin>) => granted(1, 5, 7),
    own: ({ moved }: ReturnType<typeof begin>) => moved(7, 20),
    between: ({ granted }: ReturnType<typeof begin>) => granted(1, 6, 17),
    after: ({ granted }: ReturnType<typeof begin>) => granted(1, 7, 37),
  };
  const orders = fc.shuffledSubarray(Object.values(steps), { minLength: 4 });
  fc.assert(
    fc.property(orders, (order) => {
      const node = begin();
      for (const step of order) step(node);
      expect(node.account.overrun()).toBe(37);
      expect(node.account.available()).toBe(3);
      node.granted(0, 9, 0, 50);
      expect([node.account.overrun(), node.account.paidIn()]).toEqual([0, 50]);
      // The row says it as well; an older one does not.
      node.row(11, 4, 60);
      node.row(10, 90, 70);
      expect([node.account.overrun(), node.account.paidIn()]).toEqual([4, 60]);
      expect(node.account.allowance({ most: 1000, nodes: 2 })).toBe(0);
      node.granted(5, 12, 0, 70);
      expect(node.account.allowance({ most: 1000, nodes: 2 })).toBe(35);
    }),
  );
});

test('after a start a key has used of its day and its month what its row says, until they are over', () => {
  const midday = Date.UTC(2026, 10, 29, 12);
  let now = midday;
  const balances = new Balances(undefined, () => now);
  const { accounts } = balances.money;
  accounts.observeUser({ ...user(1, 1000), used: 40 });
  const [day, month] = [Date.UTC(2026, 10, 29), Date.UTC(2026, 10, 1)].map((at) => at / 1000);
  const periods = { day: { at: day ?? 0, used: 30 }, month: { at: month ?? 0, used: 50 } };
  const limits = { rpm: 0, tpm: 0, concurrency: 0, dayBudget: 100, monthBudget: 110 };
  accounts.observeToken({ ...token(7, 400, 20), limits, periods });
  const account = balances.account(1, 7);
  const left = () => [
    account.availableBudget({ ...limits, monthBudget: 0 }),
    account.availableBudget({ ...limits, dayBudget: 0 }),
    account.available(),
  ];
  expect(left()).toEqual([70, 60, 380]);
  now = midday + 86_400_000;
  account.reserve(1, { limits });
  expect(left()).toEqual([100, 60, 379]);
  now = Date.UTC(2026, 11, 2, 12);
  account.reserve(1, { limits });
  expect(left()).toEqual([100, 110, 378]);
});

test('text in the memory that threads share is read as it was written, each where it stands', () => {
  const memory = createMemory();
  const [one, other] = [memory.allocate(8), memory.allocate(8)];
  expect([memory.write(one, 'gpt-4o', 20), memory.write(other, 'claude', 3)]).toEqual([6, 3]);
  expect([memory.read(one, 6), memory.read(other, 3)]).toEqual(['gpt-4o', 'cla']);
});

test.each(['balance', 'key'] as const)(
  'who leaves the line for the %s keeps the places of those behind, and who comes then is behind them',
  (line) => {
    const balances = new Balances();
    balances.money.accounts.observeUser(user(1, 100));
    balances.money.accounts.observeToken(token(7, 400));
    const account = balances.account(1, 7);
    const [first, second] = [account.join(line) ?? 0, account.join(line) ?? 0];
    account.leave(line, first);
    const third = account.join(line) ?? 0;
    expect([second, third]).toEqual([first + 1, first + 2]);
    expect([account.isFirst(line, second), account.isFirst(line, third)]).toEqual([true, false]);
  },
);
