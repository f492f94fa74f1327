/**
 * Budgets: what a key, a user, the users of a group, or the whole site may use in a window, in quota, requests or tokens. A
 * holder has one budget of each window and unit at most, so each has its fixed place in memory.
 */

import { parseMoney } from './amount.ts';
import { nextPeriod, periodStart } from './period.ts';

/**
 * Who is bounded. A group's budget is shared by all of its users, whatever group their keys choose; a label's by all keys that
 * have it, whoever owns them. `end_user` is each person for whom a key's requests say that they are made, each with a budget of
 * his own, those that say nothing together.
 */
export const budgetHolders = ['token', 'user', 'group', 'label', 'end_user', 'site'] as const;
export type BudgetHolder = (typeof budgetHolders)[number];

/** Whose one person it is: told to that person; the others' are told to operators. */
export const isPersonal = (holder: BudgetHolder): boolean =>
  holder !== 'group' && holder !== 'label' && holder !== 'site';

/** Percent of which people are warned. */
export const budgetLevels = [75, 85, 95, 100] as const;

/** Five hours begin with the first use; day, week (from Monday) and month follow the calendar of a zone; the total never ends. */
export const countedWindows = ['5h', 'day', 'week', 'month', 'total'] as const;
export type CountedWindow = (typeof countedWindows)[number];
/** `request` bounds each request by itself, in tokens alone: its prompt and its longest answer; nothing of it is counted. */
export const budgetWindows = [...countedWindows, 'request'] as const;
export type BudgetWindow = (typeof budgetWindows)[number];

/** Money is quota. */
export const budgetUnits = ['money', 'requests', 'tokens'] as const;
export type BudgetUnit = (typeof budgetUnits)[number];

export const maxBudgets = 20_000;
export const fiveHours = 5 * 3600;

/** What bounds, as the relay knows it. */
export interface BudgetSnapshot {
  readonly id: number;
  readonly holder: BudgetHolder;
  /** Id of the key (also of `end_user`) or user, name of the group or label, '' = the site. */
  readonly subject: string;
  readonly window: BudgetWindow;
  readonly unit: BudgetUnit;
  readonly amount: number;
  /** IANA name; '' = UTC. The same for all of a holder's budgets of one window. */
  readonly zone: string;
  /** Added to the amount until `raiseUntil`, epoch seconds. */
  readonly raise: number;
  readonly raiseUntil: number;
  /** What was used in the window that began at `at`, when the row was read. */
  readonly use: { readonly at: number; readonly used: number };
}

/** A budget that new keys or users get. */
export interface DefaultBudget {
  readonly window: BudgetWindow;
  readonly unit: BudgetUnit;
  /** The amount as it was written: of money also `5usd`. */
  readonly amount: string;
  readonly zone: string;
}

/** `WINDOW AMOUNT [UNIT] [ZONE]`, such as `month 20usd`, `5h 200 requests`, `request 32000`, `day 5usd money Asia/Shanghai`. @returns null = it is none. */
export function defaultBudgetIn(line: string): DefaultBudget | null {
  const [named, amount = '', ...more] = line.trim().split(/\s+/);
  const window = budgetWindows.find((word) => word === named);
  const usual: BudgetUnit = window === 'request' ? 'tokens' : 'money';
  const unit = budgetUnits.find((word) => word === more[0]) ?? usual;
  const [zone = '', ...rest] = more[0] === unit ? more.slice(1) : more;
  const isAmount = unit === 'money' ? isMoney(amount) : /^\d{1,15}$/.test(amount);
  if (window === undefined || !isAmount || rest.length > 0 || !isZone(zone)) return null;
  if (window === 'request' && (unit !== 'tokens' || zone !== '')) return null;
  return { window, unit, amount, zone };
}

/** As a site counts it that was not set up otherwise. */
const isMoney = (text: string): boolean =>
  /^[\d.]+(usd)?$/i.test(text) && parseMoney(text, { plain: 'quota', quotaPerUnit: 500_000 }).kind === 'value';

/** Three numbers for each budget that a settlement counts in: its id, when its window began, and its unit's place in `budgetUnits`. */
export type BudgetParts = readonly number[];

/** What a settlement is in a unit. */
export const amountIn = (unit: number, quota: number, requests: number, tokens: number): number =>
  unit === 0 ? quota : unit === 1 ? requests : tokens;

/** @param now epoch seconds. */
export const amountOf = (
  { amount, raise, raiseUntil }: Pick<BudgetSnapshot, 'amount' | 'raise' | 'raiseUntil'>,
  now: number,
): number => (now < raiseUntil ? amount + raise : amount);

/** A window of time, epoch seconds; `end` Infinity = it never ends. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const always: Span = { start: 0, end: Number.POSITIVE_INFINITY };
const daySeconds = 86_400;
/** Monday, 5 January 1970. */
const firstMonday = 4;
/** The farthest that a zone's clock is from UTC, and its widest jump. */
const zoneReach = 16 * 3600;

/**
 * The window that `at` lies in. Days in a zone have 23, 24 or 25 hours.
 * @param at epoch seconds. @param since when the window of five hours at hand began; 0 = none did.
 */
export function spanOf(window: CountedWindow, zone: string, at: number, since = 0): Span {
  if (window === 'total') return always;
  if (window === '5h') {
    const start = since > 0 && at < since + fiveHours ? since : Math.floor(at);
    return { start, end: start + fiveHours };
  }
  if (zone === '' && window !== 'week') return { start: periodStart(window, at), end: nextPeriod(window, at) };
  const day = localDay(at, zone);
  if (window === 'day') return between(day, day + 1, zone);
  if (window === 'week') {
    const monday = day - ((((day - firstMonday) % 7) + 7) % 7);
    return between(monday, monday + 7, zone);
  }
  const date = new Date(day * daySeconds * 1000);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return between(Date.UTC(year, month, 1) / 1000 / daySeconds, Date.UTC(year, month + 1, 1) / 1000 / daySeconds, zone);
}

const between = (first: number, next: number, zone: string): Span => ({
  start: startOfDay(first, zone),
  end: startOfDay(next, zone),
});

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
  });
  formats.set(zone, format);
  return format;
}

/** Days since 1 January 1970 by the zone's calendar. @param at epoch seconds. */
export function localDay(at: number, zone: string): number {
  if (zone === '') return Math.floor(at / daySeconds);
  let [year, month, day] = [1970, 1, 1];
  for (const { type, value } of formatOf(zone).formatToParts(at * 1000)) {
    if (type === 'year') year = Number(value);
    else if (type === 'month') month = Number(value);
    else if (type === 'day') day = Number(value);
  }
  return Date.UTC(year, month - 1, day) / 1000 / daySeconds;
}

/** Its first second in the zone: some days do not begin at midnight. @param day since 1 January 1970. */
function startOfDay(day: number, zone: string): number {
  if (zone === '') return day * daySeconds;
  // Invariant: `low` is before it, `high` is not.
  let low = day * daySeconds - zoneReach;
  let high = day * daySeconds + zoneReach;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (localDay(middle, zone) < day) low = middle;
    else high = middle;
  }
  return high;
}

/** '' is UTC. */
export function isZone(zone: string): boolean {
  if (zone === '') return true;
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}
