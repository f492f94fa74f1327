/** `gateway top` and `gateway doctor` over traffic: what fails is named, in both languages, once on a pipe. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Context } from '../../cli/context.ts';
import type { Money } from '../../cli/parts/money.ts';
import { duration, failureLine, minuteOf, type Top, type TopChannel, topLines } from '../../cli/parts/top.ts';
import { openDatabase } from '../../db/open.ts';
import { createTrafficRepository, type TrafficRow } from '../../db/repositories/traffic.ts';
import { trafficCounters } from '../../server/contract/traffic.ts';
import { createRunner } from './runner.ts';

const context = (language: 'zh' | 'en') =>
  ({ language, say: (zh: string, en: string) => (language === 'zh' ? zh : en) }) as unknown as Context;
const money = {
  of: (quota: number) => `$${quota / 500_000}`,
  column: (name: string, amount: (row: object) => number) => ({
    name,
    value: (row: object) => `$${amount(row) / 500_000}`,
  }),
} as unknown as Money;
const minute = { requests: 0, success: null, first_token: null, p95: null, tokens_per_second: null };
const quiet = { minute, requests_per_minute: 0, success: null, first_token: null, p95: null, tokens_per_second: null };
const failing: TopChannel = {
  ...{
    id: 2,
    name: 'batch',
    state: 'failing',
    since: 1_790_000_000,
    failed: 106,
    saved: 104,
    words: '401 Incorrect API key',
  },
  ...{ saved_by: [{ name: 'primary', requests: 104 }], charged_today: 0, balance_lasts_days: 0 },
  ...{ ...quiet, minute: { ...minute, requests: 6, success: 0, p95: 240 }, requests_per_minute: 2, success: 0 },
};
const top: Top = {
  channels: [
    failing,
    {
      ...{ id: 1, name: 'primary', state: 'serving', since: 0, failed: 0, saved: 0, saved_by: [], words: '' },
      minute: { requests: 240, success: 100, first_token: 290, p95: 1900, tokens_per_second: 90 },
      ...{ requests_per_minute: 210, success: 99.8, first_token: 310, p95: 3200, tokens_per_second: 87.5 },
      ...{ charged_today: 5_140_000, balance_lasts_days: 31 },
    },
  ],
  models: [{ ...quiet, name: 'gpt-4o\u001b[2J', requests_per_minute: 20, charged: 500_000 }],
};

test('failures are shown with time, count, upstream’s words, and who served in their place', () => {
  expect(failureLine(failing, context('en'))).toBe(
    'batch: 106 failed since 2026-09-21 14:13 UTC, 104 served by primary: 401 Incorrect API key',
  );
  expect(failureLine({ ...failing, saved: 0 }, context('zh'))).toBe(
    'batch：自 2026-09-21 14:13 UTC 起失败 106 次，无其他渠道代为完成：401 Incorrect API key',
  );
  expect(failureLine({ ...failing, saved: 0 }, context('en'))).toBe(
    'batch: 106 failed since 2026-09-21 14:13 UTC, no other channel served them: 401 Incorrect API key',
  );
});

test('channels and models stand in one table each, with figures or a dash', () => {
  const lines = topLines(top, context('en'), money, 200);
  expect(lines[0]).toMatch(
    /channel +state +req 1m +ok 1m +p95 1m +rpm 1h +ok 1h +p95 1h +TTFT 1h +tok\/s 1h +today +lasts/i,
  );
  expect(lines[1]).toMatch(/batch +failing +6 +0% +240ms +2 +0% +– +– +– +\$0 +0 d/);
  expect(lines[2]).toMatch(/primary +serving +240 +100% +1.90s +210 +99.8% +3.20s +310ms +87.5 +\$10.28 +31 d/);
  expect(lines[3]).toContain('401 Incorrect API key');
  expect(lines.join('\n')).toMatch(/gpt-4o.* +0 +– +– +20 +– +– +– +– +\$1/);
  expect(lines.join('\n')).not.toContain('\u001b');
  expect(topLines(top, context('zh'), money, 200)[1]).toContain('失败');
});

test('a short line shows figures of the hour before those of the minute, and keeps success to the last', () => {
  const heads = (room: number): string => topLines(top, context('en'), money, room)[0] ?? '';
  const widths = Array.from({ length: 130 }, (_, at) => 140 - at);
  const gone = (name: string): number => widths.find((room) => !heads(room).toLowerCase().includes(name)) ?? 0;
  const order = ['lasts', 'tok/s 1h', 'ttft 1h', 'rpm 1h', 'p95 1h', 'ok 1h'].map(gone);
  expect(order.toSorted((one, other) => other - one)).toEqual(order);
  expect(heads(80).toLowerCase()).toContain('ok 1h');
  expect(heads(80).toLowerCase()).toContain('p95 1m');
});

test('a minute of which fewer seconds are known is scaled, and an empty one says nothing of success', () => {
  const figures = { count: 50, failed: 5, p95: 10, first_token: null, tokens_per_second: null, charge: 1 };
  expect(minuteOf(figures, 5)).toMatchObject({ requests: 600, success: 90 });
  expect(minuteOf(undefined, 60)).toMatchObject({ requests: 0, success: null });
});

test('a time is in milliseconds below a second', () => {
  expect([null, 4, 999, 1000, 12_345].map(duration)).toEqual(['–', '4ms', '999ms', '1.00s', '12.3s']);
});

test('a gateway without channels or requests says so', () => {
  expect(topLines({ channels: [], models: [] }, context('en'), money, 80)).toEqual([
    'no channels yet: gateway channel add',
  ]);
  const lines = topLines({ ...top, models: [] }, context('zh'), money, 80);
  expect(lines.at(-1)).toBe('过去一小时没有请求');
});

test('doctor and top name a channel whose real requests fail, although its test passed', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'top-'));
  try {
    const runner = createRunner(dir);
    await runner.run(['setup', '--username', 'root', '--password-file', passwordFile(dir)]);
    await runner.run(['channel', 'add', '--type', 'practice', '--name', 'batch', '--key-file', passwordFile(dir)]);
    const database = openDatabase(join(dir, 'data', 'gateway.db'));
    const now = Math.floor(Date.now() / 1000);
    const failures = { attempts: 6, failed_auth: 6, answered: 0, streak: 6, streak_at: now - 60 };
    const row = {
      ...Object.fromEntries(trafficCounters.map((name) => [name, 0])),
      ...{ span: 300, kind: 'channel', at: now - (now % 300), subject_id: 1, user_id: 0, part: '' },
      ...{ failed_at: now, words: '401 Incorrect API key', ...failures },
    } as TrafficRow;
    await createTrafficRepository(database).add([row], { writer: '', work: 'w' });
    await database.close();
    await expect(runner.run(['doctor'])).rejects.toMatchObject({
      code: 'check_failed',
      params: { detail: expect.stringContaining('traffic') },
    });
    const { channels } = await runner.json<Top>(['top']);
    expect(channels[0]).toMatchObject({ name: 'batch', state: 'failing', failed: 6, words: '401 Incorrect API key' });
    expect(await runner.run(['top', '--once'])).toMatch(/batch: 6 failed since .* 401 Incorrect API key/);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

function passwordFile(dir: string): string {
  const path = join(dir, 'pw');
  writeFileSync(path, 'password1\n');
  return path;
}
