/** Sound in nested elements: Matroska and WebM. Source: RFC 9559. */
import { ascii, atLeast, extrapolated, noBytes, viewOf } from './bytes.ts';
import { matroskaFormat } from './formats.ts';
import { type Sound, soundOf } from './sound.ts';
import { thinnestSeconds } from './thinnest.ts';

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
  type: 0x83,
  codec: 0x86,
  setup: 0x63a2,
  sound: 0xe1,
  rate: 0xb5,
  outputRate: 0x78b5,
  channels: 0x9f,
  depth: 0x6264,
  encodings: 0x6d80,
  encoding: 0x6240,
  compression: 0x5034,
  algorithm: 0x4254,
  settings: 0x4255,
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
  ids.encodings,
  ids.encoding,
  ids.compression,
]);

/** Tracks that are read, and of them those that share a number; a file with more is as long as its bytes allow. */
const maxTracks = 256;
const maxTwins = 4;

/** Length of a number is in the zeros it begins with; of the number read last. */
let vintLength = 0;

/** @param keep with its marker, as ids are written. @returns -1 where none is. */
function vint(bytes: Uint8Array, at: number, keep: boolean): number {
  const first = bytes[at] ?? 0;
  const length = Math.clz32(first) - 23;
  if (first === 0 || at + length > bytes.length) return -1;
  let value = keep ? first : first & ((1 << (8 - length)) - 1);
  let unknown = value === (1 << (8 - length)) - 1;
  for (let next = at + 1; next < at + length; next++) {
    const byte = bytes[next] ?? 0;
    value = value * 256 + byte;
    unknown &&= byte === 0xff;
  }
  vintLength = length;
  return unknown && !keep ? Number.POSITIVE_INFINITY : value;
}

const unsigned = (bytes: Uint8Array): number => {
  let value = 0;
  for (const byte of bytes.subarray(0, 8)) value = value * 256 + byte;
  return value;
};

const float = (bytes: Uint8Array): number =>
  bytes.length === 4 ? viewOf(bytes).getFloat32(0) : bytes.length === 8 ? viewOf(bytes).getFloat64(0) : 0;

/** How many bytes one packed byte may become: zlib at most, and what other ways of packing may reach. Source: zlib.net, zlib_tech. */
const packedRatio = { zlib: 1032, other: 40_000 } as const;

class MatroskaTrack {
  number = 0;
  kind = 0;
  codec = '';
  setup = noBytes;
  rate = 0;
  outputRate = 0;
  channels = 1;
  depth = 0;
  /** How its packets are packed: 0 = zlib, 3 = what all begin with is left out. */
  algorithm = -1;
  isPacked = false;
  prefix = noBytes;
  private made: Sound | null = null;

  get isSound(): boolean {
    return this.kind === 2 || this.codec.startsWith('A_') || (this.kind === 0 && this.codec === '');
  }

  private get sound(): Sound {
    if (this.made !== null) return this.made;
    const { codec, channels, depth, setup } = this;
    let rate = this.rate > 0 ? this.rate : 8000;
    if (this.outputRate > 0) rate = Math.min(rate, this.outputRate);
    this.made = soundOf(matroskaFormat(codec, rate, channels, depth, setup));
    return this.made;
  }

  add(packet: Uint8Array): void {
    const { isPacked, algorithm, prefix } = this;
    if (isPacked && algorithm !== 3) {
      this.sound.add(noBytes, packet.length * (algorithm === 0 ? packedRatio.zlib : packedRatio.other));
      return;
    }
    if (isPacked && prefix.length > 0 && packet.length > 0) {
      const whole = new Uint8Array(prefix.length + packet.length);
      whole.set(prefix);
      whole.set(packet, prefix.length);
      this.sound.add(whole, whole.length);
      return;
    }
    this.sound.add(packet, packet.length);
  }

  get seconds(): number {
    return this.made === null ? 0 : this.made.seconds();
  }

  describe(id: number, content: Uint8Array): void {
    if (id === ids.type) this.kind = unsigned(content);
    else if (id === ids.codec) this.codec = ascii(content, 0, Math.min(content.length, 32)).replace(/\0.*$/, '');
    else if (id === ids.setup) this.setup = content;
    else if (id === ids.channels) this.channels = Math.max(1, unsigned(content));
    else if (id === ids.depth) this.depth = unsigned(content);
    else if (id === ids.rate) this.rate = Math.max(0, float(content));
    else if (id === ids.outputRate) this.outputRate = Math.max(0, float(content));
    else if (id === ids.algorithm) this.algorithm = unsigned(content);
    else if (id === ids.settings) this.prefix = content.subarray(0, 16);
  }
}

/** Frames of a block's content behind its head, each given on. Source: RFC 9559, section 10.3. */
function laced(content: Uint8Array, lacing: number, track: MatroskaTrack): void {
  if (lacing === 0 || content.length === 0) {
    track.add(content);
    return;
  }
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
      if (next < 0) break;
      at += vintLength;
      const before = sizes.at(-1);
      sizes.push(before === undefined ? next : before + next - (2 ** (7 * vintLength - 1) - 1));
    }
  for (const size of sizes) {
    const length = Number.isFinite(size) ? Math.max(0, size) : 0;
    track.add(content.subarray(at, at + length));
    at += length;
  }
  if (lacing !== 2) track.add(content.subarray(at));
}

