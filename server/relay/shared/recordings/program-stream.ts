/** Sound among the packets of an MPEG program stream (`.mpeg`). Source: ISO/IEC 13818-1, 2.5. */
import { extrapolated, noBytes, viewOf } from './bytes.ts';
import { type Codec, type Sound, soundOf } from './sound.ts';

const codes = { pack: 0xba, map: 0xbc, private1: 0xbd } as const;
/** Types of a program map that are sound. Source: table 2-34; ETSI TS 101 154. */
const soundTypes: ReadonlySet<number> = new Set([0x03, 0x04, 0x0f, 0x11, 0x80, 0x81, 0x82, 0x87]);

const sound = (codec: Codec): Sound => soundOf({ codec, rate: 0, channels: 1, depth: 0, setup: noBytes });

class ProgramReader {
  private readonly sounds = new Map<number, Sound>();
  /** Films that a program map calls sound. */
  private readonly mapped = new Set<number>();
  first = -1;
  end = 0;

  constructor(private readonly bytes: Uint8Array) {}

  read(): void {
    const { bytes } = this;
    const view = viewOf(bytes);
    for (let at = 0; at + 6 <= bytes.length; ) {
      if (bytes[at] !== 0 || bytes[at + 1] !== 0 || bytes[at + 2] !== 1) {
        const next = bytes.indexOf(1, at + 3);
        if (next < 0) return;
        at = bytes[next - 1] === 0 && bytes[next - 2] === 0 ? next - 2 : next - 1;
        continue;
      }
      const code = bytes[at + 3] ?? 0;
      if (code === codes.pack) {
        const isSecond = (bytes[at + 4] ?? 0) >> 6 === 1;
        at += isSecond ? 14 + ((bytes[at + 13] ?? 0) & 7) : 12;
        continue;
      }
      if (code < codes.map) {
        at += code === 0xbb ? 6 + view.getUint16(at + 4) : 4;
        continue;
      }
      const length = view.getUint16(at + 4);
      const end = Math.min(at + 6 + length, bytes.length);
      if (code === codes.map) this.map(at + 6, end);
      else if (code === codes.private1 || (code >= 0xc0 && code < 0xe0) || this.mapped.has(code))
        this.packet(code, at, end);
      at += 6 + length;
    }
  }

  private map(at: number, end: number): void {
    const view = viewOf(this.bytes);
    if (at + 4 > end) return;
    let next = at + 4 + view.getUint16(at + 2);
    for (next += 2; next + 4 <= end; next += 4 + view.getUint16(next + 2))
      if (soundTypes.has(this.bytes[next] ?? 0)) this.mapped.add(this.bytes[next + 1] ?? 0);
  }

  private packet(code: number, at: number, end: number): void {
    const { bytes } = this;
    let start = at + 6;
    if ((bytes[start] ?? 0) >> 6 === 2) start += 3 + (bytes[start + 2] ?? 0);
    else {
      while (bytes[start] === 0xff && start < end) start++;
      if ((bytes[start] ?? 0) >> 6 === 1) start += 2;
      const stamps = (bytes[start] ?? 0) >> 4;
      start += stamps === 2 ? 5 : stamps === 3 ? 10 : 1;
    }
    let stream = code;
    let codec: Codec = 'mpeg';
    if (code === codes.private1) {
      const own = bytes[start] ?? 0;
      // Pictures of subtitles.
      if (own >= 0x20 && own < 0x40) return;
      stream = 0x100 | own;
      codec = own >= 0x80 && own < 0x88 ? 'ac3' : own >= 0x88 && own < 0x90 ? 'dts' : 'unknown';
      // How many frames begin, and where.
      start += codec === 'unknown' ? 0 : 4;
    }
    if (start >= end) return;
    if (this.first < 0) this.first = at;
    this.end = end;
    let found = this.sounds.get(stream);
    if (found === undefined) {
      found = sound(codec);
      this.sounds.set(stream, found);
    }
    found.add(bytes.subarray(start, end), end - start);
  }

  get seconds(): number {
    let most = 0;
    for (const one of this.sounds.values()) most = Math.max(most, one.seconds());
    return most;
  }
}

/** @returns the longest stream of sound. */
export function programSeconds(bytes: Uint8Array, size: number): number | null {
  if (bytes.length < 16 || viewOf(bytes).getUint32(0) !== (0x100 | codes.pack)) return null;
  const reader = new ProgramReader(bytes);
  reader.read();
  const { seconds } = reader;
  if (seconds === 0) return null;
  return bytes.length >= size ? seconds : extrapolated(seconds, reader.first, reader.end, size);
}
