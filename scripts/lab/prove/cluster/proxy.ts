/** Two nodes behind Caddy, by the Caddyfile of this repository: one after the other is stopped and started under traffic over TLS. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { freePort, start, waitForResponse } from '../../../../cli/bench/process.ts';
import type { Goal } from '../../bench/goal.ts';
import { maxGoal, minGoal } from '../site.ts';
import { auditOf, goalsOf, summaryOf } from './accounts.ts';
import type { PartOrder } from './load.ts';
import type { Account } from './people.ts';
import { createRandom } from './random.ts';
import { type Cluster, openCluster } from './site.ts';
import { bodyOf, type CallResult, startTraffic } from './traffic.ts';

const caddyfile = resolve(import.meta.dirname, '..', '..', '..', 'container', 'Caddyfile');
const compose = resolve(caddyfile, '..', 'compose.yaml');

/** As in `compose.yaml`. */
function stopDelay(): string {
  const seconds = /GATEWAY_STOP_DELAY: (\d+)/.exec(readFileSync(compose, 'utf8'))?.[1];
  if (seconds === undefined) throw new Error(`${compose} is written in another way`);
  return seconds;
}

/** The file as it is, except for the nodes' addresses and ports above 1024, which need no permission. */
function fileFor(cluster: Cluster, port: number): string {
  const options = ['admin off', 'skip_install_trust', `http_port ${freePort()}`, `https_port ${port}`];
  const storage = `storage file_system ${join(cluster.folder, 'caddy')}`;
  const site = cluster.nodes.reduce(
    (text, node, n) => text.replace(`gateway-${n + 1}:3000`, `127.0.0.1:${node.port}`),
    readFileSync(caddyfile, 'utf8'),
  );
  if (site.includes('gateway-')) throw new Error(`${caddyfile} knows other nodes`);
  return `{\n\t${[...options, storage].join('\n\t')}\n}\n${site}`;
}

async function startCaddy(cluster: Cluster): Promise<string> {
  if (Bun.which('caddy') === null) throw new Error('Caddy is not installed (Debian: apt-get install caddy)');
  const port = freePort();
  const file = join(cluster.folder, 'Caddyfile');
  writeFileSync(file, fileFor(cluster, port));
  // It uses a certificate of its own making, which is not verified here.
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  const url = `https://localhost:${port}`;
  start(null, ['env', `SITE_ADDRESS=${url}`, 'caddy', 'run', '--config', file, '--adapter', 'caddyfile']);
  await waitForResponse(`${url}/readyz`, (status) => status === 200);
  return url;
}

const brokenOf = (results: readonly CallResult[]) => results.filter(({ whole, left }) => !whole && !left);

/** Moments at which something of a stream of two seconds came: a proxy that gathers it shows in one. */
async function requestGaps(url: string, { key }: Account): Promise<number> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: bodyOf({ model: 'practice-large', stream: true }),
  });
  let moments = 0;
  let last = 0;
  for await (const _ of response.body ?? []) {
    const now = performance.now();
    if (now - last > 20) moments++;
    last = now;
  }
  return moments;
}

export async function proxy({ seed, full }: PartOrder): Promise<readonly Goal[]> {
  const iterations = full ? 5 : 1;
  const cluster = await openCluster({
    nodes: 2,
    env: { GATEWAY_STOP_DELAY: stopDelay() },
    accounts: ['one', 'two', 'three', 'four'].map((name) => ({ name, balance: 10_000_000_000 })),
  });
  try {
    const url = await startCaddy(cluster);
    const [account] = cluster.accounts;
    const moments = account === undefined ? 0 : await requestGaps(url, account);
    const traffic = startTraffic({
      url,
      accounts: cluster.accounts,
      poor: [],
      codes: [],
      codeQuota: 0,
      random: createRandom(seed),
    });
    const codes: number[] = [];
    for (let round = 0; round < iterations; round++)
      for (const node of cluster.nodes) {
        await Bun.sleep(3000);
        codes.push(await node.stop());
        await node.begin();
      }
    await Bun.sleep(3000);
    await traffic.stop();
    const audit = await auditOf(cluster, traffic.results, []);
    const errors = brokenOf(traffic.results);
    console.log(`proxy: ${codes.length} nodes replaced; ${summaryOf(traffic.results)}`);
    for (const { status, code, words } of errors.slice(0, 5)) console.log(`proxy: ${status} ${code} ${words}`);
    return [
      minGoal('proxy: answers seen whole', traffic.results.filter(({ whole }) => whole).length, 100, ''),
      maxGoal('proxy: errors', errors.length, 0, ''),
      maxGoal('proxy: stops that went wrong', codes.filter((code) => code !== 0).length, 0, ''),
      minGoal('proxy: moments at which a stream of 40 chunks comes', moments, 20, ''),
      ...goalsOf('proxy', audit, traffic.unexpected),
    ];
  } finally {
    await cluster.close();
  }
}
