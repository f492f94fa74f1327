/** Recordings that a decoder plays for a minute while their headers say less: rates, widths, tables and codecs of every container that is read. */
import { describe, expect, test } from 'vitest';
import { audioSeconds } from '../../server/relay/shared/recordings/length.ts';
import { finestRate } from '../../server/relay/shared/recordings/sound.ts';
import {
  be,
  box,
  chunk,
  double,
  ebml,
  ebmlHead,
  element,
  esds,
  flacFrame,
  flacFrames,
  flacStart,
  ftyp,
  id3Tag,
  le,
  list,
  mvhd,
  oggPage,
  oldTag,
  opusHead,
  opusPacket,
  opusTags,
  riff,
  seconds,
  soundEntry,
  text,
  times,
  type WaveFormat,
  waveFormat,
} from '../support/recording-parts.ts';

/** MPEG-2.5 layer III at 8 kbit/s and 8 kHz: 576 samples in 72 bytes. */
const thinFrame = Buffer.concat([Buffer.from([0xff, 0xe3, 0x18, 0xc4]), Buffer.alloc(68, 1)]);
const thinFrames = Math.ceil((60 * 8000) / 576);
const thin = times(thinFrames, () => thinFrame);
/** MPEG-2 layer III at 16 kHz and 32 kbit/s: 576 samples in 144 bytes. */
const halfFrame = Buffer.concat([Buffer.from([0xff, 0xf3, 0x48, 0xc4]), Buffer.alloc(140, 1)]);
const halfFrames = Math.ceil((60 * 16_000) / 576);

/** A format that names as many bytes a second as its number can. */
const fmt = (format: WaveFormat) => waveFormat({ bytesPerSecond: 0xffffffff, align: 4, ...format });
const wave = (format: WaveFormat, sound: Buffer) => riff('RIFF', fmt(format), chunk('data', sound));

const finest = { channels: 32, rate: 384_000, bytesPerSecond: 0xffffffff };

describe('a WAVE header makes it no shorter:', () => {
  test.each<readonly [string, Buffer]>([
    ['MP3 of 64 bits and 32 channels at 384 kHz', wave({ tag: 0x55, bits: 64, ...finest }, thin)],
    ['MP3 of no bits and 384,000 bytes a second', wave({ tag: 0x55, bits: 0, bytesPerSecond: 384_000 }, thin)],
    ['layer II called by its own tag', wave({ tag: 0x50, bits: 64, ...finest }, thin)],
    ['MP3 that is called samples of 16 bits', wave({ tag: 1, bits: 16, ...finest }, thin)],
    ['MS-ADPCM with 64 bits', wave({ tag: 2, bits: 64 }, Buffer.alloc(16_000 * 30, 3))],
    ['IMA-ADPCM with 64 bits', wave({ tag: 0x11, bits: 64 }, Buffer.alloc(16_000 * 30, 3))],
    ['A-law with 64 bits', wave({ tag: 6, bits: 64 }, Buffer.alloc(16_000 * 60, 3))],
    ['µ-law with 64 bits', wave({ tag: 7, bits: 64 }, Buffer.alloc(16_000 * 60, 3))],
    [
      'GSM with 32 channels',
      wave({ tag: 0x31, bits: 0, channels: 32, rate: 8000 }, Buffer.alloc((65 * 8000 * 60) / 320, 3)),
    ],
    ['G.722 with 32 channels', wave({ tag: 0x28f, bits: 64, channels: 32 }, Buffer.alloc(8000 * 60, 3))],
    ['samples of a width that nobody knows', wave({ tag: 1, bits: 48 }, Buffer.alloc(16_000 * 60, 3))],
    ['a codec that nobody knows', wave({ tag: 0x4321, bits: 64, ...finest }, Buffer.alloc(750 * 60, 3))],
    [
      'a longer RF64 than its chunk says',
      riff(
        'RF64',
        chunk('ds64', Buffer.concat([le(0), le(0), le(16_000 * 120), le(0), Buffer.alloc(12)])),
        fmt({ tag: 1, bits: 16 }),
        chunk('data', Buffer.alloc(16_000 * 120, 3), 4),
      ),
    ],
    [
      'sound behind a chunk of odd length that looks like another',
      riff(
        'RIFF',
        fmt({ tag: 1, bits: 16 }),
        chunk('LIST', text('a')),
        text('X'),
        chunk('data', Buffer.alloc(16_000 * 120, 3)),
      ),
    ],
  ])('%s', (_name, file) => expect(seconds(file)).toBeGreaterThanOrEqual(59.9));

  test('an extension that is not there names no codec', () => {
    // Where it would stand is the length of the sound, which begins with 1: samples.
    expect(seconds(wave({ tag: 0xfffe, bits: 16 }, Buffer.alloc(75_000, 3)))).toBeCloseTo(100, 1);
  });

  test('a file without sound that can be found is judged by its bytes', () =>
    expect(
      seconds(riff('RIFF', fmt({ tag: 1, bits: 16 }), chunk('junk', Buffer.alloc(45_000), 0x7fffffff))),
    ).toBeGreaterThan(59));
});

