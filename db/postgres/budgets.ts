/** Use of budgets and the begin of their windows, by the database's clock: which window a settlement counts in is decided here, for all nodes alike. */
import { amountOf, type CountedWindow, fiveHours, spanOf } from '../../server/contract/budgets.ts';
import { numbers } from './arrays.ts';
import type { Answer, Statement } from './line.ts';

interface UsedWindow {
  /** When it began, epoch seconds. */
  readonly at: number;
  readonly used: number;
}

export interface BudgetState {
  readonly window: CountedWindow;
  readonly zone: string;
  /** Amount and raise, as they hold now. */
  readonly amount: number;
  /** What all nodes have leased. */
  readonly leased: number;
  /** By the database, epoch seconds. */
  readonly now: number;
  /** The newest, and of five hours all that may not be over; in the order of time. */
  readonly windows: readonly UsedWindow[];
}

/** One statement sees one moment: what a settlement moves from a lease to the use is in one of both. */
const text = `SELECT b.id, b.period, b.zone, b.amount, b.raise_amount, b.raise_until, u.window_at, u.used,
    coalesce((SELECT sum(l.amount) FROM leases l WHERE l.kind = 'budget' AND l.subject = b.id), 0)::bigint AS leased,
    floor(extract(epoch FROM clock_timestamp()))::bigint AS now
  FROM budgets b LEFT JOIN budget_use u ON u.budget_id = b.id AND (
    u.window_at = (SELECT max(n.window_at) FROM budget_use_parts n WHERE n.budget_id = b.id)
    OR b.period = '5h' AND u.window_at > extract(epoch FROM clock_timestamp()) - ${2 * fiveHours})
  WHERE b.id = ANY($1::bigint[]) ORDER BY b.id, u.window_at`;

export function readBudgets(ids: readonly number[]): Statement & {
  readonly values: readonly unknown[];
  readonly read: (rows: Answer['rows']) => Map<number, BudgetState>;
} {
  return {
    text,
    values: [numbers(ids)],
    read(rows) {
      const states = new Map<number, BudgetState & { readonly windows: UsedWindow[] }>();
      for (const row of rows) {
        const { id, period, zone, amount, raise_amount: raise, raise_until: raiseUntil, leased, now } = row;
        const windows = states.get(id)?.windows ?? [];
        if (row.window_at !== null) windows.push({ at: row.window_at, used: row.used });
        const bound = amountOf({ amount, raise, raiseUntil }, now);
        states.set(id, { window: period, zone, amount: bound, leased, now, windows });
      }
      return states;
    },
  };
}

/** The current window; `at` null = no window of five hours has begun. */
export function currentWindow({ window, zone, now, windows }: BudgetState): {
  readonly at: number | null;
  readonly used: number;
} {
  if (window === '5h') {
    const first = windows.find(({ at }) => at <= now && now < at + fiveHours);
    if (first === undefined) return { at: null, used: 0 };
    // Two nodes may have begun one at the same time: the earlier is that of both.
    const within = windows.filter(({ at }) => at >= first.at && at < first.at + fiveHours);
    return { at: first.at, used: within.reduce((sum, { used }) => sum + used, 0) };
  }
  const { start } = spanOf(window, zone, now);
  const newest = windows.at(-1);
  // Where the zone changed, the later one goes on.
  return newest === undefined || newest.at < start ? { at: start, used: 0 } : newest;
}

/** In which window a settlement counts. @param windowAt when it began, as its node has it: one whose clock is ahead begins none for the others. */
export function countedWindow(state: BudgetState, windowAt: number): number {
  const { window, now, windows } = state;
  const at = Math.min(windowAt, now);
  if (window === '5h') return windows.find((one) => one.at <= at && at < one.at + fiveHours)?.at ?? at;
  return Math.min(at, currentWindow(state).at ?? at);
}
