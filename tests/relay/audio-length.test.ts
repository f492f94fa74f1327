/** How long recordings are: files made here, byte by byte, after each format's own document. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  be,
  box,
  chunk,
  double,
  ebml,
  element,
  flacStart,
  ftyp,
  id3Tag,
  le,
  mp3Frame,
  oggPage,
  oldTag,
  opusHead,
  riff,
  seconds,
  text,
  times,
  unknownSize,
  waveFormat,
} from '../support/recording-parts.ts';

/** What a bill by the minute counts: whole seconds. */
const billed = (file: Buffer) => Math.ceil(seconds(file));

const none = Buffer.alloc(0);
/** @param rate bytes a second. @param declared what the chunk of the sound says of its length. */
const wave = (bytes: number, rate: number, before = none, after = none, declared = bytes) =>
  riff('RIFF', waveFormat({ rate: rate / 2 }), before, chunk('data', Buffer.alloc(bytes), declared), after);
/** A chunk that is no sound. */
const notes = (length: number) => chunk('LIST', Buffer.alloc(length + (length % 2), 1), length);

test('a second of WAVE is one second, whatever stands around it', () => {
  expect(seconds(wave(32_000, 32_000))).toBe(1);
  expect(billed(wave(32_000, 32_000, notes(26), notes(501)))).toBe(1);
  // What stands in front of the sound is longer than what was seen: the rest is sound.
  const behind = wave(32_000, 32_000, notes(10_000));
  const front = behind.length - 32_000 - 8;
  expect(seconds(behind.subarray(0, 100), behind.length)).toBeCloseTo((behind.length - front) / 32_000, 9);
  // Streamed: the length was not known when the header was written.
  for (const open of [0, 0xffffffff]) expect(billed(wave(32_000, 32_000, notes(26), none, open))).toBe(1);
});

test('WAVE of any length, rate and with any other chunks', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60_000 }),
      fc.constantFrom(8_000, 16_000, 32_000, 88_200),
      fc.integer({ min: 0, max: 3_000 }),
      fc.integer({ min: 0, max: 3_000 }),
      (bytes, rate, before, after) => {
        expect(seconds(wave(bytes, rate, notes(before), notes(after)))).toBeCloseTo(bytes / rate, 9);
      },
    ),
    { numRuns: 200 },
  );
});

test('of a large WAVE the beginning is enough', () => {
  const head = wave(1_000, 32_000, notes(26), none, 32_000 * 3_600);
  expect(seconds(head, head.length - 1_000 + 32_000 * 3_600)).toBe(3_600);
});

const frames = (count: number, frame: Buffer) => times(count, () => frame);
const mp3Seconds = (count: number) => (count * 1152) / 44_100;

test('MP3 is as long as its frames: a tag with a cover in front and one behind are no sound', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(64 as const, 128 as const, 320 as const), { minLength: 2, maxLength: 40 }),
      fc.integer({ min: 0, max: 50_000 }),
      fc.boolean(),
      (kinds, cover, old) => {
        const end = old ? oldTag : Buffer.alloc(0);
        const file = Buffer.concat([id3Tag(cover), ...kinds.map(mp3Frame), end]);
        expect(seconds(file)).toBeCloseTo(mp3Seconds(kinds.length), 9);
      },
    ),
    { numRuns: 100 },
  );
});

test.each(['Info', 'Xing'])('MP3 of variable bit rate declares its frames and the encoder’s padding: %s', (word) => {
  const head = mp3Frame(320);
  const xing = 36;
  head.set(Buffer.concat([text(word), be(15), be(41), be(1_000)]), xing);
  head.set(text('LAME3.100'), xing + 120);
  // 576 in front, 2556 behind: 41 x 1152 - 3132 = 44100.
  head.set([576 >> 4, ((576 & 15) << 4) | (2_556 >> 8), 2_556 & 255], xing + 141);
  expect(seconds(Buffer.concat([id3Tag(2_000), head, frames(3, mp3Frame(64))]))).toBeCloseTo(1, 9);
  // An encoder that names no silence.
  head.set(text('other enc'), xing + 120);
  expect(seconds(Buffer.concat([id3Tag(2_000), head, frames(3, mp3Frame(64))]))).toBeCloseTo((41 * 1152) / 44_100, 9);
});

test('of a large MP3 the rest goes on as it began', () => {
  const file = Buffer.concat([id3Tag(30_000), frames(1_000, mp3Frame(128))]);
  const part = file.subarray(0, 30_010 + 417 * 100);
  expect(seconds(part, file.length)).toBeCloseTo(mp3Seconds(1_000), 6);
});

