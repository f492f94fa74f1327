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
  readonly width: number;
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
  { name: 'time', width: 8, value: (row) => clock(row.created_at) },
  { name: 'result', width: 7, value: (row) => words[row.type] ?? 'unknown' },
  { name: 'model', width: 22, value: (row) => row.model_name },
  {
    name: 'user/key',
    width: 20,
    from: 100,
    value: (row, _money, language) =>
      [row.username, storedIn(row.token_name, language)].filter((one) => one !== '').join('/'),
  },
  {
    name: 'channel',
    width: 7,
    right: true,
    from: 110,
    value: (row) => (row.channel === 0 ? '' : String(row.channel)),
  },
  { name: 'took', width: 6, right: true, value: (row) => (row.use_time === 0 ? '' : `${row.use_time}s`) },
  { name: 'in', width: 7, right: true, value: (row) => String(row.prompt_tokens || '') },
  { name: 'out', width: 6, right: true, value: (row) => String(row.completion_tokens || '') },
  {
    name: 'cost',
    width: 10,
    right: true,
    value: (row, money) => (row.quota === 0 ? '' : money.of(row.quota, 'exact')),
  },
];

export interface TailLayout {
  /** Cells of a line. */
  readonly maxWidth: number;
  readonly color: boolean;
}

const visibleParts = (maxWidth: number): readonly Part[] => parts.filter(({ from = 0 }) => maxWidth >= from);
const put = (text: string, { width, right }: Part): string => {
  const fitted = shorten(safeLine(text), width);
  const space = ' '.repeat(Math.max(0, width - Bun.stringWidth(fitted)));
  return right === true ? space + fitted : fitted + space;
};

export function tailHeading({ maxWidth, color }: TailLayout): string {
  const line = visibleParts(maxWidth)
    .map((part) => put(part.name.toUpperCase(), part))
    .join('  ')
    .trimEnd();
  return color ? heading(line) : line;
}

/** What a failed request says stands in a line of its own, whole words of it. */
export function tailLine(row: Log, money: Money, layout: TailLayout & { readonly language: Language }): string {
  const { maxWidth, color } = layout;
  const line = visibleParts(maxWidth)
    .map((part) => put(part.value(row, money, layout.language), part))
    .join('  ')
    .trimEnd();
  const says = row.type === 2 ? '' : safeLine(storedIn(row.content, layout.language));
  const whole = says === '' ? line : `${line}\n${' '.repeat(10)}${shorten(says, Math.max(20, maxWidth - 10))}`;
  return color && row.type === errorType ? failure(whole) : whole;
}
