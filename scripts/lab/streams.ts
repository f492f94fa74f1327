/**
 * CPU time of one streamed chat in process, this checkout beside another one, by turns on the same core:
 *
 *     taskset -c 1 bun scripts/lab/streams.ts [--before DIR] [--streams 100] [--rounds 40] [--chunks 64]
 *
 * Each stream has so many frames: in one chunk, or each in a chunk of its own, one turn of the event loop apart. A stream of a single frame
 * shows what the request costs without them. The ledger runs in the same thread and commits each request, which is part of every figure.
 * Short rounds and their lower quartile, so that what else the machine does counts little.
 */
import { join, resolve } from 'node:path';

type GatewayModule = typeof import('../../tests/support/gateway.ts');

const args = process.argv.slice(2);
const after = (name: string): string | undefined => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined);
const streams = Number(after('--streams') ?? 100);
const rounds = Number(after('--rounds') ?? 40);
const chunks = Number(after('--chunks') ?? 64);
const before = after('--before');
const here = join(import.meta.dirname, '..', '..');

const model = 'gpt-4o-mini';
const chunk = (delta: object, finish: string | null, more: object = {}) =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model,
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more,
  })}\n\n`;
const usage = { prompt_tokens: 9, completion_tokens: 60, total_tokens: 69 };
const framesOf = (words: number): readonly string[] => [
  chunk({ role: 'assistant', content: '' }, null),
  ...Array.from({ length: words }, (_, n) => chunk({ content: `word${n} ` }, null)),
  chunk({}, 'stop'),
  chunk({}, null, { choices: [], usage }),
  'data: [DONE]\n\n',
];

const encoder = new TextEncoder();
function responseOf(pieces: readonly Uint8Array[]): Response {
  let next = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await new Promise((resolve) => setImmediate(resolve));
      const piece = pieces[next++];
      if (piece === undefined) controller.close();
      else controller.enqueue(piece.slice());
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

const long = framesOf(chunks - 4);
const shapes: Readonly<Record<string, readonly Uint8Array[]>> = {
  'one frame': [encoder.encode(framesOf(1).join(''))],
  'all at once': [encoder.encode(long.join(''))],
  'one by one': long.map((frame) => encoder.encode(frame)),
};
const names = Object.keys(shapes);

interface Side {
  readonly name: string;
  /** @returns CPU microseconds per stream. */
  measure(shape: string, count: number): Promise<number>;
  close(): Promise<void>;
}

async function openSide(name: string, root: string): Promise<Side> {
  const { createTestGateway } = (await import(join(root, 'tests/support/gateway.ts'))) as GatewayModule;
  let pieces: readonly Uint8Array[] = [];
  const gateway = await createTestGateway({
    engine: 'sqlite',
    quota: 1e15,
    upstreamFetch: (async () => responseOf(pieces)) as unknown as typeof fetch,
  });
  await gateway.channel('http://upstream.test', { type: 1, models: model });
  await gateway.option('ModelRatio', JSON.stringify({ [model]: 1 }));
  const { key } = await gateway.token();
  const path = '/v1/chat/completions';
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Say hello, please.' }] });
  const headers = { 'content-type': 'application/json', authorization: `Bearer sk-${key}` };
  return {
    name,
    async measure(shape, count) {
      pieces = shapes[shape] ?? [];
      const used = process.cpuUsage();
      for (let n = 0; n < count; n++) {
        const request = new Request(`http://gateway${path}`, { method: 'POST', headers, body });
        const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
        const text = await response.text();
        if (!text.includes('[DONE]')) throw new Error(`${response.status} ${text.slice(0, 300)}`);
      }
      await gateway.ledger.drain();
      const { user, system } = process.cpuUsage(used);
      return (user + system) / count;
    },
    close: () => gateway.close(),
  };
}

const sides = [await openSide('this tree', here)];
if (before !== undefined) sides.unshift(await openSide('before', resolve(before)));
const figures = new Map<string, number[]>();
const keyOf = (side: Side, shape: string) => `${side.name}, ${shape}`;
for (const shape of names) for (const side of sides) await side.measure(shape, 1000);
for (let round = 0; round < rounds; round++)
  for (const shape of names)
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      const list = figures.get(keyOf(side, shape)) ?? [];
      figures.set(keyOf(side, shape), [...list, await side.measure(shape, streams)]);
    }
const quartile = (list: readonly number[]): number => list.toSorted((a, b) => a - b)[list.length >> 2] ?? 0;
console.log(
  `µs of CPU per stream, lower quartile of ${rounds} rounds of ${streams} streams; long ones have ${chunks} frames`,
);
for (const shape of names)
  console.log(
    `${shape.padEnd(12)} ${sides.map((side) => `${side.name} ${quartile(figures.get(keyOf(side, shape)) ?? []).toFixed(0)}`).join('   ')}`,
  );
for (const side of sides) await side.close();
