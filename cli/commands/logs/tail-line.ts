/** A log row as one line of a terminal: what was asked for, by whom, how long it took, what it cost, and why it failed. */
import type { Log } from '../../../server/contract/entities.ts';
import type { Language } from '../../../server/contract/enum.ts';
import { safeLine } from '../../../server/contract/safe-text.ts';
import { storedIn } from '../../../server/contract/stored-texts.ts';
import { failure, heading } from '../../color.ts';
import type { Money } from '../../parts/money.ts';
import { shorten } from '../../table.ts';

interface Part {
  readonly name: string;
  readonly cells: number;
  readonly right?: true;
  /** Shown from so many cells of a line on. */
  readonly from?: number;
  readonly value: (row: Log, money: Money, language: Language) => string;
}

const two = (value: number): string => String(value).padStart(2, '0');
function clock(seconds: number): string {
  const at = new Date(seconds * 1000);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

const errorType = 5;
const words = ['unknown', 'topup', 'ok', 'manage', 'system', 'FAILED'] as const;

const parts: readonly Part[] = [
  { name: 'time', cells: 8, value: (row) => clock(row.created_at) },
  { name: 'result', cells: 7, value: (row) => words[row.type] ?? 'unknown' },
  { name: 'model', cells: 22, value: (row) => row.model_name },
  {
    name: 'user/key',
    cells: 20,
    from: 100,
    value: (row, _money, language) =>
      [row.username, storedIn(row.token_name, language)].filter((one) => one !== '').join('/'),
  },
  {
    name: 'channel',
    cells: 7,
    right: true,
    from: 110,
    value: (row) => (row.channel === 0 ? '' : String(row.channel)),
  },
  { name: 'took', cells: 6, right: true, value: (row) => (row.use_time === 0 ? '' : `${row.use_time}s`) },
  { name: 'in', cells: 7, right: true, value: (row) => String(row.prompt_tokens || '') },
  { name: 'out', cells: 6, right: true, value: (row) => String(row.completion_tokens || '') },
  {
    name: 'cost',
    cells: 10,
    right: true,
    value: (row, money) => (row.quota === 0 ? '' : money.of(row.quota, 'exact')),
  },
];

export interface TailLook {
  /** Cells of a line. */
  readonly room: number;
  readonly colour: boolean;
}

const shownIn = (room: number): readonly Part[] => parts.filter(({ from = 0 }) => room >= from);
const put = (text: string, { cells, right }: Part): string => {
  const shown = shorten(safeLine(text), cells);
  const space = ' '.repeat(Math.max(0, cells - Bun.stringWidth(shown)));
  return right === true ? space + shown : shown + space;
};

export function tailHeading({ room, colour }: TailLook): string {
  const line = shownIn(room)
    .map((part) => put(part.name.toUpperCase(), part))
    .join('  ')
    .trimEnd();
  return colour ? heading(line) : line;
}

/** What a failed request says stands in a line of its own, whole words of it. */
export function tailLine(row: Log, money: Money, look: TailLook & { readonly language: Language }): string {
  const { room, colour } = look;
  const line = shownIn(room)
    .map((part) => put(part.value(row, money, look.language), part))
    .join('  ')
    .trimEnd();
  const says = row.type === 2 ? '' : safeLine(storedIn(row.content, look.language));
  const whole = says === '' ? line : `${line}\n${' '.repeat(10)}${shorten(says, Math.max(20, room - 10))}`;
  return colour && row.type === errorType ? failure(whole) : whole;
}
