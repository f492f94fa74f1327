/** AWS Signature Version 4. */
import { AwsV4Signer } from 'aws4fetch';

export interface SigV4Input {
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

/** @returns the headers with `x-amz-date` and `authorization` added; all of them are signed. @throws TypeError when a part of the key is missing. */
export async function signV4({ accessKey, secretKey, nowMs, ...details }: SigV4Input): Promise<Record<string, string>> {
  const signer = new AwsV4Signer({
    ...details,
    accessKeyId: accessKey,
    secretAccessKey: secretKey,
    datetime: new Date(nowMs).toISOString().replace(/[-:]|\.\d{3}/g, ''),
    allHeaders: true,
  });
  const { headers } = await signer.sign();
  headers.delete('host');
  return Object.fromEntries(headers);
}
