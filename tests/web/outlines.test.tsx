// @vitest-environment happy-dom
/** Every page as it is read, in its main states, against outlines that a person has read: tests/web/outlines. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kept } from '../support/kept-text.ts';
import { failures, frames, sheets, views } from './views.ts';
import { endVisits, startVisits, unanswered, visit } from './visit.tsx';

beforeAll(startVisits);
afterAll(endVisits);

test.each(Object.entries(views))('%s', async (name, view) =>
  kept(`tests/web/outlines/${name}.txt`, (await visit(view)).outline()),
);
test.each(Object.entries(sheets))('%s', async (name, view) =>
  kept(`tests/web/outlines/${name}.txt`, (await visit(view)).outline('sheet')),
);
test.each(Object.entries(frames))('%s', async (name, view) =>
  kept(`tests/web/outlines/${name}.txt`, (await visit(view)).outline('frame')),
);

test('failures', async () => {
  const lines: string[] = [];
  for (const [name, view] of Object.entries(failures))
    lines.push(`# ${name}`, ...(await visit(view)).outline().map((line) => `  ${line}`));
  kept('tests/web/outlines/failures.txt', lines);
});

test('nothing is asked that has no answer', () => expect([...unanswered]).toEqual([]));
