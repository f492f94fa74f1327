/** Streams of JSON values, one a line, as frames of server-sent events. */
import { AppError } from '../../contract/errors.ts';
import type { StreamTransform } from '../codec.ts';
import { createSseTextSplitter, type Framing, HeldBytes, type RawFrame, rawFrame, runOf } from './sse.ts';

const lineLimit = 16 * 1024 * 1024;
const lf = 10;
const encoder = new TextEncoder();

const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');

/** As an event, so that all code that reads or passes frames has one form to handle. */
const frameOf = (line: Uint8Array): RawFrame => rawFrame(encoder.encode(`data: ${textOf(line)}\n\n`));

/** @throws AppError upstream_broken when one line outgrows the limit. */
export function ndjsonFraming(): Framing {
  const held = new HeldBytes();
  /** How much of it is known to hold no line end. */
  let scanned = 0;
  return {
    advance(chunk) {
      const bytes = held.join(chunk);
      const frames: RawFrame[] = [];
      let start = 0;
      for (let at = bytes.indexOf(lf, scanned); at >= 0; at = bytes.indexOf(lf, start)) {
        if (at > start) frames.push(frameOf(bytes.subarray(start, at)));
        start = at + 1;
      }
      held.keep(bytes, start);
      scanned = held.size;
      if (scanned > lineLimit) throw new AppError('upstream_broken', {}, 'line too long');
      return runOf(frames);
    },
    // What is left is read as an event, so it is written as one.
    end: () => (held.size === 0 ? held.bytes : encoder.encode(`data: ${textOf(held.bytes)}`)),
  };
}

/** The other way round, for clients that read lines. @param change of each line's JSON. */
export function ndjsonLines(change: (data: string) => string = (data) => data): StreamTransform {
  const splitter = createSseTextSplitter();
  const line = (data: string): string => (data === '' ? '' : `${change(data)}\n`);
  return {
    contentType: 'application/x-ndjson',
    push: (events) =>
      splitter
        .push(events)
        .map(({ data }) => line(data))
        .join(''),
    end() {
      const rest = splitter.end();
      return rest === null ? '' : line(rest.data);
    },
  };
}
