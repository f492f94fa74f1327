/** Stripe Checkout: opens a payment page and reads signed events. Source: Stripe's API reference, "Create a Checkout Session" and "Webhook signatures". */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { AppError } from '../../contract/errors.ts';

/** Seconds an event's signature may be old or ahead. */
const tolerance = 300;
const sessionsUrl = 'https://api.stripe.com/v1/checkout/sessions';
const timeoutMs = 15_000;

/** Currencies whose smallest unit is the unit itself. */
const whole = new Set('bif clp djf gnf jpy kmf krw mga pyg rwf ugx vnd vuv xaf xof xpf'.split(' '));
export const minorUnits = (currency: string): number => (whole.has(currency.toLowerCase()) ? 1 : 100);

/** @param header `Stripe-Signature`: `t=<seconds>,v1=<hex>[,v1=<hex>]`. @param now epoch seconds. */
export function verifyStripeSignature(body: string, header: string, secret: string, now: number): boolean {
  if (secret === '') return false;
  const parts = header.split(',').map((part) => part.trim().split('='));
  const at = parts.find(([name]) => name === 't')?.[1] ?? '';
  if (!/^\d{1,12}$/.test(at) || Math.abs(now - Number(at)) > tolerance) return false;
  const right = createHmac('sha256', secret).update(`${at}.${body}`).digest();
  return parts
    .filter(([name]) => name === 'v1')
    .some(([, hex = '']) => {
      const given = Buffer.from(hex, 'hex');
      return given.length === right.length && timingSafeEqual(given, right);
    });
}

export interface StripeEvent {
  readonly id: string;
  readonly type: string;
  readonly tradeNo: string;
  readonly paid: boolean;
  readonly expired: boolean;
  readonly money: number;
  readonly currency: string;
}

const paidTypes = ['checkout.session.completed', 'checkout.session.async_payment_succeeded'];

/** @returns null for anything that is no event about a payment page. */
export function stripeEventOf(body: string): StripeEvent | null {
  let event: unknown;
  try {
    event = JSON.parse(body);
  } catch {
    return null;
  }
  const { id, type, data } = (event ?? {}) as { id?: unknown; type?: unknown; data?: { object?: unknown } };
  const session = data?.object as Record<string, unknown> | null | undefined;
  if (
    typeof id !== 'string' ||
    id === '' ||
    typeof type !== 'string' ||
    typeof session !== 'object' ||
    session === null
  )
    return null;
  return {
    id,
    type,
    tradeNo: typeof session.client_reference_id === 'string' ? session.client_reference_id : '',
    paid: paidTypes.includes(type) && session.payment_status === 'paid',
    expired: type === 'checkout.session.expired',
    money: typeof session.amount_total === 'number' ? session.amount_total : -1,
    currency: typeof session.currency === 'string' ? session.currency.toLowerCase() : '',
  };
}

export interface StripeOrder {
  readonly secret: string;
  readonly tradeNo: string;
  readonly name: string;
  /** Smallest units. */
  readonly money: number;
  readonly currency: string;
  readonly successUrl: string;
  readonly cancelUrl: string;
}

/** @returns address of the payment page. @throws AppError topup_pay_failed. */
export async function openStripeSession(order: StripeOrder, send: typeof fetch): Promise<string> {
  const form = new URLSearchParams({
    mode: 'payment',
    client_reference_id: order.tradeNo,
    success_url: order.successUrl,
    cancel_url: order.cancelUrl,
    'line_items[0][quantity]': '1',
    'line_items[0][price_data][currency]': order.currency,
    'line_items[0][price_data][unit_amount]': String(order.money),
    'line_items[0][price_data][product_data][name]': order.name,
  });
  try {
    const response = await send(sessionsUrl, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${order.secret}`,
        'content-type': 'application/x-www-form-urlencoded',
        'idempotency-key': order.tradeNo,
      },
      body: form.toString(),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const { url } = (await response.json()) as { url?: unknown };
    if (response.ok && typeof url === 'string' && url.startsWith('https://')) return url;
    throw new Error(`status ${response.status}`);
  } catch (error) {
    throw new AppError('topup_pay_failed', {}, error);
  }
}
