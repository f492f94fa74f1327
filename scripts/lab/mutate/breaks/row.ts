/** One line that is broken, what it keeps, and the test that has to notice. */
import type { Law } from './laws.ts';

export interface Break {
  /** Empty = none of the rules and corrections speaks of it. */
  readonly keeps: readonly Law[];
  readonly name: string;
  readonly file: string;
  readonly from: string | RegExp;
  readonly to: string;
  readonly test: string;
  /** Of the test, '' = any in the file. */
  readonly title: string;
}

type Line = Omit<Break, 'keeps' | 'test' | 'title'>;

const noticed = (line: Line, keeps: readonly Law[]) => ({
  notices: (test: string, title = ''): Break => ({ ...line, keeps, test, title }),
});

export const row = (name: string, file: string, from: string | RegExp, to: string) => {
  const line: Line = { name, file, from, to };
  return { keeps: (...laws: readonly Law[]) => noticed(line, laws), ...noticed(line, []) };
};
