/** Bodies that arrive packed: unpacked up to the limit of plain ones before anything looks into them, so that what is billed is what goes upstream. */
import { promisify } from 'node:util';
import {
  brotliDecompress as brotliDecompressOf,
  gunzip as gunzipOf,
  inflate as inflateOf,
  inflateRaw as inflateRawOf,
  zstdDecompress as zstdDecompressOf,
} from 'node:zlib';
import { AppError } from '../../contract/errors.ts';

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

/** The body as it came. @throws AppError body_invalid where the client breaks off. */
export async function received(request: Request): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return await request.bytes();
  } catch (cause) {
    throw new AppError('body_invalid', { detail: 'the body ended early' }, cause);
  }
}

/**
 * How often its packed size a body may become, beyond a size that costs little. Conversations of agents become 3 to 5 times as
 * large, one that repeats the same file 30 times 22 (gzip) to 74 times (brotli); bombs become 1,000 times and more.
 */
const maxGrowth = 100;
const smallEnough = 1024 * 1024;

/** How a body is packed; null = it is not. @param named the header. */
const codingOf = (named: string): string | null => {
  const name = named.trim().toLowerCase();
  return name === '' || name === 'identity' ? null : name;
};

/** @param named the header `content-encoding`. @param limit bytes, packed or not. @throws AppError body_too_large, body_encoding_unknown, body_invalid. */
export async function readCompressed(request: Request, named: string, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  const coding = codingOf(named);
  const unpack = coding === null ? undefined : codings[coding];
  if (coding !== null && (unpack === undefined || !Object.hasOwn(codings, coding)))
    throw new AppError('body_encoding_unknown', { name: coding.slice(0, 100), known: Object.keys(codings).join(', ') });
  const bytes = await received(request);
  if (bytes.length > limit) throw new AppError('body_too_large', { limit });
  return unpack === undefined ? bytes : decompressed(unpack, bytes, limit);
}

/** Unpacking ends with the first piece beyond the bound. */
async function decompressed(unpack: Decompress, bytes: Uint8Array, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  const grown = Math.max(smallEnough, bytes.length * maxGrowth);
  const maxOutputLength = Math.min(limit, grown);
  try {
    return new Uint8Array(await unpack(bytes, { maxOutputLength }));
  } catch (cause) {
    // Only the unpacker's own complaints have codes.
    if (codeOf(cause) === null) throw cause;
    if (codeOf(cause) === 'ERR_BUFFER_TOO_LARGE') {
      if (limit <= grown) throw new AppError('body_too_large', { limit }, cause);
      throw new AppError(
        'body_invalid',
        { detail: `unpacked, the body is more than ${maxGrowth} times as large as packed; send it plain` },
        cause,
      );
    }
    throw new AppError('body_invalid', { detail: 'the packed body cannot be unpacked' }, cause);
  }
}

const codeOf = (error: unknown): string | null => {
  const { code } = Object(error) as { readonly code?: unknown };
  return typeof code === 'string' ? code : null;
};
