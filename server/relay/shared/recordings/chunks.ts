/** Sound in chunks and pages: WAVE, AIFF, FLAC, Ogg. */
import { ascii, extrapolated, tagLength, viewOf } from './bytes.ts';
import { opusSamples, type PacketSamples, vorbisSamples } from './codec.ts';

const unknownLength = 0xffffffff;
/** Finer sound than this is not recorded; a header that says so makes it shorter than it is. */
const finestRate = 384_000;
const maxChannels = 32;
const chunkName = /^[\w \u00a9-]{4}$/;

/** Bytes per second at the format's own parameters, at most as many as the header says. */
function waveRate(view: DataView, start: number): number {
  const format = view.getUint16(start, true);
  const channels = Math.min(Math.max(1, view.getUint16(start + 2, true)), maxChannels);
  const rate = Math.min(view.getUint32(start + 4, true), finestRate);
  const named = view.getUint32(start + 8, true);
  const bits = start + 16 <= view.byteLength ? view.getUint16(start + 14, true) : 0;
  // GSM 06.10 packs 320 samples in 65 bytes; MPEG layer III in WAVE has no width.
  const counted = format === 0x31 ? (rate * 65) / 320 : (rate * channels * Math.min(bits, 64)) / 8;
  return counted > 0 ? Math.min(named > 0 ? named : counted, counted) : Math.min(named, finestRate);
}

/** RIFF/WAVE: all `data` chunks, at the rate of `fmt `; what was streamed leaves their length open. */
export function waveSeconds(bytes: Uint8Array, size: number): number | null {
  if (bytes.length < 20 || !['RIFF', 'RF64'].includes(ascii(bytes, 0, 4)) || ascii(bytes, 8, 4) !== 'WAVE') return null;
  const view = viewOf(bytes);
  let rate = 0;
  let sound = 0;
  let seen = false;
  let at = 12;
  while (at + 8 <= bytes.length) {
    const name = ascii(bytes, at, 4);
    const length = view.getUint32(at + 4, true);
    const start = at + 8;
    // What is no chunk goes on sounding.
    if (seen && !chunkName.test(name)) {
      sound += size - at;
      at = size;
      break;
    }
    if (name === 'fmt ' && start + 12 <= bytes.length) {
      const own = waveRate(view, start);
      rate = rate === 0 ? own : Math.min(rate, own);
    }
    if (name === 'data') {
      const left = size - start;
      seen = true;
      sound += length === 0 || length === unknownLength ? left : Math.min(length, left);
      if (length === 0 || length === unknownLength) at = size;
    }
    const end = start + length;
    // Some writers leave out the byte that makes a length even.
    const padded = length % 2 === 1 && !chunkName.test(ascii(bytes, end, 4));
    at = Math.max(at, padded ? end + 1 : end);
  }
  if (rate === 0) return null;
  // Whatever stands in front of the sound is longer than what could be seen.
  if (!seen) return Math.max(0, size - at) / rate;
  return sound / rate;
}

/** Frames of `COMM`, and never less than the sound that is there at its parameters. Source: Apple, AIFF 1.3. */
export function aiffSeconds(bytes: Uint8Array, size: number): number | null {
  if (bytes.length < 54 || ascii(bytes, 0, 4) !== 'FORM' || !ascii(bytes, 8, 4).startsWith('AIF')) return null;
  const view = viewOf(bytes);
  for (let at = 12; at + 26 <= bytes.length; ) {
    const length = view.getUint32(at + 4);
    if (ascii(bytes, at, 4) === 'COMM') {
      const channels = Math.min(Math.max(1, view.getUint16(at + 8)), maxChannels);
      const bits = Math.min(Math.max(1, view.getUint16(at + 14)), 64);
      // A float of ten bytes: exponent and the upper half of the fraction.
      const rate = Math.min(
        view.getUint32(at + 18) * 2 ** ((view.getUint16(at + 16) & 0x7fff) - 16_383 - 31),
        finestRate,
      );
      const width = Math.ceil(bits / 8) * channels;
      return rate > 0 ? Math.max(view.getUint32(at + 10), (size - at) / width) / rate : null;
    }
    at += 8 + length + (length % 2);
  }
  return null;
}

/** Samples of a FLAC frame whose head begins here; 0 = none does. Source: RFC 9639, section 9.1. */
function flacFrame(bytes: Uint8Array, at: number, rate: number): number {
  const sizes = bytes[at + 2] ?? 0;
  const code = sizes >> 4;
  const fourth = bytes[at + 3] ?? 0;
  if (code === 0 || (sizes & 15) === 15 || fourth >> 4 > 10 || (fourth & 1) === 1 || ((fourth >> 1) & 7) === 3)
    return 0;
  // The number of the frame or sample is written like a character of UTF-8.
  const first = bytes[at + 4] ?? 0;
  let end = at + 5;
  if (first >= 0x80) {
    const more = Math.clz32(~(first << 24)) - 1;
    if (more < 1 || more > 6) return 0;
    for (let left = more; left > 0; left--) if (((bytes[end++] ?? 0) & 0xc0) !== 0x80) return 0;
  }
  let samples = code === 1 ? 192 : code <= 5 ? 576 << (code - 2) : code >= 8 ? 256 << (code - 8) : 0;
  if (code === 6) samples = (bytes[end++] ?? 0) + 1;
  if (code === 7) {
    samples = (((bytes[end] ?? 0) << 8) | (bytes[end + 1] ?? 0)) + 1;
    end += 2;
  }
  const own = flacRates[sizes & 15] ?? 0;
  if (own > 0 && own !== rate) return 0;
  if ((sizes & 15) === 12) end += 1;
  else if ((sizes & 15) > 12) end += 2;
  let check = 0;
  for (let byte = at; byte < end; byte++) {
    check ^= bytes[byte] ?? 0;
    for (let bit = 0; bit < 8; bit++) check = ((check << 1) ^ ((check & 0x80) === 0 ? 0 : 0x07)) & 0xff;
  }
  return end < bytes.length && check === bytes[end] ? samples : 0;
}
const flacRates = [0, 88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000] as const;

