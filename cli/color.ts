/** Sixteen colours, and none of them says anything that the words do not. */
import { styleText } from 'node:util';
import { stateIn } from './parts/chinese-lists.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** @param when `--color`; undefined = not given. @param isTty of the stream that is written to. */
export function wantsColor(when: string | undefined, env: Environment, isTty: boolean): boolean {
  if (when === 'always') return true;
  if (when === 'never' || env.NO_COLOR || env.TERM === 'dumb' || env.CLICOLOR === '0') return false;
  const forced = env.CLICOLOR_FORCE ?? env.FORCE_COLOR;
  if (forced !== undefined) return forced !== '' && forced !== '0';
  return isTty;
}

const paint = (style: 'bold' | 'red' | 'green' | 'yellow', text: string): string =>
  styleText(style, text, { validateStream: false });

export const heading = (text: string): string => paint('bold', text);
export const failure = (text: string): string => paint('red', text);

/** A word of a state has its shape before it. @param states patterns, matched in both languages. */
const stateOf = (...states: readonly string[]): RegExp =>
  new RegExp(`^(?:\\S )?(?:${states.flatMap((state) => [state, stateIn(state, 'zh')]).join('|')})$`);
const good = stateOf('ok', 'enabled', '✓', 'created', 'updated');
const bad = stateOf('fail', 'failed', 'disabled', 'auto-disabled', '\\d+ VIOLATIONS');
const warning = stateOf('warn');

/** A cell, spaces around its word left alone. */
export function colorCell(cell: string): string {
  const word = cell.trim();
  if (good.test(word)) return paint('green', cell);
  if (bad.test(word)) return paint('red', cell);
  return warning.test(word) ? paint('yellow', cell) : cell;
}
