/** Sound in chunks: WAVE and AIFF. */
import { ascii, noBytes, viewOf } from './bytes.ts';
import { namedFormat, waveFormat } from './formats.ts';
import { disguisedSeconds } from './frames.ts';
import { type Format, finestRate, maxChannels, soundOf } from './sound.ts';
import { thinnestSeconds } from './thinnest.ts';

const unknownLength = 0xffffffff;
const chunkName = /^[\w \u00a9-]{4}$/;

/** Headers of one file that are taken seriously; with more of them it may be anything. */
const maxFormats = 4;

/** Where the sound lies. */
interface Range {
  readonly start: number;
  readonly length: number;
}

interface Chunks {
  readonly ranges: Range[];
  readonly formats: Format[];
  /** Bytes per second at least, as headers say; 0 = they do not. */
  named: number;
  /** Behind the last chunk. */
  end: number;
}

const soundBytes = ({ ranges }: Chunks): number => ranges.reduce((sum, { length }) => sum + length, 0);

/**
 * Some writers leave out the byte that makes a length even, and decoders differ in where they go on.
 * @param padded goes on behind it where both places may begin a chunk.
 */
function behind(bytes: Uint8Array, end: number, length: number, padded: boolean): number {
  if (length % 2 === 0) return end;
  const isPlain = chunkName.test(ascii(bytes, end, 4));
  return isPlain && !(padded && chunkName.test(ascii(bytes, end + 1, 4))) ? end : end + 1;
}

/** @param padded one of the two ways to read a file, of which the longer one counts. */
function waveChunks(bytes: Uint8Array, size: number, padded: boolean): Chunks {
  const view = viewOf(bytes);
  const found: Chunks = { ranges: [], formats: [], named: 0, end: 12 };
  /** RF64 keeps the length of the sound apart, and then the chunk's own does not count. */
  let large = 0;
  let at = 12;
  while (at + 8 <= bytes.length) {
    const name = view.getUint32(at);
    const length = view.getUint32(at + 4, true);
    const start = at + 8;
    // Bytes that are no chunk continue the sound.
    if (found.ranges.length > 0 && !chunkName.test(ascii(bytes, at, 4))) {
      found.ranges.push({ start: at, length: size - at });
      at = size;
      break;
    }
    let taken = length;
    if (name === 0x64733634 && start + 16 <= bytes.length) large = Number(view.getBigUint64(start + 8, true));
    if (name === 0x666d7420 && found.formats.length <= maxFormats && start + 14 <= bytes.length) {
      found.formats.push(waveFormat(bytes, start, length));
      const rate = view.getUint32(start + 8, true);
      if (rate > 0) found.named = found.named === 0 ? rate : Math.min(found.named, rate);
    }
    if (name === 0x64617461) {
      const left = size - start;
      if (length === 0 || length === unknownLength) taken = left;
      taken = Math.min(Math.max(taken, large), left);
      found.ranges.push({ start, length: taken });
      large = 0;
    }
    at = behind(bytes, start + taken, taken, padded);
  }
  found.end = at;
  return found;
}

/** The longest way to read a format for these chunks. */
function chunkSeconds(bytes: Uint8Array, { ranges, formats, named }: Chunks, all: number): number {
  let most = formats.length > maxFormats ? thinnestSeconds(all) : 0;
  for (const format of formats) {
    const sound = soundOf(format);
    for (const { start, length } of ranges) sound.add(bytes.subarray(start, start + length), length);
    most = Math.max(most, sound.seconds());
    const isLinear = format.codec === 'pcm' || format.codec === 'bits';
    if (isLinear && named > 0 && named < finestRate * maxChannels) most = Math.max(most, all / named);
    // The codecs of one width have none of 16 bits.
    if (format.depth === 16) most = Math.max(most, disguised(bytes, ranges));
  }
  return most;
}

/** A burst of IEC 61937 in samples of two channels. */
const burst = [0x72, 0xf8, 0x1f, 0x4e] as const;
/** Bytes per second of such samples, at the lowest rate that its codecs have. */
const burstRate = 32_000 * 4;

