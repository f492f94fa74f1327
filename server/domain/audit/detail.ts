/** What of a call's input may be kept: names of all fields, values of those that cannot hold a secret. */
import { isOptionKey, optionRow } from '../../contract/options.ts';

const maxValueLength = 200;
const hidden = '***';
/** `key` is a channel's secret, except where it names an option. */
const secretField = /pass|secret|token$|^key$|code|document|setting|header|override|webhook/i;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const optionOf = (input: Record<string, unknown>) =>
  typeof input.key === 'string' && isOptionKey(input.key) ? input.key : null;

export function auditTarget(input: unknown): string {
  if (!isRecord(input)) return '';
  const named = input.id ?? optionOf(input) ?? input.username ?? input.name ?? input.trade_no;
  // A budget is its holder's; the site has no name of its own.
  const target = named ?? (input.subject || input.holder || '');
  return typeof target === 'string' || typeof target === 'number' ? String(target).slice(0, maxValueLength) : '';
}

/** @returns JSON text. */
export function auditDetail(input: unknown): string {
  if (!isRecord(input)) return '{}';
  const option = optionOf(input);
  const kept = Object.entries(input)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]): [string, unknown] => {
      if (option !== null && name === 'key') return [name, option];
      if (option !== null && name === 'value') return [name, optionRow(option).secret ? hidden : short(value)];
      return [name, secretField.test(name) ? hidden : short(value)];
    });
  return JSON.stringify(Object.fromEntries(kept));
}

function short(value: unknown): unknown {
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value;
  // A channel may come in a member of its own.
  const text = typeof value === 'string' ? value : JSON.stringify(value, withoutSecrets);
  return text.length > maxValueLength ? `${text.slice(0, maxValueLength)}…` : text;
}

/** Numbers are none: prices of models stay whose names look like one. */
const withoutSecrets = (name: string, value: unknown): unknown =>
  secretField.test(name) && typeof value !== 'number' && typeof value !== 'boolean' && value !== null ? hidden : value;

/** A member of text within text, whose end may be cut off. */
const textMember = /"([^"\\]+)":"((?:[^"\\]|\\.)*)("?)/g;

/** As rows are shown that an earlier build kept: secrets in members of a member stood in them, and the chain covers what is stored. */
export function shownDetail(detail: string): string {
  const fields: unknown = JSON.parse(detail || '{}');
  if (!isRecord(fields)) return detail;
  const shown = Object.entries(fields).map(([name, value]) => [
    name,
    typeof value === 'string' && /^[[{]/.test(value)
      ? value.replace(textMember, (member, inner: string, text: string, end: string) =>
          secretField.test(inner) && text !== '' ? `"${inner}":"${hidden}${end}` : member,
        )
      : value,
  ]);
  return JSON.stringify(Object.fromEntries(shown));
}
