import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { generate } from 'selfsigned';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createNotify, signatureOf } from '../../server/domain/notifications/delivery.ts';
import type { Mail } from '../../server/domain/notifications/mailer.ts';
import { createGuard } from '../../server/outbound/guard.ts';

interface Received {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

let server: ReturnType<typeof createServer>;
let certificate: string;
let answer = 204;
const received: Received[] = [];
const mails: Mail[] = [];
const notice = { type: 'quota_exceed', title: 'Low', content: '<b>1$</b> left', values: ['$1', 'https://x.example'] };

beforeAll(async () => {
  const pems = await generate([{ name: 'commonName', value: 'hooks.example' }], {
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'hooks.example' }] }],
  });
  certificate = pems.cert;
  server = createServer({ key: pems.private, cert: pems.cert }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
      response.writeHead(answer).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => void server.close());
beforeEach(() => {
  received.length = 0;
  mails.length = 0;
  answer = 204;
});

const notify = (setting: object, email = 'me@people.example', secret = '') =>
  createNotify({
    sendMail: async (mail) => void mails.push(mail),
    fetch: createGuard({
      schemes: ['https:'],
      ca: certificate,
      resolve: async () => [{ address: '127.0.0.1', family: 4 }],
      isAllowed: () => true,
    }),
    secretOf: async () => secret,
    now: () => 1_700_000_000_000,
  })({ id: 1, username: 'me', email, setting: JSON.stringify(setting) }, notice);
const hook = () => `https://hooks.example:${(server.address() as AddressInfo).port}/quota`;

test('a webhook gets the notice over TLS, with the secret as bearer and a signature over the very bytes', async () => {
  await notify({ notify_type: 'webhook', webhook_url: hook() }, '', 's3cret');
  const [one] = received;
  expect(JSON.parse(one?.body ?? '')).toEqual({ ...notice, timestamp: 1_700_000_000 });
  expect(one?.headers.authorization).toBe('Bearer s3cret');
  expect(one?.headers['x-webhook-signature']).toBe(signatureOf('s3cret', one?.body ?? ''));
  expect(mails).toEqual([]);
});

test('a webhook that refuses is reported', async () => {
  answer = 500;
  await expect(notify({ notify_type: 'webhook', webhook_url: hook() })).rejects.toMatchObject({
    code: 'webhook_failed',
  });
  expect(received[0]?.headers.authorization).toBeUndefined();
});

test('a plain webhook is never called', async () => {
  const url = hook().replace('https', 'http');
  await expect(notify({ notify_type: 'webhook', webhook_url: url })).rejects.toMatchObject({ code: 'webhook_invalid' });
  expect(received).toEqual([]);
});

test('mail goes to the address for notices, else to the account’s, else nowhere', async () => {
  await notify({ notification_email: 'alerts@people.example' });
  await notify({});
  await notify({}, '');
  expect(mails.map(({ to }) => to)).toEqual(['alerts@people.example', 'me@people.example']);
  expect(mails[0]).toMatchObject({ subject: 'Low', html: '<p>&#60;b&#62;1$&#60;/b&#62; left</p>' });
});
