/** How long the packets of one track sound, whatever container holds them: by what is in them, never by what the container says of them. */
import { type AacConfig, aacConfig } from './aac.ts';
import { ascii, joined, viewOf } from './bytes.ts';
import { FlacPackets } from './flac.ts';
import {
  ac3Frame,
  adtsFrame,
  amrNarrowFrame,
  amrWideFrame,
  dtsFrame,
  type FrameReader,
  g723Frame,
  mlpFrame,
  mpegFrame,
  rowSeconds,
} from './frames.ts';
import { opusSamples, type PacketSamples, vorbisIn } from './packets.ts';
import { thinnestSeconds } from './thinnest.ts';

/** One track's packets, given in order. */
export interface Sound {
  /** @param packet as much of it as is there. @param length of the whole packet, in bytes. */
  add(packet: Uint8Array, length: number): void;
  seconds(): number;
  /** Where one packet ends matters. */
  readonly isPacketed: boolean;
}

export type Codec =
  | 'aac'
  | 'ac3'
  | 'alac'
  | 'amr'
  | 'amr-wide'
  | 'bits'
  | 'dts'
  | 'flac'
  | 'g723'
  | 'mlp'
  | 'mpeg'
  | 'opus'
  | 'pcm'
  | 'speex'
  | 'tta'
  | 'unknown'
  | 'vorbis'
  | 'wavpack';

/** Facts that a container states about a track. Decoders believe them where the packets do not say better. */
export interface Format {
  readonly codec: Codec;
  /** Samples per second; 0 = not said. */
  readonly rate: number;
  readonly channels: number;
  /** Bits that a sample of one channel takes, of `pcm` and `bits`; may be a fraction. */
  readonly depth: number;
  /** Setup of the decoder. */
  readonly setup: Uint8Array;
}

/** Finer sound than this is not recorded; a header that says so makes it shorter than it is. */
export const finestRate = 384_000;
export const maxChannels = 32;

/** Bytes per second that no encoder of a codec exceeds, with all its channels. */
const fattest: Readonly<Record<'aac' | 'alac' | 'mpeg' | 'opus' | 'vorbis' | 'speex' | 'other', number>> = {
  aac: 144_000,
  alac: 4_608_000,
  // Free format goes up to 640 kbit/s.
  mpeg: 80_000,
  opus: 510_000,
  vorbis: 500_000,
  speex: 11_000,
  other: 4_608_000,
};

/** Samples, or bits of them, of one width. */
class Linear implements Sound {
  readonly isPacketed = false;
  private bytes = 0;
  constructor(private readonly rate: number) {}
  add(_packet: Uint8Array, length: number): void {
    this.bytes += length;
  }
  seconds(): number {
    return this.rate > 0 ? this.bytes / this.rate : thinnestSeconds(this.bytes);
  }
}

/** Packets that each say how long they are. What lies behind the part that was seen goes on like that. */
class Packets implements Sound {
  readonly isPacketed = true;
  private bytes = 0;
  private seen = 0;
  private unseen = 0;
  private packets = 0;
  /** @param secondsOf of one packet. @param usual seconds of one that was not seen. @param most bytes per second. */
  constructor(
    private readonly secondsOf: (packet: Uint8Array) => number,
    private readonly usual: number,
    private readonly most: number,
  ) {}
  add(packet: Uint8Array, length: number): void {
    this.bytes += length;
    if (packet.length === 0 && length > 0) {
      this.unseen++;
      return;
    }
    const own = this.secondsOf(packet);
    if (own <= 0 || !Number.isFinite(own)) return;
    this.seen += own;
    this.packets++;
  }
  seconds(): number {
    const each = this.packets > 0 ? this.seen / this.packets : this.usual;
    return Math.max(this.seen + this.unseen * each, this.bytes / this.most);
  }
}

/** Frames in a row; a packet may hold many, and one of them lie in two packets. */
class Row implements Sound {
  readonly isPacketed = false;
  private readonly parts: Uint8Array[] = [];
  private bytes = 0;
  private held = 0;
  constructor(
    private readonly read: FrameReader,
    private readonly rate: number,
    private readonly most: number,
  ) {}
  add(packet: Uint8Array, length: number): void {
    this.bytes += length;
    this.held += packet.length;
    if (packet.length > 0) this.parts.push(packet);
  }
  seconds(): number {
    if (this.held === 0) return thinnestSeconds(this.bytes);
    const seen = rowSeconds(joined(this.parts), this.read, this.rate);
    return Math.max(seen * Math.max(1, this.bytes / this.held), this.bytes / this.most);
  }
}

class Flac implements Sound {
  readonly isPacketed = false;
  private readonly frames: FlacPackets;
  private bytes = 0;
  private held = 0;
  constructor(setup: Uint8Array) {
    this.frames = new FlacPackets(setup);
  }
  add(packet: Uint8Array, length: number): void {
    this.bytes += length;
    this.held += packet.length;
    this.frames.add(packet);
  }
  seconds(): number {
    if (this.held === 0) return thinnestSeconds(this.bytes);
    const seen = this.frames.seconds(this.held);
    return Math.max(seen * Math.max(1, this.bytes / this.held), this.bytes / fattest.other);
  }
}

class Unknown implements Sound {
  readonly isPacketed = false;
  private bytes = 0;
  add(_packet: Uint8Array, length: number): void {
    this.bytes += length;
  }
  seconds(): number {
    return thinnestSeconds(this.bytes);
  }
}

const row = (read: FrameReader, { rate }: Format, most = fattest.other): Sound => new Row(read, rate, most);

/** Bytes of a frame of AAC that one channel takes at most; of more than two the others take what is left. Source: ISO/IEC 14496-3, 4.5.1.1: 6,144 bits a channel. */
const fullAac = 768;

