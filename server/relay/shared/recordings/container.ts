/** Sound in nested boxes: MP4 (m4a) and Matroska (webm). */
import { ascii, atLeast, extrapolated, viewOf } from './bytes.ts';
import { aacRate, opusSamples, type PacketSamples, vorbisSamples } from './codec.ts';

/** Boxes that hold others. */
const holders: ReadonlySet<string> = new Set(['moov', 'trak', 'mdia', 'minf', 'stbl', 'moof', 'traf']);

interface Mp4Track {
  id: number;
  scale: number;
  /** Units of `scale`, as the table of times has them. */
  times: number;
  /** Packets that are there. */
  packets: number;
  /** Samples of a packet, and of a second. */
  frame: number;
  rate: number;
}

/** Samples that a packet of a codec holds. Source: ISO/IEC 14496-3, RFC 6716, RFC 9639, ETSI TS 102 366, 3GPP TS 26.101. */
const packetSamples: ReadonlyMap<string, number> = new Map([
  ['mp4a', 1024],
  ['alac', 4096],
  ['Opus', 2880],
  ['fLaC', 4608],
  ['.mp3', 1152],
  ['ac-3', 1536],
  ['ec-3', 1536],
  ['samr', 160],
  ['sawb', 320],
]);

/** Times and packets of all tracks; `moov/mvhd` names the duration, and may lengthen it. */
class Mp4Reader {
  named = 0;
  readonly tracks: Mp4Track[] = [];
  private readonly view: DataView;

  constructor(private readonly bytes: Uint8Array) {
    this.view = viewOf(bytes);
  }

  read(from: number, to: number): void {
    const { bytes, view } = this;
    for (let at = from; at + 8 <= Math.min(to, bytes.length); ) {
      const short = view.getUint32(at);
      const long = short === 1 && at + 16 <= bytes.length;
      const length = long ? Number(view.getBigUint64(at + 8)) : short === 0 ? to - at : short;
      if (length < 8) return;
      const name = ascii(bytes, at + 4, 4);
      const start = at + (long ? 16 : 8);
      const end = Math.min(at + length, to, bytes.length);
      if (name === 'trak') this.tracks.push({ id: 0, scale: 0, times: 0, packets: 0, frame: 0, rate: 0 });
      if (holders.has(name)) this.read(start, end);
      else this.box(name, start, end);
      at += length;
    }
  }

  private box(name: string, at: number, end: number): void {
    const { view } = this;
    const track = this.tracks.at(-1);
    const wide = this.bytes[at] === 1;
    if (name === 'mvhd' || name === 'mdhd') {
      if (end < at + (wide ? 32 : 20)) return;
      const scale = view.getUint32(at + (wide ? 20 : 12));
      const duration = wide ? Number(view.getBigUint64(at + 24)) : view.getUint32(at + 16);
      const seconds = scale > 0 && duration < 2 ** 32 - 1 ? duration / scale : 0;
      this.named = Math.max(this.named, seconds);
      if (name === 'mdhd' && track !== undefined) track.scale = scale;
      return;
    }
    if (track === undefined) return;
    if (name === 'tkhd' && end >= at + 24) track.id = view.getUint32(at + (wide ? 20 : 12));
    if (name === 'stts' && end >= at + 8) {
      const count = view.getUint32(at + 4);
      for (let entry = 0, next = at + 8; entry < count && next + 8 <= end; entry++, next += 8)
        track.times += view.getUint32(next) * view.getUint32(next + 4);
    }
    if (name === 'stsz' && end >= at + 12) track.packets += this.packets(at, end);
    if (name === 'stsd' && end >= at + 44) this.description(track, at + 8, end);
    if (name === 'tfhd' && end >= at + 8) this.fragment = view.getUint32(at + 4);
    if (name === 'trun' && end >= at + 8) {
      const own = this.tracks.find(({ id }) => id === this.fragment) ?? track;
      own.packets += Math.min(view.getUint32(at + 4), this.bytes.length);
    }
  }

  private fragment = 0;

  /** A packet takes a byte at least, so a table says no more of them than there may be. */
  private packets(at: number, end: number): number {
    const size = this.view.getUint32(at + 4);
    const count = this.view.getUint32(at + 8);
    if (size > 0) return Math.min(count, Math.ceil(this.bytes.length / size));
    return Math.min(count, Math.floor((end - at - 12) / 4));
  }

