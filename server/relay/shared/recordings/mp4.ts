/** Sound in nested boxes: MP4, M4A, QuickTime. Source: ISO/IEC 14496-12. */

import { aacConfig } from './aac.ts';
import { ascii, atLeast, noBytes, viewOf } from './bytes.ts';
import { entryFormats } from './formats.ts';
import { type Format, type Sound, soundOf } from './sound.ts';
import { thinnestSeconds } from './thinnest.ts';

/** Boxes that hold others, wherever they stand: FFmpeg enters them in any order. */
const holders: ReadonlySet<string> = new Set([
  'moov',
  'trak',
  'mdia',
  'minf',
  'stbl',
  'moof',
  'traf',
  'edts',
  'mvex',
  'udta',
  'dinf',
  'gmhd',
  'tref',
  'clip',
  'sinf',
  'tapt',
  'ipro',
  'wave',
]);

/** Deeper boxes are not read. FFmpeg stops at 10. */
const maxDepth = 16;
/** Tracks and tables of one file that are read; a file with more of them is as long as its bytes allow. */
const maxTracks = 256;
const maxTables = 4;
const maxEntries = 4;

/** Sizes of packets: one for all, or a table. */
interface Sizes {
  readonly each: number;
  readonly count: number;
  readonly at: number;
  /** Bits of a size in the table. */
  readonly bits: number;
}

interface Run {
  readonly offset: number;
  readonly count: number;
  readonly each: number;
  /** Where the sizes stand, and how far apart; 0 = all have the same. */
  readonly at: number;
  readonly step: number;
}

class Mp4Track {
  id = 0;
  scale = 0;
  /** Units of `scale`, as the tables of times have them. */
  times = 0;
  /** Units of `scale` that `mdhd` names. */
  duration = 0;
  /** The track says that it is sound; without a word of it, what it holds decides. */
  isSound = false;
  isOther = false;
  /** Each unit of time is a sample: FFmpeg then reads whole chunks. */
  isByUnit = false;
  formats: Format[] = [];
  readonly descriptions: { readonly at: number; readonly end: number }[] = [];
  readonly sizes: Sizes[] = [];
  /** Offsets of chunks. */
  offsets: { at: number; count: number; wide: boolean } | null = null;
  /** Which chunks have how many packets. */
  chunks: { at: number; count: number } | null = null;
  edits: { at: number; count: number; wide: boolean } | null = null;
  readonly runs: Run[] = [];
  /** Sizes and times of packets in fragments that name none. */
  usualSize = 0;
  usualTime = 0;
  isCrowded = false;
}

/** Gives packets to every way of reading a track; of those that tables repeat without end no more than the file has bytes. */
class Feed {
  private readonly sounds: readonly Sound[];
  private readonly packets: number;
  private room: number;
  private given = 0;
  private repeated = 0;

  constructor(
    { formats }: Mp4Track,
    private readonly bytes: Uint8Array,
    private readonly size: number,
  ) {
    this.sounds = formats.map(soundOf);
    this.packets = bytes.length / 4 + 1024;
    this.room = 2 * bytes.length;
  }

  packet(offset: number, length: number): void {
    if (offset < 0 || offset >= this.size) return;
    this.give(offset, Math.min(length, this.size - offset));
  }

  /** Packets of one size, one behind the other. */
  equal(offset: number, count: number, each: number): void {
    if (offset < 0 || offset >= this.size) return;
    const there = Math.min(count, Math.ceil((this.size - offset) / each));
    if (!this.sounds.some((sound) => sound.isPacketed)) {
      this.give(offset, Math.min(there * each, this.size - offset));
      return;
    }
    const within = Math.min(there, Math.max(0, Math.floor(this.packets - this.given)));
    for (let packet = 0; packet < within; packet++) this.packet(offset + packet * each, each);
    this.repeated += there - within;
  }

  unseen(length: number): void {
    this.give(this.bytes.length, Math.min(length, this.size));
  }

