/** Tests that press every control of some views, against texts that a person has read. Their files begin with `// @vitest-environment happy-dom`. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectGolden } from '../support/golden-file.ts';
import { type Exploration, explore, walk } from './explore.ts';
import { endVisits, startVisits, unanswered, type VisitOptions, visit } from './visit.tsx';

type Pressed = VisitOptions & {
  readonly how?: Exploration;
  /** These alone, instead of every control. */
  readonly steps?: readonly string[];
};

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
  test.each(Object.entries(views))('%s', async (name, { how, steps, ...view }) => {
    const open = () => visit(view);
    const lines = await (steps === undefined ? explore(open, how) : walk(open, steps));
    const isFiltered = view.changesOnly === true && steps === undefined;
    expectGolden(
      `tests/web/outlines/presses/${name}.txt`,
      isFiltered ? refusedSteps(lines, view.refusal ?? '') : lines,
    );
  });
  test('nothing is asked that has no answer', () => expect([...unanswered]).toEqual([]));
}
