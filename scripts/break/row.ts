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

export const row = (keeps: readonly Law[], name: string, file: string, from: string | RegExp, to: string) => ({
  notices: (test: string, title = ''): Break => ({ keeps, name, file, from, to, test, title }),
});
