/** Starts threads, from the sources and from the compiled executable alike. */
import { counterPath } from './counter-path.ts';

declare const GATEWAY_COMPILED: boolean | undefined;
const compiled = typeof GATEWAY_COMPILED !== 'undefined' && GATEWAY_COMPILED;

const entries = {
  ledger: 'server/ledger/worker.ts',
  node: 'server/cluster/worker.ts',
  check: 'server/ledger/check-worker.ts',
  backup: 'server/domain/backup/worker.ts',
  control: 'server/control/worker.ts',
  relay: 'server/serving/worker.ts',
  counter: 'server/relay/admission/counting/worker.ts',
} as const;

/** In the executable, entry points keep their path from the project's root, as JavaScript. */
export function startThread(name: keyof typeof entries): Worker {
  if (name === 'counter' && counterPath !== null) return new Worker(counterPath);
  const entry = entries[name];
  return compiled ? new Worker(`./${entry}`) : new Worker(new URL(`../../${entry}`, import.meta.url));
}
