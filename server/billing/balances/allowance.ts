/**
 * How far what a user's open requests may cost goes beyond his balance. `max` is the most that a request may cost, which no caller
 * can lower; `held` is what of it is taken out of the balance. Where no request costs more than its `max`, what a user comes to owe
 * is at most his allowance, whatever runs together: as long as nothing is admitted but within `availableMax` and `availableHeld`,
 * the `max` of all that is open, less the balance, plus what is owed already, stays within it. All amounts are whole quota.
 */

export interface AllowanceTerms {
  /** The operator's option; 0 = everybody holds exactly what requests may cost. */
  readonly most: number;
  /** All the user's top-ups so far. Gifts are none: an account that cost nothing could run up the allowance again and again. */
  readonly paidIn: number;
  /** What the user owes. */
  readonly overrun: number;
  /** Machines that admit requests of the site, this one included: each has its share. */
  readonly nodes: number;
}

/** What is the same for all users of this machine. */
export type AllowanceShare = Pick<AllowanceTerms, 'most' | 'nodes'>;
/** Everybody holds exactly. */
export const noAllowance: AllowanceShare = { most: 0, nodes: 1 };

/** What may be missing for a user's open requests on this machine. Who owes holds exactly, until it is paid back. */
export function allowanceOf({ most, paidIn, overrun, nodes }: AllowanceTerms): number {
  if (overrun > 0 || most <= 0) return 0;
  return Math.floor(Math.max(0, Math.min(most, paidIn)) / Math.max(1, nodes));
}

/** Totals of one user as `UserSlot` has them: the balance less what was charged, and sums over what is open. */
export interface Totals {
  readonly balance: number;
  readonly held: number;
  readonly max: number;
}

/** What a request may still take out of the balance. Never negative. */
export const availableHeld = ({ balance, held }: Totals): number => Math.max(0, balance - held);

/**
 * The most that a request may cost to be admitted. Never negative. Without a balance there is none: an allowance bridges what
 * requests may cost and what they do cost, it is no credit.
 */
export const availableMax = ({ balance, max }: Totals, allowance: number): number =>
  balance <= 0 ? 0 : Math.max(0, balance + allowance - max);

/** What a request may cost at most, and what of it evidence of our own says that it will. */
export interface RequestCost {
  readonly max: number;
  /** At most `max`. */
  readonly likely: number;
}

/**
 * What to hold for a request, so that its `max` fits.
 * All of `max` while there is plenty, for then nothing has to be looked after; else what is likely. Nobody holds nothing.
 * @returns null = it does not fit: as much as `shortageOf` says is lacking.
 */
export function holdFor(totals: Totals, allowance: number, { max, likely }: RequestCost): number | null {
  if (max <= 0) return 0;
  if (max > availableMax(totals, allowance)) return null;
  const room = availableHeld(totals);
  if (max * plenty <= room) return max;
  const held = Math.min(max, Math.max(1, likely));
  return held <= room ? held : null;
}

/** Requests that each hold so small a part of what is left never take all of it. */
const plenty = 64;

/** How much more balance would do; 0 = it fits. What is owed is paid back first, out of whatever is paid in. */
export function shortageOf(totals: Totals, allowance: number, { max, likely }: RequestCost): number {
  if (max <= 0) return 0;
  const { balance, held, max: open } = totals;
  const forMax = open + max - balance - allowance;
  const forHeld = held + Math.min(max, Math.max(1, likely)) - balance;
  return Math.max(0, forMax, forHeld, balance <= 0 ? 1 - balance : 0);
}
