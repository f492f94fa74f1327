/** Bodies of upstreams that are not what was asked for: compressed ones are unpacked, and event streams are known by their beginning where the content type hides them. */
import { pipeline, Readable, type Transform } from 'node:stream';
import type { ReadableStream as NodeStream } from 'node:stream/web';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from 'node:zlib';
import { hasZlibHeader } from '../intake/compressed-body.ts';
import { readChunk } from '../shared/defect.ts';

type Body = ReadableStream<Uint8Array>;

/** These pause while there is no reader, so the reader bounds what a few bytes grow to. */
const decoders: Readonly<Record<string, (first: Uint8Array) => Transform>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  deflate: (first) => (hasZlibHeader(first) ? createInflate() : createInflateRaw()),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress(),
};

/** More on top of each other are no accident. */
const maxEncodings = 2;

/** @returns null when one of them is not known. */
function codingsIn(header: string): readonly string[] | null {
  const names = header
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
  return names.length <= maxEncodings && names.every((name) => Object.hasOwn(decoders, name)) ? names : null;
}

/** The response with a body that is not compressed; where its coding is not known, as it came. @throws AppError upstream_broken. */
export async function decompressed(response: Response): Promise<Response> {
  const header = response.headers.get('content-encoding');
  if (header === null || response.body === null) return response;
  const codings = codingsIn(header);
  if (codings === null) return response;
  let body: Body = response.body;
  for (const name of codings.toReversed()) body = await decoded(body, name);
  const { status, statusText } = response;
  const headers = new Headers(response.headers);
  headers.delete('content-encoding');
  headers.delete('content-length');
  return new Response(body, { status, statusText, headers });
}

async function decoded(body: Body, name: string): Promise<Body> {
  const { first, body: whole } = await peeked(body);
  const decoder = decoders[name]?.(first);
  if (decoder === undefined) return whole;
  // A failure on either side reaches the reader.
  pipeline(Readable.fromWeb(whole as unknown as NodeStream<Uint8Array>), decoder, () => undefined);
  return Readable.toWeb(decoder) as unknown as Body;
}

/** The first chunk, and the whole body as if it had not been read. An empty body has an empty chunk. @throws AppError upstream_broken. */
export async function peeked(body: Body): Promise<{ readonly first: Uint8Array; readonly body: Body }> {
  const reader = body.getReader();
  const { value: first = new Uint8Array(0), done } = await readChunk(reader);
  const whole = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        if (first.length > 0) controller.enqueue(first);
        if (done) controller.close();
      },
      async pull(controller) {
        const read = await reader.read();
        if (read.done) controller.close();
        else controller.enqueue(read.value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  return { first, body: whole };
}

const eventStart = /^\uFEFF?\s*(?:data|event|id|retry)?:/;
const startBytes = 64;

/** Whether a body that begins so is an event stream, whatever it is called. */
export const beginsWithEvent = (first: Uint8Array): boolean =>
  eventStart.test(Buffer.from(first.subarray(0, startBytes)).toString('utf8'));

/** Content type of a body that cannot be read, for the log. */
export function typeOf({ headers }: Pick<Response, 'headers'>): string {
  const coding = headers.get('content-encoding');
  const type = headers.get('content-type') ?? 'none';
  return `content-type ${type}${coding === null ? '' : `, content-encoding ${coding}`}`;
}
