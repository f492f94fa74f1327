/** However an answer's usage is spread over its frames: zeros, nulls, absences, repetitions and their order lower nothing. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Usage } from '../../server/protocols/canonical.ts';
import type { UpstreamHalf } from '../../server/protocols/codec.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { mergeUsage, StatedUsage, statedCount } from '../../server/protocols/shared/merge-usage.ts';
import { framesIn } from '../../server/protocols/shared/sse.ts';
import { bucketsOf } from '../../server/protocols/shared/usage.ts';
import { baidu } from '../../server/providers/adapters/baidu.ts';
import { converse } from '../../server/providers/adapters/converse.ts';
import { type FrameRelay, PassthroughRelay, TranslatingRelay } from '../../server/relay/upstream/frame-relay.ts';
import { isWholeBill } from '../../server/relay/upstream/open-stream.ts';
import { often } from '../support/often.ts';

type Members = Readonly<Record<string, unknown>>;

interface Dialect {
  readonly upstream: UpstreamHalf;
  /** Counts of a whole usage, nested as the dialect nests them. */
  readonly usage: fc.Arbitrary<Members>;
  /** Members whose parts add up to them: no smaller number of these stands in a frame before. */
  readonly sums?: readonly string[];
  /** One frame of an answer, as server-sent event. @param at 0 = the first. */
  readonly frame: (usage: Members | null, at: number, isLast: boolean) => string;
}

const some = fc.integer({ min: 2, max: 400 });
const data = (body: unknown) => `data: ${JSON.stringify(body)}\n\n`;
const named = (type: string, body: object) => `event: ${type}\n${data({ type, ...body })}`;
const within = (usage: Members | null, name = 'usage') => (usage === null ? {} : { [name]: usage });

const baiduProtocol = baidu.protocol?.({ operation: 'chat' } as never);
const baiduWire =
  baiduProtocol !== null && baiduProtocol !== undefined && 'wire' in baiduProtocol ? baiduProtocol.wire : null;
if (baiduWire === null || baiduWire === undefined) throw new Error('no wire');

const chatUsage = fc.tuple(some, some, some, some).map(([fresh, cached, words, thoughts]) => ({
  prompt_tokens: fresh + cached,
  completion_tokens: words + thoughts,
  total_tokens: fresh + cached + words + thoughts,
  prompt_tokens_details: { cached_tokens: cached, audio_tokens: 1 },
  completion_tokens_details: { reasoning_tokens: thoughts },
  server_tool_use: { web_search_requests: 3 },
}));

