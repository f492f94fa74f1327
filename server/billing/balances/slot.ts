/**
 * Where in the shared memory each user, token and group has its cells. The main thread assigns the slots as it passes changes
 * on, and names them to the relay threads. A slot is never reused: 128 bytes of a user or key that is gone
 * are cheaper than finding out when the last thread has forgotten it.
 */

import { type BudgetSnapshot, budgetUnits, countedWindows } from '../../contract/budgets.ts';
import { NumberMap } from '../../contract/number-map.ts';
import type { TokenMoney, UserSnapshot } from '../../contract/snapshot.ts';
import { systemTimers, type Timers } from '../../contract/timers.ts';

import type { BalanceEvent, BudgetEvent, EndUserEvent, MoneyEvent } from '../ledger/commands.ts';
import type { AccountState } from '../ports.ts';
import { addUse, HolderSlot, holderCellsOf, holderKey, leasedCell, usedCell } from './budgets.ts';
import { blockCells, blockKey, blockSlots, blocks, EndUserTable } from './end-users.ts';
import { ringCells } from './rate-windows.ts';
import { holderStripe, type Memory, userStripe } from './shared-memory.ts';

/** Cells of a user's slot. The first four, `rest` and the line are changed under the user's lock alone. */
export const UserSlot = {
  balance: 0,
  used: 1,
  held: 2,
  maxCost: 3,
  overrun: 4,
  gone: 5,
  visits: 6,
  visitsSpan: 7,
  /** What the charges so far left of a unit, in parts of `oneUnit`. It is lost with the process. */
  rest: 8,
  /** Requests that wait for the balance. */
  lineFirst: 9,
  lineWaits: 10,
  /** All top-ups that this machine has learned of, without what was given back of them. */
  paidIn: 12,
  /** `accounts.version` for which `overrun` was stated, and that of the last movement of this machine that it has learned of. */
  statedAt: 13,
  movedAt: 14,
  /** The same for which `paidIn` was stated. */
  paidInAt: 15,
} as const;
/** Cells of a key's slot. Those from `used` to `budgetHeld`, and the line, are changed under its user's lock alone. */
export const KeySlot = {
  limit: 0,
  unlimited: 1,
  gone: 2,
  used: 3,
  held: 4,
  maxCost: 5,
  dayStart: 6,
  dayUsed: 7,
  monthStart: 8,
  monthUsed: 9,
  budgetHeld: 10,
  running: 11,
  rates: 12,
  cappedMs: 13,
  /** Requests that wait for what the key may use, where the balance would do. */
  lineFirst: 14,
  lineWaits: 15,
} as const;
/** Cells of a group's slot, with the same meaning and order as a key's. */
export const RateSlot = {
  running: 11,
  rates: 12,
  /** When a request took what was left of the tokens per minute. */ cappedMs: 13,
} as const;
export const slotCells = 16;
const timeoutMs = 20;

/** Flat pairs of id and place. */
export interface SlotIndexes {
  readonly users: readonly number[];
  readonly tokens: readonly number[];
  readonly groups: readonly (readonly [name: string, place: number])[];
  /** Slots of holders of budgets, by `holderKey`; absent = nobody has a budget. */
  readonly holders?: readonly (readonly [key: string, place: number])[];
}

/** A budget with the slot of its holder. */
export interface BudgetPlace {
  readonly id: number;
  readonly slot: number;
  readonly window: number;
  readonly unit: number;
}

/** What the settings count, as far as slots are concerned. */
export interface CountedLimits {
  readonly groupLimits: ReadonlyMap<string, unknown>;
  /** null = requests of users are not counted. */
  readonly modelRequests: object | null;
}

export interface Accounts {
  /** 0 = unknown. */
  user(id: number): number;
  token(id: number): number;
  /** Assigns a slot at first sight, where this thread assigns them. */
  seenToken(token: TokenMoney): number;
  group(name: string): number;
  /** The place of a user whose visits are counted: it has two rings. 0 = they are not. */
  countedUser(id: number): number;
  /** Two rings. @param flow the place of a token or group. */
  ratesOf(flow: number): number;
  /** First sight of a user sets the balance; later rows leave it alone, since balances move only through the ledger. */
  observeUser(user: UserSnapshot): void;
  /** First sight of a token sets what it has used; its limit follows every row. */
  observeToken(token: TokenMoney): void;
  /** All there are. What the first ones have used is as their rows say; a later one begins with nothing, and is told what it had by events. */
  observeBudgets(budgets: readonly BudgetSnapshot[]): void;
  /** The place of a key, user, group or site that has budgets, by `holderKey`; 0 = unknown. */
  holder(key: string): number;
  /** Where budgets have their cells, for the thread that leases of them. */
  budgetIndexes(ids: Iterable<number>): readonly BudgetPlace[];
  evictUser(id: number): void;
  evictToken(id: number): void;
  /** Makes room for what these settings count. */
  prepare(settings: CountedLimits): void;
  /** A balance, or the use of a budget, moved for another reason than a settlement of ours. */
  credit(event: MoneyEvent): void;
  slotIndexes(users: Iterable<number>, tokens: Iterable<number>): SlotIndexes;
  /** Takes over slots that the main thread has assigned. */
  bind(slotIndexes: SlotIndexes): void;
  /** By id. */
  readonly users: Pick<NumberMap, 'keys' | 'values' | typeof Symbol.iterator>;
  readonly tokens: Pick<NumberMap, 'keys' | typeof Symbol.iterator>;
}

