/** Recordings of a minute whose headers say that they are shorter: the sound that is in them decides. */
import { describe, expect, test } from 'vitest';
import { mediaIn } from '../../server/relay/intake/media.ts';
import { audioSeconds } from '../../server/relay/shared/recordings/length.ts';

const text = (value: string) => Buffer.from(value, 'latin1');
const be = (value: number, bytes = 4) => {
  const out = Buffer.alloc(bytes);
  out.writeUIntBE(value, 0, bytes);
  return out;
};
const le = (value: number, bytes = 4) => {
  const out = Buffer.alloc(bytes);
  out.writeUIntLE(value, 0, bytes);
  return out;
};
const repeated = (count: number, one: (at: number) => Buffer) =>
  Buffer.concat(Array.from({ length: count }, (_, at) => one(at)));

/** @param named what the header says of its length; null = the truth. */
type Recording = (named: number | null) => Buffer;

const wave: Recording = (named) => {
  const sound = Buffer.alloc(16_000 * 2 * 60);
  const format = Buffer.concat([le(1, 2), le(1, 2), le(16_000), le(named ?? 32_000), le(2, 2), le(16, 2)]);
  const head = Buffer.concat([text('WAVEfmt '), le(16), format, text('data'), le(sound.length)]);
  return Buffer.concat([text('RIFF'), le(head.length + sound.length), head, sound]);
};

/** 128 kbit/s at 44.1 kHz. */
const mp3Frames = Math.round((60 * 44_100) / 1152);
const mp3: Recording = (named) => {
  const frame = Buffer.alloc(417);
  frame.set([0xff, 0xfb, 0x90, 0xc4]);
  const head = Buffer.from(frame);
  head.set(Buffer.concat([text('Xing'), be(1), be(named ?? mp3Frames)]), 36);
  return Buffer.concat([head, repeated(mp3Frames, () => frame)]);
};

const crc8 = (bytes: Buffer): number => {
  let sum = 0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum & 0x80) === 0 ? sum << 1 : ((sum << 1) ^ 0x107) & 0xff;
  }
  return sum & 0xff;
};
/** Silence: 4,096 samples of one channel at 16 kHz in a frame. */
const flacFrames = Math.ceil((60 * 16_000) / 4096);
/** @param rate how each frame says the rate: a code of the table, or a code whose value stands behind the frame's number. */
const flacWith = (rate: { readonly code: number; readonly value: Buffer }, named: number | null): Buffer => {
  const info = Buffer.alloc(34);
  info.writeUInt16BE(4096, 0);
  info.writeUInt16BE(4096, 2);
  info.writeUInt32BE(((16_000 << 12) | (15 << 4)) >>> 0, 10);
  info.writeUInt32BE(named ?? flacFrames * 4096, 14);
  const frame = (at: number) => {
    const number = at < 128 ? Buffer.from([at]) : Buffer.from([0xc0 | (at >> 6), 0x80 | (at & 63)]);
    const head = Buffer.concat([Buffer.from([0xff, 0xf8, 0xc0 | rate.code, 0x08]), number, rate.value]);
    return Buffer.concat([head, Buffer.from([crc8(head), 0, 0, 0, 0, 0])]);
  };
  return Buffer.concat([text('fLaC'), Buffer.from([0x80, 0, 0, 34]), info, repeated(flacFrames, frame)]);
};
const flac: Recording = (named) => flacWith({ code: 5, value: Buffer.alloc(0) }, named);

const opusHead = Buffer.concat([
  text('OpusHead'),
  Buffer.from([1, 1]),
  le(312, 2),
  le(16_000),
  le(0, 2),
  Buffer.from([0]),
]);
/** 20 ms of the fullest band. */
const opusPacket = Buffer.concat([Buffer.from([19 << 3]), Buffer.alloc(70, 1)]);
const opusPackets = 3000;
const page = (granule: number, packets: readonly Buffer[]) => {
  const head = Buffer.alloc(27);
  head.set(text('OggS'));
  head.writeBigInt64LE(BigInt(granule), 6);
  head[26] = packets.length;
  return Buffer.concat([head, Buffer.from(packets.map(({ length }) => length)), ...packets]);
};
const ogg: Recording = (named) => {
  const tags = Buffer.concat([text('OpusTags'), Buffer.alloc(20)]);
  const sound = (at: number) => page(named ?? 960 * 50 * (at + 1) + 312, Array<Buffer>(50).fill(opusPacket));
  return Buffer.concat([page(0, [opusHead]), page(0, [tags]), repeated(opusPackets / 50, sound)]);
};

