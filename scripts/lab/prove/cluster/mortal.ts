/** The gateway with a hand inside: SIGUSR2 ends one of its relay threads as a defect of the runtime would. */
const relays = new Set<Worker>();
const Plain = globalThis.Worker;

globalThis.Worker = class extends Plain {
  constructor(entry: string | URL, options?: WorkerOptions) {
    super(entry, options);
    if (!String(entry).includes('/threads/relay/')) return;
    relays.add(this);
    this.addEventListener('close', () => relays.delete(this));
  }
};
process.on('SIGUSR2', () => {
  for (const relay of relays) return relay.terminate();
});

export {};

await import('../../../../cli/main.ts');