/** Nothing bounds what the key may use but its owner's balance. */
export const isUnbounded = ({ unlimited, limits }: Pick<TokenMoney, 'unlimited' | 'limits'>): boolean =>
  unlimited && (limits === null || (limits.dayBudget === 0 && limits.monthBudget === 0));

const accountStateOf = ({ balanceVersion: version, overrun, paidIn = 0 }: UserSnapshot): AccountState => ({
  version,
  overrun,
  paidIn,
});

/** Movements included in a user's balance: those up to `version`, and these that arrived early. */
interface Seen {
  version: number;
  /** null = there were none yet: of many users, few have any. */
  early: Set<number> | null;
}

/**
 * Under the user's lock. Statements and movements come from different threads, in any order: a statement from before a movement
 * that is known here is old, and a movement that a statement includes does not count again.
 */
export function takeAccountState(memory: Memory, slot: number, { version, overrun, paidIn }: AccountState): void {
  takePaidIn(memory, slot, version, paidIn);
  if (version < Math.max(memory.get(slot + UserSlot.statedAt), memory.get(slot + UserSlot.movedAt))) return;
  memory.put(slot + UserSlot.overrun, overrun);
  memory.put(slot + UserSlot.statedAt, version);
}

/** Under the user's lock. Rows and events say all of it, so that none counts twice; the newest holds. */
function takePaidIn(memory: Memory, slot: number, version: number, paidIn: number): void {
  if (version < memory.get(slot + UserSlot.paidInAt)) return;
  memory.put(slot + UserSlot.paidIn, paidIn);
  memory.put(slot + UserSlot.paidInAt, version);
}

/**
 * @param leased several machines serve one site: what is available of a balance or a key's limit here is what was leased
 * (`leased-balance.ts`), at first nothing, and no row and no movement changes it.
 */
