import { expect, test } from 'vitest';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { parseFrame } from '../../server/protocols/shared/sse.ts';
import { fixtures } from './fixtures.ts';
import { framesOf, meaning, readStream } from './support.ts';

const dialects = Object.keys(codecs) as ProtocolId[];
const having = <K extends 'request' | 'response' | 'stream'>(key: K) =>
  fixtures.flatMap((fixture) => (fixture[key] === null ? [] : [[fixture.name, fixture] as const]));

test.each(having('stream'))(
  '%s: the stream means its events, however it is cut',
  (_name, { dialect, stream, events }) => {
    const bytes = stream ?? new Uint8Array();
    expect(readStream(codecs[dialect], bytes)).toEqual(events);
    const whole = framesOf(bytes).join('\u0000');
    for (let cut = 1; cut < bytes.length; cut++) {
      const frames = framesOf(bytes, [cut]).join('\u0000');
      if (frames !== whole) expect([cut, frames]).toEqual([cut, whole]);
    }
  },
);

test.each(having('stream'))(
  '%s: broken off anywhere, the stream ends once and in an error',
  (_name, { dialect, stream }) => {
    const bytes = stream ?? new Uint8Array();
    const { reader } = codecs[dialect].upstream;
    const frames = framesOf(bytes);
    for (let count = 0; count < frames.length; count++) {
      const events = readStream(codecs[dialect], Buffer.from(frames.slice(0, count).join('')));
      const ends = events.filter(({ type }) => type === 'finish' || type === 'error');
      expect(ends).toHaveLength(1);
      expect(events.at(-1)).toBe(ends[0]);
    }
    expect(reader().end()).toMatchObject([{ type: 'error' }]);
    const whole = reader();
    const kinds = frames.map((text) => {
      whole.feed(parseFrame(text));
      return whole.frameKind;
    });
    expect(kinds.slice(0, -1)).not.toContain('terminal');
  },
);

test.each(having('response'))(
  '%s: the whole answer means what the stream means',
  (_name, { dialect, response, events }) => {
    const read = codecs[dialect].upstream.decodeResponse(response);
    expect(meaning(read)).toEqual(meaning(events ?? []));
    const counted = read.findLast((event) => event.type === 'usage')?.usage;
    expect(codecs[dialect].upstream.readUsage(response)).toEqual(counted);
  },
);

test.each(having('request'))(
  '%s: the request encoded in its own dialect is the same',
  (_name, { dialect, request }) => {
    const { decodeRequest, encodeRequest } = codecs[dialect].translation;
    const body = request ?? {};
    const dropped: string[] = [];
    const decoded = decodeRequest(body, { model: String(body.model), stream: body.stream === true });
    expect(JSON.parse(JSON.stringify(encodeRequest(decoded, dropped)))).toEqual(body);
    expect(dropped).toEqual([]);
  },
);

/** Words that a person wrote or a tool answered. */
const wordsOf = (value: unknown): string[] => {
  if (Array.isArray(value)) return value.flatMap(wordsOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) =>
    typeof member === 'string' && /^(text|content|system|description|name|data)$/.test(key)
      ? [member]
      : wordsOf(member),
  );
};

test.each(having('request').flatMap(([name, fixture]) => dialects.map((to) => [name, to, fixture] as const)))(
  '%s: encoded in %s, every word arrives or is listed as lost',
  (_name, to, { dialect, request }) => {
    const body = request ?? {};
    const decoded = codecs[dialect].translation.decodeRequest(body, { model: 'some-model', stream: true });
    const dropped: string[] = [];
    const encoded = JSON.stringify(codecs[to].translation.encodeRequest(decoded, dropped));
    const { messages, system, tools, contents, systemInstruction, input } = body;
    const lost = wordsOf({ messages, system, tools, contents, systemInstruction, input }).filter(
      (word) => !encoded.includes(JSON.stringify(word).slice(1, -1)),
    );
    expect(lost.length).toBeLessThanOrEqual(dropped.length);
  },
);
