import { expect, test } from 'vitest';
import { leftOut } from '../../scripts/checks.ts';

test('a named test that another step runs is not left out without a word', () => {
  expect(leftOut(['tests/ledger', 'tests/storages/a.test.ts', 'tests'])).toEqual([]);
  expect(
    leftOut(['tests/ledger/a.test.ts', './tests/storage/a.test.ts', 'tests/web/presses', 'tests/postgres/']),
  ).toEqual([
    'not run here: ./tests/storage/a.test.ts (node scripts/launch.mjs test-binary ./tests/storage/a.test.ts)',
    'not run here: tests/web/presses (node scripts/launch.mjs test-browser tests/web/presses)',
    'not run here: tests/postgres/ (node scripts/launch.mjs test-postgres tests/postgres/)',
  ]);
});
