/** The gateway with a hand inside: SIGUSR2 ends one of its relay threads as a defect of the runtime would, and a file sets its clock. */
import { fileURLToPath } from 'node:url';
import './skewed-clock.ts';

const clock = fileURLToPath(new URL('./skewed-clock.ts', import.meta.url));
const relays = new Set<Worker>();
const Plain = globalThis.Worker;

globalThis.Worker = class extends Plain {
  constructor(entry: string | URL, options?: WorkerOptions) {
    super(entry, { ...options, preload: [clock] });
    if (!String(entry).includes('/threads/relay/')) return;
    relays.add(this);
    this.addEventListener('close', () => relays.delete(this));
  }
};
process.on('SIGUSR2', () => {
  for (const relay of relays) return relay.terminate();
});

await import('../../../../cli/main.ts');
