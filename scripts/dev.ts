/** Gateway on 3000 and the console with hot reload on 5173, until Ctrl-C. */
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const start = (args: string[]) =>
  Bun.spawn([process.execPath, ...args], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
const children = [
  start(['--watch', 'cli/main.ts', 'serve', '--data-dir', 'data']),
  start(['--bun', 'node_modules/vite/bin/vite.js', 'web']),
];
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => children.map((child) => child.kill(signal)));
await Promise.race(children.map((child) => child.exited));
for (const child of children) child.kill();
