/** Redemption codes. */
import type { Redemption } from '../../contract/entities.ts';
import { AppError } from '../../contract/errors.ts';
import { scopesAllow } from '../../contract/scopes.ts';
import { keyHint } from '../../domain/secrets/vault.ts';
import type { Actor } from '../call.ts';
import type { HandlersOf } from './handlers-of.ts';
import { firstPage, pageSize } from './page.ts';

/** A caller who may only read does not get the codes themselves. */
const visibleTo =
  (actor: Actor) =>
  (code: Redemption): Redemption =>
    actor.scopes === undefined || scopesAllow(actor.scopes, { id: 'redemption.create' }, true)
      ? code
      : { ...code, key: keyHint(code.key) };

const pageFor = async <Page extends { readonly items: readonly Redemption[] }>(actor: Actor, found: Promise<Page>) => {
  const page = await found;
  return { ...page, items: page.items.map(visibleTo(actor)) };
};

export const redemptionHandlers: HandlersOf<
  | 'redemption.list'
  | 'redemption.search'
  | 'redemption.get'
  | 'redemption.create'
  | 'redemption.update'
  | 'redemption.delete_invalid'
  | 'redemption.delete'
  | 'redemption.redeem'
> = {
  'redemption.list': ({ services, actor, input }) =>
    pageFor(
      actor,
      services.redemptions.page({ status: input.status }, firstPage(input.p), pageSize(input.page_size), input.sort),
    ),
  'redemption.search': ({ services, actor, input }) =>
    pageFor(
      actor,
      services.redemptions.page(
        { keyword: input.keyword, status: input.status },
        firstPage(input.p),
        pageSize(input.page_size),
        input.sort,
      ),
    ),
  'redemption.get': async ({ services, actor, input }) => visibleTo(actor)(await services.redemptions.get(input.id)),
  'redemption.create': ({ services, actor, input }) => services.redemptions.create(actor.userId, input),
  'redemption.update': ({ services, input }) =>
    services.redemptions.update(input.id, input, input.status_only ?? false),
  'redemption.delete_invalid': ({ services }) => services.redemptions.removeInvalid(),
  'redemption.delete': ({ services, input }) => services.redemptions.remove(input.id),
  'redemption.redeem': async ({ services, actor, input }) => {
    const user = await services.users.find(actor.userId);
    if (user === undefined) throw new AppError('user_unknown');
    return services.redemptions.redeem(user, input.key ?? '');
  },
};
