/** The wallet: online top-up, its orders and callbacks, invitations. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { page, paymentCallbackShape, topUpOrderShape, topUpSumShape } from '../entities.ts';
import { number, text } from './fields.ts';

const pagination = { p: number, page_size: number };
/** `message` is `success` or `error`; after an error `data` is its text. */
const priceOutput = z.object({ message: z.string(), data: z.string() });
/** Fields of the form that the browser posts to the payment gateway at `url`. */
const paymentForm = z.object({
  message: z.string(),
  data: z.union([z.record(z.string(), z.string()), z.string()]),
  url: z.optional(z.string()),
});
const paymentLink = z.object({
  message: z.string(),
  data: z.union([z.object({ pay_link: z.string() }), z.string()]),
});
/** Fields of a payment gateway, whatever it sends. */
const anything = z.record(z.string(), z.unknown());
/** A body that is checked byte by byte. */
const signedText = z.object({ body: z.string(), signature: z.string() });

export const walletEndpoints = [
  endpoint({
    id: 'wallet.amount',
    method: 'POST',
    path: '/api/user/amount',
    access: 'user',
    input: z.object({ amount: number, top_up_code: text }),
    output: priceOutput,
    summary: { zh: '充值金额', en: 'What a top-up costs' },
    envelope: 'raw',
  }),
  endpoint({
    id: 'wallet.pay',
    method: 'POST',
    path: '/api/user/pay',
    access: 'user',
    input: z.object({ amount: number, top_up_code: text, payment_method: text }),
    output: paymentForm,
    summary: { zh: '发起支付', en: 'Open an order and get the payment form' },
    envelope: 'raw',
  }),
  endpoint({
    id: 'wallet.stripe_pay',
    method: 'POST',
    path: '/api/user/stripe/pay',
    access: 'user',
    input: z.object({ amount: number }),
    output: paymentLink,
    summary: { zh: '发起 Stripe 支付', en: 'Open an order and get the address of a Stripe payment page' },
    envelope: 'raw',
  }),
  endpoint({
    id: 'wallet.epay_notify',
    method: 'GET',
    path: '/api/user/epay/notify',
    access: 'public',
    input: anything,
    output: z.string(),
    summary: { zh: '易支付通知', en: 'Epay reports a payment' },
    envelope: 'text',
  }),
  endpoint({
    id: 'wallet.epay_notify_post',
    method: 'POST',
    path: '/api/user/epay/notify',
    access: 'public',
    input: signedText,
    output: z.string(),
    summary: { zh: '易支付通知', en: 'Epay reports a payment' },
    envelope: 'text',
    body: 'text',
    demo: true,
  }),
  endpoint({
    id: 'wallet.epay_return',
    method: 'GET',
    path: '/api/user/epay/return',
    access: 'public',
    input: anything,
    output: z.string(),
    summary: { zh: '支付后返回', en: 'The browser comes back from Epay' },
    envelope: 'redirect',
  }),
  endpoint({
    id: 'wallet.stripe_webhook',
    method: 'POST',
    path: '/api/stripe/webhook',
    access: 'public',
    input: signedText,
    output: z.string(),
    summary: { zh: 'Stripe 通知', en: 'Stripe reports a payment' },
    envelope: 'text',
    body: 'text',
    demo: true,
  }),
  endpoint({
    id: 'wallet.orders_self',
    method: 'GET',
    path: '/api/user/topup/self',
    access: 'user',
    input: z.object(pagination),
    output: page(topUpOrderShape),
    summary: { zh: '自己的充值订单', en: 'Own top-up orders' },
  }),
  endpoint({
    id: 'wallet.orders',
    method: 'GET',
    path: '/api/user/topup',
    access: 'admin',
    input: z.object({ ...pagination, keyword: text, status: text }),
    // The sums are of all orders that are found, whichever page is shown.
    output: z.object({ ...page(topUpOrderShape).shape, sums: z.array(topUpSumShape) }),
    summary: { zh: '充值订单', en: 'Top-up orders' },
  }),
  endpoint({
    id: 'wallet.callbacks',
    method: 'GET',
    path: '/api/user/topup/callbacks',
    access: 'admin',
    input: z.object({ ...pagination, outcome: text }),
    output: page(paymentCallbackShape),
    summary: { zh: '支付回调', en: 'Payment callbacks and what became of them' },
  }),
  endpoint({
    id: 'wallet.complete',
    method: 'POST',
    path: '/api/user/topup/complete',
    access: 'root',
    input: z.object({ trade_no: z.string() }),
    output: topUpOrderShape,
    summary: { zh: '手动完成订单', en: 'Credit an order by hand' },
  }),
  endpoint({
    id: 'wallet.refund',
    method: 'POST',
    path: '/api/user/topup/refund',
    access: 'root',
    /**
     * `money` in the order's currency, such as `3.50`; all that is left without it. `refunded`: what the order had given back before,
     * as it says itself: with it a call can be repeated and counts once.
     */
    input: z.object({ trade_no: z.string(), money: text, refunded: text }),
    output: topUpOrderShape,
    summary: {
      zh: '登记订单退款：扣回相应额度并开具红字发票',
      en: 'Note that a paid order was given back: takes its quota back and makes a credit note',
    },
  }),
  endpoint({
    id: 'affiliate.code',
    method: 'GET',
    path: '/api/user/aff',
    access: 'user',
    input: z.object({}),
    output: z.string(),
    summary: { zh: '邀请码', en: 'Own invitation code' },
  }),
  endpoint({
    id: 'affiliate.transfer',
    method: 'POST',
    path: '/api/user/aff_transfer',
    access: 'user',
    input: z.object({ quota: number }),
    output: z.unknown(),
    summary: { zh: '划转邀请额度', en: 'Move earned quota into the balance' },
    done: { zh: '划转成功', en: 'Transferred' },
  }),
] as const;