const dialects: Readonly<Record<string, Dialect>> = {
  'openai-chat': {
    upstream: codecs['openai-chat'].upstream,
    usage: chatUsage,
    frame: (usage, _at, isLast) =>
      data({
        id: 'c',
        choices: [{ index: 0, delta: { content: 'word ' }, finish_reason: isLast ? 'stop' : null }],
        ...within(usage),
      }),
  },
  'a choice of openai-chat': {
    upstream: codecs['openai-chat'].upstream,
    usage: chatUsage,
    frame: (usage, _at, isLast) =>
      data({
        id: 'c',
        choices: [{ index: 0, delta: { content: 'word ' }, finish_reason: isLast ? 'stop' : null, ...within(usage) }],
      }),
  },
  'openai-responses': {
    upstream: codecs['openai-responses'].upstream,
    usage: fc.tuple(some, some, some, some).map(([fresh, cached, words, thoughts]) => ({
      input_tokens: fresh + cached,
      output_tokens: words + thoughts,
      input_tokens_details: { cached_tokens: cached },
      output_tokens_details: { reasoning_tokens: thoughts },
    })),
    frame: (usage, at, isLast) =>
      named(isLast ? 'response.completed' : at === 0 ? 'response.created' : 'response.in_progress', {
        response: { id: 'r', status: isLast ? 'completed' : 'in_progress', output: [], ...within(usage) },
      }),
  },
  'anthropic-messages': {
    upstream: codecs['anthropic-messages'].upstream,
    sums: ['cache_creation_input_tokens'],
    usage: fc.tuple(some, some, some, some, some).map(([fresh, cached, short, long, words]) => ({
      input_tokens: fresh,
      cache_read_input_tokens: cached,
      cache_creation_input_tokens: short + long,
      cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long },
      output_tokens: words,
      server_tool_use: { web_search_requests: 2 },
    })),
    frame: (usage, at, isLast) =>
      at === 0
        ? named('message_start', { message: { id: 'm', content: [], ...within(usage) } })
        : named('message_delta', { delta: isLast ? { stop_reason: 'end_turn' } : {}, ...within(usage) }) +
          (isLast ? named('message_stop', {}) : ''),
  },
  'gemini-generate': {
    upstream: codecs['gemini-generate'].upstream,
    sums: ['promptTokenCount'],
    usage: fc.tuple(some, some, some, some, some, some).map(([words, image, cached, written, thoughts, tools]) => ({
      promptTokenCount: words + image + cached,
      cachedContentTokenCount: cached,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: words + cached },
        { modality: 'IMAGE', tokenCount: image },
      ],
      candidatesTokenCount: written,
      thoughtsTokenCount: thoughts,
      toolUsePromptTokenCount: tools,
    })),
    frame: (usage, _at, isLast) =>
      data({
        candidates: [
          { index: 0, content: { parts: [{ text: 'word ' }] }, ...(isLast ? { finishReason: 'STOP' } : {}) },
        ],
        ...within(usage, 'usageMetadata'),
      }),
  },
  'cohere-chat': {
    upstream: codecs['cohere-chat'].upstream,
    usage: fc.tuple(some, some, some).map(([fresh, cached, words]) => ({
      billed_units: { input_tokens: fresh + cached, output_tokens: words },
      cached_tokens: cached,
    })),
    frame: (usage, at, isLast) =>
      isLast
        ? named('message-end', { delta: { finish_reason: 'COMPLETE', ...within(usage) } })
        : at === 0
          ? named('message-start', { id: 'm', ...within(usage) })
          : named('content-delta', { delta: { message: { content: { text: 'word ' } }, ...within(usage) } }),
  },
  'ollama-chat': {
    upstream: codecs['ollama-chat'].upstream,
    usage: fc.tuple(some, some).map(([read, written]) => ({ prompt_eval_count: read, eval_count: written })),
    frame: (usage, _at, isLast) => data({ message: { content: 'word ' }, done: isLast, ...usage }),
  },
  'a wire without blocks': {
    upstream: baiduWire.upstream,
    usage: fc.tuple(some, some).map(([read, written]) => ({ prompt_tokens: read, completion_tokens: written })),
    frame: (usage, _at, isLast) => data({ result: 'word ', is_end: isLast, ...within(usage) }),
  },
  'the Converse wire': {
    upstream: converse.upstream,
    usage: fc.tuple(some, some, some, some).map(([fresh, cached, stored, written]) => ({
      inputTokens: fresh,
      cacheReadInputTokens: cached,
      cacheWriteInputTokens: stored,
      outputTokens: written,
    })),
    frame: (usage, at, isLast) =>
      (at === 0 ? `event: messageStart\n${data({})}` : '') +
      (isLast ? `event: messageStop\n${data({ stopReason: 'end_turn' })}` : '') +
      `event: metadata\n${data(within(usage))}`,
  },
};

/** How a frame states each count: as it is, in quotes of some proxies, smaller, as zero, as null, or not at all. */
type Way = 'whole' | 'smaller' | 'zero' | 'null' | 'absent';
const ways: readonly Way[] = ['whole', 'smaller', 'zero', 'null', 'absent'];

const countsIn = (value: unknown, path: string): readonly string[] =>
  typeof value === 'number'
    ? [path]
    : Object.entries(value as object).flatMap(([name, inner]) =>
        // The name of a modality is no count.
        typeof inner === 'string' ? [] : countsIn(inner, `${path}/${name}`),
      );

function stated(value: unknown, path: string, wayOf: (path: string) => Way): unknown {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') {
    const way = wayOf(path);
    if (way === 'whole') return value;
    return way === 'smaller' ? Math.ceil(value / 2) : way === 'zero' ? 0 : way === 'null' ? null : undefined;
  }
  const inner = Object.entries(value as object).map(
    ([name, one]) => [name, stated(one, `${path}/${name}`, wayOf)] as const,
  );
  if (Array.isArray(value)) return inner.map(([, one]) => one);
  return Object.fromEntries(inner.filter(([, one]) => one !== undefined));
}

