import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { createLedgerStore } from '../../db/ledger/sqlite/store.ts';
import { recover } from '../../server/billing/ledger/recovery.ts';
import { diskFolder } from '../support/disk-folder.ts';
import { often } from '../support/often.ts';
import { addCode, addOrder, addUsers, grant, openBooks, violations } from './support.ts';

const rounds = often(4, 12, 'CRASH_ROUNDS');
const perRound = 400;
const child = resolve(import.meta.dirname, 'crash-child.ts');

/** Runs the child until it has said so much, then kills it. @returns the refs it called durable. */
async function killedRun(file: string, round: number): Promise<string[]> {
  const process_ = spawn(process.execPath, [child, file, String(round)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const durable: string[] = [];
  createInterface({ input: process_.stdout }).on('line', (line) => {
    if (durable.push(line) === 25 + ((round * 37) % 150)) process_.kill('SIGKILL');
  });
  await new Promise((done, failed) => process_.on('close', done).on('error', failed));
  // The last line may have been cut in the middle by the kill.
  return durable.slice(0, -1);
}

test('killed in the middle of spending, redeeming, paying and refunding: nothing lost, nothing doubled', async () => {
  const dir = diskFolder('ledger-crash');
  const file = join(dir, 'gateway.db');
  let checked = 0;
  for (let round = 0; round < rounds; round++) {
    const before = await openBooks(file);
    if (round === 0) {
      addUsers(before.raw, 1, 2);
      createLedgerStore(before.raw).apply([grant('g1', 1, 1e9), grant('g2', 2, 1e9)]);
    }
    before.raw.transaction(() => {
      for (let step = 1; step < perRound; step++) {
        addCode(before.raw, round * perRound + step, 100);
        addOrder(before.raw, `t${round * perRound + step}`, 1, 70);
      }
    })();
    await before.close();
    const durable = await killedRun(file, round);
    const after = await openBooks(file);
    const { raw } = after;
    recover(createLedgerStore(raw));
    expect(violations(after)).toEqual([]);
    expect(raw.prepare('SELECT count(*) FROM holds').pluck().get()).toBe(0);
    const posted = raw.prepare<number>('SELECT count(*) FROM postings WHERE ref = ?').pluck();
    for (const ref of durable) if (posted.get(ref) !== 1) throw new Error(`round ${round}: ${ref} is lost or doubled`);
    checked += durable.length;
    await after.close();
  }
  rmSync(dir, { recursive: true, force: true });
  expect(checked).toBeGreaterThan(rounds * 20);
});
