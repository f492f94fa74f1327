/**
 * Budgets in the memory that all relay threads share. Each key, label, user, group, end user and the site that has any has one
 * slot: what open requests hold in each unit, when each window began, and what was used in it. A request holds in the slots of at
 * most `maxHolders`, whose locks are taken after its user's and in one order, so that no burst gets past any of them. Where several
 * machines serve one site, each spends what it has leased of a budget, whose cells come after the others; end users' windows are
 * its own.
 */
import {
  amountIn,
  amountOf,
  type BudgetHolder,
  type BudgetParts,
  type BudgetSnapshot,
  type BudgetUnit,
  budgetUnits,
  type CountedWindow,
  countedWindows,
  spanOf,
} from '../../contract/budgets.ts';
import type { BudgetUse } from '../../contract/snapshot.ts';
import type { BudgetUseState } from '../ports.ts';
import { blockSlots, EndUserTable } from './end-users.ts';
import { holderCells, holderStripe, type Memory } from './shared-memory.ts';

const budgetCells = countedWindows.length * budgetUnits.length;
/** Cells of a holder's slot, all under its lock: what is held by unit, starts by window, uses by window and unit, and leases likewise. */
export const HolderSlot = {
  held: 0,
  starts: budgetUnits.length,
  used: budgetUnits.length + countedWindows.length,
  leased: budgetUnits.length + countedWindows.length + budgetCells,
} as const;
/** @param leased several machines serve one site. */
export const holderCellsOf = (leased: boolean): number => (leased ? 2 * holderCells : holderCells);
/** That are changed. */
const countedCells = (leased: boolean): number => (leased ? HolderSlot.leased + budgetCells : HolderSlot.leased);

/** What a request asks of budgets, or holds of them; 0 = nothing in this unit. */
export interface BudgetNeed {
  /** Quota that it may cost at most. */
  readonly money: number;
  readonly requests: number;
  readonly tokens: number;
}

/** The need in one unit, by the unit's place. */
const needIn = ({ money, requests, tokens }: BudgetNeed, unit: number): number =>
  amountIn(unit, money, requests, tokens);

/** A budget that has too little left. */
export interface HolderShortage {
  readonly budget: number;
  readonly holder: BudgetHolder;
  readonly window: CountedWindow;
  readonly unit: BudgetUnit;
  readonly remain: number;
  /** How much is needed, in the budget's unit. */
  readonly need: number;
  /** Until the window ends, and when that is (epoch seconds); null = never. */
  readonly seconds: number | null;
  readonly resets: number | null;
}

/** Where a slot's use of a budget is. */
export const usedCell = (window: number, unit: number): number => HolderSlot.used + window * budgetUnits.length + unit;

/** Whose uses are counted. */
interface CountedBudget extends BudgetSnapshot {
  readonly window: CountedWindow;
}
const isCounted = (budget: BudgetSnapshot): budget is CountedBudget => budget.window !== 'request';
/** And what this machine may still use of it, whenever: open requests hold a part of it. */
export const leasedCell = (window: number, unit: number): number =>
  HolderSlot.leased + window * budgetUnits.length + unit;

/** A budget that a request needs more of than this machine has leased. */
export interface BudgetLack {
  readonly id: number;
  /** How much is needed, in the budget's unit. */
  readonly need: number;
  readonly unit: number;
  /** What can be held of it here. A hint without the lock. */
  readonly available: () => number;
}

/** One budget of a holder. */
class Bound {
  readonly window: number;
  readonly unit: number;
  private start = 0;
  private end = Number.NEGATIVE_INFINITY;

  constructor(readonly budget: CountedBudget) {
    this.window = countedWindows.indexOf(budget.window);
    this.unit = budgetUnits.indexOf(budget.unit);
  }

