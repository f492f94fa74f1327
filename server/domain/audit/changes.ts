/** What a change did, field by field, as the trail keeps it: before and after, of secrets only that they changed. */
import type { AuditChange, ThingKind } from '../../contract/entities.ts';

/** A thing as it is at a moment. */
export interface AuditedThing {
  readonly kind: ThingKind;
  /** Id, or the key of an option. */
  readonly id: string;
  /** Values as text by field; null = nothing is stored. */
  readonly fields: Readonly<Record<string, string | null>>;
  /** Fields whose values must not be kept. */
  readonly secret?: readonly string[];
}

export interface AuditChanges {
  readonly changes: readonly AuditChange[];
  /** Changes that are not kept, and values that are cut. */
  readonly left: number;
}

/** Changes that one row keeps: a price list that was applied touches hundreds of names. */
const maxChanges = 1000;
/** Characters of one value: the models of a large channel. */
const maxValue = 20_000;
/** Members of settings that may hold a secret: a proxy's address has a password in it. */
const secretMember = /pass|secret|token|key|proxy|header|auth/i;

const mapOf = (text: string | null): Readonly<Record<string, unknown>> | null => {
  if (text === null || text.trim() === '') return {};
  if (!text.trimStart().startsWith('{')) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
};

/** null where one of them is no map, or both are empty. */
function mapsOf(before: string | null, after: string | null) {
  const [one, other] = [mapOf(before), mapOf(after)];
  if (one === null || other === null) return null;
  return before?.trim().startsWith('{') || after?.trim().startsWith('{') ? ([one, other] as const) : null;
}

const jsonOf = (map: Readonly<Record<string, unknown>>, name: string): string | null =>
  Object.hasOwn(map, name) ? JSON.stringify(map[name]) : null;

function fieldChanges(before: AuditedThing, after: AuditedThing, field: string): AuditChange[] {
  const [old, now] = [before.fields[field] ?? null, after.fields[field] ?? null];
  if (old === now) return [];
  const place = { kind: before.kind, id: before.id, field };
  const change = (member: string | null, from: string | null, to: string | null, hidden: boolean): AuditChange =>
    hidden
      ? { ...place, member, before: null, after: null, hidden }
      : { ...place, member, before: from, after: to, hidden };
  if (before.secret?.includes(field) === true) return [change(null, old, now, true)];
  const maps = mapsOf(old, now);
  if (maps === null) return [change(null, old, now, false)];
  const [from, to] = maps;
  return [...new Set([...Object.keys(from), ...Object.keys(to)])]
    .map((member) => [member, jsonOf(from, member), jsonOf(to, member)] as const)
    .filter(([, one, other]) => one !== other)
    .map(([member, one, other]) => change(member, one, other, before.kind === 'channel' && secretMember.test(member)));
}

const isLong = ({ before, after }: AuditChange): boolean =>
  Math.max(before?.length ?? 0, after?.length ?? 0) > maxValue;
const cut = (text: string | null): string | null => (text === null ? null : text.slice(0, maxValue));

/** @param before and after are the same things. */
export function changesBetween(before: readonly AuditedThing[], after: readonly AuditedThing[]): AuditChanges {
  const now = new Map(after.map((thing) => [`${thing.kind} ${thing.id}`, thing]));
  const gone = (thing: AuditedThing): AuditedThing => ({ ...thing, fields: {} });
  const all = before.flatMap((thing) => {
    const other = now.get(`${thing.kind} ${thing.id}`) ?? gone(thing);
    return [...new Set([...Object.keys(thing.fields), ...Object.keys(other.fields)])].flatMap((field) =>
      fieldChanges(thing, other, field),
    );
  });
  const kept = all.slice(0, maxChanges);
  return {
    changes: kept.map((one) => (isLong(one) ? { ...one, before: cut(one.before), after: cut(one.after) } : one)),
    left: all.length - kept.length + kept.filter(isLong).length,
  };
}

/** @returns JSON text, '' = nothing changed. */
export const changesText = (found: AuditChanges): string =>
  found.changes.length === 0 ? '' : JSON.stringify({ changes: found.changes, left: found.left });

export function changesIn(text: string): AuditChanges {
  if (text === '') return { changes: [], left: 0 };
  return JSON.parse(text) as AuditChanges;
}

/** What may be put back: never secrets, money, passwords, and nothing that is not kept whole. */
export const isUndoable = ({ changes, left }: AuditChanges): boolean =>
  changes.length > 0 &&
  left === 0 &&
  changes.every(({ kind, hidden }) => !hidden && (kind === 'option' || kind === 'channel'));

/**
 * The field as it was, if all that the change did to it still stands.
 * @param now the field as it is; null = nothing is stored.
 * @param changes of that field alone.
 * @returns the text to store, or the member, '' for the whole field, that has changed since.
 */
export function undone(
  now: string | null,
  changes: readonly AuditChange[],
): { readonly text: string | null } | { readonly changedSince: string } {
  const [whole] = changes.filter(({ member }) => member === null);
  if (whole !== undefined) return whole.after === now ? { text: whole.before } : { changedSince: '' };
  const map = mapOf(now);
  if (map === null) return { changedSince: '' };
  const next: Record<string, unknown> = { ...map };
  for (const { member, before, after } of changes) {
    if (member === null || jsonOf(map, member) !== after) return { changedSince: member ?? '' };
    if (before === null) delete next[member];
    else next[member] = JSON.parse(before);
  }
  return { text: JSON.stringify(next) };
}
