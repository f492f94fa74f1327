/** Builds the console if needed and runs the gateway from the sources. */
import { resolve } from 'node:path';
import { buildConsole } from './console.ts';
import { runGateway } from './run-gateway.ts';

const root = resolve(import.meta.dirname, '..');
await buildConsole(root);
const args = process.argv.slice(2);
runGateway(['serve', ...(args.includes('--data-dir') ? [] : ['--data-dir', `${root}/data`]), ...args]);
