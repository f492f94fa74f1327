import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { processSettingsText } from '../../cli/process-settings.ts';
import { createSandbox, freePort, type Sandbox, setUp } from './support.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.close());

test('the driver is unpacked once, privately, into the data directory and never into the temp folder', async () => {
  const temp = join(sandbox.dir, 'tmp');
  mkdirSync(temp);
  const runtime = join(sandbox.dataDir, 'runtime');
  expect((await sandbox.run(['token', 'list'], '', { TMPDIR: temp })).code).toBe(0);
  const [addon, ...more] = readdirSync(runtime);
  expect(more).toEqual([]);
  expect(addon).toMatch(/^sqlite-[0-9a-f]{16}\.node$/);
  const file = join(runtime, addon ?? '');
  expect([statSync(file).mode & 0o777, statSync(runtime).mode & 0o777]).toEqual([0o700, 0o700]);
  const written = statSync(file).mtimeMs;
  expect((await sandbox.run(['token', 'list'], '', { TMPDIR: join(sandbox.dir, 'missing') })).code).toBe(0);
  expect(statSync(file).mtimeMs).toBe(written);
  expect(readdirSync(temp)).toEqual([]);
  expect(readdirSync(sandbox.dir).sort()).toEqual(['data', 'gateway', 'tmp']);
});

test('a driver that was written in part is unpacked again', async () => {
  expect((await sandbox.run(['token', 'list'])).code).toBe(0);
  const runtime = join(sandbox.dataDir, 'runtime');
  const file = join(runtime, readdirSync(runtime)[0] ?? '');
  const bytes = readFileSync(file);
  for (const length of [0, bytes.length - 1]) {
    writeFileSync(file, bytes.subarray(0, length));
    expect((await sandbox.run(['token', 'list'])).code).toBe(0);
    expect(readFileSync(file).equals(bytes)).toBe(true);
  }
});

test('the executable lists its components and their licences', async () => {
  const sbom = await sandbox.run(['version', '--sbom']);
  expect(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(sbom.out)).toBeNull();
  const licences = await sandbox.run(['version', '--licences']);
  expect([sbom.code, licences.code]).toEqual([0, 0]);
  const { components } = JSON.parse(sbom.out) as {
    components: { readonly name: string; readonly group?: string; readonly version: string; readonly purl?: string }[];
  };
  for (const { group, name, version, purl } of components)
    if (purl !== undefined)
      expect(licences.out).toContain(`\n${group === undefined ? '' : `${group}/`}${name} ${version} (`);
  expect(components.length).toBeGreaterThan(100);
});

test('serving restarts itself once with room for many upstream connections', async () => {
  const { child } = await sandbox.start(['serve', '--port', String(freePort())]);
  const environment = readFileSync(`/proc/${child.pid}/environ`, 'utf8').split('\0');
  expect(environment.filter((entry) => /^(BUN_|MIMALLOC_)/.test(entry)).sort()).toEqual(
    processSettingsText.split(' ').sort(),
  );
});

test('the allocator setting of the environment holds', async () => {
  const { child } = await sandbox.start(['serve', '--port', String(freePort())], { MIMALLOC_PURGE_DELAY: '10' });
  const environment = readFileSync(`/proc/${child.pid}/environ`, 'utf8').split('\0');
  expect(environment.filter((entry) => entry.startsWith('MIMALLOC_'))).toEqual(['MIMALLOC_PURGE_DELAY=10']);
});

test('flags that every command has may stand before serve: it starts and stops in the same way', async () => {
  const { child } = await sandbox.start([
    '--data-dir',
    sandbox.dataDir,
    '--lang',
    'en',
    'serve',
    '--port',
    String(freePort()),
  ]);
  const environment = readFileSync(`/proc/${child.pid}/environ`, 'utf8');
  expect(environment).toContain('BUN_CONFIG_MAX_HTTP_REQUESTS=');
  child.kill('SIGTERM');
  expect(await child.exited).toBe(0);
});

