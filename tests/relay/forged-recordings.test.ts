/** Recordings of a minute whose headers say that they are shorter: the sound that is in them decides. */
import { describe, expect, test } from 'vitest';
import { mediaIn } from '../../server/relay/intake/media.ts';
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
  mp3Frame,
  mvhd,
  oggPage,
  opusHead,
  opusPacket,
  opusTags,
  riff,
  seconds,
  soundEntry,
  text,
  times,
  waveFormat,
} from '../support/recording-parts.ts';

/** @param named what the header says of its length; null = the truth. */
type Recording = (named: number | null) => Buffer;

const wave: Recording = (named) =>
  riff('RIFF', waveFormat({ bytesPerSecond: named ?? 32_000 }), chunk('data', Buffer.alloc(16_000 * 2 * 60)));

/** 128 kbit/s at 44.1 kHz. */
const mp3Frames = Math.round((60 * 44_100) / 1152);
const mp3: Recording = (named) => {
  const frame = mp3Frame(128);
  const head = Buffer.from(frame);
  head.set(Buffer.concat([text('Xing'), be(1), be(named ?? mp3Frames)]), 36);
  return Buffer.concat([head, times(mp3Frames, () => frame)]);
};

/** @param rate how each frame says the rate: a code of the table, or a code whose value stands behind the frame's number. */
const flacWith = (
  rate: { readonly code: number; readonly value?: Buffer<ArrayBuffer> },
  named: number | null,
): Buffer =>
  Buffer.concat([
    flacStart(16_000, named ?? flacFrames * 4096),
    times(flacFrames, (at) => flacFrame(at, rate.code, rate.value)),
  ]);
const flac: Recording = (named) => flacWith({ code: 5 }, named);

/** 20 ms. */
const packet = opusPacket(19);
const opusPackets = 3000;
const ogg: Recording = (named) => {
  const sound = (at: number) => oggPage(named ?? 960 * 50 * (at + 1) + 312, Array<Buffer>(50).fill(packet));
  return Buffer.concat([oggPage(0, [opusHead]), oggPage(0, [opusTags]), times(opusPackets / 50, sound)]);
};

const aacPackets = Math.ceil((60 * 44_100) / 1024);
/** AAC of 44.1 kHz. @param named milliseconds. @param decoder what its decoder is set up with. */
const mp4With = (named: number | null, decoder: readonly [number, number]): Buffer => {
  const duration = named ?? Math.round((aacPackets * 1024 * 1000) / 44_100);
  const entry = soundEntry('mp4a', { rate: 44_100, inside: esds(0x40, Buffer.from(decoder)) });
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
      times(aacPackets, () => be(200)),
    ),
  );
  const media = box(
    'mdia',
    box('mdhd', be(0), Buffer.alloc(8), be(44_100), be(delta * aacPackets), be(0)),
    box('minf', table),
  );
  const movie = box('moov', mvhd(duration), box('trak', media));
  return Buffer.concat([ftyp, movie, box('mdat', Buffer.alloc(200 * aacPackets))]);
};
const mp4: Recording = (named) => mp4With(named, [0x12, 0x10]);

/** @param named milliseconds; all blocks then lie at the beginning. */
const matroska: Recording = (named) => {
  const info = element(
    ebml.info,
    Buffer.concat([element(ebml.scale, be(1_000_000, 3)), element(ebml.duration, double(named ?? opusPackets * 20))]),
  );
  const track = element(
    ebml.track,
    Buffer.concat([
      element(ebml.number, Buffer.from([1])),
      element(ebml.codec, text('A_OPUS')),
      element(ebml.setup, opusHead),
    ]),
  );
  const block = (at: number) =>
    element(
      ebml.block,
      Buffer.concat([Buffer.from([0x81]), be(named === null ? at * 20 : 0, 2), Buffer.from([0x80]), packet]),
    );
  const cluster = (from: number) =>
    element(ebml.cluster, Buffer.concat([element(ebml.time, be(named === null ? from * 20 : 0)), times(1000, block)]));
  return Buffer.concat([
    ebmlHead,
    element(
      ebml.segment,
      Buffer.concat([info, element(ebml.tracks, track), times(opusPackets / 1000, (at) => cluster(at * 1000))]),
    ),
  ]);
};

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
  const frame = mp3Frame(128);
  const file = Buffer.concat([frame, frame, Buffer.alloc(100, 1), times(1000, () => frame)]);
  expect(seconds(file)).toBeCloseTo((1002 * 1152) / 44_100, 6);
});

test('a second data chunk of a WAVE is heard as well', () => {
  const file = wave(null);
  const more = chunk('data', Buffer.alloc(32_000));
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
