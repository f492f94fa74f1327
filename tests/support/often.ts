/** How often a seeded case is tried: `GATEWAY_LONG=1`, as the project's own runs set it, asks for the long run. */
export const isLong = process.env.GATEWAY_LONG === '1';

/** @param variable asks for a number of its own, as one does who looks for something. */
export const often = (fallback: number, long: number, variable = ''): number =>
  Number(process.env[variable] ?? (isLong ? long : fallback));

/** A third of a table's cells, spread so that each row and each column has its share; the long run asks all of them. */
export const inShare = (row: number, column: number): boolean => isLong || (row + column) % 3 === 0;
