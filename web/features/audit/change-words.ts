/** What a change of the audit trail is called, and its values as people read them. */
import type { TFunction } from 'i18next';
import type { AuditChange, AuditView } from '../../../server/contract/entities.ts';
import { textIn } from '../../../server/contract/language.ts';
import { isOptionKey, optionRow } from '../../../server/contract/options.ts';
import { dateTime, grouped } from '../../lib/format.ts';
import { currentLanguage } from '../../lib/i18n.ts';

/** Longer values are read when the row is opened. */
const longest = 80;

/** An option is called as the settings call it. */
const optionText = (key: string): string => (isOptionKey(key) ? textIn(optionRow(key).label, currentLanguage()) : key);

const numbered = ['channel', 'virtual_model', 'user'] as const;

/** What it was done to: an option by its label, a thing that is known by its number alone with what it is. */
export function targetText(t: TFunction, { action, target }: Pick<AuditView, 'action' | 'target'>): string {
  if (action.startsWith('option.')) return optionText(target);
  const kind = numbered.find((one) => action.startsWith(`${one}.`));
  return kind !== undefined && /^\d+$/.test(target) ? t(`audit.kind.${kind}`, { id: target }) : target;
}

/** @param whose the thing's own name, where the reader has to know which of several it is. */
export function placeOf(t: TFunction, { kind, id, field, member }: AuditChange, whose = true): string {
  const thing = kind === 'option' ? optionText(id) : whose ? t(`audit.kind.${kind}`, { id }) : '';
  return [thing, ...(kind === 'option' ? [] : [field]), ...(member === null ? [] : [member])]
    .filter((part) => part !== '')
    .join(' · ');
}

const listFields: ReadonlySet<string> = new Set(['models', 'group']);
const itemsOf = (text: string | null): readonly string[] =>
  (text ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

/** A list is told by what came and what went; null where it is none, or only its order changed. */
export function listChange({ field, member, before, after }: AuditChange): {
  readonly added: readonly string[];
  readonly removed: readonly string[];
} | null {
  if (member !== null || !listFields.has(field)) return null;
  const [old, now] = [itemsOf(before), itemsOf(after)];
  const added = now.filter((item) => !old.includes(item));
  const removed = old.filter((item) => !now.includes(item));
  return added.length + removed.length === 0 ? null : { added, removed };
}

/** The texts of members are JSON: a text among them is shown without its quotes. */
export function shownValue(t: TFunction, value: string | null, member: string | null): string {
  if (value === null) return t('audit.absent');
  if (value === '') return t('audit.empty');
  return member !== null && /^".*"$/s.test(value) ? String(JSON.parse(value)) : value;
}

/** Whether a switch is on is said in words. */
export function valueText(t: TFunction, { kind, id, member }: AuditChange, value: string | null): string {
  const isSwitch = kind === 'option' && isOptionKey(id) && optionRow(id).kind.name === 'switch';
  if (isSwitch && (value === 'true' || value === 'false')) return t(value === 'true' ? 'settings.on' : 'settings.off');
  return shownValue(t, value, member);
}

/** What names the thing itself, and what says nothing. */
const unsaid: ReadonlySet<string> = new Set(['id', 'name', 'username', 'key', 'type', 'trade_no', 'subject']);

/** Times as times, large numbers with their thousands, lists with room between their parts. */
const readable = (name: string, text: string): string =>
  /_(time|at)$/.test(name) && /^\d{10}$/.test(text)
    ? dateTime(Number(text))
    : /^\d{5,15}$/.test(text)
      ? grouped(Number(text))
      : text.replace(/,(?=\S)/g, ', ');

/** The detail is JSON of plain values. */
export const detailFields = (detail: string): readonly (readonly [name: string, value: unknown])[] =>
  Object.entries(JSON.parse(detail || '{}') as Record<string, unknown>);

/** What a call was made with, where nothing is kept of what it changed. */
export function detailText(detail: string): string {
  return detailFields(detail)
    .filter(([name, value]) => !unsaid.has(name) && value !== '***' && value !== null && value !== false)
    .map(([name, value]) => [name, String(value)] as const)
    .filter(([, text]) => !['', '0', '{}', '[]'].includes(text))
    .map(([name, text]) => `${name}: ${readable(name, text)}`)
    .join(' · ');
}

/** A change in one line: what it is of, unless that is what the row names anyway, and its values where these are short. */
export function changeText(t: TFunction, change: AuditChange, entry: Pick<AuditView, 'action' | 'target'>): string {
  const place = placeOf(t, change);
  const said = place === targetText(t, entry) ? '' : placeOf(t, change, change.id !== entry.target);
  if (change.hidden || listChange(change) !== null) return said || place;
  const values = [change.before, change.after].map((value) => valueText(t, change, value)).join(' → ');
  return values.length > longest ? said || place : said === '' ? values : `${said}: ${values}`;
}
