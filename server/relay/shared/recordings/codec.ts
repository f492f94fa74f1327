/** How long one packet of a codec sounds, from the packet itself and from what the decoder is set up with. */
import { ascii, viewOf } from './bytes.ts';

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
  const [first = 0, second = 0] = packet;
  if (packet.length === 0) return 0;
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
  // Without them each block may be a long one.
  if (modes === null) return (packet) => (packet.length === 0 ? 0 : next(long));
  const bits = Math.ceil(Math.log2(modes.length));
  return (packet) => {
    const [first] = packet;
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

const aacRates = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
] as const;

/** Rate of the core that decodes 1,024 samples of each packet. Source: ISO/IEC 14496-3, AudioSpecificConfig. */
export function aacRate(config: Uint8Array): number | null {
  if (config.length < 2) return null;
  const view = viewOf(config);
  const index = (view.getUint16(0) >> 7) & 15;
  if (index !== 15) return aacRates[index] ?? null;
  return config.length < 5 ? null : ((view.getUint32(1) & 0x7fffffff) >> 7) & 0xffffff;
}
