/** What people install: man pages, the unit, the npm starter, Homebrew and Scoop. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { commands } from '../../cli/commands/index.ts';
import { systemd } from '../../cli/commands/site/service.ts';
import { manPages } from '../../scripts/packaging/man.ts';
import { homebrew, scoop } from '../../scripts/packaging/packages.ts';

const packaging = resolve(import.meta.dirname, '../../scripts/packaging');

test('every command and each of its flags stands in a man page of both languages', () => {
  const pages = new Map(manPages('1.2.3').map(({ path, text }) => [path, text]));
  for (const row of commands.filter(({ hidden }) => hidden !== true)) {
    const first = row.name.split(' ')[0] ?? '';
    for (const [place, language] of [
      ['man1', 'en'],
      ['zh_CN/man1', 'zh'],
    ] as const) {
      const page = (pages.get(`${place}/gateway-${first}.1`) ?? '').replaceAll('\\-', '-').replaceAll('\\e', '\\');
      expect(page).toContain(`.SS gateway ${row.name}`);
      for (const flag of row.flags ?? []) expect(page).toContain(`.B ${flag.flag}\n`);
      expect(pages.get(`${place}/gateway.1`)).toContain(row[language].split(/[-\\]/)[0] ?? '');
    }
  }
});

test('man pages hold no request that roff does not know', () => {
  const known = new Set(['TH', 'SH', 'SS', 'TP', 'B', 'BR', 'PP', 'nf', 'fi']);
  for (const { path, text } of manPages('1.2.3'))
    for (const line of text.split('\n')) {
      const [, request] = /^[.'](\w*)/.exec(line) ?? [];
      if (request !== undefined) expect([path, line, known.has(request)]).toEqual([path, line, true]);
    }
});

test('the unit of a package starts what it installs, as its own user, over a folder that stays', () => {
  const details = { program: '/usr/bin/gateway', dataDir: '/var/lib/gateway', isSet: false, port: '3000' };
  const { file } = systemd({ ...details, user: 'gateway', say: (_zh, en) => en });
  expect(file).toContain('ExecStart=/usr/bin/gateway serve');
  // Flags would win over the address and the port in the settings file.
  expect(file).not.toMatch(/^ExecStart=.*--(?:host|port)/m);
  expect(file).toContain('User=gateway\nGroup=gateway\nStateDirectory=gateway gateway-owed\n');
  expect(file).not.toContain('DynamicUser');
  const scripts = ['postinstall', 'preremove', 'postremove'].map((name) =>
    readFileSync(join(packaging, 'linux', `${name}.sh`), 'utf8'),
  );
  for (const script of scripts) expect(spawnSync('sh', ['-n'], { input: script }).status).toBe(0);
  // The cache goes with the package; the data stay.
  expect(scripts.join('').match(/^[^#"\n]*\brm .*$/gm)).toEqual(['  rm -rf /var/cache/gateway']);
});

test('the npm package starts the executable that fits, and hands on arguments and exit code', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-npm-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const starter = readFileSync(join(packaging, 'npm-start.mjs'), 'utf8').replace('SCOPE', '@test');
  writeFileSync(join(folder, 'gateway.mjs'), starter);
  const start = () => spawnSync('node', [join(folder, 'gateway.mjs'), 'a', 'b c'], { encoding: 'utf8' });
  expect(start()).toMatchObject({ status: 1, stderr: expect.stringContaining('no executable for') });
  const [, target = ''] = /no executable for (\S+)\./.exec(start().stderr) ?? [];
  const platform = join(folder, 'node_modules/@test', `gateway-${target}`);
  mkdirSync(platform, { recursive: true });
  writeFileSync(join(platform, 'gateway'), '#!/bin/sh\necho "$#:$2"; exit 7\n', { mode: 0o755 });
  expect(start()).toMatchObject({ status: 7, stdout: '2:b c\n' });
});

test('Homebrew and Scoop name the archives of the release with their hashes', () => {
  const formula = homebrew('1.2.3', 'https://host/v1.2.3', (target) => `sum-${target}`);
  for (const target of ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64'])
    expect(formula).toContain(`url "https://host/v1.2.3/gateway-1.2.3-${target}.tar.gz"\n      sha256 "sum-${target}"`);
  expect(JSON.parse(scoop('1.2.3', 'https://host/v1.2.3', 'abc'))).toMatchObject({
    version: '1.2.3',
    architecture: { '64bit': { url: 'https://host/v1.2.3/gateway-1.2.3-windows-x64.zip', hash: 'abc' } },
  });
});
