/** How many settlements a second the ledger writes on PostgreSQL: `GATEWAY_TEST_DATABASE=postgres://… node scripts/launch.mjs lab/measure/ledger [nodes] [seconds] [batch]`. Goal: 8,000 in all on two shared cores. */

import { PostgresLedger } from '../../../db/ledger/postgres/store.ts';
import { openLine } from '../../../db/postgres/line.ts';
import { migratePostgres } from '../../../db/postgres/migrate.ts';
import { openPostgres } from '../../../db/postgres/open.ts';
import type { Settle } from '../../../server/billing/ledger/commands.ts';

const server = process.env.GATEWAY_TEST_DATABASE ?? '';
const [nodes = 1, seconds = 10, batch = 500] = process.argv.slice(2).map(Number);
const users = 500;

const other = JSON.stringify({
  model_ratio: 1.25,
  model_price: -1,
  completion_ratio: 4,
  group_ratio: 1,
  cache_ratio: 0.5,
  input: 1000,
  output: 200,
  frt: 350,
  ms: 2100,
  admin_info: { use_channel: ['1'] },
});

function settlement(node: string, index: number): Settle {
  const userId = 1 + (index % users);
  const ref = `20261120${node}${String(index).padStart(12, '0')}abcdefgh`;
  const command = {
    userId,
    tokenId: userId,
    channelId: 1 + (index % 40),
    username: `user${userId}`,
    model: 'gpt-4o-mini',
  };
  return {
    type: 'settle',
    ref,
    ...command,
    amount: 2250,
    at: 1_800_000_000,
    tokens: 1200,
    log: {
      ...command,
      requestId: ref,
      createdAt: 1_800_000_000,
      type: 2,
      tokenName: 'work',
      group: 'default',
      isStream: true,
      useTime: 2,
      promptTokens: 1000,
      completionTokens: 200,
      quota: 2250,
      content: '',
      other,
      usageSource: 'reported',
      endReason: 'completed',
    },
  };
}

/** One node: as fast as its answers come. Prints what it wrote. */
async function spend(url: string, name: string): Promise<void> {
  const store = new PostgresLedger({
    connect: () => openLine({ engine: 'postgres', url }, { isOwn: () => true }),
    node: { name, version: '', schema: '' },
    acknowledged: {
      keep: () => undefined,
      discard: () => undefined,
      since: () => [],
      markResent: () => undefined,
      marks: () => [],
    },
    onEpoch: () => undefined,
    onUnlisted: () => undefined,
    newRun: () => name,
    now: () => Math.floor(Date.now() / 1000),
  });
  await store.probe();
  let index = 0;
  const started = performance.now();
  const before = process.cpuUsage();
  let slowest = 0;
  while (performance.now() - started < seconds * 1000) {
    const commands = Array.from({ length: batch }, () => settlement(name, index++));
    const sent = performance.now();
    const { results } = await store.apply(commands);
    slowest = Math.max(slowest, performance.now() - sent);
    if (results.some(({ status }) => status !== 'done')) throw new Error('a settlement was not written');
  }
  const { user, system } = process.cpuUsage(before);
  const took = (performance.now() - started) / 1000;
  store.close();
  console.log(JSON.stringify({ count: index, took, cpu: (user + system) / 1e6, slowest: Math.round(slowest) }));
}

async function main(): Promise<void> {
  const name = `measure_${process.pid}`;
  const admin = await openPostgres({ engine: 'postgres', url: server }, { connections: 1 });
  await admin.pool.query(`CREATE DATABASE ${name}`);
  const address = new URL(server);
  address.pathname = `/${name}`;
  const site = await openPostgres({ engine: 'postgres', url: address.href }, { connections: 1 });
  try {
    await migratePostgres(site);
    await site.pool.query(
      `INSERT INTO users (id, username, password_hash, created_at) SELECT n, 'user' || n, 'x', 1 FROM generate_series(1, ${users}) n`,
    );
    await site.pool.query(
      `INSERT INTO accounts (id, balance) SELECT n, 1000000000000 FROM generate_series(1, ${users}) n`,
    );
    await site.pool.query(
      `INSERT INTO tokens (id, user_id, name, key_hmac, key_sealed, key_hint, created_at) SELECT n, n, 't', 'h' || n, 's', '', 1 FROM generate_series(1, ${users}) n`,
    );
    await site.pool.query(
      "INSERT INTO channels (id, type, name, key_sealed, created_at) SELECT n, 1, 'c', 's', 1 FROM generate_series(1, 40) n",
    );
    const children = Array.from({ length: nodes }, (_, n) =>
      Bun.spawn([process.execPath, import.meta.path, String(nodes), String(seconds), String(batch)], {
        env: { ...process.env, MEASURE_URL: address.href, MEASURE_NODE: `n${n}` },
        stdout: 'pipe',
        stderr: 'inherit',
      }),
    );
    const outputs = await Promise.all(children.map((child) => new Response(child.stdout).text()));
    let all = 0;
    for (const [n, text] of outputs.entries()) {
      const { count, took, cpu, slowest } = JSON.parse(text) as Record<string, number>;
      const rate = (count ?? 0) / (took ?? 1);
      all += rate;
      console.log(
        `node ${n}: ${Math.round(rate)}/s, ${Math.round(((cpu ?? 0) * 1e6) / (count ?? 1))} µs of its own each, slowest batch ${slowest} ms`,
      );
    }
    console.log(`${Math.round(all)} settlements/s in all, ${nodes} nodes, batches of ${batch}`);
  } finally {
    await site.close();
    await admin.pool.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await admin.close();
  }
}

await (process.env.MEASURE_URL === undefined
  ? main()
  : spend(process.env.MEASURE_URL, process.env.MEASURE_NODE ?? 'n'));
