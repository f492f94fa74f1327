/** Ogg: pages of several streams, and packets that go over pages. Sources: RFC 3533, RFC 7845, RFC 9639 section 10.1. */
import { ascii, extrapolated, indexOfWord, joined, viewOf } from './bytes.ts';
import { FlacPackets } from './flac.ts';
import { longestVorbis, opusSamples, type PacketSamples, vorbisRate, vorbisSamples } from './packets.ts';
import { finestRate, type Sound, soundOf } from './sound.ts';
import { thinnestSeconds } from './thinnest.ts';

/** One stream of a file, from its first packet on. */
class OggStream {
  /** Streams that begin together play together; others follow one another. */
  link = 0;
  private readonly kind: 'opus' | 'vorbis' | 'flac' | 'speex' | 'other' | 'silent';
  private readonly rate: number;
  private readonly skipped: number;
  private readonly sound: Sound | null;
  private readonly frames: FlacPackets | null;
  private samplesOf: PacketSamples | null = null;
  private bytes = 0;
  private samples = 0;
  private maxLength = 0;
  private first = -1;
  private granule = 0;
  private packets = 0;
  private setups = 0;

  constructor(private readonly identification: Uint8Array) {
    const head = identification;
    const mark = ascii(head, 0, 8);
    let rate = 0;
    let skipped = 0;
    let sound: Sound | null = null;
    let frames: FlacPackets | null = null;
    if (mark === 'OpusHead' && head.length >= 19) {
      this.kind = 'opus';
      rate = 48_000;
      skipped = viewOf(head).getUint16(10, true);
    } else if (mark.startsWith('\u0001vorbis') && head.length >= 16) {
      this.kind = 'vorbis';
      rate = Math.min(vorbisRate(head), finestRate);
    } else if (mark.startsWith('\u007fFLAC') || mark.startsWith('fLaC')) {
      this.kind = 'flac';
      const setup = mark.startsWith('fLaC') ? head : head.subarray(9);
      frames = new FlacPackets(setup);
      rate = setup.length >= 22 ? viewOf(setup).getUint32(18) >>> 12 : 0;
    } else if (mark === 'Speex   ') {
      this.kind = 'speex';
      sound = soundOf({ codec: 'speex', rate: 0, channels: 1, depth: 0, setup: head });
      rate = head.length >= 40 ? Math.min(viewOf(head).getUint32(36, true), finestRate) : 0;
    } else this.kind = startsWithAny(mark, pictures) ? 'silent' : 'other';
    this.rate = rate;
    this.skipped = skipped;
    this.sound = sound;
    this.frames = frames;
  }

  /** @param length of the whole packet. */
  packet(packet: Uint8Array): void {
    if (this.kind === 'silent' || packet.length === 0) return;
    if (this.kind === 'vorbis') {
      const isHeader = ascii(packet, 1, 6) === 'vorbis';
      // The first one counts; others cost what they weigh, or each of them would have to be read.
      if (isHeader && packet[0] === 5 && this.setups++ === 0) {
        this.samplesOf = vorbisSamples(this.identification, packet);
        return;
      }
      if (isHeader) return;
    }
    if (this.kind === 'opus' && ascii(packet, 0, 8) === 'OpusTags') return;
    this.packets++;
    this.bytes += packet.length;
    if (this.kind === 'speex') {
      // Two packets of headers stand in front, of which one is this object's.
      if (this.packets > 1) this.sound?.add(packet, packet.length);
      return;
    }
    if (this.kind === 'flac') {
      this.frames?.add(packet);
      return;
    }
    if (this.kind === 'other') return;
    const length = this.kind === 'opus' ? opusSamples(packet) : (this.samplesOf ?? this.longest)(packet);
    this.maxLength = Math.max(this.maxLength, length);
    this.samples += length;
  }

  private readonly longest: PacketSamples = (packet) => (((packet[0] ?? 1) & 1) === 1 ? 0 : longestVorbis(packet));

  /** @param position up to which sample the page goes. */
  page(position: number): void {
    if (this.kind === 'silent' || this.kind === 'other') return;
    // A recording cut out of a broadcast does not begin at 0.
    const isKnown = this.kind === 'opus' || this.samplesOf !== null;
    if (this.first < 0 && isKnown && this.samples > 0) this.first = Math.max(0, position - this.samples);
    this.granule = Math.max(this.granule, position);
  }

