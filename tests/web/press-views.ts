/** Tests that press every control of some views, against texts that a person has read. Their files begin with `// @vitest-environment happy-dom`. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectGolden } from '../support/golden-file.ts';
import { type Exploration, explore } from './explore.ts';
import { endVisits, startVisits, unanswered, type VisitOptions, visit } from './visit.tsx';

type Pressed = VisitOptions & { readonly how?: Exploration };

/** Steps that were refused, with all that each led to. */
function refusedSteps(lines: readonly string[], words: string): string[] {
  const steps: string[][] = [];
  for (const line of lines) {
    if (/^ *> /.test(line)) steps.push([]);
    steps.at(-1)?.push(line);
  }
  return steps.filter((step) => step.some((line) => line.includes(words))).flat();
}

export function pressViews(views: Readonly<Record<string, Pressed>>): void {
  beforeAll(startVisits);
  afterAll(endVisits);
  test.each(Object.entries(views))('%s', async (name, { how, ...view }) => {
    const lines = await explore(() => visit(view), how);
    const steps = view.changesOnly === true ? refusedSteps(lines, view.refusal ?? '') : lines;
    expectGolden(`tests/web/outlines/presses/${name}.txt`, steps);
  });
  test('nothing is asked that has no answer', () => expect([...unanswered]).toEqual([]));
}