/** An answer of several frames, in one of which each count stands as it is. */
const spread = ({ usage, sums = [] }: Dialect) =>
  fc.tuple(usage, fc.integer({ min: 2, max: 6 }), fc.infiniteStream(fc.nat(999))).map(([whole, length, draws]) => {
    const draw = () => draws.next().value as number;
    const truth = new Map(countsIn(whole, '').map((path) => [path, draw() % length]));
    const frames = Array.from({ length }, (_, at) => {
      if (draw() % 8 === 0 && ![...truth.values()].includes(at)) return null;
      return stated(whole, '', (path) => {
        if (truth.get(path) === at) return 'whole';
        const way = ways[draw() % ways.length] as Way;
        // What the last frame states smaller is a correction.
        const isPart = sums.some((name) => path === `/${name}`);
        return way === 'smaller' && (at === length - 1 || isPart) ? 'absent' : way;
      }) as Members;
    });
    return { whole, frames };
  });

const encoder = new TextEncoder();
const counted = (usage: Usage | null) =>
  usage === null ? null : { ...bucketsOf(usage), toolCalls: usage.toolCalls, corrected: usage.corrected };

function read(relay: FrameRelay, stream: string): Usage | null {
  for (const frame of framesIn(encoder.encode(stream))) relay.pass(frame);
  relay.close(new Uint8Array(0));
  isWholeBill(relay, true);
  return relay.usage;
}

const streamOf = ({ frame }: Dialect, frames: readonly (Members | null)[]) =>
  frames.map((usage, at) => frame(usage, at, at === frames.length - 1)).join('');

test.each(Object.keys(dialects))('%s: no spread of a usage over frames lowers it, whoever reads them', (name) => {
  const dialect = dialects[name] as Dialect;
  fc.assert(
    fc.property(spread(dialect), ({ whole, frames }) => {
      const expected = counted(
        read(new TranslatingRelay(dialect.upstream, null, () => 0), streamOf(dialect, [null, whole])),
      );
      expect(expected).not.toBeNull();
      const stream = streamOf(dialect, frames);
      expect(counted(read(new TranslatingRelay(dialect.upstream, null, () => 0), stream))).toEqual(expected);
      expect(counted(read(new PassthroughRelay(dialect.upstream, false, () => 0), stream))).toEqual(expected);
    }),
    { numRuns: Math.ceil(400 * often(0.25, 1, 'FUZZ_FACTOR')) },
  );
});

test('a value that cannot be a count erases none, and is replaced by one', () => {
  for (const odd of [-1, 0.5, 1e18, Number.NaN, 'many', true, {}, [], null]) {
    const earlier = { prompt_tokens: 100 };
    expect(mergeUsage(earlier, { prompt_tokens: odd }, true)).toBe(earlier);
  }
  for (const odd of [-1, 1e18])
    expect(mergeUsage({ prompt_tokens: odd }, { prompt_tokens: 7 }, false)).toEqual({ prompt_tokens: 7 });
  expect(mergeUsage({ prompt_tokens: '100' }, { prompt_tokens: '120' }, false)).toEqual({ prompt_tokens: '120' });
  expect(mergeUsage({ details: { a: 1 } }, { details: 0 }, true)).toEqual({ details: { a: 1 } });
  expect(mergeUsage({ details: 0 }, { details: { a: 1 } }, true)).toEqual({ details: { a: 1 } });
  const odd = JSON.parse('{"__proto__":{"prompt_tokens":5}}') as Members;
  expect(mergeUsage({ a: 1 }, odd, true)).toEqual({ a: 1 });
});

test('lists of calls grow, and are never replaced by shorter ones', () => {
  const one = { type: 'message', input_tokens: 5, output_tokens: 2 };
  const two = { type: 'compaction', input_tokens: 9, output_tokens: 3 };
  const merged = (earlier: unknown, later: unknown) =>
    mergeUsage({ iterations: earlier }, { iterations: later }, true).iterations;
  expect(merged([one], [one, two])).toEqual([one, two]);
  expect(merged([one, two], [one])).toEqual([one, two]);
  expect(merged([one, two], [two])).toEqual([one, two]);
  expect(merged([one], [two, one])).toEqual([two, one]);
  expect(merged([one, two], [])).toEqual([one, two]);
  expect(merged([one], [{ ...one, output_tokens: 0 }])).toEqual([one]);
});

test('a smaller count is a correction in a final report alone', () => {
  const usage = new StatedUsage();
  expect([usage.add({ a: 5 }, false), usage.add({ a: 3 }, false), usage.members, usage.corrected]).toEqual([
    true,
    false,
    { a: 5 },
    false,
  ]);
  expect([usage.add({ a: 3 }, true), usage.members, usage.mark()]).toEqual([true, { a: 3 }, { corrected: true }]);
  expect([usage.add(null, true), usage.add('x', true), usage.members]).toEqual([false, false, { a: 3 }]);
});

