/** Backups by the clock: whole, looked through, kept as long as was said, in a folder or a bucket whose service checks every signature. */

import { Database as Sqlite } from 'bun:sqlite';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import aws4 from 'aws4';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { extractBackup } from '../../db/backup-file.ts';
import { AppError, formatError } from '../../server/contract/errors.ts';
import { storedIn } from '../../server/contract/stored-texts.ts';
import { restoreBackup } from '../../server/domain/backup/restore.ts';
import { type BackupOrder, verifiedBackup } from '../../server/domain/backup/verified.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { openMigrated } from '../support/migrated.ts';

let gateway: TestGateway;
let now: number;
let spoil: ((order: BackupOrder) => void) | null;
const hourMs = 3_600_000;
beforeEach(async () => {
  now = Date.UTC(2026, 10, 22);
  spoil = null;
  gateway = await createTestGateway({
    now: () => now,
    more: {
      verifiedBackup: async (order) => {
        spoil?.(order);
        return verifiedBackup(order);
      },
    },
  });
});
afterEach(() => gateway.close());

const folder = () => join(gateway.dir, 'backups', 'scheduled');
const files = (dir = folder()) => (existsSync(dir) ? readdirSync(dir).sort() : []);
const leftovers = () => readdirSync(join(gateway.dir, 'backups')).filter((name) => name !== 'scheduled');
const tickAt = async (hours: number) => {
  now = Date.UTC(2026, 10, 22) + hours * hourMs;
  await gateway.services.backups.tick();
};

/** By another driver than ours. */
async function whatIsIn(file: string) {
  const plain = join(gateway.dir, 'opened.db');
  await extractBackup(file, plain);
  const database = new Sqlite(plain, { readonly: true });
  const [{ integrity_check: sound }] = database.query('PRAGMA integrity_check').all() as [{ integrity_check: string }];
  const users = database.query('SELECT username FROM users').all();
  database.close();
  return { sound, users };
}

test('two that are ordered at once are one', async () => {
  let made = 0;
  spoil = ({ source }) => {
    if (source !== null) made++;
  };
  const both = await Promise.all([gateway.services.backups.run(), gateway.services.backups.run()]);
  expect([made, files().length]).toEqual([1, 1]);
  expect(both[0]).toBe(both[1]);
  now += hourMs;
  await gateway.services.backups.run();
  expect([made, files().length]).toEqual([2, 2]);
});

test('off by default; then by the interval, the newest kept, readable by their owner alone', async () => {
  await tickAt(0);
  expect(files()).toEqual([]);
  await gateway.option('backup_setting.every_hours', '6');
  await gateway.option('backup_setting.keep', '3');
  for (let hour = 0; hour <= 30; hour++) await tickAt(hour);
  expect(files()).toEqual([
    'gateway-scheduled-2026-11-22T18-00-00-000Z.backup',
    'gateway-scheduled-2026-11-23T00-00-00-000Z.backup',
    'gateway-scheduled-2026-11-23T06-00-00-000Z.backup',
  ]);
  const newest = join(folder(), files().at(-1) ?? '');
  expect(statSync(newest).mode & 0o077).toBe(0);
  expect(await whatIsIn(newest)).toEqual({ sound: 'ok', users: [{ username: 'tester' }] });
  expect(leftovers()).toEqual([]);
  expect(await gateway.services.backups.status()).toMatchObject({
    every_hours: 6,
    missing: '',
    error: '',
    made_at: now / 1000,
    bytes: expect.any(Number),
  });
});

test('files of others in the folder stay', async () => {
  mkdirSync(folder(), { recursive: true });
  writeFileSync(join(folder(), 'mine.backup'), 'x');
  await gateway.option('backup_setting.every_hours', '1');
  await gateway.option('backup_setting.keep', '1');
  for (let hour = 0; hour < 4; hour++) await tickAt(hour);
  expect(files()).toHaveLength(2);
  expect(files()).toContain('mine.backup');
});

test('a backup that was damaged on its way does not count: the old ones stay, the reason is shown, and it is tried again', async () => {
  await gateway.option('backup_setting.every_hours', '1');
  await gateway.option('backup_setting.keep', '1');
  await tickAt(0);
  const before = files();
  spoil = ({ source, target }) => {
    if (source !== null) return;
    const bytes = readFileSync(target);
    bytes[bytes.length - 100] = (bytes[bytes.length - 100] ?? 0) ^ 1;
    writeFileSync(target, bytes);
  };
  await tickAt(1);
  expect(files()).toEqual(before);
  expect(gateway.services.backups.missing()).toContain('checksum');
  await expect(gateway.services.backups.run()).rejects.toMatchObject({ code: 'backup_failed' });
  spoil = null;
  await tickAt(1 + 1 / 60);
  expect(gateway.services.backups.missing()).not.toBeNull();
  await tickAt(1.2);
  expect(gateway.services.backups.missing()).toBeNull();
  expect(files()).toHaveLength(1);
  expect(leftovers()).toEqual([]);
});

