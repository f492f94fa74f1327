/** Alters fields of a recording's headers by seed. */

export interface Alteration {
  readonly file: Uint8Array;
  /** What was altered, for people. */
  readonly words: string;
}

const values = [
  0, 1, 2, 4, 7, 8, 16, 32, 64, 255, 1000, 8000, 65_535, 96_000, 384_000, 655_350, 16_000_000, 0x7fffffff, 0xffffffff,
] as const;
const floats = [0, 1e-9, 1, 8000, 96_000, 384_000, 1e9, 1e300] as const;

/** Names whose boxes, chunks and elements decide over a length: an alteration falls more often near one of them. */
const names = [
  'fmt ', 'data', 'fact', 'COMM', 'SSND', 'ds64', 'fLaC', 'OggS', 'OpusHead', 'vorbis', 'FLAC', 'Xing', 'Info', 'mvhd',
  'mdhd', 'tkhd', 'elst', 'stsd', 'stsz', 'stz2', 'stts', 'stsc', 'stco', 'esds', 'trex', 'tfhd', 'trun', 'tfdt', 'mp4a',
  'hdlr', 'alac', 'dOps', 'dfLa', '\u002a\u00d7\u00b1', '\u0044\u0089', '\u00ae', '\u00b5', '\u0086', '\u0063\u00a2',
  '\u00e1', '\u001f\u0043\u00b6\u0075', '\u00a3', '\u00a0', '\u0078\u00b5', '\u0062\u0064', '\u009f',
] as const; // biome-ignore format: a list of names

export function altered(bytes: Uint8Array, random: () => number): Alteration {
  const file = Uint8Array.from(bytes);
  const text = Buffer.from(file.buffer);
  const whole = (max: number) => Math.floor(random() * max);
  const pick = <T>(list: readonly T[]): T => list[whole(list.length)] as T;
  const words: string[] = [];
  const place = (): number => {
    const kind = random();
    if (kind < 0.35) return whole(Math.min(file.length, 200));
    if (kind < 0.45) return whole(Math.min(file.length, 2000));
    if (kind < 0.5) return whole(file.length);
    // Names at the beginning and, as MP4 may have it, at the end.
    for (let tries = 0; tries < 12; tries++) {
      const name = pick(names);
      const from = random() < 0.5 ? 0 : Math.max(0, file.length - 6000);
      const at = text.indexOf(name, from, 'latin1');
      if (at >= 0) return Math.max(0, at - 4) + whole(48);
    }
    return whole(Math.min(file.length, 200));
  };
  for (let turns = 1 + whole(3); turns > 0; turns--) {
    const at = Math.min(place(), file.length - 8);
    if (at < 0) continue;
    const kind = whole(9);
    const value = pick(values);
    if (kind === 0) file[at] = whole(256);
    else if (kind === 1) file[at] = (file[at] ?? 0) ^ (1 << whole(8));
    else if (kind === 2) text.writeUInt16BE(value & 0xffff, at);
    else if (kind === 3) text.writeUInt16LE(value & 0xffff, at);
    else if (kind === 4) text.writeUInt32BE(value, at);
    else if (kind === 5) text.writeUInt32LE(value, at);
    else if (kind === 6) text.writeUInt32BE((text.readUInt32BE(at) * pick([2, 10, 1000])) % 2 ** 32, at);
    else if (kind === 7) text.writeUInt32LE((text.readUInt32LE(at) * pick([2, 10, 1000])) % 2 ** 32, at);
    else if (random() < 0.5) text.writeFloatBE(pick(floats.slice(0, 7)), at);
    else text.writeDoubleBE(pick(floats), at);
    words.push(`${kind}@${at}=${value}`);
  }
  return { file, words: words.join(' ') };
}
