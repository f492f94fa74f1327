/** One thing on a terminal: what it is and how it stands in a heading, then its facts, then what it may spend. Pipes get plain lines. */
import { textIn } from '../../server/contract/language.ts';
import { safeLine } from '../../server/contract/safe-text.ts';
import type { Context } from '../context.ts';
import { chineseName } from './chinese-names.ts';
import { isAmount, readable, reading } from './details.ts';
import type { Money } from './money.ts';
import { drawsUnicode, markOf } from './state-marks.ts';
import { ago } from './when.ts';

/** Words for people; a field without one is called as it is. */
const names: Readonly<Record<string, string>> = {
  username: 'user',
  display_name: 'shown as',
  quota: 'balance',
  used_quota: 'used',
  remain_quota: 'remaining',
  request_count: 'requests',
  aff_code: 'invitation code',
  aff_count: 'invited',
  aff_quota: 'earned by invitations',
  aff_history_quota: 'ever earned by them',
  inviter_id: 'invited by',
  user_id: 'owner',
  created_time: 'made',
  accessed_time: 'last used',
  expired_time: 'expires',
  model_limits: 'models',
  allow_ips: 'from addresses',
  day_budget: 'budget a day',
  month_budget: 'budget a month',
  rpm_limit: 'requests a minute',
  tpm_limit: 'tokens a minute',
  concurrency_limit: 'requests at once',
  day_used: 'used today',
  month_used: 'used this month',
  old_key_hint: 'key before',
  old_key_until: 'works until',
  link_until: 'link works until',
  last_ip: 'last address',
  frozen_time: 'stopped for unusual spend',
  test_model: 'tested with',
  test_time: 'tested',
  response_time: 'test took',
  base_url: 'address',
  balance: 'balance upstream',
  balance_updated_time: 'balance of',
  model_mapping: 'names upstream',
  status_code_mapping: 'statuses',
  auto_ban: 'disabled by errors',
  other_info: 'state',
  param_override: 'parameters',
  max_input_tokens: 'longest prompt',
  data_dir: 'data folder',
  setup: 'set up',
  setup_link: 'set it up at',
  tokens: 'API keys',
  rpm: 'requests a minute',
  tpm: 'tokens a minute',
};

const money = /^(day|month)_budget$|^(rpm|tpm|concurrency)_limit$/;
/** Fields whose 0 says that there is nothing. */
const noneAtZero = /^(max_input_tokens|inviter_id|aff_count|aff_quota|aff_history_quota|balance)$/;
/** In the heading already. */
const inHeading = /^(id|name|username|status|result)$/;

/** Cells of the names at the left. */
const nameCells = 22;

/** A list that is too long goes on below, under its beginning. */
function wrapped(text: string, cells: number): readonly string[] {
  const rows: string[] = [];
  let row = '';
  // Not between the digits of a number.
  for (const part of text.split(/(?<=,)(?!\d) ?/)) {
    const longer = row === '' ? part : `${row} ${part}`;
    if (row !== '' && Bun.stringWidth(longer) > cells) {
      rows.push(row);
      row = part;
    } else row = longer;
  }
  return [...rows, row];
}

/** Fields in words below each other; what says nothing is left out. */
export function factLines(
  { language, output }: Context,
  fields: readonly (readonly [name: string, item: unknown])[],
  amounts: Money | null,
): string[] {
  return fields.flatMap(([name, item]) => {
    const text = ago(reading(name, item, { language, money: amounts, grouped: true }), Date.now(), language);
    if (text === '' || text === '{}' || (item === 0 && noneAtZero.test(name))) return [];
    const word = textIn({ zh: chineseName(name), en: names[name] ?? name.replaceAll('_', ' ') }, language);
    const space = ' '.repeat(Math.max(1, nameCells - Bun.stringWidth(word)));
    return wrapped(safeLine(text), Math.max(20, output.layout.maxWidth - nameCells - 3)).map((row, at) =>
      at === 0 ? `  ${word}${space} ${row}` : `${' '.repeat(nameCells + 3)}${row}`,
    );
  });
}

/** @param thing its fields, `status` in words. */
export function cardOf(context: Context, thing: object, amounts: Money | null): string[] {
  const { language, output, env } = context;
  const reader = { language, money: amounts, grouped: true } as const;
  if (!output.isTty) return readable(thing, reader);
  const fields = Object.entries(thing).filter(([name]) => !inHeading.test(name));
  const value = (name: string): string => reading(name, Object(thing)[name], reader);
  const isMoney = ([name]: readonly [string, unknown]): boolean => isAmount(name) || money.test(name);
  const status = String(Object(thing).status ?? '');
  const head = [
    markOf(status, drawsUnicode(env)),
    value('name') || value('username'),
    `#${value('id')}`,
    value('status'),
  ];
  const lines = (some: typeof fields): string[] => factLines(context, some, amounts);
  const facts = lines(fields.filter((one) => !isMoney(one)));
  const spend = lines(fields.filter(isMoney));
  return [
    safeLine(head.filter((one) => one !== '').join('  ')),
    ...facts,
    ...(spend.length === 0 ? [] : ['', ...spend]),
  ];
}
