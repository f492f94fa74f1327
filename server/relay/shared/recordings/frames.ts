/** Sound as a bare row of frames: MP3 and AAC. All that are there are counted, because rates vary. */
import { ascii, atLeast, extrapolated, tagLength, viewOf } from './bytes.ts';

interface Frame {
  readonly bytes: number;
  readonly samples: number;
  /** Samples per second. */
  readonly rate: number;
}

type FrameReader = (bytes: Uint8Array, at: number) => Frame | null;

/** Kilobits per second by version and layer: MPEG-1 layers I, II, III, MPEG-2 and 2.5 layer I, layers II and III. */
const rates = {
  '11': [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  '12': [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  '13': [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  '21': [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  '22': [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
} as const;
const sampleRates = [44_100, 48_000, 32_000] as const;

const mpegFrame: FrameReader = (bytes, at) => {
  const first = bytes[at] ?? 0;
  const second = bytes[at + 1] ?? 0;
  const third = bytes[at + 2] ?? 0;
  const layer = 4 - ((second >> 1) & 3);
  const version = (second >> 3) & 3;
  if (first !== 0xff || (second & 0xe0) !== 0xe0 || layer === 4 || version === 1) return null;
  const isFirst = version === 3;
  const table = isFirst ? rates[`1${layer as 1 | 2 | 3}`] : layer === 1 ? rates['21'] : rates['22'];
  const kilobits = table[third >> 4];
  const base = sampleRates[(third >> 2) & 3];
  if (kilobits === undefined || kilobits === 0 || base === undefined) return null;
  const rate = isFirst ? base : version === 2 ? base / 2 : base / 4;
  const padding = (third >> 1) & 1;
  if (layer === 1) return { bytes: (Math.floor((12_000 * kilobits) / rate) + padding) * 4, samples: 384, rate };
  const samples = layer === 3 && !isFirst ? 576 : 1152;
  return { bytes: Math.floor((samples * 125 * kilobits) / rate) + padding, samples, rate };
};

const aacRates = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
] as const;

const adtsFrame: FrameReader = (bytes, at) => {
  const [first = 0, second = 0, third = 0, fourth = 0, fifth = 0, sixth = 0, seventh = 0] = bytes.subarray(at, at + 7);
  const rate = aacRates[(third >> 2) & 15];
  const length = ((fourth & 3) << 11) | (fifth << 3) | (sixth >> 5);
  if (first !== 0xff || (second & 0xf6) !== 0xf0 || rate === undefined || length < 7) return null;
  return { bytes: length, samples: 1024 * ((seventh & 3) + 1), rate };
};

/** Where the row begins: two frames after another, for one alone may be chance. */
function firstFrame(bytes: Uint8Array, from: number, read: FrameReader, within = 64 * 1024): number {
  const max = Math.min(bytes.length - 4, from + within);
  for (let at = bytes.indexOf(0xff, from); at >= 0 && at <= max; at = bytes.indexOf(0xff, at + 1)) {
    const frame = read(bytes, at);
    if (frame === null) continue;
    const next = at + frame.bytes;
    if (next >= bytes.length - 4 || read(bytes, next) !== null) return at;
  }
  return -1;
}

/** All frames that are there. What lies between them is no sound, and stops no decoder. */
function counted(bytes: Uint8Array, start: number, size: number, read: FrameReader): number | null {
  let seconds = 0;
  let end = start;
  for (let at = start; at >= 0 && at < bytes.length; ) {
    const frame = read(bytes, at);
    if (frame === null) {
      at = firstFrame(bytes, at + 1, read, bytes.length);
      continue;
    }
    seconds += frame.samples / frame.rate;
    at += frame.bytes;
    end = at;
  }
  return bytes.length >= size ? seconds : extrapolated(seconds, start, Math.min(end, bytes.length), size);
}

export function mpegSeconds(bytes: Uint8Array, size: number): number | null {
  const start = firstFrame(bytes, tagLength(bytes), mpegFrame);
  const frame = start < 0 ? null : mpegFrame(bytes, start);
  if (frame === null) return null;
  const all = counted(bytes, start, size, mpegFrame);
  const named = namedSamples(bytes, start, frame);
  if (named === null || all === null) return all;
  // The frame that says so has no sound in it.
  return atLeast(named / frame.rate, all - frame.samples / frame.rate);
}

/** The first frame may hold no sound but the number of frames that follow: `Xing`, `Info`, `VBRI`. */
function namedSamples(bytes: Uint8Array, start: number, frame: Frame): number | null {
  const end = Math.min(start + frame.bytes, bytes.length);
  const view = viewOf(bytes);
  for (let at = start + 4; at + 18 <= end && at < start + 44; at++) {
    const word = ascii(bytes, at, 4);
    if (word === 'VBRI') return view.getUint32(at + 14) * frame.samples;
    if (word !== 'Xing' && word !== 'Info') continue;
    if ((view.getUint32(at + 4) & 1) === 0) return null;
    const samples = view.getUint32(at + 8) * frame.samples;
    return Math.max(0, samples - silence(bytes, at, end));
  }
  return null;
}

/** Samples that an encoder put in front and behind, where it says so. */
function silence(bytes: Uint8Array, xing: number, end: number): number {
  if (xing + 144 > end || !/^(LAME|Lavc|Lavf)/.test(ascii(bytes, xing + 120, 4))) return 0;
  const [a = 0, b = 0, c = 0] = bytes.subarray(xing + 141, xing + 144);
  return ((a << 4) | (b >> 4)) + (((b & 15) << 8) | c);
}

export function adtsSeconds(bytes: Uint8Array, size: number): number | null {
  const start = firstFrame(bytes, tagLength(bytes), adtsFrame);
  return start < 0 ? null : counted(bytes, start, size, adtsFrame);
}