  /** When the window at hand began. @param began as the slot has it. @param now epoch seconds. */
  startAt(now: number, began: number): number {
    const { window, zone } = this.budget;
    if (window === '5h') return spanOf(window, zone, now, began).start;
    if (now < this.start || now >= this.end) {
      const { start, end } = spanOf(window, zone, now);
      this.start = start;
      this.end = end;
    }
    // Where the clock was put back, or the zone changed, the later one goes on.
    return Math.max(this.start, began);
  }

  endAt(now: number, began: number): number {
    const { window, zone } = this.budget;
    return spanOf(window, zone, window === '5h' ? now : Math.max(now, began), began).end;
  }
}

/** A key, a user, a group or the site, with its budgets. */
export class BudgetedHolder {
  readonly stripe: number;
  private readonly cells: Float64Array;
  private readonly bounds: readonly Bound[];
  /** Budgets that bound each request by itself. */
  private readonly perRequest: readonly BudgetSnapshot[];

  constructor(
    private readonly memory: Memory,
    readonly slot: number,
    readonly kind: BudgetHolder,
    budgets: readonly BudgetSnapshot[],
    /** Several machines serve one site. */
    private readonly leased = false,
  ) {
    this.stripe = holderStripe(slot);
    this.cells = memory.cells(slot, holderCellsOf(leased));
    this.bounds = budgets.filter(isCounted).map((budget) => new Bound(budget));
    this.perRequest = budgets.filter((budget) => !isCounted(budget));
  }

  /** Tokens that a request may read and write; Infinity = as many as it likes. */
  requestTokens(now: number): number {
    let least = Number.POSITIVE_INFINITY;
    for (const budget of this.perRequest) least = Math.min(least, amountOf(budget, now));
    return least;
  }

  /** What is left in a unit: of the budget with the least; Infinity where none bounds it. A hint without the lock. @param held what open requests hold counts as used. */
  left(unit: number, now: number, held = true): number {
    let least = Number.POSITIVE_INFINITY;
    for (const bound of this.bounds) if (bound.unit === unit) least = Math.min(least, this.leftOf(bound, now, held));
    return least;
  }

  /** Of those with too little, returns the one whose quota comes back last; null = none has too little. Exact under the lock. */
  shortage(need: BudgetNeed, now: number, held = true): HolderShortage | null {
    let found: HolderShortage | null = null;
    for (const bound of this.bounds) {
      const wanted = needIn(need, bound.unit);
      if (wanted === 0) continue;
      const remain = this.leftOf(bound, now, held);
      if (remain >= wanted) continue;
      const { window, unit } = bound.budget;
      const end = bound.endAt(now, this.cells[HolderSlot.starts + bound.window] ?? 0);
      const isLast = found === null || (found.resets !== null && end > found.resets);
      const resets = Number.isFinite(end) ? end : null;
      const seconds = resets === null ? null : resets - now;
      if (isLast)
        found = { budget: bound.budget.id, holder: this.kind, window, unit, remain, need: wanted, seconds, resets };
    }
    return found;
  }

  /** Adds budgets of which more has to be leased before the request can be held. */
  addLacks(need: BudgetNeed, now: number, lacks: BudgetLack[]): void {
    if (!this.leased) return;
    for (const bound of this.bounds) {
      const { budget, unit } = bound;
      const wanted = needIn(need, unit);
      const available = () => this.leftOf(bound, now, true);
      if (available() < wanted) lacks.push({ id: budget.id, need: wanted, unit, available });
    }
  }

  /** What its user may see of it: how much is used. A hint without the lock. */
  uses(now: number): BudgetUse[] {
    return this.bounds.map((bound): BudgetUse => {
      const { budget, window, unit } = bound;
      const began = this.cells[HolderSlot.starts + window] ?? 0;
      const used = bound.startAt(now, began) > began ? 0 : (this.cells[usedCell(window, unit)] ?? 0);
      const end = bound.endAt(now, began);
      const resets = Number.isFinite(end) ? end : null;
      const use = { kind: budget.window, limit: amountOf(budget, now), used, resets };
      return budget.unit === 'money' ? use : { ...use, unit: budget.unit };
    });
  }

