/** Texts that are kept in files, for a person to read: what is said now must be what the file says. */
import { setTimeZone } from 'bun:jsc';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
/** Writes the files of one test anew. @param test from the root of the repository. */
const command = (test: string): string =>
  `GATEWAY_OUTLINES=write node scripts/launch.mjs ${/presses|^tests.browser/.test(test) ? 'test-browser' : 'test'} ${test}`;

/** @param path from the root of the repository. */
export function expectGolden(path: string, lines: readonly string[]): void {
  const file = join(root, path);
  const text = `${lines.join('\n')}\n`;
  if (process.env.GATEWAY_OUTLINES === 'write') {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return;
  }
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  expect(
    text,
    `${path} is no longer what is shown. Read the difference; if it is meant, write it anew: ${command(relative(root, expect.getState().testPath ?? ''))}`,
  ).toBe(before);
}

/** Files that keep times share one zone and leave it: it is the zone of the process, whose threads run several files at once. */
export const fixTimeZone = (): void => void setTimeZone('Asia/Kolkata');