/** A float of ten bytes. */
const extended = (rate: number) => {
  const power = Math.floor(Math.log2(rate));
  return Buffer.concat([be(16_383 + power, 2), be(Math.floor(rate * 2 ** (31 - power))), be(0)]);
};
const aifc = (kind: string, sound: Buffer, rate = 16_000, channels = 1) => {
  const common = Buffer.concat([be(channels, 2), be(1), be(64, 2), extended(rate), text(kind), be(0, 2)]);
  const one = (name: string, body: Buffer) => Buffer.concat([text(name), be(body.length), body]);
  const body = Buffer.concat([text('AIFC'), one('COMM', common), one('SSND', Buffer.concat([be(0), be(0), sound]))]);
  return Buffer.concat([text('FORM'), be(body.length), body]);
};
test.each<readonly [string, Buffer]>([
  ['ulaw', Buffer.alloc(16_000 * 60, 3)],
  ['alaw', Buffer.alloc(16_000 * 60, 3)],
  ['ima4', Buffer.alloc((34 * 16_000 * 60) / 64, 3)],
  ['in24', Buffer.alloc(3 * 16_000 * 60, 3)],
  ['agsm', Buffer.alloc((33 * 16_000 * 60) / 160, 3)],
  ['G722', Buffer.alloc((16_000 * 60) / 2, 3)],
  ['sowt', Buffer.alloc(2 * 16_000 * 60, 3)],
  ['zzzz', Buffer.alloc(750 * 60, 3)],
])('AIFC of %s with 64 bits is as long as its sound', (kind, sound) =>
  expect(seconds(aifc(kind, sound))).toBeGreaterThanOrEqual(59.9),
);
test('AIFC with no bits is one byte a sample, as decoders take it', () => {
  const file = aifc('NONE', Buffer.alloc(16_000 * 60, 3));
  file.writeUInt16BE(0, file.indexOf('COMM') + 14);
  expect(seconds(file)).toBeGreaterThanOrEqual(59.9);
});
test('AIFF: a picture behind the sound takes no time', () => {
  const file = aifc('in24', Buffer.alloc(3 * 16_000, 3));
  expect(seconds(Buffer.concat([file, text('ID3 '), be(90_000), Buffer.alloc(90_000)]))).toBeCloseTo(1, 3);
});
test('AIFF: chunks that are too short to have sound take none away', () => {
  const empty = times(20_000, () => Buffer.concat([text('SSND'), be(2), be(0, 2)]));
  expect(seconds(Buffer.concat([aifc('in24', Buffer.alloc(3 * 16_000 * 60, 3)), empty]))).toBeGreaterThanOrEqual(60);
});

describe('MP3 that a WAVE header calls samples of 16 bits', () => {
  const samples = { tag: 1, bits: 16 };
  test('is known by four frames', () =>
    expect(
      seconds(
        wave(
          samples,
          times(4, () => thinFrame),
        ),
      ),
    ).toBeCloseTo((4 * 576) / 8000, 6));
  test('is looked for in the first 64 KB alone', () => {
    const sound = Buffer.concat([Buffer.alloc(65_536, 3), thin]);
    expect(seconds(wave(samples, sound))).toBeCloseTo(sound.length / 32_000, 3);
  });
});

describe('FLAC', () => {
  const sound = times(flacFrames, (at) => flacFrame(at));
  test('frames name their rate, whatever the first block says', () => {
    expect(seconds(Buffer.concat([flacStart(655_350, 1), sound]))).toBeGreaterThanOrEqual(59.9);
    expect(seconds(Buffer.concat([flacStart(0, 1), sound]))).toBeGreaterThanOrEqual(59.9);
  });
  test('of both rates the lower one counts', () =>
    expect(seconds(Buffer.concat([flacStart(8000, 1), sound]))).toBeGreaterThanOrEqual(119));
  test('a beginning is taken for as long as all of it is', () => {
    const file = Buffer.concat([flacStart(16_000, 0), sound]);
    const all = (flacFrames * 4096) / 16_000;
    expect(audioSeconds(file.subarray(0, file.length / 3), file.length)).toBeGreaterThan(0.97 * all);
    expect(audioSeconds(file.subarray(0, file.length / 3), file.length)).toBeLessThan(1.06 * all);
  });
  test('one frame of another rate may be chance', () => {
    const one = Buffer.concat([flacStart(16_000, 1), sound, flacFrame(1, 4)]);
    expect(seconds(one)).toBeCloseTo((flacFrames * 4096) / 16_000, 6);
  });
  test('three frames of another rate count where they are most of the time', () => {
    const few = Buffer.concat([flacStart(655_350, 1), flacFrame(0, 0), times(3, (at) => flacFrame(at + 1, 4))]);
    expect(seconds(few)).toBeCloseTo(4096 / 655_350 + (3 * 4096) / 8000, 6);
  });
});

interface Track {
  readonly codec: string;
  readonly rate: number;
  readonly outputRate?: number;
  readonly depth?: number;
  readonly setup?: Buffer;
  readonly type?: number;
  readonly more?: Buffer;
}
const trackEntry = ({ codec, rate, outputRate, depth, setup, type = 2, more = Buffer.alloc(0) }: Track, number = 1) =>
  element(
    ebml.track,
    Buffer.concat([
      element(ebml.number, Buffer.from([number])),
      element(ebml.type, Buffer.from([type])),
      element(ebml.codec, text(codec)),
      ...(setup === undefined ? [] : [element(ebml.setup, setup)]),
      element(
        ebml.audio,
        Buffer.concat([
          element(ebml.rate, double(rate)),
          ...(outputRate === undefined ? [] : [element(ebml.outputRate, double(outputRate))]),
          ...(depth === undefined ? [] : [element(ebml.depth, Buffer.from([depth]))]),
        ]),
      ),
      more,
    ]),
  );
const simpleBlock = (packet: Buffer, number = 1) =>
  element(ebml.block, Buffer.concat([Buffer.from([0x80 | number, 0, 0, 0x80]), packet]));
/** All blocks lie at the beginning, and a tick is a nanosecond. */
const matroska = (track: Track, packets: readonly Buffer[], before = Buffer.alloc(0)) =>
  Buffer.concat([
    ebmlHead,
    element(
      ebml.segment,
      Buffer.concat([
        element(ebml.info, element(ebml.scale, be(1))),
        element(ebml.tracks, trackEntry(track)),
        before,
        element(ebml.cluster, Buffer.concat([element(ebml.time, be(0)), ...packets.map((one) => simpleBlock(one))])),
      ]),
    ),
  ]);
const fast = { rate: 384_000 };

test.each([
  ['by the sizes of Xiph', 2, Buffer.from([71, 71])],
  ['by the sizes of EBML', 6, Buffer.from([0x80 | 71, 0x80 | 63])],
])('packets that lie in one block of Matroska %s count each', (_name, lacing, sizes) => {
  const packets = Buffer.concat([opusPacket(19), opusPacket(19), opusPacket(19)]);
  const block = Buffer.concat([Buffer.from([0x81, 0, 0, 0x80 | lacing, 2]), sizes, packets]);
  const track = trackEntry({ codec: 'A_OPUS', rate: 48_000, setup: opusHead });
  const blocks = times(100, () => element(ebml.block, block));
  const cluster = element(ebml.cluster, Buffer.concat([element(ebml.time, be(0)), blocks]));
  const inside = [element(ebml.info, element(ebml.scale, be(1))), element(ebml.tracks, track), cluster];
  expect(seconds(Buffer.concat([ebmlHead, element(ebml.segment, Buffer.concat(inside))]))).toBeCloseTo(6, 1);
});

