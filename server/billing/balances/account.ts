/**
 * What one user, and the key in use, may still spend: the balance, the key's limit, and the key's budgets of a day and a month.
 * Its slots are found once. One step under the user's lock looks and holds, one gives the hold back and charges: no gap
 * between check and take, whichever thread it is.
 */
import type { KeyFunds } from '../../contract/key-budgets.ts';
import { nextPeriod, type Period, periodStart } from '../../contract/period.ts';
import { chargedOf, oneUnit } from '../../contract/pricing/share.ts';
import type { TokenLimits } from '../../contract/snapshot.ts';
import type { NodeLease } from '../leases/node-lease.ts';
import { type AllowanceShare, allowanceOf, noAllowance } from './allowance.ts';
import {
  type BudgetedHolder,
  type BudgetLack,
  type BudgetNeed,
  type HolderShortage,
  lockedHolders,
  releaseHeld,
} from './budgets.ts';
import { maxHolders, moneyCells, noRow, type OpenRequest, type Owner, Row, RowState } from './open-requests.ts';
import { type Memory, userStripe } from './shared-memory.ts';
import { type Accounts, KeySlot, slotCells, UserSlot } from './slot.ts';
import { isEmptyLine, isFirstOf, joinLine, type LineCells, leaveLine } from './waiting-line.ts';

/** Slots of accounts in shared memory. */
export interface SharedMoney {
  readonly memory: Memory;
  /** Slot of each user and key. */
  readonly accounts: Accounts;
  /** Where several machines serve one site: whether the leased balance may be spent; null = the machine has the whole balance. */
  readonly nodeLease: NodeLease | null;
}

export interface ReserveOptions {
  /** The most that the request may cost, as far as it is not counted yet; default: the amount. */
  readonly max?: number;
  /** What the key's budgets are to have for it besides. */
  readonly budget?: number;
  /** Limits of the key; absent or null = no budget bounds it. */
  readonly limits?: TokenLimits | null;
  /** Whose budgets have to have it besides, in quota what `budget` says; absent or null = nobody's. */
  readonly holders?: readonly BudgetedHolder[] | null;
  /** What those are asked for; the first hold asks for a request. */
  readonly requests?: number;
  readonly tokens?: number;
  /** How far all that the user's open requests may cost together goes beyond the balance; default: not at all. */
  readonly share?: AllowanceShare;
  /** The balance is left alone; the key's limit is not. */
  readonly selfUse?: boolean;
  readonly open?: OpenRequest;
  /** Epoch of the lease under which the request was admitted; absent = it is being admitted now. */
  readonly epoch?: number;
}

export interface BudgetShortage {
  readonly period: Period;
  readonly remain: number;
  /** Until the next period begins, and when that is (epoch seconds). */
  readonly seconds: number;
  readonly resets: number;
}

export type ReserveRefusal =
  | { readonly ok: false; readonly scope: 'user' | 'token'; readonly remain: number }
  | ({ readonly ok: false; readonly scope: 'budget' } & BudgetShortage)
  | ({ readonly ok: false; readonly scope: 'holder' } & HolderShortage);
export type ReserveResult = { readonly ok: true } | ReserveRefusal;

export interface Spent {
  readonly reserved: number;
  /** Whole units. */
  readonly charged: number;
  /** The rest of the cost, in parts of `oneUnit`: with what earlier charges left it may make a unit more. Absent = the charge was rounded. */
  readonly rest?: number;
  /** The maximum cost that was counted for it; default: the reservation. */
  readonly max?: number;
  /** What the key's budgets held of it. */
  readonly budget?: number;
  readonly selfUse?: boolean;
  /** The open request, which ends with this settlement. */
  readonly open?: OpenRequest;
  /** Nothing was used. */
  readonly failed?: boolean;
  /** Epoch of the lease under which it was admitted. */
  readonly epoch?: number;
  /** Absent = no budgets held for it, and there are none that it counts in. */
  readonly budgets?: BudgetsSpent;
}

