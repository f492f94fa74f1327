/** How long a recording is, for bills by the minute: from what its container says, else from its size. Headers are no sound. */
import { matroskaSeconds, mp4Seconds } from './sound/boxes.ts';
import { flacSeconds, oggSeconds, waveSeconds } from './sound/chunks.ts';
import { adtsSeconds, mpegSeconds } from './sound/frames.ts';

/** Bytes per second of a common MP3 (128 kbit/s), for containers that do not say. */
const usualRate = 16_000;

const readers = [waveSeconds, flacSeconds, oggSeconds, mp4Seconds, matroskaSeconds, mpegSeconds, adtsSeconds] as const;

/** @param file the beginning of the file, or all of it. @param size bytes of the whole. @returns seconds. */
export function audioSeconds(file: Uint8Array, size: number): number {
  for (const read of readers) {
    const seconds = read(file, size);
    if (seconds !== null && Number.isFinite(seconds) && seconds >= 0) return seconds;
  }
  return size / usualRate;
}