/** A packet is one frame, or frames with heads of their own. One that no encoder makes is a row of frames, each as short as speech is. */
function aac({ rate, setup }: Format): Sound {
  const config: AacConfig = aacConfig(setup) ?? { rate: rate > 0 ? rate : 48_000, samples: 1024, channels: 0 };
  const full = config.channels === 1 ? fullAac : 2 * fullAac;
  // 0 = its elements say it, 7 and more = eight at least. Source: ISO/IEC 14496-3, 1.6.3.4.
  const mostChannels = config.channels === 0 || config.channels > 6 ? 8 : config.channels;
  const core = rate > 0 ? Math.min(rate, config.rate) : config.rate;
  const each = config.samples / core;
  const secondsOf = (packet: Uint8Array): number => {
    if (packet.length === 0) return 0;
    // More than a frame can take is more than one frame: FFmpeg plays them all.
    const isRow = packet.length > fullAac * mostChannels && packet.length > full;
    const own = isRow ? thinnestSeconds(packet.length) : Math.max(1, packet.length / full) * each;
    if (packet[0] !== 0xff || adtsFrame(packet, 0) === null) return own;
    return Math.max(own, rowSeconds(packet, adtsFrame, core));
  };
  return new Packets(secondsOf, each, fattest.aac);
}

/** Source: the decoder's own description, ALACMagicCookieDescription.txt: a head of 12 bytes may stand in front. */
function alac({ rate, setup }: Format): Sound {
  let samples = 4096;
  let own = rate;
  const at = setup.length < 24 ? -1 : setup.length >= 36 && ascii(setup, 4, 4) === 'alac' ? 12 : 0;
  if (at >= 0) {
    const view = viewOf(setup);
    samples = Math.min(Math.max(1, view.getUint32(at)), 2 ** 24);
    const named = view.getUint32(at + 20);
    if (named > 0) own = own > 0 ? Math.min(own, named) : named;
  }
  const each = samples / (own > 0 ? Math.min(own, finestRate) : 44_100);
  return new Packets((packet) => (packet.length === 0 ? 0 : each), each, fattest.alac);
}

const opus = (): Sound => new Packets((packet) => opusSamples(packet) / 48_000, 0.02, fattest.opus);

function vorbis({ rate, setup }: Format): Sound {
  const { rate: named, samplesOf } = vorbisIn(setup);
  return vorbisSound(samplesOf, named > 0 ? named : rate);
}

const vorbisSound = (samplesOf: PacketSamples, rate: number): Sound => {
  const within = rate > 0 ? Math.min(rate, finestRate) : 44_100;
  return new Packets((packet) => samplesOf(packet) / within, 1024 / within, fattest.vorbis);
};

/** The header: rate, mode, frame size, frames in a packet. Source: the Speex manual, 8.3, table 8.1. */
function speex({ rate, setup }: Format): Sound {
  if (setup.length < 68) return new Packets((packet) => (packet.length > 0 ? 0.02 : 0), 0.02, fattest.speex);
  const view = viewOf(setup);
  const named = view.getUint32(36, true);
  const own = named > 0 ? named : rate;
  const usual = 160 << Math.min(2, view.getUint32(40, true));
  const samples = Math.max(usual, Math.min(view.getUint32(56, true), 4 * usual));
  const count = Math.min(Math.max(1, view.getUint32(64, true)), 64);
  const each = (samples * count) / (own > 0 ? Math.min(own, finestRate) : 8000);
  return new Packets((packet) => (packet.length > 0 ? each : 0), each, fattest.speex);
}

const wavpackRates = [
  6000, 8000, 9600, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 64_000, 88_200, 96_000, 192_000,
] as const;

/** A block without its mark begins with the number of its samples. Source: matroska.org, codec specifications, A_WAVPACK4. */
function wavpack({ rate }: Format): Sound {
  const secondsOf = (packet: Uint8Array): number => {
    if (packet.length < 12) return 0;
    const view = viewOf(packet);
    const own = wavpackRates[(view.getUint32(4, true) >>> 23) & 15] ?? rate;
    return view.getUint32(0, true) / Math.max(1, own);
  };
  return new Packets(secondsOf, 0.5, fattest.other);
}

/** @returns what counts the packets of a track; of a codec that is not known, as much as they can hold. */
export function soundOf(format: Format): Sound {
  const { codec, depth } = format;
  const rate = Math.min(format.rate, finestRate);
  const channels = Math.min(Math.max(1, format.channels), maxChannels);
  switch (codec) {
    case 'pcm':
      return new Linear(Math.ceil(depth / 8) * channels * rate);
    case 'bits':
      return new Linear((depth / 8) * channels * rate);
    case 'aac':
      return aac(format);
    case 'alac':
      return alac(format);
    case 'opus':
      return opus();
    case 'vorbis':
      return vorbis(format);
    case 'speex':
      return speex(format);
    case 'wavpack':
      return wavpack(format);
    case 'tta':
      // Source: the format's own description: a frame takes 256/245 of a second.
      return new Packets((packet) => (packet.length > 0 ? 256 / 245 : 0), 256 / 245, fattest.other);
    case 'flac':
      return new Flac(format.setup);
    case 'mpeg':
      return row(mpegFrame, format, fattest.mpeg);
    case 'ac3':
      return row(ac3Frame, format);
    case 'dts':
      return row(dtsFrame, format);
    case 'mlp':
      return row(mlpFrame, format);
    case 'amr':
      return row(amrNarrowFrame, format);
    case 'amr-wide':
      return row(amrWideFrame, format);
    case 'g723':
      return row(g723Frame, format);
    default:
      return new Unknown();
  }
}
