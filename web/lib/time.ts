/** A time as it is typed, in the reader's zone: 2026-01-31 09:30. Pure. */

const shape = /^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T\s]+(\d{1,2}):(\d{2})(?::(\d{2}))?)?$/i;

/**
 * @param late a day alone means its end, else its beginning.
 * @returns epoch seconds; impossible = no calendar has it: it is never moved to another time.
 */
export function parseTime(typed: string, late: boolean): number | 'unreadable' | 'impossible' {
  const found = shape.exec(typed.normalize('NFKC').trim());
  if (found === null) return 'unreadable';
  const [, year = 0, month = 0, day = 0] = found.map(Number);
  const alone = late ? [23, 59, 59] : [0, 0, 0];
  const [hour, minute, second] = found[4] === undefined ? alone : [found[4], found[5], found[6] ?? 0].map(Number);
  const at = new Date(year, month - 1, day, hour, minute, second);
  // A day or an hour that does not exist is moved to another one.
  const same =
    at.getFullYear() === year &&
    at.getMonth() === month - 1 &&
    at.getDate() === day &&
    at.getHours() === hour &&
    at.getMinutes() === minute &&
    at.getSeconds() === second;
  return same ? Math.floor(at.getTime() / 1000) : 'impossible';
}

/** @returns epoch seconds; null = it cannot be read. */
export const timeOf = (typed: string, late: boolean): number | null => {
  const at = parseTime(typed, late);
  return typeof at === 'number' ? at : null;
};
