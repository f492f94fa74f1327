/** How long a recording is, for bills by the minute: from the sound that is in it. What a header says may lengthen it, never shorten it. */
import { aiffSeconds, waveSeconds } from './chunks.ts';
import { flacSeconds } from './flac.ts';
import { ac3Seconds, adtsSeconds, amrSeconds, bareAmrSeconds, loasSeconds, mpegSeconds } from './frames.ts';
import { matroskaSeconds } from './matroska.ts';
import { mp4Seconds } from './mp4.ts';
import { oggSeconds } from './ogg.ts';
import { programSeconds } from './program-stream.ts';
import { thinnestSeconds } from './thinnest.ts';

const readers = [
  waveSeconds,
  aiffSeconds,
  flacSeconds,
  oggSeconds,
  mp4Seconds,
  matroskaSeconds,
  programSeconds,
  amrSeconds,
  ac3Seconds,
  loasSeconds,
  mpegSeconds,
  adtsSeconds,
] as const;

/** @returns null = its form is not known. */
function measuredSeconds(file: Uint8Array, size: number): number | null {
  for (const read of readers) {
    const seconds = read(file, size);
    if (seconds !== null && Number.isFinite(seconds) && seconds >= 0) return seconds;
  }
  return null;
}

/** The length, of an unknown form as much as there may be. @param file the beginning of the file, or all of it. @param size bytes of the whole. */
export const audioSeconds = (file: Uint8Array, size: number): number =>
  measuredSeconds(file, size) ?? Math.max(thinnestSeconds(size), bareAmrSeconds(file, size));
