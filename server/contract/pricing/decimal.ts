/** Exact decimals: ratios as integers of six decimals, rounded half up. */

/** A ratio as it is written: a JSON number or a decimal string. */
export type Decimal = number | string;

/** 10^6: what a ratio is scaled by. */
export const scale = 1_000_000n;

const scaled = new Map<Decimal, bigint>();

/** @throws SyntaxError for anything but a decimal that is not negative. */
export function toScaled(ratio: Decimal): bigint {
  const known = scaled.get(ratio);
  if (known !== undefined) return known;
  const [whole = '0', fraction = ''] = plain(ratio).split('.');
  const digits = fraction.padEnd(7, '0');
  const value = BigInt(whole) * scale + BigInt(digits.slice(0, 6)) + (digits.charCodeAt(6) >= 53 ? 1n : 0n);
  if (scaled.size < 10_000) scaled.set(ratio, value);
  return value;
}

/** Plain decimal notation, never an exponent. A JSON number's shortest text is the decimal that was written. */
function plain(value: Decimal): string {
  const text = String(value);
  if (/^\d+(\.\d+)?$/.test(text)) return text;
  const parts = /^(\d+)(?:\.(\d+))?e([+-]?\d+)$/.exec(text);
  if (parts === null) throw new SyntaxError(`not a ratio: ${text}`);
  const [, whole = '', fraction = ''] = parts;
  const exponent = Number(parts[3]);
  if (exponent >= 0) return shifted(whole, fraction, exponent);
  return `0.${'0'.repeat(Math.max(0, -exponent - whole.length))}${whole}${fraction}`;
}

const shifted = (whole: string, fraction: string, exponent: number): string =>
  `${whole}${fraction.slice(0, exponent).padEnd(exponent, '0')}.${fraction.slice(exponent) || '0'}`;

/** Value of a decimal, as the nearest number with at most six decimals; null for anything else. */
export function ratioOf(value: unknown): number | null {
  if (typeof value !== 'number' && typeof value !== 'string') return null;
  try {
    return Number(toScaled(typeof value === 'string' ? value.trim() : value)) / 1e6;
  } catch {
    return null;
  }
}

/** @param by positive. */
export const roundDivide = (value: bigint, by: bigint): bigint => (value + by / 2n) / by;

/** Product of two ratios, six decimals, rounded half up. */
export const timesScaled = (one: number, other: number): bigint => roundDivide(toScaled(one) * toScaled(other), scale);

/** A price or a ratio raised by so many percent, lowered where these are negative. 12 digits drop the noise of binary fractions. */
export const raisedBy = (value: number, percent: number): number =>
  Number((value * (1 + percent / 100)).toPrecision(12));
