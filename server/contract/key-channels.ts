/** Which channels a key is bound to, as its field `channels` says: ids in ascending order (`3,7`); '' = every channel of its groups. Pure. */

import { AppError } from './errors.ts';

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

/** @param bound channels of the key; absent = every channel of its groups. @throws AppError channel_pin_unbound */
export function allowChannel(bound: string | undefined, id: number): void {
  if (bound !== undefined && !bound.split(',').includes(String(id)))
    throw new AppError('channel_pin_unbound', { channels: channelNumbers(bound), id });
}