test('of two tracks of sound in Matroska the longer one counts, whichever comes first', () => {
  const samples = { codec: 'A_PCM/INT/LIT', rate: 16_000, depth: 16 };
  const entries = Buffer.concat([trackEntry(samples, 1), trackEntry(samples, 2)]);
  for (const longer of [1, 2]) {
    const blocks = [1, 2].map((number) => simpleBlock(Buffer.alloc(32_000 * (number === longer ? 60 : 20)), number));
    const cluster = element(ebml.cluster, Buffer.concat([element(ebml.time, be(0)), ...blocks]));
    const inside = [element(ebml.info, element(ebml.scale, be(1))), element(ebml.tracks, entries), cluster];
    const file = Buffer.concat([ebmlHead, element(ebml.segment, Buffer.concat(inside))]);
    expect(seconds(file)).toBeCloseTo(60, 3);
  }
});

/** E-AC-3 of 48 kHz, 6 blocks, 128 bytes. */
const eac3 = Buffer.concat([Buffer.from([0x0b, 0x77, 0x00, 0x3f, 0x30, 0x80]), Buffer.alloc(122)]);
/** AC-3 of 32 kbit/s and 48 kHz: 128 bytes. */
const ac3 = Buffer.concat([Buffer.from([0x0b, 0x77, 0, 0, 0x00, 0x40]), Buffer.alloc(122)]);
const ac3Frames = Math.ceil((60 * 48_000) / 1536);

describe('Matroska headers make it no shorter:', () => {
  test.each<readonly [string, Buffer]>([
    [
      'MP3',
      matroska(
        { codec: 'A_MPEG/L3', ...fast },
        list(thinFrames, () => thinFrame),
      ),
    ],
    ['MP3, all frames in one packet', matroska({ codec: 'A_MPEG/L3', ...fast }, [thin])],
    ['FLAC', matroska({ codec: 'A_FLAC', ...fast, setup: flacStart(655_350, 1) }, list(flacFrames, flacFrame))],
    [
      'AC-3',
      matroska(
        { codec: 'A_AC3', ...fast },
        list(ac3Frames, () => ac3),
      ),
    ],
    [
      'E-AC-3',
      matroska(
        { codec: 'A_EAC3', ...fast },
        list(ac3Frames, () => eac3),
      ),
    ],
    ['a codec that nobody knows', matroska({ codec: 'A_ODD', ...fast }, [Buffer.alloc(750 * 60, 3)])],
    [
      'integers of 64 bits, which decoders take for 16',
      matroska({ codec: 'A_PCM/INT/LIT', rate: 16_000, depth: 64 }, [Buffer.alloc(32_000 * 60)]),
    ],
    [
      'a rate that is not that of the output',
      matroska({ codec: 'A_PCM/INT/LIT', ...fast, outputRate: 16_000, depth: 16 }, [Buffer.alloc(32_000 * 60)]),
    ],
    [
      'MP3 in a header of WAVE',
      matroska(
        { codec: 'A_MS/ACM', ...fast, setup: fmt({ tag: 0x55, bits: 64, ...finest }).subarray(8) },
        list(thinFrames, () => thinFrame),
      ),
    ],
    [
      'a void that claims to hold what follows',
      matroska(
        { codec: 'A_MPEG/L3', ...fast },
        list(thinFrames, () => thinFrame),
        Buffer.from([0xec, 0x1f, 0xff, 0xff, 0xff]),
      ),
    ],
    [
      'packed packets',
      matroska(
        {
          codec: 'A_PCM/INT/LIT',
          rate: 16_000,
          depth: 16,
          more: element([0x6d, 0x80], element([0x62, 0x40], element([0x50, 0x34], element([0x42, 0x54], be(0, 1))))),
        },
        [Buffer.alloc(2000)],
      ),
    ],
  ])('%s', (_name, file) => expect(seconds(file)).toBeGreaterThanOrEqual(59.9));

  test('packets without the bytes that all begin with are those of before', () => {
    const stripped = element(
      [0x62, 0x40],
      element(
        [0x50, 0x34],
        Buffer.concat([element([0x42, 0x54], be(3, 1)), element([0x42, 0x55], thinFrame.subarray(0, 3))]),
      ),
    );
    const file = matroska(
      { codec: 'A_MPEG/L3', rate: 8000, more: element([0x6d, 0x80], stripped) },
      list(thinFrames, () => thinFrame.subarray(3)),
    );
    expect(seconds(file)).toBeCloseTo((thinFrames * 576) / 8000, 6);
  });
  test('of two tracks with one number the longer counts', () => {
    const both = element(
      ebml.tracks,
      Buffer.concat([
        trackEntry({ codec: 'A_PCM/INT/LIT', ...fast, depth: 32 }),
        trackEntry({ codec: 'A_MPEG/L3', ...fast }),
      ]),
    );
    const cluster = element(ebml.cluster, Buffer.concat(list(thinFrames, () => simpleBlock(thinFrame))));
    const file = Buffer.concat([ebmlHead, element(ebml.segment, Buffer.concat([both, cluster]))]);
    expect(seconds(file)).toBeGreaterThanOrEqual(59.9);
  });
  test('a rate above 384 kHz is none', () => {
    const file = matroska({ codec: 'A_PCM/INT/LIT', rate: 1e12, depth: 16 }, [Buffer.alloc(768_000 * 2)]);
    expect(seconds(file)).toBeCloseTo(2, 6);
  });
});

