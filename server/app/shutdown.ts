/** Ends serving: open requests may end, then they are ended; pending settlements are written to the database or kept for the next start; no wait is unlimited. */

import type { LedgerClient } from '../billing/ledger/client.ts';
import type { LedgerCommand } from '../billing/ledger/commands.ts';
import { type PendingOutbox, writePending } from '../billing/ledger/pending.ts';
import { AppError } from '../contract/errors.ts';
import { reasonText } from '../contract/storage-reasons.ts';
import type { HttpServer } from '../http/http-server.ts';
import type { TokenCounter } from '../relay/admission/counting/counter.ts';
import type { Relay } from '../relay/relay.ts';
import { until } from '../threads/watch-thread.ts';

export interface Stop {
  /** @param delayMs balancers are notified while new requests are still served. @param graceMs then open requests may end; those that do not are ended, and everything is closed. */
  stop(graceMs: number, delayMs?: number): Promise<void>;
  /** Ends open requests now, without the grace period. */
  shutDownNow(): void;
}

export interface StopDeps {
  readonly server: Pick<HttpServer, 'leave' | 'drain' | 'forwarded' | 'stop'>;
  readonly relay: Pick<Relay, 'open' | 'cut' | 'close'>;
  /** Other threads have nothing open either. Until then a server that has moved keeps idle connections: what comes over them is forwarded. */
  readonly othersEnded: () => boolean;
  readonly ledger: LedgerClient;
  readonly counter: Pick<TokenCounter, 'close'>;
  readonly keep: KeepDeps;
}

/** Where pending settlements are kept for the next start. */
export interface KeepDeps {
  readonly pending: readonly PendingOutbox[];
  /** Makes names of this thread's own. */
  readonly mark: string;
  readonly print: (line: string) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Open requests are settled within five seconds of the second signal. */
const cutMs = 3000;
const forceCloseMs = 500;
const commitMs = 1000;
const closeTimeoutMs = 500;
/** Trouble that lasts so long is not waited for any more. */
const failureGraceMs = 3000;
const retrySeconds = 5;

/**
 * Writes pending settlements to files when the database cannot take them. Where no file that outlives the process can be
 * written either, they are printed and stay unsettled: the ends of their answers are not sent.
 * @returns whether everything pending is durable.
 */
export async function keepPending(ledger: Pick<LedgerClient, 'saveUnsettled'>, deps: KeepDeps): Promise<boolean> {
  let paths: readonly string[] = [];
  let unsettled: readonly LedgerCommand[] = [];
  try {
    const count = await ledger.saveUnsettled(async (commands) => {
      unsettled = commands;
      const stamp = new Date(deps.now()).toISOString().replace(/[:.]/g, '-');
      paths = await writePending(deps.pending, `${stamp}${deps.mark}`, commands);
    });
    if (count > 0)
      deps.print(
        `${count} settlements could not be written to the database; the next start reads them from ${paths.join(', ')}`,
      );
    return true;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    deps.print(
      `what is owed could not be written anywhere (${reason}), and the ends of these answers are not sent; put these lines into ${deps.pending[0]?.dir}/${deps.pending[0]?.name}1.jsonl:`,
    );
    for (const command of unsettled) deps.print(JSON.stringify(command));
    return false;
  }
}

/** Ends one relay thread's serving. */
export function createStop(deps: StopDeps): Stop & { fail(error: AppError): Promise<void> } {
  const { relay, ledger, server } = deps;
  let hurried = false;
  let ending: Promise<void> | null = null;
  /** Requests that are complete except for their bill. */
  const onlyBills = () => relay.open() <= ledger.pending().count;

  const drained = async (graceMs: number): Promise<void> => {
    let healthyMs = performance.now();
    await until(() => {
      if (ledger.healthy().ok || !onlyBills()) healthyMs = performance.now();
      const failedTooLong = performance.now() - healthyMs >= failureGraceMs;
      const ended = relay.open() === 0 && server.forwarded() === 0 && deps.othersEnded();
      return ended || hurried || failedTooLong;
    }, graceMs);
  };

  const settled = async (reason: AppError): Promise<void> => {
    relay.cut(reason);
    if (!(await until(onlyBills, cutMs))) {
      // Counting takes too long: the rest is estimated.
      deps.counter.close();
      await until(onlyBills, forceCloseMs);
    }
    if (ledger.healthy().ok) await until(() => ledger.pending().count === 0, commitMs);
    // Without a durable settlement nothing more is sent: the connections are closed as they are.
    if (!(await keepPending(ledger, deps.keep))) return;
    if (await until(() => relay.open() === 0, closeTimeoutMs)) return;
    await keepPending(ledger, deps.keep);
  };

  const close = (): Promise<void> => server.stop(closeTimeoutMs);

  const shutDown = new AppError('shutting_down', { seconds: retrySeconds });
  return {
    stop(graceMs, delayMs = 0) {
      ending ??= (async () => {
        server.leave();
        if (delayMs > 0) await until(() => hurried, delayMs);
        relay.close(shutDown);
        server.drain();
        await drained(graceMs);
        await settled(shutDown);
        await close();
      })();
      return ending;
    },
    shutDownNow() {
      hurried = true;
    },
    fail(error) {
      hurried = true;
      ending ??= (async () => {
        // The operator sees the reason; a client sees what it means for its request.
        const reason = new AppError('storage_unavailable', {
          reason: reasonText('thread_gone', { thread: error.params.thread ?? '' }),
          seconds: retrySeconds,
        });
        relay.close(reason);
        server.drain();
        await settled(reason);
        await close();
      })();
      return ending;
    },
  };
}
