/** What is known of a model where it is served. */
import { AppError } from '../../contract/errors.ts';
import type { ModelRule } from '../../contract/model-rules.ts';
import { providerBySlug, providerByType } from '../../providers/catalogue.ts';
import { detailsOf, type Finding, type Rule, rulesOf } from '../../providers/knowledge/explanation.ts';
import { ownRows } from '../../providers/knowledge/own.ts';

export interface CapabilityDeps {
  /** @throws AppError not_found. */
  readonly channel: (id: number) => Promise<{ readonly type: number; readonly model_mapping: string }>;
  readonly ownRules: () => readonly ModelRule[];
}

export interface Known {
  readonly model: string;
  readonly upstream_model: string;
  readonly provider: string;
  readonly facts: readonly Finding[];
  readonly rules: readonly Rule[];
}

const rejectsPrefix = 'refuses ';

export interface Takes {
  readonly output_cap: number | null;
  readonly input_limit: number | null;
  readonly efforts: string[] | null;
  readonly refuses: string[];
  readonly inputs: string[] | null;
}

function mappedIn(mapping: string, model: string): string {
  try {
    const table = JSON.parse(mapping) as Record<string, unknown> | null;
    const found = table !== null && Object.hasOwn(table, model) ? table[model] : undefined;
    return typeof found === 'string' ? found : model;
  } catch {
    return model;
  }
}

export type CapabilityService = ReturnType<typeof createCapabilities>;

export const createCapabilities = (deps: CapabilityDeps) => ({
  /** Of a model at a channel, or at a provider by its slug. @throws AppError not_found. */
  async explain(model: string, at: { readonly channel?: number; readonly provider?: string }): Promise<Known> {
    const channel = at.channel === undefined ? null : await deps.channel(at.channel);
    const provider = channel === null ? providerBySlug(at.provider ?? '') : providerByType(channel.type);
    if (provider === undefined) throw new AppError('not_found', { what: at.provider ?? '' });
    const upstreamModel = channel === null ? model : mappedIn(channel.model_mapping, model);
    return {
      model,
      upstream_model: upstreamModel,
      provider: provider.slug,
      facts: detailsOf(provider.slug, upstreamModel, ownRows(deps.ownRules())),
      rules: rulesOf(provider.slug, upstreamModel),
    };
  },
  /** What holds of a model wherever it is served. */
  takes(model: string): Takes {
    const facts = detailsOf('', model, ownRows(deps.ownRules()));
    const of = (member: string): unknown => facts.find((fact) => fact.member === member)?.value;
    const number = (member: string) => (typeof of(member) === 'number' ? Number(of(member)) : null);
    const words = (member: string) => (Array.isArray(of(member)) ? (of(member) as string[]) : null);
    return {
      output_cap: number('outputCap'),
      input_limit: number('inputLimit'),
      efforts: words('efforts'),
      refuses: facts.flatMap(({ member }) =>
        member.startsWith(rejectsPrefix) ? [member.slice(rejectsPrefix.length)] : [],
      ),
      inputs: words('inputs'),
    };
  },
});