  private give(offset: number, length: number): void {
    this.given++;
    this.room -= length;
    const isThere = offset < this.bytes.length && this.room >= 0;
    const packet = isThere ? this.bytes.subarray(offset, offset + length) : noBytes;
    for (const sound of this.sounds) sound.add(packet, length);
  }

  seconds(): number {
    let most = 0;
    for (const sound of this.sounds) most = Math.max(most, sound.seconds());
    return most * (this.given > 0 ? 1 + this.repeated / this.given : 1);
  }
}

class Mp4Reader {
  /** Seconds that `mvhd` names. */
  named = 0;
  movieScale = 0;
  readonly tracks: Mp4Track[] = [];
  /** A header that is packed, or more tracks than are read. */
  isClosed = false;
  private readonly byId = new Map<number, Mp4Track>();
  private readonly view: DataView;
  private fragment: Mp4Track | null = null;
  private fragmentBase = 0;
  private fragmentSize = 0;
  private fragmentTime = 0;
  private moof = 0;
  /** Entries behind the end of their boxes that are still read: as many as the file has bytes, in all. */
  private spare: number;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly size: number,
  ) {
    this.view = viewOf(bytes);
    this.spare = bytes.length;
  }

  /** Entries of a table. FFmpeg reads as many as it says, whatever the length of its box. */
  private entries(count: number, at: number, end: number, step: number): number {
    const inside = Math.max(0, Math.floor((end - at) / step));
    if (count <= inside) return count;
    const behind = Math.min(count, Math.max(0, Math.floor((this.bytes.length - at) / step))) - inside;
    if (behind > this.spare) this.isClosed = true;
    const taken = Math.max(0, Math.min(behind, this.spare));
    this.spare -= taken;
    return inside + taken;
  }

  read(from: number, to: number, depth = 0): void {
    const { bytes, view } = this;
    for (let at = from; at + 8 <= Math.min(to, bytes.length); ) {
      const short = view.getUint32(at);
      const long = short === 1 && at + 16 <= bytes.length;
      const length = long ? Number(view.getBigUint64(at + 8)) : short === 0 ? to - at : short;
      if (length < 8) return;
      const name = ascii(bytes, at + 4, 4);
      const start = at + (long ? 16 : 8);
      const end = Math.min(at + length, to, bytes.length);
      const hidden = hides.has(name) && start + 8 <= end && /^(?:mvhd|cmov)$/.test(ascii(bytes, start + 4, 4));
      if (name === 'trak') this.open();
      if (name === 'moof') this.moof = at;
      if ((holders.has(name) || hidden) && depth < maxDepth) this.read(start, end, depth + 1);
      // Decoders end some boxes otherwise: a name may be read where a description was expected.
      else this.box(name, start, end);
      at += length;
    }
  }

  private open(): void {
    if (this.tracks.length >= maxTracks) this.isClosed = true;
    else this.tracks.push(new Mp4Track());
  }

  private box(name: string, at: number, end: number): void {
    const { view } = this;
    const track = this.tracks.at(-1);
    const wide = this.bytes[at] === 1;
    if (name === 'cmov') this.isClosed = true;
    if (name === 'mvhd' || name === 'mdhd') {
      if (end < at + (wide ? 32 : 20)) return;
      const scale = view.getUint32(at + (wide ? 20 : 12));
      const duration = wide ? Number(view.getBigUint64(at + 24)) : view.getUint32(at + 16);
      const isNamed = scale > 0 && duration < 2 ** 32 - 1;
      if (name === 'mvhd') {
        if (isNamed) this.named = Math.max(this.named, duration / scale);
        this.movieScale = scale;
      } else if (track !== undefined) {
        track.scale = scale;
        track.duration = isNamed ? duration : 0;
      }
      return;
    }
    if (name === 'trex' && end >= at + 24) {
      const own = this.byId.get(view.getUint32(at + 4));
      if (own !== undefined) {
        own.usualTime = view.getUint32(at + 12);
        own.usualSize = view.getUint32(at + 16);
      }
    }
    if (name === 'tfhd' && end >= at + 8) this.header(at, end);
    if (name === 'trun' && end >= at + 8) this.run(at, end);
    if (track === undefined) return;
    if (name === 'tkhd' && end >= at + (wide ? 24 : 16)) {
      track.id = view.getUint32(at + (wide ? 20 : 12));
      if (!this.byId.has(track.id)) this.byId.set(track.id, track);
    }
    if (name === 'hdlr' && end >= at + 12) {
      const handler = ascii(this.bytes, at + 8, 4);
      if (handler === 'soun' || handler === 'm1a ') track.isSound = true;
      else track.isOther = true;
    }
    if (name === 'stts' && end >= at + 8) this.times(track, at, end);
    if ((name === 'stsz' || name === 'stz2') && end >= at + 12) this.sizes(track, name, at, end);
    if (name === 'stsd' && end >= at + 16) {
      if (track.descriptions.length < maxTables) track.descriptions.push({ at, end });
      else track.isCrowded = true;
    }
    if (end < at + 8) return;
    const table = (step: number) => ({ at: at + 8, count: this.entries(view.getUint32(at + 4), at + 8, end, step) });
    if (name === 'stco') track.offsets ??= { ...table(4), wide: false };
    if (name === 'co64') track.offsets ??= { ...table(8), wide: true };
    if (name === 'stsc') track.chunks ??= table(12);
    if (name === 'elst') track.edits ??= { ...table(wide ? 20 : 12), wide };
  }

  private times(track: Mp4Track, at: number, end: number): void {
    const { view } = this;
    const count = this.entries(view.getUint32(at + 4), at + 8, end, 8);
    track.isByUnit = count === 1 && view.getUint32(at + 12) === 1;
    for (let entry = 0, next = at + 8; entry < count; entry++, next += 8)
      track.times += view.getUint32(next) * view.getUint32(next + 4);
  }

  private sizes(track: Mp4Track, name: string, at: number, end: number): void {
    if (track.sizes.length >= maxTables) {
      track.isCrowded = true;
      return;
    }
    const compact = name === 'stz2';
    const each = compact ? 0 : this.view.getUint32(at + 4);
    const bits = compact ? (this.bytes[at + 7] ?? 0) : 32;
    const count = this.view.getUint32(at + 8);
    if (bits !== 4 && bits !== 8 && bits !== 16 && bits !== 32) return;
    const there = each > 0 ? count : this.entries(count, at + 12, end, bits / 8);
    track.sizes.push({ each, count: there, at: at + 12, bits });
  }

  /** Sound that a track holds; nothing = no sound. */
  describe(track: Mp4Track): void {
    // A film's track counts only where it names a codec of sound.
    const isSound = track.isSound || !track.isOther;
    for (const { at, end } of track.descriptions)
      for (let next = at + 8; next + 16 <= end; ) {
        const length = this.view.getUint32(next);
        const last = length < 16 ? end : Math.min(next + length, end);
        if (track.formats.length >= maxEntries) {
          track.isCrowded = true;
          return;
        }
        for (const format of entryFormats(this.bytes, next, last, isSound)) {
          // An entry has no room for a rate above 65,535: half of it stands there.
          const own = format.codec === 'aac' ? (aacConfig(format.setup)?.rate ?? 0) : 0;
          const isLarger = own > 65_535 && (own === track.scale || own === 2 * format.rate);
          track.formats.push(isLarger ? { ...format, rate: own } : format);
        }
        next = last;
      }
  }

  private header(at: number, end: number): void {
    const { view } = this;
    const flags = view.getUint32(at) & 0xffffff;
    const own = this.byId.get(view.getUint32(at + 4)) ?? this.tracks.at(-1) ?? null;
    this.fragment = own;
    this.fragmentBase = this.moof;
    this.fragmentSize = own?.usualSize ?? 0;
    this.fragmentTime = own?.usualTime ?? 0;
    let next = at + 8;
    const has = (flag: number, length: number): number => {
      if ((flags & flag) === 0 || next + length > end) return -1;
      next += length;
      return next - length;
    };
    const base = has(1, 8);
    if (base >= 0) this.fragmentBase = Number(view.getBigUint64(base));
    has(2, 4);
    const time = has(8, 4);
    if (time >= 0) this.fragmentTime = view.getUint32(time);
    const size = has(16, 4);
    if (size >= 0) this.fragmentSize = view.getUint32(size);
  }

  private run(at: number, end: number): void {
    const { view } = this;
    const track = this.fragment ?? this.tracks.at(-1);
    if (track === undefined) return;
    const flags = view.getUint32(at) & 0xffffff;
    const count = view.getUint32(at + 4);
    let next = at + 8;
    let offset = this.fragmentBase;
    if ((flags & 1) !== 0 && next + 4 <= end) {
      offset += view.getInt32(next);
      next += 4;
    }
    if ((flags & 4) !== 0) next += 4;
    const fields = [0x100, 0x200, 0x400, 0x800].filter((flag) => (flags & flag) !== 0).length;
    const there = fields > 0 ? this.entries(count, next, end, 4 * fields) : count;
    const sized = (flags & 0x200) !== 0;
    const timed = (flags & 0x100) !== 0;
    const each = this.fragmentSize;
    const at0 = sized ? next + (timed ? 4 : 0) : 0;
    // A packet takes a byte at least.
    if (sized || each > 0) track.runs.push({ offset, count: there, each, at: at0, step: 4 * fields });
    if (timed) for (let entry = 0; entry < there; entry++) track.times += view.getUint32(next + entry * 4 * fields);
    else track.times += this.fragmentTime * Math.min(count, this.size);
  }

  /** The longest way to play a track. */
  seconds(track: Mp4Track): number {
    if (track.formats.length === 0) return 0;
    let most = track.scale > 0 ? track.times / track.scale : 0;
    const tables = track.sizes.length === 0 ? [null] : track.sizes;
    for (const sizes of tables) {
      const feed = new Feed(track, this.bytes, this.size);
      if (sizes !== null) this.play(track, sizes, feed);
      for (const run of track.runs) this.playRun(run, feed);
      most = Math.max(most, feed.seconds());
    }
    for (const format of track.formats) most = Math.max(most, this.units(track, format));
    if (track.isCrowded) most = Math.max(most, thinnestSeconds(this.size));
    return most;
  }

  /** Samples where each unit of time is one: chunks say how many they have, as far as there is room for them. */
  private units(track: Mp4Track, { codec, rate, depth, channels }: Format): number {
    const { chunks, offsets, isByUnit } = track;
    if (!isByUnit || chunks === null || offsets === null || rate <= 0 || (codec !== 'pcm' && codec !== 'bits'))
      return 0;
    const width = (depth / 8) * Math.max(1, channels);
    let units = 0;
    for (let chunk = 0, entry = 0; chunk < offsets.count; chunk++) {
      while (entry + 1 < chunks.count && this.view.getUint32(chunks.at + (entry + 1) * 12) <= chunk + 1) entry++;
      const count = chunks.count === 0 ? 0 : this.view.getUint32(chunks.at + entry * 12 + 4);
      const offset = this.offset(offsets, chunk);
      units += Math.max(0, Math.min(count, Math.ceil((this.size - offset) / width)));
    }
    return units / rate;
  }

  private offset({ at, wide }: { at: number; wide: boolean }, chunk: number): number {
    return wide ? Number(this.view.getBigUint64(at + chunk * 8)) : this.view.getUint32(at + chunk * 4);
  }

  private sizeOf({ each, at, bits }: Sizes, packet: number): number {
    if (each > 0) return each;
    if (bits === 32) return this.view.getUint32(at + packet * 4);
    if (bits === 16) return this.view.getUint16(at + packet * 2);
    const byte = this.bytes[at + Math.floor((packet * bits) / 8)] ?? 0;
    return bits === 8 ? byte : packet % 2 === 0 ? byte >> 4 : byte & 15;
  }

  /** All packets of the tables, chunk by chunk; a chunk may be played any number of times. */
  private play(track: Mp4Track, sizes: Sizes, feed: Feed): void {
    const { chunks, offsets } = track;
    if (chunks === null || offsets === null || chunks.count === 0) {
      const count = sizes.each > 0 ? Math.min(sizes.count, Math.ceil(this.size / sizes.each)) : sizes.count;
      for (let packet = 0; packet < count; packet++) feed.unseen(this.sizeOf(sizes, packet));
      return;
    }
    let packet = 0;
    for (let chunk = 0, entry = 0; chunk < offsets.count && packet < sizes.count; chunk++) {
      while (entry + 1 < chunks.count && this.view.getUint32(chunks.at + (entry + 1) * 12) <= chunk + 1) entry++;
      const count = Math.min(this.view.getUint32(chunks.at + entry * 12 + 4), sizes.count - packet);
      const offset = this.offset(offsets, chunk);
      if (sizes.each > 0) feed.equal(offset, count, sizes.each);
      else
        for (let next = offset, at = packet; at < packet + count; at++) {
          const length = this.sizeOf(sizes, at);
          feed.packet(next, length);
          next += length;
        }
      packet += count;
    }
  }

  private playRun({ offset, count, each, at, step }: Run, feed: Feed): void {
    if (at === 0) {
      feed.equal(offset, count, each);
      return;
    }
    for (let packet = 0, next = offset; packet < count; packet++) {
      const length = this.view.getUint32(at + packet * step);
      feed.packet(next, length);
      next += length;
    }
  }

  /** Parts of a track that edits play again. @param seconds of the whole track. */
  edited(track: Mp4Track, seconds: number): number {
    if (track.edits === null || this.movieScale === 0) return seconds;
    const { at, count, wide } = track.edits;
    let sum = 0;
    for (let edit = 0; edit < count; edit++) {
      const next = at + edit * (wide ? 20 : 12);
      const length = wide ? Number(this.view.getBigUint64(next)) : this.view.getUint32(next);
      const isEmpty = wide ? this.view.getBigInt64(next + 8) === -1n : this.view.getInt32(next + 4) === -1;
      if (!isEmpty) sum += length === 0 ? seconds : Math.min(seconds, length / this.movieScale);
    }
    return sum > seconds * 1.05 ? sum : seconds;
  }
}

