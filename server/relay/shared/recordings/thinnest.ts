/** Longest sound that a recording can hold. */

/** Bytes per second of the thinnest speech in use: Opus at 6 kbit/s. Source: RFC 6716, section 2. */
const thinnestRate = 750;

/** As much sound as so many bytes can hold. */
export const thinnestSeconds = (size: number): number => size / thinnestRate;
