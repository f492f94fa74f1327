/** Figures against the goals of a measurement. */

export interface Goal {
  readonly name: string;
  readonly value: number;
  readonly limit: number;
  readonly unit: string;
  readonly direction: 'at least' | 'at most';
}

export const isReached = (goal: Goal): boolean =>
  goal.direction === 'at least' ? goal.value >= goal.limit : goal.value <= goal.limit;

const shortfallOf = (goal: Goal): string =>
  goal.limit === 0 ? String(goal.value) : `${Math.abs((goal.value / goal.limit - 1) * 100).toFixed(0)} %`;

export function printReport(goals: readonly Goal[]): void {
  console.log('');
  for (const goal of goals) {
    const value = goal.value.toFixed(goal.limit < 10 ? 2 : 0);
    const limit = `${goal.direction} ${goal.limit} ${goal.unit}`;
    const verdict = isReached(goal) ? 'reached' : `MISSED by ${shortfallOf(goal)}`;
    console.log(`${goal.name.padEnd(36)}${value.padStart(9)}   ${limit.padEnd(24)}${verdict}`);
  }
}
