/** Token keys travel and are stored without `sk-`; it is added where one is shown or handed out. */

/** Clients of the family add `sk-` to what may have it already. */
export const bareKey = (text: string): string => text.trim().replace(prefixes, '');
const prefixes = /^(?:sk-)+/;

/** @param key with or without `sk-`. */
export const displayedKey = (key: string): string => `sk-${bareKey(key)}`;

/** Bytes a token's name may have. As new-api has it since 2025. */
export const maxTokenNameLength = 50;
