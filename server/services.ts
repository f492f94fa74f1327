/** Everything the edges (HTTP, CLI, jobs) may ask for. Composed in gateway.ts. */

/** Grows with each noun: the noun's `createX` return type is added here and wired in gateway.ts. */
// biome-ignore lint/suspicious/noEmptyInterface: filled as services land
export interface Services {}
