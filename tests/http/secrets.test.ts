import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { rotateSecrets } from '../../db/encrypted-columns.ts';
import { sqliteOf } from '../../db/open.ts';
import type { Endpoint } from '../../server/contract/endpoint.ts';
import { endpoints } from '../../server/contract/endpoints/index.ts';
import { restoreBackup } from '../../server/domain/backup/restore.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { contentOf } from '../support/engines.ts';

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
  'own webhook': 'canary-own-0011',
  LinuxDOClientSecret: 'canary-linuxdo-0012',
  WeChatServerToken: 'canary-wechat-0013',
};
const options = Object.entries(planted).filter(([name]) => name !== 'channel key' && name !== 'own webhook');

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
    { notify_type: 'webhook', webhook_url: 'https://h.example', webhook_secret: planted['own webhook'] },
    root,
  );
}
const found = (text: string, ours: readonly string[]): string[] => ours.filter((secret) => text.includes(secret));

test('planted secrets are found in no answer, error, file, log or document', async () => {
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
  const written = files.map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
  const everything = [...written, await contentOf(api.gateway.database)].join('\n');
  expect(everything).toContain('laptop');
  expect(found(everything, [...secrets, token.key])).toEqual([]);
});

test('options show that a secret is set and never what it is', async () => {
  await plant();
  const { data } = (await api.send('GET', '/api/option/details', undefined, root)).body;
  const rows = data as { key: string; value: string; is_set: boolean }[];
  for (const [key] of options) expect(rows.find((row) => row.key === key)).toMatchObject({ value: '', is_set: true });
});

test('planted secrets are found in no backup, nor in a restored one', async () => {
  await plant();
  const key = ((await api.send('POST', '/api/token/', { name: 'laptop' }, root)).body.data as { key: string }).key;
  const access = (await api.send('POST', '/api/user/token', {}, root)).body.data as string;
  const scoped = (
    (await api.send('POST', '/api/access_token/', { name: 'a', scopes: 'read' }, root)).body.data as { token: string }
  ).token;
  const [code = ''] = (await api.send('POST', '/api/redemption/', { name: 'a', quota: 5, count: 1 }, root)).body
    .data as string[];
  const { secret: totp } = (await api.send('POST', '/api/user/2fa', {}, root)).body.data as { secret: string };
  const session = /session=([\w-]+)/.exec(root.cookie ?? '')?.[1] ?? '';
  const secrets = [...Object.values(planted), key, access, scoped, code, totp, session, 'password1'];
  expect(secrets.every((secret) => secret.length >= 9)).toBe(true);
  const file = join(api.gateway.dir, 'backups', 'one.backup');
  await api.gateway.services.maintenance.backup(file);
  const backup = readFileSync(file, 'latin1');
  expect(backup).toContain('laptop');
  expect(found(backup, secrets)).toEqual([]);
  expect(found(backup, ['test master key'])).toEqual([]);
  const target = join(api.gateway.dir, 'restored.db');
  await restoreBackup(file, target, 'now', undefined);
  const restored = readFileSync(target, 'latin1');
  expect(restored).toContain('laptop');
  expect(found(restored, secrets)).toEqual([]);
});

test('a webhook secret that was moved in from elsewhere is sealed at the next start', async () => {
  const { id } = await api.addUser('moved', 1);
  const { database, services } = api.gateway;
  const setting = JSON.stringify({
    notify_type: 'webhook',
    webhook_url: 'https://h.example',
    webhook_secret: 'canary-moved',
  });
  await database.query.updateTable('users').set({ setting }).where('id', '=', id).execute();
  await services.settings.sealReadable();
  const row = await database.query.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  expect(JSON.parse(row.setting)).toEqual({
    notify_type: 'webhook',
    webhook_url: 'https://h.example',
    webhook_secret_set: true,
  });
  expect(await services.settings.webhookSecret(id)).toBe('canary-moved');
});

test('everything sealed is renewed with the master key', async () => {
  await api.close();
  // What renews them offline knows the file alone.
  api = await createApiFixture({}, { engine: 'sqlite' });
  ({ headers: root } = await api.addUser('root', 100));
  await plant();
  await api.send('POST', '/api/token/', { name: 'laptop' }, root);
  await api.send('POST', '/api/redemption/', { name: 'a', quota: 5, count: 1 }, root);
  await api.send('POST', '/api/user/2fa', {}, root);
  const { vault } = api.gateway;
  const database = sqliteOf(api.gateway.database);
  const columns = database.raw
    .prepare<{ table: string; rows: number }>(
      `SELECT m.name AS "table", 0 AS rows FROM sqlite_master m JOIN pragma_table_info(m.name) c
        WHERE m.type = 'table' AND c.name LIKE '%\\_sealed' ESCAPE '\\'`,
    )
    .all()
    .map(({ table }) => table);
  const purposes = new Set<string>();
  rotateSecrets(database, 'mark', (purpose, sealed) => {
    purposes.add(purpose);
    const plain = vault.open(purpose, sealed);
    return { encrypted: vault.encrypt(purpose, plain), hmac: vault.keyHmac(plain) };
  });
  const ofRows = [...purposes].filter((purpose) => !purpose.startsWith('option:'));
  expect(columns.sort()).toEqual(['channels', 'redemptions', 'second_factors', 'tokens', 'webhook_secrets']);
  expect(ofRows.sort()).toEqual(['channel-key', 'redemption-key', 'second-factor', 'token-key', 'webhook-secret']);
});
