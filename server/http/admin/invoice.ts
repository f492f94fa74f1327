/** Invoices: everybody's own, and others' for administrators. */
import { Role } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import type { Call } from '../call.ts';
import type { HandlersOf } from './handlers-of.ts';
import { firstPage, pageSize } from './page.ts';
import { creator } from './token.ts';

/** @throws AppError role_too_low, user_rank_read, user_rank_update, user_unknown */
async function buyerOf(call: Call<{ readonly user?: number | undefined }>, changes: boolean): Promise<number> {
  const { actor, input, services } = call;
  const owner = input.user ?? (await creator(call));
  if (owner === actor.userId || actor.via === 'local') return owner;
  if (actor.role < Role.admin) throw new AppError('role_too_low');
  await services.userManagement[changes ? 'mayChange' : 'mayRead'](actor, owner);
  return owner;
}

export const invoiceHandlers: HandlersOf<
  'invoice.list' | 'invoice.list_self' | 'invoice.get' | 'invoice.buyer' | 'invoice.save_buyer'
> = {
  'invoice.list': ({ services, input: { p, page_size: size, keyword, user: userId, kind } }) =>
    services.invoices.page({ keyword, userId, kind }, firstPage(p), pageSize(size)),
  'invoice.list_self': ({ services, actor, input: { p, page_size: size, kind } }) =>
    services.invoices.page({ userId: actor.userId, kind }, firstPage(p), pageSize(size)),
  'invoice.get': async ({ services, actor, input: { number } }) => {
    const owner = await services.invoices.ownerOf(number);
    const isOwn = owner === actor.userId || actor.via === 'local';
    // Another's does not exist for a user.
    if (!isOwn && actor.role < Role.admin) throw new AppError('not_found', { what: `invoice ${number}` });
    // Who is gone has no rank any more, and his invoices are kept.
    if (!isOwn && (await services.users.find(owner)) !== undefined) await services.userManagement.mayRead(actor, owner);
    return services.invoices.get(number);
  },
  'invoice.buyer': async (call) => call.services.invoices.buyer(await buyerOf(call, false)),
  'invoice.save_buyer': async (call) => {
    const { name, address, tax_id } = call.input;
    return call.services.invoices.saveBuyer(await buyerOf(call, true), { name, address, tax_id });
  },
};
