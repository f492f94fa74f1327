/** Thread entry: one relay of several. The first message brings everything it needs. */

import { Balances, createMoney } from '../../billing/balances/money.ts';
import { rowsTogether } from '../../billing/balances/open-requests.ts';
import { attachMemory } from '../../billing/balances/shared-memory.ts';
import { createNodeLease } from '../../billing/leases/node-lease.ts';
import { createLedgerClient, ledgerPortOf } from '../../billing/ledger/client.ts';
import { AppError } from '../../contract/errors.ts';
import { type CountAnswer, type CountingThread, createTokenCounter } from '../../relay/admission/counting/counter.ts';
import { BodyMemory } from '../../relay/intake/body-memory.ts';
import { isOurs } from '../../relay/shared/defect.ts';
import { createRelayState } from '../../relay/state/state.ts';
import { threadTimers } from './clock.ts';
import { processMemory } from './environment.ts';
import type { FromRelay, RelayStart, RelayStatus, RelayUpdate, ToRelay } from './messages.ts';
import { Pulse } from './pulse.ts';
import { createServing } from './serving.ts';

declare const self: {
  onmessage: ((event: MessageEvent<ToRelay>) => void) | null;
  postMessage(message: FromRelay): void;
};

/** Interval of health reports; other threads learn of a change that late. */
const checkMs = 50;

/** Tokens are counted by one thread for all relays. */
function countingThread(): CountingThread {
  return {
    postMessage: (request) => self.postMessage({ kind: 'count', ...request }),
    onmessage: null,
    onerror: null,
    terminate: () => undefined,
  };
}

function start(order: RelayStart): (message: ToRelay) => void {
  const memory = attachMemory(order.memory, order.thread);
  const timers = threadTimers(order.clock);
  const money = createMoney(
    memory,
    undefined,
    order.leased ? createNodeLease(memory, { monoNow: timers.monoNow, wall: timers.now }) : null,
  );
  const balances = new Balances(money);
  for (const first of order.rows) money.open.add(first);
  // Balances are seen to by the main thread, before it passes rows on.
  const state = createRelayState({ observeBudgets: (all) => balances.budgets.set(all) }, timers.now);
  const ledger = createLedgerClient(ledgerPortOf(order.ledger), undefined, timers);
  order.ledger.start();
  const counting = countingThread();
  const serving = createServing({
    order: order.order,
    state,
    balances,
    ledger,
    counter: createTokenCounter(() => counting),
    descriptors: null,
    timers,
    pulse: new Pulse(order.pulse),
    bodies: new BodyMemory(order.bodyCells, order.thread - 1, processMemory(order.order.env)),
    trialCells: order.trialCells,
    send: (message) => self.postMessage(message),
  });
  const receive = ({ chunks, slots, part, update }: RelayUpdate) => {
    memory.attachChunks(chunks);
    money.accounts.bind(slots);
    if (part !== null) state.prepare(part);
    state.apply(update);
  };
  receive(order.update);

  let requested = false;
  const wantRows = () => {
    if (requested || money.open.free() >= 2 * rowsTogether) return;
    requested = true;
    self.postMessage({ kind: 'rows' });
  };
  let last: RelayStatus = { open: 0, forwarded: 0, late: 0, rejected: 0, pending: 0, failure: '' };
  const report = () => {
    wantRows();
    const now = serving.status();
    const { open, forwarded, late, rejected, pending, failure } = last;
    if (
      now.open === open &&
      now.forwarded === forwarded &&
      now.late === late &&
      now.rejected === rejected &&
      now.pending === pending &&
      now.failure === failure
    )
      return;
    last = now;
    self.postMessage({ kind: 'status', status: now });
  };
  timers.every(report, checkMs);

  serving.open().then((port) => self.postMessage({ kind: 'ready', port }), failed);
  return (message) => {
    if (message.kind === 'snapshotUpdate') {
      receive(message);
      return self.postMessage({ kind: 'applied' });
    }
    if (message.kind === 'counted')
      return counting.onmessage?.({ data: message } as unknown as MessageEvent<CountAnswer>);
    if (message.kind !== 'rows') return serving.receive(message);
    memory.attachChunks(message.chunks);
    for (const first of message.rows) money.open.add(first);
    requested = false;
  };
}

function failed(error: unknown): void {
  const known = error instanceof AppError ? error : new AppError('internal', {}, error);
  const message = error instanceof Error ? error.message : String(error);
  if (isOurs(error)) self.postMessage({ kind: 'print', line: (error instanceof Error && error.stack) || message });
  self.postMessage({ kind: 'failed', code: known.code, params: known.params, message });
}

self.onmessage = ({ data }) => {
  if (data.kind !== 'start') return;
  try {
    const receive = start(data);
    self.onmessage = (event) => receive(event.data);
  } catch (error) {
    failed(error);
  }
};
