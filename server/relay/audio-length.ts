/** How long a recording is, for bills by the minute: from the file's own header, else from its size. */

/** Bytes per second of a common MP3 (128 kbit/s), for containers whose header does not say. */
const usualRate = 16_000;

/** @param file the beginning of the file. @param size bytes of the whole. @returns seconds. */
export function audioSeconds(file: Uint8Array, size: number): number {
  const rate = waveRate(file) ?? mp3Rate(file) ?? usualRate;
  return size / rate;
}

const ascii = (bytes: Uint8Array, start: number, end: number): string =>
  String.fromCharCode(...bytes.subarray(start, end));

/** RIFF/WAVE: the `fmt ` chunk names the bytes per second. */
function waveRate(bytes: Uint8Array): number | null {
  if (bytes.length < 36 || ascii(bytes, 0, 4) !== 'RIFF' || ascii(bytes, 8, 12) !== 'WAVE') return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 12; at + 20 <= Math.min(bytes.length, 4096); at += 8 + view.getUint32(at + 4, true)) {
    if (ascii(bytes, at, at + 4) !== 'fmt ') continue;
    const rate = view.getUint32(at + 16, true);
    return rate > 0 ? rate : null;
  }
  return null;
}

/** Kilobits per second of MPEG-1 layer III, by the index in the frame header. */
const mp3Rates = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320] as const;
/** The same of MPEG-2 and 2.5. */
const mp3LowRates = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160] as const;

/** The rate of the first frame; recordings of varying rate are estimated by it. */
function mp3Rate(bytes: Uint8Array): number | null {
  let at = 0;
  if (ascii(bytes, 0, 3) === 'ID3' && bytes.length > 10) {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.subarray(6, 10);
    at = 10 + ((a << 21) | (b << 14) | (c << 7) | d);
  }
  const second = bytes[at + 1] ?? 0;
  if (bytes[at] !== 0xff || (second & 0xe6) !== 0xe2) return null;
  const table = (second & 0x18) === 0x18 ? mp3Rates : mp3LowRates;
  const kilobits = table[(bytes[at + 2] ?? 0) >> 4];
  return kilobits === undefined || kilobits === 0 ? null : kilobits * 125;
}
