/** Starts threads, from the sources and from the compiled executable alike. */
import { counterPath } from './counter-path.ts';

declare const GATEWAY_COMPILED: boolean | undefined;
const compiled = typeof GATEWAY_COMPILED !== 'undefined' && GATEWAY_COMPILED;

const entries = {
  ledger: 'server/threads/ledger/worker.ts',
  node: 'server/cluster/worker.ts',
  check: 'server/threads/database-check/worker.ts',
  backup: 'server/domain/backup/worker.ts',
  control: 'server/threads/control/worker.ts',
  relay: 'server/threads/relay/worker.ts',
  counter: 'server/relay/admission/counting/worker.ts',
} as const;

/** In the executable, entry points keep their path from the project's root, as JavaScript. */
export type ThreadName = keyof typeof entries;

export function startThread(name: ThreadName): Worker {
  if (name === 'counter' && counterPath !== null) return new Worker(counterPath);
  const entry = entries[name];
  return compiled ? new Worker(`./${entry}`) : new Worker(new URL(`../../${entry}`, import.meta.url));
}

/** A thread that reads its modules while others get ready; it begins its work when it is told to. */
export interface EarlyThread {
  /** The first time the one that was started early, if it lives. */
  take(): Worker;
  terminate(): void;
}

export function startEarly(name: ThreadName): EarlyThread {
  let early: Worker | null = startThread(name);
  const gone = (event: Event) => {
    event.preventDefault();
    early = null;
  };
  early.addEventListener('error', gone);
  early.addEventListener('close', gone);
  return {
    take() {
      const thread = early ?? startThread(name);
      thread.removeEventListener('error', gone);
      thread.removeEventListener('close', gone);
      early = null;
      return thread;
    },
    terminate: () => early?.terminate(),
  };
}
