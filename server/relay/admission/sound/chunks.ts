/** Sound in chunks and pages: WAVE, FLAC, Ogg. */
import { ascii, extrapolated, mostPieces, tagLength, viewOf } from './bytes.ts';

const unknownLength = 0xffffffff;

/** RIFF/WAVE: the `fmt ` chunk names the bytes per second, the `data` chunk how many there are; what was streamed leaves that open. */
export function waveSeconds(bytes: Uint8Array, size: number): number | null {
  if (bytes.length < 20 || !['RIFF', 'RF64'].includes(ascii(bytes, 0, 4)) || ascii(bytes, 8, 4) !== 'WAVE') return null;
  const view = viewOf(bytes);
  let rate = 0;
  let at = 12;
  for (let pieces = 0; pieces < mostPieces && at + 8 <= bytes.length; pieces++) {
    const name = ascii(bytes, at, 4);
    const length = view.getUint32(at + 4, true);
    const start = at + 8;
    if (name === 'fmt ' && start + 12 <= bytes.length) rate = view.getUint32(start + 8, true);
    if (name === 'data') {
      const left = size - start;
      const told = length === 0 || length === unknownLength ? left : Math.min(length, left);
      return rate > 0 ? told / rate : null;
    }
    at = start + length + (length % 2);
  }
  // Whatever stands in front of the sound is longer than what could be seen.
  return rate > 0 ? Math.max(0, size - at) / rate : null;
}

/** The first metadata block counts the samples; an encoder that streamed may leave that open. */
export function flacSeconds(bytes: Uint8Array): number | null {
  const at = tagLength(bytes);
  if (bytes.length < at + 26 || ascii(bytes, at, 4) !== 'fLaC') return null;
  const view = viewOf(bytes);
  const rate = view.getUint32(at + 18) >>> 12;
  const samples = (view.getUint8(at + 21) & 0x0f) * 2 ** 32 + view.getUint32(at + 22);
  return rate > 0 && samples > 0 ? samples / rate : null;
}

/** The last page says up to which sample it goes. */
export function oggSeconds(bytes: Uint8Array, size: number): number | null {
  if (bytes.length < 60 || ascii(bytes, 0, 4) !== 'OggS') return null;
  const view = viewOf(bytes);
  const packet = 27 + view.getUint8(26);
  const isOpus = ascii(bytes, packet, 8) === 'OpusHead';
  const isVorbis = ascii(bytes, packet, 7) === '\u0001vorbis';
  if (!isOpus && !isVorbis) return null;
  const rate = isOpus ? 48_000 : view.getUint32(packet + 12, true);
  const skipped = isOpus ? view.getUint16(packet + 10, true) : 0;
  let samples = 0;
  let end = 0;
  let at = 0;
  for (let pieces = 0; pieces < mostPieces && at + 27 <= bytes.length && ascii(bytes, at, 4) === 'OggS'; pieces++) {
    const count = view.getUint8(at + 26);
    let next = at + 27 + count;
    for (const length of bytes.subarray(at + 27, at + 27 + count)) next += length;
    const granule = view.getBigInt64(at + 6, true);
    // -1: no packet ends on this page.
    if (granule > 0n) samples = Number(granule);
    end = Math.min(next, bytes.length);
    at = next;
  }
  if (rate === 0) return null;
  const seconds = Math.max(0, samples - skipped) / rate;
  return at >= size ? seconds : extrapolated(seconds, 0, end, size);
}
