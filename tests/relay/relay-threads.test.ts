/** Money in memory that several threads share: exact when they contend, and whole when one of them dies. */
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import type { ReserveResult } from '../../server/billing/balances/account.ts';
import { Balances, createMoney, type Money } from '../../server/billing/balances/money.ts';
import {
  allocateRows,
  type OpenRequest,
  openRequestAt,
  Row,
  RowState,
  rowsIn,
} from '../../server/billing/balances/open-requests.ts';
import { ringCells } from '../../server/billing/balances/rate-windows.ts';
import {
  attachMemory,
  createMemory,
  groupStripe,
  type Memory,
  maxThreads,
  userStripe,
} from '../../server/billing/balances/shared-memory.ts';
import { createAccounts, KeySlot, RateSlot, UserSlot } from '../../server/billing/balances/slot.ts';
import { createLeasedBalances } from '../../server/billing/leases/leased-balance.ts';
import type { Ledger, LedgerCommand, LedgerResult } from '../../server/billing/ledger/commands.ts';
import { chargeOf, recompute } from '../../server/contract/pricing/charge.ts';
import { chargedOf, oneUnit } from '../../server/contract/pricing/share.ts';
import { resolvePrices } from '../../server/contract/pricing/tables.ts';
import { emptyUsage } from '../../server/protocols/shared/usage.ts';
import { type Admission, Limits } from '../../server/relay/admission/limits.ts';
import type { Principal } from '../../server/relay/intake/parsed-request.ts';
import { compileSettings, type RelaySettings } from '../../server/relay/state/settings.ts';
import { createRelayState } from '../../server/relay/state/state.ts';
import { endLost } from '../../server/threads/relay/lost-thread.ts';
import { often } from '../support/often.ts';
import { randomOf } from '../support/random.ts';
import { paired, watchedCells } from '../support/relay-memory.ts';
import type { Order } from './threads-worker.ts';

const never = { at: 0, used: 0 };
const noLimits = { rpm: 0, tpm: 0, concurrency: 0, dayBudget: 0, monthBudget: 0 };
const user = (balance: number, id = 1) => ({
  id,
  username: 'u',
  role: 1,
  status: 1,
  group: 'default',
  balance,
  used: 0,
  balanceVersion: 0,
  overrun: 0,
  setting: {},
});
const token = (quotaLimit: number, limits: Partial<typeof noLimits> | null = null, id = 7, userId = 1) => ({
  id,
  userId,
  name: 't',
  keyHmac: '',
  status: 1,
  expiresAt: -1,
  unlimited: false,
  quotaLimit,
  used: 0,
  modelLimits: null,
  oldKey: null,
  allowIps: [],
  group: '',
  limits: limits === null ? null : { ...noLimits, ...limits },
  periods: { day: never, month: never },
});

interface Site {
  readonly money: Money;
  readonly balances: Balances;
  readonly principal: Principal;
  readonly options: Record<string, string>;
}

function siteOf(balance: number, key: ReturnType<typeof token>, options: Record<string, string> = {}): Site {
  const money = createMoney(createMemory(maxThreads));
  const balances = new Balances(money);
  balances.money.accounts.observeUser(user(balance));
  balances.money.accounts.observeToken(key);
  money.accounts.prepare(compileSettings(new Map(Object.entries(options)), 0));
  return {
    money,
    balances,
    options,
    principal: { user: user(balance), token: key, keyHmac: '', group: 'default', pinnedChannel: null },
  };
}

const threadsAtOnce = 4;

const startThreads = (): readonly Worker[] =>
  Array.from({ length: threadsAtOnce }, () => new Worker(new URL('./threads-worker.ts', import.meta.url)));

/** Starting four takes longer than what most tests ask of them. */
let standing: readonly Worker[] | null = null;
afterAll(() => {
  for (const worker of standing ?? []) worker.terminate();
});

