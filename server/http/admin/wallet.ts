/** The wallet and invitations. */
import type { UserRow } from '../../../db/repositories/users.ts';
import { AppError, formatError } from '../../contract/errors.ts';
import type { Call } from '../call.ts';
import type { HandlersOf } from './handlers-of.ts';
import { firstPage, pageSize } from './page.ts';

async function caller({ services, actor }: Call): Promise<UserRow> {
  const user = await services.users.find(actor.userId);
  if (user === undefined) throw new AppError('user_unknown');
  return user;
}

/** These calls say what went wrong in `data`; the flag and the code are there for everybody else. */
async function reply<Answer extends { readonly data: unknown }>(call: Call, work: () => Promise<Answer>) {
  try {
    return { success: true, message: 'success', ...(await work()) };
  } catch (error) {
    if (!(error instanceof AppError) || error.row.class === 'ours') throw error;
    const { code, params } = error;
    return { success: false, message: 'error', data: formatError(code, params, call.meta.language), code };
  }
}

export const walletHandlers: HandlersOf<
  | 'wallet.amount'
  | 'wallet.pay'
  | 'wallet.stripe_pay'
  | 'wallet.epay_notify'
  | 'wallet.epay_notify_post'
  | 'wallet.epay_return'
  | 'wallet.stripe_webhook'
  | 'wallet.orders_self'
  | 'wallet.orders'
  | 'wallet.callbacks'
  | 'wallet.complete'
  | 'wallet.refund'
  | 'affiliate.code'
  | 'affiliate.transfer'
> = {
  'wallet.amount': (call) =>
    reply(call, async () => ({ data: call.services.wallet.amount(await caller(call), call.input.amount ?? 0) })),
  'wallet.pay': (call) =>
    reply(call, async () => {
      const { amount = 0, payment_method: method = '' } = call.input;
      const { url, form } = await call.services.wallet.pay(await caller(call), amount, method);
      return { data: form, url };
    }),
  'wallet.stripe_pay': (call) =>
    reply(call, async () => ({
      data: { pay_link: await call.services.wallet.payByStripe(await caller(call), call.input.amount ?? 0) },
    })),
  'wallet.epay_notify': async ({ services, input }) =>
    (await services.wallet.epayNotified(input)) ? 'success' : 'fail',
  'wallet.epay_notify_post': async ({ services, input }) =>
    (await services.wallet.epayNotified(input.body)) ? 'success' : 'fail',
  'wallet.epay_return': async ({ services, meta, input }) => {
    await services.wallet.epayNotified(input);
    return `${meta.basePath}/log`;
  },
  'wallet.stripe_webhook': async ({ services, input }) => {
    if (!(await services.wallet.stripeNotified(input.body, input.signature)))
      throw new AppError('params_invalid', { detail: 'signature' });
    return 'ok';
  },
  'wallet.orders_self': ({ services, actor, input }) =>
    services.wallet.orders({ userId: actor.userId }, firstPage(input.p), pageSize(input.page_size)),
  'wallet.orders': async ({ services, input }) => {
    const filter = { keyword: input.keyword, status: input.status };
    const found = await services.wallet.orders(filter, firstPage(input.p), pageSize(input.page_size));
    return { ...found, sums: await services.wallet.orderSums(filter) };
  },
  'wallet.callbacks': ({ services, input }) =>
    services.wallet.callbacks(input.outcome ?? '', firstPage(input.p), pageSize(input.page_size)),
  'wallet.complete': ({ services, input }) => services.wallet.complete(input.trade_no),
  'wallet.refund': ({ services, input }) => services.wallet.refund(input.trade_no, input.money, input.refunded),
  'affiliate.code': ({ services, actor }) => services.affiliate.code(actor.userId),
  'affiliate.transfer': async (call) => call.services.affiliate.transfer(await caller(call), call.input.quota ?? 0),
};
