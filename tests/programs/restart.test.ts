/** Serving restarts the program once; some systems refuse that. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { processSettings } from '../../cli/process-settings.ts';

const main = resolve(import.meta.dirname, '../../cli/main.ts');

/** @returns what it says to people when it is told to stop, on a system where no program begins another in its place. */
async function served(settings: Readonly<Record<string, string>>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-restart-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const refusal = join(folder, 'refusal.ts');
  writeFileSync(refusal, "process.execve = () => { throw new Error('ENOEXEC'); };");
  const { BUN_CONFIG_MAX_HTTP_REQUESTS: _, MIMALLOC_PURGE_DELAY: __, ...env } = process.env;
  const child = Bun.spawn([process.execPath, '--preload', refusal, main, 'serve', '--port', '0'], {
    env: { ...env, ...settings, GATEWAY_DATA_DIR: join(folder, 'data'), LANG: 'C' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  expect(new TextDecoder().decode(value)).toMatch(/http:\/\/127\.0\.0\.1:\d+/);
  child.kill('SIGTERM');
  const said = await new Response(child.stderr).text();
  await child.exited;
  return said;
}
const limit = 'at most 256 upstream requests';

test('a system that refuses to start the program again is served all the same, and the limit is said', async () => {
  expect(await served({})).toContain(limit);
});

test('with what units and images set the program does not begin twice', async () => {
  expect(await served(processSettings)).not.toContain(limit);
});
