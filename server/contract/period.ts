/** Calendar periods of budgets, in UTC: when one began and when the next begins. Epoch seconds. */

export type Period = 'day' | 'month';

export function periodStart(period: Period, at: number): number {
  if (period === 'day') return at - (at % 86_400);
  const date = new Date(at * 1000);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) / 1000;
}

export function nextPeriod(period: Period, at: number): number {
  if (period === 'day') return periodStart('day', at) + 86_400;
  const date = new Date(at * 1000);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) / 1000;
}
