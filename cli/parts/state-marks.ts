/** A shape before the word of a state, for whoever tells no colours apart: the same in lists, cards and the board. */

import type { Language, Text } from '../../server/contract/enum.ts';
import { stateIn } from './chinese-lists.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** @returns whether block characters arrive as they are: by the locale, as other programs decide it. */
export const drawsUnicode = (env: Environment): boolean => /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || '');

const shapes = {
  good: ['●', '*'],
  waiting: ['◐', '~'],
  bad: ['✗', '!'],
  ready: ['○', 'o'],
  idle: ['·', '.'],
  off: ['–', '-'],
} as const satisfies Readonly<Record<string, readonly [unicode: string, plain: string]>>;
type Shape = keyof typeof shapes;

/** As lists write them, in the language that they are in. */
const words: Readonly<Record<Shape, Text>> = {
  good: { zh: '有效|正常', en: 'enabled|serving|live|in use|ok|on|opens|sent|success|succeeded|used|credited' },
  waiting: { zh: '注意', en: 'slow|draining|waiting|pending|warn|in_progress|queued|submitted|not_start|modal' },
  bad: { zh: '已过期|失败', en: 'failing|failed|failure|fail|auto-disabled|expired|exhausted|refused|gone' },
  ready: { zh: '备用', en: 'standby|unused' },
  idle: { zh: '空闲', en: 'idle' },
  off: { zh: '已撤回', en: 'disabled|closed|off|muted|revoked' },
};
const shapeByWord = new Map(
  Object.entries(words).flatMap(([shape, { zh, en }]) =>
    `${zh}|${en}`.split('|').map((word) => [word, shape as Shape] as const),
  ),
);

/** @param state its word; what stands behind it in brackets is a trouble. @returns '' for a word that is no state. */
export function markOf(state: string, unicode: boolean): string {
  const shape = /^\d+ violations$|^live \(/i.test(state) ? 'bad' : shapeByWord.get(state.toLowerCase());
  return shape === undefined ? '' : shapes[shape][unicode ? 0 : 1];
}

/** What columns of states are called. */
const isStateColumn = /^(?:status|state|result)$/;

/** Cells of a column of a table for people. Words that are no states stand under the others; where none is one, nothing stands before them. */
export function withMarks(
  cells: readonly string[],
  column: string,
  unicode: boolean,
  language: Language = 'en',
): readonly string[] {
  if (!isStateColumn.test(column)) return cells;
  const marks = cells.map((cell) => markOf(cell, unicode));
  const words = cells.map((cell) => stateIn(cell, language));
  return marks.every((mark) => mark === '') ? words : words.map((word, at) => `${marks[at] || ' '} ${word}`.trimEnd());
}
