/** What a change of the audit trail is called, and its values as people read them. */
import type { TFunction } from 'i18next';
import type { AuditChange } from '../../../server/contract/entities.ts';

/** Longer values are read when the row is opened. */
const longest = 80;

/** @param whose the thing's own name, where the reader has to know which of several it is. */
export function placeOf(t: TFunction, { kind, id, field, member }: AuditChange, whose = true): string {
  const thing = kind === 'option' ? id : whose ? t(`audit.kind.${kind}`, { id }) : '';
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

/** A change in one line: what it is of, unless that is what the row names anyway, and its values where these are short. */
export function changeText(t: TFunction, change: AuditChange, target: string): string {
  const place = placeOf(t, change);
  const said = place === target ? '' : place;
  if (change.hidden || listChange(change) !== null) return said || place;
  const values = [change.before, change.after].map((value) => shownValue(t, value, change.member)).join(' → ');
  return values.length > longest ? said || place : said === '' ? values : `${said}: ${values}`;
}
