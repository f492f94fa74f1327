// @vitest-environment happy-dom
/** Every page as it is read, in its main states, against outlines that a person has read: tests/web/outlines. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectGolden } from '../support/golden-file.ts';
import { failures, frames, missing, sheets, views } from './views.ts';
import { endVisits, startVisits, unanswered, visit } from './visit.tsx';

beforeAll(startVisits);
afterAll(endVisits);

test.each(Object.entries(views))('%s', async (name, view) =>
  expectGolden(`tests/web/outlines/${name}.txt`, (await visit(view)).outline()),
);
test.each(Object.entries(sheets))('%s', async (name, view) =>
  expectGolden(`tests/web/outlines/${name}.txt`, (await visit(view)).outline('sheet')),
);
test.each(Object.entries(frames))('%s', async (name, view) =>
  expectGolden(`tests/web/outlines/${name}.txt`, (await visit(view)).outline('frame')),
);

test('failures', async () => {
  const lines: string[] = [];
  for (const [name, view] of Object.entries(failures))
    lines.push(`# ${name}`, ...(await visit(view)).outline().map((line) => `  ${line}`));
  expectGolden('tests/web/outlines/failures.txt', lines);
});

test('what does not exist is said by the page, with the way to the others and nothing to try again', async () => {
  const lines: string[] = [];
  for (const [name, view] of Object.entries(missing)) {
    const outline = (await visit(view)).outline();
    expect([name, outline.filter((line) => /data-failure|Try again/.test(line))]).toEqual([name, []]);
    lines.push(`# ${name}`, ...outline.map((line) => `  ${line}`));
  }
  expectGolden('tests/web/outlines/missing.txt', lines);
});

test('each link leads to a page', async () => {
  const { pageAt } = await import('../../web/app/pages.tsx');
  const { docsPages } = await import('../../web/docs/pages.ts');
  const docs = docsPages.map(({ slug }) => `/docs/en/${slug}`);
  const isPage = (path: string): boolean => docs.includes(path) || pageAt(path, true) !== undefined;
  const files = [...new Bun.Glob('*.txt').scanSync({ cwd: join(import.meta.dirname, 'outlines') })];
  const links = files.flatMap((name) => [
    ...readFileSync(join(import.meta.dirname, 'outlines', name), 'utf8').matchAll(/→ (\/[^\s?#:]*)/g),
  ]);
  const nowhere = links.map(([, path = '']) => path).filter((path) => !/^\/api\//.test(path) && !isPage(path));
  expect([...new Set(nowhere)]).toEqual([]);
});

test('nothing is asked that has no answer', () => expect([...unanswered]).toEqual([]));
