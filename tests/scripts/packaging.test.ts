/** What releases are made of. */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { bundleOf } from '../../scripts/bundle.ts';
import { npmPackage, packagingCache } from '../../scripts/packaging/fetch.ts';
import { needsOnlyOldGlibc, targetNames, targets, targetsNamed } from '../../scripts/packaging/targets.ts';

const root = resolve(import.meta.dirname, '../..');

test('targets are named alone, several, or all; others are refused with the list', () => {
  expect(targetsNamed('all')).toEqual(targetNames);
  expect(targetsNamed('linux-x64,windows-x64')).toEqual(['linux-x64', 'windows-x64']);
  for (const given of ['', 'linux', 'linux-x64,toString'])
    expect(() => targetsNamed(given)).toThrowError(/all, linux-x64/);
});

test('each target has a runtime of its own, pinned by its hash', () => {
  const sums = targetNames.map((name) => targets[name].integrity);
  expect(new Set(sums).size).toBe(targetNames.length);
  for (const sum of sums) expect(Buffer.from(sum.replace('sha512-', ''), 'base64')).toHaveLength(64);
});

test('a package whose bytes are not the pinned ones is refused and not kept', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-fetch-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'npm'), '#!/bin/sh\nprintf changed > thing-1.0.0.tgz\n', { mode: 0o755 });
  vi.stubEnv('PATH', `${bin}:${process.env.PATH}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  const integrity = `sha512-${createHash('sha512').update('published').digest('base64')}`;
  expect(() => npmPackage(folder, { name: '@scope/thing', version: '1.0.0', integrity })).toThrowError(/pinned is/);
  expect(readdirSync(packagingCache(folder)).filter((name) => !name.endsWith('.draft'))).toEqual([]);
});

test('bundled files do not hold the folder of the build', async () => {
  const { entrypoints: _, ...plain } = bundleOf(root);
  const built = await Bun.build({ ...plain, entrypoints: [join(root, 'server/threads/ledger/worker.ts')] });
  const texts = await Promise.all(built.outputs.map((output) => output.text()));
  expect(texts.join('').length).toBeGreaterThan(100_000);
  expect(texts.filter((text) => text.includes(root))).toEqual([]);
});

test('an addon for old systems is refused when it needs more than they have', () => {
  expect(() => needsOnlyOldGlibc('GLIBC_2.2.5\0GLIBC_2.17\0libm.so.6')).not.toThrow();
  expect(() => needsOnlyOldGlibc('GLIBC_2.2.5\0GLIBC_2.34')).toThrowError('glibc 2.34');
  expect(() => needsOnlyOldGlibc('GLIBC_2.4\0libstdc++.so.6')).toThrowError('libstdc++');
  const own = readFileSync(join(root, 'node_modules/better-sqlite3/prebuilds/linux-x64.node'), 'latin1');
  expect(() => needsOnlyOldGlibc(own)).toThrowError('glibc 2.34');
});

test.each(['server/threads/control/worker.ts', 'cli/commands/site/serve.ts', 'cli/program.ts'])(
  '%s starts without what only requests of the API need',
  async (entry) => {
    const { entrypoints: _, ...plain } = bundleOf(root);
    const { metafile } = await Bun.build({ ...plain, entrypoints: [join(root, entry)], metafile: true });
    const inputs = metafile?.inputs ?? {};
    const loaded = new Set(Object.keys(inputs).filter((path) => path.endsWith(entry)));
    for (const path of loaded)
      for (const { kind, path: next } of inputs[path]?.imports ?? []) if (kind !== 'dynamic-import') loaded.add(next);
    expect(loaded.size).toBeGreaterThan(50);
    const late = /node_modules\/express\/|contract\/endpoints\/index|http\/app\.ts/;
    expect([...loaded].filter((path) => late.test(path))).toEqual([]);
  },
);
