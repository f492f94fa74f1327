/** What a reader is fed in `doubling.test.ts`, and how its hostile input is made. */
import { amplified, type Path, placesOf, waysOf } from './amplify.ts';

export type Json = Record<string, unknown>;

export interface Case {
  readonly name: string;
  /** Not counted. @param n how much. @returns what is counted. */
  prepare(n: number): () => unknown;
}

export interface Reader {
  readonly name: string;
  /** What it covers: paths and folders under `server/`. */
  readonly files: readonly string[];
  readonly cases: readonly Case[];
}

/** A refusal is an answer too. */
export const told = (read: () => unknown): void => {
  try {
    read();
  } catch (error) {
    if (error instanceof RangeError && error.message.includes('call stack')) throw error;
  }
};

export const texts = (
  name: string,
  files: readonly string[],
  read: (text: string) => unknown,
  hostile: readonly string[],
): Reader => ({
  name,
  files,
  cases: hostile.map((pump) => ({
    name: JSON.stringify(pump),
    prepare(n) {
      const [before = '', unit = '', behind = ''] = pump.includes('…') ? pump.split('…') : ['', pump, ''];
      // A string of many parts is one only when it is read.
      const text = Buffer.from(before + unit.repeat(n) + behind).toString('utf8');
      return () => told(() => read(text));
    },
  })),
});

/** A value and each way in which one of its places can grow. */
export const growing = (name: string, value: unknown, read: (grown: unknown) => unknown): Case[] =>
  placesOf(value).flatMap((path: Path) =>
    waysOf(value, path).map((way) => ({
      name: `${name} ${path.join('.')} ${way}`,
      prepare(n) {
        const grown: unknown = JSON.parse(JSON.stringify(amplified(value, path, way, Math.ceil(n / 32))));
        return () => told(() => read(grown));
      },
    })),
  );

/** So many spellings of a name, which some upstreams read alike. @param value of each; absent = a word of its own. */
export function spelled(name: string, count: number, value?: unknown): Json {
  const found: Json = {};
  for (let index = 1; index <= count; index++) {
    const between = index.toString(2).replaceAll('1', '_').replaceAll('0', '-');
    found[`${name[0]}${between}${name.slice(1)}`] = value ?? `word ${index}`;
  }
  return found;
}
