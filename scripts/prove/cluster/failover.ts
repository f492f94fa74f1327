/** The database dies and a copy of it comes to power that lacks the last two seconds: what clients were told is found missing and sent again. */
import type { Goal } from '../../bench/goals.ts';
import { startStandby } from '../../servers/standby.ts';
import { atLeast } from '../site.ts';
import { audited, goalsOf, tally } from './books.ts';
import { createChance } from './chance.ts';
import { type Cluster, openCluster } from './site.ts';
import type { PartOrder } from './storms.ts';
import { startTraffic } from './traffic.ts';

const lagMs = 2000;

export async function failover({ seed, full }: PartOrder): Promise<readonly Goal[]> {
  const rounds = full ? 10 : 2;
  const names = ['one', 'two', 'three'];
  const cluster = await openCluster({ accounts: names.map((name) => ({ name, balance: 10_000_000_000 })) });
  try {
    const traffic = startTraffic({
      url: cluster.balancer.url,
      rich: cluster.accounts,
      poor: [],
      codes: [],
      codeQuota: 0,
      chance: createChance(seed),
    });
    let behind = 0;
    for (let round = 0; round < rounds; round++) {
      await Bun.sleep(4000);
      const standby = await startStandby(cluster.database);
      await Bun.sleep(3000);
      await standby.detach();
      const before = await ends(cluster);
      await Bun.sleep(lagMs);
      const after = await ends(cluster);
      cluster.database.stop('immediate');
      await standby.takeOver();
      behind += after - before;
      console.log(`failover: round ${round + 1}: ${after - before} ends that the new server has not seen`);
    }
    await Bun.sleep(5000);
    await traffic.stop();
    const audit = await audited(cluster, traffic.told, []);
    console.log(`failover: ${tally(traffic.told)}`);
    return [
      atLeast('failover: ends that had to be sent again', behind, 1, ''),
      ...goalsOf('failover', audit, traffic.wronglyRefused),
    ];
  } finally {
    await cluster.close();
  }
}

const ends = async (cluster: Cluster): Promise<number> =>
  (await cluster.query<{ n: number }>('SELECT count(*) AS n FROM ends'))[0]?.n ?? 0;
