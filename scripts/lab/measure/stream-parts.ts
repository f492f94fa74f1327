/**
 * CPU time of one passed-through stream in process, this checkout beside another one, by turns on the same core:
 *
 *     taskset -c 1 bun scripts/lab/measure/stream-parts.ts [--before DIR] [--frames 64] [--rounds 40] [--delivery]
 *
 * Delivery: from the open upstream to the client's sink, with nothing behind it. Gateway: a request to a gateway in memory, whose ledger
 * commits in the same thread (`--delivery` leaves it out). Each in three shapes: two frames, which is what a stream costs without its length;
 * all frames in one chunk; each frame in a chunk of its own. The least and the lower quartile of short rounds: whatever else the machine does only adds.
 */
import { join, resolve } from 'node:path';
import { systemTimers } from '../../../server/contract/timers.ts';
import { Deadlines } from '../../../server/relay/shared/deadline.ts';

type GatewayModule = typeof import('../../../tests/support/gateway.ts');
type SupportModule = typeof import('../../../tests/support/response-stream.ts');
type RelayModule = typeof import('../../../server/relay/upstream/frame-relay.ts');
type OpenModule = typeof import('../../../server/relay/upstream/open-stream.ts');
type SseModule = typeof import('../../../server/protocols/shared/sse.ts');
type RegistryModule = typeof import('../../../server/protocols/registry.ts');

const args = process.argv.slice(2);
const after = (name: string): string | undefined => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined);
const frameCount = Number(after('--frames') ?? 64);
const rounds = Number(after('--rounds') ?? 40);
const before = after('--before');
const here = join(import.meta.dirname, '..', '..', '..');

const model = 'gpt-4o-mini';
const frame = (delta: object, finish: string | null, more: object = {}) =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model,
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more,
  })}\n\n`;
const words = (count: number): readonly string[] => [
  frame({ role: 'assistant', content: '' }, null),
  ...Array.from({ length: count - 1 }, (_, n) => frame({ content: `word${n} ` }, null)),
];
const end = [
  frame({}, 'stop'),
  frame({}, null, { choices: [], usage: { prompt_tokens: 9, completion_tokens: 60, total_tokens: 69 } }),
  'data: [DONE]\n\n',
];
const encoder = new TextEncoder();
const shapesOf = (ending: readonly string[]): Readonly<Record<string, readonly Uint8Array[]>> => ({
  'two frames': [encoder.encode([...words(2), ...ending].join(''))],
  'all at once': [encoder.encode([...words(frameCount), ...ending].join(''))],
  'one by one': [...words(frameCount), ...ending].map((text) => encoder.encode(text)),
});

/** Relays one stream whose upstream sends these chunks. */
type Relay = (chunks: readonly Uint8Array[]) => Promise<void>;

async function deliveryOf(root: string): Promise<Relay> {
  const [support, relayThreads, opening, registry, sse] = (await Promise.all(
    [
      'tests/support/response-stream',
      'server/relay/upstream/frame-relay',
      'server/relay/upstream/open-stream',
      'server/protocols/registry',
      'server/protocols/shared/sse',
    ].map((path) => import(join(root, `${path}.ts`))),
  )) as [SupportModule, RelayModule, OpenModule, RegistryModule, SseModule];
  const { upstream } = registry.codecFor('openai-chat');
  return async (chunks) => {
    let next = 0;
    let left = chunks.reduce((sum, { length }) => sum + length, 0);
    const over = Promise.withResolvers<void>();
    const silent = Promise.withResolvers<never>();
    const reader = {
      read: () => {
        const value = chunks[next++]?.slice();
        return value === undefined ? silent.promise : Promise.resolve({ done: false, value });
      },
      cancel: async () => undefined,
    };
    const frameRelay = new relayThreads.PassthroughRelay(upstream, true, Date.now);
    const opened = await opening.openStream({
      upstream: { getReader: () => reader } as never,
      framing: new sse.SseSplitter(),
      frameRelay,
      firstMs: 60_000,
      idleMs: 60_000,
      now: Date.now,
      deadlines: new Deadlines(systemTimers),
      sentMs: 0,
    });
    if (!opened.ok) throw new Error(opened.reason);
    const outcome = { kind: 'stream', prepared: { channel: { id: 1 } }, stream: opened.stream } as never;
    const stream = support.responseStream(outcome, { timers: systemTimers });
    // How it ends is not part of it.
    (stream as unknown as { end: () => Promise<void> }).end = async () => undefined;
    const ended = stream.pipeTo({
      write({ length }) {
        left -= length;
        if (left === 0) over.resolve();
        return null;
      },
      flush: () => null,
      end: () => null,
    });
    await over.promise;
    silent.reject(new Error('enough'));
    await ended.catch(() => undefined);
  };
}

/** One turn of the event loop lies between two chunks. */
function responseOf(chunks: readonly Uint8Array[]): Response {
  let next = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await new Promise((resolve) => setImmediate(resolve));
      const chunk = chunks[next++];
      if (chunk === undefined) controller.close();
      else controller.enqueue(chunk.slice());
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

async function gatewayOf(root: string): Promise<Relay> {
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
  return async (chunks) => {
    pieces = chunks;
    const request = new Request(`http://gateway${path}`, { method: 'POST', headers, body });
    const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
    const text = await response.text();
    if (!text.includes('[DONE]')) throw new Error(`${response.status} ${text.slice(0, 300)}`);
  };
}

async function compare(
  title: string,
  variants: readonly (readonly [string, Relay])[],
  ending: readonly string[],
  streams: number,
) {
  console.log(`${title}: µs of CPU per stream, least and lower quartile of ${rounds} rounds of ${streams} streams`);
  for (const [shape, chunks] of Object.entries(shapesOf(ending))) {
    const stats = variants.map((): number[] => []);
    for (const [, relay] of variants) for (let n = 0; n < 10 * streams; n++) await relay(chunks);
    for (let round = 0; round < rounds; round++)
      for (const at of round % 2 === 0 ? variants.keys() : [...variants.keys()].toReversed()) {
        const used = process.cpuUsage();
        for (let n = 0; n < streams; n++) await variants[at]?.[1](chunks);
        const { user, system } = process.cpuUsage(used);
        stats[at]?.push((user + system) / streams);
      }
    const values = variants.map(([name], at) => {
      const sorted = stats[at]?.toSorted((a, b) => a - b) ?? [];
      return `${name} ${sorted[0]?.toFixed(1)} ${sorted[sorted.length >> 2]?.toFixed(1)}`;
    });
    console.log(`  ${shape.padEnd(12)} ${values.join('   ')}`);
  }
}

const roots = [...(before === undefined ? [] : [['before', resolve(before)] as const]), ['this tree', here] as const];
const variantsOf = (make: (root: string) => Promise<Relay>) =>
  Promise.all(roots.map(async ([name, root]) => [name, await make(root)] as const));
console.log(`${frameCount} frames`);
await compare('delivery', await variantsOf(deliveryOf), [], 200);
if (!args.includes('--delivery')) await compare('gateway', await variantsOf(gatewayOf), end, 100);
process.exit(0);
