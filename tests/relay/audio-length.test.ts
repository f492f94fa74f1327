/** How long recordings are: files made here, byte by byte, after each format's own document. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { audioSeconds } from '../../server/relay/shared/recordings/length.ts';

const text = (value: string) => Buffer.from(value, 'latin1');
const le = (value: number, bytes = 4) => {
  const out = Buffer.alloc(bytes);
  out.writeUIntLE(value, 0, bytes);
  return out;
};
const be = (value: number, bytes = 4) => {
  const out = Buffer.alloc(bytes);
  out.writeUIntBE(value, 0, bytes);
  return out;
};
const seconds = (file: Buffer, size = file.length) => audioSeconds(new Uint8Array(file), size);
/** What a bill by the minute counts: whole seconds. */
const billed = (file: Buffer) => Math.ceil(seconds(file));

const wave = (
  bytes: number,
  rate: number,
  before: Buffer = Buffer.alloc(0),
  after: Buffer = Buffer.alloc(0),
  declared = bytes,
) => {
  const chunk = (name: string, body: Buffer, length = body.length) => Buffer.concat([text(name), le(length), body]);
  const format = Buffer.concat([le(1, 2), le(1, 2), le(rate / 2), le(rate), le(2, 2), le(16, 2)]);
  const body = Buffer.concat([
    text('WAVE'),
    chunk('fmt ', format),
    before,
    chunk('data', Buffer.alloc(bytes), declared),
    after,
  ]);
  return Buffer.concat([text('RIFF'), le(body.length), body]);
};
const list = (length: number) => Buffer.concat([text('LIST'), le(length), Buffer.alloc(length + (length % 2), 1)]);

test('a second of WAVE is one second, whatever stands around it', () => {
  expect(seconds(wave(32_000, 32_000))).toBe(1);
  expect(billed(wave(32_000, 32_000, list(26), list(501)))).toBe(1);
  // What stands in front of the sound is longer than what was seen: the rest is sound.
  const behind = wave(32_000, 32_000, list(10_000));
  const front = behind.length - 32_000 - 8;
  expect(seconds(behind.subarray(0, 100), behind.length)).toBeCloseTo((behind.length - front) / 32_000, 9);
  // Streamed: the length was not known when the header was written.
  for (const open of [0, 0xffffffff]) expect(billed(wave(32_000, 32_000, list(26), Buffer.alloc(0), open))).toBe(1);
});

test('WAVE of any length, rate and with any other chunks', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60_000 }),
      fc.constantFrom(8_000, 16_000, 32_000, 88_200),
      fc.integer({ min: 0, max: 3_000 }),
      fc.integer({ min: 0, max: 3_000 }),
      (bytes, rate, before, after) => {
        expect(seconds(wave(bytes, rate, list(before), list(after)))).toBeCloseTo(bytes / rate, 9);
      },
    ),
    { numRuns: 200 },
  );
});

test('of a large WAVE the beginning is enough', () => {
  const head = wave(1_000, 32_000, list(26), Buffer.alloc(0), 32_000 * 3_600);
  expect(seconds(head, head.length - 1_000 + 32_000 * 3_600)).toBe(3_600);
});

/** An ID3 tag of so many bytes. */
const tag = (length: number) =>
  Buffer.concat([
    text('ID3'),
    Buffer.from([4, 0, 0, (length >> 21) & 127, (length >> 14) & 127, (length >> 7) & 127, length & 127]),
    Buffer.alloc(length, 7),
  ]);
/** MPEG-1 layer III, 44.1 kHz: 1152 samples a frame. */
const mp3Frame = (kilobits: 64 | 128 | 320) => {
  const index = { 64: 5, 128: 9, 320: 14 }[kilobits];
  const frame = Buffer.alloc(Math.floor((144_000 * kilobits) / 44_100));
  frame.set([0xff, 0xfb, index << 4, 0xc4]);
  return frame;
};
const frames = (count: number, frame: Buffer) => Buffer.concat(Array.from({ length: count }, () => frame));
const mp3Seconds = (count: number) => (count * 1152) / 44_100;

test('MP3 is as long as its frames: a tag with a cover in front and one behind are no sound', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(64 as const, 128 as const, 320 as const), { minLength: 2, maxLength: 40 }),
      fc.integer({ min: 0, max: 50_000 }),
      fc.boolean(),
      (kinds, cover, old) => {
        const end = old ? Buffer.concat([text('TAG'), Buffer.alloc(125)]) : Buffer.alloc(0);
        const file = Buffer.concat([tag(cover), ...kinds.map(mp3Frame), end]);
        expect(seconds(file)).toBeCloseTo(mp3Seconds(kinds.length), 9);
      },
    ),
    { numRuns: 100 },
  );
});

