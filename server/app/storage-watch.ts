/** How the store of money stands, as this process sees it: said once on standard error when it changes, told to the control thread for everybody else. */

import type { LedgerClient } from '../billing/ledger/client.ts';
import { type StorageStanding, soundStorage } from '../contract/storage.ts';

export interface StorageWatch {
  standing(): StorageStanding;
  /** Trouble that the ledger cannot know of, such as what a look through the whole file found. */
  warn(reason: string): void;
  stop(): void;
}

export interface StorageWatchDeps {
  readonly ledger: Pick<LedgerClient, 'healthy' | 'onHealth' | 'owed'>;
  readonly unbilled: () => { readonly late: number; readonly refused: number };
  readonly publish: (standing: StorageStanding) => void;
  /** One line for the operator. */
  readonly say: (line: string) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

const lookMs = 1000;

export function createStorageWatch(deps: StorageWatchDeps): StorageWatch {
  let last: StorageStanding = soundStorage;
  let warning = '';

  const current = (): StorageStanding => {
    const health = deps.ledger.healthy();
    const reason = health.ok ? warning : health.reason;
    const { late, refused } = deps.unbilled();
    const since = last.reason === reason ? last.since : Math.floor(deps.now() / 1000);
    return { ok: health.ok, reason, since, waiting: deps.ledger.owed().count, late, refused };
  };
  const look = () => {
    const before = last;
    last = current();
    if (last.ok !== before.ok)
      deps.say(
        last.ok
          ? `storage writes again after ${last.since - before.since} s, paid requests are admitted`
          : `storage is in trouble, paid requests are refused: ${last.reason}; ${last.waiting} settlements wait`,
      );
    if (last.late > before.late && before.late === 0)
      deps.say('an answer ended before its bill was durable: GATEWAY_COMMIT_CEILING_MS is shorter than a commit takes');
    // How many wait changes with every request; that alone is no news while all is well.
    const quiet = last.ok && before.ok && last.reason === before.reason;
    if (!quiet || last.late !== before.late || last.refused !== before.refused) deps.publish(last);
  };
  deps.ledger.onHealth(look);
  const timer = setInterval(look, lookMs);
  timer.unref();

  return {
    standing: () => last,
    warn(reason) {
      warning = reason;
      deps.say(reason);
      look();
    },
    stop: () => clearInterval(timer),
  };
}