/** Has four threads begin at the same moment. */
function spawn(site: Site, what: Order['what'], times: number, { seed = 1, workers = startThreads() } = {}) {
  const gate = new SharedArrayBuffer(4);
  const { memory, accounts } = site.money;
  return workers.map((worker, index) => {
    const rows = [allocateRows(memory), allocateRows(memory)];
    const received = Promise.withResolvers<unknown>();
    const gone = Promise.withResolvers<void>();
    worker.onmessage = ({ data }) => received.resolve(data);
    worker.addEventListener('close', () => gone.resolve());
    const { principal, options } = site;
    const start = () =>
      worker.postMessage({
        thread: index + 1,
        memory: memory.parts(),
        places: accounts.slotIndexes([1], [7]),
        rows,
        what,
        principal,
        options,
        times,
        seed: seed + index,
        gate,
        threads: threadsAtOnce,
      } satisfies Order);
    return { worker, rows, received: received.promise, gone: gone.promise, start };
  });
}

async function together(site: Site, what: Order['what'], times: number): Promise<number> {
  standing ??= startThreads();
  const threads = spawn(site, what, times, { workers: standing });
  for (const { start } of threads) start();
  const admitted = (await Promise.all(threads.map(({ received }) => received))) as number[];
  return admitted.reduce((sum, one) => sum + one, 0);
}

describe('four threads at once', () => {
  test('a balance for ten admits ten of 40,000', async () => {
    const site = siteOf(1005, token(1e9));
    expect(await together(site, 'holds', 10_000)).toBe(10);
    expect(site.balances.account(1, 0).available()).toBe(5);
  });

  test('fractions that several threads charge at once add up, and none is lost', async () => {
    const site = siteOf(1e9, token(1e9));
    const times = 10_000;
    await together(site, 'fractions', times);
    const { memory, accounts } = site.money;
    const parts = threadsAtOnce * times * 49;
    const slot = accounts.user(1);
    expect([memory.get(slot + UserSlot.used), memory.get(slot + UserSlot.rest)]).toEqual([
      Math.floor(parts / 100),
      ((parts % 100) * oneUnit) / 100,
    ]);
  });

  test('a key’s limit for 5,000 admits 5,000', async () => {
    const site = siteOf(1e9, token(500_050));
    expect(await together(site, 'holds', 10_000)).toBe(5000);
    expect(site.balances.account(1, 7).available()).toBe(50);
  });

  test.each([
    ['requests at the same time', { concurrency: 33 }, {}, 33],
    ['requests per minute of the key', { rpm: 777 }, {}, 777],
    ['requests per minute of the group', null, { GroupLimits: '{"default":{"rpm":555}}' }, 555],
    [
      'requests of the user',
      null,
      {
        ModelRequestRateLimitEnabled: 'true',
        ModelRequestRateLimitCount: '99',
        ModelRequestRateLimitSuccessCount: '0',
      },
      99,
    ],
  ])('%s are counted together', async (_name, limits, options, expected) => {
    expect(await together(siteOf(1e9, token(1e9, limits), options as Record<string, string>), 'limits', 2000)).toBe(
      expected,
    );
  });
});

/** Cells of all rows, added up. */
function heldBy(memory: Memory, regions: readonly number[]) {
  const sum = { held: 0, maxCost: 0, tokenRuns: 0, groupRuns: 0, budgetHeld: 0 };
  for (const first of regions)
    for (const row of rowsIn(first)) {
      if (memory.get(row + Row.state) !== RowState.open) continue;
      const get = (name: keyof typeof sum) => memory.get(row + Row[name]);
      for (const name of Object.keys(sum) as (keyof typeof sum)[])
        sum[name] += name === 'groupRuns' ? Math.sign(get(name)) : get(name);
    }
  return sum;
}

