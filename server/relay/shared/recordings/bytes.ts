/** Looks into bytes that may end anywhere. */

export const ascii = (bytes: Uint8Array, start: number, length: number): string =>
  String.fromCharCode(...bytes.subarray(start, start + length));

export const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

export const noBytes: Uint8Array = new Uint8Array(0);

/** One copy of all parts, made once: copying whenever one comes takes the square of their size. */
export const joined = (parts: readonly Uint8Array[]): Uint8Array => {
  const [only = noBytes] = parts;
  return parts.length < 2 ? only : new Uint8Array(Buffer.concat(parts));
};

/** @returns where a word of Latin letters stands next; -1 = nowhere. */
export const indexOfWord = (bytes: Uint8Array, word: string, from: number): number =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf(word, from, 'latin1');

/**
 * Length of the whole where only its beginning was measured: the rest goes on at the same rate.
 * @param start where the sound begins. @param measured end of what was measured.
 */
export const extrapolated = (seconds: number, start: number, measured: number, size: number): number | null =>
  measured <= start || seconds === 0 ? null : seconds * Math.max(1, (size - start) / (measured - start));

/** Seconds that an encoder may have put in front and behind, and that a container says not to play. */
const trimmed = 0.25;

/** @param named what a header says. @param counted the sound that is there. */
export const atLeast = (named: number, counted: number): number =>
  counted - named <= trimmed && named > 0 ? named : Math.max(named, counted);

/** Bytes of ID3 tags that begin here. A length whose bytes have their highest bit is none. Source: id3.org, ID3v2.4, 3.1. */
export function tagLength(bytes: Uint8Array, from = 0): number {
  let at = from;
  while (bytes.length >= at + 10 && ascii(bytes, at, 3) === 'ID3') {
    const [flags = 0, a = 0, b = 0, c = 0, d = 0] = bytes.subarray(at + 5, at + 10);
    if (((a | b | c | d) & 0x80) !== 0 || bytes[at + 3] === 0xff || bytes[at + 4] === 0xff) break;
    at += 10 + ((a << 21) | (b << 14) | (c << 7) | d) + ((flags & 0x10) === 0 ? 0 : 10);
  }
  return at - from;
}
