/** Lists as PostgreSQL writes arrays: the driver's own way costs several times as much, and a batch has twenty of them. */

export const numbers = (list: readonly number[]): string => `{${list.join(',')}}`;

const special = /[\\"]/g;

/** Without NUL, which PostgreSQL keeps in no text: what a client sent must not make a whole batch fail. */
const quoted = (text: string | null): string =>
  text === null ? 'NULL' : `"${text.replace(special, '\\$&').replaceAll('\0', '\ufffd')}"`;

export const texts = (list: readonly (string | null)[]): string => `{${list.map(quoted).join(',')}}`;
