/** Recordings whose reading grows with more than their size where a reader is careless: each file grows with `n`. */
import {
  be,
  box,
  ebml,
  ebmlHead,
  element,
  ftyp,
  mvhd,
  oggPage,
  oggSegments,
  opusHead,
  riff,
  soundEntry,
  text,
  unknownSize,
} from './recording-parts.ts';

const repeated = (count: number, one: Buffer) => Buffer.alloc(count * one.length, one);
const segment = (...content: Buffer[]) =>
  Buffer.concat([ebmlHead, element(ebml.segment, Buffer.concat(content), unknownSize)]);
/** What follows is within it. */
const tracks = element(ebml.tracks, Buffer.alloc(0), unknownSize);
const entry = soundEntry('mp4a', { rate: 44_100 });
const track = (...tables: Buffer[]) =>
  box(
    'trak',
    box(
      'mdia',
      box('hdlr', be(0), be(0), text('soun'), Buffer.alloc(12)),
      box('minf', box('stbl', box('stsd', be(0), be(1), entry), ...tables)),
    ),
  );
const nested = (depth: number): Buffer => {
  const out = Buffer.alloc(depth * 8);
  for (let at = 0; at < depth; at++) {
    out.writeUInt32BE(out.length - at * 8, at * 8);
    out.set(text('moov'), at * 8 + 4);
  }
  return out;
};
const page = (segments: readonly number[]) =>
  oggSegments(
    segments,
    Buffer.alloc(
      segments.reduce((sum, one) => sum + one, 0),
      1,
    ),
  );
const opusPage = oggPage(0, [opusHead]);

/** By name: `n` to a file. */
export const hostileRecordings: Readonly<Record<string, (n: number) => Buffer>> = {
  'Matroska: tracks and blocks of none': (n) =>
    segment(tracks, repeated(n, Buffer.from([0xae, 0x80])), repeated(n, Buffer.from([0xa3, 0x85, 0x81, 0, 0, 0, 0]))),
  'Matroska: tracks of one number and its blocks': (n) =>
    segment(
      tracks,
      repeated(
        n / 2,
        Buffer.concat([Buffer.from([0xae, 0x90, 0xd7, 0x81, 1, 0x83, 0x81, 2, 0x86, 0x86]), text('A_AAC/')]),
      ),
      repeated(n, Buffer.from([0xa3, 0x85, 0x81, 0, 0, 0, 0])),
    ),
  'Matroska: what is no element, and clusters': (n) =>
    segment(repeated(n, Buffer.from([0, 0x1f, 0x43, 0xb6, 0x75, 0xff]))),
  'Matroska: elements that claim all that follows': (n) =>
    segment(repeated(n, Buffer.from([0xec, 0x08, 0xff, 0xff, 0xff, 0xff]))),
  'Matroska: laces': (n) =>
    segment(
      tracks,
      Buffer.from([0xae, 0x83, 0xd7, 0x81, 1]),
      repeated(n / 32, Buffer.concat([Buffer.from([0xa3, 0x41, 0x05, 0x81, 0, 0, 0x02, 255]), Buffer.alloc(256)])),
    ),
  'MP4: tracks and runs': (n) =>
    Buffer.concat([
      ftyp,
      box('moov', repeated(n, box('trak'))),
      box('tfhd', be(0), be(0x7f000000)),
      repeated(n, box('trun', be(0), be(1))),
    ]),
  'MP4: runs of one size': (n) =>
    Buffer.concat([
      ftyp,
      box('moov', mvhd(1), track()),
      box('tfhd', be(16), be(0), be(1)),
      repeated(n, box('trun', be(0), be(0x7fffffff))),
    ]),
  'MP4: boxes in boxes': (n) => Buffer.concat([ftyp, nested(n)]),
  'MP4: one chunk named again and again': (n) =>
    Buffer.concat([
      ftyp,
      box(
        'moov',
        mvhd(1),
        track(
          box('stsz', be(0), be(1), be(0xffffffff)),
          box('stsc', be(0), be(1), be(1), be(0x7fffffff), be(1)),
          box('stco', be(0), be(n), Buffer.alloc(4 * n)),
        ),
      ),
    ]),
  'MP4: descriptions and descriptors': (n) =>
    Buffer.concat([
      ftyp,
      box(
        'moov',
        mvhd(1),
        box(
          'trak',
          box('stsd', be(0), be(n), repeated(n, entry)),
          box('stsd', be(0), be(1), repeated(n, text('esds'))),
        ),
      ),
    ]),
  'MP4: tables of times, sizes and edits': (n) =>
    Buffer.concat([
      ftyp,
      box(
        'moov',
        mvhd(1),
        track(
          repeated(n, box('stsz', be(0), be(0), be(0))),
          repeated(n, box('stts', be(0), be(1), be(1), be(1))),
          box('edts', box('elst', be(0), be(n), Buffer.alloc(12 * n))),
        ),
      ),
    ]),
  'Ogg: one packet over all pages': (n) => Buffer.concat([opusPage, repeated(n / 4, page([255]))]),
  'Ogg: packets of one byte': (n) => Buffer.concat([opusPage, repeated(n / 64, page(new Array<number>(255).fill(1)))]),
  'Ogg: streams': (n) => Buffer.concat(Array.from({ length: n / 4 }, (_, at) => oggPage(0, [opusHead], at))),
  'Ogg: headers of one stream': (n) => Buffer.concat([repeated(n / 4, opusPage)]),
  'Ogg: marks that begin no page': (n) => Buffer.concat([opusPage, repeated(n, text('OggS '))]),
  'WAVE: chunks, and formats of each kind': (n) =>
    riff(
      'RIFF',
      repeated(
        n,
        Buffer.concat([text('fmt '), Buffer.from([16, 0, 0, 0]), Buffer.from([0x55, 0]), Buffer.alloc(14, 1)]),
      ),
      repeated(n, Buffer.concat([text('data'), Buffer.from([1, 0, 0, 0, 9, 9])])),
    ),
  'MP3: heads without frames': (n) => repeated(n, Buffer.from([0xff, 0xfb, 0x90, 0xc4, 0xff, 0xf3])),
  'MP3: tags': (n) => repeated(n, Buffer.concat([text('ID3'), Buffer.from([4, 0, 0, 0, 0, 0, 0])])),
  'AAC: frames of seven bytes': (n) => repeated(n, Buffer.from([0xff, 0xf1, 0x50, 0x80, 0, 0xff, 0xfc])),
  'FLAC: marks': (n) =>
    Buffer.concat([
      text('fLaC'),
      Buffer.from([0x80, 0, 0, 34]),
      Buffer.alloc(34, 1),
      repeated(n, Buffer.from([0xff, 0xf8, 0xc9, 0x08, 0])),
    ]),
  'AC-3: marks': (n) => repeated(n, Buffer.from([0x0b, 0x77, 0, 0, 0, 0x40])),
};
