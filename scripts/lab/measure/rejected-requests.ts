/**
 * What one key's hostile bodies cost everybody else: `node scripts/launch.mjs lab/measure/rejected-requests [--rounds N] [--seconds N] [--relays N] [--rate N]`.
 * With `--rate` they send so many a second together; without it each sends the next as soon as it is answered, which takes a
 * whole core of a small machine from everybody whatever is sent: the first rows show that for ordinary requests. Another user's requests are timed before and while eight connections of one key send the same body again and again, with and
 * without balance. Goals: p50 and p99 at most 1.3 times as long; a refused body of 30 KB takes at most 1 ms of the gateway's CPU.
 */
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { endAll } from '../../../cli/bench/process.ts';
import { isReached, printReport } from '../bench/goal.ts';
import { provision } from '../prove/cluster/people.ts';
import { double, wholeAnswer } from '../prove/double.ts';
import { flag, maxGoal, openSite, share } from '../prove/site.ts';

const args = process.argv.slice(2);
const connections = 8;
const messages = [{ role: 'user', content: 'hi' }];
const requestBody = (more: object) => JSON.stringify({ model: 'm', max_tokens: 16, messages, ...more });
const manyMembers = () => Object.fromEntries(Array.from({ length: 45_000 }, (_, n) => [`m${n}`, n]));

interface AttackBody {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: () => string | Uint8Array<ArrayBuffer>;
}

const chat = '/v1/chat/completions';
/** What as many connections cost that send nothing special: no goal, for comparison. */
const plain = 'an ordinary request';
const bodies: Readonly<Record<string, AttackBody>> = {
  [plain]: { path: chat, body: () => requestBody({}) },
  'gzip, 30 KB to 30 MB': {
    path: chat,
    headers: { 'content-encoding': 'gzip' },
    body: () => gzipSync(requestBody({ x: 'a'.repeat(30_000_000) })),
  },
  '45,000 members': { path: chat, body: () => requestBody(manyMembers()) },
  'count of 12 MB Chinese': {
    path: '/v1/messages/count_tokens',
    body: () => requestBody({ messages: [{ role: 'user', content: '漢字假名'.repeat(1_000_000) }] }),
  },
  'nested 50,000 deep': {
    path: chat,
    body: () => requestBody({ x: 0 }).replace('0', '['.repeat(50_000) + ']'.repeat(50_000)),
  },
};

const ordered = (url: string, key: string, { path, headers, body }: AttackBody) => {
  const request = {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: body(),
  };
  return async () => {
    const response = await fetch(`${url}${path}`, request);
    await response.arrayBuffer();
    return response.status;
  };
};

/** Another process, so that what is timed here does not wait for what is sent there. Ends with its input. */
async function runClient([url = '', key = '', name = '', rate = '0']: readonly string[]): Promise<void> {
  const body = bodies[name];
  if (body === undefined) throw new Error(name);
  const send = ordered(url, key, body);
  const statuses: Record<string, number> = {};
  let isOver = false;
  const everyMs = Number(rate) === 0 ? 0 : (1000 * connections) / Number(rate);
  const all = Array.from({ length: connections }, async (_, place) => {
    for (let next = performance.now() + (place * everyMs) / connections; !isOver; next += everyMs) {
      if (everyMs > 0) await Bun.sleep(Math.max(0, next - performance.now()));
      const status = await send().catch(() => 'broken');
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  });
  for await (const _ of process.stdin);
  isOver = true;
  await Promise.all(all);
  console.log(JSON.stringify(statuses));
}

function startClient(url: string, key: string, name: string) {
  const rate = String(flag(args, '--rate', 0));
  const child = Bun.spawn([process.execPath, import.meta.filename, '--attack', url, key, name, rate], {
    stdin: 'pipe',
    stdout: 'pipe',
  });
  return async (): Promise<string> => {
    await child.stdin.end();
    return (await new Response(child.stdout).text()).trim();
  };
}

async function timed(send: () => Promise<number>, seconds: number): Promise<number[]> {
  const times: number[] = [];
  const until = performance.now() + seconds * 1000;
  while (performance.now() < until) {
    const at = performance.now();
    const status = await send();
    if (status !== 200) throw new Error(`the other user got ${status}`);
    times.push(performance.now() - at);
    await Bun.sleep(2);
  }
  return times;
}

const tickMs = 10;
function cpuMs(pid: number): number {
  const [, , , , , , , , , , , user = 0, system = 0] = (readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1] ?? '')
    .split(' ')
    .map(Number);
  return (user + system) * tickMs;
}

async function measure(relayThreads: number): Promise<boolean> {
  const iterations = flag(args, '--rounds', 5);
  const seconds = flag(args, '--seconds', 3);
  const upstream = double((socket) => socket.write(wholeAnswer));
  const site = await openSite([{ name: 'up', url: upstream.url, models: 'm' }], ['--relays', String(relayThreads)]);
  await site.run(['option', 'set', 'SelfUseModeEnabled=false']);
  const { accounts } = await provision(site.url, {
    accounts: [
      { name: 'other', balance: 1_000_000_000 },
      { name: 'payer', balance: 1_000_000_000 },
      { name: 'broke', balance: 0 },
    ],
  });
  const keyOf = (name: string) => accounts.find((account) => account.name === name)?.key ?? '';
  const baselineRequest = ordered(site.url, keyOf('other'), { path: chat, body: () => requestBody({}) });
  await timed(baselineRequest, 2);
  const goals = [];
  for (const name of Object.keys(bodies))
    for (const who of ['broke', 'payer']) {
      const grown: { readonly p50: number; readonly p99: number }[] = [];
      let output = '';
      for (let round = 0; round < iterations; round++) {
        const before = await timed(baselineRequest, seconds);
        const end = startClient(site.url, keyOf(who), name);
        await Bun.sleep(500);
        const during = await timed(baselineRequest, seconds);
        output = await end();
        const times = (part: number) => share(during, part) / share(before, part);
        grown.push({ p50: times(0.5), p99: times(0.99) });
        console.log(
          `${relayThreads} relays, ${who}, ${name}: p50 ${share(before, 0.5).toFixed(1)} -> ${share(during, 0.5).toFixed(1)} ms, p99 ${share(before, 0.99).toFixed(1)} -> ${share(during, 0.99).toFixed(1)} ms  ${output}`,
        );
      }
      if (name === plain) continue;
      for (const part of ['p50', 'p99'] as const)
        goals.push(
          maxGoal(
            `${name}, ${who}, ${part}`,
            share(
              grown.map((one) => one[part]),
              0.5,
            ),
            1.3,
            'times',
          ),
        );
    }
  const body = bodies['gzip, 30 KB to 30 MB'];
  if (body !== undefined) {
    const send = ordered(site.url, keyOf('broke'), body);
    for (let n = 0; n < 200; n++) await send();
    const before = cpuMs(site.pid());
    const rejected = 2000;
    for (let n = 0; n < rejected; n++) await send();
    goals.push(maxGoal('CPU of a refused body of 30 KB', (cpuMs(site.pid()) - before) / rejected, 1, 'ms'));
  }
  printReport(goals);
  site.signal('SIGTERM');
  await site.ended();
  site.remove();
  upstream.stop();
  return goals.every(isReached);
}

if (args[0] === '--attack') await runClient(args.slice(1));
else {
  const relayThreads = flag(args, '--relays', 0);
  let met = true;
  for (const count of relayThreads === 0 ? [4, 1] : [relayThreads]) met = (await measure(count)) && met;
  await endAll();
  process.exitCode = met ? 0 : 1;
}