  private description(track: Mp4Track, at: number, end: number): void {
    const { bytes, view } = this;
    const frame = packetSamples.get(ascii(bytes, at + 4, 4));
    if (frame === undefined) return;
    track.frame = frame;
    track.rate = view.getUint16(at + 32);
    for (let next = at + 36; next + 30 <= end; next++) {
      if (ascii(bytes, next, 4) !== 'esds') continue;
      // Tag 5 holds what the decoder is set up with; its length takes one to four bytes.
      for (let tag = next + 8; tag + 4 <= end; tag++) {
        if (bytes[tag] !== 5) continue;
        let config = tag + 1;
        while (((bytes[config] ?? 0) & 0x80) !== 0 && config < end) config++;
        const rate = aacRate(bytes.subarray(config + 1, end));
        if (rate !== null && rate > 0) track.rate = track.rate > 0 ? Math.min(track.rate, rate) : rate;
      }
      return;
    }
  }
}

/** @returns the longest of what the header, the table of times and the packets of a track say. */
export function mp4Seconds(bytes: Uint8Array, size: number): number | null {
  if (bytes.length < 16 || ascii(bytes, 4, 4) !== 'ftyp') return null;
  const reader = new Mp4Reader(bytes);
  reader.read(0, size);
  let counted = 0;
  for (const { scale, times, packets, frame, rate } of reader.tracks) {
    if (scale > 0) counted = Math.max(counted, times / scale);
    if (rate > 0) counted = Math.max(counted, (packets * frame) / rate);
  }
  const seconds = atLeast(reader.named, counted);
  return seconds > 0 ? seconds : null;
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
  tracks: 0x1654ae6b,
  entry: 0xae,
  number: 0xd7,
  codec: 0x86,
  setup: 0x63a2,
  sound: 0xe1,
  rate: 0xb5,
  channels: 0x9f,
  depth: 0x6264,
} as const;

/** Read by what is inside of them. */
const entered: ReadonlySet<number> = new Set([
  ids.segment,
  ids.info,
  ids.cluster,
  ids.group,
  ids.tracks,
  ids.entry,
  ids.sound,
]);

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

interface MatroskaTrack {
  number: number;
  codec: string;
  setup: Uint8Array;
  rate: number;
  channels: number;
  depth: number;
  samplesOf: PacketSamples | null;
  seconds: number;
}

/** Frames of fixed length; AAC's is in its setup. */
const matroskaFrames: ReadonlyMap<string, number> = new Map([
  ['A_MPEG/L3', 1152],
  ['A_MPEG/L2', 1152],
  ['A_AC3', 1536],
  ['A_EAC3', 1536],
  ['A_FLAC', 4608],
  ['A_ALAC', 4096],
]);

/** @returns seconds of one packet. */
function packetSeconds(track: MatroskaTrack, packet: Uint8Array): number {
  const { codec, rate } = track;
  if (codec === 'A_OPUS') return opusSamples(packet) / 48_000;
  if (codec.startsWith('A_AAC')) return 1024 / (aacRate(track.setup) ?? (rate > 0 ? rate : 48_000));
  if (codec.startsWith('A_PCM')) return (packet.length * 8) / (Math.max(1, track.depth) * track.channels * rate);
  if (codec === 'A_VORBIS') {
    track.samplesOf ??= vorbisIn(track.setup);
    return track.samplesOf(packet) / rate;
  }
  return (matroskaFrames.get(codec) ?? 0) / rate;
}

/** The three headers in a row, the lengths of two in front. */
function vorbisIn(setup: Uint8Array): PacketSamples {
  const lengths = [0, 0];
  let at = 1;
  for (const index of [0, 1]) {
    while (setup[at] === 255) {
      lengths[index] = (lengths[index] ?? 0) + 255;
      at++;
    }
    lengths[index] = (lengths[index] ?? 0) + (setup[at++] ?? 0);
  }
  const [first = 0, second = 0] = lengths;
  const found = vorbisSamples(setup.subarray(at, at + first), setup.subarray(at + first + second));
  return found ?? (() => 8192 / 2);
}

