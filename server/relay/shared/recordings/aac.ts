/** What a decoder of AAC is set up with. */

export const aacRates = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
] as const;

export interface AacConfig {
  /** Samples per second of the core. */
  readonly rate: number;
  /** Samples of a packet at that rate. */
  readonly samples: number;
  /** 0 = described elsewhere. */
  readonly channels: number;
}

/** Samples of a frame of USAC at its own rate, by coreSbrFrameLengthIndex. Source: ISO/IEC 23003-3, table 70. */
const usacSamples = [768, 1024, 2048, 2048, 4096] as const;
const usacRates: readonly number[] = [
  ...aacRates,
  0,
  0,
  57_600,
  51_200,
  40_000,
  38_400,
  34_150,
  28_800,
  25_600,
  20_000,
  19_200,
  17_075,
  14_400,
  12_800,
  9600,
];

/** Source: ISO/IEC 14496-3, 1.6.2.1, AudioSpecificConfig. @returns null where it names no rate. */
export function aacConfig(config: Uint8Array): AacConfig | null {
  if (config.length < 2) return null;
  let at = 0;
  const bits = (count: number): number => {
    let value = 0;
    for (let left = count; left > 0; left--, at++) value = value * 2 + (((config[at >> 3] ?? 0) >> (7 - (at & 7))) & 1);
    return value;
  };
  const objectOf = (): number => {
    const short = bits(5);
    return short === 31 ? 32 + bits(6) : short;
  };
  const rateOf = (): number => {
    const index = bits(4);
    return index === 15 ? bits(24) : (aacRates[index] ?? 0);
  };
  let object = objectOf();
  const rate = rateOf();
  const channels = bits(4);
  if (rate === 0) return null;
  // Spectral band replication: the rate in front is that of the core.
  if (object === 5 || object === 29) {
    rateOf();
    object = objectOf();
  }
  if (object === 42) {
    const index = bits(5);
    const own = index === 31 ? bits(24) : (usacRates[index] ?? 0);
    return { rate: own > 0 ? Math.min(own, rate) : rate, samples: usacSamples[bits(3)] ?? 4096, channels };
  }
  const isShort = bits(1) === 1;
  if (object === 23 || object === 39) return { rate, samples: isShort ? 480 : 512, channels };
  return { rate, samples: isShort ? 960 : 1024, channels };
}