/** What a request held of budgets, and what it counts in them. */
export interface BudgetsSpent {
  /** Slots of those who held. */
  readonly slots: readonly number[];
  readonly held: BudgetNeed;
  /** The holders who have budgets now: a budget may have been made or changed while the request ran. */
  readonly holders: readonly BudgetedHolder[] | null;
  readonly requests: number;
  readonly tokens: number;
  /** Budgets that the settlement counts in; the charge is added to each. */
  readonly parts: number[];
}

export interface Shortage {
  readonly scope: 'user' | 'token';
  readonly remain: number;
}

/** What a request waits in line for: the balance, or what its key may use. */
export type Line = 'balance' | 'key';

const unbounded = Number.MAX_SAFE_INTEGER;
const defaults: ReserveOptions = {};
const userLine: LineCells = { first: UserSlot.lineFirst, waits: UserSlot.lineWaits };
const keyLine: LineCells = { first: KeySlot.lineFirst, waits: KeySlot.lineWaits };
const noCells = new Float64Array(slotCells);
/** Cells of a user that settlements change. */
const userMoney = UserSlot.maxCost + 1;
const keyMoney = KeySlot.budgetHeld + 1 - KeySlot.used;

/** Start of the current day and month, in epoch seconds: needed by each request, and computed once a day. */
export class Calendar {
  day = Number.NaN;
  month = 0;

  /** @param now epoch milliseconds. */
  constructor(readonly now: () => number) {}

  /** Epoch seconds. */
  turn(): number {
    const now = this.now() / 1000;
    if (now - this.day >= 0 && now - this.day < 86_400) return now;
    this.day = periodStart('day', now);
    this.month = periodStart('month', now);
    return now;
  }
}

export class Account implements Owner {
  /** Slots; 0 = the user is not known in this thread yet, or no key is involved. */
  readonly user: number;
  readonly token: number;
  /** The lock that all of it is under. */
  readonly stripe: number;
  private readonly memory: Memory;
  private readonly nodeLease: NodeLease | null;
  private readonly balance: Float64Array;
  private readonly key: Float64Array;

  constructor(
    { memory, accounts, nodeLease }: SharedMoney,
    private readonly calendar: Calendar,
    readonly userId: number,
    /** 0 = no key is involved. */
    readonly tokenId: number,
  ) {
    this.memory = memory;
    this.nodeLease = nodeLease;
    this.user = accounts.user(userId);
    this.token = tokenId === 0 ? 0 : accounts.token(tokenId);
    this.stripe = userStripe(this.user);
    this.balance = this.user === 0 ? noCells : memory.cells(this.user, slotCells);
    this.key = this.token === 0 ? noCells : memory.cells(this.token, slotCells);
  }

  /** Runs the step under the lock: no other thread intervenes. It must not wait. */
  locked<T>(step: () => T): T {
    return this.lockedWith(step);
  }

  /** The same without a closure. */
  lockedWith<Given extends readonly unknown[], T>(step: (...given: Given) => T, ...given: Given): T {
    this.memory.lock(this.stripe);
    try {
      return step(...given);
    } finally {
      this.memory.release(this.stripe);
    }
  }

  /** What a request could hold now. Exact under the lock, a hint without it. */
  available(selfUse = false): number {
    const { balance, key } = this;
    if (!this.maySpend(selfUse)) return 0;
    const own = selfUse ? unbounded : (balance[UserSlot.balance] ?? 0) - (balance[UserSlot.held] ?? 0);
    const ofKey =
      this.token === 0 || key[KeySlot.unlimited] === 1
        ? unbounded
        : (key[KeySlot.limit] ?? 0) - (key[KeySlot.used] ?? 0) - (key[KeySlot.held] ?? 0);
    return Math.max(0, Math.min(own, ofKey));
  }

  /** The most that a request may cost to be admitted now. Exact under the lock, a hint without it. */
  availableWith(share: AllowanceShare, selfUse: boolean): number {
    const { balance, key } = this;
    if (!this.maySpend(selfUse)) return 0;
    const total = balance[UserSlot.balance] ?? 0;
    const own = selfUse ? unbounded : total <= 0 ? 0 : total + this.allowance(share) - (balance[UserSlot.maxCost] ?? 0);
    const ofKey =
      this.token === 0 || key[KeySlot.unlimited] === 1
        ? unbounded
        : (key[KeySlot.limit] ?? 0) - (key[KeySlot.used] ?? 0) - (key[KeySlot.maxCost] ?? 0);
    return Math.max(0, Math.min(own, ofKey));
  }

