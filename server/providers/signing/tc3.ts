/** Tencent Cloud's signature TC3-HMAC-SHA256. Source of the steps: Tencent's published description of signature v3. */
import { createHash, createHmac } from 'node:crypto';

export interface Tc3Input {
  readonly host: string;
  readonly service: string;
  readonly action: string;
  readonly body: string;
  readonly secretId: string;
  readonly secretKey: string;
  /** Epoch seconds. */
  readonly at: number;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** @returns the `authorization` header. */
export function signTc3(details: Tc3Input): string {
  const date = new Date(details.at * 1000).toISOString().slice(0, 10);
  const names = 'content-type;host;x-tc-action';
  const headers = `content-type:application/json\nhost:${details.host}\nx-tc-action:${details.action.toLowerCase()}\n`;
  const request = ['POST', '/', '', headers, names, sha256(details.body)].join('\n');
  const scope = `${date}/${details.service}/tc3_request`;
  const text = ['TC3-HMAC-SHA256', String(details.at), scope, sha256(request)].join('\n');
  const key = hmac(hmac(hmac(`TC3${details.secretKey}`, date), details.service), 'tc3_request');
  const signature = hmac(key, text).toString('hex');
  return `TC3-HMAC-SHA256 Credential=${details.secretId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
}
