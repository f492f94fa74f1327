/** How long one packet of Opus or Vorbis sounds, from the packet itself and from what the decoder is set up with. */
import { ascii } from './bytes.ts';

/** @returns samples of one packet. */
export type PacketSamples = (packet: Uint8Array) => number;

/** Samples of a frame at 48 kHz, by the upper five bits of the first byte. Source: RFC 6716, table 2. */
function opusFrame(config: number): number {
  if (config >= 16) return 120 << (config & 3);
  if (config >= 12) return (config & 1) === 0 ? 480 : 960;
  return [480, 960, 1920, 2880][config & 3] ?? 2880;
}

/** Source: RFC 6716, section 3.2. */
export const opusSamples: PacketSamples = (packet) => {
  if (packet.length === 0) return 0;
  const first = packet[0] ?? 0;
  const second = packet[1] ?? 0;
  const count = (first & 3) === 0 ? 1 : (first & 3) === 3 ? second & 63 : 2;
  return Math.min(count * opusFrame(first >> 3), 5760);
};

/**
 * Vorbis packets name a mode, and the mode one of two block sizes. The modes lie at the end of the setup header and are
 * read from there backwards, as FFmpeg's parser does, because what is in front is coded in many ways.
 * @param identification @param setup first and third header packet. @returns null when they cannot be read.
 */
export function vorbisSamples(identification: Uint8Array, setup: Uint8Array): PacketSamples | null {
  if (identification.length < 30 || ascii(identification, 0, 7) !== '\u0001vorbis') return null;
  const sizes = identification[28] ?? 0;
  const short = 1 << (sizes & 15);
  const long = 1 << (sizes >> 4);
  const modes = modesOf(setup);
  let before = 0;
  const next = (size: number): number => {
    const samples = before === 0 ? size / 2 : (before + size) / 4;
    before = size;
    return samples;
  };
  // Where the modes are unknown, each block may be a long one.
  if (modes === null) return (packet) => (packet.length === 0 ? 0 : next(long));
  const bits = Math.ceil(Math.log2(modes.length));
  return (packet) => {
    const first = packet[0];
    // Odd packets are headers.
    if (first === undefined || (first & 1) === 1) return 0;
    return next((modes[(first >> 1) & ((1 << bits) - 1)] ?? true) ? long : short);
  };
}

/** @returns for each mode whether its blocks are long ones. */
function modesOf(setup: Uint8Array): readonly boolean[] | null {
  let at = setup.length * 8 - 1;
  const bit = (): number => {
    const value = ((setup[at >> 3] ?? 0) >> (at & 7)) & 1;
    at--;
    return value;
  };
  const bits = (count: number): number => {
    let value = 0;
    for (let left = count; left > 0; left--) value = value * 2 + bit();
    return value;
  };
  while (at > 97 && bit() === 0);
  const end = at;
  let count = 0;
  let found = 0;
  while (at >= 97 && count < 64) {
    if (bits(8) > 63 || bits(16) !== 0 || bits(16) !== 0) break;
    bit();
    count++;
    const back = at;
    if (bits(6) + 1 === count) found = count;
    at = back;
  }
  if (found === 0) return null;
  at = end;
  const modes: boolean[] = [];
  for (let mode = 0; mode < found; mode++) {
    bits(40);
    modes.unshift(bit() === 1);
  }
  return modes;
}

/** The three headers in a row, the lengths of two in front, as containers other than Ogg keep them. */
export function vorbisIn(setup: Uint8Array): { readonly rate: number; readonly samplesOf: PacketSamples } {
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
  const identification = setup.subarray(at, at + first);
  const found = vorbisSamples(identification, setup.subarray(at + first + second));
  return { rate: vorbisRate(identification), samplesOf: found ?? longestVorbis };
}

/** @returns 0 where it is none. */
export const vorbisRate = (identification: Uint8Array): number => {
  const [a = 0, b = 0, c = 0, d = 0] = identification.subarray(12, 16);
  return ((d << 24) | (c << 16) | (b << 8) | a) >>> 0;
};

/** Half of the largest block. */
export const longestVorbis: PacketSamples = (packet) => (packet.length === 0 ? 0 : 4096);
