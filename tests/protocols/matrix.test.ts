import { expect, test } from 'vitest';
import type { ChatEvent, ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { SseSplitter } from '../../server/protocols/shared/sse.ts';
import { isLong } from '../support/often.ts';
import { fixtures } from './fixtures.ts';
import { scenarios as namedScenarios } from './scenarios.ts';
import { context, encoder, framesOf, meaning, readStream, streamOf } from './support.ts';

const dialects = Object.keys(codecs) as ProtocolId[];
const written = fixtures.flatMap(({ name, events }) =>
  events?.at(-1)?.type === 'finish' ? [[name, events] as const] : [],
);
const scenarios: Readonly<Record<string, readonly ChatEvent[]>> = { ...namedScenarios, ...Object.fromEntries(written) };

/** A dialect without a field for cached tokens reports the whole prompt. */
const cacheless: readonly ProtocolId[] = ['ollama-chat'];
const meant = (events: readonly ChatEvent[], ...through: readonly ProtocolId[]) => {
  const { cached, ...rest } = meaning(events);
  return through.some((id) => cacheless.includes(id)) ? rest : { ...rest, cached };
};

const cases = Object.entries(scenarios).flatMap(([name, events]) =>
  dialects.flatMap((from) => dialects.map((to) => [name, from, to, events] as const)),
);

test.each(cases)('%s: streamed by %s, translated to %s', (_name, from, to, events) => {
  const first = readStream(codecs[from], encoder.encode(streamOf(codecs[from], events)));
  const second = readStream(codecs[to], encoder.encode(streamOf(codecs[to], first)));
  expect(meant(second, from, to)).toEqual(meant(events, from, to));
  const ends = second.filter(({ type }) => type === 'finish' || type === 'error');
  expect(ends).toHaveLength(1);
  expect(second.at(-1)).toBe(ends[0]);
});

test.each(cases)('%s: whole from %s, whole in %s', (_name, from, to, events) => {
  const whole = (id: ProtocolId, list: readonly ChatEvent[]) =>
    codecs[id].upstream.decodeResponse(
      JSON.parse(JSON.stringify(codecs[id].translation.encodeResponse(list, context))),
    );
  expect(meant(whole(to, whole(from, events)), from, to)).toEqual(meant(events, from, to));
});

test.each(dialects)('%s: a stream reads the same however it is cut', (id) => {
  for (const [name, events] of Object.entries(scenarios)) {
    const bytes = encoder.encode(streamOf(codecs[id], events));
    const step = isLong || Object.hasOwn(namedScenarios, name) ? 1 : 7;
    // A reader sees nothing but frames: the same frames read the same.
    const expected = framesOf(bytes).join('\u0000');
    for (let cut = 1; cut < bytes.length; cut += step) {
      const frames = framesOf(bytes, [cut]).join('\u0000');
      if (frames !== expected) expect([cut, frames]).toEqual([cut, expected]);
    }
    expect(readStream(codecs[id], bytes, [1, 2, 3, bytes.length >> 1])).toEqual(readStream(codecs[id], bytes));
  }
});

test.each(dialects)('%s: watching only what may matter finds the same end and usage', (id) => {
  for (const events of Object.values(scenarios)) {
    const codec = codecs[id];
    const frames = new SseSplitter().push(encoder.encode(streamOf(codec, events)));
    const reader = codec.upstream.reader();
    const seen = frames.flatMap((frame) =>
      codec.upstream.markers?.areIn(frame.text) !== false ? reader.feed(frame) : [],
    );
    seen.push(...reader.end());
    const all = readStream(codec, encoder.encode(streamOf(codec, events)));
    const usage = (list: readonly ChatEvent[]) => list.findLast((event) => event.type === 'usage');
    expect(usage(seen)).toEqual(usage(all));
    expect(seen.at(-1)?.type).toBe('finish');
  }
});
