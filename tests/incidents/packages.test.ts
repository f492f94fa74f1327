/** What others let in with their packages, at installation. */
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { incident } from './incident.ts';

const root = resolve(import.meta.dirname, '..', '..');
let dir: string;
let registry: ReturnType<typeof Bun.serve>;
const tarballs = new Map<string, Uint8Array<ArrayBuffer>>();
const hourMs = 3_600_000;

/** A package whose installation leaves a trace. */
function pack(version: string): Uint8Array<ArrayBuffer> {
  const folder = join(dir, version, 'package');
  mkdirSync(folder, { recursive: true });
  const postinstall = `echo ${version} > ${join(dir, 'ran')}`;
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'left-alone', version, scripts: { postinstall, install: postinstall } }),
  );
  const file = join(dir, `${version}.tgz`);
  expect(Bun.spawnSync(['tar', '-czf', file, '-C', join(dir, version), 'package']).exitCode).toBe(0);
  return new Uint8Array(readFileSync(file));
}

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-packages-'));
  for (const version of ['1.0.0', '1.0.1']) tarballs.set(version, pack(version));
  registry = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const version = /(\d\.\d\.\d)\.tgz$/.exec(request.url)?.[1];
      if (version !== undefined) return new Response(tarballs.get(version));
      const versions = Object.fromEntries(
        [...tarballs].map(([known, bytes]) => {
          const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
          const tarball = String(new URL(`${known}.tgz`, registry.url));
          const dist = { tarball, integrity };
          return [known, { name: 'left-alone', version: known, hasInstallScript: true, dist }];
        }),
      );
      const at = (ms: number) => new Date(Date.now() - ms).toISOString();
      const time = { '1.0.0': at(30 * 24 * hourMs), '1.0.1': at(3 * hourMs) };
      return Response.json({ name: 'left-alone', 'dist-tags': { latest: '1.0.1' }, versions, time });
    },
  });
});
afterEach(async () => {
  await registry.stop(true);
  rmSync(dir, { recursive: true, force: true });
});

incident(
  'LiteLLM 1.82.7 and axios 1.14.1',
  'a version that was hours old came in by itself and ran at installation',
  async () => {
    const project = join(dir, 'project');
    mkdirSync(project);
    copyFileSync(join(root, 'bunfig.toml'), join(project, 'bunfig.toml'));
    const { trustedDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      trustedDependencies?: readonly string[];
    };
    writeFileSync(
      join(project, 'package.json'),
      JSON.stringify({ dependencies: { 'left-alone': '^1.0.0' }, trustedDependencies: trustedDependencies ?? [] }),
    );
    const install = Bun.spawn([process.execPath, 'install'], {
      cwd: project,
      env: {
        PATH: '/usr/bin:/bin',
        HOME: dir,
        BUN_INSTALL_CACHE_DIR: join(dir, 'cache'),
        BUN_CONFIG_REGISTRY: `http://127.0.0.1:${registry.port}/`,
      },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const said = await new Response(install.stderr).text();
    expect(await install.exited, said).toBe(0);
    const installed = join(project, 'node_modules', 'left-alone', 'package.json');
    expect(JSON.parse(readFileSync(installed, 'utf8'))).toMatchObject({ version: '1.0.0' });
    expect(existsSync(join(dir, 'ran'))).toBe(false);
  },
);
