/** One connection of its own on which statements travel together: a whole batch takes two round trips, wherever the server is. */
import { Client, type QueryResult } from 'pg';
import type { PostgresPlace } from '../place.ts';
import { cutConnection, parsers, readAsLibpq } from './open.ts';

export interface Statement {
  readonly text: string;
  readonly values?: readonly unknown[];
}

export interface Answer {
  // biome-ignore lint/suspicious/noExplicitAny: each reader knows the columns that it selects.
  readonly rows: readonly any[];
  /** The command that was done: `COMMIT` of a transaction that had failed answers `ROLLBACK`. */
  readonly command: string;
}

export interface Line {
  /** @throws the first error. When the connection is broken by then, what the server did is unknown. */
  send(statements: readonly Statement[]): Promise<readonly Answer[]>;
  readonly broken: boolean;
  /** Whether the server has reported since the last query that a commit is on its own disk alone. */
  wasLocal(): boolean;
  close(): void;
}

const connectWithinMs = 5000;
/** A server without a response for so long is not waited for any more. */
const idleTimeoutMs = 15_000;
const inFailedTransaction = '25P02';
/** "The transaction has already committed locally, but might not have been replicated to the standby." */
const localOnly = /wait(ing)? for synchronous replication|committed locally/i;

export interface LineOptions {
  /** The name as the server lists it. */
  readonly name?: string;
  /** Whether the session is this connection's alone: then the server parses and plans each statement once. */
  readonly isOwn?: () => boolean;
}

/** @throws the driver's error. */
export async function openLine(
  place: PostgresPlace,
  { name = 'gateway ledger', isOwn = () => false }: LineOptions = {},
): Promise<Line> {
  const client = new Client({
    connectionString: readAsLibpq(place.url),
    connectionTimeoutMillis: connectWithinMs,
    keepAlive: true,
    application_name: name,
    types: parsers,
    pipeline: true,
  });
  let broken = false;
  let local = false;
  /** A statement that was parsed is not what it was: the session was another's meanwhile, or the tables have changed. */
  let isStale = false;
  const close = () => {
    broken = true;
    client.end().catch(() => undefined);
    // A frozen server does not close the connection.
    cutConnection(client);
  };
  client.on('error', () => {
    broken = true;
  });
  client.on('end', () => {
    broken = true;
  });
  client.on('notice', ({ message = '', detail = '' }) => {
    if (localOnly.test(`${message} ${detail}`)) local = true;
  });
  try {
    await client.connect();
  } catch (error) {
    close();
    throw error;
  }

  return {
    async send(statements) {
      const timer = setTimeout(close, idleTimeoutMs);
      const isKept = !isStale && isOwn();
      const sent = statements.map(({ text, values = [] }) =>
        client.query({ text, values: [...values], ...(isKept && keptAs(text)) }),
      );
      const settled = await Promise.allSettled(sent);
      clearTimeout(timer);
      const answers: Answer[] = [];
      let failure: unknown;
      for (const one of settled) {
        if (one.status === 'fulfilled') answers.push(one.value as QueryResult);
        else if (failure === undefined || codeOf(failure) === inFailedTransaction) failure = one.reason;
      }
      if (failure === undefined) return answers;
      if (staleCodes.has(String(codeOf(failure)))) isStale = true;
      // Without a code the server never answered.
      if (!isServers(failure)) close();
      throw failure;
    },
    get broken() {
      return broken;
    },
    wasLocal() {
      const was = local;
      local = false;
      return was;
    },
    close,
  };
}

/** Names of statements, by their texts: the same in every session. */
const kept = new Map<string, { readonly name: string }>();
/** Texts are constants; should one ever not be, the server's memory is not filled with it. */
const maxKept = 200;

/** @returns null = parsed each time: there is nothing to plan, or there are too many. */
function keptAs(text: string): { readonly name: string } | null {
  if (/^(BEGIN|COMMIT|ROLLBACK)$/.test(text)) return null;
  const known = kept.get(text);
  if (known !== undefined || kept.size >= maxKept) return known ?? null;
  const made = { name: `gateway_${kept.size}` };
  kept.set(text, made);
  return made;
}

/** Such a failure of a prepared statement does not mean that the statement is wrong: the next try parses it again. */
export const staleCodes: ReadonlySet<string> = new Set(['26000', '42P05', '0A000']);

const codeOf = (error: unknown): unknown => (error as { code?: unknown } | null)?.code;

const sqlState = /^[0-9A-Z]{5}$/;

/** The server's own error, and the connection stays usable. */
const isServers = (error: unknown): boolean => {
  const code = codeOf(error);
  const { severity } = (error ?? {}) as { severity?: unknown };
  return typeof code === 'string' && sqlState.test(code) && severity !== 'FATAL' && severity !== 'PANIC';
};
