/** Parts that recordings are made of, byte by byte, after each format's own document. */
import { audioSeconds } from '../../server/relay/shared/recordings/length.ts';

export const text = (value: string) => Buffer.from(value, 'latin1');
/** A whole number, its highest byte first. */
export const be = (value: number, bytes = 4) => {
  const out = Buffer.alloc(bytes);
  out.writeUIntBE(value, 0, bytes);
  return out;
};
/** A whole number, its lowest byte first. */
export const le = (value: number, bytes = 4) => {
  const out = Buffer.alloc(bytes);
  out.writeUIntLE(value, 0, bytes);
  return out;
};
/** A float of eight bytes, its highest byte first. */
export const double = (value: number) => {
  const out = Buffer.alloc(8);
  out.writeDoubleBE(value);
  return out;
};
export const list = (count: number, one: (at: number) => Buffer) => Array.from({ length: count }, (_, at) => one(at));
export const times = (count: number, one: (at: number) => Buffer) => Buffer.concat(list(count, one));

/** How long we take a file for, of which `file` is the beginning. */
export const seconds = (file: Buffer, size = file.length) => audioSeconds(new Uint8Array(file), size);

/* ---- WAVE ---- */

/** @param kind RIFF or RF64. */
export const riff = (kind: string, ...chunks: Buffer[]) => {
  const body = Buffer.concat([text('WAVE'), ...chunks]);
  return Buffer.concat([text(kind), le(body.length), body]);
};
/** @param length what the chunk says of it. */
export const chunk = (name: string, body: Buffer, length = body.length) =>
  Buffer.concat([text(name), le(length), body]);
export interface WaveFormat {
  /** The codec: 1 = plain samples. */
  readonly tag?: number;
  readonly bits?: number;
  readonly channels?: number;
  readonly rate?: number;
  readonly bytesPerSecond?: number;
  readonly align?: number;
}
/** Samples of 16 bits at 16 kHz, unless told otherwise. */
export const waveFormat = ({ tag = 1, bits = 16, channels = 1, rate = 16_000, ...more }: WaveFormat = {}) => {
  const { align = (channels * bits) / 8, bytesPerSecond = rate * align } = more;
  // Other codecs say how much of their own follows.
  const own = tag === 1 ? [] : [le(0, 2)];
  const fields = [le(tag, 2), le(channels, 2), le(rate), le(bytesPerSecond), le(align, 2), le(bits, 2), ...own];
  return chunk('fmt ', Buffer.concat(fields));
};
/** A whole file of silence: 16-bit samples of one channel. */
export const silentWave = (length: number, rate = 16_000) =>
  riff('RIFF', waveFormat({ rate }), chunk('data', Buffer.alloc(2 * rate * length)));

/* ---- MP3 and its tags ---- */

/** MPEG-1 layer III, 44.1 kHz: 1,152 samples. */
export const mp3Frame = (kilobits: 64 | 128 | 320) => {
  const index = { 64: 5, 128: 9, 320: 14 }[kilobits];
  const frame = Buffer.alloc(Math.floor((144_000 * kilobits) / 44_100));
  frame.set([0xff, 0xfb, index << 4, 0xc4]);
  return frame;
};
/** A tag in front of the sound with so many bytes in it. */
export const id3Tag = (length: number) =>
  Buffer.concat([
    text('ID3'),
    Buffer.from([4, 0, 0, (length >> 21) & 127, (length >> 14) & 127, (length >> 7) & 127, length & 127]),
    Buffer.alloc(length, 7),
  ]);
/** The old tag, behind the sound. */
export const oldTag = Buffer.concat([text('TAG'), Buffer.alloc(125)]);

/* ---- FLAC ---- */

const crc8 = (bytes: Buffer): number => {
  let sum = 0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum & 0x80) === 0 ? sum << 1 : ((sum << 1) ^ 0x107) & 0xff;
  }
  return sum & 0xff;
};
/** @param samples 0 = nobody counted them. */
export const flacStart = (rate: number, samples: number) => {
  const info = Buffer.alloc(34);
  info.writeUInt32BE(((rate << 12) | (15 << 4) | Math.floor(samples / 2 ** 32)) >>> 0, 10);
  info.writeUInt32BE(samples % 2 ** 32, 14);
  return Buffer.concat([text('fLaC'), Buffer.from([0x80, 0, 0, 34]), info]);
};
/**
 * 4,096 samples of silence.
 * @param code how the frame says its rate: 5 = 16 kHz; that of 12, 13 and 14 stands in `rate`.
 */