/** The totals agree with the tables, and the sums with each other. */
function expectWhole({ money, principal }: Site, regions: readonly number[]): void {
  const { memory, accounts } = money;
  const userSlot = accounts.user(1);
  const cap = accounts.token(7);
  const rows = heldBy(memory, regions);
  const get = (cell: number) => memory.get(cell);
  expect({
    held: get(userSlot + UserSlot.held),
    maxCost: get(userSlot + UserSlot.maxCost),
    tokenHeld: get(cap + KeySlot.held),
    tokenMaxCost: get(cap + KeySlot.maxCost),
    tokenRuns: get(cap + KeySlot.running),
    groupRuns: get(accounts.group('default') + RateSlot.running),
    budgetHeld: get(cap + KeySlot.budgetHeld),
  }).toEqual({
    held: rows.held,
    maxCost: rows.maxCost,
    tokenHeld: rows.held,
    tokenMaxCost: rows.maxCost,
    tokenRuns: rows.tokenRuns,
    groupRuns: rows.groupRuns,
    budgetHeld: rows.budgetHeld,
  });
  const used = get(userSlot + UserSlot.used);
  expect(get(userSlot + UserSlot.balance) + used).toBe(principal.user.balance);
  expect([get(cap + KeySlot.used), get(cap + KeySlot.dayUsed), get(cap + KeySlot.monthUsed)]).toEqual([
    used,
    used,
    used,
  ]);
}

const busy = () =>
  siteOf(1e12, token(1e12, { rpm: 1e9, tpm: 1e9, concurrency: 1e6, dayBudget: 1e12 }), {
    GroupLimits: '{"default":{"rpm":1000000000,"concurrency":1000000}}',
  });

describe('a thread that dies', () => {
  test('killed in the middle of whatever it does, four at a time: the totals are those of the rows', async () => {
    const random = randomOf(99);
    for (let round = 0; round < often(2, 20); round++) {
      const site = busy();
      const threads = spawn(site, 'forever', 0, { seed: round * 10 });
      for (const { start } of threads) start();
      await Promise.all(threads.map(({ received }) => received));
      // The others contend with what is left of those that are gone until these are buried.
      for (const [index, { worker, gone }] of threads.entries()) {
        await Bun.sleep(random() * 30);
        worker.terminate();
        await gone;
        site.money.memory.recoverThread(index + 1);
      }
      expectWhole(
        site,
        threads.flatMap(({ rows }) => rows),
      );
    }
  });

  test('the locks of a dead thread are freed, and no others', () => {
    const memory = createMemory(maxThreads);
    const [dead, living] = [1, 2].map((thread) => attachMemory(memory.parts(), thread)) as [Memory, Memory];
    for (const stripe of [3, 4]) dead.lock(stripe);
    living.lock(5);
    expect([3, 4, 5].map((stripe) => memory.tryLock(stripe, 0))).toEqual([false, false, false]);
    memory.recoverThread(1);
    expect([3, 4, 5].map((stripe) => memory.tryLock(stripe, 0))).toEqual([true, true, false]);
  });

  test('at each store, over thousands of lives: all it had open is ended, nothing is lost and nothing is charged twice', async () => {
    const lives = often(1500, 20_000);
    const site = busy();
    const { memory, accounts } = site.money;
    const random = randomOf(5);
    const state = createRelayState(
      { ...accounts, observeUser: () => undefined, observeToken: () => undefined },
      () => 0,
    );
    state.apply({
      kind: 'snapshot',
      seq: 1,
      users: [site.principal.user],
      tokens: [token(1e12)],
      channels: [],
      options: site.options,
    });
    /** By what each request was charged first; a repetition must say the same. */
    const charged = new Map<string, number>();
    const execute = (command: LedgerCommand): Promise<LedgerResult> => {
      const amount = command.type === 'settle' ? command.amount : 0;
      expect(charged.get(command.ref) ?? amount).toBe(amount);
      charged.set(command.ref, amount);
      return Promise.resolve({ status: 'done' });
    };
    const ledger: Ledger = { execute, healthy: () => ({ ok: true }) };
    const settings = state.settings;
    const rows = [allocateRows(memory)];
    const expected = { settled: 0, voided: 0 };
    /** Of a unit, by the steps that were whole. */
    let fraction = 0;
    for (let life = 0; life < lives; life++) {
      let left = Math.floor(random() * 220);
      const step = () => {
        if (left-- <= 0) throw new Error('dead');
      };
      const { money } = paired(site.money, 1, rows, (plain) => ({
        ...plain,
        put(cell, value) {
          step();
          plain.put(cell, value);
        },
        add(cell, amount) {
          step();
          plain.add(cell, amount);
        },
        cells: (first, count) => watchedCells(plain.cells(first, count), step),
        note(first, count) {
          step();
          plain.note(first, count);
        },
        release: (stripe) => void (left >= 0 && plain.release(stripe)),
      }));
      try {
        live(
          site,
          money,
          settings,
          random,
          (ref, amount) => {
            step();
            void execute({ type: 'settle', ref: `${life} ${ref}`, amount } as LedgerCommand);
          },
          `${life} `,
          (rest) => {
            fraction = (fraction + rest) % oneUnit;
          },
        );
      } catch (error) {
        expect(String(error)).toContain('dead');
      }
      const { settled, voided, written } = await endLost(
        { balances: site.balances, state, ledger, now: () => 1e12, pause: Bun.sleep },
        1,
        rows,
      );
      await written;
      expected.settled += settled;
      expected.voided += voided;
      if (life % 100 === 0) expectWhole(site, rows);
    }
    expectWhole(site, rows);
    expect(heldBy(memory, rows)).toEqual({ held: 0, maxCost: 0, tokenRuns: 0, groupRuns: 0, budgetHeld: 0 });
    expect(memory.get(accounts.user(1) + UserSlot.held)).toBe(0);
    const sum = [...charged.values()].reduce((total, one) => total + one, 0);
    expect(memory.get(accounts.user(1) + UserSlot.used)).toBe(sum);
    expect(memory.get(accounts.user(1) + UserSlot.rest)).toBe(fraction);
    expect(Math.min(expected.settled, expected.voided)).toBeGreaterThan(lives / 20);
  });
});

