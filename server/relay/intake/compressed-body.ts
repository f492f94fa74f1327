/** Takes bodies in, as far as size and memory allow. Those that arrive packed are unpacked before anything looks into them, so that what is billed is what goes upstream. */
import { promisify } from 'node:util';
import {
  brotliDecompress as brotliDecompressOf,
  gunzip as gunzipOf,
  inflate as inflateOf,
  inflateRaw as inflateRawOf,
  zstdDecompress as zstdDecompressOf,
} from 'node:zlib';
import { AppError } from '../../contract/errors.ts';
import { type BodyHolder, smallBody } from './body-memory.ts';

/** RFC 1950 says a deflated body has a header of two bytes; many send it without one. */
export const hasZlibHeader = (bytes: Uint8Array): boolean => {
  const [first = 0, second = 0] = bytes;
  return (first & 15) === 8 && (first * 256 + second) % 31 === 0;
};

type Decompress = (bytes: Uint8Array, options: { readonly maxOutputLength: number }) => Promise<Uint8Array>;

const gunzip: Decompress = promisify(gunzipOf);
const inflate: Decompress = promisify(inflateOf);
const inflateRaw: Decompress = promisify(inflateRawOf);

const codings: Readonly<Record<string, Decompress>> = {
  gzip: gunzip,
  'x-gzip': gunzip,
  deflate: (bytes, options) => (hasZlibHeader(bytes) ? inflate : inflateRaw)(bytes, options),
  br: promisify(brotliDecompressOf),
  zstd: promisify(zstdDecompressOf),
};

/** How a body is taken in. */
export interface BodyBounds {
  /** Largest body in bytes, packed or not. */
  readonly limit: number;
  /** Who says how much memory it takes; absent = nobody asks. */
  readonly holder?: BodyHolder | undefined;
  /** Bytes of memory for each of its bytes. */
  readonly perByte?: number;
}

/** The body as it came. @throws AppError body_too_large, body_invalid where the client breaks off, overloaded. */
async function received(request: Request, bounds: BodyBounds): Promise<Uint8Array<ArrayBuffer>> {
  const { limit } = bounds;
  const declared = Number(request.headers.get('content-length') ?? Number.NaN);
  if (declared > limit) throw new AppError('body_too_large', { limit });
  // Reading `body` makes a stream, which costs more than a small body is worth.
  const body = declared <= smallBody ? null : request.body;
  if (body !== null) return piecewise(body.getReader() as Reader, declared, bounds);
  const bytes = await request.bytes().catch(endedEarly);
  if (bytes.length > limit) throw new AppError('body_too_large', { limit });
  return bytes;
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

const endedEarly = (cause: unknown): never => {
  throw new AppError('body_invalid', { detail: 'the body ended early' }, cause);
};

/**
 * Where a length is declared, there must be room for all of it before the first byte is read. Held is twice what has come, so
 * that whoever declares much and sends nothing takes nothing away from others.
 */
async function piecewise(
  reader: Reader,
  declared: number,
  { limit, holder, perByte = 1 }: BodyBounds,
): Promise<Uint8Array<ArrayBuffer>> {
  const hold = (size: number): void => holder?.holdMemory(size * perByte);
  const expected = Number.isNaN(declared) ? 0 : declared;
  try {
    hold(expected);
    hold(0);
    // Pages that nothing was written to take no memory.
    let bytes = new Uint8Array(expected);
    let [size, room] = [0, 0];
    for (;;) {
      const { done, value } = await reader.read().catch(endedEarly);
      if (done) {
        hold(size);
        return size === bytes.length ? bytes : bytes.slice(0, size);
      }
      const grown = size + value.length;
      if (grown > limit) throw new AppError('body_too_large', { limit });
      if (grown > room) {
        room = Math.min(grown > expected ? limit : expected, Math.max(smallBody, 2 * grown));
        hold(room);
      }
      if (grown > bytes.length) {
        const larger = new Uint8Array(room);
        larger.set(bytes.subarray(0, size));
        bytes = larger;
      }
      bytes.set(value, size);
      size = grown;
    }
  } catch (error) {
    void reader.cancel().catch(() => undefined);
    throw error;
  }
}

/**
 * How often its packed size a body may become, beyond a size that costs little. Conversations of agents become 3 to 5 times as
 * large, one that repeats the same file 30 times 22 (gzip) to 74 times (brotli); bombs become 1,000 times and more.
 */
const maxGrowth = 100;
const smallEnough = 1024 * 1024;
/** Growth that memory is asked for before it is known how large a body becomes. */
const usualGrowth = 8;

/** How a body is packed; null = it is not. @param named the header. */
const codingOf = (named: string): string | null => {
  const name = named.trim().toLowerCase();
  return name === '' || name === 'identity' ? null : name;
};

/** @throws AppError body_too_large, body_encoding_unknown, body_invalid, overloaded. */
export function readBody(request: Request, bounds: BodyBounds): Promise<Uint8Array<ArrayBuffer>> {
  const named = request.headers.get('content-encoding');
  const coding = named === null ? null : codingOf(named);
  return coding === null ? received(request, bounds) : receivedPacked(request, coding, bounds);
}

async function receivedPacked(request: Request, coding: string, bounds: BodyBounds): Promise<Uint8Array<ArrayBuffer>> {
  const unpack = Object.hasOwn(codings, coding) ? codings[coding] : undefined;
  if (unpack === undefined)
    throw new AppError('body_encoding_unknown', { name: coding.slice(0, 100), known: Object.keys(codings).join(', ') });
  const bytes = await received(request, bounds);
  const { holder, perByte = 1, limit } = bounds;
  const largest = Math.min(limit, Math.max(smallEnough, bytes.length * maxGrowth));
  for (let most = Math.min(largest, Math.max(smallBody, bytes.length * usualGrowth)); ; most = largest) {
    holder?.holdMemory(most * perByte);
    const plain = await unpacked(unpack, bytes, most);
    if (plain !== null) {
      holder?.holdMemory(plain.length * perByte);
      return plain;
    }
    if (most < largest) continue;
    if (largest === limit) throw new AppError('body_too_large', { limit });
    const detail = `unpacked, the body is more than ${maxGrowth} times as large as packed; send it plain`;
    throw new AppError('body_invalid', { detail });
  }
}

/** Unpacking ends with the first piece beyond the bound. @returns null where it is more. @throws AppError body_invalid. */
async function unpacked(unpack: Decompress, bytes: Uint8Array, most: number): Promise<Uint8Array<ArrayBuffer> | null> {
  try {
    return new Uint8Array(await unpack(bytes, { maxOutputLength: most }));
  } catch (cause) {
    const code = codeOf(cause);
    // Only the unpacker's own complaints have codes.
    if (code === null) throw cause;
    if (code === 'ERR_BUFFER_TOO_LARGE') return null;
    throw new AppError('body_invalid', { detail: 'the packed body cannot be unpacked' }, cause);
  }
}

const codeOf = (error: unknown): string | null => {
  const { code } = Object(error) as { readonly code?: unknown };
  return typeof code === 'string' ? code : null;
};
