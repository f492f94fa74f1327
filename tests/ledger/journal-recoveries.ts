/**
 * Books with a journal whose machine loses its power: the tables go back to any commit since the last durable one, the
 * journal lacks any sectors of what was not synced, and the next start has everything that was acknowledged, once.
 */

import { strict as assert } from 'node:assert';
import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { newJournal, replayFiles } from '../../db/journal/replay.ts';
import { JournaledStore, NotWritten } from '../../db/ledger/sqlite/journaled.ts';
import { createLedgerStore } from '../../db/ledger/sqlite/store.ts';
import type { SqliteDatabase } from '../../db/open.ts';
import type { LedgerCommand } from '../../server/billing/ledger/commands.ts';
import { recover } from '../../server/billing/ledger/recovery.ts';
import type { LedgerStore } from '../../server/billing/ports.ts';
import { randomOf } from '../support/random.ts';
import { VirtualTime } from '../support/virtual-time.ts';
import { MemoryFile } from './journal-cuts.ts';
import { addUsers, deduct, grant, openBooks, refund, reserve, settle, violations } from './support.ts';

const size = 8 * 1024;

/** @param folder empty; left empty. @throws AssertionError with the seed. @returns how often the power failed. */
export async function playRecoveries(seed: number, cuts: number, folder: string): Promise<number> {
  const random = randomOf(seed);
  const upTo = (n: number) => Math.floor(random() * n);
  const say = (what: string) => `seed ${seed}: ${what}`;
  const file = join(folder, 'gateway.db');
  let files: [MemoryFile, MemoryFile] = [new MemoryFile(size), new MemoryFile(size)];
  /** Refs whose end was acknowledged, and those that were sent without an answer. */
  const acknowledged = new Map<string, number>();
  let made = 0;
  let failures = 0;
  let books: SqliteDatabase = await openBooks(file);
  addUsers(books.raw, 1, 2);
  createLedgerStore(books.raw).apply([grant('g1', 1, 5000), grant('g2', 2, 300)]);

  /** The tables as they are now, for a machine that comes back to them. */
  let copies = 0;
  let kept: string[] = [];
  const keep = () => {
    const at = join(folder, `copy-${++copies}`);
    mkdirSync(at);
    for (const end of ['', '-wal']) if (existsSync(file + end)) copyFileSync(file + end, join(at, `gateway.db${end}`));
    kept.push(at);
  };
  const forget = () => {
    for (const at of kept) rmSync(at, { recursive: true, force: true });
    kept = [];
  };

  while (failures < cuts) {
    const plain = createLedgerStore(books.raw);
    const { journal } = replayFiles(files, file, plain);
    recover(plain);
    check(books);
    forget();
    keep();
    let isEach = true;
    const store: LedgerStore = {
      ...plain,
      commits(durable, busyMs) {
        isEach = durable === 'each';
        plain.commits(durable, busyMs);
      },
      apply(commands, journaled) {
        const outcome = plain.apply(commands, journaled);
        // A durable commit is a commit of everything before it.
        if (isEach && (commands.length === 0 || outcome.results.some(({ status }) => status === 'done'))) forget();
        keep();
        return outcome;
      },
    };
    const time = new VirtualTime();
    const journaled = new JournaledStore({
      store,
      onBalance: () => undefined,
      onRejected: ({ ref }, { status }) => assert.fail(say(`${ref} ${status}`)),
      wanted: () => undefined,
      timers: time,
    });
    journaled.use(journal ?? newJournal(files, plain));
    const open: string[] = [];
    const fresh = (): LedgerCommand[] => {
      const ref = `r${++made}`;
      const user = 1 + upTo(2);
      switch (upTo(9)) {
        case 0:
          open.push(ref);
          return [reserve(ref, user, 1 + upTo(9))];
        case 1:
          return [reserve(ref, user, 1 + upTo(9)), settle(ref, user, 10 + upTo(9))];
        case 2: {
          const [held] = open.splice(0, 1);
          return held === undefined ? [settle(ref, user, upTo(40))] : [settle(held, user, 20)];
        }
        case 3:
          return [{ type: 'void', ref, log: null }];
        case 4:
          return upTo(3) === 0 ? [grant(`g${ref}`, user, 5)] : [settle(ref, user, 1)];
        case 5:
          return upTo(3) === 0 ? [deduct(`d${ref}`, user, 1)] : [settle(ref, user, 1)];
        case 6: {
          const [of] = [...acknowledged.keys()].slice(-3);
          return of === undefined || upTo(3) > 0 ? [settle(ref, user, 2)] : [refund(of, user, 1)];
        }
        default:
          return [settle(ref, user, upTo(60))];
      }
    };
    let again: LedgerCommand[] = [];
    const steps = 3 + upTo(25);
    for (let step = 0; step < steps; step++) {
      const batch = [...again, ...Array.from({ length: 1 + upTo(4) }, fresh).flat()];
      const fails = upTo(10) === 0;
      const isLast = step === steps - 1;
      if (fails || (isLast && upTo(2) === 0))
        for (const one of files)
          one.fault = (kind) => {
            if (kind === 'sync') throw new Error('EIO');
          };
      try {
        const { results } = journaled.apply(batch);
        for (const [index, { status }] of results.entries()) {
          const command = batch[index];
          if (command?.type === 'settle' && status === 'done') acknowledged.set(command.ref, command.amount);
        }
        again = [];
      } catch (error) {
        if (!(error instanceof NotWritten)) throw error;
        again = batch.filter(({ type }) => type === 'settle' || type === 'hold' || type === 'void');
      }
      if (!isLast) for (const one of files) one.fault = () => undefined;
      if (upTo(3) === 0) time.jump(250);
    }
    // The power fails.
    const cut = files.map((one) => one.cut(() => random() < 0.5));
    await books.close();
    const back = kept[upTo(kept.length)] ?? '';
    for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true });
    for (const end of ['', '-wal'])
      if (existsSync(join(back, `gateway.db${end}`))) copyFileSync(join(back, `gateway.db${end}`), file + end);
    files = [new MemoryFile(size), new MemoryFile(size)];
    for (const [at, bytes] of cut.entries()) files[at as 0 | 1].become(bytes);
    books = await openBooks(file);
    failures++;
  }
  replayFiles(files, file, createLedgerStore(books.raw));
  recover(createLedgerStore(books.raw));
  check(books);
  forget();
  await books.close();
  return failures;

  function check({ raw }: SqliteDatabase): void {
    const posted = new Map(
      raw
        .prepare<{ ref: string; amount: number }>("SELECT ref, amount FROM postings WHERE kind = 'settle'")
        .all()
        .map(({ ref, amount }) => [ref, amount]),
    );
    for (const [ref, amount] of acknowledged)
      if (amount > 0) assert.equal(posted.get(ref), amount, say(`${ref} is there with its amount`));
    assert.deepEqual(violations(books), [], say('the books add up'));
    assert.equal(raw.prepare('SELECT count(*) FROM holds').pluck().get(), 0, say('no hold is left'));
  }
}
