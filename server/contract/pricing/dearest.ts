/** Bounds of a price, a reservation or a right, from every way in which some parser may read what a stranger wrote. */

/** A value that a parser may take, and where it stands: `plugins[0].Enabled`, `fmt byte rate`. */
export interface Reading<T = number> {
  readonly value: T;
  readonly place: string;
}

/**
 * The dearest of all readings: nobody lowers a bound by adding another one.
 * @param readings in the unit of the bound; what is no finite number is no reading.
 * @param least what holds without a reading, and the least that holds with some; in the same unit.
 */
export function dearest(readings: readonly Reading[], least: number): number {
  let most = least;
  for (const { value } of readings) if (Number.isFinite(value) && value > most) most = value;
  return most;
}

/**
 * Whether something costs less, or nothing: only where every reading says so and the one at the exact place is among them.
 * A twin in another spelling never lowers, for the upstream may read the exact name alone.
 * @param readings of all spellings of one member.
 * @param exact place of the spelling that the vendor's schema has.
 */
export function cheapestOnlyIf<T>(
  readings: readonly Reading<T>[],
  exact: string,
  lowers: (value: T) => boolean,
): boolean {
  let isExact = false;
  for (const { value, place } of readings) {
    if (!lowers(value)) return false;
    isExact ||= place === exact;
  }
  return isExact;
}