describe('Matroska is charged as it plays:', () => {
  test('MP3 of 16 kHz has 576 samples a frame', () =>
    expect(
      seconds(
        matroska(
          { codec: 'A_MPEG/L3', rate: 16_000 },
          list(halfFrames, () => halfFrame),
        ),
      ),
    ).toBeCloseTo((halfFrames * 576) / 16_000, 6));
  test('a film beside the sound costs nothing', () => {
    const tracks = element(
      ebml.tracks,
      Buffer.concat([
        trackEntry({ codec: 'V_VP9', rate: 0, type: 1 }),
        trackEntry({ codec: 'A_MPEG/L3', rate: 8000 }, 2),
      ]),
    );
    const cluster = element(
      ebml.cluster,
      Buffer.concat(list(100, () => Buffer.concat([simpleBlock(Buffer.alloc(5000, 3)), simpleBlock(thinFrame, 2)]))),
    );
    const file = Buffer.concat([ebmlHead, element(ebml.segment, Buffer.concat([tracks, cluster]))]);
    expect(seconds(file)).toBeCloseTo((100 * 576) / 8000, 6);
  });
});

interface Movie {
  readonly entry: string;
  readonly rate?: number;
  readonly bits?: number;
  readonly channels?: number;
  readonly inside?: Buffer;
  readonly handler?: string;
  readonly sizes: Buffer;
  /** Packets of the only chunk. */
  readonly count: number;
  readonly times?: Buffer;
  readonly sound: Buffer;
  readonly edits?: Buffer;
  readonly scale?: number;
}
const trakOf = (movie: Movie, at: number) => {
  const { handler = 'soun', sizes, count, scale = 0x7fffffff, times: table, edits = Buffer.alloc(0) } = movie;
  return box(
    'trak',
    edits,
    box(
      'mdia',
      box('mdhd', be(0), Buffer.alloc(8), be(scale), be(1), be(0)),
      box('hdlr', be(0), be(0), text(handler), Buffer.alloc(12)),
      box(
        'minf',
        box(
          'stbl',
          box('stsd', be(0), be(1), soundEntry(movie.entry, movie)),
          table ?? box('stts', be(0), be(1), be(count), be(1)),
          box('stsc', be(0), be(1), be(1), be(count), be(1)),
          sizes,
          box('stco', be(0), be(1), be(at)),
        ),
      ),
    ),
  );
};
/** The sound stands in front. */
const movie = (one: Movie, ...more: Buffer[]) =>
  Buffer.concat([ftyp, box('mdat', one.sound), box('moov', mvhd(1), trakOf(one, ftyp.length + 8), ...more)]);
/** Of its head, where that stands in front. */
const movieLength = (one: Movie) => box('moov', mvhd(1), trakOf(one, 0)).length;
const equal = (each: number, count: number) => box('stsz', be(0), be(each), be(count));
const table = (each: number, count: number) =>
  box(
    'stsz',
    be(0),
    be(0),
    be(count),
    times(count, () => be(each)),
  );
const compact = (each: number, count: number) => box('stz2', be(0), be(8), be(count), Buffer.alloc(count, each));
/** AAC-LC of 44.1 kHz. */
const aac = esds(0x40, Buffer.from([0x12, 0x10]));
const aacPackets = Math.ceil((60 * 44_100) / 1024);