  /** The same of the balance alone, whatever the key may use; also what could be held. */
  availableOfBalance(share: AllowanceShare, selfUse: boolean): number {
    if (!this.maySpend(selfUse)) return 0;
    if (selfUse) return unbounded;
    const total = this.balance[UserSlot.balance] ?? 0;
    const held = total - (this.balance[UserSlot.held] ?? 0);
    const all = total <= 0 ? 0 : total + this.allowance(share) - (this.balance[UserSlot.maxCost] ?? 0);
    return Math.max(0, Math.min(held, all));
  }

  /** What a request could hold if no other request held anything; on one of several machines, of what this one has leased. Exact under the lock, a hint without it. */
  availableUnheld(share: AllowanceShare, selfUse: boolean, limits: TokenLimits | null): number {
    const { balance, key } = this;
    if (!this.maySpend(selfUse)) return 0;
    const total = balance[UserSlot.balance] ?? 0;
    const own = selfUse ? unbounded : total <= 0 ? 0 : total + this.allowance(share);
    const ofKey =
      this.token === 0 || key[KeySlot.unlimited] === 1
        ? unbounded
        : (key[KeySlot.limit] ?? 0) - (key[KeySlot.used] ?? 0);
    return Math.max(0, Math.min(own, ofKey, this.budgetBeyond(limits, 0)));
  }

  /** Whose money is used up, so that nothing could be held; null = something could. Takes the lock only where something is lacking. @param unheld what other requests hold counts as there. */
  findShortage(selfUse: boolean, unheld = false): Shortage | null {
    return this.key[KeySlot.gone] !== 1 && this.available(selfUse) >= 1 ? null : this.lockedShortage(selfUse, unheld);
  }

  private lockedShortage(selfUse: boolean, unheld: boolean): Shortage | null {
    return this.locked(() => this.shortage(selfUse, unheld));
  }

  /** The line that a request has to join, because others wait for the same; null = nobody does. Exact under the lock, a hint without it. */
  get line(): Line | null {
    if (!isEmptyLine(this.balance, userLine)) return 'balance';
    return this.token === 0 || isEmptyLine(this.key, keyLine) ? null : 'key';
  }

  /** Last among those that wait for it, whichever thread they are in. @returns its ticket; null = too many wait. */
  join(line: Line): number | null {
    const { memory, user, token, balance, key } = this;
    if (user === 0 || (line === 'key' && token === 0)) return null;
    return this.locked(() => {
      const now = this.calendar.now();
      return line === 'key'
        ? joinLine(memory, token, key, keyLine, now)
        : joinLine(memory, user, balance, userLine, now);
    });
  }

  /** Whether nobody who came before still waits for it. A hint without the lock. */
  isFirst(line: Line, ticket: number): boolean {
    return line === 'key' ? isFirstOf(this.key, keyLine, ticket) : isFirstOf(this.balance, userLine, ticket);
  }

  leave(line: Line, ticket: number): void {
    const { memory, user, token, balance, key } = this;
    this.locked(() => {
      const now = this.calendar.now();
      if (line === 'key') leaveLine(memory, token, key, keyLine, ticket, now);
      else leaveLine(memory, user, balance, userLine, ticket, now);
    });
  }

  /** What both budgets have left; Infinity where none is bounded. Exact under the lock, a hint without it. */
  availableBudget(limits: TokenLimits | null): number {
    return this.budgetBeyond(limits, this.key[KeySlot.budgetHeld] ?? 0);
  }

  /** The budget of which nothing is left, however little open requests turn out to cost; null = none. */
  budgetUsedUp(limits: TokenLimits | null): BudgetShortage | null {
    if (!this.hasBudget(limits)) return null;
    return this.locked(() => this.budgetShortage(limits, 0, 0));
  }

  /** Budgets of which more has to be leased before so much can be held. A hint without their locks. */
  lacksOf(holders: readonly BudgetedHolder[], need: BudgetNeed): readonly BudgetLack[] {
    const now = this.calendar.turn();
    const lacks: BudgetLack[] = [];
    for (const holder of holders) holder.addLacks(need, now, lacks);
    return lacks;
  }

