import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

const launcher = resolve(import.meta.dirname, '../../scripts/launch.mjs');
let root: string;

/** A project that is set up already, with the scripts named. */
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gateway-launch-'));
  for (const folder of ['scripts', 'node_modules', '.cache']) mkdirSync(join(root, folder));
  cpSync(launcher, join(root, 'scripts/launch.mjs'));
  writeFileSync(join(root, 'package.json'), `{"packageManager":"bun@${Bun.version}"}`);
  writeFileSync(join(root, 'bun.lock'), 'locked');
  writeFileSync(join(root, 'node_modules/.gateway-installed'), createHash('sha256').update('locked').digest('hex'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const script = (verb: string, text: string) => writeFileSync(join(root, `scripts/${verb}.ts`), text);

function launch(args: readonly string[], env: Record<string, string> = {}, through: readonly string[] = []) {
  return Bun.spawn([...through, 'node', 'scripts/launch.mjs', ...args], {
    cwd: root,
    env: { PATH: process.env.PATH ?? '', GATEWAY_BUN: process.execPath, ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
}

const stays = `import { appendFileSync } from 'node:fs';
const note = (text) => appendFileSync('notes', text + '\\n');
process.on('SIGTERM', () => { note('SIGTERM'); setTimeout(() => { note('end'); process.exit(0); }, 1500); });
note('pid ' + process.pid);
setInterval(() => undefined, 1000);`;
const notes = (): string => (existsSync(join(root, 'notes')) ? readFileSync(join(root, 'notes'), 'utf8') : '');

test('arguments, output and exit code pass through', async () => {
  script('say', 'console.log(process.argv.slice(2).join("|")); process.exit(7);');
  const child = launch(['say', '--port', '4000', 'a b']);
  expect(await new Response(child.stdout).text()).toBe('--port|4000|a b\n');
  expect(await child.exited).toBe(7);
});

test('a child ended by a signal gives 128 and its number', async () => {
  script('die', 'process.kill(process.pid, "SIGKILL");');
  expect(await launch(['die']).exited).toBe(137);
});

test('an unknown verb is refused', async () => {
  const child = launch(['fly']);
  expect([await child.exited, await new Response(child.stderr).text()]).toEqual([1, 'unknown verb fly\n']);
});

test('a Bun of another version is refused by name', async () => {
  script('say', '');
  const child = launch(['say'], { GATEWAY_BUN: '/bin/true' });
  expect(await child.exited).toBe(1);
  expect(await new Response(child.stderr).text()).toContain('GATEWAY_BUN is /bin/true');
});

test('SIGTERM is handed on once and the end is waited for', async () => {
  script('stay', stays);
  const child = launch(['stay']);
  await expect.poll(notes, { timeout: 5000 }).toContain('pid');
  child.kill('SIGTERM');
  child.kill('SIGTERM');
  expect(await child.exited).toBe(0);
  expect(notes().split('\n').slice(1)).toEqual(['SIGTERM', 'end', '']);
});

test('detached, the end of the terminal is not handed on', async () => {
  script('stays', `process.on('SIGHUP', () => require('node:fs').appendFileSync('notes', 'SIGHUP\\n'));\n${stays}`);
  const child = launch(['stays'], { GATEWAY_DETACHED: '1' });
  await expect.poll(notes).toContain('pid');
  child.kill('SIGHUP');
  child.kill('SIGTERM');
  expect(await child.exited).toBe(0);
  expect(notes()).toMatch(/^pid \d+\nSIGTERM\nend\n$/);
});

test('a parent killed outright leaves nothing running, and the child hears of it once', async () => {
  script('stay', stays);
  const shell = launch(['stay'], {}, ['sh', '-c', '"$@"; exit 0', 'sh']);
  await expect.poll(notes, { timeout: 5000 }).toContain('pid');
  // A starter that leaves within the first second does not count.
  await Bun.sleep(1500);
  shell.kill('SIGKILL');
  await expect.poll(notes, { timeout: 5000 }).toContain('end');
  expect(notes().match(/SIGTERM/g)).toHaveLength(1);
});

test('a lock of a dead process does not stop anybody, one of a living process does', async () => {
  script('say', 'console.log("ran");');
  const lock = join(root, '.cache/setup.lock');
  const dead = Bun.spawn(['true']);
  await dead.exited;
  writeFileSync(lock, String(dead.pid));
  expect(await launch(['say']).exited).toBe(0);
  expect(existsSync(lock)).toBe(false);

  writeFileSync(lock, String(process.pid));
  const waiting = launch(['say']);
  await Bun.sleep(1000);
  expect(waiting.exitCode).toBe(null);
  rmSync(lock);
  expect(await waiting.exited).toBe(0);
});

test('several first runs set up one after another', async () => {
  script('say', 'console.log("ran");');
  rmSync(join(root, 'node_modules/.gateway-installed'));
  // Stands in for the installer: counts how often it runs, and whether it ever runs twice at once.
  const bun = join(root, 'bun');
  writeFileSync(
    bun,
    `#!/bin/sh
[ "$1" = install ] || exec "${process.execPath}" "$@"
mkdir busy || echo twice >> notes
sleep 0.5; echo installed >> notes; rmdir busy`,
    { mode: 0o755 },
  );
  const codes = await Promise.all(Array.from({ length: 4 }, () => launch(['say'], { GATEWAY_BUN: bun }).exited));
  expect(codes).toEqual([0, 0, 0, 0]);
  expect(notes()).toBe('installed\n');
});

/** What npm itself asks a registry for: one package of one version. */
async function startRegistry(archive: string) {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request) {
      const { pathname, origin } = new URL(request.url);
      if (pathname.endsWith('.tgz')) return new Response(Bun.file(archive));
      const name = decodeURIComponent(pathname.slice(1));
      const one = { name, version: Bun.version, dist: { tarball: `${origin}/bun.tgz` } };
      return Response.json({ name, 'dist-tags': { latest: Bun.version }, versions: { [Bun.version]: one } });
    },
  });
  return server;
}

test('a first run fetches Bun where the home cannot be written', async () => {
  script('say', 'console.log("ran");');
  const programs = join(root, 'programs');
  mkdirSync(join(root, 'package/bin'), { recursive: true });
  mkdirSync(programs);
  writeFileSync(join(root, 'package/bin/bun'), `#!/bin/sh\nexec "${process.execPath}" "$@"\n`, { mode: 0o755 });
  writeFileSync(join(root, 'package/package.json'), `{"name":"bun","version":"${Bun.version}"}`);
  expect(Bun.spawnSync(['tar', '-czf', join(root, 'bun.tgz'), 'package'], { cwd: root }).exitCode).toBe(0);
  // Without a Bun on the PATH.
  for (const name of ['node', 'npm', 'tar', 'gzip', 'sh', 'env'])
    symlinkSync(realpathSync(Bun.which(name) ?? ''), join(programs, name));
  const registry = await startRegistry(join(root, 'bun.tgz'));
  try {
    const child = Bun.spawn([join(programs, 'node'), 'scripts/launch.mjs', 'say'], {
      cwd: root,
      // Nobody makes a folder there, not even root.
      env: { PATH: programs, HOME: '/dev/null', npm_config_registry: registry.url.href },
      ...{ stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' },
    });
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    expect([await child.exited, out, err]).toEqual([0, 'ran\n', expect.stringContaining('fetching Bun')]);
  } finally {
    await registry.stop(true);
  }
});

test('development takes its ports and its data folder', async () => {
  const port = () => {
    const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
    const free = server.port ?? 0;
    void server.stop(true);
    return String(free);
  };
  const [api, console] = [port(), port()];
  const data = join(root, 'data');
  const project = resolve(import.meta.dirname, '../..');
  const child = Bun.spawn(
    [process.execPath, join(project, 'scripts/dev.ts'), '--port', api, '--console-port', console, '--data-dir', data],
    {
      env: { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: '65336' },
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'ignore',
    },
  );
  const status = (at: string) =>
    fetch(`http://localhost:${at}/api/status`).then(
      async (response) => ((await response.json()) as { success?: boolean }).success,
      () => false,
    );
  try {
    await expect.poll(() => status(api)).toBe(true);
    await expect.poll(() => status(console)).toBe(true);
    expect(existsSync(join(data, 'gateway.db'))).toBe(true);
  } finally {
    child.kill('SIGTERM');
    await child.exited;
  }
});
