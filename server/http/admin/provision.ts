/** The declarative file. */
import type { HandlersOf } from './handlers-of.ts';

export const provisionHandlers: HandlersOf<'provision.export' | 'provision.apply'> = {
  'provision.export': ({ services }) => services.provisioning.export(),
  'provision.apply': ({ services, input, actor }) =>
    services.provisioning.apply({
      document: input.document,
      dryRun: input.dry_run ?? false,
      prune: input.prune ?? false,
      actor: actor.username,
      holder: actor.via === 'local' ? 'owner' : 'other',
    }),
};
