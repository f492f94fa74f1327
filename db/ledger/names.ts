/** Names in a log row become numbers, the same on every machine: each is a part of the digest of user, kind and text. */
import { createHash } from 'node:crypto';
import type { LedgerCommand, LogEntry } from '../../server/billing/ledger/commands.ts';
import { type NameKind, nameKinds, newNamesADay, otherName } from '../../server/contract/names.ts';

/** Columns of the log. */
type NumberField = 'agentId' | 'sessionId' | 'projectId' | 'endUserId' | 'subagentId' | 'promptId';
export type NumberedLog = LogEntry & Readonly<Partial<Record<NumberField, number>>>;

const fields: Readonly<Record<NameKind, NumberField>> = {
  agent: 'agentId',
  session: 'sessionId',
  project: 'projectId',
  end_user: 'endUserId',
  subagent: 'subagentId',
  prompt: 'promptId',
};

/** Names of a row that are not 0. */
export function* numbersIn(log: NumberedLog): Generator<readonly [NameKind, number]> {
  for (const kind of nameKinds) {
    const id = log[fields[kind]] ?? 0;
    if (id !== 0) yield [kind, id];
  }
}

export interface NewName {
  readonly userId: number;
  readonly id: number;
  readonly kind: NameKind;
  readonly text: string;
  /** Days since 1970, UTC. */
  readonly day: number;
}

/** The names in the table, and those added to it in the same transaction. */
export interface NameTable {
  has(userId: number, id: number): boolean;
  /** How many of the user's names were new on that day. */
  countOn(userId: number, day: number): number;
  add(name: NewName): void;
}

/**
 * 52 bits of SHA-256: two of a user's names meet once in 200 years of 10,000 new ones a day, and only he would see them as one.
 * Above `otherName`.
 */
export function nameNumber(userId: number, kind: NameKind, text: string): number {
  const digest = createHash('sha256').update(`${userId}\n${kind}\n${text}`).digest();
  return digest.readUIntBE(0, 6) * 16 + (digest.readUInt8(6) >> 4) + otherName + 1;
}

const nameDay = ({ createdAt }: Pick<LogEntry, 'createdAt'>): number => Math.floor(createdAt / 86_400);

/** Names and users' counts that are kept in memory: what leaves it is read again. */
const maxKept = 10_000;

/** Names that are in the table already, so that a repeated name costs no query. */
export class NameMemory {
  readonly #numbers = new Map<string, number>();
  readonly #counts = new Map<number, { readonly day: number; count: number }>();
  readonly #before: NameMemory | null;

  /** @param before what is known besides: of a transaction that is not committed yet. */
  constructor(before: NameMemory | null = null) {
    this.#before = before;
  }

  get(userId: number, kind: NameKind, text: string): number | undefined {
    return this.#numbers.get(keyOf(userId, kind, text)) ?? this.#before?.get(userId, kind, text);
  }

  learn(userId: number, kind: NameKind, text: string, id: number): void {
    this.#put(keyOf(userId, kind, text), id);
  }

  #put(key: string, id: number): void {
    makeRoom(this.#numbers);
    this.#numbers.set(key, id);
  }

  /** Its transaction was committed. */
  committed(): void {
    const before = this.#before;
    if (before !== null) for (const [key, id] of this.#numbers) before.#put(key, id);
  }

  /** @returns what is counted of the user's day. */
  day(userId: number, day: number, table: NameTable): { count: number } {
    const known = this.#counts.get(userId);
    if (known?.day === day) return known;
    makeRoom(this.#counts);
    const counted = { day, count: table.countOn(userId, day) };
    this.#counts.set(userId, counted);
    return counted;
  }

  /** Forgets all names: the transaction that added some may not have happened. */
  forget(): void {
    this.#numbers.clear();
    this.#counts.clear();
  }
}

const keyOf = (userId: number, kind: NameKind, text: string): string => `${userId} ${kind} ${text}`;

function makeRoom<Key>(kept: Map<Key, unknown>): void {
  if (kept.size < maxKept) return;
  for (const oldest of kept.keys()) {
    kept.delete(oldest);
    return;
  }
}

/** Adds what is new to the table. */
export function numbered(log: LogEntry, memory: NameMemory, table: NameTable): NumberedLog {
  const { names } = log;
  if (names === undefined) return log;
  const row: LogEntry & Partial<Record<NumberField, number>> = { ...log };
  for (const kind of nameKinds) {
    const text = names[kind];
    if (text !== undefined) row[fields[kind]] = numberOf(log, kind, text, memory, table);
  }
  return row;
}

function numberOf(log: LogEntry, kind: NameKind, text: string, memory: NameMemory, table: NameTable): number {
  const { userId } = log;
  const known = memory.get(userId, kind, text);
  if (known !== undefined) return known;
  const id = nameNumber(userId, kind, text);
  if (!table.has(userId, id)) {
    const day = nameDay(log);
    const today = memory.day(userId, day, table);
    if (today.count >= newNamesADay) return otherName;
    table.add({ userId, id, kind, text, day });
    today.count++;
  }
  memory.learn(userId, kind, text, id);
  return id;
}

export type UnknownName = Pick<NewName, 'userId' | 'id' | 'day'>;

/** Names in the rows of commands that memory does not have. */
export function unknownNames(commands: readonly LedgerCommand[], memory: NameMemory): UnknownName[] {
  const found: UnknownName[] = [];
  for (const command of commands) {
    if (command.type === 'budget') continue;
    const { log } = command;
    if (log?.names === undefined) continue;
    const { userId, names } = log;
    for (const kind of nameKinds) {
      const text = names[kind];
      if (text !== undefined && memory.get(userId, kind, text) === undefined)
        found.push({ userId, id: nameNumber(userId, kind, text), day: nameDay(log) });
    }
  }
  return found;
}