  /** What bounds the key at this moment, as far as `KeyFunds` says it; null where this machine has only a lease of it. */
  funds(): KeyFunds | null {
    const { balance, key, calendar } = this;
    if (this.token === 0 || this.user === 0 || this.nodeLease !== null) return null;
    calendar.turn();
    return {
      balance: Math.max(0, balance[UserSlot.balance] ?? 0),
      limit: key[KeySlot.unlimited] === 1 ? null : (key[KeySlot.limit] ?? 0),
      used: key[KeySlot.used] ?? 0,
      dayUsed: this.usedIn('day'),
      monthUsed: this.usedIn('month'),
    };
  }

  /** Runs the step under the lock, and under those of the holders of budgets. It must not wait. */
  lockedWithHolders<T>(holders: readonly BudgetedHolder[], step: () => T): T {
    const slots = holders.map(({ slot }) => slot);
    return this.locked(() => lockedHolders(this.memory, slots, step));
  }

  /** Quota that the budgets of all of them have left; Infinity where none is bounded. Exact under their locks, a hint without them. @param held what open requests hold counts as used. */
  availableIn(holders: readonly BudgetedHolder[], unit: number, held = true): number {
    const now = this.calendar.turn();
    let least = Number.POSITIVE_INFINITY;
    for (const holder of holders) least = Math.min(least, holder.left(unit, now, held));
    return least;
  }

  /** The budget of which nothing is left, however little open requests turn out to use; null = none. */
  holderUsedUp(holders: readonly BudgetedHolder[]): HolderShortage | null {
    const least = { money: 1, requests: 1, tokens: 1 };
    return this.lockedWithHolders(holders, () => shortageOf(holders, least, this.calendar.turn(), false));
  }

  /** Takes `amount` out of reach of other requests, all of it or nothing. */
  reserve(amount: number, options: ReserveOptions = defaults): ReserveResult {
    const { memory, stripe } = this;
    const { holders = null } = options;
    if (holders !== null) return this.reserveOf(holders, amount, options);
    memory.lock(stripe);
    try {
      return this.take(amount, options);
    } finally {
      memory.release(stripe);
    }
  }

  private reserveOf(holders: readonly BudgetedHolder[], amount: number, options: ReserveOptions): ReserveResult {
    return this.lockedWithHolders(holders, () => this.take(amount, options));
  }

  /**
   * Releases a reservation and charges the actual cost. The balance is lowered before the reservation is released: a thread that
   * dies between the two leaves too little, never too much.
   * @returns what earlier charges had left of a unit, in parts of `oneUnit`; the charge is `chargedOf` with it.
   */
  settle(spent: Spent): number {
    return spent.budgets === undefined ? this.charge(spent) : this.settleOf(spent.budgets, spent);
  }

  private settleOf(budgets: BudgetsSpent, spent: Spent): number {
    const slots = [...new Set([...budgets.slots, ...(budgets.holders ?? []).map(({ slot }) => slot)])];
    return this.locked(() => lockedHolders(this.memory, slots, () => this.charge(spent)));
  }

