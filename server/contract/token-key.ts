/** Token keys travel and are stored without `sk-`; it is added where one is shown or handed out. */

/** Clients of the family add `sk-` to what may have it already. */
export const bareKey = (text: string): string => text.trim().replace(prefixes, '');
const prefixes = /^(?:sk-)+/;

/** @param key with or without `sk-`; '' = one that nobody sees, and nothing is shown of it. */
export const displayedKey = (key: string): string => (key === '' ? '' : `sk-${bareKey(key)}`);

/** Both ends of a key, so that its user knows it again. */
export function shortenedKey(key: string): string {
  const shown = displayedKey(key);
  return shown === '' ? '' : `${shown.slice(0, 7)}…${shown.slice(-4)}`;
}

/** Bytes a token's name may have. As new-api has it since 2025. */
export const maxTokenNameLength = 50;
