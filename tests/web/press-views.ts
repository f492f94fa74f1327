/** Tests that press every control of some views, against what always holds, and against what a person has read that they do. Their files begin with `// @vitest-environment happy-dom`. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectGolden } from '../support/golden-file.ts';
import { type Exploration, explore, walk } from './explore.ts';
import { endVisits, misfits, startVisits, unanswered, type VisitOptions, visit } from './visit.tsx';

type Pressed = VisitOptions & {
  readonly how?: Exploration;
  /** These alone, instead of every control. */
  readonly steps?: readonly string[];
};

export function pressViews(views: Readonly<Record<string, Pressed>>): void {
  beforeAll(startVisits);
  afterAll(endVisits);
  test.each(Object.entries(views))('%s', async (name, { how, steps, ...view }) => {
    const open = () => visit(view);
    const recorded = `tests/web/outlines/presses/${name}.txt`;
    if (steps !== undefined) return expectGolden(recorded, await walk(open, steps));
    const { effects, problems, sent } = await explore(open, { refusal: view.refusal, ...how });
    expect(problems).toEqual([]);
    // That each refusal is seen is one of the problems.
    if (view.refusal !== undefined) expect(sent).toBeGreaterThan(0);
    else expectGolden(recorded, effects);
  });
  test('nothing is asked that has no answer, or that the server would not take', () =>
    expect([[...unanswered], [...misfits]]).toEqual([[], []]));
}
