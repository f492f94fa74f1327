/** How fast: the ledger alone, and requests from end to end on a file, on one machine and on three; and what a request leaves behind on the disk. */
import { resolve } from 'node:path';
import { cpuMicros } from '../../../../cli/bench/machine.ts';
import { type Loaded, load } from '../../../../cli/bench/process.ts';
import type { Goal } from '../../bench/goal.ts';
import { maxGoal, minGoal, openSite } from '../site.ts';
import { processesOf } from './failures.ts';
import type { PartOrder } from './load.ts';
import { type Cluster, openCluster, unit } from './site.ts';
import { bodyOf } from './traffic.ts';

const script = resolve(import.meta.dirname, '..', '..', 'measure', 'ledger.ts');

async function ledgerAlone(server: string, nodes: number, seconds: number): Promise<number> {
  const child = Bun.spawn([process.execPath, script, String(nodes), String(seconds)], {
    env: { ...process.env, GATEWAY_TEST_DATABASE: server },
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const text = await new Response(child.stdout).text();
  console.log(text.trimEnd().replaceAll(/^/gm, `rates: ledger alone, ${nodes} nodes: `));
  return Number(/^(\d+) settlements\/s in all/m.exec(text)?.[1] ?? 0);
}

const order = (port: number, token: string, connections: number, seconds: number) => ({
  port,
  token,
  connections,
  seconds,
  path: '/v1/chat/completions',
  body: bodyOf({ content: 'measured' }),
  headers: '',
  once: false,
});

const printRate = (name: string, { rps, p50, p99, failed }: Loaded) =>
  console.log(
    `rates: ${name}: ${rps.toFixed(0)} req/s, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms${failed > 0 ? `, ${failed} failed` : ''}`,
  );

const cpuOf = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + (cpuMicros(pid) ?? 0), 0);

interface Sizes {
  readonly rows: number;
  readonly bytes: number;
  readonly wal: number;
}

/** Of what grows with each request. */
const sizesOf = async (cluster: Cluster): Promise<Sizes> =>
  (
    await cluster.query<Sizes>(`SELECT (SELECT count(*) FROM ends) AS rows, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS wal,
      (SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND (relname IN ('postings', 'ends') OR relname LIKE 'logs_%')) AS bytes`)
  )[0] ?? { rows: 0, bytes: 0, wal: 0 };

async function onFile(upstream: string, seconds: number): Promise<{ one: Loaded; many: Loaded }> {
  const site = await openSite([{ name: 'up', url: upstream, models: 'practice-small' }]);
  await site.run(['option', 'set', `ModelRatio=${JSON.stringify({ 'practice-small': unit })}`]);
  await load(order(site.port, site.token, 16, seconds));
  const one = await load(order(site.port, site.token, 1, seconds));
  const many = await load(order(site.port, site.token, 16, seconds));
  site.signal('SIGTERM');
  await site.ended();
  site.remove();
  return { one, many };
}

export async function rates({ full }: PartOrder): Promise<readonly Goal[]> {
  const seconds = full ? 15 : 5;
  const cluster = await openCluster({ accounts: [{ name: 'rich', balance: 100_000_000_000 }] });
  try {
    const [account] = cluster.accounts;
    const [first] = cluster.nodes;
    if (account === undefined || first === undefined) throw new Error('no such account');
    const alone = await ledgerAlone(cluster.database.url, 1, seconds);
    const together = await ledgerAlone(cluster.database.url, 3, seconds);
    const file = await onFile(cluster.upstream, seconds);
    printRate('a file, c=1', file.one);
    printRate('a file, c=16', file.many);
    await load(order(first.port, account.key, 16, seconds));
    const one = await load(order(first.port, account.key, 1, seconds));
    printRate('one node, c=1', one);
    const before = await sizesOf(cluster);
    const nodes = cluster.nodes.map((node) => node.pid());
    const server = processesOf(cluster.database.pid());
    const [nodesBefore, serverBefore] = [cpuOf(nodes), cpuOf(server)];
    const many = await load(order(first.port, account.key, 16, seconds));
    printRate('one node, c=16', many);
    const all = await load(order(Number(new URL(cluster.balancer.url).port), account.key, 48, seconds));
    printRate('three nodes, c=48', all);
    const after = await sizesOf(cluster);
    const requests = many.requests + all.requests;
    console.log(
      `rates: CPU a request: nodes ${((cpuOf(nodes) - nodesBefore) / requests).toFixed(0)} µs, PostgreSQL ${((cpuOf(server) - serverBefore) / requests).toFixed(0)} µs`,
    );
    const rows = after.rows - before.rows;
    console.log(
      `rates: a million requests: ${((after.bytes - before.bytes) / rows / 1000).toFixed(2)} GB of tables and indexes, ${((after.wal - before.wal) / rows / 1000).toFixed(2)} GB of WAL`,
    );
    const used = await cluster.query<{ name: string; n: number }>(
      "SELECT application_name AS name, count(*) AS n FROM pg_stat_activity WHERE datname = 'site' AND pid <> pg_backend_pid() GROUP BY 1 ORDER BY 1",
    );
    console.log(
      `rates: connections of three nodes: ${used.map(({ name, n }) => `${name || 'others'} ${n}`).join(', ')}`,
    );
    console.log(
      `rates: added to a file's latency: c=1 ${(one.p50 - file.one.p50).toFixed(1)} ms p50, ${(one.p99 - file.one.p99).toFixed(1)} ms p99; c=16 ${(many.p50 - file.many.p50).toFixed(1)} ms p50, ${(many.p99 - file.many.p99).toFixed(1)} ms p99`,
    );
    return [
      minGoal('rates: settlements/s, one node', alone, full ? 8000 : 1, '/s'),
      minGoal('rates: settlements/s, three nodes', together, full ? 8000 : 1, '/s'),
      maxGoal('rates: requests that failed', one.failed + many.failed + all.failed, 0, ''),
    ];
  } finally {
    await cluster.close();
  }
}
