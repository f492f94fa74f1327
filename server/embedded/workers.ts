/** Starts threads, from the sources and from the compiled executable alike. */
import { readFileSync } from 'node:fs';
import { zstdDecompressSync } from 'node:zlib';
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
  reader: 'server/threads/reader/worker.ts',
  counter: 'server/relay/admission/counting/worker.ts',
} as const;

/** In the executable, entry points keep their path from the project's root, as JavaScript. */
export type ThreadName = keyof typeof entries;

const waiting = new Map<ThreadName, Worker>();

/** The one that was started early, if it lives. */
export function startThread(name: ThreadName): Worker {
  const early = waiting.get(name);
  if (early === undefined) return newThread(name);
  waiting.delete(name);
  early.removeEventListener('error', remove);
  early.removeEventListener('close', remove);
  return early;
}

function newThread(name: ThreadName): Worker {
  if (name === 'counter' && counterPath !== null) return unpackedCounter(counterPath);
  const entry = entries[name];
  return compiled ? new Worker(`./${entry}`) : new Worker(new URL(`../../${entry}`, import.meta.url));
}

function unpackedCounter(file: string): Worker {
  const url = URL.createObjectURL(new Blob([zstdDecompressSync(readFileSync(file))], { type: 'text/javascript' }));
  const thread = new Worker(url);
  // `open` comes before the code was read.
  const revoke = () => URL.revokeObjectURL(url);
  thread.addEventListener('message', revoke, { once: true });
  thread.addEventListener('close', revoke, { once: true });
  return thread;
}

/** The worker loads its modules while others get ready, and begins its work when its creator orders that. */
export function startEarly(name: ThreadName): void {
  if (waiting.has(name)) return;
  const thread = newThread(name);
  thread.addEventListener('error', remove);
  thread.addEventListener('close', remove);
  waiting.set(name, thread);
}

/** Ends the workers that have not been started since. */
export function endEarly(): void {
  for (const thread of waiting.values()) thread.terminate();
  waiting.clear();
}

/** A caller that starts it gets another worker, and its error. */
function remove(event: Event): void {
  event.preventDefault();
  for (const [name, thread] of waiting) if (thread === event.target) waiting.delete(name);
}
