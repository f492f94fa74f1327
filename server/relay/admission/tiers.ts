/** What the benchmark leaves out, to show what each part costs. */
import type { Charge } from './charge.ts';

/** 1 = passing on alone, 2 = with keys and routing but no bill, 3 = everything. */
export type TierLevel = 1 | 2 | 3;

export const noCharge: Charge = {
  held: 0,
  charged: null,
  extendTo: () => true,
  borrow: () => Promise.resolve(false),
  borrows: false,
  turn: () => undefined,
  cover: () => true,
  finish: () => Promise.resolve(),
  checkpoint: () => undefined,
  delivered: () => undefined,
};
