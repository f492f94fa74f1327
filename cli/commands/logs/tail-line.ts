/** A log row as one line of a terminal: what was asked for, by whom, how long it took, what it cost, and why it failed. */
import type { Log } from '../../../server/contract/entities.ts';
import type { Language } from '../../../server/contract/enum.ts';
import { textIn } from '../../../server/contract/language.ts';
import { safeLine } from '../../../server/contract/safe-text.ts';
import { storedIn } from '../../../server/contract/stored-texts.ts';
import { failure, heading } from '../../color.ts';
import type { Money } from '../../parts/money.ts';
import { duration, tookOf } from '../../parts/top.ts';
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

const two = (value: number): string => String(value).padStart(2, '0');
function clock(seconds: number): string {
  const at = new Date(seconds * 1000);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

const errorType = 5;
const unknown = { zh: '未知', en: 'unknown' };
const words = [
  unknown,
  { zh: '充值', en: 'topup' },
  { zh: '成功', en: 'ok' },
  { zh: '管理', en: 'manage' },
  { zh: '系统', en: 'system' },
  { zh: '失败', en: 'FAILED' },
] as const;

/** Cells at which no column is narrowed. */
const wide = 100;

const parts: readonly Part[] = [
  { name: 'time', zh: '时间', width: 8, value: (row) => clock(row.created_at) },
  {
    name: 'result',
    zh: '结果',
    width: 7,
    value: (row, _money, language) => textIn(words[row.type] ?? unknown, language),
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
  { name: 'in', zh: '输入', width: 7, right: true, from: wide, value: (row) => String(row.prompt_tokens || '') },
  { name: 'out', zh: '输出', width: 6, right: true, from: 66, value: (row) => String(row.completion_tokens || '') },
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

/** What a failed request says stands in a line of its own, whole words of it. */
export function tailLine(row: Log, money: Money, layout: TailLayout): string {
  const { maxWidth, color, language } = layout;
  const line = visibleParts(maxWidth)
    .map((part) => put(part.value(row, money, language), part))
    .join('  ')
    .trimEnd();
  const says = row.type === 2 ? '' : safeLine(storedIn(row.content, language));
  const whole = says === '' ? line : `${line}\n${' '.repeat(10)}${shorten(says, Math.max(20, maxWidth - 10))}`;
  return color && row.type === errorType ? failure(whole) : whole;
}
