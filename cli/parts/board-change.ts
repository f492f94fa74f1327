/** What is typed on the board to change the selected row: `priority=5 weight=2`. */
import { parseNumber } from '../../server/contract/amount.ts';
import { textIn } from '../../server/contract/language.ts';
import type { Context } from '../context.ts';

interface Field {
  /** Member of the request. */
  readonly member: string;
  readonly number?: true;
  /** Lowest number. */
  readonly min?: number;
}

const channelFields: Readonly<Record<string, Field>> = {
  name: { member: 'name' },
  priority: { member: 'priority', number: true, min: -1_000_000 },
  weight: { member: 'weight', number: true, min: 0 },
  tag: { member: 'tag' },
  group: { member: 'group' },
  models: { member: 'models' },
};
const keyFields: Readonly<Record<string, Field>> = {
  name: { member: 'name' },
  rpm: { member: 'rpm_limit', number: true, min: 0 },
  tpm: { member: 'tpm_limit', number: true, min: 0 },
  concurrency: { member: 'concurrency_limit', number: true, min: 0 },
};

const fieldsOf = (view: 'channels' | 'keys') => (view === 'channels' ? channelFields : keyFields);
const changeable = (view: 'channels' | 'keys'): string => Object.keys(fieldsOf(view)).join(', ');

type Change =
  | { readonly wrong: string }
  | { readonly fields: Readonly<Record<string, string | number>>; readonly words: string };

/** Several are divided by spaces in front of a name and its `=`: other spaces belong to the value. */
export function changeOf(
  view: 'channels' | 'keys',
  typed: string,
  { say, language }: Pick<Context, 'say' | 'language'>,
): Change {
  const parts = typed.trim().split(/\s+(?=[a-z]+=)/);
  const fields: Record<string, string | number> = {};
  for (const part of parts) {
    const at = part.indexOf('=');
    const name = part.slice(0, Math.max(0, at)).trim();
    const value = part.slice(at + 1).trim();
    const field = Object.hasOwn(fieldsOf(view), name) ? fieldsOf(view)[name] : undefined;
    if (field === undefined)
      return { wrong: say(`写成 名称=值：${changeable(view)}`, `write NAME=VALUE, of: ${changeable(view)}`) };
    if (value === '' && name !== 'tag') return { wrong: say(`${name} 的值为空`, `${name} has an empty value`) };
    if (field.number === undefined) {
      fields[field.member] = value;
      continue;
    }
    const amount = parseNumber(value, { integer: true, min: field.min ?? 0 });
    if (amount.kind !== 'value')
      return { wrong: `${name}: ${amount.kind === 'invalid' ? textIn(amount.issue, language) : value}` };
    fields[field.member] = amount.value;
  }
  return { fields, words: parts.join(' ') };
}
