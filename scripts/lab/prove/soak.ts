/** Hours of ordinary work with clients that leave and upstreams that fail: what grows. Thirty minutes unless `--minutes` says otherwise. */
import { residentKb } from '../../../cli/bench/machine.ts';
import type { Goal } from '../bench/goal.ts';
import { chunk, double, frame, lastFrames, streamHead, wholeAnswer } from './double.ts';
import { descriptorsOf, flag, maxGoal, openSite, share, threadsOf } from './site.ts';

interface Sample {
  readonly minutes: number;
  readonly mb: number;
  readonly descriptors: number;
  readonly threads: number;
}

/** Least squares. */
function growthOf(samples: readonly Sample[], of: (sample: Sample) => number): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const x = mean(samples.map(({ minutes }) => minutes));
  const y = mean(samples.map(of));
  const over = samples.reduce((sum, sample) => sum + (sample.minutes - x) * (of(sample) - y), 0);
  return over / samples.reduce((sum, sample) => sum + (sample.minutes - x) ** 2, 0);
}

export async function soak(args: readonly string[]): Promise<readonly Goal[]> {
  const minutes = flag(args, '--minutes', 30);
  const perSecond = flag(args, '--rate', 40);
  const failing = (n: number) => n % 20 === 0;
  let requested = 0;
  const upstream = double((socket, body) => {
    if (failing(requested++))
      return void socket.write('HTTP/1.1 500 Oh\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}');
    if (!body.includes('"stream":true')) return void socket.write(wholeAnswer);
    socket.write(streamHead);
    let words = 0;
    const timer = setInterval(() => {
      if (words++ < 20) return void socket.write(chunk(frame('word ')));
      clearInterval(timer);
      socket.write(`${chunk(lastFrames)}0\r\n\r\n`);
    }, 50);
  });
  const site = await openSite(['one', 'two'].map((name) => ({ name, url: upstream.url, models: 'm' })));
  const samples: Sample[] = [];
  const canary: { readonly minutes: number; readonly ms: number }[] = [];
  const statuses = new Map<number, number>();
  const started = performance.now();
  const passed = () => (performance.now() - started) / 60_000;
  const one = async (n: number) => {
    const stream = n % 3 === 0;
    const leave = new AbortController();
    if (n % 5 === 0) setTimeout(() => leave.abort(), 300);
    const body = JSON.stringify({ model: 'm', stream, messages: [{ role: 'user', content: `talk ${n % 500}` }] });
    const headers = { authorization: `Bearer ${site.token}`, 'content-type': 'application/json' };
    const startedAt = performance.now();
    const plain = !stream && n % 5 !== 0;
    await fetch(`${site.url}/v1/chat/completions`, { method: 'POST', headers, body, signal: leave.signal }).then(
      async (response) => {
        statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
        await response.arrayBuffer().catch(() => undefined);
        if (plain) canary.push({ minutes: passed(), ms: performance.now() - startedAt });
      },
      () => statuses.set(0, (statuses.get(0) ?? 0) + 1),
    );
  };
  const open = new Set<Promise<void>>();
  let sampled = 0;
  for (let n = 0; passed() < minutes; n++) {
    const going = one(n).finally(() => open.delete(going));
    open.add(going);
    if (performance.now() - sampled > 5000) {
      sampled = performance.now();
      const pid = site.pid();
      samples.push({
        minutes: passed(),
        mb: (residentKb(pid) ?? 0) / 1024,
        descriptors: descriptorsOf(pid),
        threads: threadsOf(pid),
      });
    }
    await Bun.sleep(Math.max(0, started + ((n + 1) * 1000) / perSecond - performance.now()));
  }
  await Promise.all(open);
  await site.run(['ledger', 'verify']);
  // The first minutes fill what is kept on purpose.
  const warm = Math.min(5, minutes / 3);
  const later = samples.filter((sample) => sample.minutes > warm);
  const half = warm + (minutes - warm) / 2;
  const p99 = (from: number, to: number) =>
    share(
      canary.filter((one) => one.minutes >= from && one.minutes < to).map(({ ms }) => ms),
      0.99,
    );
  const [early, late] = [p99(warm, half), p99(half, minutes + 1)];
  console.log(`statuses: ${[...statuses].map(([status, count]) => `${status || 'left'} x${count}`).join(', ')}`);
  console.log(
    `RSS ${samples
      .map(({ mb }) => mb.toFixed(0))
      .filter((_, at) => at % 12 === 0)
      .join(' ')} MB, a minute apart`,
  );
  console.log(`p99 of plain answers ${early.toFixed(0)} ms, then ${late.toFixed(0)} ms`);
  upstream.stop();
  site.signal('SIGTERM');
  await site.ended();
  site.remove();
  return [
    maxGoal(
      'memory grows',
      growthOf(later, ({ mb }) => mb),
      0.2,
      'MB/min',
    ),
    maxGoal('descriptors grow', Math.abs(growthOf(later, ({ descriptors }) => descriptors)), 1, '/min'),
    maxGoal('threads grow', Math.abs(growthOf(later, ({ threads }) => threads)), 0.1, '/min'),
    maxGoal('p99 drifts', (late / early - 1) * 100, 10, '%'),
    maxGoal('answered 502', statuses.get(502) ?? 0, 0, 'requests'),
  ];
}
