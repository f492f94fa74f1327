/**
 * The database goes away after 0.2, 1, 8 or 65 seconds of use: for how long users that are at work are served, whatever they
 * used before. One user asks ten times a second and 200 (40 without `--full`) once a second each; half of either by a key with a limit.
 */
import type { Goal } from '../../bench/goal.ts';
import { maxGoal, minGoal } from '../site.ts';
import type { PartOrder } from './load.ts';
import type { Account } from './people.ts';
import { type Cluster, openCluster } from './site.ts';
import { askOnce } from './traffic.ts';

/** $4,000. */
const balance = 2_000_000_000;
const before = [0.2, 1, 8, 65];
const outageSeconds = 30;
/** A lease of 30 s serves for 27 since the last heartbeat, which goes out every 3. */
const leastSeconds = 23;
const readyPollMs = 200;

interface Kind {
  readonly name: string;
  readonly perSecond: number;
  readonly accounts: readonly Account[];
}

interface Served {
  readonly name: string;
  /** Seconds since the database went away, of the first that was refused; Infinity = none. */
  first: number;
  refused: number;
  count: number;
}

async function after(cluster: Cluster, kinds: readonly Kind[], seconds: number): Promise<readonly Served[]> {
  const url = cluster.nodes[0]?.url ?? '';
  let stoppedAt = Number.POSITIVE_INFINITY;
  let over = false;
  const open = new Set<Promise<unknown>>();
  /** Whoever asks a node for the first time has no lease there. */
  const known = new Set<Account>();
  const found = kinds.map(({ name }) => ({ name, first: Number.POSITIVE_INFINITY, refused: 0, count: 0 }));
  const going = kinds.flatMap(({ accounts, perSecond }, kind) =>
    accounts.map(async (account, n) => {
      await Bun.sleep(perSecond === 1 ? (n * 7) % 190 : 0);
      for (let next = performance.now(); !over; ) {
        const served = found[kind];
        const asked = askOnce(url, account).then(({ sentAt, status }) => {
          const at = (sentAt - stoppedAt) / 1000;
          if (!(at > 0) && status === 200) known.add(account);
          if (served === undefined || !(at > 0) || !known.has(account)) return;
          if (at < leastSeconds) served.count++;
          if (status === 200) return;
          if (at < leastSeconds) served.refused++;
          served.first = Math.min(served.first, at);
        });
        open.add(asked);
        void asked.finally(() => open.delete(asked));
        next += 1000 / perSecond;
        await Bun.sleep(Math.max(0, next - performance.now()));
      }
    }),
  );
  await Bun.sleep(seconds * 1000);
  cluster.database.stop('immediate');
  stoppedAt = performance.now();
  let ready = 0;
  let said = '';
  while (performance.now() - stoppedAt < outageSeconds * 1000) {
    const response = await fetch(`${url}/readyz`, { keepalive: false });
    const text = await response.text();
    if (response.status === 200) ready = (performance.now() - stoppedAt) / 1000;
    if (text !== said && !text.includes('seconds'))
      console.log(`  ${((performance.now() - stoppedAt) / 1000).toFixed(1)} s: /readyz ${text}`);
    said = text;
    await Bun.sleep(readyPollMs);
  }
  over = true;
  await Promise.all([...going, ...open]);
  cluster.database.start();
  for (const { name, first, refused, count } of found)
    console.log(
      `after ${seconds} s of use, ${name}: first refused after ${first.toFixed(1)} s; within ${leastSeconds} s ${refused} of ${count} refused`,
    );
  console.log(`after ${seconds} s of use: /readyz said 200 until ${ready.toFixed(1)} s`);
  return found;
}

export async function youngLeases({ full }: PartOrder): Promise<readonly Goal[]> {
  const many = full ? 200 : 40;
  const goals: Goal[] = [];
  const named = (name: string, count: number, limit?: number) =>
    Array.from({ length: count }, (_, n) => ({
      name: `${name}${n}`,
      balance,
      ...(limit === undefined ? {} : { limit }),
    }));
  const times = full ? before : before.slice(0, 3);
  const rounds = times.length;
  // Each time with users whom the node has not seen.
  const cluster = await openCluster({
    nodes: 1,
    accounts: [
      ...named('fast', rounds),
      ...named('fastlim', rounds, balance / 2),
      ...named('slow', many / 2),
      ...named('slowlim', many / 2, balance / 2),
    ],
  });
  try {
    for (const [round, seconds] of times.entries()) {
      const of = (name: string) => cluster.accounts.filter((account) => account.name.replace(/\d+$/, '') === name);
      const one = (name: string) => of(name).slice(round, round + 1);
      const served = await after(
        cluster,
        [
          { name: 'one user, ten a second', perSecond: 10, accounts: one('fast') },
          { name: 'one user with a limit, ten a second', perSecond: 10, accounts: one('fastlim') },
          { name: `${many / 2} users, one a second`, perSecond: 1, accounts: of('slow') },
          { name: `${many / 2} users with limits, one a second`, perSecond: 1, accounts: of('slowlim') },
        ],
        seconds,
      );
      for (const { name, first, refused, count } of served)
        goals.push(
          minGoal(
            `${seconds} s of use, ${name}: first refused after`,
            Math.min(first, outageSeconds),
            leastSeconds,
            's',
          ),
          maxGoal(`${seconds} s of use, ${name}: refused of ${count}`, refused, 0, ''),
        );
      // Idle leases go back, and the next begins with none.
      await cluster.nodes[0]?.stop();
      await cluster.nodes[0]?.begin();
    }
    return goals;
  } finally {
    await cluster.close();
  }
}