test('what a thread charged and could not send any more is sent with what it carried, and what it left open carries nothing', async () => {
  const site = siteOf(1e9, token(1e9), { ModelRatio: '{"small":0.01}' });
  const { accounts, memory } = site.money;
  const state = createRelayState({ ...accounts, observeUser: () => undefined, observeToken: () => undefined }, () => 0);
  const { user: owner } = site.principal;
  const news = { users: [owner], tokens: [token(1e9)], channels: [], options: site.options };
  state.apply({ kind: 'snapshot', seq: 1, ...news });
  const rows = [allocateRows(memory)];
  const { money } = paired(site.money, 1, rows);
  const account = new Balances(money).account(1, 7);
  const prices = resolvePrices(state.settings.priceTables, 'small', { group: 'default', userGroup: 'default' });
  if (prices === null) throw new Error('no prices');
  const usage = { ...emptyUsage, input: 149 };
  for (const ref of ['a', 'b', 'c', 'open']) {
    const row = money.open.begin(account, {
      ...{ ref, model: 'small', group: 'default', startedMs: 0, streams: false, promptTokens: 1, selfUse: false },
      epoch: 0,
    });
    if (row === null) throw new Error('no rows');
    row.used(usage);
    const { whole, rest } = chargeOf(usage, prices);
    if (ref !== 'open') account.settle({ reserved: 0, charged: whole, rest, open: row });
  }
  const sent: LedgerCommand[] = [];
  const execute = (command: LedgerCommand): Promise<LedgerResult> => {
    sent.push(command);
    return Promise.resolve({ status: 'done' });
  };
  const ledger: Ledger = { execute, healthy: () => ({ ok: true }) };
  const deps = { balances: site.balances, state, ledger, now: () => 1e12, pause: Bun.sleep };
  await (await endLost(deps, 1, rows)).written;
  const found = sent.map((command) => {
    if (command.type !== 'settle' || command.log === null) throw new Error(command.type);
    const fields = JSON.parse(command.log.other) as Record<string, unknown>;
    expect(recompute(fields)?.quota).toBe(command.amount);
    return [command.ref, command.amount, fields.carried];
  });
  expect(found.toSorted()).toEqual([
    ['a', 1, 0],
    ['b', 1, 0.49],
    ['c', 2, 0.98],
    ['open', 1, undefined],
  ]);
  expect(memory.get(accounts.user(1) + UserSlot.rest)).toBe(0.47 * oneUnit);
  expect(memory.get(accounts.user(1) + UserSlot.used)).toBe(5);
});