export const flacFrame = (at: number, code = 5, rate = Buffer.alloc(0)) => {
  const number = at < 128 ? Buffer.from([at]) : Buffer.from([0xc0 | (at >> 6), 0x80 | (at & 63)]);
  const head = Buffer.concat([Buffer.from([0xff, 0xf8, 0xc0 | code, 0x08]), number, rate]);
  return Buffer.concat([head, Buffer.from([crc8(head), 0, 0, 0, 0, 0])]);
};
/** Frames of a minute at 16 kHz. */
export const flacFrames = Math.ceil((60 * 16_000) / 4096);

/* ---- Ogg and Opus ---- */

/** @param segments their lengths; one of 255 goes on in the next. @param granule samples up to its end. */
export const oggSegments = (segments: readonly number[], content: Buffer, granule = 0, serial = 1) => {
  const head = Buffer.alloc(27);
  head.set(text('OggS'));
  head.writeBigInt64LE(BigInt(granule), 6);
  head.writeUInt32LE(serial, 14);
  head[26] = segments.length;
  return Buffer.concat([head, Buffer.from(segments), content]);
};
const segmentsOf = ({ length }: Buffer) => [...new Array<number>(Math.floor(length / 255)).fill(255), length % 255];
/** A page of whole packets. */
export const oggPage = (granule: number, packets: readonly Buffer[], serial = 1) =>
  oggSegments(packets.flatMap(segmentsOf), Buffer.concat(packets), granule, serial);
export const opusHead = Buffer.concat([
  text('OpusHead'),
  Buffer.from([1, 1]),
  le(312, 2),
  le(16_000),
  le(0, 2),
  Buffer.from([0]),
]);
export const opusTags = Buffer.concat([text('OpusTags'), Buffer.alloc(20)]);
/** @param config length and band of its frame (RFC 6716, table 2); 19 = 20 ms of the fullest band. */
export const opusPacket = (config: number) => Buffer.concat([Buffer.from([config << 3]), Buffer.alloc(70, 1)]);

/* ---- MP4 ---- */

export const box = (name: string, ...content: Buffer[]) => {
  const body = Buffer.concat(content);
  return Buffer.concat([be(body.length + 8), text(name), body]);
};
export const ftyp = box('ftyp', text('M4A '), be(0));
/** @param duration milliseconds. */
export const mvhd = (duration: number) => box('mvhd', be(0), Buffer.alloc(8), be(1000), be(duration), Buffer.alloc(80));
interface SoundEntry {
  readonly rate?: number;
  readonly bits?: number;
  readonly channels?: number;
  /** Boxes of the codec. */
  readonly inside?: Buffer;
}
/** What a track says of its codec. */
export const soundEntry = (
  codec: string,
  { rate = 16_000, bits = 16, channels = 1, inside = Buffer.alloc(0) }: SoundEntry,
) =>
  box(
    codec,
    Buffer.alloc(6),
    be(1, 2),
    Buffer.alloc(8),
    be(channels, 2),
    be(bits, 2),
    be(0),
    be(rate, 2),
    be(0, 2),
    inside,
  );
/** @param object the kind of codec: 0x40 = AAC. @param setup what its decoder is set up with. */
export const esds = (object: number, setup: Buffer) =>
  box(
    'esds',
    be(0),
    Buffer.from([3, 20 + setup.length, 0, 0, 0, 4, 15 + setup.length, object, 0x15]),
    Buffer.alloc(11),
    Buffer.from([5, setup.length]),
    setup,
  );

/* ---- Matroska ---- */

/** Ids of elements. */
export const ebml = {
  head: [0x1a, 0x45, 0xdf, 0xa3],
  segment: [0x18, 0x53, 0x80, 0x67],
  info: [0x15, 0x49, 0xa9, 0x66],
  /** Nanoseconds of a tick. */
  scale: [0x2a, 0xd7, 0xb1],
  duration: [0x44, 0x89],
  tracks: [0x16, 0x54, 0xae, 0x6b],
  track: [0xae],
  number: [0xd7],
  type: [0x83],
  codec: [0x86],
  setup: [0x63, 0xa2],
  audio: [0xe1],
  rate: [0xb5],
  outputRate: [0x78, 0xb5],
  depth: [0x62, 0x64],
  cluster: [0x1f, 0x43, 0xb6, 0x75],
  time: [0xe7],
  block: [0xa3],
} as const;
const inFourBytes = (length: number) =>
  Buffer.concat([Buffer.from([0x10 | (length >>> 24)]), be(length & 0xffffff, 3)]);
/** @param size as it stands behind the id. */
export const element = (id: readonly number[], content: Buffer, size: Uint8Array = inFourBytes(content.length)) =>
  Buffer.concat([Buffer.from(id), size, content]);
/** A size that nobody knew when the element was begun. */
export const unknownSize = Buffer.from([0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
export const ebmlHead = element(ebml.head, Buffer.alloc(31));
