/** The terminal's program with a hand inside: a line on standard input does something to one of its threads. */
import { createInterface } from 'node:readline';

const names = ['ledger', 'control', 'counter'] as const;
const threads = new Map<string, Worker>();
let relayThreads = 0;
const Plain = globalThis.Worker;

globalThis.Worker = class extends Plain {
  constructor(entry: string | URL, options?: WorkerOptions) {
    super(entry, options);
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
});

await import('../../cli/main.ts');
