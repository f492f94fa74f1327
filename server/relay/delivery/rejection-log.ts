/** Rows for requests that were rejected before an upstream was asked, so that the id in the caller's error can be found; under attack a sample of them. */

import type { Ledger } from '../../billing/ledger/commands.ts';
import { LogType } from '../../contract/enum.ts';
import { AppError, type ErrorCode } from '../../contract/errors.ts';
import type { ClientError } from '../../protocols/codec.ts';
import type { Seen } from '../admission/observer.ts';
import type { Authorize } from '../intake/authorize.ts';
import { isOwn, type Peer } from '../intake/parsed-request.ts';

export interface RejectedRequest {
  readonly request: Request;
  readonly path: string;
  readonly peer: Peer | null;
  readonly seen: Seen;
  readonly error: unknown;
  /** The error that the caller got; computed only where a row is written. */
  readonly clientError: () => ClientError;
}

export interface RejectionLogDeps {
  readonly ledger: Ledger;
  readonly authorize: Pick<Authorize, 'ownerOf'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly monoNow: () => number;
  /** Called for a row that could not be written. */
  readonly noteLost: (error: unknown) => void;
}

/**
 * Rows at once, and one more per so many milliseconds: of one user over all keys, of one address without a known key, of
 * all of these addresses, and of everybody on this thread. A row has at most some 1.5 KB, so that a thread writes at most
 * 86,600 of them and 130 MB a day.
 */
const userRows = { burst: 20, everyMs: 5000 } as const;
const addressRows = { burst: 5, everyMs: 60_000 } as const;
const unknownRows = { burst: 20, everyMs: 5000 } as const;
const allRows = { burst: 200, everyMs: 1000 } as const;
/** Rows of one caller that say the same; further ones are counted in the next that is written. */
const sameRows = { burst: 3, everyMs: 60_000 } as const;
/** Callers and reasons that are tracked; beyond that all are cleared. */
const maxTracked = 5000;
/** Names and paths come from clients. */
const maxNameLength = 200;
/** An overlong message is cut before this end, which names the request. */
const maxMessageLength = 500;
const messageEnd = 80;

interface Rows {
  readonly burst: number;
  readonly everyMs: number;
}

class RateLimit {
  readonly #rows: Rows;
  #left: number;
  #atMs: number;

  constructor(rows: Rows, nowMs: number) {
    this.#rows = rows;
    this.#left = rows.burst;
    this.#atMs = nowMs;
  }

  hasRoom(nowMs: number): boolean {
    this.#left = Math.min(this.#rows.burst, this.#left + (nowMs - this.#atMs) / this.#rows.everyMs);
    this.#atMs = nowMs;
    return this.#left >= 1;
  }

  take(): void {
    this.#left--;
  }
}

/** Equal refusals of one caller. */
interface Same {
  readonly limit: RateLimit;
  /** Not written since the last row. */
  skipped: number;
}

/** Which rows are written, and how many each of them stands for. */
class Sample {
  readonly #callers = new Map<string, RateLimit>();
  readonly #same = new Map<string, Same>();
  readonly #unknown: RateLimit;
  readonly #all: RateLimit;

  constructor(nowMs: number) {
    this.#unknown = new RateLimit(unknownRows, nowMs);
    this.#all = new RateLimit(allRows, nowMs);
  }

  /** @param reason of one caller: what the row would say. @returns how many that say the same went unwritten before, null = this one does too. */
  take(caller: string, isUnknown: boolean, reason: string, nowMs: number): number | null {
    const own = this.#tracked(this.#callers, caller, () => new RateLimit(isUnknown ? addressRows : userRows, nowMs));
    const same = this.#tracked(this.#same, `${caller} ${reason}`, () => ({
      limit: new RateLimit(sameRows, nowMs),
      skipped: 0,
    }));
    const limits = isUnknown ? [same.limit, own, this.#unknown, this.#all] : [same.limit, own, this.#all];
    if (!limits.every((limit) => limit.hasRoom(nowMs))) {
      same.skipped++;
      return null;
    }
    for (const limit of limits) limit.take();
    const { skipped } = same;
    same.skipped = 0;
    return skipped;
  }

  #tracked<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
    const known = map.get(key);
    if (known !== undefined) return known;
    if (map.size >= maxTracked) map.clear();
    const made = make();
    map.set(key, made);
    return made;
  }
}

/** Of callers without a known key only what they presented as a key is worth a row. */
const unknownCodes: ReadonlySet<ErrorCode> = new Set(['token_missing', 'token_invalid']);

export interface RejectionLog {
  /** Adds no wait: the row is written with all others. */
  note(rejected: RejectedRequest): void;
}

export function createRejectionLog({ ledger, authorize, now, monoNow, noteLost }: RejectionLogDeps): RejectionLog {
  const sample = new Sample(monoNow());

  return {
    note({ request, path, peer, seen, error, clientError }: RejectedRequest): void {
      const owner = seen.principal ?? authorize.ownerOf(request);
      if (owner === null && !(error instanceof AppError && unknownCodes.has(error.code))) return;
      if (!ledger.healthy().ok) return;
      const caller = owner === null ? (peer?.ip() ?? '') : String(owner.user.id);
      const model = modelOf(seen, error);
      const shortPath = path.slice(0, maxNameLength);
      const reason = `${owner?.token?.id ?? 0} ${codeOf(error)} ${model} ${shortPath}`;
      const skipped = sample.take(caller, owner === null, reason, monoNow());
      if (skipped === null) return;
      const endedMs = now();
      const { code, status, message, requestId } = clientError();
      const fields: Record<string, unknown> = { refused: code, status, request_path: shortPath };
      if (seen.parsed !== null) fields.ms = Math.round(endedMs - seen.parsed.startedMs);
      if (seen.principal !== null && isOwn(seen.principal)) fields.own = true;
      if (seen.unread === true) fields.unread = true;
      if (skipped > 0) fields.skipped = skipped;
      if (owner === null && peer !== null) fields.admin_info = { ip: peer.ip() };
      void ledger
        .execute({
          type: 'note',
          ref: requestId,
          log: {
            requestId,
            createdAt: Math.floor(endedMs / 1000),
            type: LogType.error,
            userId: owner?.user.id ?? 0,
            username: owner?.user.username ?? '',
            tokenId: owner?.token?.id ?? 0,
            tokenName: owner?.token?.name ?? '',
            channelId: 0,
            group: seen.principal?.group ?? owner?.user.group ?? '',
            model,
            isStream: seen.parsed?.stream ?? false,
            useTime: 0,
            promptTokens: 0,
            completionTokens: 0,
            quota: 0,
            content: shortened(message.replaceAll(path, shortPath)),
            other: JSON.stringify(fields),
            usageSource: 'none',
            endReason: 'refused',
          },
        })
        // Such a row may be lost: storage in trouble is seen elsewhere.
        .catch(noteLost);
    },
  };
}

/** The reason often names it where the request was not read yet. */
function modelOf({ parsed }: Seen, error: unknown): string {
  const named = parsed?.model ?? (error instanceof AppError ? error.params.model : undefined);
  return typeof named === 'string' ? named.slice(0, maxNameLength) : '';
}

const codeOf = (error: unknown): string => (error instanceof AppError ? error.code : '');

/** Messages repeat names of clients. */
const shortened = (message: string): string =>
  message.length <= maxMessageLength
    ? message
    : `${message.slice(0, maxMessageLength - messageEnd)}…${message.slice(-messageEnd)}`;