test('exactness 9: what others write too is written under its lock, the user’s before the group’s', async () => {
  const site = busy();
  const { accounts } = site.money;
  const userSlot = accounts.user(1);
  const group = accounts.group('default');
  const rings = site.money.memory.get(group + RateSlot.rates);
  const ofGroup = (cell: number) =>
    (cell >= group && cell < group + 16) || (cell >= rings && cell < rings + 2 * ringCells);
  const written = { user: 0, group: 0 };
  const watched = (plain: Memory): Memory => {
    const held: number[] = [];
    let noted: (readonly [first: number, count: number])[] = [];
    const stored = (cell: number) => {
      written[ofGroup(cell) ? 'group' : 'user']++;
      expect(held).toContain(ofGroup(cell) ? groupStripe(group) : userStripe(userSlot));
    };
    const taken = (stripe: number) => {
      if (stripe === userStripe(userSlot)) expect(held).not.toContain(groupStripe(group));
      held.push(stripe);
    };
    return {
      ...plain,
      lock(stripe) {
        plain.lock(stripe);
        taken(stripe);
      },
      tryLock(stripe, ms) {
        const got = plain.tryLock(stripe, ms);
        if (got) taken(stripe);
        return got;
      },
      release(stripe) {
        held.splice(held.lastIndexOf(stripe), 1);
        if (held.length === 0) noted = [];
        plain.release(stripe);
      },
      put(cell, value) {
        stored(cell);
        plain.put(cell, value);
      },
      add(cell, amount) {
        stored(cell);
        plain.add(cell, amount);
      },
      cells: (first, count) =>
        watchedCells(plain.cells(first, count), (at) => {
          if (first !== userSlot && first !== accounts.token(7)) return;
          const cell = first + at;
          stored(cell);
          expect(noted.some(([from, many]) => cell >= from && cell < from + many)).toBe(true);
        }),
      note(first, count) {
        noted.push([first, count]);
        plain.note(first, count);
      },
    };
  };
  const rows = [allocateRows(site.money.memory)];
  const settings = compileSettings(new Map(Object.entries(site.options)), 0);
  const { money } = paired(site.money, 1, rows, watched);
  for (const seed of [1, 2, 3]) live(site, money, settings, randomOf(seed), () => undefined, `${seed} `);
  const leased = createLeasedBalances(money);
  leased.addLease({ kind: 'account', userId: 1, id: 1 }, 10);
  leased.reclaim({ kind: 'token', userId: 1, id: 7 }, 10);
  expect(written.user).toBeGreaterThan(100);
  expect(written.group).toBeGreaterThan(20);
});

/** Three requests of one thread, from their hold to their settlement. */
function live(
  site: Site,
  money: Money,
  settings: RelaySettings,
  random: () => number,
  send: (ref: string, amount: number) => void,
  mark: string,
  settled: (rest: number) => void = () => undefined,
): void {
  const balances = new Balances(money);
  const limits = new Limits({ state: { settings }, monoNow: () => 1e9, money });
  const account = balances.account(1, 7);
  const open: { readonly row: OpenRequest; readonly ref: string; readonly admission: Admission; held: number }[] = [];
  for (const ref of ['a', 'b', 'c']) {
    const row = money.open.begin(account, {
      ref: `${mark}${ref}`,
      model: 'gpt-4o-mini',
      group: 'default',
      startedMs: 0,
      streams: true,
      promptTokens: 4000,
      selfUse: false,
      epoch: 0,
    });
    if (row === null) throw new Error('no rows');
    const admission = limits.enter(site.principal, { open: row });
    admission.reserve({ tokens: 5 });
    account.reserve(1000, { max: 5000, budget: 5000, limits: site.principal.token?.limits ?? null, open: row });
    open.push({ row, ref, admission, held: 1000 });
    if (random() < 0.5) {
      row.servedBy(3, 1);
      row.delivered(1 + Math.floor(random() * 100));
    }
  }
  for (const one of open) {
    if (random() < 0.5 && account.reserve(500, { max: 0, open: one.row }).ok) one.held += 500;
    const charged = 1 + Math.floor(random() * 1000);
    const rest = Math.floor(random() * oneUnit);
    const carried = account.locked(() => {
      one.admission.ended(5, true);
      return account.settle({ reserved: one.held, max: 5000, budget: 5000, charged, rest, open: one.row });
    });
    settled(rest);
    send(one.ref, chargedOf(charged, rest, carried));
    if (random() < 0.7) money.open.over(one.row);
  }
}

