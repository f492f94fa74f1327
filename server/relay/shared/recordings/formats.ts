/** What containers call their codecs: tags of WAVE, names of QuickTime and MP4, names of Matroska. */
import { ascii, noBytes, viewOf } from './bytes.ts';
import type { Codec, Format } from './sound.ts';

/** Samples of one width, as many for each channel. */
const samples = (codec: 'pcm' | 'bits', rate: number, channels: number, depth: number): Format => ({
  codec,
  rate,
  channels,
  depth,
  setup: noBytes,
});

/** Packets say themselves how long they are, whatever their channels. */
const packets = (codec: Codec, rate = 0, setup = noBytes): Format => ({ codec, rate, channels: 1, depth: 0, setup });

/** Widths that decoders know; of any other the narrowest one counts. */
const widthOf = (bits: number, known: readonly number[], otherwise: number): number => {
  const whole = Math.ceil(bits / 8) * 8;
  return known.includes(whole) ? whole : otherwise;
};

const waveCodecs: ReadonlyMap<number, Codec> = new Map<number, Codec>([
  [0x14, 'g723'],
  [0x42, 'g723'],
  [0x50, 'mpeg'],
  [0x55, 'mpeg'],
  [0x57, 'amr'],
  [0x58, 'amr-wide'],
  [0x2000, 'ac3'],
  [0x2001, 'dts'],
]);

/** Bits of a sample of codecs with one channel and blocks of one size: GSM 06.10, TrueSpeech, G.722, G.729. */
const speechBits: ReadonlyMap<number, number> = new Map([
  [0x31, (65 * 8) / 320],
  [0x22, (32 * 8) / 240],
  [0x65, 4],
  [0x28f, 4],
  [0x83, 1],
]);

/** ADPCM of four bits, with two at least where a decoder asks the header. */
const adpcm: ReadonlySet<number> = new Set([0x02, 0x11, 0x20, 0x45, 0x64, 0x140]);

/** @param at where a WAVEFORMAT begins. Source: Microsoft, mmreg.h. */
export function waveFormat(bytes: Uint8Array, at: number, length: number): Format {
  if (bytes.length < at + 14) return packets('unknown');
  const view = viewOf(bytes);
  const end = Math.min(bytes.length, at + length);
  const named = view.getUint16(at, true);
  const tag = named === 0xfffe && at + 26 <= end ? view.getUint16(at + 24, true) : named;
  const channels = view.getUint16(at + 2, true);
  const rate = view.getUint32(at + 4, true);
  const bits = at + 16 <= end ? view.getUint16(at + 14, true) : 0;
  if (tag === 1) return samples('pcm', rate, channels, widthOf(bits, [8, 16, 24, 32, 64], 8));
  if (tag === 3) return samples('pcm', rate, channels, widthOf(bits, [16, 24, 32, 64], 16));
  if (tag === 6 || tag === 7) return samples('pcm', rate, channels, 8);
  if (adpcm.has(tag))
    return samples('bits', rate, channels, bits >= 2 && bits <= 4 ? bits : tag === 0x02 ? 4 : bits === 5 ? 5 : 2);
  const speech = speechBits.get(tag);
  if (speech !== undefined) return samples('bits', rate, 1, speech);
  return packets(waveCodecs.get(tag) ?? 'unknown', rate);
}

/** What the descriptor of an elementary stream calls a codec. Source: mp4ra.org, object types. */
const objectTypes: ReadonlyMap<number, Codec> = new Map<number, Codec>([
  [0x69, 'mpeg'],
  [0x6b, 'mpeg'],
  [0xa5, 'ac3'],
  [0xa6, 'ac3'],
  [0xa9, 'dts'],
  [0xad, 'opus'],
  [0xdd, 'vorbis'],
]);
/** Types of other speech and music, which an entry of AAC may carry. */
const otherObjects: ReadonlySet<number> = new Set([0xaa, 0xab, 0xac, 0xc1, 0xe1]);

interface Descriptor {
  readonly object: number;
  readonly setup: Uint8Array;
}