/** @returns the frames of a block's content behind its head. Source: RFC 9559, section 10.3. */
function laced(content: Uint8Array, lacing: number): readonly Uint8Array[] {
  if (lacing === 0 || content.length === 0) return [content];
  const count = (content[0] ?? 0) + 1;
  const sizes: number[] = [];
  let at = 1;
  if (lacing === 2) sizes.push(...new Array<number>(count).fill(Math.floor((content.length - 1) / count)));
  else if (lacing === 1)
    while (sizes.length < count - 1 && at < content.length) {
      let length = 0;
      while (content[at] === 255) {
        length += 255;
        at++;
      }
      sizes.push(length + (content[at++] ?? 0));
    }
  else
    while (sizes.length < count - 1 && at < content.length) {
      const next = vint(content, at, false);
      if (next === null) break;
      at += next.length;
      const before = sizes.at(-1);
      sizes.push(before === undefined ? next.value : before + next.value - (2 ** (7 * next.length - 1) - 1));
    }
  const frames: Uint8Array[] = [];
  for (const size of sizes) {
    frames.push(content.subarray(at, at + size));
    at += Math.max(0, size);
  }
  if (lacing !== 2) frames.push(content.subarray(at));
  return frames;
}

/** What the header names, up to where the last block goes, and the sound of all packets: the longest of them. */
export function matroskaSeconds(bytes: Uint8Array, size: number): number | null {
  if (bytes.length < 40 || viewOf(bytes).getUint32(0) !== ids.ebml) return null;
  const view = viewOf(bytes);
  const tracks: MatroskaTrack[] = [];
  let scale = 1_000_000;
  let ticks = 0;
  let cluster = 0;
  let first = -1;
  let last = 0;
  let step = 0;
  let at = 0;
  while (at < bytes.length) {
    const id = vint(bytes, at, true);
    const length = id === null ? null : vint(bytes, at + id.length, false);
    if (id === null || length === null) break;
    const start = at + id.length + length.length;
    const content = bytes.subarray(start, Math.min(start + length.value, bytes.length));
    const whole = content.length === length.value;
    const track = tracks.at(-1);
    if (id.value === ids.scale) scale = unsigned(content);
    else if (id.value === ids.duration && whole)
      ticks = content.length === 4 ? view.getFloat32(start) : content.length === 8 ? view.getFloat64(start) : 0;
    else if (id.value === ids.entry)
      tracks.push({
        number: 0,
        codec: '',
        setup: content.subarray(0, 0),
        rate: 8000,
        channels: 1,
        depth: 16,
        samplesOf: null,
        seconds: 0,
      });
    else if (id.value === ids.time) cluster = unsigned(content);
    else if ((id.value === ids.simple || id.value === ids.block) && content.length >= 4) {
      const number = vint(content, 0, false);
      const head = (number?.length ?? 1) + 3;
      const time = cluster + view.getInt16(start + head - 3);
      if (first < 0) first = start;
      if (time > last) {
        step = time - last;
        last = time;
      }
      const own = tracks.find((one) => one.number === number?.value);
      if (own !== undefined)
        for (const packet of laced(content.subarray(head), ((content[head - 1] ?? 0) >> 1) & 3))
          own.seconds += packetSeconds(own, packet);
    } else if (track !== undefined && whole) describe(track, id.value, content);
    at = entered.has(id.value) ? start : start + length.value;
  }
  // The last block sounds as long as the one before it.
  const blocks = ((last + step) * scale) / 1e9;
  const sound = Math.max(0, ...tracks.map(({ seconds }) => seconds).filter(Number.isFinite));
  const counted = Math.max(blocks, sound - blocks <= 0.25 ? 0 : sound);
  const named = ticks > 0 ? (ticks * scale) / 1e9 : 0;
  const all =
    (bytes.length >= size && at >= bytes.length) || first < 0
      ? counted
      : (extrapolated(counted, first, Math.min(at, bytes.length), size) ?? 0);
  const seconds = atLeast(named, all);
  return seconds > 0 ? seconds : null;
}

function describe(track: MatroskaTrack, id: number, content: Uint8Array): void {
  if (id === ids.number) track.number = unsigned(content);
  else if (id === ids.codec) track.codec = ascii(content, 0, Math.min(content.length, 32)).replace(/\0.*$/, '');
  else if (id === ids.setup) track.setup = content;
  else if (id === ids.channels) track.channels = Math.max(1, unsigned(content));
  else if (id === ids.depth) track.depth = unsigned(content);
  else if (id === ids.rate) {
    const view = viewOf(content);
    const rate = content.length === 4 ? view.getFloat32(0) : content.length === 8 ? view.getFloat64(0) : 0;
    if (rate > 0) track.rate = Math.min(rate, 384_000);
  }
}