/** The first metadata block counts the samples, and each frame its own. */
export function flacSeconds(bytes: Uint8Array, size: number): number | null {
  const head = tagLength(bytes);
  if (bytes.length < head + 26 || ascii(bytes, head, 4) !== 'fLaC') return null;
  const view = viewOf(bytes);
  const rate = view.getUint32(head + 18) >>> 12;
  if (rate === 0) return null;
  const named = (view.getUint8(head + 21) & 0x0f) * 2 ** 32 + view.getUint32(head + 22);
  let start = head + 4;
  for (let last = false; !last && start + 4 <= bytes.length; ) {
    last = ((bytes[start] ?? 0) & 0x80) !== 0;
    start += 4 + (view.getUint32(start) & 0xffffff);
  }
  let samples = 0;
  for (let at = bytes.indexOf(0xff, start); at >= 0 && at + 6 < bytes.length; at = bytes.indexOf(0xff, at + 1))
    if (((bytes[at + 1] ?? 0) & 0xfe) === 0xf8) samples += flacFrame(bytes, at, rate);
  const counted =
    bytes.length >= size ? samples / rate : (extrapolated(samples / rate, start, bytes.length, size) ?? 0);
  const seconds = Math.max(named / rate, counted);
  return seconds > 0 ? seconds : null;
}

/** What is known of the stream whose packets are read. */
interface OggStream {
  readonly rate: number;
  readonly skipped: number;
  samplesOf: PacketSamples | null;
  readonly identification: Uint8Array;
  /** The longest of its packets, in samples. */
  maxLength: number;
}

const none = new Uint8Array(0);

function oggStream(packet: Uint8Array): OggStream | null {
  const view = viewOf(packet);
  const head = { identification: packet, maxLength: 0 };
  if (packet.length >= 19 && ascii(packet, 0, 8) === 'OpusHead')
    return { ...head, rate: 48_000, skipped: view.getUint16(10, true), samplesOf: opusSamples };
  if (packet.length < 16 || ascii(packet, 0, 7) !== '\u0001vorbis') return null;
  return { ...head, rate: Math.min(view.getUint32(12, true), finestRate), skipped: 0, samplesOf: null };
}

const isHeader = (packet: Uint8Array): boolean =>
  ascii(packet, 0, 8) === 'OpusTags' || ascii(packet, 1, 6) === 'vorbis';

/** The last page says up to which sample it goes, and each packet how long it is. */
export function oggSeconds(bytes: Uint8Array, size: number): number | null {
  if (bytes.length < 60 || ascii(bytes, 0, 4) !== 'OggS') return null;
  const view = viewOf(bytes);
  let stream: OggStream | null = null;
  let before = 0;
  let granule = 0;
  let samples = 0;
  let end = 0;
  let carried: Uint8Array = none;
  /** One stream may follow another. */
  const finished = (): number => {
    if (stream === null || stream.rate === 0) return 0;
    const named = Math.max(0, granule - stream.skipped) / stream.rate;
    const counted = Math.max(0, samples - stream.skipped) / stream.rate;
    return samples - granule <= stream.maxLength && named > 0 ? named : Math.max(named, counted);
  };
  const take = (packet: Uint8Array): void => {
    const next = oggStream(packet);
    if (next !== null) {
      before += finished();
      stream = next;
      granule = 0;
      samples = 0;
      return;
    }
    if (stream === null) return;
    if (isHeader(packet)) {
      if (packet[0] === 5) stream.samplesOf ??= vorbisSamples(stream.identification, packet);
      return;
    }
    const length = stream.samplesOf?.(packet) ?? 0;
    stream.maxLength = Math.max(stream.maxLength, length);
    samples += length;
  };
  for (let at = 0; at + 27 <= bytes.length; ) {
    if (ascii(bytes, at, 4) !== 'OggS') {
      const next = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf('OggS', at + 1, 'latin1');
      if (next < 0) break;
      at = next;
      continue;
    }
    const count = view.getUint8(at + 26);
    let start = at + 27 + count;
    let length = 0;
    for (const lace of bytes.subarray(at + 27, at + 27 + count)) {
      length += lace;
      if (lace === 255) continue;
      const part = bytes.subarray(start, start + length);
      take(carried.length === 0 ? part : new Uint8Array(Buffer.concat([carried, part])));
      carried = none;
      start += length;
      length = 0;
    }
    if (length > 0) {
      const part = bytes.subarray(start, start + length);
      carried = carried.length === 0 ? part : new Uint8Array(Buffer.concat([carried, part]));
      start += length;
    }
    const position = view.getBigInt64(at + 6, true);
    // -1: no packet ends on this page.
    if (position > 0n) granule = Math.max(granule, Number(position));
    end = Math.min(start, bytes.length);
    at = start;
  }
  if (stream === null) return null;
  const seconds = before + finished();
  if (seconds === 0 && (stream as OggStream).rate === 0) return null;
  return bytes.length >= size ? seconds : extrapolated(seconds, 0, end, size);
}
