import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