test('books that do not add up are no backup, and it says in words what does not hold', async () => {
  await gateway.option('backup_setting.every_hours', '1');
  await gateway.rows('UPDATE accounts SET balance = balance + 1 WHERE id > 0');
  await tickAt(0);
  expect(files()).toEqual([]);
  expect(gateway.services.backups.missing()).toMatch(
    /it does not hold that each balance is the sum of its postings \(I1: account /,
  );
});

test('missed when it is late by half, remembered over a restart', async () => {
  await gateway.option('backup_setting.every_hours', '2');
  await tickAt(0);
  now += 2.9 * hourMs;
  expect(gateway.services.backups.missing()).toBeNull();
  now += 0.2 * hourMs;
  expect(gateway.services.backups.missing()).toBe('2026-11-22T00:00:00.000Z');
  const stored = await gateway.database.query
    .selectFrom('meta')
    .selectAll()
    .where('key', '=', 'scheduled_backup')
    .execute();
  expect(JSON.parse(stored[0]?.value ?? '{}')).toMatchObject({ made_at: Date.UTC(2026, 10, 22) / 1000 });
});

test('a folder must be said whole', async () => {
  await gateway.option('backup_setting.every_hours', '1');
  await gateway.option('backup_setting.folder', 'here');
  await expect(gateway.services.backups.run()).rejects.toMatchObject({ code: 'backup_failed' });
  const elsewhere = join(gateway.dir, 'elsewhere', 'deep');
  await gateway.option('backup_setting.folder', elsewhere);
  await gateway.services.backups.run();
  expect(files(elsewhere)).toHaveLength(1);
  copyFileSync(join(elsewhere, files(elsewhere)[0] ?? ''), join(gateway.dir, 'copy'));
});

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'hush/secret+key' };

