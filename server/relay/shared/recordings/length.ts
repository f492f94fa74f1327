/** How long a recording is, for bills by the minute: from the sound that is in it. What a header says may lengthen it, never shorten it. */

import { aiffSeconds, flacSeconds, oggSeconds, waveSeconds } from './chunks.ts';
import { matroskaSeconds, mp4Seconds } from './container.ts';
import { adtsSeconds, mpegSeconds } from './frames.ts';

/** Bytes per second of the thinnest speech in use: Opus at 6 kbit/s. Source: RFC 6716, section 2. */
const thinnestRate = 750;

const readers = [
  waveSeconds,
  aiffSeconds,
  flacSeconds,
  oggSeconds,
  mp4Seconds,
  matroskaSeconds,
  mpegSeconds,
  adtsSeconds,
] as const;

/** @param file the beginning of the file, or all of it. @param size bytes of the whole. @returns null = its form is not known. */
export function measuredSeconds(file: Uint8Array, size: number): number | null {
  for (const read of readers) {
    const seconds = read(file, size);
    if (seconds !== null && Number.isFinite(seconds) && seconds >= 0) return seconds;
  }
  return null;
}

/** As much sound as so many bytes can hold. */
export const thinnestSeconds = (size: number): number => size / thinnestRate;

/** The length, of an unknown form as much as there may be. */
export const audioSeconds = (file: Uint8Array, size: number): number =>
  measuredSeconds(file, size) ?? thinnestSeconds(size);
