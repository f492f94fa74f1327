/** Sound as a bare row of frames: MPEG audio, AAC, AC-3, DTS, AMR. All that are there are counted, because rates vary. */

import { aacConfig, aacRates } from './aac.ts';
import { ascii, atLeast, extrapolated, tagLength, viewOf } from './bytes.ts';
import { thinnestSeconds } from './thinnest.ts';

export interface Frame {
  readonly bytes: number;
  readonly samples: number;
  /** Samples per second. */
  readonly rate: number;
  /** What all frames of one row have in common. */
  readonly kind: number;
}

export type FrameReader = (bytes: Uint8Array, at: number) => Frame | null;

/** Kilobits per second by version and layer: MPEG-1 layers I, II, III, MPEG-2 and 2.5 layer I, layers II and III. */
const rates = {
  '11': [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  '12': [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  '13': [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  '21': [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  '22': [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
} as const;
const sampleRates = [44_100, 48_000, 32_000] as const;

/** Source: ISO/IEC 11172-3 and 13818-3, 2.4.2.3. */
export const mpegFrame: FrameReader = (bytes, at) => {
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
  const kind = ((second & 0x1e) << 8) | (third & 0x0c);
  if (layer === 1) return { bytes: (Math.floor((12_000 * kilobits) / rate) + padding) * 4, samples: 384, rate, kind };
  const samples = layer === 3 && !isFirst ? 576 : 1152;
  return { bytes: Math.floor((samples * 125 * kilobits) / rate) + padding, samples, rate, kind };
};

/** Source: ISO/IEC 14496-3, 1.A.2.2. */
export const adtsFrame: FrameReader = (bytes, at) => {
  const second = bytes[at + 1] ?? 0;
  if (bytes[at] !== 0xff || (second & 0xf6) !== 0xf0) return null;
  const third = bytes[at + 2] ?? 0;
  const rate = aacRates[(third >> 2) & 15];
  const length = (((bytes[at + 3] ?? 0) & 3) << 11) | ((bytes[at + 4] ?? 0) << 3) | ((bytes[at + 5] ?? 0) >> 5);
  if (rate === undefined || length < 7) return null;
  return { bytes: length, samples: 1024 * (((bytes[at + 6] ?? 0) & 3) + 1), rate, kind: third & 0x3c };
};

/** Kilobits per second of AC-3. Source: ETSI TS 102 366, table 4.13. */
const ac3Kilobits = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640] as const;
const ac3Rates = [48_000, 44_100, 32_000] as const;
const ac3Blocks = [1, 2, 3, 6] as const;

/** AC-3 and E-AC-3. Source: ETSI TS 102 366, 4.3 and E.1.2. */
export const ac3Frame: FrameReader = (bytes, at) => {
  if (bytes[at] !== 0x0b || bytes[at + 1] !== 0x77 || at + 6 > bytes.length) return null;
  const fifth = bytes[at + 4] ?? 0;
  const version = (bytes[at + 5] ?? 0) >> 3;
  const base = ac3Rates[fifth >> 6];
  if (version > 16) return null;
  if (version <= 10) {
    const kilobits = ac3Kilobits[(fifth & 63) >> 1];
    if (kilobits === undefined || base === undefined) return null;
    const words = base === 44_100 ? Math.floor((kilobits * 320) / 147) + (fifth & 1) : (kilobits * 96_000) / base;
    return { bytes: words * 2, samples: 1536, rate: base / 2 ** Math.max(0, version - 8), kind: 0x100 | (fifth >> 6) };
  }
  const third = bytes[at + 2] ?? 0;
  const half = ac3Rates[(fifth >> 4) & 3];
  if (base === undefined && half === undefined) return null;
  const rate = base ?? (half ?? 0) / 2;
  const blocks = base === undefined ? 6 : (ac3Blocks[(fifth >> 4) & 3] ?? 6);
  // A dependent stream adds channels to the one in front of it, and no time.
  const isDependent = third >> 6 === 1;
  const length = ((((third & 7) << 8) | (bytes[at + 3] ?? 0)) + 1) * 2;
  return { bytes: length, samples: isDependent ? 0 : 256 * blocks, rate, kind: 0x200 | (fifth >> 6) };
};

const dtsRates: readonly number[] = [
  0, 8000, 16_000, 32_000, 0, 0, 11_025, 22_050, 44_100, 0, 0, 12_000, 24_000, 48_000, 96_000, 192_000,
];

/** The core, and what extends it without taking time. Source: ETSI TS 102 114, 5.3 and 7.4. */
export const dtsFrame: FrameReader = (bytes, at) => {
  if (at + 11 > bytes.length) return null;
  const view = viewOf(bytes);
  const mark = view.getUint32(at);
  if (mark === 0x64582025) {
    const isLong = ((bytes[at + 5] ?? 0) & 0x20) !== 0;
    const head = (BigInt(view.getUint32(at + 5)) << 16n) | BigInt(view.getUint16(at + 9));
    const length = Number((head >> (isLong ? 13n : 21n)) & (isLong ? 0xfffffn : 0xffffn)) + 1;
    return { bytes: length, samples: 0, rate: 1, kind: 1 };
  }
  if (mark !== 0x7ffe8001) return null;
  const blocks = ((view.getUint16(at + 4) >> 2) & 127) + 1;
  const length = ((view.getUint32(at + 5) >> 12) & 0x3fff) + 1;
  const rate = dtsRates[((bytes[at + 8] ?? 0) >> 2) & 15] ?? 0;
  return blocks < 5 || length < 95 || rate === 0 ? null : { bytes: length, samples: blocks * 32, rate, kind: 1 };
};

/** Bytes of a frame of AMR by its type, in narrow and wide band, with its first byte. Source: RFC 4867, 5.3; 3GPP TS 26.101 and 26.201. */
const amrBytes = {
  narrow: [13, 14, 16, 18, 20, 21, 27, 32, 6, 6, 6, 6, 1, 1, 1, 1],
  wide: [18, 24, 33, 37, 41, 47, 51, 59, 61, 6, 6, 1, 1, 1, 1, 1],
} as const;
const amrFrame =
  (sizes: readonly number[]): FrameReader =>
  (bytes, at) =>
    at < bytes.length ? { bytes: sizes[((bytes[at] ?? 0) >> 3) & 15] ?? 1, samples: 160, rate: 8000, kind: 0 } : null;
/** Frames of 20 ms, whatever their rate. */
export const amrNarrowFrame = amrFrame(amrBytes.narrow);
export const amrWideFrame = amrFrame(amrBytes.wide);

const g723Bytes = [24, 20, 4, 1] as const;
/** Frames of 30 ms. Source: ITU-T G.723.1, table 5. */
export const g723Frame: FrameReader = (bytes, at) =>
  at < bytes.length
    ? { bytes: g723Bytes[((bytes[at] ?? 0) & 3) as 0 | 1 | 2 | 3], samples: 240, rate: 8000, kind: 0 }
    : null;

/** Access units of 40 samples at 44.1 or 48 kHz, or of the same time at a multiple; the longer of both. Source: Dolby, TrueHD bitstream description, 3.1. */
export const mlpFrame: FrameReader = (bytes, at) => {
  const length = ((((bytes[at] ?? 0) & 15) << 8) | (bytes[at + 1] ?? 0)) * 2;
  return length < 4 ? null : { bytes: length, samples: 40, rate: 44_100, kind: 0 };
};

/** AAC in LATM with a head for each frame. Source: ISO/IEC 14496-3, 1.7.2. */
const loasFrame: FrameReader = (bytes, at) => {
  if (bytes[at] !== 0x56 || ((bytes[at + 1] ?? 0) & 0xe0) !== 0xe0) return null;
  const length = ((((bytes[at + 1] ?? 0) & 31) << 8) | (bytes[at + 2] ?? 0)) + 3;
  if (length < 5) return null;
  // useSameStreamMux, audioMuxVersion, allStreamsSameTimeFraming, numSubFrames (6), numProgram (4), numLayer (3).
  const head = viewOf(bytes);
  const isSame = ((bytes[at + 3] ?? 0) & 0x80) !== 0;
  if (isSame || at + 12 > bytes.length) return { bytes: length, samples: 1024, rate: 0, kind: 2 };
  const subFrames = ((head.getUint16(at + 3) >> 7) & 63) + 1;
  // AudioSpecificConfig begins 16 bits behind the first one.
  const config = new Uint8Array(16);
  for (let byte = 0; byte < config.length; byte++) config[byte] = bytes[at + 5 + byte] ?? 0;
  const isPlain = ((bytes[at + 3] ?? 0) & 0x40) === 0;
  const found = isPlain ? aacConfig(config) : null;
  return { bytes: length, samples: (found?.samples ?? 1024) * subFrames, rate: found?.rate ?? 0, kind: 2 };
};

/** Where a row begins: two frames of one kind after another, for one alone may be chance. */
function firstFrame(bytes: Uint8Array, from: number, read: FrameReader, mark: number, max: number): number {
  for (let at = bytes.indexOf(mark, from); at >= 0 && at <= max; at = bytes.indexOf(mark, at + 1)) {
    const frame = read(bytes, at);
    if (frame === null) continue;
    const next = at + frame.bytes;
    if (next >= bytes.length - 4 || read(bytes, next)?.kind === frame.kind) return at;
  }
  return -1;
}

/** The byte that every frame of a row begins with. */
const marks: ReadonlyMap<FrameReader, number> = new Map([
  [mpegFrame, 0xff],
  [adtsFrame, 0xff],
  [ac3Frame, 0x0b],
  [loasFrame, 0x56],
]);

interface Row {
  readonly seconds: number;
  /** Bytes of frames. */
  readonly framed: number;
  /** Where the last frame ends. */
  readonly end: number;
  /** Bytes that are in no frame and in no tag. */
  readonly apart: number;
  /** Bytes that are in no frame but in a tag of a file that was put behind another. */
  readonly tagged: number;
}

/** Bytes between frames that cost nothing: what was cut at both ends, and what a damaged file has lost. */
const freeOf = (framed: number): number => Math.min(4096, framed / 8);

/**
 * All frames from here on. A decoder goes on behind whatever is no frame, and may find sound there that is none for us.
 * @param rate of frames that name none.
 */
function countRow(bytes: Uint8Array, start: number, read: FrameReader, rate = 0): Row {
  const mark = marks.get(read);
  let seconds = 0;
  let framed = 0;
  let apart = 0;
  let tagged = 0;
  let end = start;
  let kind = -1;
  let known = rate;
  let frames = 0;
  /** Seconds of the longest frame. */
  let longest = 0;
  /** Frames inside of a tag need no other behind them. */
  let tagEnd = 0;
  for (let at = start; at < bytes.length; ) {
    const frame = read(bytes, at);
    const next = at + (frame?.bytes ?? 0);
    const goesOn =
      frame !== null &&
      (frame.kind === kind || at < tagEnd || next >= bytes.length - 4 || read(bytes, next)?.kind === frame.kind);
    if (frame !== null && goesOn) {
      if (frame.rate > 0) known = frame.rate;
      const own = known > 0 ? frame.samples / known : 0;
      seconds += own;
      frames++;
      longest = Math.max(longest, own);
      framed += Math.min(frame.bytes, bytes.length - at);
      kind = frame.kind;
      at = next;
      end = at;
      continue;
    }
    if (at >= tagEnd && bytes[at] === 0x49) tagEnd = at + tagLength(bytes, at);
    const found = mark === undefined ? at + 1 : bytes.indexOf(mark, at + 1);
    const to = found < 0 ? bytes.length : found;
    const outside = Math.max(0, to - Math.max(at, tagEnd));
    apart += outside;
    tagged += to - at - outside;
    at = to;
  }
  // LATM says its rate now and then, and for all frames: where it says two, the lower one counts.
  if (read === loasFrame) seconds = frames * longest;
  return { seconds, framed, end: Math.min(end, bytes.length), apart, tagged };
}

/**
 * Seconds of packets that hold frames in a row, as many in each as they like.
 * @param rate of frames that name none.
 */
export function rowSeconds(bytes: Uint8Array, read: FrameReader, rate = 0): number {
  const { seconds, framed, apart, tagged } = countRow(bytes, 0, read, rate);
  return seconds + thinnestSeconds(Math.max(0, apart + tagged - freeOf(framed)));
}

/** Tags behind the sound: ID3v1, APE, Lyrics3. Sources: id3.org; wiki.hydrogenaud.io, APEv2. */
function trailer(bytes: Uint8Array): number {
  let end = bytes.length;
  if (end >= 128 && ascii(bytes, end - 128, 3) === 'TAG') end -= 128;
  if (end >= 15 && ascii(bytes, end - 9, 9) === 'LYRICS200') {
    const length = Number(ascii(bytes, end - 15, 6));
    if (Number.isInteger(length)) end = Math.max(0, end - 15 - length);
  }
  if (end >= 32 && ascii(bytes, end - 32, 8) === 'APETAGEX') {
    const view = viewOf(bytes);
    const head = (view.getUint32(end - 12, true) & 0x80000000) === 0 ? 0 : 32;
    end = Math.max(0, end - view.getUint32(end - 20, true) - head);
  }
  return bytes.length - end;
}

/** Bytes in front of a row that a cut file may have. */
const searched = 64 * 1024;

interface Beginning extends Row {
  readonly start: number;
  readonly first: Frame;
  /** Frames in unseen parts are taken to be like those before. */
  readonly all: number;
}

/** @returns null where no row of these frames begins. */
function rowOf(bytes: Uint8Array, size: number, read: FrameReader): Beginning | null {
  const tags = tagLength(bytes);
  let sound = tags;
  while (bytes[sound] === 0) sound++;
  const start = firstFrame(bytes, tags, read, marks.get(read) ?? 0, Math.min(bytes.length - 4, tags + searched));
  const first = start < 0 ? null : read(bytes, start);
  if (first === null) return null;
  const isWhole = bytes.length >= size;
  // Bytes behind the sound may be a tag; anything else may be sound to another decoder.
  const behind = isWhole ? trailer(bytes) : 0;
  const row = countRow(bytes, start, read);
  const lead = start - sound;
  const free = freeOf(row.framed);
  const apart = Math.max(0, lead === 0 ? row.apart - free - behind : row.apart + row.tagged + lead - free);
  // A few frames by chance make no row.
  const isLone = start + first.bytes >= bytes.length - 4;
  if (row.framed < apart || (isLone && lead > 0)) return null;
  const frames = isWhole ? row.seconds : extrapolated(row.seconds, start, row.end, size);
  if (frames === null) return null;
  const share = isWhole ? 1 : Math.max(1, size / bytes.length);
  return { ...row, start, first, all: frames + thinnestSeconds(apart) * share };
}

export function mpegSeconds(bytes: Uint8Array, size: number): number | null {
  // Among frames of AAC something may look like one of MPEG.
  if (beginsWith(bytes, adtsFrame)) return null;
  const row = rowOf(bytes, size, mpegFrame);
  if (row === null) return null;
  const named = namedSamples(bytes, row.start, row.first);
  if (named === null) return row.all;
  // The frame that says so has no sound in it.
  return atLeast(named / row.first.rate, row.all - row.first.samples / row.first.rate);
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

export const adtsSeconds = (bytes: Uint8Array, size: number): number | null =>
  rowOf(bytes, size, adtsFrame)?.all ?? null;

/** Whether the file is a row from its beginning on. */
const beginsWith = (bytes: Uint8Array, read: FrameReader): boolean => {
  const at = tagLength(bytes);
  const frame = read(bytes, at);
  return frame !== null && (at + frame.bytes >= bytes.length || read(bytes, at + frame.bytes) !== null);
};

export const ac3Seconds = (bytes: Uint8Array, size: number): number | null =>
  beginsWith(bytes, ac3Frame) ? (rowOf(bytes, size, ac3Frame)?.all ?? null) : null;

export const loasSeconds = (bytes: Uint8Array, size: number): number | null =>
  beginsWith(bytes, loasFrame) ? (rowOf(bytes, size, loasFrame)?.all ?? null) : null;

/** Source: RFC 4867, section 5. */
export function amrSeconds(bytes: Uint8Array, size: number): number | null {
  const mark = ascii(bytes, 0, 9);
  const isWide = mark === '#!AMR-WB\n';
  if (!isWide && !mark.startsWith('#!AMR\n')) return null;
  const start = isWide ? 9 : 6;
  const { seconds, end } = countRow(bytes, start, isWide ? amrWideFrame : amrNarrowFrame);
  return bytes.length >= size ? seconds : extrapolated(seconds, start, end, size);
}

/** Fewer are chance. Source: FFmpeg, amrnb_probe. */
const minBare = 100;

/** Frames of AMR without a mark before them, or behind something that is damaged, as FFmpeg finds them: what is no head is skipped. */
export function bareAmrSeconds(bytes: Uint8Array, size: number): number {
  let most = 0;
  for (const [sizes, kinds] of [
    [amrBytes.narrow, 9],
    [amrBytes.wide, 10],
  ] as const) {
    let frames = 0;
    for (let at = 0; at < bytes.length; ) {
      const head = bytes[at] ?? 0;
      const kind = (head >> 3) & 15;
      const isHead = kind < kinds && (head & 4) !== 0;
      if (isHead) frames++;
      at += isHead ? (sizes[kind] ?? 1) : 1;
    }
    most = Math.max(most, frames);
  }
  return most < minBare ? 0 : (most / 50) * Math.max(1, size / bytes.length);
}

/** Frames that have to follow one another before a decoder takes samples for them. */
const probed = 4;

/**
 * The row of frames that samples of 16 bits are in truth, as FFmpeg plays them whatever the container calls them.
 * @returns 0 = they are samples.
 */
export function disguisedSeconds(sound: Uint8Array): number {
  let begin = 0;
  while (sound[begin] === 0) begin++;
  let most = 0;
  for (const [read, mark] of [
    [mpegFrame, 0xff],
    [adtsFrame, 0xff],
    [ac3Frame, 0x0b],
    [dtsFrame, 0x7f],
    [loasFrame, 0x56],
  ] as const) {
    if (!hasRow(sound, begin, read, mark)) continue;
    most = Math.max(most, rowSeconds(sound, read));
  }
  return most;
}

function hasRow(bytes: Uint8Array, from: number, read: FrameReader, mark: number): boolean {
  const max = Math.min(bytes.length, from + searched);
  // Each start is looked at over a few frames only.
  for (let at = bytes.indexOf(mark, from); at >= 0 && at < max; at = bytes.indexOf(mark, at + 1)) {
    let next = at;
    let count = 0;
    for (; count < probed; count++) {
      const frame = read(bytes, next);
      if (frame === null || frame.bytes < 8) break;
      next += frame.bytes;
    }
    if (count === probed) return true;
  }
  return false;
}
