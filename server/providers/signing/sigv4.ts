/** AWS Signature Version 4. Source of the steps: AWS's published description of the signing process. */
import { createHash, createHmac } from 'node:crypto';

export interface SigV4Facts {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly region: string;
  readonly service: string;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

const encodePart = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

/** Every service but S3 encodes the path once more. */
const canonicalPath = (path: string): string => path.split('/').map(encodePart).join('/') || '/';

const canonicalQuery = (query: URLSearchParams): string =>
  [...query]
    .map(([name, value]) => `${encodePart(name)}=${encodePart(value)}`)
    .sort()
    .join('&');

/** @returns the headers with `x-amz-date` and `authorization` added. */
export function signV4(facts: SigV4Facts): Record<string, string> {
  const url = new URL(facts.url);
  const stamp = new Date(facts.nowMs).toISOString().replace(/[-:]|\.\d{3}/g, '');
  const date = stamp.slice(0, 8);
  const headers: Record<string, string> = { ...facts.headers, host: url.host, 'x-amz-date': stamp };
  const signed = Object.entries(headers)
    .map(([name, value]): [string, string] => [name.toLowerCase(), value.trim().replace(/ +/g, ' ')])
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const names = signed.map(([name]) => name).join(';');
  const request = [
    facts.method,
    canonicalPath(url.pathname),
    canonicalQuery(url.searchParams),
    ...signed.map(([name, value]) => `${name}:${value}`),
    '',
    names,
    sha256(facts.body),
  ].join('\n');
  const scope = `${date}/${facts.region}/${facts.service}/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', stamp, scope, sha256(request)].join('\n');
  const key = [facts.region, facts.service, 'aws4_request'].reduce<Buffer>(
    (last, part) => hmac(last, part),
    hmac(`AWS4${facts.secretKey}`, date),
  );
  const signature = hmac(key, text).toString('hex');
  const { host: _, ...rest } = headers;
  return {
    ...rest,
    authorization: `AWS4-HMAC-SHA256 Credential=${facts.accessKey}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  };
}
