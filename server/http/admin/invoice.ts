/** Invoices: everybody's own, and others' for administrators. */
import { Role } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { invoicesCsv } from '../../contract/invoice-csv.ts';
import type { Call, Download } from '../call.ts';
import { auditCall } from './audit-call.ts';
import type { HandlersOf } from './handlers-of.ts';
import { firstPage, pageSize } from './page.ts';
import { creator } from './token.ts';

/** @throws AppError role_too_low, user_rank_read, user_rank_update, user_unknown */
async function buyerIdOf(call: Call<{ readonly user?: number | undefined }>, changes: boolean): Promise<number> {
  const { actor, input, services } = call;
  const owner = input.user ?? (await creator(call));
  if (owner === actor.userId || actor.via === 'local') return owner;
  if (actor.role < Role.admin) throw new AppError('role_too_low');
  await services.userManagement[changes ? 'mayChange' : 'mayRead'](actor, owner);
  return owner;
}

export const invoiceHandlers: HandlersOf<
  'invoice.list' | 'invoice.list_self' | 'invoice.export' | 'invoice.get' | 'invoice.buyer' | 'invoice.save_buyer'
> = {
  'invoice.list': ({ services, input: { p, page_size: size, keyword, user: userId, kind, year } }) =>
    services.invoices.page({ keyword, userId, kind, year }, firstPage(p), pageSize(size)),
  'invoice.list_self': ({ services, actor, input: { p, page_size: size, kind, year } }) =>
    services.invoices.page({ userId: actor.userId, kind, year }, firstPage(p), pageSize(size)),
  'invoice.export': async (call): Promise<Download> => {
    const { actor, input, meta, services } = call;
    const { keyword, user: userId, kind, year, all = false } = input;
    const others = all || (keyword ?? '') !== '';
    if (others && actor.via !== 'local' && actor.role < Role.admin) throw new AppError('role_too_low');
    const filter = { keyword, kind, year, userId: others ? userId : await buyerIdOf(call, false) };
    return {
      name: `invoices${year === undefined ? '' : `-${year}`}.csv`,
      type: 'text/csv; charset=utf-8',
      chunks: invoicesCsv(services.invoices.export(filter), meta.language),
    };
  },
  'invoice.get': async ({ services, actor, input: { number } }) => {
    const owner = await services.invoices.ownerOf(number);
    const isOwn = owner === actor.userId || actor.via === 'local';
    // Another's does not exist for a user.
    if (!isOwn && actor.role < Role.admin) throw new AppError('not_found', { what: `invoice ${number}` });
    // Who is gone has no rank any more, and his invoices are kept.
    if (!isOwn && (await services.users.find(owner)) !== undefined) await services.userManagement.mayRead(actor, owner);
    return services.invoices.get(number);
  },
  'invoice.buyer': async (call) => call.services.invoices.buyer(await buyerIdOf(call, false)),
  'invoice.save_buyer': async (call) => {
    const { name, address, tax_id } = call.input;
    const userId = await buyerIdOf(call, true);
    const saved = await call.services.invoices.saveBuyer(userId, { name, address, tax_id });
    if (userId !== call.actor.userId) await auditCall(call, 'invoice.save_buyer', call.input);
    return saved;
  },
};
