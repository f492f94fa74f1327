/** The control thread, which stands still once it has told the relays what it read, until a file is there. */
import { existsSync } from 'node:fs';
import '../../server/threads/control/worker.ts';

declare const self: { postMessage(message: { readonly kind: string }): void };

const file = process.env.TEST_HOLD_FILE ?? '';
const post = self.postMessage.bind(self);
self.postMessage = (message) => {
  post(message);
  if (message.kind === 'snapshot') while (!existsSync(file)) Bun.sleepSync(5);
};