/** @param at behind the name `esds`. Source: ISO/IEC 14496-1, 7.2.6. */
function descriptor(bytes: Uint8Array, at: number, end: number): Descriptor | null {
  let next = at + 4;
  const open = (tag: number): boolean => {
    if (bytes[next] !== tag) return false;
    next++;
    for (let left = 4; left > 0 && next < end; left--) if (((bytes[next++] ?? 0) & 0x80) === 0) break;
    return true;
  };
  if (open(3)) {
    const flags = bytes[next + 2] ?? 0;
    next += 3 + ((flags & 0x80) === 0 ? 0 : 2) + ((flags & 0x40) === 0 ? 0 : 1 + (bytes[next + 3] ?? 0));
    next += (flags & 0x20) === 0 ? 0 : 2;
  }
  if (!open(4)) return null;
  const object = bytes[next] ?? 0;
  next += 13;
  return { object, setup: open(5) ? bytes.subarray(next, end) : noBytes };
}

const boxCodecs: ReadonlyMap<string, Codec> = new Map<string, Codec>([
  ['.mp3', 'mpeg'],
  ['mp3 ', 'mpeg'],
  ['.mp2', 'mpeg'],
  ['.mp1', 'mpeg'],
  ['ms\0U', 'mpeg'],
  ['ms\0P', 'mpeg'],
  ['ac-3', 'ac3'],
  ['sac3', 'ac3'],
  ['ec-3', 'ac3'],
  ['Opus', 'opus'],
  ['fLaC', 'flac'],
  ['alac', 'alac'],
  ['samr', 'amr'],
  ['sawb', 'amr-wide'],
  ['dtsc', 'dts'],
  ['dtsh', 'dts'],
  ['dtsl', 'dts'],
  ['dtse', 'dts'],
  ['DTS ', 'dts'],
  ['mlpa', 'mlp'],
]);

/** Bits of a sample where they are fixed, whatever an entry says. Source: Apple, QuickTime File Format, sound sample descriptions. */
const boxBits: ReadonlyMap<string, number> = new Map([
  ['ulaw', 8],
  ['alaw', 8],
  ['ULAW', 8],
  ['ALAW', 8],
  ['in24', 24],
  ['in32', 32],
  ['fl32', 32],
  ['FL32', 32],
  ['fl64', 64],
  ['FL64', 64],
  ['ima4', (34 * 8) / 64],
  ['MAC3', (2 * 8) / 6],
  ['MAC6', 8 / 6],
  ['SDX2', 8],
  ['ADP4', 4],
]);
const oneChannel: ReadonlyMap<string, number> = new Map([
  ['GSM ', (33 * 8) / 160],
  ['agsm', (33 * 8) / 160],
  ['G722', 4],
]);
/** Integers of the width that the entry says, where decoders know it. */
const integers: ReadonlySet<string> = new Set(['sowt', 'twos', 'NONE', 'raw ', 'lpcm', 'ipcm', 'fpcm', '\0\0\0\0']);

/**
 * @param name four letters of AIFC, QuickTime or MP4.
 * @param bits that the header says a sample has.
 * @returns null for what is no sound that is known.
 */
export function namedFormat(
  name: string,
  rate: number,
  channels: number,
  bits: number,
  setup = noBytes,
): Format | null {
  if (integers.has(name)) {
    const widest = name === 'lpcm' || name === 'fpcm' || name === 'ipcm' ? [8, 16, 24, 32, 64] : [8, 16, 24, 32];
    return samples('pcm', rate, channels, widthOf(Math.max(1, bits), widest, name === 'raw ' ? 8 : 16));
  }
  const own = boxBits.get(name);
  if (own !== undefined) return samples('bits', rate, channels, own);
  const single = oneChannel.get(name);
  if (single !== undefined) return samples('bits', rate, 1, single);
  if (name === 'ms\0\u0011' || name === 'ms\0\u0002') return samples('bits', rate, channels, 4);
  const codec = boxCodecs.get(name);
  return codec === undefined ? null : packets(codec, rate, setup);
}

