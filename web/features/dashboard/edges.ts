/** Where a chart of bars begins and ends. */

/** Half a bar more on each side, so that the first and the last are drawn whole. */
export const wholeBars = (low: number, high: number): [number, number] => [low - 0.5, high + 0.5];

/** What stands below a bar; nothing beside the bars. */
export function startOf(starts: readonly number[], index: number, format: (start: number) => string): string {
  const start = starts[index];
  return start === undefined ? '' : format(start);
}