describe('MP4 headers make it no shorter:', () => {
  const packets = {
    sound: Buffer.alloc(100 * aacPackets, 1),
    count: aacPackets,
    inside: aac,
    rate: 44_100,
    entry: 'mp4a',
  };
  test.each<readonly [string, Buffer]>([
    ['AAC with a compact table', movie({ ...packets, sizes: compact(100, aacPackets) })],
    ['AAC with one size for all', movie({ ...packets, sizes: equal(100, aacPackets) })],
    ['AAC with a plain table', movie({ ...packets, sizes: table(100, aacPackets) })],
    ['AAC with both tables', movie({ ...packets, sizes: Buffer.concat([equal(1, 1), compact(100, aacPackets)]) })],
    [
      'samples of QuickTime (sowt)',
      movie({ entry: 'sowt', sizes: equal(2, 960_000), count: 960_000, sound: Buffer.alloc(1_920_000) }),
    ],
    [
      'samples with sizes of 1',
      movie({ entry: 'sowt', sizes: equal(1, 960_000), count: 960_000, sound: Buffer.alloc(1_920_000) }),
    ],
    [
      'samples of 64 bits, which decoders take for 16',
      movie({ entry: 'twos', bits: 64, sizes: equal(2, 960_000), count: 960_000, sound: Buffer.alloc(1_920_000) }),
    ],
    [
      'ulaw',
      movie({ entry: 'ulaw', bits: 64, sizes: equal(1, 960_000), count: 960_000, sound: Buffer.alloc(960_000) }),
    ],
    [
      'ima4',
      movie({ entry: 'ima4', bits: 64, sizes: equal(34, 15_000), count: 15_000, sound: Buffer.alloc(34 * 15_000) }),
    ],
    ['MP3', movie({ entry: '.mp3', rate: 48_000, sizes: equal(72, thinFrames), count: thinFrames, sound: thin })],
    ['MP3 in one packet', movie({ entry: '.mp3', rate: 48_000, sizes: equal(thin.length, 1), count: 1, sound: thin })],
    [
      'MP3 in an entry of AAC',
      movie({
        entry: 'mp4a',
        rate: 48_000,
        inside: esds(0x6b, Buffer.alloc(0)),
        sizes: equal(72, thinFrames),
        count: thinFrames,
        sound: thin,
      }),
    ],
    [
      'a codec that nobody knows',
      movie({ entry: 'zzzz', sizes: equal(750, 60), count: 60, sound: Buffer.alloc(45_000, 3) }),
    ],
    ['sound in the track of a film', movie({ ...packets, handler: 'vide', sizes: equal(100, aacPackets) })],
    [
      'Opus of 60 ms',
      movie({ entry: 'Opus', sizes: equal(71, 1000), count: 1000, sound: times(1000, () => opusPacket(3)) }),
    ],
    [
      'a track outside of its place',
      Buffer.concat([
        ftyp,
        box('mdat', packets.sound),
        box('moov', mvhd(1), box('udta', trakOf({ ...packets, sizes: equal(100, aacPackets) }, ftyp.length + 8))),
      ]),
    ],
    [
      'a header in what is called free',
      Buffer.concat([
        ftyp,
        box('mdat', packets.sound),
        box('free', mvhd(1), trakOf({ ...packets, sizes: equal(100, aacPackets) }, ftyp.length + 8)),
      ]),
    ],
    [
      'a header that is packed',
      Buffer.concat([ftyp, box('mdat', Buffer.alloc(45_000, 1)), box('moov', box('cmov', Buffer.alloc(100)))]),
    ],
    [
      'one second that edits play sixty times',
      movie({
        ...packets,
        count: 44,
        sizes: equal(100, 44),
        sound: Buffer.alloc(4400, 1),
        scale: 44_100,
        times: box('stts', be(0), be(1), be(44), be(1024)),
        edits: box(
          'edts',
          box(
            'elst',
            be(0),
            be(60),
            times(60, () => Buffer.concat([be(1000), be(0), be(0x10000)])),
          ),
        ),
      }),
    ],
  ])('%s', (_name, file) => expect(seconds(file)).toBeGreaterThanOrEqual(59.9));

  test('a chunk that is named again is played again', () => {
    const one = trakOf({ ...packets, count: 44, sizes: equal(100, 44 * 60) }, ftyp.length + 8);
    const again = Buffer.from(one);
    const at = again.indexOf('stco');
    const offsets = box(
      'stco',
      be(0),
      be(60),
      times(60, () => be(ftyp.length + 8)),
    );
    const inner = Buffer.concat([again.subarray(0, at - 4), offsets]);
    for (const name of ['trak', 'mdia', 'minf', 'stbl']) {
      const where = inner.indexOf(name) - 4;
      inner.writeUInt32BE(inner.length - where, where);
    }
    expect(
      seconds(Buffer.concat([ftyp, box('mdat', Buffer.alloc(4400, 1)), box('moov', mvhd(1), inner)])),
    ).toBeGreaterThan(60);
  });

  const fragmented = (header: Buffer, run: Buffer, extends_: Buffer) => {
    const track = trakOf({ ...packets, sizes: equal(0, 0), count: 0, sound: Buffer.alloc(0) }, 0);
    const named = Buffer.concat([
      track.subarray(0, 8),
      box('tkhd', be(0), Buffer.alloc(8), be(7), Buffer.alloc(68)),
      track.subarray(8),
    ]);
    named.writeUInt32BE(named.length);
    return Buffer.concat([
      ftyp,
      box('moov', mvhd(1), named, box('mvex', extends_)),
      box('moof', box('traf', header, run)),
      box('mdat', packets.sound),
    ]);
  };
  const trex = (size: number) => box('trex', be(0), be(7), be(1), be(1), be(size), be(0));
  test.each<readonly [string, Buffer]>([
    [
      'sizes in the run',
      fragmented(
        box('tfhd', be(0x20000), be(7)),
        box(
          'trun',
          be(0x200),
          be(aacPackets),
          times(aacPackets, () => be(100)),
        ),
        trex(0),
      ),
    ],
    [
      'one size in the head of the fragment',
      fragmented(box('tfhd', be(0x20010), be(7), be(100)), box('trun', be(0), be(aacPackets)), trex(0)),
    ],
    [
      'one size for all fragments',
      fragmented(box('tfhd', be(0x20000), be(7)), box('trun', be(0), be(aacPackets)), trex(100)),
    ],
  ])('fragments: %s', (_name, file) => expect(seconds(file)).toBeGreaterThanOrEqual(59.9));

  const named = { 1: Buffer.alloc(8), 2: be(0), 8: be(0) } as const;
  test.each([[], [1], [2], [8], [1, 2], [1, 8], [2, 8], [1, 2, 8]] as const)(
    'fragments: what the head names in front of the size is as long as ISO/IEC 14496-12 says: %j',
    (...flags: readonly (1 | 2 | 8)[]) => {
      const bits = flags.reduce<number>((sum, flag) => sum | flag, 0x10);
      const header = box('tfhd', be(bits), be(7), ...flags.map((flag) => named[flag]), be(100));
      const length = seconds(fragmented(header, box('trun', be(0), be(aacPackets)), trex(0)));
      expect(length).toBeGreaterThanOrEqual(59.9);
      expect(length).toBeLessThan(62);
    },
  );
});

test('an MP4 packet larger than a frame of AAC can be is more than one', () => {
  const setup = esds(0x40, Buffer.from([0x14, 0x08]));
  const one = { entry: 'mp4a', rate: 16_000, inside: setup, count: 1, sound: Buffer.alloc(768 * 940, 1) };
  expect(seconds(movie({ ...one, sizes: equal(768 * 940, 1) }))).toBeGreaterThanOrEqual(59.9);
});

test('frames of speech in one MP4 packet, which no encoder makes, are as many as it has room for', () => {
  const stereo = esds(0x40, Buffer.from([0x12, 0x10]));
  const surround = esds(0x40, Buffer.from([0x12, 0x30]));
  const packed = (inside: Buffer, bytes: number, count: number) => {
    const sound = Buffer.alloc(bytes * count, 1);
    return seconds(movie({ entry: 'mp4a', rate: 44_100, inside, count, sound, sizes: equal(bytes, count) }));
  };
  // 60 s at 8 kbit/s.
  for (const inside of [stereo, surround]) expect(packed(inside, 60_000, 1)).toBeGreaterThanOrEqual(60);
  // What frames of two and six channels may take.
  expect(packed(stereo, 1536, 100)).toBeCloseTo((100 * 1024) / 44_100, 6);
  expect(packed(surround, 4608, 100)).toBeCloseTo((300 * 1024) / 44_100, 6);
});

