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

type Unpack = (bytes: Uint8Array, options: { readonly maxOutputLength: number }) => Promise<Uint8Array>;

const gunzip: Unpack = promisify(gunzipOf);
const inflate: Unpack = promisify(inflateOf);
const inflateRaw: Unpack = promisify(inflateRawOf);

/** RFC 1950 says a deflated body has a header of two bytes; many clients send it without one. */
const hasZlibHeader = (bytes: Uint8Array): boolean => {
  const [first = 0, second = 0] = bytes;
  return (first & 15) === 8 && (first * 256 + second) % 31 === 0;
};

const codings: Readonly<Record<string, Unpack>> = {
  gzip: gunzip,
  'x-gzip': gunzip,
  deflate: (bytes, options) => (hasZlibHeader(bytes) ? inflate : inflateRaw)(bytes, options),
  br: promisify(brotliDecompressOf),
  zstd: promisify(zstdDecompressOf),
};

/** How a body is packed; null = it is not. */
const codingOf = (request: Request): string | null => {
  const named = request.headers.get('content-encoding');
  if (named === null) return null;
  const name = named.trim().toLowerCase();
  return name === '' || name === 'identity' ? null : name;
};

/** @param limit bytes, packed or not. @throws AppError body_too_large, body_encoding_unknown, body_invalid. */
export async function readBody(request: Request, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  const coding = codingOf(request);
  const unpack = coding === null ? undefined : codings[coding];
  if (coding !== null && (unpack === undefined || !Object.hasOwn(codings, coding)))
    throw new AppError('body_encoding_unknown', { name: coding.slice(0, 100), known: Object.keys(codings).join(', ') });
  const bytes = await request.bytes();
  if (bytes.length > limit) throw new AppError('body_too_large', { limit });
  return unpack === undefined ? bytes : unpacked(unpack, bytes, limit);
}

/** The same body unpacked, for those who read it piece by piece. */
export async function plainBody(request: Request, limit: number): Promise<Pick<Request, 'headers' | 'body'>> {
  if (codingOf(request) === null) return request;
  return { headers: request.headers, body: new Blob([await readBody(request, limit)]).stream() };
}

async function unpacked(unpack: Unpack, bytes: Uint8Array, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return new Uint8Array(await unpack(bytes, { maxOutputLength: limit }));
  } catch (cause) {
    if ((cause as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE')
      throw new AppError('body_too_large', { limit }, cause);
    throw new AppError('body_invalid', { detail: 'the packed body cannot be unpacked' }, cause);
  }
}