const tracksMark = new Uint8Array([0x16, 0x54, 0xae, 0x6b]);
const clusterMark = new Uint8Array([0x1f, 0x43, 0xb6, 0x75]);

class MatroskaReader {
  readonly tracks: MatroskaTrack[] = [];
  scale = 1_000_000;
  ticks = 0;
  /** Where the first block of sound begins, and the last one ends. */
  first = -1;
  at = 0;
  isCrowded = false;
  private readonly byNumber = new Map<number, MatroskaTrack[]>();
  private cluster = 0;
  private last = 0;
  private step = 0;

  constructor(private readonly bytes: Uint8Array) {}

  /** Where tracks and a cluster begin next; read once each. */
  private nextTracks = -1;
  private nextCluster = -1;

  /** What an element claims to hold ends where a cluster or a list of tracks begins: a decoder that has lost its way goes on there. */
  private mark(from: number): number {
    const { bytes } = this;
    const find = (mark: Uint8Array): number => {
      const at = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf(mark, from);
      return at < 0 ? bytes.length : at;
    };
    if (this.nextTracks < from) this.nextTracks = find(tracksMark);
    if (this.nextCluster < from) this.nextCluster = find(clusterMark);
    return Math.min(this.nextTracks, this.nextCluster);
  }

  read(): void {
    const { bytes } = this;
    while (this.at < bytes.length) {
      const id = vint(bytes, this.at, true);
      const idLength = vintLength;
      const length = id < 0 ? -1 : vint(bytes, this.at + idLength, false);
      if (id < 0 || length < 0) {
        // A decoder looks for the next cluster.
        const next = this.mark(this.at + 1);
        if (next >= bytes.length) return;
        this.at = next;
        continue;
      }
      const start = this.at + idLength + vintLength;
      const own = start + length;
      const end = entered.has(id) ? own : Math.min(own, this.mark(start));
      this.element(id, start, Math.min(end, bytes.length), length);
      this.at = entered.has(id) ? start : end;
    }
  }

  private element(id: number, start: number, end: number, length: number): void {
    const content = this.bytes.subarray(start, end);
    const isWhole = content.length === length;
    const track = this.tracks.at(-1);
    if (id === ids.simple || id === ids.block) this.block(content, start);
    else if (id === ids.time) this.cluster = unsigned(content);
    else if (id === ids.scale) this.scale = unsigned(content);
    else if (id === ids.duration && isWhole) this.ticks = Math.max(this.ticks, float(content));
    else if (id === ids.entry) {
      if (this.tracks.length >= maxTracks) this.isCrowded = true;
      else this.tracks.push(new MatroskaTrack());
    } else if (track !== undefined && id === ids.compression) {
      track.isPacked = true;
      track.algorithm = Math.max(track.algorithm, 0);
    } else if (track !== undefined && isWhole) {
      if (id === ids.number) this.number(track, unsigned(content));
      else track.describe(id, content);
    }
  }

  private number(track: MatroskaTrack, number: number): void {
    const twins = this.byNumber.get(number);
    if (twins === undefined) this.byNumber.set(number, [track]);
    else if (twins.length < maxTwins) {
      if (!twins.includes(track)) twins.push(track);
    } else this.isCrowded = true;
  }

  private block(content: Uint8Array, start: number): void {
    if (content.length < 4) return;
    const number = vint(content, 0, false);
    const head = (number < 0 ? 1 : vintLength) + 3;
    const tracks = this.byNumber.get(number);
    if (tracks === undefined ? this.tracks.length > 0 : !tracks.some((track) => track.isSound)) return;
    if (content.length >= head) {
      const time = this.cluster + viewOf(content).getInt16(head - 3);
      if (this.first < 0) this.first = start;
      if (time > this.last) {
        this.step = time - this.last;
        this.last = time;
      }
    }
    if (tracks === undefined) return;
    for (const track of tracks)
      if (track.isSound) laced(content.subarray(head), ((content[head - 1] ?? 0) >> 1) & 3, track);
  }

  /** The last block sounds as long as the one before it. */
  get blocks(): number {
    return ((this.last + this.step) * this.scale) / 1e9;
  }
}

/** What the header names, up to where the last block goes, and the sound of all packets: the longest of them. */
export function matroskaSeconds(bytes: Uint8Array, size: number): number | null {
  if (bytes.length < 40 || viewOf(bytes).getUint32(0) !== ids.ebml) return null;
  const reader = new MatroskaReader(bytes);
  reader.read();
  const { tracks, scale, ticks, first, at, blocks } = reader;
  let sound = 0;
  for (const track of tracks) if (track.isSound) sound = Math.max(sound, track.seconds);
  const counted = Math.max(blocks, sound - blocks <= 0.25 ? 0 : sound);
  const named = ticks > 0 && tracks.every((track) => track.isSound) ? (ticks * scale) / 1e9 : 0;
  const all =
    bytes.length >= size || first < 0 ? counted : (extrapolated(counted, first, Math.min(at, bytes.length), size) ?? 0);
  let seconds = atLeast(named, all);
  if (reader.isCrowded) seconds = Math.max(seconds, thinnestSeconds(size));
  return seconds > 0 && Number.isFinite(seconds) ? seconds : null;
}
