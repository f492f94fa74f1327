/** The upper one of the two in the middle, where there are two; 0 of nothing. */
export const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