  /** Under the lock. */
  hold({ money, requests, tokens }: BudgetNeed, now: number): void {
    const { cells, memory, slot } = this;
    memory.note(slot, countedCells(this.leased));
    cells[HolderSlot.held] = (cells[HolderSlot.held] ?? 0) + money;
    cells[HolderSlot.held + 1] = (cells[HolderSlot.held + 1] ?? 0) + requests;
    cells[HolderSlot.held + 2] = (cells[HolderSlot.held + 2] ?? 0) + tokens;
    for (const bound of this.bounds) this.turn(bound, now);
  }

  /** Under the lock. @param parts what is added to for the settlement: windows of end users are in no table. @param isStale what was leased for it ended with an earlier lease of the machine. */
  count(spent: BudgetNeed, now: number, parts: number[], isStale = false): void {
    const { cells, memory, slot, leased } = this;
    memory.note(slot, countedCells(leased));
    for (const bound of this.bounds) {
      const start = this.turn(bound, now);
      const cell = usedCell(bound.window, bound.unit);
      const amount = needIn(spent, bound.unit);
      cells[cell] = (cells[cell] ?? 0) + amount;
      const own = leasedCell(bound.window, bound.unit);
      if (leased && !isStale) cells[own] = (cells[own] ?? 0) - amount;
      if (this.kind !== 'end_user') parts.push(bound.budget.id, start, bound.unit);
    }
  }

  /** The same for a note of what would be owed: nothing is changed. */
  name(now: number, parts: number[]): void {
    if (this.kind === 'end_user') return;
    for (const bound of this.bounds) {
      const start = bound.startAt(now, this.cells[HolderSlot.starts + bound.window] ?? 0);
      parts.push(bound.budget.id, start, bound.unit);
    }
  }

  isNamedIn(parts: BudgetParts): boolean {
    return this.bounds.some(({ budget: { id } }) => parts.some((part, at) => at % 3 === 0 && part === id));
  }

  /** Under the lock: a process that this one follows settled it. @param windowAt when its window began. */
  countOf(budgetId: number, windowAt: number, amount: number): void {
    for (const { budget, window, unit } of this.bounds)
      if (budget.id === budgetId) addUse(this.memory, this.slot, { window, unit }, windowAt, amount);
  }

  private leftOf(bound: Bound, now: number, held: boolean): number {
    const { cells, leased } = this;
    const began = cells[HolderSlot.starts + bound.window] ?? 0;
    const used = bound.startAt(now, began) > began ? 0 : (cells[usedCell(bound.window, bound.unit)] ?? 0);
    const taken = held ? (cells[HolderSlot.held + bound.unit] ?? 0) : 0;
    const left = Math.max(0, amountOf(bound.budget, now) - used - taken);
    if (!leased) return left;
    const own = Math.max(
      0,
      (cells[leasedCell(bound.window, bound.unit)] ?? 0) - (cells[HolderSlot.held + bound.unit] ?? 0),
    );
    // If nobody held anything there would be what the database had when it was last asked, wherever it lies.
    return held ? own : Math.max(own, left);
  }

  /** A window that is over gives way to the next. Under the lock, with the slot noted. @returns when the one at hand began. */
  private turn(bound: Bound, now: number): number {
    const { cells } = this;
    const began = HolderSlot.starts + bound.window;
    const start = bound.startAt(now, cells[began] ?? 0);
    if (start <= (cells[began] ?? 0)) return start;
    cells[began] = start;
    const first = usedCell(bound.window, 0);
    cells.fill(0, first, first + budgetUnits.length);
    return start;
  }
}

/** Under the lock: a window that is over by now is left alone, one that has not begun begins. Never below zero. */
export function addUse(
  memory: Memory,
  slot: number,
  { window, unit }: { readonly window: number; readonly unit: number },
  windowAt: number,
  amount: number,
): void {
  const began = memory.get(slot + HolderSlot.starts + window);
  if (windowAt < began) return;
  if (windowAt > began) {
    memory.put(slot + HolderSlot.starts + window, windowAt);
    for (let one = 0; one < budgetUnits.length; one++) memory.put(slot + usedCell(window, one), 0);
  }
  const cell = slot + usedCell(window, unit);
  memory.put(cell, Math.max(0, memory.get(cell) + amount));
}

