/** The audit trail, for the super administrator. */
import type { Services } from '../../app/services.ts';
import { endpointById } from '../../contract/endpoints/index.ts';
import type { AuditChange, AuditView } from '../../contract/entities.ts';
import type { Language } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { textIn } from '../../contract/language.ts';
import { undone } from '../../domain/audit/changes.ts';
import type { AuditRecord } from '../../domain/audit/service.ts';
import { readThings } from '../audited-things.ts';
import type { Actor } from '../call.ts';
import { keyOwnerOf } from './channel.ts';
import type { HandlersOf } from './handlers-of.ts';

const pageSize = (size: number | undefined): number => Math.min(100, size === undefined || size <= 0 ? 10 : size);

/** With what was done in the reader's words: what a colon or a semicolon adds to them is about the call. */
export function labelled(record: AuditRecord, language: Language): AuditView {
  const row = endpointById(record.action);
  return {
    ...record,
    action_label: row === undefined ? record.action : (textIn(row.summary, language).split(/[:;：；]/)[0] ?? ''),
  };
}

export const auditHandlers: HandlersOf<'audit.list' | 'audit.get' | 'audit.undo' | 'audit.verify'> = {
  async 'audit.list'({ services, input: { p, page_size: size, action, actor, target, from, to }, meta }) {
    const found = await services.audit.page(Math.max(1, p ?? 1), pageSize(size), {
      ...{ action: action || undefined, actor: actor || undefined, target: target || undefined },
      ...{ from: from || undefined, to: to || undefined },
    });
    return { ...found, items: found.items.map((record) => labelled(record, meta.language)) };
  },
  'audit.get': async ({ services, input, meta }) => labelled(await services.audit.find(input.id), meta.language),
  async 'audit.undo'({ services, actor, input }) {
    const { changes, undoable } = await services.audit.find(input.id);
    if (!undoable) throw new AppError('audit_not_undoable', { id: input.id });
    const plan = await planOf(services, changes);
    await putBack(services, actor, input.id, plan);
    return { undone: changes.length };
  },
  'audit.verify': ({ services }) => services.audit.verify(),
};

interface Step {
  readonly kind: AuditChange['kind'];
  readonly id: string;
  readonly field: string;
  /** null = back to what it is without a value. */
  readonly text: string | null;
}

/** Looks at all of them before anything is written. @throws AppError audit_changed_since */
async function planOf(services: Services, changes: readonly AuditChange[]): Promise<readonly Step[]> {
  const groups = Map.groupBy(changes, ({ kind, id, field }) => JSON.stringify([kind, id, field]));
  const steps: Step[] = [];
  for (const group of groups.values()) {
    const [{ kind, id, field } = changes[0] as AuditChange] = group;
    const [thing] = await readThings(services, [{ kind, id }]);
    const name = kind === 'option' ? id : `${kind} ${id} ${field}`;
    if (thing === undefined) throw new AppError('audit_changed_since', { what: name });
    const found = undone(thing.fields[field] ?? null, group);
    if ('changedSince' in found)
      throw new AppError('audit_changed_since', { what: `${name} ${found.changedSince}`.trim() });
    steps.push({ kind, id, field, text: found.text });
  }
  return steps;
}

/** An entry is of options or of channels. Options are written at once; a channel that refuses leaves those before it put back. */
async function putBack(services: Services, actor: Actor, entry: number, steps: readonly Step[]): Promise<void> {
  const options = steps.filter(({ kind }) => kind === 'option');
  const texts = Object.fromEntries(options.map(({ id, text }) => [id, text]));
  if (options.length > 0) await services.options.setMany(texts, actor.role, actor.username, `undo ${entry}`);
  const channels = Map.groupBy(
    steps.filter(({ kind }) => kind === 'channel'),
    ({ id }) => id,
  );
  for (const [id, fields] of channels)
    await services.channels.update(
      Number(id),
      Object.fromEntries(fields.map(({ field, text }) => [field, typedValue(field, text)])),
      keyOwnerOf(actor),
    );
}

const numbers: ReadonlySet<string> = new Set([
  ...['type', 'status', 'priority', 'weight', 'auto_ban', 'max_input_tokens'],
]);
const typedValue = (field: string, text: string | null): string | number =>
  numbers.has(field) ? Number(text ?? 0) : (text ?? '');