export function createAccounts(memory: Memory, leased = false, timers: Pick<Timers, 'set'> = systemTimers): Accounts {
  const users = new NumberMap();
  const tokens = new NumberMap();
  const groups = new Map<string, number>();
  /** Unknown users whose requests are counted all the same. */
  const anonymous = new Map<number, number>();
  const seen = new Map<number, Seen>();
  // Rows and balance events come from different threads; an event may arrive before the row of its user.
  const early = new Map<number, BalanceEvent[]>();
  const holders = new Map<string, number>();
  /** By id: the cells of each budget's window. */
  const budgets = new Map<number, Omit<BudgetPlace, 'id'>>();
  const earlyUse = new Map<number, BudgetEvent[]>();
  /** By key: windows that its end users' money is counted in. */
  const moneyWindows = new Map<number, readonly number[]>();
  let knowsBudgets = false;
  const owns = memory.thread === 0;
  let countsRequests = false;

  const twoRings = (cell: number): number => {
    const known = memory.get(cell);
    if (known !== 0 || !owns) return known;
    const rings = memory.allocate(2 * ringCells);
    memory.set(cell, rings);
    return rings;
  };
  const requestsOf = (user: number) => twoRings(user + UserSlot.visits);
  const ratesOf = (flow: number) => twoRings(flow + RateSlot.rates);

  /** Events come from several threads and need not come in the order of their versions; each counts once. */
  const apply = (slot: number, event: BalanceEvent): void => {
    const known = seen.get(event.userId);
    const { version } = event;
    if (known === undefined || version <= known.version || known.early?.has(version) === true) return;
    if (version === known.version + 1) known.version = version;
    else if (known.early === null) known.early = new Set([version]);
    else known.early.add(version);
    while (known.early?.delete(known.version + 1) === true) known.version++;
    const { add } = memory;
    if (!leased) add(slot + UserSlot.balance, event.delta);
    if (version > memory.get(slot + UserSlot.statedAt)) add(slot + UserSlot.overrun, event.overrun ?? 0);
    if (version > memory.get(slot + UserSlot.movedAt)) memory.put(slot + UserSlot.movedAt, version);
    if (event.paidIn !== undefined) takePaidIn(memory, slot, version, event.paidIn);
    if (event.token === undefined) return;
    const key = tokens.get(event.token.id);
    if (key !== undefined && !leased) add(key + KeySlot.used, event.token.used);
    add(slot + UserSlot.used, event.token.used);
  };

  const count = (event: BudgetEvent): void => {
    const budget = budgets.get(event.budgetId);
    if (budget === undefined) {
      earlyUse.set(event.budgetId, [...(earlyUse.get(event.budgetId) ?? []), event]);
      return;
    }
    const stripe = holderStripe(budget.slot);
    if (!memory.tryLock(stripe, timeoutMs)) return void timers.set(() => count(event), timeoutMs);
    addUse(memory, budget.slot, budget, event.windowAt, event.delta);
    memory.release(stripe);
  };

  /** A window that has ended since is left alone. */
  const countEndUser = (event: EndUserEvent): void => {
    const windows = moneyWindows.get(event.tokenId);
    if (windows === undefined) return;
    const table = new EndUserTable(
      memory,
      blockSlots((key) => holders.get(key) ?? 0),
    );
    const slot = table.known(event.tokenId, event.name);
    if (slot === 0) return;
    const stripe = holderStripe(slot);
    if (!memory.tryLock(stripe, timeoutMs)) return void timers.set(() => countEndUser(event), timeoutMs);
    // Another user may have taken the slot meanwhile.
    for (const window of table.known(event.tokenId, event.name) === slot ? windows : []) {
      const began = memory.get(slot + HolderSlot.starts + window);
      if (event.at >= began) addUse(memory, slot, { window, unit: 0 }, began, event.delta);
    }
    memory.release(stripe);
  };

  const observeBudgets = (all: readonly BudgetSnapshot[]): void => {
    if (!owns) return;
    moneyWindows.clear();
    for (const { id, holder, subject, window, unit, use } of all) {
      if (holder === 'end_user') {
        for (let at = 0; at < blocks; at++)
          if (!holders.has(blockKey(at))) holders.set(blockKey(at), memory.allocate(blockCells));
        if (unit !== 'money' || window === 'request') continue;
        const known = moneyWindows.get(Number(subject)) ?? [];
        moneyWindows.set(Number(subject), [...known, countedWindows.indexOf(window)]);
        continue;
      }
      if (budgets.has(id)) continue;
      const key = holderKey(holder, subject);
      const slot = holders.get(key) ?? memory.allocate(holderCellsOf(leased));
      holders.set(key, slot);
      if (window === 'request') continue;
      const place = { slot, window: countedWindows.indexOf(window), unit: budgetUnits.indexOf(unit) };
      budgets.set(id, place);
      const started = slot + HolderSlot.starts + place.window;
      if (!knowsBudgets && use.at > memory.get(started)) memory.set(started, use.at);
      const isCurrent = !knowsBudgets && use.at === memory.get(started);
      memory.set(slot + usedCell(place.window, place.unit), isCurrent ? use.used : 0);
      // What was leased of one that was deleted is void.
      if (leased) memory.set(slot + leasedCell(place.window, place.unit), 0);
      for (const event of earlyUse.get(id) ?? []) count(event);
      earlyUse.delete(id);
    }
    knowsBudgets = true;
  };

  const credit = (event: MoneyEvent): void => {
    if (event.kind === 'budget') {
      count(event);
      return;
    }
    if (event.kind === 'end_user') {
      countEndUser(event);
      return;
    }
    const slot = users.get(event.userId);
    if (slot === undefined) {
      early.set(event.userId, [...(early.get(event.userId) ?? []), event]);
      return;
    }
    whenFree(slot, () => apply(slot, event));
  };

  /** Under the user's lock, at once where no other thread has it. */
  const whenFree = (slot: number, step: () => void): void => {
    const stripe = userStripe(slot);
    // Another thread may have died holding it, and this thread recovers dead threads: it must not wait for them.
    if (!memory.tryLock(stripe, timeoutMs)) return void timers.set(() => whenFree(slot, step), timeoutMs);
    step();
    memory.release(stripe);
  };

  const observeToken = (token: TokenMoney): number => {
    const known = tokens.get(token.id);
    const slot = known ?? memory.allocate(slotCells);
    if (!leased) memory.set(slot + KeySlot.limit, token.quotaLimit);
    // What was spent without a limit was not leased.
    else if (known === undefined) memory.set(slot + KeySlot.limit, token.used);
    else if (memory.get(slot + KeySlot.unlimited) === 1)
      memory.set(slot + KeySlot.limit, memory.get(slot + KeySlot.used));
    // What is leased of a key is within its budgets too.
    memory.set(slot + KeySlot.unlimited, (leased ? isUnbounded(token) : token.unlimited) ? 1 : 0);
    memory.set(slot + KeySlot.gone, 0);
    if (token.limits !== null) ratesOf(slot);
    if (known !== undefined) return slot;
    const { day, month } = token.periods;
    memory.set(slot + KeySlot.used, token.used);
    memory.set(slot + KeySlot.dayStart, day.at);
    memory.set(slot + KeySlot.dayUsed, day.used);
    memory.set(slot + KeySlot.monthStart, month.at);
    memory.set(slot + KeySlot.monthUsed, month.used);
    tokens.set(token.id, slot);
    return slot;
  };

  const group = (name: string): number => {
    const known = groups.get(name);
    if (known !== undefined || !owns) return known ?? 0;
    const place = memory.allocate(slotCells);
    ratesOf(place);
    groups.set(name, place);
    return place;
  };

  return {
    users,
    tokens,
    user: (id) => users.get(id) ?? 0,
    token: (id) => tokens.get(id) ?? 0,
    seenToken: (token) => tokens.get(token.id) ?? (owns ? observeToken(token) : 0),
    group,
    countedUser(id) {
      const known = users.get(id) ?? anonymous.get(id);
      if (known === undefined && !owns) return 0;
      const place = known ?? memory.allocate(slotCells);
      if (known === undefined) anonymous.set(id, place);
      return requestsOf(place) === 0 ? 0 : place;
    },
    ratesOf,
    observeUser(user) {
      const known = users.get(user.id);
      if (known !== undefined) {
        // The user is back: what is open still counts, so the row's balance is lower than the slot's.
        memory.set(known + UserSlot.gone, 0);
        whenFree(known, () => {
          if (leased) takeAccountState(memory, known, accountStateOf(user));
          else takePaidIn(memory, known, user.balanceVersion, user.paidIn ?? 0);
        });
        return;
      }
      const slot = memory.allocate(slotCells);
      if (!leased) memory.set(slot + UserSlot.balance, user.balance);
      memory.set(slot + UserSlot.used, user.used);
      seen.set(user.id, { version: user.balanceVersion, early: null });
      users.set(user.id, slot);
      memory.set(slot + UserSlot.overrun, user.overrun);
      memory.set(slot + UserSlot.statedAt, user.balanceVersion);
      memory.set(slot + UserSlot.paidIn, user.paidIn ?? 0);
      memory.set(slot + UserSlot.paidInAt, user.balanceVersion);
      for (const event of early.get(user.id) ?? []) credit(event);
      early.delete(user.id);
      if (countsRequests) requestsOf(slot);
    },
    observeToken,
    observeBudgets,
    holder: (key) => holders.get(key) ?? 0,
    budgetIndexes: (ids) =>
      [...ids].flatMap((id) => {
        const place = budgets.get(id);
        return place === undefined ? [] : [{ id, ...place }];
      }),
    evictUser(id) {
      const slot = users.get(id);
      if (slot !== undefined) memory.set(slot + UserSlot.gone, 1);
    },
    evictToken(id) {
      const slot = tokens.get(id);
      if (slot !== undefined) memory.set(slot + KeySlot.gone, 1);
    },
    prepare({ groupLimits, modelRequests }) {
      for (const name of groupLimits.keys()) group(name);
      if (modelRequests === null || countsRequests) return;
      countsRequests = true;
      for (const slot of users.values()) requestsOf(slot);
    },
    credit,
    slotIndexes: (ofUsers, ofTokens) => ({
      users: [...ofUsers].flatMap((id) => [id, users.get(id) ?? 0]),
      tokens: [...ofTokens].flatMap((id) => [id, tokens.get(id) ?? 0]),
      groups: [...groups],
      ...(holders.size === 0 ? {} : { holders: [...holders] }),
    }),
    bind(slotIndexes) {
      for (let at = 0; at < slotIndexes.users.length; at += 2)
        users.set(slotIndexes.users[at] ?? 0, slotIndexes.users[at + 1] ?? 0);
      for (let at = 0; at < slotIndexes.tokens.length; at += 2)
        tokens.set(slotIndexes.tokens[at] ?? 0, slotIndexes.tokens[at + 1] ?? 0);
      for (const [name, place] of slotIndexes.groups) groups.set(name, place);
      for (const [key, place] of slotIndexes.holders ?? []) holders.set(key, place);
    },
  };
}
