/** The one-time link of a server that nobody watches: logged once, shown again on the machine, asked for over HTTP. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { codeIn } from '../../web/features/setup/code-in.ts';
import { createRunner } from '../cli/runner.ts';

const main = resolve(import.meta.dirname, '../../cli/main.ts');
let dir: string;
const children: Bun.Subprocess[] = [];
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'setup-link-'));
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await Promise.all(children.map((child) => child.exited));
  rmSync(dir, { recursive: true, force: true });
});

/** Without a terminal, as a service manager starts it. @returns what it printed until `last`. */
async function serve(last: RegExp, more: readonly string[] = []) {
  const child = Bun.spawn(
    [process.execPath, main, 'serve', '--port', '0', '--data-dir', join(dir, 'data'), '--lang', 'en', ...more],
    { env: { HOME: dir, PATH: process.env.PATH }, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' },
  );
  children.push(child);
  const reader = child.stdout.getReader();
  let text = '';
  while (!last.test(text)) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`serve ended early: ${await new Response(child.stderr).text()}`);
    text += new TextDecoder().decode(value);
  }
  reader.releaseLock();
  return { text, child };
}

test('the link is logged once, shown by status, and opens the site once', async () => {
  const logged = await serve(/"event":"ready".*\n/, ['--json-logs']);
  const { url: first, setup_link: link } = JSON.parse(logged.text) as Record<string, string>;
  expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/setup#code=[0-9a-f]{16}$/);
  expect(link?.startsWith(`${first}/`)).toBe(true);
  logged.child.kill('SIGTERM');
  await logged.child.exited;

  const { text } = await serve(/Data directory/);
  const printed = [...text.matchAll(/http:\S+\/setup#code=[0-9a-f]{16}/g)].map(([found]) => found);
  expect(printed).toHaveLength(1);
  // Another start, another code.
  expect(codeIn(new URL(printed[0] ?? '').hash)).not.toBe(codeIn(new URL(link ?? '').hash));
  const local = createRunner(dir);
  expect(await local.json(['status'])).toMatchObject({ setup: false, setup_link: printed[0] });

  const url = new URL(printed[0] ?? '').origin;
  const remote = createRunner(dir, { GATEWAY_ADMIN_PASSWORD: 'password1' }, ['--url', url]);
  const setup = (...more: string[]) => remote.run(['setup', '--username', 'root', ...more]);
  await expect(setup()).rejects.toMatchObject({ code: 'setup_code_required' });
  await expect(setup('--code', codeIn(new URL(link ?? '').hash))).rejects.toMatchObject({
    code: 'setup_code_required',
  });
  await setup('--code', codeIn(new URL(printed[0] ?? '').hash));
  expect(await local.json(['status'])).toMatchObject({ setup: true });
  expect(await local.json(['status'])).not.toHaveProperty('setup_link');
});