type Step = { readonly kind: 'hold' | 'settle'; readonly by: number; readonly amount: number; readonly part: number };

test('what several threads say in turns is what one says', () => {
  const step: fc.Arbitrary<Step> = fc.record({
    kind: fc.constantFrom('hold', 'settle'),
    by: fc.integer({ min: 0, max: 3 }),
    amount: fc.integer({ min: 0, max: 400 }),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  const alone = siteOf(1, token(1));
  const main = alone.money;
  const rows = Array.from({ length: 4 }, () => [allocateRows(main.memory)]);
  let id = 100;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      id++;
      const model = new Balances();
      for (const balances of [model, alone.balances]) {
        balances.money.accounts.observeUser(user(1000, id));
        balances.money.accounts.observeToken(token(700, null, id, id));
      }
      const several = rows.map((own, index) => new Balances(paired(main, index + 1, own).money));
      const open: number[] = [];
      for (const { kind, by, amount, part } of steps) {
        const one = several[by] as Balances;
        if (kind === 'hold') {
          const expected: ReserveResult = model.account(id, id).reserve(amount);
          expect(one.account(id, id).reserve(amount)).toEqual(expected);
          if (expected.ok) open.push(amount);
        } else if (open.length > 0) {
          const held = open.splice(Math.floor(part * (open.length - 1)), 1)[0] ?? 0;
          const spent = { reserved: held, charged: Math.floor(held * part) };
          model.account(id, id).settle(spent);
          one.account(id, id).settle(spent);
        }
        for (const each of several) expect(each.account(id, id).available()).toBe(model.account(id, id).available());
      }
    }),
    { numRuns: 300 },
  );
});

test('a text that is too long ends where its cells end', () => {
  const memory = createMemory();
  const cell = memory.allocate(2);
  memory.set(cell + 1, 7);
  expect(memory.write(cell, 'abcdef', 4)).toBe(4);
  expect([memory.read(cell, 4), memory.get(cell + 1)]).toEqual(['abcd', 7]);
});

test('a thread knows the slots it was assigned, and no others', () => {
  const { accounts } = createMoney(createMemory());
  const groups = [['default', 64] as const];
  accounts.bind({ users: [1, 16, 2, 32], tokens: [7, 48, 8, 80], groups });
  expect([[...accounts.users], [...accounts.tokens]]).toEqual([
    [
      [1, 16],
      [2, 32],
    ],
    [
      [7, 48],
      [8, 80],
    ],
  ]);
  expect(accounts.group('default')).toBe(64);
});

test('visits are counted of users who come when they are counted already, in other threads too', () => {
  const memory = createMemory(1);
  const accounts = createAccounts(memory);
  accounts.prepare({ groupLimits: new Map(), modelRequests: { periodMs: 60_000, total: 1, success: 1 } });
  accounts.observeUser(user(100));
  const other = createAccounts(attachMemory(memory.parts(), 1));
  other.bind(accounts.slotIndexes([1], []));
  expect([other.countedUser(1), other.countedUser(2)]).toEqual([accounts.user(1), 0]);
  expect(accounts.user(1)).toBeGreaterThan(0);
});

test('a running request’s row has all that is known of it', () => {
  const { memory, open } = createMoney(createMemory());
  const row = openRequestAt(memory, [...rowsIn(allocateRows(memory))][0] ?? 0);
  row.servedBy(5, 2);
  row.delivered(2);
  row.servedBy(6, 0.5);
  row.delivered(5);
  const cells = [Row.channelId, Row.channelFactor, Row.delivered].map((cell) => memory.get(row.row + cell));
  expect(cells).toEqual([6, 0.5, 5]);
  expect(open.free()).toBe(0);
});
