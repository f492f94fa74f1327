/** A log row as one line of a terminal: what was asked for, by whom, how long it took, what it cost, and why it failed. */
import type { Log } from '../../../server/contract/entities.ts';
import { type Language, LogType } from '../../../server/contract/enum.ts';
import { textIn } from '../../../server/contract/language.ts';
import { safeLine } from '../../../server/contract/safe-text.ts';
import { storedIn } from '../../../server/contract/stored-texts.ts';
import { failure, heading } from '../../color.ts';
import { clock, counted, resultOf, tookOf } from '../../parts/log-row.ts';
import type { Money } from '../../parts/money.ts';
import { duration } from '../../parts/top.ts';
import { shorten } from '../../table.ts';

interface Part {
  readonly name: string;
  readonly zh: string;
  readonly width: number;
  /** Below the room of everything. */
  readonly narrow?: number;
  readonly right?: true;
  /** Shown from so many cells of a line on. */
  readonly from?: number;
  readonly value: (row: Log, money: Money, language: Language) => string;
}

/** Cells at which no column is narrowed. */
const wide = 100;

const parts: readonly Part[] = [
  { name: 'time', zh: '时间', width: 8, value: (row) => clock(row.created_at * 1000) },
  {
    name: 'result',
    zh: '结果',
    width: 7,
    value: (row, _money, language) => resultOf(row, (zh, en) => textIn({ zh, en }, language)),
  },
  { name: 'model', zh: '模型', width: 22, narrow: 17, value: (row) => row.model_name },
  {
    name: 'user/key',
    zh: '用户/令牌',
    width: 20,
    narrow: 13,
    from: 80,
    value: (row, _money, language) =>
      [row.username, storedIn(row.token_name, language)].filter((one) => one !== '').join('/'),
  },
  {
    name: 'channel',
    zh: '渠道',
    width: 8,
    from: 110,
    value: (row) => (row.channel === 0 ? '' : row.channel_name || `#${row.channel}`),
  },
  {
    name: 'took',
    zh: '用时',
    width: 6,
    right: true,
    value: (row) => {
      const took = tookOf(row);
      return took === null ? '' : duration(took);
    },
  },
  { name: 'in', zh: '输入', width: 7, right: true, from: wide, value: (row) => counted(row.prompt_tokens) },
  { name: 'out', zh: '输出', width: 6, right: true, from: 66, value: (row) => counted(row.completion_tokens) },
  {
    name: 'cost',
    zh: '费用',
    width: 10,
    right: true,
    value: (row, money) => (row.quota === 0 ? '' : money.of(row.quota, 'exact')),
  },
];

export interface TailLayout {
  /** Cells of a line. */
  readonly maxWidth: number;
  readonly color: boolean;
  readonly language: Language;
}

const visibleParts = (maxWidth: number): readonly Part[] =>
  parts
    .filter(({ from = 0 }) => maxWidth >= from)
    .map((part) => (maxWidth >= wide ? part : { ...part, width: part.narrow ?? part.width }));
const put = (text: string, { width, right }: Part): string => {
  const fitted = shorten(safeLine(text), width);
  const space = ' '.repeat(Math.max(0, width - Bun.stringWidth(fitted)));
  return right === true ? space + fitted : fitted + space;
};

export function tailHeading({ maxWidth, color, language }: TailLayout): string {
  const line = visibleParts(maxWidth)
    .map((part) => put(textIn({ zh: part.zh, en: part.name.toUpperCase() }, language), part))
    .join('  ')
    .trimEnd();
  return color ? heading(line) : line;
}

/** What a failed request says stands where tokens and cost would; in a line of its own where these are, or it is too long. */
export function tailLine(row: Log, money: Money, layout: TailLayout): string {
  const { maxWidth, color, language } = layout;
  const shown = visibleParts(maxWidth);
  const cells = shown.map((part) => put(part.value(row, money, language), part));
  const says = row.type === LogType.consume ? '' : safeLine(storedIn(row.content, language));
  const free = shown.findIndex(({ name }) => name === 'took') + 1;
  const head = `${cells.slice(0, free).join('  ')}  `;
  const fits =
    cells.slice(free).every((cell) => cell.trim() === '') && Bun.stringWidth(head) + Bun.stringWidth(says) <= maxWidth;
  const line = (fits ? `${head}${says}` : cells.join('  ')).trimEnd();
  const whole = says === '' || fits ? line : `${line}\n${' '.repeat(10)}${shorten(says, Math.max(20, maxWidth - 10))}`;
  return color && row.type === LogType.error ? failure(whole) : whole;
}
