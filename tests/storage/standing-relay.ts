/** The relay thread, which stands still when it is told to. */
import '../../server/threads/relay/worker.ts';

declare const self: { addEventListener(type: 'message', listener: (event: MessageEvent<unknown>) => void): void };

self.addEventListener('message', ({ data }) => {
  if (typeof data !== 'object' || data === null || !('kind' in data) || data.kind !== 'stall') return;
  for (;;);
});
