/** Machine after machine is replaced by a build whose schema is one version newer, under traffic, and one goes back: no request fails. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Program } from '../../../../cli/bench/process.ts';
import type { Goal } from '../../bench/goal.ts';
import { type Copy, copyTree } from '../../mutate/copy.ts';
import { maxGoal, minGoal } from '../site.ts';
import { auditOf, goalsOf, summaryOf } from './accounts.ts';
import type { PartOrder } from './load.ts';
import { createRandom } from './random.ts';
import { type Cluster, openCluster } from './site.ts';
import { startTraffic } from './traffic.ts';

const root = resolve(import.meta.dirname, '..', '..', '..', '..');
const migrations = 'db/schema/migrations.ts';
const newest = '9999-of-the-next-release';

/** As a next release would: a column that the old one does not know, a table of its own, nothing taken away. */
const migration = `{ name: '${newest}', statements: ({ integer, text }) => [
    \`ALTER TABLE users ADD COLUMN next_release \${integer} NOT NULL DEFAULT 0\`,
    \`ALTER TABLE logs ADD COLUMN next_release \${text} NOT NULL DEFAULT ''\`,
    \`CREATE TABLE next_release (id \${integer} PRIMARY KEY)\`,
  ] },`;

/** These sources with one migration more. */
function nextRelease(copy: Copy): Program {
  const file = join(copy.dir, migrations);
  const text = readFileSync(file, 'utf8');
  const patched = text.replace('\n];\n\nconst sharedFor', (end) => `\n${migration}${end}`);
  if (patched === text) throw new Error(`${migrations} is written in another way`);
  writeFileSync(file, patched);
  return [process.execPath, join(copy.dir, 'cli', 'main.ts')];
}

/** As an operator does: out of the balancer, stopped, started, back in. */
async function replace(cluster: Cluster, index: number, by?: Program): Promise<number> {
  const node = cluster.nodes[index];
  if (node === undefined) return 1;
  cluster.balancer.leaveOut(node.port, true);
  const code = await node.stop();
  await node.begin(by);
  cluster.balancer.leaveOut(node.port, false);
  return code;
}

export async function upgrade({ seed, full }: PartOrder): Promise<readonly Goal[]> {
  const besideMs = full ? 30_000 : 4000;
  const names = ['one', 'two', 'three', 'four'];
  const cluster = await openCluster({ accounts: names.map((name) => ({ name, balance: 10_000_000_000 })) });
  const copy = copyTree(root);
  try {
    const next = nextRelease(copy);
    const traffic = startTraffic({
      url: cluster.balancer.url,
      accounts: cluster.accounts,
      poor: [],
      codes: [],
      codeQuota: 0,
      random: createRandom(seed),
    });
    await Bun.sleep(2000);
    const codes = [await replace(cluster, 0, next)];
    const applied = await cluster.query<{ name: string }>('SELECT name FROM gateway_migrations ORDER BY name');
    await Bun.sleep(besideMs);
    codes.push(await replace(cluster, 1, next));
    await Bun.sleep(besideMs);
    // The last of the old ones starts again beside the newer schema.
    codes.push(await replace(cluster, 2));
    await Bun.sleep(besideMs);
    codes.push(await replace(cluster, 2, next));
    await Bun.sleep(besideMs);
    await traffic.stop();
    const audit = await auditOf(cluster, traffic.results, []);
    console.log(`upgrade: ${summaryOf(traffic.results)}; schema ${applied.map(({ name }) => name).join(', ')}`);
    const errors = traffic.results.filter(({ whole, left }) => !whole && !left);
    for (const { status, code, words } of errors.slice(0, 5)) console.log(`upgrade: ${status} ${code} ${words}`);
    return [
      minGoal('upgrade: answers seen whole', traffic.results.filter(({ whole }) => whole).length, 100, ''),
      maxGoal('upgrade: errors', errors.length, 0, ''),
      maxGoal('upgrade: stops that went wrong', codes.filter((code) => code !== 0).length, 0, ''),
      minGoal('upgrade: newer schema in place', applied.filter(({ name }) => name === newest).length, 1, ''),
      ...goalsOf('upgrade', audit, traffic.unexpected),
    ];
  } finally {
    await cluster.close();
    copy.remove();
  }
}
