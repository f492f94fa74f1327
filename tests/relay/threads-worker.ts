/** A relay thread without a relay: takes and gives back money in memory that others use at the same moment. */

import { createBalances } from '../../server/billing/balances/balances.ts';
import { createMoney } from '../../server/billing/balances/money.ts';
import { Row } from '../../server/billing/balances/open-requests.ts';
import { attachMemory, type MemoryParts } from '../../server/billing/balances/shared-memory.ts';
import type { Places } from '../../server/billing/balances/slots.ts';
import { createLimits } from '../../server/relay/admission/limits.ts';
import type { Principal } from '../../server/relay/intake/inquiry.ts';
import { compileSettings } from '../../server/relay/state/settings.ts';
import { randomOf } from '../support/random.ts';

declare const self: {
  onmessage: ((event: MessageEvent<Order>) => void) | null;
  postMessage(message: unknown): void;
};

export interface Order {
  readonly thread: number;
  readonly memory: MemoryParts;
  readonly places: Places;
  readonly rows: readonly number[];
  readonly what: 'holds' | 'limits' | 'forever';
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
  const balances = createBalances(money);
  const settings = compileSettings(new Map(Object.entries(data.options)));
  const limits = createLimits({ settings: () => settings, now: () => 1e12, steady: () => 1e9, money });
  const random = randomOf(data.seed);
  const { user, token } = data.principal;
  const tokenId = token?.id ?? 0;
  const begin = (serial: number) =>
    money.open.begin({
      ref: `${data.thread}-${serial}`,
      model: 'm',
      group: 'default',
      user: money.accounts.user(user.id),
      token: money.accounts.token(tokenId),
      userId: user.id,
      tokenId,
      startedMs: 0,
      streams: false,
      promptTokens: 1,
      house: false,
      epoch: 0,
    });
  const gate = new Int32Array(data.gate);
  Atomics.add(gate, 0, 1);
  while (Atomics.load(gate, 0) < data.threads);

  let admitted = 0;
  if (data.what === 'holds')
    for (let n = 0; n < data.times; n++) if (balances.hold(user.id, tokenId, 100).ok) admitted++;
  if (data.what === 'limits')
    for (let n = 0; n < data.times; n++)
      try {
        limits.admit(data.principal, { tokens: 0, hold: 0, row: 0 });
        admitted++;
      } catch {
        // Refused.
      }
  if (data.what !== 'forever') return self.postMessage(admitted);
  // Holds, extends and settles without an end: somebody ends the thread.
  self.postMessage('under way');
  for (let serial = 0; ; serial++) {
    const row = begin(serial);
    if (row === null) continue;
    try {
      const admission = limits.admit(data.principal, { tokens: 5, hold: 50, row });
      const most = Math.floor(random() * 50);
      if (!balances.hold(user.id, tokenId, most, { most: 50, row }).ok) throw new Error('refused');
      if (random() < 0.3) balances.hold(user.id, tokenId, 50 - most, { most: 0, row });
      const held = money.memory.get(row + Row.held);
      // Some stay open for ever.
      if (random() < 0.001) continue;
      const charged = Math.floor(random() * 2);
      balances.alone(user.id, () => {
        admission.ended({ tokens: 5, charged, success: true });
        balances.settle(user.id, tokenId, { held, most: 50, charged, row });
      });
      money.open.over(row);
    } catch {
      money.open.over(row);
    }
  }
};
