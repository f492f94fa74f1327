/** Damage of every kind, from upstreams and from clients: nothing crashes, hangs or is billed below zero. `FUZZ_SEED=n` repeats a run, `FUZZ_FACTOR=10` makes it longer. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AppError } from '../../server/contract/errors.ts';
import { quotaOf } from '../../server/contract/pricing/charge.ts';
import { defaultPriceText } from '../../server/contract/pricing/defaults.ts';
import type { Prices } from '../../server/contract/pricing/price.ts';
import { compilePriceTables, resolvePrices } from '../../server/contract/pricing/tables.ts';
import type { ChatEvent, ProtocolId, Usage } from '../../server/protocols/canonical.ts';
import type { Codec } from '../../server/protocols/codec.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { createSseTextSplitter, parseFrame, SseSplitter } from '../../server/protocols/shared/sse.ts';
import { outline } from '../../server/relay/intake/json-text.ts';
import { figure } from '../support/figure.ts';
import { often } from '../support/often.ts';
import { fixtures } from './fixtures.ts';
import { scenarios } from './scenarios.ts';
import { context, encoder, readStream, streamOf } from './support.ts';

const dialects = Object.keys(codecs) as ProtocolId[];
const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);
const factor = often(0.25, 1, 'FUZZ_FACTOR');

let total = 0;
/** Runs one property; a case that takes a minute counts as hanging. */
function fuzz<T>(runs: number, cases: fc.Arbitrary<T>, check: (value: T) => void): void {
  fc.assert(
    fc.property(cases, (value) => {
      const startedAt = performance.now();
      check(value);
      total++;
      expect(performance.now() - startedAt).toBeLessThan(60_000);
    }),
    { seed, numRuns: Math.ceil(runs * factor) },
  );
}

const tables = compilePriceTables(defaultPriceText, 0);
const prices = ['gpt-4o', 'gpt-4o-audio-preview', 'claude-sonnet-4-5', 'gemini-2.5-pro', 'dall-e-3'].map(
  (model) => resolvePrices(tables, model, { group: 'default', userGroup: 'default', acceptUnset: true }) as Prices,
);
function checkUsage(usage: Usage): void {
  const {
    raw: _,
    toolCalls,
    parts = [],
    modifiers: _terms,
    cacheBeside: _beside,
    corrected: _lowered,
    ...buckets
  } = usage;
  const shares = parts.map(({ kind: _kind, model: _model, ...share }) => share);
  const counts = [buckets, toolCalls, ...shares].flatMap((share) => Object.values(share));
  for (const count of counts) {
    expect(Number.isSafeInteger(count)).toBe(true);
    expect(count).toBeGreaterThanOrEqual(0);
  }
  for (const price of prices) expect(quotaOf(usage, price)).toBeGreaterThanOrEqual(0);
}
/** An answer ends exactly once, and what it reports can be billed. */
function checkEvents(events: readonly ChatEvent[]): void {
  const ends = events.filter(({ type }) => type === 'finish' || type === 'error');
  expect(ends).toHaveLength(1);
  // What it cost may be reported behind the end.
  expect(events.findLast(({ type }) => type !== 'usage')).toBe(ends[0]);
  for (const event of events) if (event.type === 'usage') checkUsage(event.usage);
}

const streams = (id: ProtocolId): Buffer[] => [
  ...Object.values(scenarios).map((events) => Buffer.from(streamOf(codecs[id], events))),
  ...fixtures.flatMap(({ dialect, stream }) => (dialect === id && stream !== null ? [Buffer.from(stream)] : [])),
];
const answers = (id: ProtocolId): unknown[] => [
  ...Object.values(scenarios).map((events) =>
    JSON.parse(JSON.stringify(codecs[id].translation.encodeResponse(events, context))),
  ),
  ...fixtures.flatMap(({ dialect, response }) => (dialect === id && response !== null ? [response] : [])),
];
const requests = fixtures.flatMap(({ request }) => (request === null ? [] : [request]));

