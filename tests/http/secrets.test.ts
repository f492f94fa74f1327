import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Endpoint } from '../../server/contract/endpoint.ts';
import { endpoints } from '../../server/contract/endpoints/index.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';

let api: ApiFixture;
let root: Headers;
const reported: string[] = [];

beforeEach(async () => {
  api = await createApiFixture({ report: (error) => void reported.push(String((error as Error)?.stack ?? error)) });
  ({ headers: root } = await api.addUser('root', 100));
});
afterEach(() => api.close());

/** What is planted, by the name under which it would be missed. */
const planted: Readonly<Record<string, string>> = {
  'channel key': 'sk-canary-channel-key-0001',
  SMTPToken: 'canary-smtp-0002',
  GitHubClientSecret: 'canary-github-0003',
  'oidc.client_secret': 'canary-oidc-0004',
  EpayKey: 'canary-epay-0005',
  StripeApiSecret: 'canary-stripe-0006',
  StripeWebhookSecret: 'canary-webhook-0007',
  TurnstileSecretKey: 'canary-turnstile-0008',
  TelegramBotToken: '123456:canary-telegram-0009',
  WorkerValidKey: 'canary-worker-0010',
};
const options = Object.entries(planted).filter(([name]) => name !== 'channel key');

async function plant() {
  await api.send(
    'POST',
    '/api/channel/',
    { type: 1, name: 'one', key: planted['channel key'], models: 'gpt-4o', group: 'default' },
    root,
  );
  for (const [key, value] of options) {
    const { body } = await api.send('PUT', '/api/option/', { key, value }, root);
    expect([key, body.success]).toEqual([key, true]);
  }
  await api.send(
    'PUT',
    '/api/user/setting',
    { notify_type: 'webhook', webhook_url: 'https://h.example', webhook_secret: 'canary-own-0011' },
    root,
  );
}
const found = (text: string, ours: readonly string[]): string[] => ours.filter((secret) => text.includes(secret));

test('what is planted is found in no answer, error, file, log or document', async () => {
  await plant();
  const token = (await api.send('POST', '/api/token/', { name: 'laptop' }, root)).body.data as { key: string };
  const secrets = Object.values(planted);
  const leaks: string[] = [];
  for (const row of endpoints as readonly Endpoint[]) {
    if (row.access === 'local') continue;
    const path = row.path.replace(/:(\w+)/g, '1');
    for (const [kind, body] of [
      ['empty', {}],
      ['wrong', { id: 'x', key: 7, ids: 'x' }],
    ] as const) {
      // Nothing that would throw the evidence away.
      if (/delete|close|reset|manage|prune|logout|option\.set|channel\.(update|create)/.test(row.id)) continue;
      const answer = await api.send(row.method, path, row.method === 'GET' ? undefined : body, root);
      const text = JSON.stringify(answer.body) + JSON.stringify([...answer.headers]);
      for (const secret of found(text, secrets)) leaks.push(`${row.id} ${kind}: ${secret}`);
    }
  }
  expect(leaks).toEqual([]);
  expect(found(reported.join('\n'), secrets)).toEqual([]);

  const dir = api.gateway.dir;
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.map(({ name }) => name)).toContain('gateway.db-wal');
  const everything = files.map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1')).join('\n');
  expect(found(everything, [...secrets, token.key.slice(3)])).toEqual([]);
});

test('options tell that a secret is set and never what it is', async () => {
  await plant();
  const { data } = (await api.send('GET', '/api/option/details', undefined, root)).body;
  const rows = data as { key: string; value: string; is_set: boolean }[];
  for (const [key] of options) expect(rows.find((row) => row.key === key)).toMatchObject({ value: '', is_set: true });
});