test('FLAC counts its samples', () => {
  const flac = (samples: number, rate: number) => Buffer.concat([flacStart(rate, samples), Buffer.alloc(900)]);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 35 }), fc.constantFrom(16_000, 44_100, 96_000), (samples, rate) => {
      expect(seconds(flac(samples, rate))).toBeCloseTo(samples / rate, 6);
      expect(seconds(Buffer.concat([id3Tag(500), flac(samples, rate)]))).toBeCloseTo(samples / rate, 6);
    }),
    { numRuns: 100 },
  );
});

test('Ogg goes as far as its last page says, less what Opus skips', () => {
  const comments = oggPage(0, [Buffer.concat([text('OpusTags'), Buffer.alloc(200)])]);
  const sound = (count: number) =>
    Array.from({ length: count }, (_, at) => oggPage(960 * (at + 1), [Buffer.alloc(80)]));
  const file = Buffer.concat([oggPage(0, [opusHead]), comments, ...sound(50)]);
  expect(seconds(file)).toBeCloseTo((960 * 50 - 312) / 48_000, 9);
  const vorbis = Buffer.concat([text('\u0001vorbis'), le(0), Buffer.from([2]), le(44_100), Buffer.alloc(14)]);
  expect(
    seconds(Buffer.concat([oggPage(0, [vorbis]), oggPage(-1, [Buffer.alloc(9)]), oggPage(44_100, [Buffer.alloc(9)])])),
  ).toBe(1);
  // What is there goes on as it began, measured from the first byte of the file.
  const seen = file.subarray(0, file.length - 108 * 25);
  expect(seconds(seen, 2 * seen.length)).toBeCloseTo((2 * (960 * 25 - 312)) / 48_000, 9);
  const long = Buffer.concat([oggPage(0, [opusHead]), ...sound(5_000)]);
  expect(seconds(long.subarray(0, 400_000), long.length) / 100).toBeCloseTo(1, 1);
});

test('M4A names its duration, in front of the sound or behind', () => {
  // In the wide form the times take eight bytes each.
  const head = (wide: boolean, scale: number, duration: number) =>
    wide
      ? box('mvhd', be(0x01000000), Buffer.alloc(16), be(scale), be(0), be(duration), Buffer.alloc(80))
      : box('mvhd', be(0), Buffer.alloc(8), be(scale), be(duration), Buffer.alloc(80));
  const sound = box('mdat', Buffer.alloc(100));
  for (const wide of [false, true]) {
    const movie = box('moov', box('udta', Buffer.alloc(300)), head(wide, 44_100, 44_100));
    expect([seconds(Buffer.concat([ftyp, movie, sound])), seconds(Buffer.concat([ftyp, sound, movie]))]).toEqual([
      1, 1,
    ]);
  }
});

const inTwoBytes = (id: readonly number[], content: Buffer) =>
  element(id, content, Buffer.from([0x40 | (content.length >> 8), content.length & 255]));

test('WebM names its duration, or goes as far as its last block', () => {
  const head = inTwoBytes(ebml.head, Buffer.alloc(31));
  const scale = inTwoBytes(ebml.scale, be(1_000_000, 3));
  const info = (more: Buffer) => inTwoBytes(ebml.info, Buffer.concat([scale, more]));
  const segment = (content: Buffer) => element(ebml.segment, content, unknownSize);
  const named = Buffer.concat([
    head,
    segment(Buffer.concat([info(inTwoBytes(ebml.duration, double(1_000))), Buffer.alloc(9, 0xec)])),
  ]);
  expect(seconds(named)).toBe(1);
  const blocks = Array.from({ length: 49 }, (_, at) =>
    inTwoBytes(
      ebml.block,
      Buffer.concat([Buffer.from([0x81]), be((at + 1) * 20, 2), Buffer.from([0x80]), Buffer.alloc(60)]),
    ),
  );
  const cluster = element(ebml.cluster, Buffer.concat([inTwoBytes(ebml.time, be(0, 1)), ...blocks]), unknownSize);
  // As a browser records it: nothing but blocks, 20 ms each.
  const recorded = Buffer.concat([head, segment(Buffer.concat([info(Buffer.alloc(0)), cluster]))]);
  expect(seconds(recorded)).toBeCloseTo(1, 9);
  // A block without its flags is none.
  const cut = inTwoBytes(ebml.block, Buffer.concat([Buffer.from([0x81]), be(5000, 2)]));
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

test('bytes that are no recording are as long as their size allows, and nothing invented stops it', () => {
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
  const file = wave(32_000, 16_000, none, notes(9000));
  expect(seconds(file.subarray(0, 44), file.length)).toBe(2);
});