/** Damage as networks and strange upstreams do it. */
interface Harm {
  readonly at: number;
  readonly kind: 'cut' | 'byte' | 'double' | 'word';
  readonly byte: number;
  readonly word: string;
}
const words = [
  'null',
  '-1',
  '-1e309',
  '1e21',
  '[[[[{"a":[',
  '[DONE]',
  'data: ',
  '\n\n',
  '\r\n\r\n',
  '\r',
  'event: error\n',
  ': ping\n\n',
  '\\ud83d',
  '"usage":{"prompt_tokens":-5,"completion_tokens":1e300},',
  '"usageMetadata":{"promptTokenCount":"NaN"},',
  '\u0000',
  '\ufeff',
  '<html>',
  'x'.repeat(5000),
  '['.repeat(2000),
];
const harms: fc.Arbitrary<Harm[]> = fc.array(
  fc.record({
    at: fc.nat(),
    kind: fc.constantFrom('cut' as const, 'byte' as const, 'double' as const, 'word' as const, 'word' as const),
    byte: fc.nat({ max: 255 }),
    word: fc.constantFrom(...words),
  }),
  { minLength: 1, maxLength: 4 },
);
const harmed = (original: Buffer, list: readonly Harm[]): Buffer =>
  list.reduce<Buffer>((bytes, { at, kind, byte, word }) => {
    const place = at % Math.max(1, bytes.length);
    if (kind === 'cut') return bytes.subarray(0, place);
    if (kind === 'double') return Buffer.concat([bytes.subarray(0, place), bytes.subarray(place >> 1)]);
    if (kind === 'byte')
      return Buffer.concat([bytes.subarray(0, place), Buffer.from([byte]), bytes.subarray(place + 1)]);
    return Buffer.concat([bytes.subarray(0, place), Buffer.from(word), bytes.subarray(place)]);
  }, original);

/** What stands where something else belongs. */
const strange = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    -1,
    0.5,
    1e300,
    Number.NaN,
    '',
    'x',
    '\ud800',
    [],
    {},
    [null],
    [[]],
    '__proto__',
  ),
  fc.constantFrom<unknown>(
    { type: null },
    { type: 'text' },
    { type: 'image', source: {} },
    { type: 'tool_use' },
    { role: 'tool' },
    { prompt_tokens: -5 },
    { input_tokens: 1e300, output_tokens: 'NaN' },
    { promptTokenCount: -1, candidatesTokenCount: 2 },
  ),
  fc.jsonValue({ maxDepth: 2 }),
);
/** The value with the member that `path` leads to replaced; each step is taken modulo the number of members. */
function replaced(value: unknown, path: readonly number[], by: unknown): unknown {
  const [step = 0, ...rest] = path;
  if (path.length === 0 || typeof value !== 'object' || value === null) return by;
  const keys = Object.keys(value);
  if (keys.length === 0) return by;
  const key = keys[step % keys.length] ?? '';
  const member = replaced((value as Record<string, unknown>)[key], rest, by);
  return Array.isArray(value) ? value.with(Number(key), member) : { ...value, [key]: member };
}
const path = fc.array(fc.nat({ max: 12 }), { minLength: 1, maxLength: 7 });
const changes = fc.array(fc.tuple(path, strange), { minLength: 1, maxLength: 3 });
const changed = (value: unknown, list: readonly (readonly [number[], unknown])[]): unknown =>
  list.reduce<unknown>((whole, [where, by]) => replaced(whole, where, by), value);

test.each(dialects)('%s: damaged streams', (id) => {
  const codec = codecs[id];
  const whole = streams(id);
  const cases = fc.tuple(fc.constantFrom(...whole), harms, fc.array(fc.nat(), { maxLength: 5 }));
  fuzz(1500, cases, ([stream, list, cuts]) => {
    const bytes = harmed(stream, list);
    const events = readStream(codec, bytes);
    checkEvents(events);
    const places = cuts.map((cut) => cut % (bytes.length + 1));
    expect(readStream(codec, bytes, places)).toEqual(events);
    // What is asked about each frame that passes through.
    for (const frame of new SseSplitter().push(bytes)) codec.upstream.markers?.areIn(frame.text);
  });
});

test.each(dialects)('%s: frames of anything', (id) => {
  const frame = fc.tuple(fc.constantFrom('', 'error', 'message_start', 'response.completed'), strange);
  const streams = fc.array(fc.oneof(frame, fc.tuple(fc.constant(''), fc.constantFrom(...answers(id)))), {
    maxLength: 6,
  });
  fuzz(700, streams, (frames) => {
    const reader = codecs[id].upstream.reader();
    const events = frames.flatMap(([event, value]) => reader.feed({ event, data: JSON.stringify(value) ?? '' }));
    checkEvents([...events, ...reader.end()]);
  });
});