/** Under the lock: the database's figures, with what was leased by them. */
export function addLeased(
  memory: Memory,
  slot: number,
  { window, unit }: { readonly window: number; readonly unit: number },
  amount: number,
  state: BudgetUseState | undefined,
): void {
  if (state !== undefined && state.windowAt > 0) {
    if (state.windowAt !== memory.get(slot + HolderSlot.starts + window)) {
      memory.put(slot + HolderSlot.starts + window, state.windowAt);
      for (let one = 0; one < budgetUnits.length; one++) memory.put(slot + usedCell(window, one), 0);
    }
  }
  if (state !== undefined) memory.put(slot + usedCell(window, unit), state.used);
  const cell = slot + leasedCell(window, unit);
  memory.put(cell, memory.get(cell) + amount);
}

/** Gives back what a request held. Under the lock. */
export function releaseHeld(memory: Memory, slot: number, { money, requests, tokens }: BudgetNeed): void {
  memory.add(slot + HolderSlot.held, -money);
  memory.add(slot + HolderSlot.held + 1, -requests);
  memory.add(slot + HolderSlot.held + 2, -tokens);
}

/** Runs the step under the locks of all of them: after the user's, and before that of a group's rates. It must not wait. */
export function lockedHolders<T>(memory: Memory, slots: readonly number[], step: () => T): T {
  const stripes = slots.map(holderStripe).sort((one, other) => one - other);
  for (const stripe of stripes) memory.lock(stripe);
  try {
    return step();
  } finally {
    for (const stripe of stripes.toReversed()) memory.release(stripe);
  }
}

/** How a holder's slot is named. */
export const holderKey = (kind: BudgetHolder, subject: string): string => `${kind} ${subject}`;

/** Whose budgets a request touches. */
export interface BudgetCaller {
  /** 0 = none. */
  readonly tokenId: number;
  readonly userId: number;
  /** The user's own. */
  readonly userGroup: string;
  /** Labels of the key; absent = it has none. */
  readonly labels?: readonly string[] | undefined;
  /** For whom the request is made, '' = it does not say; absent = not known here. */
  readonly endUser?: string | undefined;
  /** Machines among which the budgets of end users are divided; absent = one. */
  readonly nodes?: number | undefined;
}

/** One thread's view: who has budgets. Made anew when one changes, which is rare. */
export class BudgetBook {
  private readonly holders = new Map<string, BudgetedHolder>();
  /** What each was made of. */
  private readonly sources = new Map<string, readonly BudgetSnapshot[]>();
  /** Budgets of each end user of a key, by its id. */
  private readonly templates = new Map<number, readonly BudgetSnapshot[]>();
  private endUsers: EndUserTable | null = null;

  /** @param slotOf by `holderKey`; 0 = it has none yet. */
  constructor(
    private readonly memory: Memory,
    private readonly slotOf: (key: string) => number,
    /** Epoch seconds. */
    private readonly now: () => number = () => 0,
    private readonly leased = false,
  ) {}

  set(budgets: readonly BudgetSnapshot[]): void {
    const { holders, sources, memory } = this;
    this.templates.clear();
    for (const budget of budgets)
      if (budget.holder === 'end_user') {
        const tokenId = Number(budget.subject);
        this.templates.set(tokenId, [...(this.templates.get(tokenId) ?? []), budget]);
      }
    if (this.templates.size > 0) this.endUsers ??= this.tableOf();
    const own = budgets.filter(({ holder }) => holder !== 'end_user');
    const found = Map.groupBy(own, ({ holder, subject }) => holderKey(holder, subject));
    for (const key of holders.keys()) if (!found.has(key)) holders.delete(key);
    for (const [key, these] of found) {
      // Each new key may bring budgets of its own: the others stay as they are.
      const known = holders.has(key) ? sources.get(key) : undefined;
      if (known?.length === these.length && these.every((budget, at) => budget === known[at])) continue;
      const slot = this.slotOf(key);
      const [first] = these;
      if (slot === 0 || first === undefined) continue;
      holders.set(key, new BudgetedHolder(memory, slot, first.holder, these, this.leased));
      sources.set(key, these);
    }
    for (const key of sources.keys()) if (!holders.has(key)) sources.delete(key);
  }

