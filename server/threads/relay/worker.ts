/** Thread entry: one relay of several. The first message brings everything it needs. */

import { Balances, createMoney } from '../../billing/balances/balances.ts';
import { rowsTogether } from '../../billing/balances/open-requests.ts';
import { attachMemory } from '../../billing/balances/shared-memory.ts';
import { createNodeLease } from '../../billing/leases/node-lease.ts';
import { createLedgerClient, type LedgerPort } from '../../billing/ledger/client.ts';
import { AppError } from '../../contract/errors.ts';
import { type CountAnswer, type CountingThread, createTokenCounter } from '../../relay/admission/counting/counter.ts';
import { createRelayState } from '../../relay/state/state.ts';
import { createSteadyClock } from './clock.ts';
import type { FromRelay, RelayNews, RelayStanding, RelayStart, ToRelay } from './messages.ts';
import { createServing } from './serving.ts';

declare const self: {
  onmessage: ((event: MessageEvent<ToRelay>) => void) | null;
  postMessage(message: FromRelay): void;
};

/** Between looks at how this relay stands; others know that late. */
const lookMs = 50;

/** Balances are seen to by the main thread, before it passes rows on. */
const nobody = {
  seeUser: () => undefined,
  seeToken: () => undefined,
  forgetUser: () => undefined,
  forgetToken: () => undefined,
};

/** Tokens are counted by one thread for all relays. */
function countingThread(): CountingThread {
  return {
    postMessage: (request) => self.postMessage({ kind: 'count', ...request }),
    onmessage: null,
    onerror: null,
    terminate: () => undefined,
  };
}

function start(given: RelayStart): (message: ToRelay) => void {
  const memory = attachMemory(given.memory, given.thread);
  const steady = createSteadyClock(given.clock);
  const money = createMoney(
    memory,
    undefined,
    given.leased ? createNodeLease(memory, { steady, wall: Date.now }) : null,
  );
  const balances = new Balances(money);
  for (const first of given.rows) money.open.add(first);
  const state = createRelayState(nobody);
  const ledger = createLedgerClient(given.ledger as unknown as LedgerPort);
  given.ledger.start();
  const counting = countingThread();
  const serving = createServing({
    order: given.order,
    state,
    balances,
    ledger,
    counter: createTokenCounter(() => counting),
    descriptors: null,
    steady,
    tell: (message) => self.postMessage(message),
  });
  const hear = ({ chunks, places, news }: RelayNews) => {
    memory.adopt(chunks);
    money.accounts.bind(places);
    state.apply(news);
  };
  hear(given.news);

  let asked = false;
  const wantRows = () => {
    if (asked || money.open.free() >= 2 * rowsTogether) return;
    asked = true;
    self.postMessage({ kind: 'rows' });
  };
  let last: RelayStanding = { open: 0, late: 0, refused: 0, owed: 0, trouble: '' };
  setInterval(() => {
    wantRows();
    const now = serving.standing();
    const { open, late, refused, owed, trouble } = last;
    if (
      now.open === open &&
      now.late === late &&
      now.refused === refused &&
      now.owed === owed &&
      now.trouble === trouble
    )
      return;
    last = now;
    self.postMessage({ kind: 'standing', standing: now });
  }, lookMs);

  serving.open().then((port) => self.postMessage({ kind: 'ready', port }), failed);
  return (message) => {
    if (message.kind === 'news') {
      hear(message);
      return self.postMessage({ kind: 'applied' });
    }
    if (message.kind === 'counted')
      return counting.onmessage?.({ data: message } as unknown as MessageEvent<CountAnswer>);
    if (message.kind !== 'rows') return serving.receive(message);
    memory.adopt(message.chunks);
    for (const first of message.rows) money.open.add(first);
    asked = false;
  };
}

function failed(error: unknown): void {
  const known = error instanceof AppError ? error : new AppError('internal', {}, error);
  const message = error instanceof Error ? error.message : String(error);
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
