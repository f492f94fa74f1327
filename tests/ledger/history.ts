/** One seeded history: a few people, some dozen commands in batches, crashes and restarts, checked against the model step by step. */

import { strict as assert } from 'node:assert';
import { createLedgerStore } from '../../db/ledger/sqlite/store.ts';
import type { LedgerCommand } from '../../server/billing/ledger/commands.ts';
import { recover } from '../../server/billing/ledger/recovery.ts';
import type { Outcome } from '../../server/billing/ports.ts';
import { randomOf } from '../support/random.ts';
import { copyOf, createModel, type Model, play, restart } from './model.ts';
import {
  addCode,
  addOrder,
  addUsers,
  type BreakableDisk,
  deduct,
  grant,
  redeem,
  refund,
  reserve,
  reward,
  settle,
  topUp,
  transfer,
} from './support.ts';

const steps = 14;

/** What a history is played on: the books of any engine, and what may happen to them. */
export interface HistoryBooks {
  addUsers(...ids: readonly number[]): void | Promise<void>;
  addCode(id: number, quota: number): void | Promise<void>;
  addOrder(tradeNo: string, userId: number, quota: number): void | Promise<void>;
  /** Another process on the same books: what the last one left open is ended for it. */
  restart(): void | Promise<void>;
  /** @returns null = nothing of it was written. */
  apply(commands: readonly LedgerCommand[]): Outcome | null | Promise<Outcome | null>;
  /** The n-th step from here on fails. */
  arm(n: number): void;
  disarm(): void;
  account(id: number): Standing | Promise<Standing>;
}

interface Standing {
  readonly balance: number;
  readonly used: number;
  readonly overrun: number;
}

export function sqliteBooks(disk: BreakableDisk): HistoryBooks {
  const { raw } = disk;
  let store = createLedgerStore(raw);
  return {
    addUsers: (...ids) => addUsers(raw, ...ids),
    addCode: (id, quota) => addCode(raw, id, quota),
    addOrder: (tradeNo, userId, quota) => addOrder(raw, tradeNo, userId, quota),
    restart() {
      store = createLedgerStore(raw);
      recover(store);
    },
    apply(commands) {
      try {
        return store.apply(commands);
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'SQLITE_FULL') throw error;
        return null;
      }
    },
    arm: (n) => disk.arm(n),
    disarm: () => void disk.disarm(),
    account: (id) =>
      raw.prepare<Standing>('SELECT balance, used_quota AS used, overrun FROM accounts WHERE id = ?').get(id) ?? {
        balance: 0,
        used: 0,
        overrun: 0,
      },
  };
}

/** @param place a number no other history on the same books has. @throws AssertionError naming the seed. */
export async function playHistory(state: HistoryBooks, seed: number, place: number): Promise<void> {
  const random = randomOf(seed);
  const upTo = (n: number) => Math.floor(random() * n);
  const users = [place * 10 + 1, place * 10 + 2];
  const user = () => users[upTo(2)] ?? 0;
  await state.addUsers(...users);
  let model = createModel(users);
  for (const n of [1, 2]) {
    const id = place * 10 + n;
    await state.addCode(id, 100 * n);
    model.codes.set(id, { quota: 100 * n, used: false });
    await state.addOrder(`t${id}`, id, 70 * n);
    model.orders.set(`t${id}`, { userId: id, quota: 70 * n, paid: false });
  }
  await state.restart();
  const sent: LedgerCommand[] = [];

  const fresh = (planned: Model): LedgerCommand => {
    const who = user();
    const ref = `${place}-${sent.length}-${upTo(1000)}`;
    const rich = Math.max(0, planned.balances.get(who) ?? 0);
    const one = place * 10 + 1 + upTo(2);
    switch (upTo(11)) {
      case 0:
      case 1:
        return grant(`g${ref}`, who, 1 + upTo(500));
      case 2:
        return deduct(`d${ref}`, who, 1 + upTo(300));
      case 3:
      case 4:
        // Some cost more than there is.
        return settle(`r${ref}`, who, Math.min(rich + (upTo(4) === 0 ? 60 : 0), upTo(200)));
      case 5:
        return reserve(`h${ref}`, who, upTo(40));
      case 6:
        return redeem(one, who, 100 * (1 + upTo(2)));
      case 7:
        return topUp(`t${one}`, who, 70 * (1 + upTo(2)));
      case 8:
        return reward(place * 1000 + upTo(5), who, upTo(90));
      case 9:
        return transfer(ref, who, 1 + upTo(80));
      default: {
        const settled = [...planned.posted].filter(([, posting]) => posting.type === 'settle');
        const [of, posting] = settled[upTo(settled.length)] ?? ['nothing', { userId: who, amount: 5 }];
        return refund(of, posting.userId, Math.max(1, posting.amount - upTo(3)));
      }
    }
  };
  const altered = (command: LedgerCommand): LedgerCommand =>
    'amount' in command && command.type !== 'settle' ? { ...command, amount: command.amount + 1 } : command;
  for (let step = 0; step < steps; step++) {
    if (upTo(8) === 0) {
      await state.restart();
      restart(model);
    }
    const planned = copyOf(model);
    const batch: LedgerCommand[] = [];
    const expected: string[] = [];
    for (let n = 1 + upTo(4); n > 0; n--) {
      const again = sent[upTo(sent.length)];
      const command = again === undefined || upTo(4) > 0 ? fresh(planned) : upTo(3) === 0 ? altered(again) : again;
      if (again === command && command.type === 'hold') continue;
      batch.push(command);
      expected.push(play(planned, command));
      sent.push(command);
    }
    if (batch.length === 0) continue;
    const crashes = upTo(6) === 0;
    if (crashes) state.arm(1 + upTo(8));
    const outcome = await state.apply(batch);
    state.disarm();
    if (outcome === null) continue;
    assert.deepEqual(
      outcome.results.map((result) => result.status),
      expected,
      `seed ${seed}: ${JSON.stringify(batch)}`,
    );
    model = planned;
  }
  await state.restart();
  restart(model);
  for (const id of users) {
    const { balance, used, overrun } = await state.account(id);
    assert.equal(balance, model.balances.get(id), `seed ${seed}: balance`);
    assert.equal(used, model.used.get(id) ?? 0, `seed ${seed}: used`);
    assert.equal(overrun, model.pending.get(id) ?? 0, `seed ${seed}: owed`);
    assert.equal((await state.account(-1000 - id)).balance, model.pots.get(id) ?? 0, `seed ${seed}: pot`);
  }
}
