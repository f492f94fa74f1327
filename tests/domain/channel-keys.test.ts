import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { keysIn } from '../../server/contract/channel-keys.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await createTestGateway();
});
afterAll(() => gateway.close());

const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
/** As Google's console writes it: one member per line. */
const file = (project: string) =>
  `${JSON.stringify(
    {
      type: 'service_account',
      project_id: project,
      private_key_id: 'k1',
      private_key: privateKey,
      client_email: `robot@${project}.iam.gserviceaccount.com`,
      token_uri: 'https://oauth2.googleapis.com/token',
    },
    null,
    2,
  )}\n`;

test.each([
  ['a file of several lines', file('one'), 1],
  ['with Windows ends of lines', file('one').replaceAll('\n', '\r\n'), 1],
  ['two files', file('one') + file('two'), 2],
  ['two in one line each', [file('one'), file('two')].map((text) => JSON.stringify(JSON.parse(text))).join('\n'), 2],
  ['a list of two', JSON.stringify([JSON.parse(file('one')), JSON.parse(file('two'))], null, 2), 2],
  ['a file that was cut', file('one').slice(0, -40), 1],
  ['plain keys beside a file', `sk-a\n\n${file('one')} sk-b \n`, 3],
  ['plain keys', 'sk-a\nsk-b', 2],
])('%s', (_name, text, count) => {
  const keys = keysIn(text);
  expect(keys).toHaveLength(count);
  expect(keysIn(keys.join('\n'))).toEqual(keys);
});

test('a service account as Google issues it is one channel with one key, and signs', async () => {
  const made = await gateway.services.channels.create({
    type: 41,
    name: 'google',
    key: file('one'),
    models: 'gemini-2.5-flash',
  });
  expect(made).toHaveLength(1);
  await gateway.sync();
  const keys = gateway.state.channel(made[0]?.id ?? 0)?.keys ?? [];
  expect(keys.map((key) => JSON.parse(key))).toEqual([JSON.parse(file('one'))]);
});

test('several service accounts of one channel stay apart', async () => {
  const key = file('one') + file('two');
  const setting = '{"key_mode":"random"}';
  const [made] = await gateway.services.channels.create({ type: 41, name: 'both', key, models: 'm', setting });
  await gateway.sync();
  const keys = gateway.state.channel(made?.id ?? 0)?.keys ?? [];
  expect(keys.map((one) => JSON.parse(one).project_id)).toEqual(['one', 'two']);
});