describe('MP4 is charged as it plays:', () => {
  const played = {
    ...{ entry: 'mp4a', rate: 44_100, scale: 44_100, count: aacPackets, sound: Buffer.alloc(100 * aacPackets, 1) },
    ...{ sizes: equal(100, aacPackets), inside: aac, times: box('stts', be(0), be(1), be(aacPackets), be(1024)) },
  };
  const length = (aacPackets * 1024) / 44_100;
  test('a box ends where the box around it does, however long it says it is', () => {
    // The head of the last box goes on behind the movie, where bytes stand that look like another track, an hour long.
    const hour = trakOf({ ...played, times: box('stts', be(0), be(1), be(60 * aacPackets), be(1024)) }, 0);
    const whole = movie(played, Buffer.concat([be(1), text('trak')]));
    expect(seconds(Buffer.concat([whole, box('free', hour)]))).toBeCloseTo(length, 6);
  });
  test('packets that its table has and the file has not are none', () => {
    const samples = { entry: 'sowt', scale: 0x7fffffff, sound: Buffer.alloc(32_000) };
    expect(seconds(movie({ ...samples, sizes: equal(2, 96_000), count: 96_000 }))).toBeLessThan(1.1);
    expect(seconds(movie({ ...samples, sizes: equal(1_000_000, 1), count: 1 }))).toBeLessThan(1.1);
  });
  test('a table that goes on behind its box is read as far as it says', () => {
    const none = { ...played, scale: 0x7fffffff, sizes: equal(0, 0), times: box('stts', be(0), be(0)) };
    const behind = times(aacPackets, () => be(100));
    const short = Buffer.concat([be(20), text('stsz'), be(0), be(0), be(aacPackets), behind]);
    expect(seconds(movie(none, short))).toBeGreaterThanOrEqual(59.9);
  });
  test('a table of half bytes lies within its box, and takes nothing of what others may read behind theirs', () => {
    const bytes = 100_000;
    const empty = box('stz2', be(0), be(4), be(2 * bytes), Buffer.alloc(bytes));
    const still = { ...played, sizes: empty, count: 2 * bytes, sound: Buffer.alloc(0) };
    expect(seconds(movie({ ...still, times: box('stts', be(0), be(1), be(1), be(44_100)) }))).toBeCloseTo(1, 6);
  });
  test('boxes within boxes without end take no room to read', () => {
    const depth = 60_000;
    const nested = list(depth, (at) => Buffer.concat([be((depth - at) * 8), text('moov')]));
    expect(seconds(Buffer.concat([ftyp, ...nested]))).toBeGreaterThan(0);
  });
  test('of the rates of an entry and of its codec the lower one counts', () => {
    const slow = movie({ ...played, rate: 22_050, scale: 0x7fffffff, times: box('stts', be(0), be(0)) });
    expect(seconds(slow)).toBeCloseTo(2 * length, 6);
  });
  test('an entry that describes two codecs is as long as the longer one', () => {
    const inside = Buffer.concat([aac, esds(0xe1, Buffer.alloc(0))]);
    const two = movie({ ...played, inside });
    expect(seconds(two)).toBeCloseTo(seconds(movie({ ...played, inside: esds(0xe1, Buffer.alloc(0)) })), 6);
    expect(seconds(two)).toBeGreaterThan(length + 1);
  });
  test('frames of MP3 go on behind what can be seen of them', () => {
    const frames = { entry: '.mp3', sizes: equal(thin.length, 1), count: 1, sound: thin };
    const file = Buffer.concat([
      ...[ftyp, box('moov', mvhd(1), trakOf(frames, ftyp.length + 8 + movieLength(frames)))],
      box('mdat', thin),
    ]);
    expect(audioSeconds(file.subarray(0, file.length - thin.length / 2), file.length)).toBeGreaterThanOrEqual(59.9);
  });
  test('edits that each play a part of the track play it once', () => {
    const part = Buffer.concat([be(30_000), be(0), be(0x10000)]);
    const whole = movie({
      ...{ entry: 'mp4a', rate: 44_100, inside: esds(0x40, Buffer.from([0x12, 0x10])), count: aacPackets },
      ...{ sizes: equal(100, aacPackets), sound: Buffer.alloc(100 * aacPackets, 1), scale: 44_100 },
      times: box('stts', be(0), be(1), be(aacPackets), be(1024)),
      edits: box('edts', box('elst', be(0), be(2), part, part)),
    });
    expect(seconds(whole)).toBeCloseTo((aacPackets * 1024) / 44_100, 6);
  });

  test('Opus of 20 ms, by its packets', () =>
    expect(
      seconds(
        movie({
          entry: 'Opus',
          sizes: equal(71, 1000),
          count: 1000,
          sound: times(1000, () => opusPacket(19)),
          scale: 48_000,
          times: box('stts', be(0), be(1), be(1000), be(960)),
        }),
      ),
    ).toBeCloseTo(20, 6));
  test('MP3 of 16 kHz', () =>
    expect(
      seconds(
        movie({
          entry: '.mp3',
          sizes: equal(144, halfFrames),
          count: halfFrames,
          sound: times(halfFrames, () => halfFrame),
        }),
      ),
    ).toBeCloseTo((halfFrames * 576) / 16_000, 3));
  test('a film beside the sound costs nothing, nor is it longer than the sound', () => {
    const film = {
      entry: 'avc1',
      handler: 'vide',
      sizes: equal(500_000, 1),
      count: 1,
      sound: Buffer.alloc(0),
      scale: 1,
      times: box('stts', be(0), be(1), be(1), be(3600)),
    };
    const sound = Buffer.alloc(500_000, 1);
    const track = {
      entry: 'mp4a',
      rate: 44_100,
      inside: aac,
      sizes: equal(100, 441),
      count: 441,
      sound,
      scale: 44_100,
      times: box('stts', be(0), be(1), be(441), be(1024)),
    };
    expect(seconds(movie(track, trakOf(film, ftyp.length + 8)))).toBeCloseTo((441 * 1024) / 44_100, 3);
  });
});

const oggFlacHead = (rate: number) =>
  Buffer.concat([Buffer.from([0x7f]), text('FLAC'), Buffer.from([1, 0, 0, 1]), flacStart(rate, 0)]);

