/** How serving ends: it is asked to stop, something it cannot do without is gone, or another server has taken its place. */
import { AppError } from '../contract/errors.ts';
import { reasonText } from '../contract/storage-reasons.ts';
import type { LedgerThread } from '../threads/ledger/thread.ts';
import type { RelayPool } from '../threads/relay/relay-pool.ts';
import type { Stop } from './shutdown.ts';

export interface StopHandler extends Stop {
  /** A thread is gone without which nothing works. */
  fail(thread: 'ledger' | 'control' | 'relay', reason: string): void;
  /** Another server serves: ends open requests, then everything. */
  stopAfterHandover(): Promise<void>;
  /** Resolves when serving has ended by itself, with the reason. */
  readonly failed: Promise<AppError>;
  /** Another server serves in this one's place. */
  readonly handedOver: Promise<void>;
  /** Resolves when another server serves, and all that was open here has ended. */
  readonly retired: Promise<void>;
}

export interface StopHandlerDeps {
  readonly relayThreads: RelayPool;
  readonly print: (line: string) => void;
  readonly ledgerThread: Pick<LedgerThread, 'leaving'>;
  /** The server before this one settles its requests through it: until then it cannot stop. */
  readonly before: Promise<unknown> | undefined;
  /** Closes everything when nothing is open any more. */
  readonly close: () => Promise<void>;
}

const retrySeconds = 5;
/** Streams that were open at the handover are left to end: the handover does not wait for them. */
const handoverStopMs = 600_000;

export function createStopHandler({ relayThreads, ledgerThread, print, before, close }: StopHandlerDeps): StopHandler {
  const failed = Promise.withResolvers<AppError>();
  const handedOver = Promise.withResolvers<void>();
  const retired = Promise.withResolvers<void>();
  let hasSuccessor = false;
  let isFailed = false;
  let ending: Promise<void> | null = null;
  return {
    fail(thread, why) {
      const error = new AppError('thread_died', { thread, reason: why });
      print(error.message);
      isFailed = true;
      // The operator sees the reason; a client sees what it means for its request.
      const reason = new AppError('storage_unavailable', {
        reason: reasonText('thread_gone', { thread }),
        seconds: retrySeconds,
      });
      const failing = relayThreads.fail(reason, thread === 'ledger');
      ending ??= failing.then(close);
      void ending.then(() => failed.resolve(error));
    },
    stopAfterHandover() {
      hasSuccessor = true;
      handedOver.resolve();
      // What the server before this one forwards goes through this one's relays as long as it lives.
      ending ??= relayThreads.stop(handoverStopMs, 0, before).then(async () => {
        await before;
        await close();
      });
      return ending.then(() => {
        if (!isFailed) retired.resolve();
      });
    },
    stop(graceMs, delayMs) {
      if (hasSuccessor) setTimeout(relayThreads.shutDownNow, graceMs).unref();
      if (ending === null) ledgerThread.leaving();
      ending ??= relayThreads.stop(graceMs, delayMs).then(close);
      return ending;
    },
    shutDownNow: relayThreads.shutDownNow,
    failed: failed.promise,
    handedOver: handedOver.promise,
    retired: retired.promise,
  };
}
