/** The wallet: what a top-up costs, orders, and what the payment providers report. */
import { randomBytes } from 'node:crypto';
import type { EphemeralStore } from '../../../db/ephemeral-store.ts';
import type { Database } from '../../../db/open.ts';
import { createTopUpsRepository, type TopUpFilter, type TopUpRow } from '../../../db/repositories/top-ups.ts';
import type { UserRow } from '../../../db/repositories/users.ts';
import { type Ledger, orderRefundRef } from '../../billing/ledger/commands.ts';
import type { PaymentCallback, TopUpOrder } from '../../contract/entities.ts';
import { LogType } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { quotaRefunded } from '../../contract/invoice.ts';
import { storedText } from '../../contract/stored-texts.ts';
import type { AffiliateService } from '../affiliate/service.ts';
import type { InvoicesService } from '../invoices/service.ts';
import { eventLog, quotaWords } from '../logs/event.ts';
import type { OptionsService } from '../options/service.ts';
import { createRateLimit } from '../sessions/rate-limit.ts';
import type { UsersService } from '../users/service.ts';
import { epayFieldsOf, epayForm, epayTypes, verifyEpaySignature } from './epay.ts';
import { type CallbackOutcome, createInbox } from './payment-events.ts';
import { moneyOf, moneyText, quoteTopUp, type TopUpQuote } from './quote.ts';
import { minorUnits, openStripeSession, stripeEventOf, verifyStripeSignature } from './stripe.ts';

/** Pending orders older than this are shown as expired. */
const orderSeconds = 24 * 3600;
const epayCurrency = 'cny';
/** Orders a user may open in ten minutes. */
const maxOrders = 30;

export type WalletService = ReturnType<typeof createWallet>;