  private charge(spent: Spent): number {
    const { memory, stripe, nodeLease, balance, key } = this;
    const { reserved, rest, max = reserved, budget = 0, selfUse = false, open = noRow, epoch } = spent;
    // Its reservation ended with the lease under which it was admitted.
    const isStale = nodeLease !== null && epoch !== undefined && epoch !== nodeLease.epoch();
    memory.lock(stripe);
    try {
      const carried = rest === undefined || this.user === 0 ? 0 : (balance[UserSlot.rest] ?? 0);
      const charged = rest === undefined ? spent.charged : chargedOf(spent.charged, rest, carried);
      if (this.user !== 0) {
        if (rest !== undefined && rest > 0) memory.put(this.user + UserSlot.rest, (carried + rest) % oneUnit);
        memory.note(this.user, userMoney);
        if (!selfUse && !isStale) {
          balance[UserSlot.balance] = (balance[UserSlot.balance] ?? 0) - charged;
          balance[UserSlot.held] = (balance[UserSlot.held] ?? 0) - reserved;
          balance[UserSlot.maxCost] = (balance[UserSlot.maxCost] ?? 0) - max;
        }
        balance[UserSlot.used] = (balance[UserSlot.used] ?? 0) + charged;
      }
      if (this.token !== 0) {
        if (isStale) memory.add(this.token + KeySlot.limit, charged);
        memory.note(this.token + KeySlot.used, keyMoney);
        key[KeySlot.used] = (key[KeySlot.used] ?? 0) + charged;
        if (!isStale) {
          key[KeySlot.held] = (key[KeySlot.held] ?? 0) - reserved;
          key[KeySlot.maxCost] = (key[KeySlot.maxCost] ?? 0) - max;
        }
        if (nodeLease === null) this.chargeBudgets(budget, charged);
      }
      if (spent.budgets !== undefined) this.chargeHolders(spent.budgets, charged, isStale);
      if (open.row === 0) return carried;
      const { cells } = open;
      memory.note(open.row, moneyCells);
      if (spent.budgets !== undefined) {
        memory.note(open.row + Row.holders, maxHolders + 1);
        cells.fill(0, Row.holders, Row.tokensHeld + 1);
      }
      cells[Row.held] = 0;
      cells[Row.maxCost] = 0;
      cells[Row.budgetHeld] = 0;
      cells[Row.charged] = spent.failed === true ? -1 : charged;
      cells[Row.carried] = rest === undefined ? -1 : carried;
      cells[Row.state] = RowState.ended;
      return carried;
    } finally {
      memory.release(stripe);
    }
  }

  /** What the user, or the key, has left and has used; `limit` Infinity = without end. */
  limits(): { readonly limit: number; readonly used: number } {
    const { balance, key, tokenId } = this;
    return this.locked(() => {
      if (tokenId === 0) {
        const used = balance[UserSlot.used] ?? 0;
        return { limit: (balance[UserSlot.balance] ?? 0) + used, used };
      }
      const limit = key[KeySlot.unlimited] === 1 ? Number.POSITIVE_INFINITY : (key[KeySlot.limit] ?? 0);
      return { limit, used: key[KeySlot.used] ?? 0 };
    });
  }

  /** What the user owes to the overrun account. */
  overrun(): number {
    return this.balance[UserSlot.overrun] ?? 0;
  }

  /** Quota that the user ever paid in and was not given back, as far as this machine knows: neither codes nor what was given. */
  paidIn(): number {
    return this.balance[UserSlot.paidIn] ?? 0;
  }

  /** How far the user's open requests may go beyond the balance now. Exact under the lock, a hint without it. */
  allowance({ most, nodes }: AllowanceShare): number {
    if (most === 0) return 0;
    return allowanceOf({ most, nodes, paidIn: this.paidIn(), overrun: this.overrun() });
  }

  private budgetBeyond(limits: TokenLimits | null, held: number): number {
    if (!this.hasBudget(limits)) return Number.POSITIVE_INFINITY;
    const { dayBudget, monthBudget } = limits;
    this.calendar.turn();
    return Math.min(this.budgetLeft('day', dayBudget, held), this.budgetLeft('month', monthBudget, held));
  }

  private maySpend(selfUse: boolean): boolean {
    return this.user !== 0 && this.balance[UserSlot.gone] !== 1 && (this.nodeLease === null || this.isLeased(selfUse));
  }

  /** Whether the lease covers what is needed of the balance and of the key's limit. */
  private isLeased(selfUse: boolean, epoch?: number): boolean {
    const { nodeLease, token, key } = this;
    if (nodeLease === null || (selfUse && (token === 0 || key[KeySlot.unlimited] === 1))) return true;
    return this.isCurrent(epoch);
  }

  /** Whether the machine may spend what it has leased. @param epoch under which the request was admitted; absent = it is being admitted. */
  private isCurrent(epoch?: number): boolean {
    const { nodeLease } = this;
    return nodeLease === null || ((epoch === undefined || epoch === nodeLease.epoch()) && nodeLease.isValid());
  }

