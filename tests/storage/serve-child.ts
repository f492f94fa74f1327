/** The terminal's program with a hand inside: a line on standard input does something to one of its threads. */
import { createInterface } from 'node:readline';

const names = ['ledger', 'control', 'counter'] as const;
const threads = new Map<string, Worker>();
let relayThreads = 0;
const Plain = globalThis.Worker;

/** Where a test wants threads to stand still. */
const standing = process.env.TEST_STALL_MS === undefined ? [] : (['control', 'relay'] as const);
const entryOf = (entry: string | URL): string | URL => {
  if (process.env.TEST_HOLD_FILE !== undefined && String(entry).includes('/threads/control/'))
    return new URL('./held-control.ts', import.meta.url);
  const name = standing.find((one) => String(entry).includes(`/threads/${one}/`));
  return name === undefined ? entry : new URL(`./standing-${name}.ts`, import.meta.url);
};

globalThis.Worker = class extends Plain {
  constructor(entry: string | URL, options?: WorkerOptions) {
    super(entryOf(entry), options);
    const name = names.find((one) => String(entry).includes(one === 'counter' ? 'counting' : `/${one}/`));
    if (name !== undefined) threads.set(name, this);
    if (String(entry).includes('/threads/relay/')) threads.set(`relay${++relayThreads}`, this);
  }
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const [what, name = ''] = line.split(' ');
  const thread = threads.get(name);
  // What no thread ever sends: the one that gets it throws where it reads it.
  if (what === 'throw') thread?.postMessage(name === 'ledger' ? 'not JSON' : null);
  if (what === 'terminate') thread?.terminate();
  if (what === 'stall') thread?.postMessage({ kind: 'stall' });
  // The main thread itself, for so many milliseconds.
  if (what === 'stand') for (const end = performance.now() + Number(name); performance.now() < end; );
});

await import('./short-stalls.ts');
await import('../../cli/main.ts');
