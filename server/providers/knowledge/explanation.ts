/** What is known of a model at a provider, and where each of it is known from. */
import { bareName, modelLimits } from '../../contract/model-limits.ts';
import { providerBySlug } from '../catalogue.ts';
import { ruleMember } from './own.ts';
import { providerRows } from './providers.ts';
import type { Demand, ModelRow, WithSource } from './row.ts';
import { fieldsOf, limitsSource, rowsFor } from './target.ts';

export interface Finding {
  /** As an operator's rule spells it: `outputCap`, `efforts`; `refuses temperature`. */
  readonly member: string;
  readonly value: unknown;
  readonly source: string;
  readonly assumed: boolean;
}

export interface Rule {
  readonly dialect: string;
  readonly member: string;
  readonly kind: Demand['kind'];
  /** What it becomes: another name, a bound, the words that are taken. */
  readonly value: unknown;
  readonly source: string;
  readonly assumed: boolean;
}

const lists = ['unsupported', 'unsupportedWithThinking'] as const;

const field = (member: string, value: unknown, { source, assumed }: WithSource): Finding => ({
  member,
  value,
  source,
  assumed: assumed === true,
});

/** @param provider slug of the catalogue. @param model as the upstream calls it. @param own the operator's rows. */
export function detailsOf(provider: string, model: string, own: readonly ModelRow[]): Finding[] {
  const details = new Map<string, Finding>();
  const limits = modelLimits(model);
  const source = limitsSource(limits);
  if (limits.known) {
    details.set('outputCap', field('outputCap', limits.output, { source }));
    details.set('inputLimit', field('inputLimit', limits.context, { source }));
    if (!limits.thinking) details.set('thinking', field('thinking', 'none', { source }));
  }
  const last = providerBySlug(provider)?.retired.get(model);
  if (last !== undefined) details.set('retired', field('retired', last, { source }));
  for (const row of rowsFor(provider, model, own)) {
    for (const parameter of row.supported ?? [])
      for (const list of lists) details.delete(`${ruleMember(list)} ${parameter}`);
    for (const list of lists)
      for (const parameter of row[list] ?? []) {
        const member = `${ruleMember(list)} ${parameter}`;
        details.set(member, field(member, true, row));
      }
    for (const [name, value] of Object.entries(fieldsOf(row))) {
      const member = ruleMember(name);
      details.set(member, field(member, value, row));
    }
  }
  return [...details.values()];
}

const demandFields = (demand: Demand): unknown => {
  switch (demand.kind) {
    case 'absent':
    case 'notNull':
    case 'alternating':
    case 'systemFirst':
      return null;
    case 'continued':
      return demand.member;
    case 'asked':
      return demand.by.role;
    case 'renamed':
      return demand.to;
    case 'atMost':
    case 'atLeast':
      return demand.value;
    case 'word':
      return demand.instead;
    case 'oneOf':
    case 'without':
      return demand.words;
    case 'present':
      return typeof demand.value === 'object' ? JSON.stringify(demand.value) : demand.value;
    case 'pictured':
      return demand.data;
    case 'mentions':
      return demand.word.source;
    case 'parted':
      return `${demand.after} ${demand.by.role} ${demand.before}`;
    case 'shaped':
      return demand.pattern.source;
  }
};

/** What the provider wants of requests for it, whatever its model is. */
export function rulesOf(provider: string, model: string): Rule[] {
  const name = bareName(model);
  return providerRows
    .filter((row) => row.provider === provider && (row.models === undefined || row.models.test(name)))
    .map(({ dialect, member, demand, source, assumed }) => ({
      dialect,
      member,
      kind: demand.kind,
      value: demandFields(demand),
      source,
      assumed: assumed === true,
    }));
}