const folder = resolve(import.meta.dirname, '../../../shared/recordings');
const recorded = existsSync(folder) ? [...new Bun.Glob('**/*.chunks.txt').scanSync({ cwd: folder })].sort() : [];

/** The dialect that a recorded stream is read in. */
const dialectOf = (line: string): keyof typeof codecs =>
  line.includes('usageMetadata') || line.includes('"candidates"')
    ? 'gemini-generate'
    : line.includes('message_start')
      ? 'anthropic-messages'
      : line.includes('response.created')
        ? 'openai-responses'
        : 'openai-chat';

/** The reading before: each report replaces the one before, and the last one counts. */
function lastReported(upstream: UpstreamHalf, lines: readonly string[]): Usage | null {
  let last: Usage | null = null;
  for (const line of lines) {
    const reader = upstream.reader();
    for (const event of reader.feed({ event: '', data: line })) if (event.type === 'usage') last = event.usage;
  }
  return last;
}

test.skipIf(recorded.length === 0)(
  'recorded streams cost what they cost by their last report, whoever reads them',
  () => {
    let seen = 0;
    for (const name of recorded) {
      const lines = readFileSync(join(folder, name), 'utf8')
        .split('\n')
        .filter((line) => line.trim() !== '');
      const id = dialectOf(lines[0] ?? '');
      const { upstream } = codecs[id];
      const stream = lines.map((line) => `data: ${line}\n\n`).join('');
      const translated = read(new TranslatingRelay(upstream, null, () => 0), stream);
      const passed = read(new PassthroughRelay(upstream, false, () => 0), stream);
      expect([name, counted(passed)]).toEqual([name, counted(translated)]);
      // Anthropic states the prompt at the beginning alone, in older streams.
      const last = id === 'anthropic-messages' ? null : lastReported(upstream, lines);
      if (last === null || translated === null) continue;
      expect([name, bucketsOf(translated)]).toEqual([name, bucketsOf(last)]);
      seen++;
    }
    expect(seen).toBeGreaterThan(20);
  },
);

test.each([
  ['in a choice', { choices: [{ usage: { prompt_tokens: 10, completion_tokens: 5 } }] }],
  ['in a member of the vendor', { choices: [], x_groq: { usage: { prompt_tokens: 10, completion_tokens: 5 } } }],
  ['at the top', { choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } }],
])('the tier that an answer states is kept where its usage stands %s', (_place, answer) => {
  const { readUsage } = codecs['openai-chat'].upstream;
  const of = (more: object) => readUsage({ ...answer, ...more });
  expect(of({})?.modifiers ?? []).toEqual([]);
  expect(JSON.stringify(of({ service_tier: 'priority' })?.modifiers)).toContain('priority');
});

test.each<[unknown, unknown, unknown]>([
  [5, 7, 5],
  [0, 7, 7],
  ['0', 7, 7],
  [0, 'many', 0],
  [0, 0, 0],
  [null, 0, 0],
  [undefined, 'many', 'many'],
  ['many', 7, 'many'],
  [3, undefined, 3],
  [undefined, null, null],
])('of %j and its other spelling %j, %j is stated', (value, twin, stated) => {
  expect(statedCount(value, twin)).toBe(stated);
});

test.each([
  ['prompt_tokens', 'input_tokens'],
  ['input_tokens', 'prompt_tokens'],
])('a count of a chat is read under each of its names: %s', (one, other) => {
  const { readUsage } = codecs['openai-chat'].upstream;
  const [written, wrote] =
    one === 'prompt_tokens' ? ['completion_tokens', 'output_tokens'] : ['output_tokens', 'completion_tokens'];
  const read = (usage: object) => readUsage({ usage });
  expect(read({ [one]: 30, [written ?? '']: 4 })).toMatchObject({ input: 30, output: 4 });
  expect(read({ [one]: 30, [other]: 0, [written ?? '']: 4, [wrote ?? '']: 0 })).toMatchObject({ input: 30, output: 4 });
});

test.each(['cache_write_tokens', 'cache_creation_input_tokens'])('a chat’s cache writes are read as %s', (name) => {
  const usage = { prompt_tokens: 30, completion_tokens: 4, prompt_tokens_details: { [name]: 20 } };
  expect(codecs['openai-chat'].upstream.readUsage({ usage })).toMatchObject({
    input: 10,
    cacheWrite5m: 20,
    output: 4,
  });
});
