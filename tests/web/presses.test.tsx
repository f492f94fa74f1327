// @vitest-environment happy-dom
/** What each control of each page does when it is pressed: what is asked, what opens, what is said; against texts that a person has read. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kept } from '../support/kept-text.ts';
import { type Exploration, explore } from './explore.ts';
import { pressed } from './views.ts';
import { endVisits, startVisits, unanswered, visit } from './visit.tsx';

beforeAll(startVisits);
afterAll(endVisits);

const rows = ['j', 'j', 'k', 'x', 'Enter', 'Escape', '/', 'Escape', 'n'];
const asked: Readonly<Record<string, Exploration>> = {
  logs: { common: true, keys: ['j', 'j', 'k', 'Enter', 'Escape', '/', 'Escape'] },
  channels: { keys: rows },
  'frame-root': { frame: true, keys: ['?', 'Escape', 'g t', 'g l', 'g q', 'Control+k'] },
  'frame-phone': { frame: true },
  'frame-guest': { frame: true },
};

test.each(Object.entries(pressed))('%s', async (name, view) =>
  kept(`tests/web/outlines/presses/${name}.txt`, await explore(() => visit(view), asked[name])),
);
test('nothing is asked that has no answer', () => expect([...unanswered]).toEqual([]));
