/** Redemption codes. */
import { AppError } from '../../contract/errors.ts';
import type { HandlersOf } from './handlers.ts';
import { firstPage, pageSize } from './paging.ts';

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
  'redemption.list': ({ services, input }) =>
    services.redemptions.page('', firstPage(input.p), pageSize(input.page_size)),
  'redemption.search': ({ services, input }) =>
    services.redemptions.page(input.keyword ?? '', firstPage(input.p), pageSize(input.page_size)),
  'redemption.get': ({ services, input }) => services.redemptions.get(input.id),
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
