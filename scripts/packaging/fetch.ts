/** Fetches what a release is made with and from: npm packages by their SHA-512, tools from PyPI by their SHA-256. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const packagingCache = (root: string): string => join(root, '.cache', 'packaging');

/** @throws Error with what the program wrote. */
export function runTool(command: readonly string[], options: { cwd?: string; env?: Record<string, string> } = {}) {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  if (exitCode !== 0) throw new Error(`${command.join(' ')}\n${stdout}${stderr}`);
  return stdout.toString();
}

interface PinnedPackage {
  readonly name: string;
  readonly version: string;
  /** `sha512-` and base64, as in a lock file. */
  readonly integrity: string;
}

/** @returns the folder it is unpacked in. @throws Error when its bytes are others than the pinned ones. */
export function npmPackage(root: string, { name, version, integrity }: PinnedPackage): string {
  const folder = join(packagingCache(root), `${name.replace('/', '-')}-${version}`);
  const stamp = join(folder, '.integrity');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === integrity) return folder;
  const draft = `${folder}.draft`;
  for (const old of [draft, folder]) rmSync(old, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  runTool(['npm', 'pack', `${name}@${version}`, '--loglevel=error', '--ignore-scripts'], { cwd: draft });
  const archive = join(draft, readdirSync(draft).find((file) => file.endsWith('.tgz')) ?? '');
  const found = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
  if (found !== integrity) throw new Error(`${name}@${version} has ${found}, pinned is ${integrity}`);
  runTool(['tar', '-xzf', archive, '--strip-components=1'], { cwd: draft });
  rmSync(archive);
  writeFileSync(join(draft, '.integrity'), integrity);
  renameSync(draft, folder);
  return folder;
}

/** The tools that `tools.txt` pins; pip refuses any other bytes. @returns the folder they are installed in. */
export function pythonTools(root: string): string {
  const folder = join(packagingCache(root), 'tools');
  const pinned = join(import.meta.dirname, 'tools.txt');
  const stamp = join(folder, '.pinned');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === readFileSync(pinned, 'utf8')) return folder;
  rmSync(folder, { recursive: true, force: true });
  const options = ['--require-hashes', '--no-deps', '--only-binary=:all:', '--disable-pip-version-check', '--quiet'];
  runTool(['python3', '-m', 'pip', 'install', ...options, '--target', folder, '-r', pinned]);
  writeFileSync(stamp, readFileSync(pinned));
  return folder;
}
