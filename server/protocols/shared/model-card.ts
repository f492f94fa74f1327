/** What all lists of models have in common. */

/** Fixed, as in the family: clients only look at the id. Epoch seconds. */
export const modelsSince = 1_626_777_600;
export const modelsSinceText = new Date(modelsSince * 1000).toISOString().replace('.000', '');

/** A number of a query, at most 1000. */
export const sizeOf = (text: string | null, fallback: number): number => {
  const number = Number(text);
  return text !== null && text !== '' && Number.isInteger(number) && number >= 0 ? Math.min(number, 1000) : fallback;
};

/** @returns the name behind `start`, '' = all of them; null = another path. */
export function namedBehind(path: string, start: string): string | null {
  if (!path.startsWith(start) || (path.length > start.length && path[start.length] !== '/')) return null;
  const rest = path.slice(start.length + 1).replace(/\/$/, '');
  // A verb follows the name: no card is asked for.
  if (rest.includes(':')) return null;
  try {
    return decodeURIComponent(rest);
  } catch {
    return rest;
  }
}
