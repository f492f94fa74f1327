/** Addresses that carry their own proof: HMAC-SHA256 over host, date and request line, in the query. Source: iFlytek's description of its addresses. */
import { createHmac } from 'node:crypto';

export interface UrlSecret {
  readonly apiKey: string;
  readonly apiSecret: string;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** @param nowMs the upstream accepts five minutes of difference. */
export function signUrl(address: string, { apiKey, apiSecret }: UrlSecret, nowMs: number): string {
  const { host, pathname } = new URL(address);
  const date = new Date(nowMs).toUTCString();
  const signed = `host: ${host}\ndate: ${date}\nGET ${pathname} HTTP/1.1`;
  const signature = createHmac('sha256', apiSecret).update(signed).digest('base64');
  const proof = `api_key="${apiKey}", algorithm="hmac-sha256", headers="host date request-line", signature="${signature}"`;
  return `${address}?${new URLSearchParams({ authorization: base64(proof), date, host })}`;
}
