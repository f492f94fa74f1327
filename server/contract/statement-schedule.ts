/** Statements by mail: how often, and of which period. Pure. */
import * as z from 'zod/mini';
import { localDay } from './budgets.ts';
import { monthRange } from './statement.ts';

export const scheduleEvery = ['month', 'week'] as const;
export type ScheduleEvery = (typeof scheduleEvery)[number];

/** What became of the last mail: `claimed` = it is being sent; `unknown` = its end was not seen; `empty` = nothing had been charged. */
export const mailStates = ['none', 'claimed', 'sent', 'empty', 'failed', 'unknown'] as const;

const int = z.int();
export const scheduleShape = z.object({
  id: int,
  /** Whose mail box and language. */
  user_id: int,
  username: z.string(),
  /** What it is of, as a statement names it. */
  of: z.string(),
  name: z.string(),
  every: z.enum(scheduleEvery),
  /** '' = the user's own. */
  email: z.string(),
  paused: z.boolean(),
  created_time: int,
  /** The period of the last mail; '' = there was none. */
  period: z.string(),
  state: z.enum(mailStates),
  tries: int,
  tried_time: int,
  error: z.string(),
});
export type StatementSchedule = z.infer<typeof scheduleShape>;

const daySeconds = 86_400;
/** 1970-01-01 was a Thursday. */
const mondayOffset = 3;
/** Other nodes have an hour to hand in what they charged at the end. */
const graceSeconds = 3600;

/**
 * The period that ended last by the site's calendar, once it is over in UTC too, in which statements count their days: on the first of
 * the month, or on Monday, in every zone.
 * @param now epoch seconds. @returns null = it has not ended everywhere yet.
 */
export function endedPeriod(every: ScheduleEvery, zone: string, now: number): { name: string; end: number } | null {
  const today = localDay(now, zone);
  const name =
    every === 'month'
      ? monthBefore(new Date(today * daySeconds * 1000))
      : weekName(today - ((today + mondayOffset) % 7) - 7);
  const end = monthRange(name)?.to ?? 0;
  return now > end + graceSeconds ? { name, end } : null;
}

const monthBefore = (date: Date): string =>
  new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - 1, 1)).toISOString().slice(0, 7);

/** @param monday days since 1970-01-01. */
function weekName(monday: number): string {
  // The week belongs to the year of its Thursday.
  const thursday = new Date((monday + 3) * daySeconds * 1000);
  const year = thursday.getUTCFullYear();
  const week = Math.floor((thursday.getTime() - Date.UTC(year, 0, 1)) / (7 * daySeconds * 1000)) + 1;
  return `${year}-W${String(week).padStart(2, '0')}`;
}
