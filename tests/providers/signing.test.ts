import { createVerify, generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { AppError } from '../../server/contract/errors.ts';
import { awsFraming } from '../../server/providers/signing/aws-event-stream.ts';
import { hs256, rs256 } from '../../server/providers/signing/jwt.ts';
import { signV4 } from '../../server/providers/signing/sigv4.ts';
import { signTc3 } from '../../server/providers/signing/tc3.ts';
import { awsMessage } from './aws-message.ts';

// AWS's published test suite for Signature Version 4.
const suite = {
  headers: {},
  body: '',
  accessKey: 'AKIDEXAMPLE',
  secretKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
  service: 'service',
  nowMs: Date.UTC(2015, 7, 30, 12, 36, 0),
};

test.each([
  ['get-vanilla', 'GET', '/', {}, '', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
  ['post-vanilla', 'POST', '/', {}, '', '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
  [
    'get-vanilla-query-order-key-case',
    'GET',
    '/?Param2=value2&Param1=value1',
    {},
    '',
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  ],
  [
    'post-x-www-form-urlencoded',
    'POST',
    '/',
    { 'content-type': 'application/x-www-form-urlencoded' },
    'Param1=value1',
    'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  ],
] as const)('signature version 4: %s', async (_name, method, path, headers, body, signature) => {
  const signed = await signV4({ ...suite, method, url: `https://example.amazonaws.com${path}`, headers, body });
  expect(signed.authorization).toContain(`Signature=${signature}`);
  expect(signed.authorization).toContain('Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request');
});

test('signature version 4: the path of a model id is encoded twice', async () => {
  const sign = (url: string) =>
    signV4({
      ...suite,
      method: 'POST',
      service: 'bedrock',
      url: `https://bedrock-runtime.us-east-1.amazonaws.com${url}`,
    });
  const [once, twice] = await Promise.all([sign('/model/a:0/invoke'), sign('/model/a%3A0/invoke')]);
  expect(twice?.authorization).not.toBe(once?.authorization);
});

test('tokens: HS256 and RS256 verify', async () => {
  // The example of RFC 7515, appendix A.1, has another order of members; the parts are checked on their own.
  const [head = '', body = '', mark] = (await hs256({ sign_type: 'SIGN' }, { a: 1 }, 'secret')).split('.');
  expect(JSON.parse(Buffer.from(head, 'base64url').toString())).toEqual({ alg: 'HS256', sign_type: 'SIGN' });
  expect(JSON.parse(Buffer.from(body, 'base64url').toString())).toEqual({ a: 1 });
  expect(mark).toBe(
    new Bun.CryptoHasher('sha256', 'secret').update(`${head}.${body}`).digest('base64url').replace(/=+$/, ''),
  );
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const token = await rs256({ kid: 'k' }, { iss: 'x' }, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
  const [rsHead = '', rsBody = '', signature = ''] = token.split('.');
  const verified = createVerify('RSA-SHA256').update(`${rsHead}.${rsBody}`);
  expect(verified.verify(publicKey, Buffer.from(signature, 'base64url'))).toBe(true);
});

test('TC3 changes with everything that is signed', () => {
  const details = {
    host: 'hunyuan.tencentcloudapi.com',
    service: 'hunyuan',
    action: 'ChatCompletions',
    body: '{}',
    secretId: 'id',
    secretKey: 'key',
    at: 1_551_113_065,
  };
  const first = signTc3(details);
  expect(first).toMatch(
    /^TC3-HMAC-SHA256 Credential=id\/2019-02-25\/hunyuan\/tc3_request, SignedHeaders=content-type;host;x-tc-action, Signature=[0-9a-f]{64}$/,
  );
  for (const change of [{ body: '[]' }, { host: 'x' }, { secretKey: 'x' }, { at: 1 }, { action: 'X' }])
    expect(signTc3({ ...details, ...change })).not.toBe(first);
});

test('the binary event stream reads the same however it is cut, and refuses damage', () => {
  const bytes = Buffer.concat([
    awsMessage({ ':event-type': 'chunk' }, JSON.stringify({ n: 1 })),
    awsMessage({ ':event-type': 'chunk', ':content-type': 'application/json' }, JSON.stringify({ n: 2 })),
  ]);
  const send = ({ headers, payload }: { headers: ReadonlyMap<string, string>; payload: Uint8Array }) => ({
    event: headers.get(':event-type') ?? '',
    data: Buffer.from(payload).toString(),
  });
  for (let cut = 0; cut <= bytes.length; cut++) {
    const framing = awsFraming(send);
    const frames = [bytes.subarray(0, cut), bytes.subarray(cut)].flatMap((part) => framing.advance(part).frames());
    expect(frames.map((frame) => [frame.event, frame.data])).toEqual([
      ['chunk', '{"n":1}'],
      ['chunk', '{"n":2}'],
    ]);
  }
  for (const place of [0, 5, 9, 14, 40, bytes.length - 1]) {
    const damaged = Buffer.from(bytes);
    damaged[place] = (damaged[place] ?? 0) ^ 0xff;
    expect(() => awsFraming(send).advance(damaged)).toThrow(AppError);
  }
});
