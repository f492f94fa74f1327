/** One seeded history: a few people, some dozen commands in batches, crashes and restarts, checked against the model step by step. */
import { strict as assert } from 'node:assert';
import { createLedgerStore } from '../../db/ledger-store.ts';
import type { LedgerCommand } from '../../server/ledger/commands.ts';
import { recover } from '../../server/ledger/recovery.ts';
import { randomOf } from '../support/random.ts';
import { copyOf, createModel, type Model, play, restart } from './model.ts';
import {
  addCode,
  addOrder,
  addUsers,
  type BreakableDisk,
  balanceOf,
  deduct,
  grant,
  hold,
  redeem,
  refund,
  reward,
  settle,
  topUp,
  transfer,
} from './support.ts';

const steps = 14;

/** @param place a number no other history on the same disk has. @throws AssertionError naming the seed. */
export function playHistory(disk: BreakableDisk, seed: number, place: number): void {
  const { raw } = disk;
  const random = randomOf(seed);
  const upTo = (n: number) => Math.floor(random() * n);
  const users = [place * 10 + 1, place * 10 + 2];
  const user = () => users[upTo(2)] ?? 0;
  addUsers(raw, ...users);
  let model = createModel(users);
  for (const n of [1, 2]) {
    const id = place * 10 + n;
    addCode(raw, id, 100 * n);
    model.codes.set(id, { quota: 100 * n, used: false });
    addOrder(raw, `t${id}`, id, 70 * n);
    model.orders.set(`t${id}`, { userId: id, quota: 70 * n, paid: false });
  }
  let store = createLedgerStore(raw);
  recover(store);
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
        return hold(`h${ref}`, who, upTo(40));
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
      store = createLedgerStore(raw);
      recover(store);
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
    if (crashes) disk.arm(1 + upTo(8));
    try {
      const { results } = store.apply(batch);
      assert.deepEqual(
        results.map((result) => result.status),
        expected,
        `seed ${seed}: ${JSON.stringify(batch)}`,
      );
      model = planned;
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'SQLITE_FULL') throw error;
    } finally {
      disk.disarm();
    }
  }
  store = createLedgerStore(raw);
  recover(store);
  restart(model);
  for (const id of users) {
    assert.equal(balanceOf(raw, id), model.balances.get(id), `seed ${seed}: balance`);
    assert.equal(balanceOf(raw, -1000 - id), model.pots.get(id) ?? 0, `seed ${seed}: pot`);
    const used = raw.prepare<number>('SELECT used_quota FROM accounts WHERE id = ?').pluck().get(id);
    assert.equal(used, model.used.get(id) ?? 0, `seed ${seed}: used`);
    const owed = raw.prepare<number>('SELECT overrun FROM accounts WHERE id = ?').pluck().get(id);
    assert.equal(owed, model.owed.get(id) ?? 0, `seed ${seed}: owed`);
  }
}
