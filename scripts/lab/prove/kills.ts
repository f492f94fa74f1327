/**
 * A single machine is killed in the middle of its work, again and again: `prove kills [--kills 200] [--seed N]`. Every answer
 * that a client had whole has to be in the books after the next start, once, with its amount; `ledger verify` after each, in half
 * of them before a server opens the folder again, so that the command is the one that reads the journal.
 */
import { cpSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { command, freePort, start, waitForResponse } from '../../../cli/bench/process.ts';
import { openDatabase } from '../../../db/open.ts';
import type { Goal } from '../bench/goal.ts';
import { createRandom } from './cluster/random.ts';
import { prepareFile, program } from './cluster/site.ts';
import { askOnce } from './cluster/traffic.ts';
import { flag, maxGoal, minGoal } from './site.ts';

const people = Array.from({ length: 4 }, (_, n) => ({ name: `rich${n}`, balance: 10_000_000_000 }));
const clients = 3;
/** Between ready and the kill. */
const longestMs = 900;
const reportEvery = 10;

interface Seen {
  readonly ref: string;
  readonly cost: number;
}

export async function kills(args: readonly string[]): Promise<readonly Goal[]> {
  const seed = flag(args, '--seed', 1 + Math.floor(Math.random() * 1_000_000));
  const rounds = flag(args, '--kills', 200);
  const random = createRandom(seed);
  const folder = mkdtempSync(join(tmpdir(), 'gateway-kills-'));
  const log = openSync(join(folder, 'log'), 'a');
  console.log(`seed ${seed}`);
  const count = { acknowledged: 0, missing: 0, doubled: 0, unsound: 0, starts: 0, inStart: 0, waiting: 0, verified: 0 };
  try {
    const { dataDir, accounts } = await prepareFile(folder, { accounts: people });
    let expected: Seen[] = [];
    const verify = async () => {
      count.verified++;
      await command(program, dataDir, ['ledger', 'verify']).catch((error: unknown) => {
        count.unsound++;
        console.log(String(error));
      });
    };
    for (let round = 0; round < rounds; round++) {
      const isFirst = random.share() < 0.5;
      if (isFirst) await verify();
      const port = freePort();
      const child = start(null, [...program, 'serve', '--port', String(port)], { GATEWAY_DATA_DIR: dataDir }, log);
      const url = `http://127.0.0.1:${port}`;
      // One in eight dies while it starts.
      if (random.share() < 0.125) {
        await Bun.sleep(random.whole(20, 400));
        child.kill('SIGKILL');
        await child.exited;
        count.inStart++;
        continue;
      }
      await waitForResponse(`${url}/readyz`, (status) => status === 200).catch((error: unknown) => {
        console.log(
          `round ${round}, exit code ${child.exitCode}:\n${readFileSync(join(folder, 'log'), 'utf8').slice(-2000)}`,
        );
        throw error;
      });
      count.starts++;
      if (!isFirst) await verify();
      const found = await chargesIn(join(dataDir, 'gateway.db'));
      for (const { ref, cost } of expected) {
        const charge = found.get(ref);
        if (charge === undefined || charge.amount !== cost) {
          count.missing++;
          console.log(`round ${round}: ${ref} ${cost}, found ${JSON.stringify(charge)}`);
        }
      }
      count.doubled += [...found.values()].filter(({ rows }) => rows > 1).length;
      expected = [];
      let over = false;
      const going = accounts.flatMap((account) =>
        Array.from({ length: clients }, async () => {
          while (!over) {
            const one = await askOnce(url, account, {
              stream: random.share() < 0.3,
              content: `question ${random.whole(1, 999)}`,
            });
            if (one.whole && !over) expected.push({ ref: one.ref, cost: one.cost });
          }
        }),
      );
      await Bun.sleep(random.whole(30, longestMs));
      child.kill('SIGKILL');
      over = true;
      await child.exited;
      await Promise.all(going);
      count.acknowledged += expected.length;
      // What the tables lack now only the journal has.
      const before = await chargesIn(copyOf(dataDir, folder));
      count.waiting += expected.filter(({ ref }) => !before.has(ref)).length;
      if ((round + 1) % reportEvery === 0) console.log(`${round + 1} of ${rounds} kills: ${JSON.stringify(count)}`);
    }
    await verify();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return [
    minGoal('answers acknowledged before a kill', count.acknowledged, rounds, ''),
    minGoal('of them only in the journal', count.waiting, 1, ''),
    minGoal('starts after a kill', count.starts + count.inStart, rounds, ''),
    maxGoal('acknowledged charges missing', count.missing, 0, ''),
    maxGoal('charges doubled', count.doubled, 0, ''),
    minGoal('ledgers verified', count.verified, rounds * 0.8, ''),
    maxGoal('ledgers that do not add up', count.unsound, 0, ''),
  ];
}

/** Nobody writes to it while it is looked at. */
function copyOf(dataDir: string, folder: string): string {
  const copy = join(folder, 'copy');
  rmSync(copy, { recursive: true, force: true });
  for (const name of readdirSync(dataDir).filter((one) => /^gateway\.db(?:-wal)?$/.test(one)))
    cpSync(join(dataDir, name), join(copy, name));
  return join(copy, 'gateway.db');
}

async function chargesIn(file: string): Promise<Map<string, { readonly amount: number; readonly rows: number }>> {
  const database = await openDatabase({ engine: 'sqlite', file });
  try {
    const rows = database.raw
      .prepare<{ ref: string; amount: number; rows: number }>(
        `SELECT CASE instr(ref, '#') WHEN 0 THEN ref ELSE substr(ref, 1, instr(ref, '#') - 1) END AS ref,
          sum(CASE WHEN credit = -2 THEN amount ELSE -amount END) AS amount,
          count(*) FILTER (WHERE kind = 'settle' AND ref NOT LIKE '%#%') AS rows
        FROM postings WHERE credit = -2 OR debit = -2 GROUP BY 1`,
      )
      .all();
    return new Map(rows.map((row) => [row.ref, row]));
  } finally {
    await database.close();
  }
}
