/** Rows for requests that were rejected before an upstream was asked, so that the id in the caller's error can be found; under attack a sample of them. */

import type { Ledger } from '../../billing/ledger/commands.ts';
import { LogType } from '../../contract/enum.ts';
import { AppError, type ErrorCode } from '../../contract/errors.ts';
import type { ClientError } from '../../protocols/codec.ts';
import type { Seen } from '../admission/observer.ts';
import type { Authorize } from '../intake/authorize.ts';
import type { Peer } from '../intake/parsed-request.ts';

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

/** Rows at once, and one more per so many milliseconds: of one key, of all together. */
const keyBurst = 20;
const keyEveryMs = 5000;
const burst = 200;
const everyMs = 100;
/** Keys that are tracked; beyond that all are cleared. */
const maxKeys = 5000;
/** Names come from clients. */
const maxNameLength = 200;

interface RateLimit {
  left: number;
  atMs: number;
  /** Not written since the last row. */
  skipped: number;
}

function allows(one: RateLimit, max: number, perMs: number, nowMs: number): boolean {
  one.left = Math.min(max, one.left + (nowMs - one.atMs) / perMs);
  one.atMs = nowMs;
  return one.left >= 1;
}

/** Callers without a known key share one allowance, and only what they presented as a key is worth a row. */
const unknownCodes: ReadonlySet<ErrorCode> = new Set(['token_missing', 'token_invalid']);

export interface RejectionLog {
  /** Adds no wait: the row is written with all others. */
  note(rejected: RejectedRequest): void;
}

export function createRejectionLog({ ledger, authorize, now, monoNow, noteLost }: RejectionLogDeps): RejectionLog {
  const keys = new Map<string, RateLimit>();
  const all: RateLimit = { left: burst, atMs: monoNow(), skipped: 0 };

  /** @returns how many of this key went unwritten before, null = this one does too. */
  const take = (key: string): number | null => {
    const at = monoNow();
    const known = keys.get(key);
    if (known === undefined && keys.size >= maxKeys) keys.clear();
    const own = known ?? { left: keyBurst, atMs: at, skipped: 0 };
    keys.set(key, own);
    if (!allows(own, keyBurst, keyEveryMs, at) || !allows(all, burst, everyMs, at)) {
      own.skipped++;
      return null;
    }
    own.left--;
    all.left--;
    const { skipped } = own;
    own.skipped = 0;
    return skipped;
  };

  return {
    note({ request, path, peer, seen, error, clientError }: RejectedRequest): void {
      const owner = seen.principal ?? authorize.ownerOf(request);
      if (owner === null && !(error instanceof AppError && unknownCodes.has(error.code))) return;
      if (!ledger.healthy().ok) return;
      const skipped = take(owner === null ? '' : `${owner.user.id}/${owner.token?.id ?? 0}`);
      if (skipped === null) return;
      const endedMs = now();
      const { code, status, message, requestId } = clientError();
      const fields: Record<string, unknown> = { refused: code, status, request_path: path };
      if (seen.parsed !== null) fields.ms = Math.round(endedMs - seen.parsed.startedMs);
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
            model: modelOf(seen, error),
            isStream: seen.parsed?.stream ?? false,
            useTime: 0,
            promptTokens: 0,
            completionTokens: 0,
            quota: 0,
            content: message,
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