/** @param at where a box of `stsd` begins. @param isSound the track says so. @returns every way to read it; none = no sound. */
export function entryFormats(bytes: Uint8Array, at: number, end: number, isSound: boolean): readonly Format[] {
  if (end < at + 36) return isSound ? [packets('unknown')] : [];
  const view = viewOf(bytes);
  const name = ascii(bytes, at + 4, 4);
  const version = view.getUint16(at + 16);
  let channels = view.getUint16(at + 24);
  let bits = view.getUint16(at + 26);
  let rate = view.getUint16(at + 32);
  if (version === 2 && end >= at + 72) {
    rate = view.getFloat64(at + 40);
    channels = view.getUint32(at + 48);
    bits = view.getUint32(at + 56);
  }
  if (!(rate >= 1)) rate = 0;
  const found: Format[] = [];
  const inside = bytes.subarray(at, end);
  const text = Buffer.from(inside.buffer, inside.byteOffset, inside.byteLength);
  const box = (own: string): Uint8Array => {
    const where = text.indexOf(own, 36, 'latin1');
    return where < 0 ? noBytes : inside.subarray(where + 4);
  };
  if (name === 'mp4a' || name === 'enca') {
    for (let where = text.indexOf('esds', 36, 'latin1'), left = 4; where >= 0 && left > 0; left--) {
      const named = descriptor(inside, where + 4, inside.length);
      if (named !== null) {
        const codec = otherObjects.has(named.object) ? 'unknown' : (objectTypes.get(named.object) ?? 'aac');
        found.push(packets(codec, rate, named.setup));
      }
      where = text.indexOf('esds', where + 4, 'latin1');
    }
    return found.length === 0 ? [packets('aac', rate)] : found;
  }
  let setup = noBytes;
  if (name === 'alac') {
    // QuickTime has the name in other boxes as well; the one that sets up a decoder has 36 bytes.
    for (let where = text.indexOf(name, 36, 'latin1'); where >= 4; where = text.indexOf(name, where + 4, 'latin1'))
      if (text.readUInt32BE(where - 4) === 36) setup = inside.subarray(where + 8, where + 32);
  }
  if (name === 'fLaC') setup = box('dfLa').subarray(4);
  if (name === 'ipcm' || name === 'fpcm') {
    const own = box('pcmC')[5] ?? 0;
    if (own > 0) bits = bits > 0 ? Math.min(bits, own) : own;
  }
  const known = namedFormat(name, rate, channels, bits, setup);
  if (known !== null) return [known];
  return isSound ? [packets('unknown')] : [];
}

const matroskaCodecs: readonly (readonly [string, Codec])[] = [
  ['A_MPEG/L', 'mpeg'],
  ['A_AAC', 'aac'],
  ['A_AC3', 'ac3'],
  ['A_EAC3', 'ac3'],
  ['A_DTS', 'dts'],
  ['A_FLAC', 'flac'],
  ['A_ALAC', 'alac'],
  ['A_OPUS', 'opus'],
  ['A_VORBIS', 'vorbis'],
  ['A_TTA', 'tta'],
  ['A_WAVPACK', 'wavpack'],
  ['A_MLP', 'mlp'],
  ['A_TRUEHD', 'mlp'],
];

/** Source: matroska.org, codec specifications. */
export function matroskaFormat(name: string, rate: number, channels: number, bits: number, setup: Uint8Array): Format {
  if (name.startsWith('A_PCM/INT')) return samples('pcm', rate, channels, widthOf(bits, [8, 24, 32], 16));
  if (name.startsWith('A_PCM/FLOAT')) return samples('pcm', rate, channels, bits === 64 ? 64 : 32);
  if (name.startsWith('A_MS/ACM')) return waveFormat(setup, 0, setup.length);
  const codec = matroskaCodecs.find(([start]) => name.startsWith(start))?.[1] ?? 'unknown';
  return packets(codec, rate, setup);
}
