/** Several machines on one PostgreSQL, and what nights bring: `prove cluster [--only calm,kills,…] [--seed N] [--full] [--minutes N]`, minutes for `nights` alone. */
import type { Goal } from '../bench/goal.ts';
import { admission } from './cluster/admission.ts';
import { budgets } from './cluster/budgets.ts';
import { chainChanges } from './cluster/chain-changes.ts';
import { changeDelays } from './cluster/changes.ts';
import { failover } from './cluster/failover.ts';
import { all, baseline, freezes, kills, type PartOrder, redis, restarts } from './cluster/load.ts';
import { nights } from './cluster/nights.ts';
import { outage } from './cluster/outage.ts';
import { paused } from './cluster/paused.ts';
import { proxy } from './cluster/proxy.ts';
import { rates } from './cluster/rates.ts';
import { revoked } from './cluster/revoked.ts';
import { closeClusters } from './cluster/site.ts';
import { upgrade } from './cluster/upgrade.ts';
import { youngLeases } from './cluster/young-leases.ts';
import { flag } from './site.ts';

const parts: Readonly<Record<string, (order: PartOrder) => Promise<readonly Goal[]>>> = {
  calm: baseline,
  kills,
  restarts,
  freezes,
  redis,
  all,
  admission,
  budgets,
  news: changeDelays,
  chains: chainChanges,
  paused,
  failover,
  rates,
  upgrade,
  proxy,
  nights,
  outage,
  young: youngLeases,
  revoked,
};

export async function cluster(args: readonly string[]): Promise<readonly Goal[]> {
  const seed = flag(args, '--seed', 1 + Math.floor(Math.random() * 1_000_000));
  const at = args.indexOf('--only');
  const names = at < 0 ? Object.keys(parts) : (args[at + 1] ?? '').split(',');
  const unknown = names.filter((name) => parts[name] === undefined);
  if (unknown.length > 0) throw new Error(`no part ${unknown.join(', ')}; one of ${Object.keys(parts).join(', ')}`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void closeClusters().finally(() => process.exit(130)));
  const goals: Goal[] = [];
  for (const name of names) {
    const started = performance.now();
    console.log(`== ${name}, seed ${seed}`);
    goals.push(
      ...((await parts[name]?.({ seed, full: args.includes('--full'), minutes: flag(args, '--minutes', 2) })) ?? []),
    );
    console.log(`${name}: ${((performance.now() - started) / 1000).toFixed(0)} s with setting up`);
  }
  return goals;
}
