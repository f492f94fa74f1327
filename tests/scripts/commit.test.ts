import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { commitOf } from '../../scripts/commit.ts';

test('a machine without git, and a folder that is no repository, build all the same', () => {
  const folder = mkdtempSync(`${tmpdir()}/gateway-commit-`);
  onTestFinished(() => rmSync(folder, { recursive: true }));
  expect(commitOf(resolve(import.meta.dirname, '..'), folder)).toBe('unknown');
  expect(commitOf(folder)).toBe('unknown');
});
