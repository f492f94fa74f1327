/** Figures as tables, and against the goals. */

export interface Figures {
  readonly rps: number;
  /** CPU per request, microseconds; null where the subject is not ours to measure. */
  readonly cpuMicros: number | null;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly addedP50: number;
  readonly addedP99: number;
  readonly requests: number;
  readonly failed: number;
  /** Share of the measured core that others used meanwhile: above a few per cent the figures are not to be trusted. */
  readonly noise: number;
}

/** Shape -> subject -> figures. */
export type Table = Readonly<Record<string, Readonly<Record<string, Figures>>>>;

export interface Goal {
  readonly name: string;
  readonly value: number;
  readonly limit: number;
  readonly unit: string;
  readonly direction: 'at least' | 'at most';
}

const isMet = (goal: Goal): boolean =>
  goal.direction === 'at least' ? goal.value >= goal.limit : goal.value <= goal.limit;

const missedBy = (goal: Goal): string =>
  goal.limit === 0 ? String(goal.value) : `${Math.abs((goal.value / goal.limit - 1) * 100).toFixed(0)} %`;

const column = (text: string, width: number): string => text.padStart(width);

export function printTable(table: Table): void {
  for (const [shape, subjects] of Object.entries(table)) {
    console.log(`\n${shape.padEnd(24)}   req/s  CPU us     p50     p99  added p50  added p99  failed  noise`);
    for (const [subject, row] of Object.entries(subjects)) {
      const cpu = row.cpuMicros === null ? '' : row.cpuMicros.toFixed(0);
      console.log(
        subject.padEnd(24) +
          column(row.rps.toFixed(0), 8) +
          column(cpu, 8) +
          column(row.p50.toFixed(2), 8) +
          column(row.p99.toFixed(2), 8) +
          column(row.addedP50.toFixed(2), 11) +
          column(row.addedP99.toFixed(2), 11) +
          column(String(row.failed), 8) +
          column(`${(row.noise * 100).toFixed(0)} %`, 7),
      );
    }
  }
}

export function printGoals(goals: readonly Goal[]): void {
  console.log('');
  for (const goal of goals) {
    const digits = goal.limit < 10 ? 2 : 0;
    const wanted = `${goal.direction} ${goal.limit} ${goal.unit}`;
    const verdict = isMet(goal) ? 'reached' : `MISSED by ${missedBy(goal)}`;
    console.log(`${goal.name.padEnd(36)}${column(goal.value.toFixed(digits), 9)}   ${wanted.padEnd(24)}${verdict}`);
  }
}

/** One line for programs. */
export const jsonOf = (facts: Readonly<Record<string, unknown>>, goals: readonly Goal[]): string =>
  JSON.stringify({ ...facts, goals: goals.map((goal) => ({ ...goal, reached: isMet(goal) })) });

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return sorted.length % 2 === 1
    ? (sorted[Math.floor(middle)] ?? 0)
    : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
};