  private shortage(selfUse: boolean, unheld: boolean): Shortage | null {
    const { balance, key } = this;
    if (this.user === 0 || balance[UserSlot.gone] === 1) return { scope: 'user', remain: 0 };
    if (!this.isLeased(selfUse)) return { scope: selfUse ? 'token' : 'user', remain: 0 };
    if (this.token !== 0) {
      if (key[KeySlot.gone] === 1) return { scope: 'token', remain: 0 };
      const left = (key[KeySlot.limit] ?? 0) - (key[KeySlot.used] ?? 0) - (unheld ? 0 : (key[KeySlot.held] ?? 0));
      if (key[KeySlot.unlimited] !== 1 && left < 1) return { scope: 'token', remain: Math.max(0, left) };
    }
    const free = (balance[UserSlot.balance] ?? 0) - (unheld ? 0 : (balance[UserSlot.held] ?? 0));
    return selfUse || free >= 1 ? null : { scope: 'user', remain: Math.max(0, free) };
  }

  /** Under the lock. */
  private take(amount: number, options: ReserveOptions): ReserveResult {
    const {
      max = amount,
      budget = 0,
      limits = null,
      share = noAllowance,
      holders = null,
      requests = 0,
      tokens = 0,
      selfUse = false,
      open = noRow,
      epoch,
    } = options;
    const { memory, balance, key, token, nodeLease } = this;
    if (this.user === 0 || balance[UserSlot.gone] === 1) return rejected('user', 0);
    if (nodeLease !== null && !(this.isLeased(selfUse, epoch) && (holders === null || this.isCurrent(epoch))))
      return rejected(selfUse ? 'token' : 'user', 0);
    const now = holders === null ? 0 : this.calendar.turn();
    if (holders !== null) {
      const first = requests > 0 ? 1 : 0;
      const need = { money: Math.max(first, budget), requests, tokens: Math.max(first, tokens) };
      const shortage = shortageOf(holders, need, now, true);
      if (shortage !== null) return { ok: false, scope: 'holder', ...shortage };
    }
    if (token !== 0) {
      const shortage = limits === null ? null : this.budgetShortage(limits, budget);
      if (shortage !== null) return { ok: false, scope: 'budget', ...shortage };
      if (key[KeySlot.gone] === 1) return rejected('token', 0);
      if (key[KeySlot.unlimited] !== 1) {
        const left = (key[KeySlot.limit] ?? 0) - (key[KeySlot.used] ?? 0);
        const room = left - (key[KeySlot.held] ?? 0);
        if (room < amount) return rejected('token', room);
        const available = left - (key[KeySlot.maxCost] ?? 0);
        if (max > 0 && available < max) return rejected('token', available);
      }
    }
    if (!selfUse) {
      const total = balance[UserSlot.balance] ?? 0;
      const reserved = balance[UserSlot.held] ?? 0;
      const maxOverall = balance[UserSlot.maxCost] ?? 0;
      if (total - reserved < amount || (amount > 0 && total <= 0)) return rejected('user', total - reserved);
      const available = total <= 0 ? 0 : total + this.allowance(share) - maxOverall;
      if (max > 0 && available < max) return rejected('user', available);
      memory.note(this.user, userMoney);
      balance[UserSlot.held] = reserved + amount;
      balance[UserSlot.maxCost] = maxOverall + max;
    }
    if (token !== 0) {
      memory.note(token + KeySlot.used, keyMoney);
      key[KeySlot.held] = (key[KeySlot.held] ?? 0) + amount;
      key[KeySlot.maxCost] = (key[KeySlot.maxCost] ?? 0) + max;
      // Also without a limit: one may be set while the request runs.
      if (nodeLease === null) key[KeySlot.budgetHeld] = (key[KeySlot.budgetHeld] ?? 0) + budget;
    }
    if (holders !== null) for (const holder of holders) holder.hold({ money: budget, requests, tokens }, now);
    if (open.row !== 0) {
      const { cells } = open;
      memory.note(open.row, moneyCells);
      cells[Row.held] = (cells[Row.held] ?? 0) + amount;
      cells[Row.maxCost] = (cells[Row.maxCost] ?? 0) + max;
      if (token !== 0 || holders !== null) cells[Row.budgetHeld] = (cells[Row.budgetHeld] ?? 0) + budget;
      if (holders !== null) {
        memory.note(open.row + Row.holders, maxHolders + 1);
        for (const [at, { slot }] of holders.entries()) cells[Row.holders + at] = slot;
        cells[Row.tokensHeld] = (cells[Row.tokensHeld] ?? 0) + tokens;
      }
    }
    return taken;
  }

