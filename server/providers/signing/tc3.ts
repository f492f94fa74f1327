/** Tencent Cloud's signature TC3-HMAC-SHA256. Source of the steps: Tencent's published description of signature v3. */
import { createHash, createHmac } from 'node:crypto';

export interface Tc3Facts {
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
export function signTc3(facts: Tc3Facts): string {
  const date = new Date(facts.at * 1000).toISOString().slice(0, 10);
  const names = 'content-type;host;x-tc-action';
  const headers = `content-type:application/json\nhost:${facts.host}\nx-tc-action:${facts.action.toLowerCase()}\n`;
  const request = ['POST', '/', '', headers, names, sha256(facts.body)].join('\n');
  const scope = `${date}/${facts.service}/tc3_request`;
  const text = ['TC3-HMAC-SHA256', String(facts.at), scope, sha256(request)].join('\n');
  const key = hmac(hmac(hmac(`TC3${facts.secretKey}`, date), facts.service), 'tc3_request');
  const signature = hmac(key, text).toString('hex');
  return `TC3-HMAC-SHA256 Credential=${facts.secretId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
}