/** A bucket that takes nothing unsigned, as another implementation signs it. */
async function startBucket() {
  const objects = new Map<string, Buffer>();
  const rejected: string[] = [];
  let corrupt = false;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const given = request.headers.authorization ?? '';
      const names = (/SignedHeaders=([^,]+)/.exec(given)?.[1] ?? '').split(';');
      const headers = Object.fromEntries(names.map((name) => [name, String(request.headers[name] ?? '')]));
      const [, scope = ''] = /Credential=([^,]+)/.exec(given) ?? [];
      const signed = aws4.sign(
        {
          service: 's3',
          region: scope.split('/')[2] ?? '',
          method: request.method ?? '',
          path: request.url ?? '',
          // Only what was signed there is signed here.
          headers,
        },
        credentials,
      );
      const wanted = /Signature=(\w+)/.exec(String(signed.headers?.Authorization))?.[1];
      const digest = headers['x-amz-content-sha256'];
      const whole = digest === 'UNSIGNED-PAYLOAD' || digest === createHash('sha256').update(body).digest('hex');
      if (!whole || wanted === undefined || wanted !== /Signature=(\w+)/.exec(given)?.[1]) {
        rejected.push(`${request.method} ${request.url} ${given}`);
        response.writeHead(403, { 'content-type': 'application/xml' });
        return response.end('<Error><Code>SignatureDoesNotMatch</Code><Message>no</Message></Error>');
      }
      const url = new URL(request.url ?? '', 'http://s3');
      const key = decodeURIComponent(url.pathname).replace(/^\/copies\/?/, '');
      if (request.method === 'PUT') objects.set(key, body);
      if (request.method === 'DELETE') objects.delete(key);
      if (request.method === 'GET' && url.searchParams.get('list-type') === '2') {
        const prefix = url.searchParams.get('prefix') ?? '';
        const found = [...objects.keys()].filter((name) => name.startsWith(prefix));
        response.writeHead(200, { 'content-type': 'application/xml' });
        return response.end(
          `<?xml version="1.0"?><ListBucketResult><Name>copies</Name><IsTruncated>false</IsTruncated>${found
            .map((name) => `<Contents><Key>${name}</Key><Size>1</Size></Contents>`)
            .join('')}</ListBucketResult>`,
        );
      }
      if (request.method === 'GET') {
        const object = objects.get(key);
        if (object === undefined) {
          response.writeHead(404);
          return response.end('<Error><Code>NoSuchKey</Code></Error>');
        }
        return response.end(corrupt ? Buffer.concat([object.subarray(0, -1), Buffer.from('x')]) : object);
      }
      response.writeHead(request.method === 'DELETE' ? 204 : 200, { etag: '"x"' });
      return response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    refused: rejected,
    corrupt: (on: boolean) => {
      corrupt = on;
    },
    stop: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

test('a bucket takes it by its signature, gives it back whole, and keeps as many as were wanted', async () => {
  const bucket = await startBucket();
  try {
    for (const [key, value] of Object.entries({
      every_hours: '1',
      keep: '2',
      s3_bucket: 'copies',
      s3_endpoint: bucket.url,
      s3_region: 'eu-central-1',
      s3_prefix: '/night ly/',
      s3_key_id: credentials.accessKeyId,
      s3_secret: credentials.secretAccessKey,
    }))
      await gateway.option(`backup_setting.${key}`, value);
    bucket.objects.set('night ly/mine.backup', Buffer.from('x'));
    for (let hour = 0; hour < 4; hour++) await tickAt(hour);
    expect(bucket.refused).toEqual([]);
    expect(await gateway.services.backups.status()).toMatchObject({ error: '', place: 's3://copies/night ly/' });
    expect([...bucket.objects.keys()].sort()).toEqual([
      'night ly/gateway-scheduled-2026-11-22T02-00-00-000Z.backup',
      'night ly/gateway-scheduled-2026-11-22T03-00-00-000Z.backup',
      'night ly/mine.backup',
    ]);
    const file = join(gateway.dir, 'from-bucket');
    writeFileSync(file, bucket.objects.get('night ly/gateway-scheduled-2026-11-22T03-00-00-000Z.backup') ?? '');
    expect(await whatIsIn(file)).toEqual({ sound: 'ok', users: [{ username: 'tester' }] });

    bucket.corrupt(true);
    await tickAt(4);
    expect(gateway.services.backups.missing()).toContain('checksum');
    expect(bucket.objects.size).toBe(3);
    bucket.corrupt(false);
    await gateway.option('backup_setting.s3_secret', 'wrong');
    await tickAt(5);
    expect(bucket.refused.length).toBeGreaterThan(0);
    const { error } = await gateway.services.backups.status();
    expect(error).not.toBe('');
    expect(JSON.stringify(await gateway.services.backups.status())).not.toContain('hush');
    expect(leftovers()).toEqual([]);
  } finally {
    await bucket.stop();
  }
});

test('why a bucket does not take a backup is said in sentences, in both languages, with the setting that helps', async () => {
  const bucket = await startBucket();
  const closed = await startBucket();
  await closed.stop();
  const answering = (status: number, code: string) =>
    createServer((_request, response) => {
      response.writeHead(status, { 'content-type': 'application/xml' });
      response.end(`<Error><Code>${code}</Code><Message>hush/secret+key</Message></Error>`);
    });
  const missing = answering(404, 'NoSuchBucket');
  const odd = answering(400, 'SomethingNew');
  for (const server of [missing, odd]) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const attempts = async (settings: Readonly<Record<string, string>>): Promise<{ en: string; zh: string }> => {
    for (const [key, value] of Object.entries(settings)) await gateway.option(`backup_setting.${key}`, value);
    const error = await gateway.services.backups.run().catch((one: unknown) => one);
    if (!(error instanceof AppError)) throw error;
    expect(error.code).toBe('backup_failed');
    const stored = await gateway.services.backups.status();
    const [en, zh] = (['en', 'zh'] as const).map((language) => {
      const said = formatError(error.code, error.params, language);
      expect(said).toContain(storedIn(stored.error, language));
      expect(said).not.toMatch(/hush/);
      return said;
    });
    return { en: en ?? '', zh: zh ?? '' };
  };
  try {
    const without = await attempts({ s3_bucket: 'copies', s3_endpoint: bucket.url, s3_region: 'eu-central-1' });
    expect(without.en).toMatch(/has no credentials: set backup_setting\.s3_key_id and backup_setting\.s3_secret/);
    expect(without.zh).toMatch(/缺少对象存储的密钥.*backup_setting\.s3_secret/);
    const wrong = await attempts({ s3_key_id: credentials.accessKeyId, s3_secret: 'wrong' });
    expect(wrong.en).toMatch(/access to s3:\/\/copies\/ is denied: check .*s3_secret/);
    expect(wrong.zh).toMatch(/对象存储拒绝访问 s3:\/\/copies\//);
    const none = await attempts({ s3_endpoint: urlOf(missing) });
    expect(none.en).toMatch(/there is no such bucket: s3:\/\/copies\//);
    expect(none.zh).toMatch(/存储桶不存在：s3:\/\/copies\//);
    const unavailable = await attempts({ s3_endpoint: closed.url });
    expect(unavailable.en).toMatch(/cannot be reached: check backup_setting\.s3_endpoint/);
    expect(unavailable.zh).toMatch(/无法连接到 s3:\/\/copies\/.*s3_endpoint/);
    const unknown = await attempts({ s3_endpoint: urlOf(odd) });
    expect(unknown.en).toContain('not known here (SomethingNew)');
    expect(unknown.zh).toContain('原因未知（SomethingNew）');
  } finally {
    await bucket.stop();
    for (const server of [missing, odd]) server.close();
  }
});

test('a backup in which one thing is wrong is not put in the place of what there is', async () => {
  const file = join(gateway.dir, 'wrong.db');
  const target = join(gateway.dir, 'target.db');
  const database = await openMigrated(file);
  database.raw.pragma('ignore_check_constraints = ON');
  database.raw.exec("INSERT INTO postings (ref, debit, credit, amount, kind, at) VALUES ('x', 1, 1, 5, 'grant', 1)");
  await database.close();
  writeFileSync(target, 'what there is');
  await expect(restoreBackup(file, target, 'now', undefined)).rejects.toMatchObject({
    code: 'backup_damaged',
    params: { detail: 'CHECK constraint failed in postings' },
  });
  expect(readFileSync(target, 'utf8')).toBe('what there is');
  expect(readdirSync(gateway.dir).filter((name) => /restoring|before/.test(name))).toEqual([]);
});