test('MP3 of variable bit rate declares its frames and the encoder’s padding', () => {
  const head = mp3Frame(320);
  const xing = 36;
  head.set(Buffer.concat([text('Info'), be(15), be(41), be(1_000)]), xing);
  head.set(text('LAME3.100'), xing + 120);
  // 576 in front, 2556 behind: 41 x 1152 - 3132 = 44100.
  head.set([576 >> 4, ((576 & 15) << 4) | (2_556 >> 8), 2_556 & 255], xing + 141);
  expect(seconds(Buffer.concat([tag(2_000), head, frames(3, mp3Frame(64))]))).toBeCloseTo(1, 9);
  // An encoder that names no silence.
  head.set(text('other enc'), xing + 120);
  expect(seconds(Buffer.concat([tag(2_000), head, frames(3, mp3Frame(64))]))).toBeCloseTo((41 * 1152) / 44_100, 9);
});

test('of a large MP3 the rest goes on as it began', () => {
  const file = Buffer.concat([tag(30_000), frames(1_000, mp3Frame(128))]);
  const part = file.subarray(0, 30_010 + 417 * 100);
  expect(seconds(part, file.length)).toBeCloseTo(mp3Seconds(1_000), 6);
});

test('FLAC counts its samples', () => {
  const flac = (samples: number, rate: number) => {
    const info = Buffer.alloc(34);
    info.writeUInt32BE(((rate << 12) | (1 << 9) | (15 << 4) | Math.floor(samples / 2 ** 32)) >>> 0, 10);
    info.writeUInt32BE(samples % 2 ** 32, 14);
    return Buffer.concat([text('fLaC'), Buffer.from([0x80, 0, 0, 34]), info, Buffer.alloc(900)]);
  };
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 35 }), fc.constantFrom(16_000, 44_100, 96_000), (samples, rate) => {
      expect(seconds(flac(samples, rate))).toBeCloseTo(samples / rate, 6);
      expect(seconds(Buffer.concat([tag(500), flac(samples, rate)]))).toBeCloseTo(samples / rate, 6);
    }),
    { numRuns: 100 },
  );
});

/** A page with one packet of up to 255 bytes. */
const page = (granule: bigint, packet: Buffer) => {
  const head = Buffer.alloc(27);
  head.set(text('OggS'));
  head.writeBigInt64LE(granule, 6);
  head[26] = 1;
  return Buffer.concat([head, Buffer.from([packet.length]), packet]);
};
const opusHead = Buffer.concat([
  text('OpusHead'),
  Buffer.from([1, 1]),
  le(312, 2),
  le(16_000),
  le(0, 2),
  Buffer.from([0]),
]);

test('Ogg goes as far as its last page says, less what Opus skips', () => {
  const comments = page(0n, Buffer.concat([text('OpusTags'), Buffer.alloc(200)]));
  const sound = (count: number) =>
    Array.from({ length: count }, (_, at) => page(BigInt(960 * (at + 1)), Buffer.alloc(80)));
  const file = Buffer.concat([page(0n, opusHead), comments, ...sound(50)]);
  expect(seconds(file)).toBeCloseTo((960 * 50 - 312) / 48_000, 9);
  const vorbis = Buffer.concat([text('\u0001vorbis'), le(0), Buffer.from([2]), le(44_100), Buffer.alloc(14)]);
  expect(seconds(Buffer.concat([page(0n, vorbis), page(-1n, Buffer.alloc(9)), page(44_100n, Buffer.alloc(9))]))).toBe(
    1,
  );
  // What is there goes on as it began, measured from the first byte of the file.
  const seen = file.subarray(0, file.length - 108 * 25);
  expect(seconds(seen, 2 * seen.length)).toBeCloseTo((2 * (960 * 25 - 312)) / 48_000, 9);
  const long = Buffer.concat([page(0n, opusHead), ...sound(5_000)]);
  expect(seconds(long.subarray(0, 400_000), long.length) / 100).toBeCloseTo(1, 1);
});

const box = (name: string, ...content: Buffer[]) => {
  const body = Buffer.concat(content);
  return Buffer.concat([be(body.length + 8), text(name), body]);
};