const box = (name: string, ...content: Buffer[]) => {
  const body = Buffer.concat(content);
  return Buffer.concat([be(body.length + 8), text(name), body]);
};
const aacPackets = Math.ceil((60 * 44_100) / 1024);
/** AAC of 44.1 kHz. @param named milliseconds. @param decoder what its decoder is set up with. */
const mp4With = (named: number | null, decoder: readonly [number, number]): Buffer => {
  const duration = named ?? Math.round((aacPackets * 1024 * 1000) / 44_100);
  const config = Buffer.concat([
    Buffer.from([3, 25, 0, 0, 0, 4, 17, 0x40, 0x15]),
    Buffer.alloc(11),
    Buffer.from([5, 2, ...decoder]),
  ]);
  const entry = box(
    'mp4a',
    Buffer.alloc(6),
    be(1, 2),
    Buffer.alloc(8),
    be(1, 2),
    be(16, 2),
    Buffer.alloc(4),
    be(44_100, 2),
    be(0, 2),
    box('esds', be(0), config),
  );
  const delta = named === null ? 1024 : 1;
  const table = box(
    'stbl',
    box('stsd', be(0), be(1), entry),
    box('stts', be(0), be(1), be(aacPackets), be(delta)),
    box(
      'stsz',
      be(0),
      be(0),
      be(aacPackets),
      repeated(aacPackets, () => be(200)),
    ),
  );
  const media = box(
    'mdia',
    box('mdhd', be(0), Buffer.alloc(8), be(44_100), be(delta * aacPackets), be(0)),
    box('minf', table),
  );
  const movie = box(
    'moov',
    box('mvhd', be(0), Buffer.alloc(8), be(1000), be(duration), Buffer.alloc(80)),
    box('trak', media),
  );
  return Buffer.concat([box('ftyp', text('M4A '), be(0)), movie, box('mdat', Buffer.alloc(200 * aacPackets))]);
};
const mp4: Recording = (named) => mp4With(named, [0x12, 0x10]);

const element = (id: readonly number[], content: Buffer) =>
  Buffer.concat([
    Buffer.from(id),
    Buffer.from([0x10 | (content.length >>> 24)]),
    be(content.length & 0xffffff, 3),
    content,
  ]);
/** @param named milliseconds; all blocks then lie at the beginning. */
const matroska: Recording = (named) => {
  const duration = Buffer.alloc(8);
  duration.writeDoubleBE(named ?? opusPackets * 20);
  const info = element(
    [0x15, 0x49, 0xa9, 0x66],
    Buffer.concat([element([0x2a, 0xd7, 0xb1], be(1_000_000, 3)), element([0x44, 0x89], duration)]),
  );
  const track = element(
    [0xae],
    Buffer.concat([
      element([0xd7], Buffer.from([1])),
      element([0x86], text('A_OPUS')),
      element([0x63, 0xa2], opusHead),
    ]),
  );
  const block = (at: number) =>
    element(
      [0xa3],
      Buffer.concat([Buffer.from([0x81]), be(named === null ? at * 20 : 0, 2), Buffer.from([0x80]), opusPacket]),
    );
  const cluster = (from: number) =>
    element(
      [0x1f, 0x43, 0xb6, 0x75],
      Buffer.concat([element([0xe7], be(named === null ? from * 20 : 0)), repeated(1000, block)]),
    );
  return Buffer.concat([
    element([0x1a, 0x45, 0xdf, 0xa3], Buffer.alloc(31)),
    element(
      [0x18, 0x53, 0x80, 0x67],
      Buffer.concat([
        info,
        element([0x16, 0x54, 0xae, 0x6b], track),
        repeated(opusPackets / 1000, (at) => cluster(at * 1000)),
      ]),
    ),
  ]);
};

const seconds = (file: Buffer, size = file.length) => audioSeconds(new Uint8Array(file), size);

describe.each<readonly [string, Recording, number]>([
  ['WAVE', wave, 0xffffffff],
  ['MP3', mp3, 1],
  ['FLAC', flac, 1],
  ['Ogg', ogg, 400],
  ['MP4', mp4, 1],
  ['Matroska', matroska, 1],
])('%s', (_name, recording, forged) => {
  test('an honest header is believed', () => expect(Math.abs(seconds(recording(null)) - 60)).toBeLessThan(0.3));
  test('a forged header makes it no shorter', () => expect(seconds(recording(forged))).toBeGreaterThanOrEqual(59.7));
  test('nor where only the beginning is seen', () => {
    const file = recording(forged);
    expect(seconds(file.subarray(0, file.length / 2), file.length)).toBeGreaterThanOrEqual(59);
  });
});

test('bytes between the frames of an MP3 stop no decoder, and no count', () => {
  const frame = Buffer.alloc(417);
  frame.set([0xff, 0xfb, 0x90, 0xc4]);
  const file = Buffer.concat([frame, frame, Buffer.alloc(100, 1), repeated(1000, () => frame)]);
  expect(seconds(file)).toBeCloseTo((1002 * 1152) / 44_100, 6);
});

test('a second data chunk of a WAVE is heard as well', () => {
  const file = wave(null);
  const more = Buffer.concat([text('data'), le(32_000), Buffer.alloc(32_000)]);
  expect(seconds(Buffer.concat([file, more]))).toBe(61);
});

test.each([
  [12, be(16, 1)],
  [13, be(16_000, 2)],
  [14, be(1600, 2)],
])('FLAC frames that name their rate by code %d are counted', (code, value) => {
  expect(Math.abs(seconds(flacWith({ code, value }, 1)) - 60)).toBeLessThan(0.3);
});

test.each([
  ['MP4', mp4],
  ['Matroska', matroska],
  ['Ogg', ogg],
])('%s is known by its first bytes as sound in a prompt, and reserved for', (_name, recording) => {
  const data = recording(null).toString('base64');
  const place = { key: 'data', owner: { data }, ownerKey: 'input_audio', part: { type: 'input_audio' } };
  expect(mediaIn(data, place)?.bucket).toBe('audioInput');
  const shifted = Buffer.concat([Buffer.alloc(1), recording(null)]).toString('base64');
  expect(mediaIn(shifted, { ...place, owner: { data: shifted } })?.bucket).not.toBe('audioInput');
});

test('an MP4 whose decoder is set up for 96 kHz is as long as its track of 44.1 kHz', () => {
  expect(seconds(mp4With(1, [0x10, 0x10]))).toBeCloseTo((aacPackets * 1024) / 44_100, 3);
});
