/** JSON Web Tokens as providers want them signed. */
import { createHmac, createSign } from 'node:crypto';

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** @param header members besides `alg`. */
export function hs256(header: object, payload: object, secret: string): string {
  const text = `${part({ alg: 'HS256', ...header })}.${part(payload)}`;
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
}

/** @param privateKey PEM. @throws Error when it is no key. */
export function rs256(header: object, payload: object, privateKey: string): string {
  const text = `${part({ alg: 'RS256', typ: 'JWT', ...header })}.${part(payload)}`;
  return `${text}.${createSign('RSA-SHA256').update(text).sign(privateKey, 'base64url')}`;
}
