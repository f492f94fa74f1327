/**
 * What a program that signed in carries: a token that the site signed and every node can check by itself. It names the row that it
 * spends from and its own end; the row decides about everything else. The signature covers the row's lookup hash, so that a new
 * key of the row ends it.
 */
import { timingSafeEqual } from 'node:crypto';
import { bareKey } from './token-key.ts';

const prefix = 'gas_';
/** Row and end in base 36, HMAC-SHA-256 in hexadecimal. Without dashes: what stands behind one may name a channel. */
const form = /^gas_([\da-z]{1,11})_([\da-z]{1,11})_([\da-f]{64})$/;

export interface AgentToken {
  /** The id of the row of `tokens`. */
  readonly id: number;
  /** Epoch seconds at which it stops working. */
  readonly end: number;
  readonly signature: string;
}

/** @param keyHmac under the site's secret. */
const signatureOf = (keyHmac: (text: string) => string, id: number, end: number, rowHmac: string): string =>
  keyHmac(`agent token:${id}:${end}:${rowHmac}`);

/** @param rowHmac lookup hash of the row's key. @param end epoch seconds. */
export function signAgentToken(keyHmac: (text: string) => string, id: number, end: number, rowHmac: string): string {
  return `${prefix}${id.toString(36)}_${end.toString(36)}_${signatureOf(keyHmac, id, end, rowHmac)}`;
}

/** @param presented with or without `sk-`, which some clients add. @returns null when it has another form; nothing is proved by the form. */
export function readAgentToken(presented: string): AgentToken | null {
  if (!presented.includes(prefix)) return null;
  const [, id = '', end = '', signature = ''] = form.exec(bareKey(presented)) ?? [];
  return signature === '' ? null : { id: Number.parseInt(id, 36), end: Number.parseInt(end, 36), signature };
}

/** In a time that does not depend on where it differs. */
export function isSignedFor(keyHmac: (text: string) => string, { id, end, signature }: AgentToken, rowHmac: string) {
  return timingSafeEqual(Buffer.from(signatureOf(keyHmac, id, end, rowHmac)), Buffer.from(signature));
}