export function createWallet(deps: {
  readonly database: Database;
  readonly store: EphemeralStore;
  readonly ledger: Ledger;
  readonly options: OptionsService;
  readonly users: UsersService;
  readonly affiliate: Pick<AffiliateService, 'toppedUp'>;
  readonly invoices: Pick<InvoicesService, 'draft' | 'creditDraft'>;
  readonly fetch: typeof fetch;
  /** Epoch milliseconds. */
  readonly now: () => number;
}) {
  const { options } = deps;
  const repository = createTopUpsRepository(deps.database);
  const seconds = () => Math.floor(deps.now() / 1000);
  const ordering = createRateLimit('orders', 600, maxOrders, deps.store);
  const inbox = createInbox({ ...deps, repository, seconds });

  const quote = (user: UserRow, amount: number, price: number, currency: string): TopUpQuote =>
    quoteTopUp(amount, {
      price,
      min: options.get('MinTopUp'),
      groupRatio: options.get('TopupGroupRatio').get(user.group_name) ?? 1,
      inCurrency: options.get('DisplayInCurrencyEnabled'),
      quotaPerUnit: options.get('QuotaPerUnit'),
      minor: minorUnits(currency),
    });
  const quoteEpay = (user: UserRow, amount: number) => quote(user, amount, options.get('Price'), epayCurrency);

  /** @throws AppError too_many_attempts. */
  const open = async (user: UserRow, quoted: TopUpQuote, method: string, currency: string): Promise<string> => {
    if (!(await ordering.take(String(user.id)))) throw new AppError('too_many_attempts');
    const tradeNo = `USR${user.id}NO${randomBytes(6).toString('hex')}${seconds()}`;
    await repository.create({
      user_id: user.id,
      trade_no: tradeNo,
      method,
      amount: quoted.amount,
      quota: quoted.quota,
      money: quoted.money,
      currency,
      status: 'pending',
      created_at: seconds(),
      paid_at: 0,
    });
    return tradeNo;
  };

  const epay = () => ({
    address: options.get('PayAddress'),
    merchant: options.get('EpayId'),
    key: options.get('EpayKey'),
  });
  const site = () => options.get('ServerAddress');

  const epayWorks = (): boolean =>
    Object.values(epay()).every((part) => part !== '') && (options.get('CustomCallbackAddress') || site()) !== '';
  // Without the webhook's secret no payment could ever be credited.
  const stripeWorks = (): boolean =>
    options.get('StripeApiSecret') !== '' && options.get('StripeWebhookSecret') !== '' && site() !== '';

  return {
    /** Ways to pay, as newer scripts of the family read them. */
    info() {
      const min = options.get('MinTopUp');
      const method = (name: string, type: string, color: string) => ({ name, type, color, min_topup: String(min) });
      return {
        enable_online_topup: epayWorks(),
        enable_stripe_topup: stripeWorks(),
        enable_creem_topup: false,
        pay_methods: [
          ...(epayWorks() ? [method('支付宝', 'alipay', '#1677FF'), method('微信', 'wxpay', '#07C160')] : []),
          ...(stripeWorks() ? [method('Stripe', 'stripe', '#635BFF')] : []),
        ],
        min_topup: min,
        stripe_min_topup: min,
        amount_options: [],
        discount: {},
        topup_link: options.get('TopUpLink'),
      };
    },
    /** @returns the money asked for, `7.30`. @throws AppError topup_*. */
    amount: (user: UserRow, amount: number): string =>
      moneyText(quoteEpay(user, amount).money, minorUnits(epayCurrency)),
    /** Opens an order. @returns the form a browser posts to the payment gateway. @throws AppError topup_*. */
    async pay(user: UserRow, amount: number, method: string) {
      const { address, merchant, key } = epay();
      const type = Object.hasOwn(epayTypes, method) ? epayTypes[method] : undefined;
      const callback = options.get('CustomCallbackAddress') || site();
      if (!epayWorks()) throw new AppError('topup_unconfigured');
      if (type === undefined) throw new AppError('params_invalid', { detail: `payment_method ${method}` });
      const quoted = quoteEpay(user, amount);
      const tradeNo = await open(user, quoted, `epay:${type}`, epayCurrency);
      return {
        url: `${address}/submit.php`,
        form: epayForm({
          merchant,
          key,
          type,
          tradeNo,
          name: `TUC${quoted.amount}`,
          money: moneyText(quoted.money, minorUnits(epayCurrency)),
          notifyUrl: `${callback}/api/user/epay/notify`,
          returnUrl: `${callback}/api/user/epay/return`,
        }),
      };
    },
    /** Opens an order and a payment page for it. @returns its address. @throws AppError topup_*. */
    async payByStripe(user: UserRow, amount: number): Promise<string> {
      const secret = options.get('StripeApiSecret');
      if (!stripeWorks()) throw new AppError('topup_unconfigured');
      const currency = options.get('StripeCurrency').toLowerCase();
      const quoted = quote(user, amount, options.get('StripeUnitPrice'), currency);
      const tradeNo = await open(user, quoted, 'stripe', currency);
      const name = `${options.get('SystemName')} ${quoted.amount}`;
      const urls = { successUrl: `${site()}/log`, cancelUrl: `${site()}/topup` };
      return openStripeSession({ secret, tradeNo, name, money: quoted.money, currency, ...urls }, deps.fetch);
    },
    /** @param news query fields, or the body of a form. @returns whether the gateway may stop asking; false without configuration. */
    async epayNotified(news: string | Readonly<Record<string, unknown>>): Promise<boolean> {
      const { merchant, key } = epay();
      const fields = epayFieldsOf(news);
      if (merchant === '' || key === '') return false;
      if (fields === null || !verifyEpaySignature(fields, key) || fields.pid !== merchant) return false;
      const { out_trade_no: tradeNo = '', trade_no: theirs = '', trade_status: status = '', money = '' } = fields;
      const outcome = await inbox.receive({
        source: 'epay',
        eventId: `${theirs}:${tradeNo}:${status}`,
        tradeNo,
        paid: status === 'TRADE_SUCCESS',
        money: moneyOf(money, minorUnits(epayCurrency)) ?? -1,
        currency: epayCurrency,
        body: new URLSearchParams(fields).toString(),
      });
      return settled(outcome);
    },
    /** @returns false for a signature that does not fit. @throws AppError route_unknown without configuration. */
    async stripeNotified(body: string, signature: string): Promise<boolean> {
      const secret = options.get('StripeWebhookSecret');
      if (secret === '') throw new AppError('route_unknown', { method: 'POST', path: '/api/stripe/webhook' });
      if (!verifyStripeSignature(body, signature, secret, seconds())) return false;
      const event = stripeEventOf(body);
      // Signed, but none of our business: the sender need not repeat it.
      if (event === null) return true;
      if (event.expired) await repository.expire(event.tradeNo);
      const { id: eventId, tradeNo, paid, money, currency } = event;
      await inbox.receive({ source: 'stripe', eventId, tradeNo, paid, money, currency, body });
      return true;
    },
    /** Credits an order by hand, when the money came but no callback did. @throws AppError not_found, user_unknown, topup_paid. */
    async complete(tradeNo: string): Promise<TopUpOrder> {
      const order = await repository.find(tradeNo);
      if (order === undefined) throw new AppError('not_found', { what: `order ${tradeNo}` });
      const outcome = await inbox.credit(order, 0);
      if (outcome !== 'credited') throw new AppError(outcome === 'unmatched' ? 'user_unknown' : 'topup_paid');
      return orderView((await repository.find(tradeNo)) ?? order);
    },
    /**
     * The payer got money back: the quota goes back in proportion, and the order's invoice gets a credit note. The payment service is not
     * told of it.
     * @param money in the order's currency, `3.50`; absent = all that is left. @param stated what was given back before this, `0.00`: a
     * repeated call with it changes nothing; absent = whatever was. @throws AppError not_found, user_unknown, topup_unpaid,
     * topup_refund_amount, topup_refund_small, topup_refund_changed, user_insufficient
     */
    async refund(tradeNo: string, money?: string, stated?: string): Promise<TopUpOrder> {
      const order = await repository.find(tradeNo);
      if (order === undefined) throw new AppError('not_found', { what: `order ${tradeNo}` });
      const user = await deps.users.find(order.user_id);
      if (user === undefined) throw new AppError('user_unknown');
      const minor = minorUnits(order.currency);
      const before = stated === undefined ? order.refunded : moneyOf(stated.trim(), minor);
      if (before === null || before < 0 || before > order.refunded) throw changedOf(order);
      const left = order.money - before;
      if (order.status !== 'success' || left <= 0) throw new AppError('topup_unpaid');
      const given = money === undefined ? left : moneyOf(money.trim(), minor);
      if (given === null || given <= 0 || given > left)
        throw new AppError('topup_refund_amount', { most: moneyText(left, minor) });
      const at = seconds();
      const refunded = before + given;
      const { quota } = order;
      const amount = quotaRefunded(quota, order.money, refunded) - quotaRefunded(quota, order.money, before);
      if (amount === 0) throw new AppError('topup_refund_small');
      const paid = `${moneyText(given, minor)} ${order.currency.toUpperCase()}`;
      const result = await deps.ledger.execute({
        type: 'deduct',
        ref: orderRefundRef(tradeNo, refunded),
        userId: user.id,
        amount,
        at,
        order: {
          ...{ tradeNo, refunded, before },
          invoice: await deps.invoices.creditDraft({ ...order, refunded: before }, refunded, at),
        },
        log: eventLog({
          ...{ type: LogType.manage, at, user },
          content: storedText('orderRefunded', { paid, quota: quotaWords(options, amount) }),
          other: { trade_no: tradeNo, quota: amount, money: moneyText(given, minor), currency: order.currency },
        }),
      });
      const now = (await repository.find(tradeNo)) ?? order;
      // Without what was given back before, two calls at once are two refunds: the later one may not pass for the first.
      if (result.status === 'done' || (result.status === 'duplicate' && stated !== undefined)) return orderView(now);
      if (result.status === 'refused' && result.reason === 'insufficient') throw new AppError('user_insufficient');
      throw changedOf(now);
    },
    /** @param page 1-based. */
    async orders(filter: TopUpFilter, page: number, size: number) {
      const { rows, total } = await repository.page(filter, (page - 1) * size, size);
      return { items: rows.map(orderView), page, page_size: size, total };
    },
    /** Of all orders that are found, by status and currency. */
    async orderSums(filter: TopUpFilter) {
      const sums = await repository.sums(filter);
      return sums.map((sum) => ({ ...sum, money: moneyText(sum.money, minorUnits(sum.currency)) }));
    },
    /** @param outcome '' = all. @param page 1-based. */
    async callbacks(outcome: string, page: number, size: number) {
      const { rows, total } = await repository.callbackPage(outcome, (page - 1) * size, size);
      const items = rows.map(
        ({ id, source, event_id, trade_no, received_at, outcome: became, body }): PaymentCallback => ({
          id,
          source,
          event_id,
          trade_no,
          received_time: received_at,
          outcome: became,
          body,
        }),
      );
      return { items, page, page_size: size, total };
    },
    /** Unfinished callbacks and old orders; at start and now and then. */
    async sweep(): Promise<void> {
      await inbox.resume();
      await repository.expireOlder(seconds() - orderSeconds);
    },
  };
}

/** The rest stays visible to administrators, and the gateway goes on asking. */
const settled = (outcome: CallbackOutcome): boolean =>
  outcome === 'credited' || outcome === 'duplicate' || outcome === 'ignored';

/** Of what was given back, other than its caller or an earlier reading has it. */
const changedOf = ({ refunded, currency }: TopUpRow): AppError =>
  new AppError('topup_refund_changed', { refunded: moneyText(refunded, minorUnits(currency)) });

const orderView = (row: TopUpRow): TopUpOrder => ({
  id: row.id,
  user_id: row.user_id,
  username: row.username ?? '',
  trade_no: row.trade_no,
  payment_method: row.method,
  amount: row.amount,
  quota: row.quota,
  money: moneyText(row.money, minorUnits(row.currency)),
  currency: row.currency,
  status: row.status,
  create_time: row.created_at,
  complete_time: row.paid_at,
  refunded: moneyText(row.refunded, minorUnits(row.currency)),
  invoice: row.invoice ?? '',
});
