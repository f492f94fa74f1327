/** The SQLite addon, where the system cannot load it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../db/open.ts';
import { formatError } from '../../server/contract/errors.ts';

test('an addon that the system cannot load is reported with what it needs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-driver-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const nativeBinding = join(folder, 'sqlite.node');
  writeFileSync(nativeBinding, 'no addon');
  const open = () => openDatabase(join(folder, 'gateway.db'), { nativeBinding });
  expect(open).toThrowError(expect.objectContaining({ code: 'driver_unusable' }));
  for (const language of ['en', 'zh'] as const)
    expect(formatError('driver_unusable', { detail: 'libc.so.6' }, language)).toMatch(
      /libc\.so\.6.*noexec.*glibc 2\.34/,
    );
});
