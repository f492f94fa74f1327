/** AWS's binary event stream as frames of server-sent events: prelude, headers, payload, two checksums. */
import { AppError } from '../../contract/errors.ts';
import { HeldBytes, type RawFrame, rawFrame, runOf } from '../../protocols/shared/sse.ts';
import type { Framing } from '../adapter.ts';

const preludeSize = 12;
const checksumSize = 4;
const frameLimit = 16 * 1024 * 1024;
const encoder = new TextEncoder();
const nothing = new Uint8Array(0);

export interface AwsMessage {
  readonly headers: ReadonlyMap<string, string>;
  readonly payload: Uint8Array;
}

/** @param encode what a message means as event name and JSON text; null = nothing. @throws AppError upstream_broken for broken or oversized messages. */
export function awsFraming(
  encode: (message: AwsMessage) => { readonly event: string; readonly data: string } | null,
): Framing {
  const waiting = new HeldBytes();
  return {
    advance(chunk) {
      const all = waiting.join(chunk);
      let held = all;
      const frames: RawFrame[] = [];
      while (held.length >= preludeSize) {
        const view = new DataView(held.buffer, held.byteOffset, held.byteLength);
        const size = view.getUint32(0);
        if (size < preludeSize + checksumSize || size > frameLimit)
          throw new AppError('upstream_broken', {}, 'event stream message size');
        if (view.getUint32(8) !== Bun.hash.crc32(held.subarray(0, 8)))
          throw new AppError('upstream_broken', {}, 'event stream prelude');
        if (held.length < size) break;
        if (view.getUint32(size - checksumSize) !== Bun.hash.crc32(held.subarray(0, size - checksumSize)))
          throw new AppError('upstream_broken', {}, 'event stream checksum');
        const headersEnd = preludeSize + view.getUint32(4);
        const encoded = encode({
          headers: readHeaders(held.subarray(preludeSize, headersEnd)),
          payload: held.subarray(headersEnd, size - checksumSize),
        });
        if (encoded !== null)
          frames.push(rawFrame(encoder.encode(`event: ${encoded.event}\ndata: ${encoded.data}\n\n`)));
        held = held.subarray(size);
      }
      waiting.keep(all, all.length - held.length);
      return runOf(frames);
    },
    end: () => nothing,
  };
}

/** Only strings (type 7) are used by the services we speak to. */
function readHeaders(bytes: Uint8Array): Map<string, string> {
  const headers = new Map<string, string>();
  const text = (from: number, to: number): string => Buffer.from(bytes.subarray(from, to)).toString('utf8');
  for (let at = 0; at < bytes.length; ) {
    const nameEnd = at + 1 + (bytes[at] ?? 0);
    if (bytes[nameEnd] !== 7) break;
    const valueStart = nameEnd + 3;
    const valueEnd = valueStart + (((bytes[nameEnd + 1] ?? 0) << 8) | (bytes[nameEnd + 2] ?? 0));
    headers.set(text(at + 1, nameEnd), text(valueStart, valueEnd));
    at = valueEnd;
  }
  return headers;
}
