/** How serving ends: it is asked to stop, something it cannot do without is gone, or another server has taken its place. */
import { AppError } from '../contract/errors.ts';
import { reasonText } from '../contract/storage-reasons.ts';
import type { TakenOver } from '../handover/new-process.ts';
import type { LedgerThread } from '../threads/ledger/thread.ts';
import type { RelayPool } from '../threads/relay/relay-pool.ts';
import { within } from '../threads/watch-thread.ts';
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
  /** The server before this one, which settles its requests through it: until that has ended it cannot stop. null = there was none. */
  readonly before: Pick<TakenOver, 'ended' | 'hurry'> | null;
  /** Closes everything when nothing is open any more. */
  readonly close: () => Promise<void>;
}

const retrySeconds = 5;
/** Streams that were open at the handover are left to end: the handover does not wait for them. */
const handoverStopMs = 600_000;
/** In which the server before ends everything when it must: answers are cut, counted, billed. */
const hurryMs = 6000;

export function createStopHandler({ relayThreads, ledgerThread, print, before, close }: StopHandlerDeps): StopHandler {
  const failed = Promise.withResolvers<AppError>();
  const handedOver = Promise.withResolvers<void>();
  const retired = Promise.withResolvers<void>();
  const hurried = Promise.withResolvers<void>();
  let hasSuccessor = false;
  let isFailed = false;
  let ending: Promise<void> | null = null;
  let isBeforeOpen = before !== null;
  void before?.ended.then(() => {
    isBeforeOpen = false;
  });
  /** What is open there may end in the time that is left for what is open here. */
  const endBefore = async (graceMs: number): Promise<void> => {
    if (before === null || !isBeforeOpen) return;
    print('the server before this one still ends what it has open; this one stays for it');
    await within(Promise.race([before.ended, hurried.promise]), graceMs);
    before.hurry();
    if (!isFailed) await within(before.ended, hurryMs);
  };
  const shutDownNow = (): void => {
    relayThreads.shutDownNow();
    before?.hurry();
    hurried.resolve();
  };
  return {
    fail(thread, why) {
      const error = new AppError('thread_died', { thread, reason: why });
      print(error.message);
      isFailed = true;
      hurried.resolve();
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
      ending ??= relayThreads.stop(handoverStopMs, 0, before?.ended).then(async () => {
        await before?.ended;
        await close();
      });
      return ending.then(() => {
        if (!isFailed) retired.resolve();
      });
    },
    stop(graceMs, delayMs = 0) {
      if (hasSuccessor) setTimeout(() => relayThreads.shutDownNow(), graceMs).unref();
      if (ending === null) ledgerThread.leaving();
      ending ??= Promise.all([relayThreads.stop(graceMs, delayMs), endBefore(delayMs + graceMs)]).then(close);
      return ending;
    },
    shutDownNow,
    failed: failed.promise,
    handedOver: handedOver.promise,
    retired: retired.promise,
  };
}
