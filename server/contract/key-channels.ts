/** Which channels a key is bound to, as its field `channels` says: ids in ascending order (`3,7`); '' = every channel of its groups. Pure. */

/** Of one key. */
export const maxKeyChannels = 64;

/** @returns each id once, ascending; null = something in it is no id. */
export function channelIdsIn(text: string): readonly number[] | null {
  const parts = text.split(',').flatMap((part) => (part.trim() === '' ? [] : [part.trim()]));
  if (!parts.every((part) => /^[1-9]\d{0,14}$/.test(part))) return null;
  return [...new Set(parts.map(Number))].sort((a, b) => a - b);
}

/** As messages say them. */
export const channelNumbers = (text: string): string =>
  text
    .split(',')
    .map((id) => `#${id}`)
    .join(', ');
