/** A relay thread without a relay: takes and gives back money in memory that others use at the same moment. */

import { Balances, createMoney } from '../../server/billing/balances/money.ts';
import { Row } from '../../server/billing/balances/open-requests.ts';
import { attachMemory, type MemoryParts } from '../../server/billing/balances/shared-memory.ts';
import type { SlotIndexes } from '../../server/billing/balances/slot.ts';
import { Limits } from '../../server/relay/admission/limits.ts';
import type { Principal } from '../../server/relay/intake/parsed-request.ts';
import { compileSettings } from '../../server/relay/state/settings.ts';
import { randomOf } from '../support/random.ts';

declare const self: {
  onmessage: ((event: MessageEvent<Order>) => void) | null;
  postMessage(message: unknown): void;
};

export interface Order {
  readonly thread: number;
  readonly memory: MemoryParts;
  readonly places: SlotIndexes;
  readonly rows: readonly number[];
  readonly what: 'holds' | 'limits' | 'fractions' | 'forever';
  readonly principal: Principal;
  readonly options: Readonly<Record<string, string>>;
  readonly times: number;
  readonly seed: number;
  /** All threads begin together: the count of those that are ready. */
  readonly gate: SharedArrayBuffer;
  readonly threads: number;
}

self.onmessage = ({ data }) => {
  const money = createMoney(attachMemory(data.memory, data.thread));
  money.accounts.bind(data.places);
  for (const first of data.rows) money.open.add(first);
  const balances = new Balances(money);
  const settings = compileSettings(new Map(Object.entries(data.options)), 0);
  const limits = new Limits({ state: { settings }, monoNow: () => 1e9, money });
  const random = randomOf(data.seed);
  const { user, token } = data.principal;
  const tokenId = token?.id ?? 0;
  const account = balances.account(user.id, tokenId);
  const begin = (serial: number) =>
    money.open.begin(account, {
      ref: `${data.thread}-${serial}`,
      model: 'm',
      group: 'default',
      startedMs: 0,
      streams: false,
      promptTokens: 1,
      selfUse: false,
      epoch: 0,
    });
  const gate = new Int32Array(data.gate);
  Atomics.add(gate, 0, 1);
  while (Atomics.load(gate, 0) < data.threads);

  let admitted = 0;
  if (data.what === 'holds') for (let n = 0; n < data.times; n++) if (account.reserve(100).ok) admitted++;
  if (data.what === 'fractions')
    for (let n = 0; n < data.times; n++) admitted += account.settle({ reserved: 0, charged: 0, rest: 490_000_000_000 });
  if (data.what === 'limits')
    for (let n = 0; n < data.times; n++)
      try {
        limits.enter(data.principal, {}).reserve({ tokens: 0 });
        admitted++;
      } catch {
        // Refused.
      }
  if (data.what !== 'forever') return self.postMessage(admitted);
  // Holds, extends and settles without an end: the test ends the thread.
  self.postMessage('under way');
  for (let serial = 0; ; serial++) {
    const open = begin(serial);
    if (open === null) continue;
    try {
      const admission = limits.enter(data.principal, { open });
      admission.reserve({ tokens: 5 });
      const max = Math.floor(random() * 50);
      const terms = { max: 50, budget: 50, limits: token?.limits ?? null, open };
      if (!account.reserve(max, terms).ok) throw new Error('refused');
      if (random() < 0.3) account.reserve(50 - max, { max: 0, open });
      const reserved = open.cells[Row.held] ?? 0;
      // Some stay open for ever.
      if (random() < 0.001) continue;
      const charged = Math.floor(random() * 2);
      account.locked(() => {
        admission.ended(5, true);
        account.settle({ reserved, max: 50, budget: 50, charged, open });
      });
      money.open.over(open);
    } catch {
      money.open.over(open);
    }
  }
};
