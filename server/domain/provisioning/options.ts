/** Options, groups and price maps of a declarative file. */
import { Role } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { isOptionKey, optionRow } from '../../contract/options.ts';
import type { ProvisionChange, ProvisionDocument } from '../../contract/provision.ts';
import type { OptionsService } from '../options/service.ts';
import { describeChanges, same } from './compare.ts';

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Names set to null are taken out. */
function merged(text: string, changes: Readonly<Record<string, unknown>>): string {
  const all: Record<string, unknown> = { ...(JSON.parse(text || '{}') as object), ...changes };
  return JSON.stringify(Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null)));
}

export async function applyOptions(
  options: OptionsService,
  document: ProvisionDocument,
  actor: string,
): Promise<ProvisionChange[]> {
  const expected = new Map<string, string | null>();
  for (const [key, value] of Object.entries(document.options ?? {}))
    expected.set(key, value === null ? null : textOf(value));
  const maps = { ...document.ratios, ...(document.groups === undefined ? {} : { GroupRatio: document.groups }) };
  for (const [key, names] of Object.entries(maps)) {
    if (!isOptionKey(key)) throw new AppError('option_unknown', { key });
    expected.set(key, merged(expected.get(key) ?? options.text(key), names));
  }
  const changes: ProvisionChange[] = [];
  // What another option needs is set before it.
  const dependent = ([key, value]: readonly [string, string | null]): boolean =>
    value === 'true' && isOptionKey(key) && optionRow(key).needs !== null;
  const ordered = [...expected].sort((one, other) => Number(dependent(one)) - Number(dependent(other)));
  for (const [key, value] of ordered) {
    if (!isOptionKey(key)) throw new AppError('option_unknown', { key });
    const { secret, fallback } = optionRow(key);
    const current = options.text(key);
    if (same(value ?? fallback, current)) {
      changes.push({ action: 'unchanged', kind: 'option', name: key, fields: [] });
      continue;
    }
    if (value === null) await options.reset(key, Role.root, actor);
    else await options.set(key, value, Role.root, actor);
    const fields = secret ? ['value: changed'] : describeChanges({ value: value ?? fallback }, { value: current });
    changes.push({ action: 'update', kind: 'option', name: key, fields });
  }
  return changes;
}