  seconds(): number {
    if (this.kind === 'silent') return 0;
    if (this.kind === 'other') return thinnestSeconds(this.bytes);
    const start = this.first > this.maxLength + this.skipped ? this.first : 0;
    const named = this.rate > 0 ? Math.max(0, this.granule - start - this.skipped) / this.rate : 0;
    if (this.kind === 'flac') return Math.max(named, this.frames?.seconds(this.bytes) ?? 0);
    if (this.kind === 'speex') return Math.max(named, this.sound?.seconds() ?? 0);
    if (this.rate === 0) return thinnestSeconds(this.bytes);
    const counted = Math.max(0, this.samples - this.skipped) / this.rate;
    const isTrimmed = this.samples - (this.granule - start) <= this.maxLength && named > 0;
    return isTrimmed ? named : Math.max(named, counted);
  }

  /** No stream that could be played was found out. */
  get isOpen(): boolean {
    return this.rate === 0 && this.kind !== 'silent';
  }
}

/** Theora, Dirac, VP8, films and texts of OGM, and what describes other streams. */
const pictures = [
  '\u0080theora',
  'BBCD',
  'OVP80',
  '\u0001video',
  '\u0001text',
  '\u0080kate',
  'fishead',
  'CMML',
  'index',
] as const;
/** The first packets of sound. */
const identifications = ['OpusHead', '\u0001vorbis', '\u007fFLAC', 'Speex   '] as const;
const startsWithAny = (mark: string, starts: readonly string[]): boolean =>
  starts.some((start) => mark.startsWith(start));

/** Streams in one file. No player takes so many. */
const maxStreams = 4096;

interface Lane {
  stream: OggStream | null;
  /** Pieces of the packet that the last page has left open. */
  open: Uint8Array[];
}

/** Each stream is as long as its packets, at least as long as its last page says; the streams of a chain follow one another. */
export function oggSeconds(bytes: Uint8Array, size: number): number | null {
  if (bytes.length < 60 || ascii(bytes, 0, 4) !== 'OggS') return null;
  const view = viewOf(bytes);
  const lanes = new Map<number, Lane>();
  const streams: OggStream[] = [];
  let link = 0;
  let isBeginning = true;
  let end = 0;
  let lost = 0;
  const take = (lane: Lane, packet: Uint8Array): void => {
    if (lane.stream !== null && !isIdentification(packet)) {
      lane.stream?.packet(packet);
      isBeginning = false;
      return;
    }
    if (streams.length >= maxStreams) {
      lost += packet.length;
      return;
    }
    if (!isBeginning) {
      link++;
      isBeginning = true;
    }
    const stream = new OggStream(packet);
    stream.link = link;
    streams.push(stream);
    lane.stream = stream;
  };
  for (let at = 0; at + 27 <= bytes.length; ) {
    if (view.getUint32(at) !== 0x4f676753) {
      const next = indexOfWord(bytes, 'OggS', at + 1);
      if (next < 0) break;
      at = next;
      continue;
    }
    const serial = view.getUint32(at + 14);
    let lane = lanes.get(serial);
    if (lane === undefined) {
      lane = { stream: null, open: [] };
      lanes.set(serial, lane);
    }
    const count = view.getUint8(at + 26);
    let start = at + 27 + count;
    let length = 0;
    for (let index = 0; index < count && at + 27 + index < bytes.length; index++) {
      const lace = bytes[at + 27 + index] ?? 0;
      length += lace;
      if (lace === 255) continue;
      const part = bytes.subarray(start, start + length);
      if (lane.open.length === 0) take(lane, part);
      else {
        lane.open.push(part);
        take(lane, joined(lane.open));
        lane.open = [];
      }
      start += length;
      length = 0;
    }
    if (length > 0) {
      lane.open.push(bytes.subarray(start, start + length));
      start += length;
    }
    const position = view.getBigInt64(at + 6, true);
    // -1: no packet ends on this page.
    if (position > 0n) lane.stream?.page(Number(position));
    end = Math.min(start, bytes.length);
    at = start;
  }
  // A packet in which the file breaks off may be heard as well.
  for (const lane of lanes.values()) if (lane.open.length > 0) take(lane, joined(lane.open));
  if (streams.length === 0) return null;
  const longest = new Array<number>(link + 1).fill(0);
  for (const stream of streams) longest[stream.link] = Math.max(longest[stream.link] ?? 0, stream.seconds());
  const seconds = longest.reduce((sum, one) => sum + one, 0) + thinnestSeconds(lost);
  if (seconds === 0 && streams.some((stream) => stream.isOpen)) return null;
  return bytes.length >= size ? seconds : extrapolated(seconds, 0, end, size);
}

/** The first packet of a stream behind another one with the same number. */
const isIdentification = (packet: Uint8Array): boolean =>
  packet.length >= 16 && startsWithAny(ascii(packet, 0, 8), identifications);