test('every form of a console file holds the same bytes, and hashed files are kept for ever', async () => {
  const { line } = await sandbox.start(['serve', '--port', String(freePort())]);
  const url = line.replace('URL: ', '');
  const get = async (path: string, encoding: string) => {
    const response = await fetch(url + path, {
      headers: { 'accept-encoding': encoding },
      // The bytes as they came.
      decompress: false,
    });
    return {
      encoding: response.headers.get('content-encoding'),
      cache: response.headers.get('cache-control'),
      etag: response.headers.get('etag') ?? '',
      bytes: Buffer.from(await response.arrayBuffer()),
    };
  };
  const page = await get('/', 'identity');
  const script = /src="(\/assets\/[^"]+\.js)"/.exec(page.bytes.toString())?.[1] ?? '';
  expect([page.encoding, page.cache]).toEqual([null, 'no-cache']);
  for (const path of ['/', script]) {
    const plain = await get(path, 'identity');
    const brotli = await get(path, 'gzip, deflate, br, zstd');
    const gzip = await get(path, 'gzip, deflate');
    expect([plain.encoding, brotli.encoding, gzip.encoding]).toEqual([null, 'br', 'gzip']);
    expect(brotliDecompressSync(brotli.bytes).equals(plain.bytes)).toBe(true);
    expect(gunzipSync(gzip.bytes).equals(plain.bytes)).toBe(true);
    expect((await get(path, 'br;q=0, gzip;q=0')).encoding).toBe(null);
  }
  const asset = await get(script, 'br');
  expect(asset.cache).toBe('public, max-age=31536000, immutable');
  const again = await fetch(url + script, { headers: { 'if-none-match': asset.etag } });
  expect([again.status, await again.text()]).toEqual([304, '']);
});

test('the thread that counts tokens is in the executable', async () => {
  const upstream = await sandbox.start(['mock-upstream', '--port', String(freePort()), '--no-usage', '--chunks', '20']);
  const key = await setUp(sandbox, upstream.line);
  const { line } = await sandbox.start(['serve', '--port', String(freePort())]);
  const response = await fetch(`${line.replace('URL: ', '')}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: '{"model":"practice-small","messages":[{"role":"user","content":"hi"}]}',
  });
  const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
  const [log] = JSON.parse((await sandbox.run(['logs', 'list', '--json'])).out) as { completion_tokens: number }[];
  // The word is one token; a quarter of its characters, the rough count without the thread, would be more than two.
  expect(choices[0]?.message.content.match(/practice/g)).toHaveLength(20);
  expect(log?.completion_tokens).toBeGreaterThanOrEqual(20);
  expect(log?.completion_tokens).toBeLessThan(30);
});

test('the folder that it is started in neither runs code nor sets the environment', async () => {
  const ran = join(sandbox.dir, 'ran');
  writeFileSync(join(sandbox.dir, 'bunfig.toml'), 'preload = ["./preload.ts"]\n');
  writeFileSync(join(sandbox.dir, 'preload.ts'), `await Bun.write(${JSON.stringify(ran)}, '');\n`);
  writeFileSync(join(sandbox.dir, '.env'), 'GATEWAY_LANG=zh\n');
  const { code, out } = await sandbox.run(['upgrade']);
  expect([code, existsSync(ran)]).toEqual([0, false]);
  expect(out).not.toMatch(/\p{Script=Han}/u);
});

test('the executable is no bigger than promised', () => {
  expect(statSync(join(sandbox.dir, 'gateway')).size).toBeLessThanOrEqual(140e6);
});

test('a user without HOME and without an entry in passwd runs commands', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'gateway-no-home-'));
  chmodSync(dir, 0o755);
  const program = join(dir, 'gateway');
  copyFileSync(resolve(import.meta.dirname, '../../dist/gateway'), program);
  chmodSync(program, 0o755);
  const data = join(dir, 'data');
  mkdirSync(data);
  // Only root may become somebody else; anybody else has an entry and no HOME.
  const uid = process.getuid?.() === 0 ? 65_431 : undefined;
  if (uid !== undefined) chownSync(data, uid, uid);
  const run = (args: string[]) =>
    spawnSync(program, args, { cwd: data, env: { PATH: '/usr/bin:/bin' }, encoding: 'utf8', uid, gid: uid });
  try {
    expect(run(['version'])).toMatchObject({ status: 0 });
    expect(run(['token', 'list', '--data-dir', data])).toMatchObject({ status: 0, stderr: '' });
    expect(run(['token', 'list'])).toMatchObject({ status: 0 });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
