/** Tests that press every control of some views, against texts that a person has read. Their files begin with `// @vitest-environment happy-dom`. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kept } from '../support/kept-text.ts';
import { type Exploration, explore } from './explore.ts';
import { endVisits, startVisits, unanswered, type VisitOptions, visit } from './visit.tsx';

type Pressed = VisitOptions & { readonly how?: Exploration };

export function pressViews(views: Readonly<Record<string, Pressed>>): void {
  beforeAll(startVisits);
  afterAll(endVisits);
  test.each(Object.entries(views))('%s', async (name, { how, ...view }) =>
    kept(`tests/web/outlines/presses/${name}.txt`, await explore(() => visit(view), how)),
  );
  test('nothing is asked that has no answer', () => expect([...unanswered]).toEqual([]));
}
