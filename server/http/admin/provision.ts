/** The declarative file. */
import { textIn } from '../../contract/language.ts';
import type { ProvisionChange } from '../../contract/provision.ts';
import type { Call } from '../call.ts';
import type { HandlersOf } from './handlers-of.ts';

async function applied(
  { services, actor, meta, reply }: Call<unknown>,
  order: { readonly document: unknown; readonly dryRun: boolean; readonly prune: boolean },
): Promise<ProvisionChange[]> {
  const { scopes, userId, username } = actor;
  const changes = await services.provisioning.apply({
    ...order,
    actor: username,
    keyOwner: actor.via === 'local' ? 'owner' : 'other',
    scope: scopes === undefined ? undefined : { scopes, userId, username },
  });
  const notes = changes.flatMap(({ kind, name, notes: all = [] }) =>
    all.map((note) => `${kind} ${name}: ${textIn(note, meta.language)}`),
  );
  if (notes.length > 0) reply.message(notes.join('\n'));
  if (order.dryRun || changes.every(({ action }) => action === 'unchanged')) reply.unchanged();
  return changes;
}

export const provisionHandlers: HandlersOf<'provision.export' | 'provision.apply' | 'provision.diff'> = {
  'provision.export': ({ services, input }) => services.provisioning.export(input.balances ?? false),
  'provision.apply': (call) =>
    applied(call, {
      document: call.input.document,
      dryRun: call.input.dry_run ?? false,
      prune: call.input.prune ?? false,
    }),
  'provision.diff': (call) =>
    applied(call, { document: call.input.document, dryRun: true, prune: call.input.prune ?? false }),
};
