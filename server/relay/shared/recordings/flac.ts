/** FLAC: what its first block says, and what each frame does. Source: RFC 9639. */
import { ascii, extrapolated, tagLength, viewOf } from './bytes.ts';

const flacRates = [0, 88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000] as const;

/** The frame read last: one object for all, because a recording has a great many. */
const frame = { samples: 0, rate: 0 };

/** A frame's head. @returns false when none begins here. Source: section 9.1. */
function readFrame(bytes: Uint8Array, at: number): boolean {
  const sizes = bytes[at + 2] ?? 0;
  const code = sizes >> 4;
  const rateCode = sizes & 15;
  const fourth = bytes[at + 3] ?? 0;
  if (bytes[at] !== 0xff || ((bytes[at + 1] ?? 0) & 0xfe) !== 0xf8) return false;
  if (code === 0 || rateCode === 15 || fourth >> 4 > 10 || (fourth & 1) === 1 || ((fourth >> 1) & 7) === 3)
    return false;
  // The number of the frame or sample is written like a character of UTF-8.
  const first = bytes[at + 4] ?? 0;
  let end = at + 5;
  if (first >= 0x80) {
    const more = Math.clz32(~(first << 24)) - 1;
    if (more < 1 || more > 6) return false;
    for (let left = more; left > 0; left--) if (((bytes[end++] ?? 0) & 0xc0) !== 0x80) return false;
  }
  let samples = code === 1 ? 192 : code <= 5 ? 576 << (code - 2) : code >= 8 ? 256 << (code - 8) : 0;
  if (code === 6) samples = (bytes[end++] ?? 0) + 1;
  if (code === 7) {
    samples = (((bytes[end] ?? 0) << 8) | (bytes[end + 1] ?? 0)) + 1;
    end += 2;
  }
  let rate: number = flacRates[rateCode] ?? 0;
  if (rateCode === 12) rate = (bytes[end++] ?? 0) * 1000;
  else if (rateCode > 12) {
    rate = (((bytes[end] ?? 0) << 8) | (bytes[end + 1] ?? 0)) * (rateCode === 14 ? 10 : 1);
    end += 2;
  }
  let check = 0;
  for (let byte = at; byte < end; byte++) {
    check ^= bytes[byte] ?? 0;
    for (let bit = 0; bit < 8; bit++) check = ((check << 1) ^ ((check & 0x80) === 0 ? 0 : 0x07)) & 0xff;
  }
  if (end >= bytes.length || check !== bytes[end]) return false;
  frame.samples = samples;
  frame.rate = rate;
  return true;
}

/** STREAMINFO without its head. */
function streamInfo(bytes: Uint8Array, at: number): { readonly rate: number; readonly samples: number } {
  if (bytes.length < at + 18) return { rate: 0, samples: 0 };
  const view = viewOf(bytes);
  return {
    rate: view.getUint32(at + 10) >>> 12,
    samples: (view.getUint8(at + 13) & 0x0f) * 2 ** 32 + view.getUint32(at + 14),
  };
}

/** Part of the time of all other frames. */
const chanceShare = 1 / 16;

/** Seconds of all frames. A decoder takes the rate of the frame; where that and the first block differ, the lower one counts. */
class FlacFrames {
  /** Seconds of frames whose rate is the stream's or is left to it, and of the others. */
  private same = 0;
  private other = 0;
  private others = 0;

  constructor(private readonly rate: number) {}

  add(): void {
    const { samples, rate: own } = frame;
    if (own === 0 || own === this.rate) {
      if (this.rate > 0) this.same += samples / this.rate;
      return;
    }
    this.others++;
    this.other += samples / (this.rate > 0 ? Math.min(own, this.rate) : own);
  }

  /** @param scanned bytes among which frames were looked for: one in some ten millions looks like a frame by chance. */
  seconds(scanned: number): number {
    const { same, other } = this;
    // Frames that take a large share of the time were written, however few they are.
    const isChance = this.others < 3 + scanned / 2 ** 22 && other <= same * chanceShare;
    return isChance ? same : same + other;
  }
}

/** Packets of one frame each, as containers hold them. */
export class FlacPackets {
  private readonly frames: FlacFrames;

  /** @param setup with or without the mark and the head of STREAMINFO. */
  constructor(setup: Uint8Array) {
    let at = 0;
    if (ascii(setup, 0, 4) === 'fLaC') at = 8;
    else if (setup.length >= 38 && ((setup[0] ?? 0) & 0x7f) === 0) at = 4;
    this.frames = new FlacFrames(streamInfo(setup, at).rate);
  }

  add(packet: Uint8Array): void {
    // A packet may hold several.
    for (let at = packet.indexOf(0xff); at >= 0; at = packet.indexOf(0xff, at + 1))
      if (readFrame(packet, at)) this.frames.add();
  }

  seconds(scanned: number): number {
    return this.frames.seconds(scanned);
  }
}

/** The first metadata block counts the samples, and each frame its own. */
export function flacSeconds(bytes: Uint8Array, size: number): number | null {
  const head = tagLength(bytes);
  if (bytes.length < head + 26 || ascii(bytes, head, 4) !== 'fLaC') return null;
  const view = viewOf(bytes);
  const { rate, samples } = streamInfo(bytes, head + 8);
  let start = head + 4;
  for (let last = false; !last && start + 4 <= bytes.length; ) {
    last = ((bytes[start] ?? 0) & 0x80) !== 0;
    start += 4 + (view.getUint32(start) & 0xffffff);
  }
  const frames = new FlacFrames(rate);
  const from = Math.min(start, bytes.length);
  for (let at = bytes.indexOf(0xff, from); at >= 0 && at + 6 < bytes.length; at = bytes.indexOf(0xff, at + 1))
    if (readFrame(bytes, at)) frames.add();
  const seen = frames.seconds(bytes.length - from);
  const counted = bytes.length >= size ? seen : (extrapolated(seen, from, bytes.length, size) ?? 0);
  const seconds = rate > 0 ? Math.max(samples / rate, counted) : counted;
  return seconds > 0 ? seconds : null;
}
