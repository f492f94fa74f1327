/** The lines that `break-cluster` breaks are there, and so are the tests that have to notice; every rule has one. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { breaks } from '../../scripts/lab/mutate/breaks/cluster.ts';
import { lawNames } from '../../scripts/lab/mutate/breaks/laws.ts';

const read = (path: string): string => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');

test.each(breaks)('$name', ({ file, from, to, test: path, title }) => {
  const text = read(file);
  expect(text.split(from)).toHaveLength(2);
  expect(text.replace(from, () => to)).not.toBe(text);
  // Some titles are put together from parts.
  const words = read(path);
  expect(title.split(' ').filter((word) => !words.includes(word))).toEqual([]);
});

test('no two have the same name, and each of the ten rules and fifteen corrections has one', () => {
  expect(new Set(breaks.map(({ name }) => name)).size).toBe(breaks.length);
  expect(lawNames).toHaveLength(25);
  expect(lawNames.filter((law) => !breaks.some(({ keeps }) => keeps.includes(law)))).toEqual([]);
});
