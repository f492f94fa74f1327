/** `gateway bench` of the executable in dist, beside a gateway of another house; `--alone` leaves that out. All other flags are the command's own. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { startComparison } from './comparison.ts';

const root = resolve(import.meta.dirname, '..', '..', '..');
const binary = join(root, 'dist', 'gateway');
const program = existsSync(binary) ? [binary] : [process.execPath, join(root, 'cli', 'main.ts')];
if (!existsSync(binary)) console.error('dist/gateway is missing (npm run build): measuring the sources instead');

const args = process.argv.slice(2);
const isAlone = args.some((flag) => flag === '--alone' || flag === '--upstream-port');
const comparison = isAlone ? null : await startComparison(root);
try {
  const flags = [...args.filter((flag) => flag !== '--alone'), ...(comparison?.flags ?? [])];
  const child = Bun.spawn([...program, 'bench', ...flags], { stdio: ['inherit', 'inherit', 'inherit'] });
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill());
  process.exitCode = await child.exited;
} finally {
  await comparison?.stop();
}
