/** Whether a call bears AWS's fourth signature, counted anew from https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html. */
import { createHmac, hash } from 'node:crypto';
import type { Caller } from './double.ts';

const minutes = 15;
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`);

const timeOf = (stamp: string): number =>
  Date.parse(stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));

export interface SignedBy {
  readonly accessKey: string;
  readonly secretKey: string;
}

/** @returns the region that was signed for, or what is wrong. */
export function checkSigV4(
  { headers, method, url, body, nowMs }: Caller,
  { accessKey, secretKey }: SignedBy,
): { readonly region: string } | { readonly wrong: string } {
  const header = headers.get('authorization') ?? '';
  const match =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      header,
    );
  if (match === null) return { wrong: 'Missing Authentication Token' };
  const [, key = '', day = '', region = '', service = '', names = '', signature = ''] = match;
  if (key !== accessKey) return { wrong: 'The security token included in the request is invalid.' };
  const stamp = headers.get('x-amz-date') ?? '';
  if (!(Math.abs(timeOf(stamp) - nowMs) < minutes * 60_000) || !stamp.startsWith(day))
    return { wrong: 'Signature expired' };
  const path = url.pathname.split('/').map(encoded).join('/');
  const query = [...url.searchParams].map(([name, value]) => `${encoded(name)}=${encoded(value)}`).sort();
  const listed = names
    .split(';')
    .map((name) => `${name}:${(name === 'host' ? url.host : (headers.get(name) ?? '')).trim()}\n`);
  const canonical = [method, path, query.join('&'), listed.join(''), names, hash('sha256', body)].join('\n');
  const scope = `${day}/${region}/${service}/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', stamp, scope, hash('sha256', canonical)].join('\n');
  const signing = hmac(hmac(hmac(hmac(`AWS4${secretKey}`, day), region), service), 'aws4_request');
  if (service !== 'bedrock') return { wrong: 'Credential should be scoped to correct service: bedrock.' };
  return hmac(signing, text).toString('hex') === signature
    ? { region }
    : { wrong: 'The request signature we calculated does not match the signature you provided.' };
}
