/** Builds the console when its sources changed. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where the build says which modules are in the console, as paths from the root. */
export const consoleModules = (root: string): string => join(root, '.cache', 'console-modules.json');

/** @returns true when something was built. @throws when the build fails. */
export async function buildConsole(root: string): Promise<boolean> {
  const stamp = join(root, '.cache', 'console.stamp');
  const hash = createHash('sha256');
  for (const pattern of ['web/**/*', 'server/contract/**/*', 'cli/*.md', 'server/providers/*.md', 'bun.lock']) {
    for (const path of [...new Bun.Glob(pattern).scanSync({ cwd: root })].sort()) {
      if (!path.startsWith('web/dist/')) hash.update(path).update(readFileSync(join(root, path)));
    }
  }
  const digest = hash.digest('hex');
  const built = existsSync(join(root, 'web/dist/index.html')) && existsSync(consoleModules(root));
  if (built && existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return false;
  console.error('building the console ...');
  const run = Bun.spawnSync(
    [process.execPath, '--bun', 'node_modules/vite/bin/vite.js', 'build', 'web', '--logLevel', 'warn'],
    {
      cwd: root,
      stdout: 'inherit',
      stderr: 'inherit',
      env: { ...process.env, NODE_ENV: 'production', GATEWAY_CONSOLE_MODULES: consoleModules(root) },
    },
  );
  if (run.exitCode !== 0) throw new Error('the console did not build');
  mkdirSync(join(root, '.cache'), { recursive: true });
  writeFileSync(stamp, digest);
  return true;
}
