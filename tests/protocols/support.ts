/** Writes and reads streams of a dialect, and says what they mean. */
import type { ChatEvent } from '../../server/protocols/canonical.ts';
import type { Codec } from '../../server/protocols/codec.ts';
import { collect } from '../../server/protocols/shared/blocks.ts';
import { parseFrame, SseSplitter } from '../../server/protocols/shared/sse.ts';

export const context = { model: 'm', responseId: 'req1', created: 1, includeUsage: true };
export const encoder = new TextEncoder();

export function streamOf(codec: Codec, events: readonly ChatEvent[]): string {
  const writer = codec.translation.writer(context);
  return events.map((event) => writer.write(event)).join('');
}

/** Frames as text, the unfinished one included. */
export function framesOf(bytes: Uint8Array, cuts: readonly number[] = []): string[] {
  const splitter = new SseSplitter();
  const places = [...new Set(cuts)].sort((a, b) => a - b);
  const frames = [0, ...places].flatMap((from, index) =>
    splitter.push(bytes.slice(from, places[index] ?? bytes.length)).map((frame) => frame.text),
  );
  const rest = splitter.end();
  return rest.length > 0 ? [...frames, new TextDecoder().decode(rest)] : frames;
}

/** Lines of objects, for clients that get those, as the events they were made of. */
const eventsOf = (bytes: Uint8Array): Uint8Array => {
  const text = new TextDecoder().decode(bytes);
  return text.startsWith('{') ? encoder.encode(text.replace(/^(.+)\n/gm, 'data: $1\n\n')) : bytes;
};

export function readStream(codec: Codec, input: Uint8Array, cuts: readonly number[] = []): ChatEvent[] {
  const bytes = eventsOf(input);
  const reader = codec.upstream.reader();
  const events = framesOf(bytes, cuts).flatMap((frame) => reader.feed(parseFrame(frame)));
  return [...events, ...reader.end()];
}

/** What a person or program at the end gets to know. */
export function meaning(events: readonly ChatEvent[]) {
  const { parts, finish, usage } = collect(events);
  const words = (type: string): string =>
    parts.flatMap((part) => (part.type === type && 'text' in part ? [part.text] : [])).join('');
  return {
    // Not every dialect has a place of its own for the words of a refusal.
    text: words('text') + words('refusal'),
    thoughts: words('reasoning'),
    calls: parts.flatMap((part) =>
      part.type === 'tool-call' ? [{ id: part.id, name: part.name, input: JSON.parse(part.arguments) }] : [],
    ),
    // The dialects have one word for both.
    finish: finish.unified === 'refusal' ? 'content_filter' : finish.unified,
    // All that was read: not every dialect distinguishes its kinds.
    input:
      usage === null
        ? null
        : usage.input + usage.cacheRead + usage.cacheWrite5m + usage.cacheWrite1h + usage.audioInput + usage.imageInput,
    cached: usage?.cacheRead,
    output: usage === null ? null : usage.output + usage.reasoning,
  };
}