/** Room that was left free, where FFmpeg finds a header that was moved. */
const hides: ReadonlySet<string> = new Set(['free', 'skip', 'hoov']);
const starts: ReadonlySet<string> = new Set(['ftyp', 'moov', 'mdat', 'wide', 'free', 'skip', 'pnot', 'styp']);

/** @returns the longest of what the tables of times and the packets of a track of sound say; without any track what the header says. */
export function mp4Seconds(bytes: Uint8Array, size: number): number | null {
  if (bytes.length < 16) return null;
  // The first box or the one behind it has a name that is known.
  if (!starts.has(ascii(bytes, 4, 4)) && !starts.has(ascii(bytes, viewOf(bytes).getUint32(0) + 4, 4))) return null;
  const reader = new Mp4Reader(bytes, size);
  reader.read(0, size);
  let named = 0;
  let counted = 0;
  for (const track of reader.tracks) {
    reader.describe(track);
    if (track.formats.length === 0) continue;
    const seconds = reader.seconds(track);
    counted = Math.max(counted, reader.edited(track, seconds));
    if (track.scale > 0) named = Math.max(named, track.duration / track.scale);
  }
  const isSilent = counted === 0 && named === 0;
  let seconds = isSilent ? reader.named : atLeast(named, counted);
  if (reader.isClosed || (isSilent && reader.tracks.length === 0 && seconds > 0))
    seconds = Math.max(seconds, thinnestSeconds(size));
  return seconds > 0 ? seconds : null;
}