function checkAnswer(codec: Codec, body: unknown): void {
  const events = codec.upstream.decodeResponse(body);
  for (const event of events) if (event.type === 'usage') checkUsage(event.usage);
  const usage = codec.upstream.readUsage(body);
  if (usage !== null) checkUsage(usage);
  // Every result can be encoded for every client.
  for (const { translation } of Object.values(codecs)) {
    JSON.stringify(translation.encodeResponse(events, context));
    const writer = translation.writer(context);
    for (const event of events) writer.write(event);
  }
}

test.each(dialects)('%s: answers with anything anywhere, and damaged ones', (id) => {
  const codec = codecs[id];
  const whole = answers(id);
  fuzz(1200, fc.tuple(fc.constantFrom(...whole), changes), ([answer, list]) =>
    checkAnswer(codec, changed(answer, list)),
  );
  const texts = whole.map((answer) => Buffer.from(JSON.stringify(answer)));
  fuzz(700, fc.tuple(fc.constantFrom(...texts), harms, fc.constantFrom(0, 200, 400, 429, 503)), (input) => {
    const [answer, list, status] = input;
    const text = harmed(answer, list).toString('utf8');
    codec.upstream.decodeError(status, text);
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      return;
    }
    checkAnswer(codec, parsed);
  });
});

const anyEvents: readonly ChatEvent[] = [
  ...Object.values(scenarios).flat(),
  ...fixtures.flatMap(({ events }) => events ?? []),
];
test.each(dialects)('%s: events in any order become frames that can be read', (id) => {
  const codec = codecs[id];
  fuzz(800, fc.array(fc.constantFrom(...anyEvents), { maxLength: 12 }), (events) => {
    const text = streamOf(codec, events);
    for (const frame of new SseSplitter().push(encoder.encode(text))) {
      const data = frame.data;
      if (data !== '' && data !== '[DONE]') JSON.parse(data);
    }
    const reader = codec.upstream.reader();
    const again = new SseSplitter().push(encoder.encode(text)).flatMap((frame) => reader.feed(parseFrame(frame.text)));
    checkEvents([...again, ...reader.end()]);
    JSON.stringify(codec.translation.encodeResponse(events, context));
  });
});

test('requests with anything anywhere are refused as the client’s mistake or encoded, never more', () => {
  const cases = fc.tuple(fc.constantFrom(...requests), fc.constantFrom(...dialects), changes);
  fuzz(4000, cases, ([body, from, list]) => {
    try {
      const { decodeRequest } = codecs[from].translation;
      const request = decodeRequest(changed(body, list) as Record<string, unknown>, { model: 'm', stream: false });
      for (const to of dialects) JSON.stringify(codecs[to].translation.encodeRequest(request, []));
    } catch (error) {
      expect(error).toBeInstanceOf(AppError);
      const expectedCodes = ['body_invalid', 'previous_response_not_found', 'item_reference_not_found'];
      expect(expectedCodes).toContain((error as AppError).code);
    }
  });
});

test('damaged requests: what the outline lets through is JSON, and the other way round', () => {
  const texts = requests.map((request) => Buffer.from(JSON.stringify(request)));
  fuzz(2000, fc.tuple(fc.constantFrom(...texts), harms), ([request, list]) => {
    const text = harmed(request, list).toString('utf8');
    const shape = outline(text);
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      // It may be well enough for an outline; then the parser has the last word.
      return;
    }
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) expect(shape.ok).toBe(false);
    else if (shape.ok) expect(new Set(shape.members.map(({ key }) => key))).toEqual(new Set(Object.keys(parsed)));
    else expect(shape.reason).toBe('too_deep');
  });
});

test('bytes of any kind: what came in goes out, in frames or as the rest', () => {
  const chunk = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.constantFrom('data: {"a":1}\n\n', ': x\r\n\r\n', 'event: y\n', '\n', '\r').map((text) => encoder.encode(text)),
  );
  fuzz(2500, fc.array(chunk, { maxLength: 12 }), (chunks) => {
    const splitter = new SseSplitter();
    const seen = chunks.flatMap((bytes) => splitter.push(bytes));
    const rest = splitter.end();
    const bytes = Buffer.concat(chunks);
    const lenient = new TextDecoder('utf-8', { ignoreBOM: true });
    expect(seen.map((frame) => frame.text).join('') + lenient.decode(rest)).toHaveLength(lenient.decode(bytes).length);
    const texts = createSseTextSplitter();
    texts.push(new TextDecoder().decode(bytes));
    texts.end();
  });
});

test('there were as many cases as promised', () => {
  figure(`${total} cases with the seed ${seed}`);
  expect(total).toBeGreaterThanOrEqual(20_000 * factor);
});
