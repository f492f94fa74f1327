/**
 * Another user's requests while somebody sends bodies that are hard to read: how much later they are answered, with one
 * relay thread and with two. Rounds before and during stand side by side, so that what else the machine does hits both.
 */
import type { Goal } from '../bench/goal.ts';
import { double, wholeAnswer } from './double.ts';
import { flag, maxGoal, openSite, type ProbeSite } from './site.ts';

/** UTF-8 of EBML's elements, each with its size in one byte, or an unknown one. */
const matroska = (n: number): Buffer => {
  const track = Buffer.from([0xae, 0x80]);
  const block = Buffer.from([0xa3, 0x85, 0x81, 0, 0, 0, 0]);
  const head = Buffer.from([0x1a, 0x45, 0xdf, 0xa3, 0x80, 0x18, 0x53, 0x80, 0x67, 0xff, 0x16, 0x54, 0xae, 0x6b, 0xff]);
  return Buffer.concat([head, ...Array<Buffer>(n).fill(track), ...Array<Buffer>(n).fill(block)]);
};

function box(name: string, ...content: readonly Buffer[]): Buffer {
  const inner = Buffer.concat(content);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + inner.length);
  head.write(name, 4, 'latin1');
  return Buffer.concat([head, inner]);
}

const fragments = (n: number): Buffer => {
  const run = box('trun', Buffer.alloc(8));
  const head = box('tfhd', Buffer.from([0, 0, 0, 0, 0x7f, 0, 0, 0]));
  return Buffer.concat([
    box('ftyp', Buffer.from('isom\0\0\0\0', 'latin1')),
    box('moov', ...Array<Buffer>(n).fill(box('trak'))),
    box('moof', box('traf', head, ...Array<Buffer>(n).fill(run))),
  ]);
};

/** Boxes within boxes: the sizes are written from outside, so that nothing is copied for each. */
const nested = (n: number): Buffer => {
  const bytes = Buffer.alloc(8 * n + 16);
  box('ftyp', Buffer.from('isom\0\0\0\0', 'latin1')).copy(bytes);
  for (let depth = 0; depth < n; depth++) {
    bytes.writeUInt32BE(8 * (n - depth), 16 + 8 * depth);
    bytes.write('moov', 20 + 8 * depth, 'latin1');
  }
  return bytes;
};

const chat = (content: unknown): string =>
  JSON.stringify({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content }] });
const spoken = (bytes: Buffer): string =>
  chat([{ type: 'input_audio', input_audio: { data: bytes.toString('base64'), format: 'wav' } }]);

const bodies: Readonly<Record<string, () => string>> = {
  'an honest text of 256 KB': () => chat('words of a text '.repeat(16_384)),
  'tracks and blocks': () => spoken(matroska(20_000)),
  'tracks and fragments': () => spoken(fragments(20_000)),
  'boxes in boxes': () => spoken(nested(100_000)),
  'line ends in base64': () =>
    chat([{ type: 'image_url', image_url: { url: `data:image/png;base64,A${'\n'.repeat(32_000)}!` } }]),
  'marks over a name': () => `{"model":"m","${'\u0301\u0316'.repeat(16_000)}":1,"messages":[]}`,
  'words again and again': () => chat('x y '.repeat(1024 * 1024)),
};

async function ask(site: ProbeSite, body: string): Promise<number> {
  const started = performance.now();
  const response = await fetch(`${site.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${site.token}`, 'content-type': 'application/json' },
    body,
  });
  await response.arrayBuffer();
  return performance.now() - started;
}

const short = JSON.stringify({ model: 'm', max_tokens: 4, messages: [{ role: 'user', content: 'hi' }] });

/** @returns the 99th percentile, milliseconds. */
async function victims(site: ProbeSite, requests: number): Promise<number> {
  const times: number[] = [];
  const callers = Array.from({ length: 8 }, async () => {
    while (times.length < requests) times.push(await ask(site, short));
  });
  await Promise.all(callers);
  return times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0;
}

const middle = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;

/** @param perSecond hostile requests. @returns the p99 of others before and during, the middle of the rounds. */
async function rounds(site: ProbeSite, body: string, { count, requests, perSecond }: Rounds) {
  const [before, during]: [number[], number[]] = [[], []];
  for (let round = 0; round < count; round++) {
    before.push(await victims(site, requests));
    let flooding = true;
    const flood = (async () => {
      while (flooding) {
        await Promise.all([ask(site, body).catch(() => 0), Bun.sleep(1000 / perSecond)]);
      }
    })();
    during.push(await victims(site, requests));
    flooding = false;
    await flood;
  }
  return { before: middle(before), during: middle(during) };
}

interface Rounds {
  readonly count: number;
  readonly requests: number;
  readonly perSecond: number;
}

export async function hostileBodies(args: readonly string[]): Promise<readonly Goal[]> {
  const order = {
    count: flag(args, '--rounds', 5),
    requests: flag(args, '--requests', 2000),
    perSecond: flag(args, '--rate', 5),
  };
  const goals: Goal[] = [];
  for (const relays of [1, 2]) {
    const upstream = double((socket) => socket.write(wholeAnswer));
    const site = await openSite([{ name: 'up', url: upstream.url, models: 'm' }], ['--relays', String(relays)]);
    await victims(site, order.requests);
    for (const [name, made] of Object.entries(bodies)) {
      const body = made();
      const { before, during } = await rounds(site, body, order);
      console.log(
        `${relays} relay${relays === 1 ? '' : 's'}, ${name} (${(body.length / 1024).toFixed(0)} KB): p99 of others ${before.toFixed(1)} ms, meanwhile ${during.toFixed(1)} ms`,
      );
      goals.push(maxGoal(`${name}, ${relays} relay${relays === 1 ? '' : 's'}`, during / before, 1.3, '×'));
    }
    upstream.stop();
    site.signal('SIGKILL');
    await site.ended();
    site.remove();
  }
  return goals;
}
