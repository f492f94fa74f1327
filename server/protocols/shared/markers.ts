/** The words by which a dialect's frames show that they carry usage, a finish reason, an error or the end. */

/** Any of the words, unless it is followed by one of the endings: most frames say that something is null. */
export interface Marker {
  readonly word: string;
  readonly unless?: readonly string[];
}

interface Needle extends Required<Marker> {
  readonly bytes: Buffer;
  readonly endings: readonly Buffer[];
}

/** Searches where the runtime does: a loop over bytes of our own takes a hundred times as long. */
const search = Buffer.prototype.indexOf;

export class Markers {
  private readonly needles: readonly Needle[];

  constructor(markers: readonly Marker[]) {
    this.needles = markers.map(({ word, unless = [] }) => ({
      word,
      unless,
      bytes: Buffer.from(word),
      endings: unless.map((ending) => Buffer.from(ending)),
    }));
  }

  /** @returns where the first marker begins, -1 = there is none. */
  firstIn(bytes: Uint8Array): number {
    let first = -1;
    for (const { bytes: word, endings } of this.needles) {
      for (let at = search.call(bytes, word); at >= 0; at = search.call(bytes, word, at + word.length)) {
        if (first >= 0 && at >= first) break;
        const behind = at + word.length;
        let isHarmless = false;
        for (const ending of endings) {
          let n = 0;
          while (n < ending.length && bytes[behind + n] === ending[n]) n++;
          if (n === ending.length) {
            isHarmless = true;
            break;
          }
        }
        if (isHarmless) continue;
        first = at;
        break;
      }
    }
    return first;
  }

  /** Whether there is one in the text of a frame. */
  areIn(text: string): boolean {
    for (const { word, unless } of this.needles)
      for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
        const behind = at + word.length;
        let isHarmless = false;
        for (const ending of unless) isHarmless ||= text.startsWith(ending, behind);
        if (!isHarmless) return true;
      }
    return false;
  }
}
