/** What is known of a model at a provider: limits of the table, then every row that names it. */
import { bareName, type ModelLimits, modelLimits } from '../../contract/model-limits.ts';
import { type ModelParameter, type Target, unknownTarget } from '../../protocols/target.ts';
import { modelRows } from './models.ts';
import type { ModelRow } from './row.ts';

/** Clients choose the names that are asked for. */
const maxKnown = 5000;
const none: readonly ModelRow[] = [];
/** By the operator's rows, which are new ones after each change. */
const known = new WeakMap<readonly ModelRow[], Map<string, Target>>();

/**
 * @param provider slug of the catalogue.
 * @param model as the upstream calls it.
 * @param own the operator's rows: they win.
 */
export function targetFor(provider: string, model: string, own: readonly ModelRow[] = none): Target {
  let targets = known.get(own);
  if (targets === undefined) {
    targets = new Map();
    known.set(own, targets);
  }
  const key = `${provider} ${model}`;
  const found = targets.get(key);
  if (found !== undefined) return found;
  if (targets.size >= maxKnown) targets.clear();
  const made = targetOf(model, rowsFor(provider, model, own));
  targets.set(key, made);
  return made;
}

/** The rows that speak of it, the last one wins. */
export function rowsFor(provider: string, model: string, own: readonly ModelRow[] = none): readonly ModelRow[] {
  const name = bareName(model);
  return [...modelRows, ...own].filter(
    (row) => (row.provider === undefined || row.provider === provider) && row.models.test(name),
  );
}

/** Where the limits come from that no row says. */
export const limitsSource = ({ published }: ModelLimits): string =>
  published === true
    ? 'https://github.com/BerriAI/litellm/blob/main/model_prices_and_context_window.json'
    : 'https://models.dev';

/** @param rows those that speak of the model. */
export function targetOf(model: string, rows: readonly ModelRow[]): Target {
  const limits = modelLimits(model);
  if (rows.length === 0 && !limits.known) return unknownTarget;
  const unsupported = new Set<ModelParameter>();
  const unsupportedWithThinking = new Set<ModelParameter>();
  let target: Target = limits.known
    ? {
        ...unknownTarget,
        outputCap: limits.output,
        inputLimit: limits.context,
        thinking: limits.thinking ? null : 'none',
      }
    : unknownTarget;
  for (const row of rows) {
    for (const member of row.supported ?? []) {
      unsupported.delete(member);
      unsupportedWithThinking.delete(member);
    }
    for (const member of row.unsupported ?? []) unsupported.add(member);
    for (const member of row.unsupportedWithThinking ?? []) unsupportedWithThinking.add(member);
    target = { ...target, ...fieldsOf(row) };
  }
  return { ...target, unsupported, unsupportedWithThinking };
}

/** What a row says besides what is refused. */
export function fieldsOf(row: ModelRow): Partial<Omit<Target, 'unsupported' | 'unsupportedWithThinking'>> {
  const { models, provider, source, assumed, supported, unsupported, unsupportedWithThinking, ...rest } = row;
  return rest;
}

/** Whether a word of effort may stand behind a name. Names with a maker's are those of hosts that have such models themselves. */
export const hasEffortSuffix = (model: string): boolean => !model.includes('/') && targetFor('', model).effortSuffix;

const demands = new WeakMap<Target, string>();

function demandsOf(target: Target): string {
  const known = demands.get(target);
  if (known !== undefined) return known;
  const { unsupported, unsupportedWithThinking, thoughtsVisible, tokensPerSecond, apartThought, ...rest } = target;
  const made = JSON.stringify([rest, [...unsupported].toSorted(), [...unsupportedWithThinking].toSorted()]);
  demands.set(target, made);
  return made;
}

/** Whether two models take the same. */
export const sameDemands = (one: Target, other: Target): boolean =>
  one === other || demandsOf(one) === demandsOf(other);
