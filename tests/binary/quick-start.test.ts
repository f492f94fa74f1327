/** The quick start's lines, typed into a shell as they stand there. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSandbox, freePort, type Sandbox } from './support.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.close());

/** Lines of the blocks of code, with what a backslash carries on. */
const linesOf = (page: string): readonly string[] =>
  [...page.matchAll(/```sh\n([\s\S]*?)```/g)]
    .map(([, block = '']) => block)
    .flatMap((block) => block.replaceAll('\\\n', '\\\u0000').trim().split('\n'))
    .map((line) => line.replaceAll('\u0000', '\n'));

/** They stay, ask a person, or need the sources. */
const notRun = ['gateway serve', 'gateway setup', 'gateway mock-upstream', 'npm start'];

test.each(['en', 'zh'])('every line of the quick start in %s does what it is for', async (language) => {
  const page = readFileSync(resolve(import.meta.dirname, `../../web/docs/${language}/quick-start.md`), 'utf8');
  const lines = linesOf(page);
  expect(lines).toEqual(expect.arrayContaining(notRun));
  const run = lines.filter((line) => !notRun.includes(line));
  expect(run.map((line) => /gateway [a-z]+ [a-z]+|curl/.exec(line)?.[0])).toEqual([
    ...['gateway channel add', 'gateway channel test', 'gateway token create', 'curl'],
    ...['gateway logs list', 'gateway logs explain'],
  ]);

  const upstream = (await sandbox.start(['mock-upstream', '--port', String(freePort())])).line;
  await sandbox.run(['setup', '--username', 'root', '--password-stdin'], 'password1\n');
  const server = await sandbox.start(['serve', '--port', String(freePort())]);
  const url = server.line.replace('URL: ', '');
  const [add = '', ...rest] = run;
  const script = [
    'set -e',
    'PATH="$PWD:$PATH"',
    'OPENAI_API_KEY=sk-canary',
    add,
    // Whoever reads it has an account at the provider.
    `gateway channel edit main --base-url ${upstream} --models practice-small,gpt-4o-mini >/dev/null`,
    ...rest.map((line) => line.replace('http://127.0.0.1:3000', url)),
  ].join('\n');
  const { code, out, err } = await sandbox.shell(script);
  expect([code, /error|usage/i.exec(err)]).toEqual([0, null]);
  expect(out).toMatch(/"content"/);
  // The answer, its row, and the bill of it.
  expect(out).toMatch(/\tconsume\t.*\tgpt-4o-mini\t/);
  expect(out).toContain('equals the charge');
  expect(out).toMatch(/main\s+ok/);
  expect(out).not.toContain('sk-canary');
});