  /** Where several machines serve one site, what this one may use of a key's budgets is part of what it leased of the key. */
  private hasBudget(limits: TokenLimits | null): limits is TokenLimits {
    if (limits === null || this.token === 0 || this.nodeLease !== null) return false;
    return limits.dayBudget > 0 || limits.monthBudget > 0;
  }

  /** Under the lock. */
  private budgetShortage(
    limits: TokenLimits,
    amount: number,
    held = this.key[KeySlot.budgetHeld] ?? 0,
  ): BudgetShortage | null {
    if (!this.hasBudget(limits)) return null;
    const now = this.calendar.turn();
    const need = Math.max(1, amount);
    const ofDay = this.budgetLeft('day', limits.dayBudget, held);
    if (ofDay < need) return usedUp('day', ofDay, now);
    const ofMonth = this.budgetLeft('month', limits.monthBudget, held);
    return ofMonth < need ? usedUp('month', ofMonth, now) : null;
  }

  /** After the calendar was turned. A sum that was counted in an earlier period is over. */
  private budgetLeft(period: Period, limit: number, held: number): number {
    if (limit === 0) return Number.POSITIVE_INFINITY;
    return Math.max(0, limit - this.usedIn(period) - held);
  }

  private usedIn(period: Period): number {
    const { key, calendar } = this;
    const [start, sum] =
      period === 'day'
        ? [key[KeySlot.dayStart], key[KeySlot.dayUsed]]
        : [key[KeySlot.monthStart], key[KeySlot.monthUsed]];
    return calendar[period] > (start ?? 0) ? 0 : (sum ?? 0);
  }

  /** Under their locks. */
  private chargeHolders(
    { slots, held, holders, requests, tokens, parts }: BudgetsSpent,
    charged: number,
    isStale: boolean,
  ): void {
    const now = this.calendar.turn();
    if (!isStale) for (const slot of slots) releaseHeld(this.memory, slot, held);
    if (holders === null || (tokens === 0 && charged === 0)) return;
    for (const holder of holders) holder.count({ money: charged, requests, tokens }, now, parts, isStale);
  }

  /** Under the lock, with the key's money noted. The sums are kept for every key: a budget may be set later. */
  private chargeBudgets(reserved: number, charged: number): void {
    const { key, calendar } = this;
    calendar.turn();
    if (calendar.day > (key[KeySlot.dayStart] ?? 0)) {
      key[KeySlot.dayStart] = calendar.day;
      key[KeySlot.dayUsed] = 0;
    }
    if (calendar.month > (key[KeySlot.monthStart] ?? 0)) {
      key[KeySlot.monthStart] = calendar.month;
      key[KeySlot.monthUsed] = 0;
    }
    key[KeySlot.dayUsed] = (key[KeySlot.dayUsed] ?? 0) + charged;
    key[KeySlot.monthUsed] = (key[KeySlot.monthUsed] ?? 0) + charged;
    key[KeySlot.budgetHeld] = (key[KeySlot.budgetHeld] ?? 0) - reserved;
  }
}

/** Of several holders that have too little, returns the one whose quota comes back last. */
function shortageOf(
  holders: readonly BudgetedHolder[],
  need: BudgetNeed,
  now: number,
  held: boolean,
): HolderShortage | null {
  let found: HolderShortage | null = null;
  for (const holder of holders) {
    const shortage = holder.shortage(need, now, held);
    if (shortage === null) continue;
    const isLast =
      found === null || (found.resets !== null && (shortage.resets ?? Number.POSITIVE_INFINITY) > found.resets);
    if (isLast) found = shortage;
  }
  return found;
}

function usedUp(period: Period, remain: number, now: number): BudgetShortage {
  const resets = nextPeriod(period, now);
  return { period, remain, seconds: resets - now, resets };
}

const taken: ReserveResult = { ok: true };
const rejected = (scope: 'user' | 'token', remain: number): ReserveRefusal => ({
  ok: false,
  scope,
  remain: Math.max(0, remain),
});
