/** Price maps over time. */
import type { HandlersOf } from './handlers-of.ts';
import { firstPage, pageSize } from './page.ts';

export const ratioHandlers: HandlersOf<
  | 'ratio.history'
  | 'ratio.model_history'
  | 'ratio.changes'
  | 'ratio.unset'
  | 'ratio.rollback'
  | 'ratio.propose'
  | 'ratio.apply'
  | 'ratio.proposals'
  | 'ratio.apply_proposal'
  | 'ratio.reject_proposal'
  | 'ratio.simulate'
  | 'ratio.models'
  | 'ratio.set'
  | 'ratio.facts'
> = {
  'ratio.models': ({ services }) => services.models.rows(),
  'ratio.facts': async ({ services, input }) => services.models.details(input.models),
  'ratio.set': ({ services, actor, input }) => services.pricing.setModels(input.models, actor.role, actor.username),
  'ratio.history': ({ services, input }) => services.pricing.history(firstPage(input.p), pageSize(input.page_size)),
  'ratio.model_history': ({ services, input }) => services.pricing.modelHistory(input.model),
  'ratio.changes': ({ services, input }) => services.pricing.changes(input.id),
  'ratio.unset': async ({ services }) => services.pricing.unset(await services.channels.enabledTypes()),
  'ratio.rollback': ({ services, actor, input }) =>
    services.pricing.rollback(input.version, actor.role, actor.username),
  'ratio.propose': async ({ services, input }) =>
    services.pricing.propose(input.text, await services.channels.enabledModels(), input.careful === true),
  'ratio.apply': async ({ services, actor, input }) => ({
    version: await services.pricing.apply(input.values, actor.role, actor.username, input.reason),
  }),
  'ratio.proposals': ({ services }) => services.proposals.list(),
  'ratio.apply_proposal': ({ services, actor, input: { source, names, at } }) =>
    services.proposals.apply({ source, names: names ?? null, at }, actor.role, actor.username),
  'ratio.reject_proposal': async ({ services, input: { source, names, at } }) => ({
    rejected: (await services.proposals.reject({ source, names: names ?? null, at })).length,
  }),
  'ratio.simulate': ({ services, input }) =>
    services.pricing.simulate(input.since ?? 0, input.values ?? {}, input.models),
};
