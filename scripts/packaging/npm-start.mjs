#!/usr/bin/env node
// Starts the executable of the platform's package; npm has installed the one that fits.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { constants } from 'node:os';

const require = createRequire(import.meta.url);
const windows = process.platform === 'win32';
const musl = process.platform === 'linux' && !process.report.getReport().header.glibcVersionRuntime ? '-musl' : '';
const target = `${windows ? 'windows' : process.platform}-${process.arch}${musl}`;
let program;
try {
  program = require.resolve(`SCOPE/gateway-${target}/${windows ? 'gateway.exe' : 'gateway'}`);
} catch {
  console.error(`gateway: no executable for ${target}. Install without --omit=optional; platforms: TARGETS`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
child.on('error', (error) => {
  console.error(`gateway: ${error.message}`);
  process.exit(1);
});
// The terminal sends Ctrl-C to both; the executable decides what it means.
process.on('SIGINT', () => undefined);
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
