/**
 * Users and keys as they are sent between threads and kept, of which there may be hundreds of thousands: up to a thousand of them
 * as one page of memory that all threads share. A row is text, with its numbers and the hashes of keys beside it; it becomes an
 * object when somebody asks for it.
 */
import { type SentToken, type TokenMoney, type TokenSnapshot, tokenPresets, type UserSnapshot } from './snapshot.ts';

/** Rows of one page. */
export const pageRows = 1000;
const separator = ',';

export interface UserPage {
  readonly ids: Float64Array;
  /** Where the text of each ends. */
  readonly ends: Uint32Array;
  readonly text: Uint8Array;
}

export interface TokenPage extends UserPage {
  readonly owners: Float64Array;
  /** `hashBytes` each; zeros where it is no hash, which the text has then. */
  readonly hashes: Uint8Array;
  /** Hashes of keys before a rotation. */
  readonly rotated: readonly (readonly [id: number, hash: string])[];
}

/** Some of the users and keys of the snapshot that follows it: no thread has all of them in several forms at once. */
export interface SnapshotPart {
  readonly kind: 'part';
  /** Parts before it are of a snapshot that never came. */
  readonly isFirst: boolean;
  readonly users: readonly UserPage[];
  readonly tokens: readonly TokenPage[];
  /** What the keys of each page may use, for the thread that sees to it. */
  readonly money: readonly Float64Array[];
}

export const hashBytes = 32;
const isHash = (text: string): boolean => /^[0-9a-f]{64}$/.test(text);

/** The first bytes of a hash as a number, as `hashes` has them; 0 where it is none. */
export const tagOf = (hash: string): number => (isHash(hash) ? Number.parseInt(hash.slice(0, 8), 16) : 0);

const bytesOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);

/** One piece of memory for all arrays of a page, the widest first. */
function pageOf(ids: readonly number[], texts: readonly string[], owners: readonly number[]) {
  const rows = ids.length;
  // With what separates them all rows can be read as one list.
  const text = new TextEncoder().encode(texts.join(separator));
  const memory = new SharedArrayBuffer((8 + 4) * rows + (8 + hashBytes) * owners.length + text.length);
  let from = 0;
  const after = (bytes: number): number => {
    from += bytes;
    return from - bytes;
  };
  const page = {
    ids: new Float64Array(memory, after(8 * rows), rows),
    owners: new Float64Array(memory, after(8 * owners.length), owners.length),
    ends: new Uint32Array(memory, after(4 * rows), rows),
    hashes: new Uint8Array(memory, after(hashBytes * owners.length), hashBytes * owners.length),
    text: new Uint8Array(memory, after(text.length), text.length),
  };
  page.ids.set(ids);
  page.owners.set(owners);
  page.text.set(text);
  let end = -separator.length;
  for (let row = 0; row < rows; row++) {
    end += separator.length + Buffer.byteLength(texts[row] ?? '');
    page.ends[row] = end;
  }
  return page;
}

/** @param users at most `pageRows`. */
export function packUsers(users: readonly UserSnapshot[]): UserPage {
  const texts = users.map(({ id: _, ...rest }) => JSON.stringify(rest));
  const { ids, ends, text } = pageOf(
    users.map(({ id }) => id),
    texts,
    [],
  );
  return { ids, ends, text };
}

const presetMembers = Object.keys(tokenPresets) as (keyof typeof tokenPresets)[];

/** What most keys say is left out: what is empty is the preset itself. */
function textOf(token: TokenSnapshot): string {
  const { name, status, unlimited, keyHmac } = token;
  const sent: Record<string, unknown> = { name, status, unlimited };
  for (const member of presetMembers) if (token[member] !== tokenPresets[member]) sent[member] = token[member];
  if (!isHash(keyHmac)) sent.keyHmac = keyHmac;
  return JSON.stringify(sent satisfies Partial<Record<keyof SentToken, unknown>>);
}

/** @param tokens at most `pageRows`. */
export function packTokens(tokens: readonly TokenSnapshot[]): TokenPage {
  const page = pageOf(
    tokens.map(({ id }) => id),
    tokens.map(textOf),
    tokens.map(({ userId }) => userId),
  );
  const hashes = bytesOf(page.hashes);
  tokens.forEach(({ keyHmac }, row) => {
    if (isHash(keyHmac)) hashes.write(keyHmac, row * hashBytes, 'hex');
  });
  const rotated = tokens.flatMap(({ id, oldKey }) => (oldKey === null ? [] : [[id, oldKey.hmac] as const]));
  return { ...page, rotated };
}

const textAt = ({ ends, text }: UserPage, row: number): string =>
  bytesOf(text).toString('utf8', row === 0 ? 0 : (ends[row - 1] ?? 0) + separator.length, ends[row]);

const userOf = (sent: Omit<UserSnapshot, 'id'>, id: number): UserSnapshot => ({ ...sent, id });

export const userAt = (page: UserPage, row: number): UserSnapshot =>
  userOf(JSON.parse(textAt(page, row)), page.ids[row] ?? 0);

export const usersIn = (page: UserPage): readonly UserSnapshot[] =>
  (JSON.parse(`[${bytesOf(page.text).toString()}]`) as Omit<UserSnapshot, 'id'>[]).map((sent, row) =>
    userOf(sent, page.ids[row] ?? 0),
  );

/** Numbers of a key: flags, limit, what is used, and of its day and month when they began and what is used of them. */
const moneyCells = 7;
const Flag = { unlimited: 1, limits: 2 } as const;

/** What each of these keys may use, as numbers: it is looked at once, and objects of a hundred thousand keys are thrown away too late. */
export function packMoney(tokens: readonly TokenSnapshot[]): Float64Array {
  const cells = new Float64Array(tokens.length * moneyCells);
  tokens.forEach(({ unlimited, limits, quotaLimit, used, periods: { day, month } }, row) => {
    const flags = (unlimited ? Flag.unlimited : 0) + (limits === null ? 0 : Flag.limits);
    cells.set([flags, quotaLimit, used, day.at, day.used, month.at, month.used], row * moneyCells);
  });
  return cells;
}

/** @returns the same object for each key, whose members change. */
export function* moneyIn(page: TokenPage, cells: Float64Array): Generator<TokenMoney> {
  const [day, month] = [
    { at: 0, used: 0 },
    { at: 0, used: 0 },
  ];
  const token = {
    ...{ id: 0, unlimited: false, quotaLimit: 0, used: 0, periods: { day, month } },
    limits: null as TokenMoney['limits'],
  };
  for (let row = 0, at = 0; row < page.ids.length; row++) {
    const flags = cells[at++] ?? 0;
    token.id = page.ids[row] ?? 0;
    token.unlimited = (flags & Flag.unlimited) !== 0;
    token.limits = (flags & Flag.limits) === 0 ? null : tokenAt(page, row).limits;
    token.quotaLimit = cells[at++] ?? 0;
    token.used = cells[at++] ?? 0;
    day.at = cells[at++] ?? 0;
    day.used = cells[at++] ?? 0;
    month.at = cells[at++] ?? 0;
    month.used = cells[at++] ?? 0;
    yield token;
  }
}

export function tokenAt(page: TokenPage, row: number): TokenSnapshot {
  const sent = JSON.parse(textAt(page, row)) as SentToken;
  const from = row * hashBytes;
  return {
    ...tokenPresets,
    ...sent,
    id: page.ids[row] ?? 0,
    userId: page.owners[row] ?? 0,
    keyHmac: sent.keyHmac ?? bytesOf(page.hashes).toString('hex', from, from + hashBytes),
  };
}