test('M4A names its duration, in front of the sound or behind', () => {
  const head = (wide: boolean, scale: number, duration: number) =>
    box(
      'mvhd',
      wide
        ? Buffer.concat([be(0x01000000), Buffer.alloc(16), be(scale), be(0), be(duration), Buffer.alloc(80)])
        : Buffer.concat([be(0), Buffer.alloc(8), be(scale), be(duration), Buffer.alloc(80)]),
    );
  const type = box('ftyp', text('M4A '), be(0));
  const sound = box('mdat', Buffer.alloc(100));
  for (const wide of [false, true]) {
    const movie = box('moov', box('udta', Buffer.alloc(300)), head(wide, 44_100, 44_100));
    expect([seconds(Buffer.concat([type, movie, sound])), seconds(Buffer.concat([type, sound, movie]))]).toEqual([
      1, 1,
    ]);
  }
});

const element = (id: number[], content: Buffer, size?: number[]) =>
  Buffer.concat([Buffer.from(id), Buffer.from(size ?? [0x40 | (content.length >> 8), content.length & 255]), content]);

test('WebM names its duration, or goes as far as its last block', () => {
  const ebml = element([0x1a, 0x45, 0xdf, 0xa3], Buffer.alloc(31));
  const scale = element([0x2a, 0xd7, 0xb1], be(1_000_000, 3));
  const float = Buffer.alloc(8);
  float.writeDoubleBE(1_000);
  const open = [0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
  const info = (more: Buffer) => element([0x15, 0x49, 0xa9, 0x66], Buffer.concat([scale, more]));
  const segment = (content: Buffer) => element([0x18, 0x53, 0x80, 0x67], content, open);
  const named = Buffer.concat([
    ebml,
    segment(Buffer.concat([info(element([0x44, 0x89], float)), Buffer.alloc(9, 0xec)])),
  ]);
  expect(seconds(named)).toBe(1);
  const blocks = Array.from({ length: 49 }, (_, at) =>
    element([0xa3], Buffer.concat([Buffer.from([0x81]), be((at + 1) * 20, 2), Buffer.from([0x80]), Buffer.alloc(60)])),
  );
  const cluster = element([0x1f, 0x43, 0xb6, 0x75], Buffer.concat([element([0xe7], be(0, 1)), ...blocks]), open);
  // As a browser records it: nothing but blocks, 20 ms each.
  const recorded = Buffer.concat([ebml, segment(Buffer.concat([info(Buffer.alloc(0)), cluster]))]);
  expect(seconds(recorded)).toBeCloseTo(1, 9);
  // A block without its flags is none.
  const cut = element([0xa3], Buffer.concat([Buffer.from([0x81]), be(5000, 2)]));
  expect(seconds(Buffer.concat([recorded, cut]))).toBeCloseTo(1, 9);
  // Room that was left empty at its end takes no time: the size of that is the last byte of the file.
  expect(seconds(Buffer.concat([recorded, Buffer.from([0xec, 0x80])]))).toBeCloseTo(1, 9);
});

test('AAC is as long as its frames', () => {
  const length = 200;
  const frame = Buffer.alloc(length);
  // 44.1 kHz, one block.
  frame.set([0xff, 0xf1, 0x50, 0x80 | (length >> 11), (length >> 3) & 255, ((length & 7) << 5) | 0x1f, 0xfc]);
  expect(seconds(frames(100, frame))).toBeCloseTo((100 * 1024) / 44_100, 9);
});

test('what is no recording is as long as its size allows, and nothing invented stops it', () => {
  expect(seconds(Buffer.alloc(15_000))).toBe(20);
  fc.assert(
    fc.property(
      fc.constantFrom(
        'RIFF????WAVEfmt ',
        'fLaC',
        'OggS',
        '????ftypM4A ',
        '\u001aE\u00df\u00a3',
        'ID3',
        '\u00ff\u00fb\u0090\u00c4',
        '\u00ff\u00f1P\u0080',
      ),
      fc.uint8Array({ maxLength: 400 }),
      fc.integer({ min: 0, max: 10_000_000 }),
      (magic, rest, more) => {
        const file = Buffer.concat([text(magic), rest]);
        const found = seconds(file, file.length + more);
        expect(Number.isFinite(found) && found >= 0).toBe(true);
      },
    ),
    { numRuns: 3_000 },
  );
});

test('a recording without any sound lasts no time, whatever its header weighs', () => {
  expect(seconds(wave(0, 16_000))).toBe(0);
});

test('a prefix may end with the header of the audio: the length is read from it', () => {
  const file = wave(32_000, 16_000, Buffer.alloc(0), list(9000));
  expect(seconds(file.subarray(0, 44), file.length)).toBe(2);
});
