/** Epay's forms and callbacks: fields in, fields out, signatures. */
import { createHash, timingSafeEqual } from 'node:crypto';

export type EpayFields = Readonly<Record<string, string>>;

/** MD5 over the sorted non-empty fields and the merchant's key, as this family of payment gateways defines it. */
export function epaySign(fields: EpayFields, key: string): string {
  const text = Object.keys(fields)
    .filter((name) => name !== 'sign' && name !== 'sign_type' && fields[name] !== '')
    .sort()
    .map((name) => `${name}=${fields[name]}`)
    .join('&');
  return createHash('md5')
    .update(text + key)
    .digest('hex');
}

export function verifyEpaySignature(fields: EpayFields, key: string): boolean {
  const given = Buffer.from((fields.sign ?? '').toLowerCase());
  const right = Buffer.from(epaySign(fields, key));
  return key !== '' && given.length === right.length && timingSafeEqual(given, right);
}

export interface EpayOrder {
  readonly merchant: string;
  readonly key: string;
  /** alipay or wxpay */
  readonly type: string;
  readonly tradeNo: string;
  readonly name: string;
  /** `73.00` */
  readonly money: string;
  readonly notifyUrl: string;
  readonly returnUrl: string;
}

/** Fields of the form a browser posts to the payment gateway. */
export function epayForm(order: EpayOrder): Record<string, string> {
  const fields = {
    pid: order.merchant,
    type: order.type,
    out_trade_no: order.tradeNo,
    notify_url: order.notifyUrl,
    return_url: order.returnUrl,
    name: order.name,
    money: order.money,
    device: 'pc',
    sign_type: 'MD5',
  };
  return { ...fields, sign: epaySign(fields, order.key) };
}

/** Payment methods as consoles name them. */
export const epayTypes: Readonly<Record<string, string>> = {
  zfb: 'alipay',
  alipay: 'alipay',
  wx: 'wxpay',
  wxpay: 'wxpay',
};

/** @param news query fields, or the body of a form. @returns null when a name came twice or a value is not text. */
export function epayFieldsOf(news: string | Readonly<Record<string, unknown>>): EpayFields | null {
  const pairs: [string, unknown][] = typeof news === 'string' ? [...new URLSearchParams(news)] : Object.entries(news);
  const flat = pairs.every((pair): pair is [string, string] => typeof pair[1] === 'string');
  return flat && new Set(pairs.map(([name]) => name)).size === pairs.length
    ? Object.fromEntries(pairs as [string, string][])
    : null;
}
