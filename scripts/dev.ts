/** Gateway on 3000 and the console with hot reload on 5173, or on the ports given, until Ctrl-C: `npm run dev -- --port 4000 --console-port 5200 --data-dir DIR`. What else is given is for `gateway serve`. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

const root = resolve(import.meta.dirname, '..');
const { values, tokens } = parseArgs({
  options: {
    port: { type: 'string', default: process.env.GATEWAY_PORT ?? '3000' },
    'console-port': { type: 'string', default: '5173' },
    'data-dir': { type: 'string', default: 'data' },
  },
  strict: false,
  tokens: true,
});
const text = (name: keyof typeof values): string => String(values[name]);
const port = text('port');
const known = new Set(['port', 'console-port', 'data-dir']);
const rest = tokens.flatMap((token) => {
  if (token.kind === 'positional') return [token.value];
  if (token.kind !== 'option' || known.has(token.name)) return [];
  return token.inlineValue === true ? [`${token.rawName}=${String(token.value)}`] : [token.rawName];
});
const start = (args: readonly string[]) =>
  Bun.spawn([process.execPath, ...args], {
    ...{ cwd: root, env: { ...process.env, GATEWAY_PORT: port }, stdio: ['ignore', 'inherit', 'inherit'] },
  });
const children = [
  start(['--watch', 'cli/main.ts', 'serve', '--port', port, '--data-dir', text('data-dir'), ...rest]),
  start(['--bun', 'node_modules/vite/bin/vite.js', 'web', '--port', text('console-port'), '--strictPort']),
];
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => children.map((child) => child.kill(signal)));
await Promise.race(children.map((child) => child.exited));
for (const child of children) child.kill();