function disguised(bytes: Uint8Array, ranges: readonly Range[]): number {
  let most = 0;
  for (const { start, length } of ranges) {
    const part = bytes.subarray(start, start + length);
    const row = disguisedSeconds(part);
    most +=
      row > 0
        ? row * Math.max(1, length / part.length)
        : burst.every((byte, at) => part[at] === byte)
          ? length / burstRate
          : 0;
  }
  return most;
}

/** RIFF/WAVE: all `data` chunks, as `fmt ` says that they are to be played. */
export function waveSeconds(bytes: Uint8Array, size: number): number | null {
  if (bytes.length < 20 || ascii(bytes, 8, 4) !== 'WAVE') return null;
  if (!['RIFF', 'RF64', 'BW64'].includes(ascii(bytes, 0, 4))) return null;
  let most: number | null = null;
  for (const padded of [true, false]) {
    const chunks = waveChunks(bytes, size, padded);
    if (chunks.formats.length === 0) continue;
    // Whatever stands in front of the sound is longer than what could be seen.
    if (chunks.ranges.length === 0) {
      if (bytes.length >= size) continue;
      chunks.ranges.push({ start: bytes.length, length: Math.max(0, size - chunks.end) });
    }
    most = Math.max(most ?? 0, chunkSeconds(bytes, chunks, soundBytes(chunks)));
  }
  return most;
}

function aiffChunks(bytes: Uint8Array, size: number, padded: boolean): Chunks & { seconds: number } {
  const view = viewOf(bytes);
  const found = { ranges: [] as Range[], formats: [] as Format[], named: 0, end: 12, seconds: 0 };
  let at = 12;
  while (at + 8 <= bytes.length) {
    const name = view.getUint32(at);
    const length = view.getUint32(at + 4);
    const start = at + 8;
    if (name === 0x434f4d4d && start + 18 <= bytes.length && found.formats.length <= maxFormats) {
      // A float of ten bytes: exponent and the upper half of the fraction.
      const rate = view.getUint32(start + 10) * 2 ** ((view.getUint16(start + 8) & 0x7fff) - 16_383 - 31);
      const isCompressed = length >= 22;
      const own = isCompressed ? ascii(bytes, start + 18, 4) : 'NONE';
      const bits = view.getUint16(start + 6);
      const format = namedFormat(own, rate, view.getUint16(start), bits);
      found.formats.push(format ?? { codec: 'unknown', rate, channels: 1, depth: 0, setup: noBytes });
      // A file of packets states how many packets it has.
      const within = Math.min(rate, finestRate);
      if (within > 0) found.seconds = Math.max(found.seconds, view.getUint32(start + 2) / within);
    }
    let taken = length;
    if (name === 0x53534e44) {
      const left = size - start;
      taken = length === 0 || length === unknownLength ? left : Math.min(length, left);
      // An offset and a block size stand in front.
      found.ranges.push({ start: start + 8, length: Math.max(0, taken - 8) });
    }
    at = behind(bytes, start + taken, taken, padded);
  }
  found.end = at;
  return found;
}

/** Frames of `COMM`, and never less than the sound that is there. Source: Apple, AIFF 1.3. */
export function aiffSeconds(bytes: Uint8Array, size: number): number | null {
  if (bytes.length < 38 || ascii(bytes, 0, 4) !== 'FORM' || !ascii(bytes, 8, 4).startsWith('AIF')) return null;
  let most: number | null = null;
  for (const padded of [true, false]) {
    const chunks = aiffChunks(bytes, size, padded);
    if (chunks.formats.length === 0) continue;
    if (chunks.ranges.length === 0) {
      if (bytes.length >= size && chunks.seconds === 0) continue;
      chunks.ranges.push({ start: bytes.length, length: Math.max(0, size - chunks.end) });
    }
    most = Math.max(most ?? 0, chunks.seconds, chunkSeconds(bytes, chunks, soundBytes(chunks)));
  }
  return most !== null && most > 0 ? most : null;
}
