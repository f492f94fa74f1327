/** How often a seeded case is tried: `GATEWAY_LONG=1`, as the project's own runs set it, asks for the long run. */
export const isLong = process.env.GATEWAY_LONG === '1';

/** @param variable asks for a number of its own, as one does who looks for something. */
export const often = (fallback: number, long: number, variable = ''): number =>
  Number(process.env[variable] ?? (isLong ? long : fallback));
