/** What a request must not say at a provider is moved to the nearest that it may. @returns undefined when nothing needs to move. */
export const within = (value: unknown, least: number, most: number): number | undefined =>
  typeof value !== 'number' || (value >= least && value <= most) ? undefined : Math.min(most, Math.max(least, value));
