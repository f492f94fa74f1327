/** The table of promises says what its rows say. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { promises } from '../../scripts/lab/prove/promises.ts';
import { tableOf, writtenTable } from '../../scripts/lab/prove/promises-table.ts';

const root = resolve(import.meta.dirname, '../..');
const columns = (table: string): string[][] =>
  table.split('\n').map((line) =>
    line
      .slice(1, -1)
      .split(' | ')
      .map((cell) => cell.trim()),
  );

test.each([
  ['tests/PROMISES.md', 'en'],
  ['tests/PROMISES.zh.md', 'zh'],
] as const)('%s promises what is proven, with the figures of the last run', (file, language) => {
  const written = columns(writtenTable(file));
  expect(written.map(([promise, proof]) => [promise, proof])).toEqual(
    columns(tableOf(language, [])).map(([promise, proof]) => [promise, proof]),
  );
  const dated = written.slice(2).filter((_row, index) => (promises[index]?.tests.length ?? 0) > 0);
  expect(dated.length).toBeGreaterThan(20);
  for (const row of dated) expect(row[2]).toMatch(/^20\d\d-\d\d-\d\d: [1-9]\d*/);
});

test('every proof is a test that is there', () => {
  for (const { tests } of promises)
    for (const place of tests) {
      const path = join(root, place);
      expect(existsSync(path), place).toBe(true);
      if (statSync(path).isDirectory())
        expect(
          readdirSync(path, { recursive: true }).some((file) => String(file).includes('.test.')),
          place,
        ).toBe(true);
    }
});