  /** Nobody has a budget. */
  get isEmpty(): boolean {
    return this.holders.size === 0 && this.templates.size === 0;
  }

  /** null = nobody's: nothing of budgets is touched. */
  of(caller: BudgetCaller): readonly BudgetedHolder[] | null {
    return this.isEmpty ? null : this.found(caller);
  }

  private found(caller: BudgetCaller): readonly BudgetedHolder[] | null {
    const { tokenId, userId, userGroup, labels, endUser } = caller;
    const found: BudgetedHolder[] = [];
    const add = (key: string) => {
      const holder = this.holders.get(key);
      if (holder !== undefined) found.push(holder);
    };
    if (tokenId !== 0) add(holderKey('token', String(tokenId)));
    add(holderKey('user', String(userId)));
    add(holderKey('group', userGroup));
    if (labels !== undefined) for (let at = 0; at < labels.length; at++) add(holderKey('label', labels[at] ?? ''));
    if (endUser !== undefined) this.addEndUser(found, caller, endUser);
    add(holderKey('site', ''));
    return found.length === 0 ? null : found;
  }

  /** Whether it matters for whom a request with the key is made. */
  boundsEndUsers(tokenId: number): boolean {
    return this.templates.size > 0 && this.templates.has(tokenId);
  }

  /** The end user whose slot a request named, whatever he is called. */
  endUserAt(tokenId: number, slots: readonly number[]): readonly BudgetedHolder[] {
    const template = this.templates.get(tokenId);
    const slot = slots.find((one) => this.endUsers?.has(one) === true);
    if (template === undefined || slot === undefined) return [];
    return [new BudgetedHolder(this.memory, slot, 'end_user', template)];
  }

  private addEndUser(found: BudgetedHolder[], { tokenId, nodes = 1 }: BudgetCaller, endUser: string): void {
    const template = this.templates.get(tokenId);
    if (template === undefined || this.endUsers === null) return;
    const shares = nodes <= 1 ? template : template.map((budget) => shareOf(budget, nodes));
    const slot = this.endUsers.find(tokenId, endUser, this.now());
    found.push(new BudgetedHolder(this.memory, slot, 'end_user', shares));
  }

  /** null = its memory is not there yet. */
  private tableOf(): EndUserTable | null {
    const first = blockSlots(this.slotOf);
    return first.includes(0) ? null : new EndUserTable(this.memory, first);
  }

  all(): Iterable<BudgetedHolder> {
    return this.holders.values();
  }
}

/** A machine's part; what a single request may take is everywhere the same. */
const shareOf = (budget: BudgetSnapshot, nodes: number): BudgetSnapshot =>
  budget.window === 'request'
    ? budget
    : { ...budget, amount: Math.floor(budget.amount / nodes), raise: Math.floor(budget.raise / nodes) };

/** Budgets of the key and its user, as both may see them: those of a group and of the site are not theirs to know. */
export const ownUses = (holders: readonly BudgetedHolder[] | null, now: number): readonly BudgetUse[] =>
  holders === null
    ? noUses
    : holders.flatMap((holder) => (holder.kind === 'token' || holder.kind === 'user' ? holder.uses(now) : []));
const noUses: readonly BudgetUse[] = [];

/** For a note of an open request, and for an end whose money has moved. */
export function partsOf(holders: readonly BudgetedHolder[] | null, now: number): BudgetParts | undefined {
  if (holders === null) return undefined;
  const parts: number[] = [];
  for (const holder of holders) holder.name(now, parts);
  return parts;
}
