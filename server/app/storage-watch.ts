/** Watches the state of the ledger store: changes go to standard error once, and to the control thread for everything else. */

import type { LedgerClient } from '../billing/ledger/client.ts';
import { healthyStorage, type StorageStatus } from '../contract/storage.ts';

export interface StorageWatch {
  status(): StorageStatus;
  /** Trouble that the ledger cannot know of, such as what a look through the whole file found. */
  warn(reason: string): void;
  stop(): void;
}

export interface StorageWatchDeps {
  readonly ledger: Pick<LedgerClient, 'healthy' | 'onHealth' | 'pending'>;
  readonly unbilled: () => { readonly late: number; readonly rejected: number };
  readonly publish: (status: StorageStatus) => void;
  /** One line for the operator. */
  readonly print: (line: string) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

const checkMs = 1000;

export function createStorageWatch(deps: StorageWatchDeps): StorageWatch {
  let last: StorageStatus = healthyStorage;
  let warning = '';

  const current = (): StorageStatus => {
    const health = deps.ledger.healthy();
    const reason = health.ok ? warning : health.reason;
    const { late, rejected } = deps.unbilled();
    const since = last.reason === reason ? last.since : Math.floor(deps.now() / 1000);
    return { ok: health.ok, reason, since, waiting: deps.ledger.pending().count, late, refused: rejected };
  };
  const check = () => {
    const before = last;
    last = current();
    if (last.ok !== before.ok)
      deps.print(
        last.ok
          ? `storage writes again after ${last.since - before.since} s, paid requests are admitted`
          : `storage is in trouble, paid requests are refused: ${last.reason}; ${last.waiting} settlements wait`,
      );
    if (last.late > before.late && before.late === 0)
      deps.print(
        'an answer ended before its bill was durable: GATEWAY_COMMIT_CEILING_MS is shorter than a commit takes',
      );
    // The number of waiting commands changes with every request; while all is well it is not worth a report.
    const quiet = last.ok && before.ok && last.reason === before.reason;
    if (!quiet || last.late !== before.late || last.refused !== before.refused) deps.publish(last);
  };
  deps.ledger.onHealth(check);
  const timer = setInterval(check, checkMs);
  timer.unref();

  return {
    status: () => last,
    warn(reason) {
      warning = reason;
      deps.print(reason);
      check();
    },
    stop: () => clearInterval(timer),
  };
}