describe('Ogg', () => {
  const flac = (rate: number) =>
    Buffer.concat([oggPage(0, [oggFlacHead(rate)]), ...list(flacFrames, (at) => oggPage(4096, [flacFrame(at)]))]);
  test('FLAC is known by its frames', () => expect(seconds(flac(16_000))).toBeCloseTo((flacFrames * 4096) / 16_000, 6));
  test('FLAC: the rate of its frames counts', () => expect(seconds(flac(655_350))).toBeGreaterThanOrEqual(59.9));
  test('Speex: as many frames as its head says are in each packet', () => {
    const head = Buffer.alloc(80);
    head.set(text('Speex   1.2'));
    for (const [at, value] of [
      [36, 16_000],
      [40, 1],
      [48, 1],
      [56, 1],
      [64, 2],
    ] as const)
      head.writeUInt32LE(value, at);
    const file = Buffer.concat([
      oggPage(0, [head]),
      oggPage(0, [Buffer.alloc(20)]),
      ...list(1500, () => oggPage(320, [Buffer.alloc(40, 1)])),
    ]);
    expect(seconds(file)).toBeGreaterThanOrEqual(59.9);
    expect(seconds(file)).toBeLessThan(62);
  });
  test('Speex: a rate that no hardware has makes its packets no shorter than the finest one', () => {
    const file = (rate: number) => {
      const head = Buffer.alloc(80);
      head.set(text('Speex   1.2'));
      for (const [at, value] of [
        [36, rate],
        [64, 2],
      ] as const)
        head.writeUInt32LE(value, at);
      const packets = list(1500, () => oggPage(0, [Buffer.from([1])]));
      return Buffer.concat([oggPage(0, [head]), oggPage(0, [Buffer.alloc(20)]), ...packets]);
    };
    expect(seconds(file(0xffff_ffff))).toBeCloseTo((1500 * 2 * 160) / finestRate, 6);
    expect(seconds(file(finestRate))).toBeCloseTo((1500 * 2 * 160) / finestRate, 6);
  });
  describe('Vorbis: its first setup says how long its packets are,', () => {
    /** Blocks of 256 and 2,048 samples. */
    const head = Buffer.concat([text('\u0001vorbis'), le(0), Buffer.from([1]), le(44_100), Buffer.alloc(12)]);
    const comments = Buffer.concat([text('\u0003vorbis'), Buffer.alloc(40)]);
    /** Of one mode: one less of them in six bits, long or short, two words and a byte of nothing, and the end. */
    const setup = (isLong: boolean) =>
      Buffer.concat([
        ...[text('\u0005vorbis'), Buffer.alloc(20, 0xff), Buffer.from([0x03, isLong ? 1 : 0, 0, 0, 0, 0, 2])],
      ]);
    const sound = list(3000, () => oggPage(0, [Buffer.from([0, 1, 1])]));
    const lasts = (...headers: readonly Buffer[]) =>
      seconds(
        Buffer.concat([
          oggPage(0, [Buffer.concat([head, Buffer.from([0xb8, 1])])]),
          ...headers.map((one) => oggPage(0, [one])),
          ...sound,
        ]),
      );
    const short = (3000 * 128) / 44_100;
    const long = (3000 * 1024) / 44_100;
    test('long or short', () => {
      expect(lasts(comments, setup(false))).toBeCloseTo(short, 1);
      expect(lasts(comments, setup(true))).toBeCloseTo(long, 1);
    });
    test('behind a packet that is no header', () =>
      expect(lasts(comments, Buffer.from([5, 1, 1]), setup(false))).toBeCloseTo(short, 1));
    test('in front of another one', () => expect(lasts(comments, setup(false), setup(true))).toBeCloseTo(short, 1));
  });
  test('without sound costs nothing: a film alone, and heads behind which nothing comes', () => {
    const theora = Buffer.concat([Buffer.from([0x80]), text('theora'), Buffer.alloc(35)]);
    expect(seconds(Buffer.concat([oggPage(0, [theora]), oggPage(9, [Buffer.alloc(900, 1)])]))).toBe(0);
    expect(seconds(Buffer.concat([oggPage(0, [opusHead]), oggPage(0, [opusTags])]))).toBe(0);
  });
  test('a codec that nobody knows costs what its bytes can hold', () =>
    expect(
      seconds(
        Buffer.concat([
          oggPage(0, [text('Unheard of, and long enough to be read')]),
          ...list(180, () => oggPage(1, [Buffer.alloc(250, 1)])),
        ]),
      ),
    ).toBeCloseTo(60, 1));
  test('a film beside the sound costs nothing', () => {
    const theora = Buffer.concat([Buffer.from([0x80]), text('theora'), Buffer.alloc(35)]);
    const both = list(100, (at) =>
      Buffer.concat([oggPage(at, [Buffer.alloc(900, 1)], 2), oggPage(960 * (at + 1) + 312, [opusPacket(19)])]),
    );
    const file = Buffer.concat([oggPage(0, [theora], 2), oggPage(0, [opusHead]), oggPage(0, [opusTags]), ...both]);
    expect(seconds(file)).toBeCloseTo(2, 3);
  });
  test('streams beside one another are as long as the longest, those behind one another as all of them', () => {
    const sound = (serial: number) => list(50, (at) => oggPage(960 * (at + 1) + 312, [opusPacket(19)], serial));
    const heads = (serial: number) => [oggPage(0, [opusHead], serial)];
    expect(seconds(Buffer.concat([...heads(1), ...heads(2), ...sound(1), ...sound(2)]))).toBeCloseTo(1, 3);
    expect(seconds(Buffer.concat([...heads(1), ...sound(1), ...heads(2), ...sound(2)]))).toBeCloseTo(2, 3);
  });
  test('a beginning is taken for as long as all of it is', () => {
    const sound = list(3000, (at) => oggPage(960 * (at + 1) + 312, [opusPacket(19)]));
    const file = Buffer.concat([oggPage(0, [opusHead]), oggPage(0, [opusTags]), ...sound]);
    expect(audioSeconds(file.subarray(0, file.length / 4), file.length)).toBeCloseTo(60, 0);
  });
  test('a recording cut out of a broadcast begins at its first frame', () => {
    const sound = list(50, (at) => oggPage(960 * (at + 1) + 4_800_000, [opusPacket(19)]));
    expect(seconds(Buffer.concat([oggPage(0, [opusHead]), oggPage(0, [opusTags]), ...sound]))).toBeLessThan(1.1);
  });
});

