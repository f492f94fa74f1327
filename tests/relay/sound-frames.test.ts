/** Every kind of frame that the standards of MPEG audio and AAC know, made after their own tables. */
import { expect, test } from 'vitest';
import { ac3Frame, adtsSeconds, mpegSeconds } from '../../server/relay/shared/recordings/frames.ts';

// ISO/IEC 11172-3 2.4.2.3 and 13818-3 2.4.2.3: kilobits per second by bitrate_index 1 to 14.
const layerOne = [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448];
const layerTwo = [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384];
const layerThree = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const lowOne = [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256];
const lowOthers = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];

interface Kind {
  readonly name: string;
  /** The two bits of the header. */
  readonly version: 3 | 2 | 0;
  readonly layer: 1 | 2 | 3;
  readonly kilobits: readonly number[];
  readonly rates: readonly number[];
  readonly samples: number;
}
const full = [44_100, 48_000, 32_000];
const half = [22_050, 24_000, 16_000];
const quarter = [11_025, 12_000, 8_000];
const kinds: readonly Kind[] = [
  { name: 'MPEG-1 layer I', version: 3, layer: 1, kilobits: layerOne, rates: full, samples: 384 },
  { name: 'MPEG-1 layer II', version: 3, layer: 2, kilobits: layerTwo, rates: full, samples: 1152 },
  { name: 'MPEG-1 layer III', version: 3, layer: 3, kilobits: layerThree, rates: full, samples: 1152 },
  { name: 'MPEG-2 layer I', version: 2, layer: 1, kilobits: lowOne, rates: half, samples: 384 },
  { name: 'MPEG-2 layer II', version: 2, layer: 2, kilobits: lowOthers, rates: half, samples: 1152 },
  { name: 'MPEG-2 layer III', version: 2, layer: 3, kilobits: lowOthers, rates: half, samples: 576 },
  { name: 'MPEG-2.5 layer II', version: 0, layer: 2, kilobits: lowOthers, rates: quarter, samples: 1152 },
  { name: 'MPEG-2.5 layer III', version: 0, layer: 3, kilobits: lowOthers, rates: quarter, samples: 576 },
];

function frame({ version, layer, kilobits, rates, samples }: Kind, index: number, rate: number, padding: 0 | 1) {
  const slots = layer === 1 ? 4 : 1;
  const whole = Math.floor((samples / 8 / slots) * (((kilobits[index - 1] ?? 0) * 1000) / (rates[rate] ?? 1)));
  const bytes = Buffer.alloc((whole + padding) * slots);
  bytes.set([0xff, 0xe0 | (version << 3) | ((4 - layer) << 1) | 1, (index << 4) | (rate << 2) | (padding << 1), 0xc4]);
  return bytes;
}

test.each(kinds.map((kind) => [kind.name, kind] as const))(
  '%s: every rate, with and without padding',
  (_name, kind) => {
    for (let index = 1; index <= 14; index++)
      for (const rate of [0, 1, 2])
        for (const padding of [0, 1] as const) {
          const one = frame(kind, index, rate, padding);
          const file = new Uint8Array(Buffer.concat([one, one, one, one]));
          const label = `${kind.kilobits[index - 1]} kbit/s at ${kind.rates[rate]}, padding ${padding}`;
          expect([label, mpegSeconds(file, file.length)]).toEqual([
            label,
            expect.closeTo((4 * kind.samples) / (kind.rates[rate] ?? 1), 9),
          ]);
        }
  },
);

test('a header with reserved bits is no frame', () => {
  const [, , kind] = kinds;
  if (kind === undefined) throw new Error('no kind');
  const good = frame(kind, 9, 0, 0);
  const wrong: readonly (readonly [number, number])[] = [
    [0, 0xfe],
    [1, 0x1b],
    [1, 0xe9],
    [1, 0xf9],
    [2, 0x00],
    [2, 0xf0],
    [2, 0x9c],
  ];
  for (const [at, value] of wrong) {
    const bad = Buffer.from(good);
    bad[at] = value;
    const file = new Uint8Array(Buffer.concat([bad, bad, bad]));
    expect([at, value, mpegSeconds(file, file.length)]).toEqual([at, value, null]);
  }
});

test('bytes too few for a whole head at the end of a file are no frame', () => {
  const [, , kind] = kinds;
  if (kind === undefined) throw new Error('no kind');
  const head = frame(kind, 9, 0, 0).subarray(0, 4);
  const tail = (length: number) => {
    const file = new Uint8Array(Buffer.concat([Buffer.alloc(100), head.subarray(0, length)]));
    return mpegSeconds(file, file.length);
  };
  expect([tail(3), tail(4)]).toEqual([null, expect.closeTo(1152 / 44_100, 9)]);
});

// ISO/IEC 13818-7 and 14496-3: sampling_frequency_index 0 to 12.
test.each(
  [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350].map(
    (rate, index) => [rate, index] as const,
  ),
)('AAC at %d samples a second', (rate, index) => {
  for (const length of [7, 8, 255, 256, 2047, 2048, 8191])
    for (const blocks of [1, 2, 4]) {
      const one = Buffer.alloc(length);
      one.set([
        0xff,
        0xf1,
        0x40 | (index << 2),
        length >> 11,
        (length >> 3) & 0xff,
        ((length & 7) << 5) | 0x1f,
        0xfc | (blocks - 1),
      ]);
      const file = new Uint8Array(Buffer.concat([one, one, one]));
      expect([length, blocks, adtsSeconds(file, file.length)]).toEqual([
        length,
        blocks,
        expect.closeTo((3 * 1024 * blocks) / rate, 9),
      ]);
    }
});

test('an index that AAC reserves, and a frame shorter than its own head, are none', () => {
  for (const [third, length] of [
    [0x40 | (13 << 2), 100],
    [0x40 | (4 << 2), 6],
  ] as const) {
    const one = Buffer.alloc(Math.max(length, 7));
    one.set([0xff, 0xf1, third, 0, length >> 3, ((length & 7) << 5) | 0x1f, 0xfc]);
    const file = new Uint8Array(Buffer.concat([one, one, one]));
    expect(adtsSeconds(file, file.length)).toBeNull();
  }
});

// ETSI TS 102 366, 4.4.2.1 and annex C: up to 8 the rate is that of the table, 9 and 10 are half and a quarter of it.
test.each([
  [0, 48_000],
  [4, 48_000],
  [8, 48_000],
  [9, 24_000],
  [10, 12_000],
])('AC-3 of version %i plays %i samples a second', (version, rate) => {
  const frame = ac3Frame(new Uint8Array([0x0b, 0x77, 0, 0, 8, version << 3, 0, 0]), 0);
  expect(frame).toMatchObject({ rate, samples: 1536 });
});
