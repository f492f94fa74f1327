/** Thread entry: the ledger of a node, in place of `ledger/worker.ts` where several machines share one site. */

import { controlName, type LedgerMessage } from '../billing/ledger/client.ts';
import { AppError } from '../contract/errors.ts';
import { type HostPort, hostLedger, hostPortOf } from '../threads/ledger/host.ts';
import type { LedgerReport } from '../threads/ledger/worker.ts';
import type { SlotsUpdate } from './lease-store-shared.ts';
import { type NodeOrder, openNodeLedger } from './node-ledger.ts';

type Incoming =
  | string
  | { readonly kind: 'start'; readonly node: NodeOrder; readonly port: MessagePort }
  | SlotsUpdate
  | { readonly kind: 'port'; readonly port: MessagePort; readonly name: string }
  | { readonly kind: 'leaving' | 'close' };

declare const self: {
  onmessage: ((event: MessageEvent<Incoming>) => void) | null;
  postMessage(message: string | LedgerReport | { readonly kind: 'closed' | 'drain' }): void;
};

async function start(order: Extract<Incoming, { kind: 'start' }>) {
  const ports = new Map<string, MessagePort>();
  const toMain = (message: LedgerMessage) => self.postMessage(JSON.stringify(message));
  const ledger = await openNodeLedger(order.node, {
    message: toMain,
    health(health) {
      toMain({ kind: 'health', health });
      for (const port of ports.values()) port.postMessage(JSON.stringify({ kind: 'health', health }));
    },
    print: (line) => void process.stderr.write(`${line}\n`),
    drain: () => self.postMessage({ kind: 'drain' }),
    onMigration: (step) => self.postMessage({ kind: 'migrating', step }),
  });
  const host = (port: MessagePort, name: string) => {
    ports.set(name, port);
    hostLedger(ledger.engine, hostPortOf(port), ledger.answer);
    port.start();
  };
  host(order.port, controlName);
  return { books: ledger, host };
}

self.onmessage = ({ data }) => {
  if (typeof data === 'string' || data.kind !== 'start') return;
  start(data)
    .then(({ books: ledger, host }) => {
      const port: HostPort = { postMessage: (message) => self.postMessage(message), onmessage: null };
      hostLedger(ledger.engine, port, ledger.answer);
      self.onmessage = (event) => {
        const message = event.data;
        if (typeof message === 'string') port.onmessage?.(event as MessageEvent<string>);
        else if (message.kind === 'port') host(message.port, message.name);
        else if (message.kind === 'places') ledger.update(message);
        else if (message.kind === 'leaving') ledger.stopping();
        else if (message.kind === 'close') void ledger.close().then(() => self.postMessage({ kind: 'closed' }));
      };
      self.postMessage({ kind: 'ready', ...ledger.report, missing: null });
    })
    .catch((error: unknown) => {
      self.postMessage({
        kind: 'failed',
        code: error instanceof AppError ? error.code : '',
        message: error instanceof Error ? error.message : String(error),
        ...(error instanceof AppError ? { params: error.params } : {}),
      });
    });
};