describe('bytes that are in no frame', () => {
  test('of MP3 whose frames stand apart cost what they can hold', () =>
    expect(
      seconds(
        Buffer.concat([thinFrame, thinFrame, times(thinFrames, () => Buffer.concat([Buffer.alloc(1), thinFrame]))]),
      ),
    ).toBeGreaterThan(59));
  test('in front of two frames make it no MP3 of two frames', () =>
    expect(
      seconds(Buffer.concat([text('0&\u00b2u'), Buffer.alloc(3000, 3), thinFrame, thinFrame, Buffer.alloc(60_000, 3)])),
    ).toBeGreaterThan(59));
  test('of tags cost nothing: in front, behind, and of a file that was put behind another', () => {
    const tag = id3Tag(768);
    const ape = Buffer.concat([
      Buffer.alloc(20_000, 7),
      text('APETAGEX'),
      le(2000),
      le(20_032),
      le(1),
      le(0),
      le(0),
      le(0),
    ]);
    expect(seconds(Buffer.concat([tag, thin, tag, thin, ape, oldTag]))).toBeCloseTo((2 * thinFrames * 576) / 8000, 6);
  });
  test('of a long file cost nothing up to 4 KB, and what they can hold beyond', () => {
    const long = Buffer.concat([thin, thin]);
    const framed = (2 * thinFrames * 576) / 8000;
    const between = (bytes: number) => seconds(Buffer.concat([long, Buffer.alloc(bytes), long]));
    expect(between(4000)).toBeCloseTo(2 * framed, 6);
    expect(between(4096 + 7500)).toBeCloseTo(2 * framed + 10, 1);
  });
  test('of a tag whose length is none are frames', () => {
    const tag = Buffer.concat([text('ID3'), Buffer.from([4, 0, 0, 0, 0, 0xff, 0])]);
    expect(seconds(Buffer.concat([tag, thin]))).toBeGreaterThanOrEqual(59.9);
  });
});

describe('AMR whose mark is gone, which decoders find by its frames', () => {
  const row = (head: number, bytes: number) =>
    times(3000, () => Buffer.concat([Buffer.from([head]), Buffer.alloc(bytes - 1)]));
  test.each([
    ['of the thinnest speech', row(0x04, 13)],
    ['of comfort noise', row(0x44, 6)],
    ['of wide band', row(0x04, 18)],
    ['of wide comfort noise', row(0x4c, 6)],
  ])('%s', (_name, frames) => {
    expect(seconds(frames)).toBeGreaterThanOrEqual(60);
    expect(seconds(Buffer.concat([text('#!aMR\n'), frames]))).toBeGreaterThanOrEqual(60);
    const beginning = frames.subarray(0, frames.length / 3);
    expect(audioSeconds(beginning, frames.length)).toBeGreaterThanOrEqual(60);
  });
  test('a few that look so among other bytes are none', () => {
    const few = Buffer.concat([Buffer.alloc(10_000, 0x80), row(0x44, 6).subarray(0, 99 * 6)]);
    expect(seconds(few)).toBeCloseTo(few.length / 750, 6);
  });
});

test('AMR of wide band is as long as its frames', () => {
  const speech = Buffer.concat([Buffer.from([0x44]), Buffer.alloc(60, 1)]);
  expect(seconds(Buffer.concat([text('#!AMR-WB\n'), times(3000, () => speech)]))).toBeCloseTo(60, 6);
});

test('AMR is as long as its frames, silent ones as well', () => {
  const speech = Buffer.concat([Buffer.from([0x04]), Buffer.alloc(12, 1)]);
  const silent = Buffer.from([0x7c]);
  expect(seconds(Buffer.concat([text('#!AMR\n'), times(1500, () => Buffer.concat([speech, silent]))]))).toBeCloseTo(
    60,
    6,
  );
});

describe('a recording that ends anywhere has a length:', () => {
  const fragment = Buffer.concat([
    ftyp,
    box(
      'moov',
      mvhd(1),
      trakOf({ entry: 'mp4a', inside: aac, sizes: equal(0, 0), count: 0, sound: Buffer.alloc(0) }, 0),
    ),
    box('moof', box('traf', box('tfhd', be(0x2003b), be(0), Buffer.alloc(28)), box('trun', be(0x301), be(9), be(0)))),
  ]);
  const page = (packet: Buffer) => oggPage(960, [packet]);
  test.each<readonly [string, Buffer]>([
    ['WAVE', wave({ tag: 0xfffe, bits: 16 }, Buffer.alloc(100))],
    ['AIFF', aifc('NONE', Buffer.alloc(100))],
    ['FLAC', Buffer.concat([flacStart(16_000, 0), flacFrame(0), flacFrame(1)])],
    ['Ogg', Buffer.concat([page(opusHead), page(opusTags), page(opusPacket(19))])],
    ['MP4', fragment],
    ['Matroska', matroska({ codec: 'A_OPUS', rate: 48_000, setup: opusHead }, [opusPacket(19)])],
    ['MPEG', Buffer.from('000001ba44000401000100000af8000001bb0006800001000000000001bd0008810001', 'hex')],
    ['MP3', Buffer.concat([id3Tag(20), thinFrame, thinFrame])],
  ])('%s', (_name, file) => {
    for (let end = 0; end <= file.length; end++) {
      const length = seconds(file.subarray(0, end));
      expect(Number.isFinite(length) && length >= 0, `${end} bytes`).toBe(true);
      // The rest of a larger file was not looked at.
      expect(audioSeconds(file.subarray(0, end), 100_000)).toBeGreaterThanOrEqual(0);
    }
  });
});

test('MPEG is charged as it plays: the packets of its sound one behind another, without what lies between them', () => {
  const pack = Buffer.from('000001ba44000401000100000af8', 'hex');
  const packets = Array.from({ length: Math.ceil(thinFrames / 100) }, (_, at) => {
    const sound = Buffer.concat(Array(Math.min(100, thinFrames - at * 100)).fill(thinFrame));
    const length = Buffer.alloc(2);
    length.writeUInt16BE(sound.length + 3);
    return Buffer.concat([pack, Buffer.from('000001c0', 'hex'), length, Buffer.from('800000', 'hex'), sound]);
  });
  const length = seconds(Buffer.concat(packets));
  expect(length).toBeGreaterThanOrEqual(59.9);
  expect(length).toBeLessThan(1.1 * 60);
});
