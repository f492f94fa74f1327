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

/** @param file the beginning of the file, or all of it. @param size bytes of the whole. @returns seconds. */
export function audioSeconds(file: Uint8Array, size: number): number {
  for (const read of readers) {
    const seconds = read(file, size);
    if (seconds !== null && Number.isFinite(seconds) && seconds >= 0) return seconds;
  }
  return size / thinnestRate;
}
