/** Sound in nested boxes: MP4 (m4a) and Matroska (webm). */
import { ascii, extrapolated, mostPieces, viewOf } from './bytes.ts';

/** @returns start and end of a box's content, or null. */
function findBox(bytes: Uint8Array, name: string, from: number, to: number): readonly [number, number] | null {
  const view = viewOf(bytes);
  let at = from;
  for (let pieces = 0; pieces < mostPieces && at + 8 <= Math.min(to, bytes.length); pieces++) {
    const short = view.getUint32(at);
    const long = short === 1 && at + 16 <= bytes.length;
    const length = long ? Number(view.getBigUint64(at + 8)) : short === 0 ? to - at : short;
    if (length < 8) return null;
    if (ascii(bytes, at + 4, 4) === name) return [at + (long ? 16 : 8), at + length];
    at += length;
  }
  return null;
}

/** `moov/mvhd` names the duration, in front of the sound or behind it; a file in fragments may name none. */
export function mp4Seconds(bytes: Uint8Array, size: number): number | null {
  if (bytes.length < 16 || ascii(bytes, 4, 4) !== 'ftyp') return null;
  const movie = findBox(bytes, 'moov', 0, size);
  const header = movie === null ? null : findBox(bytes, 'mvhd', movie[0], movie[1]);
  if (header === null) return null;
  const [at, end] = header;
  const view = viewOf(bytes);
  const wide = bytes[at] === 1;
  if (Math.min(end, bytes.length) < at + (wide ? 32 : 20)) return null;
  const scale = view.getUint32(at + (wide ? 20 : 12));
  const duration = wide ? Number(view.getBigUint64(at + 24)) : view.getUint32(at + 16);
  return scale > 0 && duration > 0 && duration < 2 ** 32 - 1 ? duration / scale : null;
}

const ids = {
  ebml: 0x1a45dfa3,
  segment: 0x18538067,
  info: 0x1549a966,
  scale: 0x2ad7b1,
  duration: 0x4489,
  cluster: 0x1f43b675,
  time: 0xe7,
  group: 0xa0,
  block: 0xa1,
  simple: 0xa3,
} as const;

/** Read by what is inside of them. */
const entered: ReadonlySet<number> = new Set([ids.segment, ids.info, ids.cluster, ids.group]);

/** Length of a number is in the zeros it begins with. @param keep with its marker, as ids are written. */
function vint(
  bytes: Uint8Array,
  at: number,
  keep: boolean,
): { readonly value: number; readonly length: number } | null {
  const first = bytes[at] ?? 0;
  const length = Math.clz32(first) - 23;
  if (first === 0 || at + length > bytes.length) return null;
  let value = keep ? first : first & ((1 << (8 - length)) - 1);
  let unknown = value === (1 << (8 - length)) - 1;
  for (const byte of bytes.subarray(at + 1, at + length)) {
    value = value * 256 + byte;
    unknown &&= byte === 0xff;
  }
  return { value: unknown && !keep ? Number.POSITIVE_INFINITY : value, length };
}

const unsigned = (bytes: Uint8Array): number => bytes.reduce((sum, byte) => sum * 256 + byte, 0);

/** The duration where it is named; what a browser recorded names none, then up to where the last block goes. */
export function matroskaSeconds(bytes: Uint8Array, size: number): number | null {
  if (bytes.length < 40 || viewOf(bytes).getUint32(0) !== ids.ebml) return null;
  const view = viewOf(bytes);
  let scale = 1_000_000;
  let cluster = 0;
  let first = -1;
  let last = 0;
  let step = 0;
  let at = 0;
  let pieces = 0;
  while (at < bytes.length && pieces++ < mostPieces) {
    const id = vint(bytes, at, true);
    const length = id === null ? null : vint(bytes, at + id.length, false);
    if (id === null || length === null) break;
    const start = at + id.length + length.length;
    const content = bytes.subarray(start, Math.min(start + length.value, bytes.length));
    if (id.value === ids.scale) scale = unsigned(content);
    else if (id.value === ids.duration && content.length === length.value) {
      const ticks = content.length === 4 ? view.getFloat32(start) : content.length === 8 ? view.getFloat64(start) : 0;
      if (ticks > 0) return (ticks * scale) / 1e9;
    } else if (id.value === ids.time) cluster = unsigned(content);
    else if ((id.value === ids.simple || id.value === ids.block) && content.length >= 4) {
      const track = vint(content, 0, false);
      const time = cluster + view.getInt16(start + (track?.length ?? 1));
      if (first < 0) first = start;
      if (time > last) {
        step = time - last;
        last = time;
      }
    }
    at = entered.has(id.value) ? start : start + length.value;
  }
  // The last block sounds as long as the one before it.
  const seconds = ((last + step) * scale) / 1e9;
  return (bytes.length >= size && at >= bytes.length) || first < 0
    ? seconds > 0
      ? seconds
      : null
    : extrapolated(seconds, first, Math.min(at, bytes.length), size);
}
