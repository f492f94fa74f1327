/** Words on their way to a client: kept for counting as far as an answer of any model reaches, measured beyond. */

export interface Told {
  readonly texts: readonly string[];
  /** UTF-16 units of all words, also of those that were not kept. */
  readonly units: number;
}

export interface Telling extends Told {
  add(text: string): void;
}

/** Some four times the longest answer of any model. */
const keptUnits = 2 * 1024 * 1024;

export const nothingTold: Told = { texts: [], units: 0 };

export const toldOf = (texts: readonly string[]): Told => ({
  texts,
  units: texts.reduce((sum, text) => sum + text.length, 0),
});

export function createTelling(): Telling {
  const texts: string[] = [];
  let units = 0;
  return {
    texts,
    get units() {
      return units;
    },
    add(text) {
      if (units < keptUnits) texts.push(text);
      units += text.length;
    },
  };
}
