/** Links to documents: everybody's own, and others' for administrators; opened by whoever has one. */
import { Role } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { auditCall } from './audit-call.ts';
import type { HandlersOf } from './handlers-of.ts';
import { invoiceHandlers } from './invoice.ts';
import { firstPage, pageSize } from './page.ts';
import { scopeOf } from './statement.ts';
import { creator } from './token.ts';

export const linkHandlers: HandlersOf<'link.list' | 'link.create' | 'link.revoke' | 'link.open'> = {
  'link.list': async (call) => {
    const { actor, services, input } = call;
    const { p, page_size: size, keyword, all = false } = input;
    if (all && actor.via !== 'local' && actor.role < Role.admin) throw new AppError('role_too_low');
    return services.links.page(
      { keyword, userId: all ? undefined : await creator(call) },
      firstPage(p),
      pageSize(size),
    );
  },
  'link.create': async (call) => {
    const { services, input } = call;
    const { invoice = '', days, month = '' } = input;
    const maker = await creator(call);
    let made: Awaited<ReturnType<typeof services.links.toInvoice>>;
    if (invoice === '') {
      const whose = await scopeOf(call);
      const owner =
        whose.tokenId === undefined ? whose.userId : (await services.tokens.get(whose.tokenId, null)).user_id;
      made = await services.links.toStatement({ ...whose, userId: owner }, month, maker, days);
    } else {
      // Who may not read it may not give it away.
      const { number, buyer } = await invoiceHandlers['invoice.get']({ ...call, input: { number: invoice } });
      made = await services.links.toInvoice(number, buyer.user_id, maker, days);
    }
    await auditCall(call, 'link.create', { id: made.id, name: made.title, expires: made.expires_time });
    return made;
  },
  'link.revoke': async (call) => {
    const { actor, services, input } = call;
    const [userId, createdBy] = await services.links.ownersOf(input.id);
    const isOwn = actor.via === 'local' || [userId, createdBy].includes(actor.userId);
    // Another's does not exist for a user.
    if (!isOwn && actor.role < Role.admin) throw new AppError('not_found', { what: `link ${input.id}` });
    if (!isOwn && userId !== 0 && (await services.users.find(userId)) !== undefined)
      await services.userManagement.mayRead(actor, userId);
    await services.links.revoke(input.id);
    await auditCall(call, 'link.revoke', { id: input.id });
    return null;
  },
  'link.open': ({ services, input, meta, reply }) => {
    reply.header('X-Robots-Tag', 'noindex, nofollow');
    reply.header('Cache-Control', 'no-store');
    return services.links.open(input.secret, meta.ip);
  },
};
