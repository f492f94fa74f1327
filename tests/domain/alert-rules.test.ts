/** Alert rules as sentences, and what each would have said in the last seven days, from what is stored. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type AlertKindName, alertKindNames } from '../../server/contract/alert-kinds.ts';
import { alertRule, optionsOfRule, ruleEnd, ruleOptions, sentenceParts } from '../../server/contract/alert-rules.ts';
import type { Language } from '../../server/contract/enum.ts';
import { conditions } from '../../server/domain/alerts/conditions.ts';
import { noUsage } from '../../server/domain/alerts/inputs.ts';
import { quietInputs } from '../../server/domain/alerts/past.ts';
import { createFailingChannels } from '../../server/domain/traffic/states.ts';
import { addHour } from '../support/engines.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { randomOf } from '../support/random.ts';

const hourSeconds = 3600;
const daySeconds = 86_400;
/** Half past an hour. */
const start = Math.floor(Date.UTC(2026, 10, 20, 12, 30) / 1000);

let gateway: TestGateway;
let now: number;

beforeEach(async () => {
  now = start;
  gateway = await createTestGateway({ now: () => now * 1000 });
});
afterEach(() => gateway.close());

const preview = (kind: AlertKindName, values: Parameters<TestGateway['services']['alerts']['preview']>[1] = {}) =>
  gateway.services.alerts.preview(kind, values, 'en');
const use = (hourAt: number, quota: number) =>
  addHour(gateway.database, {
    ...{ hour_at: hourAt, user_id: 1, username: 'u', model_name: 'm', channel_id: 1 },
    ...{ count: 1, tokens: 1, quota },
  });
const hour = start - (start % hourSeconds);
const traffic = (row: object) =>
  gateway.database.query
    .insertInto('traffic')
    .values({ kind: 'channel', user_id: 0, part: '', ...row } as never)
    .execute();

test('every rule is one sentence in both languages, with the same values in each', () => {
  const placed = (text: string) =>
    sentenceParts(text)
      .flatMap((part) => ('text' in part ? [] : ['option' in part ? part.option : 'targets']))
      .sort();
  expect(
    alertKindNames.filter((kind) => alertRule(kind) === undefined),
    'these kinds have no sentence: add a row to server/contract/alert-rules.ts',
  ).toEqual([]);
  for (const kind of alertKindNames) {
    const { zh, en } = alertRule(kind).sentence;
    expect(placed(zh), kind).toEqual(placed(en));
    expect(`${zh}${en}`, kind).not.toMatch(/[.。]$/);
  }
  expect(placed(ruleEnd.zh)).toEqual(placed(ruleEnd.en));
  // None is left that no sentence shows.
  expect(new Set([...alertKindNames.flatMap(optionsOfRule), 'repeat_hours'])).toEqual(new Set(ruleOptions));
});

test('a rule reads with the values that hold, says who is told, and whether it is on', async () => {
  const ruleOf = async (kind: AlertKindName, language: Language) =>
    gateway.services.alerts.rules(language).rules.find((rule) => rule.kind === kind);
  expect(await ruleOf('errors_high', 'en')).toMatchObject({
    sentence:
      'When more than 20% of the attempts of a channel fail within 5 minutes (of at least 20), notify no recipient, and again after 24 hours while it lasts.',
    ...{ on: true, muted: false },
  });
  await gateway.option('alert_setting.failed_percent', '7.5');
  await gateway.option('alert_setting.repeat_hours', '1');
  await gateway.option('alert_setting.slack_url', 'https://hooks.slack.com/services/x');
  expect((await ruleOf('errors_high', 'zh'))?.sentence).toBe(
    '当一个渠道在 5 分钟内超过 7.5% 的尝试失败（至少 20 次尝试）时，通知 slack；持续存在时每隔 1 小时再次提醒。',
  );
  expect((await ruleOf('errors_high', 'en'))?.sentence).toMatch(/again after 1 hour while/);
  expect(await ruleOf('spend_high', 'en')).toMatchObject({ on: false, muted: false });
  await gateway.option('alert_setting.muted', 'errors_high');
  expect(await ruleOf('errors_high', 'en')).toMatchObject({ on: false, muted: true });
});

test('the hours that cost too much are named with what they cost, once while it lasts, and again after the pause', async () => {
  for (const at of [hour - 50 * hourSeconds, hour - 49 * hourSeconds, hour - 5 * hourSeconds])
    await use(at, 10_000_000);
  await use(hour - 8 * daySeconds, 10_000_000);
  expect((await preview('spend_high')).count).toBe(0);
  const tried = await preview('spend_high', { spend_limit: '15' });
  expect(tried.alerts).toEqual([
    { at: hour - 4 * hourSeconds, subject: '', text: 'The last hour cost $20.00, more than the limit of $15.00' },
    { at: hour - 49 * hourSeconds, subject: '', text: 'The last hour cost $20.00, more than the limit of $15.00' },
  ]);
  // Nothing is stored by trying.
  expect((await preview('spend_high')).count).toBe(0);
  expect((await preview('spend_high', { spend_limit: '15', repeat_hours: '1' })).count).toBe(3);
  expect((await preview('spend_high', { spend_limit: '21' })).count).toBe(0);
});

test('the usual spend of an hour is the mean of the week before it', async () => {
  for (let back = 14 * 24; back > 1; back--) await use(hour - back * hourSeconds, back === 30 ? 5_000_000 : 500_000);
  const { alerts } = await preview('spend_unusual');
  expect(alerts).toEqual([
    {
      at: hour - 29 * hourSeconds,
      subject: '',
      text: expect.stringMatching(/^The last hour cost \$10\.00; its usual is \$1\.0/),
    },
  ]);
  expect((await preview('spend_unusual', { spend_factor: '11' })).count).toBe(0);
});

test('shares of failed attempts are counted in the minutes of the rule, and in hours before those are kept', async () => {
  const id = await gateway.channel('http://127.0.0.1:1', { name: 'shaky' });
  const fine = now - (now % 300) - 3600;
  const row = { span: 300, subject_id: id };
  await traffic({ ...row, at: fine, attempts: 15, failed_upstream: 2, failed_timeout: 2 });
  await traffic({ ...row, at: fine + 300, attempts: 15, failed_network: 3, failed_invalid: 9 });
  // Of one window there are too few, of two there are enough.
  expect((await preview('errors_high')).count).toBe(0);
  expect((await preview('errors_high', { failed_minutes: '10' })).alerts).toEqual([
    {
      ...{ at: fine + 600, subject: String(id) },
      text: `Channel shaky (#${id}): 23.3% of 30 attempts within 10 minutes failed, more than 20%`,
    },
  ]);
  expect((await preview('errors_high', { failed_minutes: '10', failed_percent: '23.4' })).count).toBe(0);
  expect((await preview('errors_high', { failed_minutes: '10', failed_attempts: '31' })).count).toBe(0);
  expect((await preview('errors_high', { failed_minutes: '10', failed_percent: '0' })).count).toBe(0);
  // Five-minute windows are gone, their hour is there.
  const old = hour - 5 * daySeconds;
  await traffic({ span: 3600, subject_id: id, at: old, attempts: 100, failed_auth: 90 });
  const { alerts, coarse_until: until } = await preview('errors_high');
  expect(alerts).toEqual([
    {
      ...{ at: old + hourSeconds, subject: String(id) },
      text: `Channel shaky (#${id}): 90.0% of 100 attempts within 60 minutes failed, more than 20%`,
    },
  ]);
  expect(until).toBeGreaterThan(old);
  expect(until).toBeLessThanOrEqual(fine);
});

test('a share of failures that swings about its limit counts once until it was below for an hour', async () => {
  const id = await gateway.channel('http://127.0.0.1:1', { name: 'shaky' });
  const from = now - (now % 300) - 5 * 3600;
  const fail = (minute: number) =>
    traffic({ span: 300, subject_id: id, at: from + minute * 60, attempts: 20, failed_upstream: 5 });
  await fail(0);
  await fail(15);
  await fail(70);
  expect((await preview('errors_high')).count).toBe(1);
  await fail(135);
  expect((await preview('errors_high')).count).toBe(2);
});

test('a channel that fails more often than may is alerted about, and only while it does', async () => {
  const id = await gateway.channel('http://127.0.0.1:1', { name: 'shaky' });
  const found = async () =>
    (await gateway.services.alerts.list('en')).alerts.filter(({ kind }) => kind === 'errors_high');
  const at = now - (now % 300);
  await traffic({ span: 300, subject_id: id, at, attempts: 20, failed_upstream: 4, answered: 1 });
  expect(await found()).toEqual([]);
  await gateway.database.query.updateTable('traffic').set({ failed_upstream: 5 }).execute();
  expect(await found()).toMatchObject([{ subject: String(id), text: expect.stringContaining('25.0% of 20 attempts') }]);
  await gateway.option('alert_setting.failed_percent', '0');
  expect(await found()).toEqual([]);
  await gateway.option('alert_setting.failed_percent', '20');
  now += 700;
  expect(await found()).toEqual([]);
});

test('a channel that kept failing is named with the hour and the words of its upstream', async () => {
  const id = await gateway.channel('http://127.0.0.1:1', { name: 'down' });
  const row = { span: 3600, subject_id: id };
  await traffic({
    ...row,
    at: hour - 40 * hourSeconds,
    attempts: 5,
    failed_auth: 5,
    streak: 5,
    words: '401 wrong key',
  });
  await traffic({ ...row, at: hour - 30 * hourSeconds, attempts: 9, failed_auth: 2, answered: 1, words: '401' });
  await traffic({ ...row, at: hour - 20 * hourSeconds, attempts: 5, failed_upstream: 3, answered: 1, words: '500' });
  const { alerts, coarse_until: until } = await preview('channel_failing');
  // Shorter runs are not looked for: the preview says so.
  expect(until).toBe(now);
  expect(alerts.map(({ at, text }) => [at, text])).toEqual([
    [hour - 19 * hourSeconds, `Channel down (#${id}) keeps failing: 500`],
    [hour - 39 * hourSeconds, `Channel down (#${id}) keeps failing: 401 wrong key`],
  ]);
});

test('answers of other models, keys that were stopped, mails that failed and keys that expired are dated', async () => {
  const id = await gateway.channel('http://127.0.0.1:1', { name: 'sly' });
  await traffic({ span: 3600, kind: 'other', subject_id: id, part: 'a → b', at: hour - 7200, requests: 3 });
  expect((await preview('other_model')).alerts).toMatchObject([
    { at: hour - hourSeconds, text: expect.stringMatching(/^Channel sly .* 3 requests .*a → b$/) },
  ]);
  const { id: key } = await gateway.token({ name: 'leaked' });
  const frozen = { status: 2, frozen_at: now - 2 * daySeconds };
  await gateway.database.query.updateTable('tokens').set(frozen).where('id', '=', key).execute();
  expect((await preview('key_frozen')).alerts).toMatchObject([{ at: now - 2 * daySeconds, subject: String(key) }]);
  await gateway.rows(
    "INSERT INTO statement_mails (schedule_id, period, state, tries, tried_at, error) VALUES (1, '2026-10', 'failed', 8, ?, 'away')",
    now - 6 * daySeconds,
  );
  expect((await preview('statement_unsent')).alerts).toMatchObject([
    { at: now - 6 * daySeconds, subject: '1 2026-10' },
  ]);
  await gateway.token({ name: 'old', expired_time: now + 10 * daySeconds });
  expect((await preview('expiring')).alerts).toMatchObject([
    { at: now - 4 * daySeconds, text: 'tester / old expires in 14 days' },
  ]);
  expect((await preview('expiring', { expiry_days: '0' })).count).toBe(0);
});

test('a hit rate that halved is found on the day on which it did', async () => {
  const id = await gateway.channel('http://127.0.0.1:1', { name: 'cold' });
  const at = (seconds: number, cached: number) =>
    gateway.rows(
      `INSERT INTO logs (created_at, type, user_id, model_name, channel_id, quota, prompt_tokens, completion_tokens, other)
       VALUES (?, 2, 1, 'm', ?, 1, 1000, 0, ?)`,
      seconds,
      id,
      JSON.stringify({ input: 1000 - cached, cache_tokens: cached }),
    );
  for (let back = 10; back >= 3; back--) await at(hour - back * daySeconds - 100, 900);
  await at(hour - 2 * daySeconds - 100, 100);
  const { alerts, past } = await preview('cache_halved', { cache_requests: '1' });
  expect(past).toBe('stored');
  expect(alerts.map((one) => [one.at, one.subject])).toEqual([[hour - 2 * daySeconds, String(id)]]);
  expect((await preview('cache_halved')).count).toBe(0);
});

test('a rule whose past is not stored says what it would say now', async () => {
  await gateway.channel('http://127.0.0.1:1', { name: 'odd', models: 'never-priced' });
  expect(await preview('model_unpriced')).toMatchObject({ past: 'now', count: 1, alerts: [{ at: now }] });
  expect(await preview('disk_low', { disk_gb: '0' })).toMatchObject({ past: 'now', count: 0, alerts: [] });
});

test('a rule whose past is not stored is previewed without adding up traffic and log', async () => {
  const kinds = alertKindNames.filter((kind) => alertRule(kind).past === 'now');
  // None of them needs it…
  const usage = Object.keys(noUsage);
  const inputs = new Proxy(
    { ...quietInputs, get: gateway.services.options.get, now },
    {
      get: (all, name) => {
        if (usage.includes(String(name))) throw new Error(`${String(name)} is looked at`);
        return Reflect.get(all, name);
      },
    },
  );
  for (const kind of kinds) expect(conditions[kind](inputs), kind).toEqual([]);
  // …and so it is not read.
  await gateway.channel('http://127.0.0.1:1', { name: 'poor', models: 'never-priced' });
  await gateway.rows('DROP TABLE traffic');
  expect((await preview('model_unpriced')).count).toBe(1);
  for (const kind of kinds) expect((await preview(kind)).past, kind).toBe('now');
});

test('of more windows than can be shown the latest are read, and each day is counted', async () => {
  const id = await gateway.channel('http://127.0.0.1:1', { name: 'shaky' });
  for (let back = 1; back <= 167; back++)
    await gateway.rows(
      `INSERT INTO traffic (span, kind, at, subject_id, user_id, part, attempts, failed_upstream, streak)
       WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 140)
       SELECT 3600, 'channel', ${hour - back * hourSeconds}, ${id} + i, 0, '', 100, 90, 5 FROM n`,
    );
  for (const kind of ['errors_high', 'channel_failing'] as const) {
    const { alerts, days } = await preview(kind);
    expect(alerts[0]?.at, kind).toBeGreaterThan(now - (kind === 'errors_high' ? 73 : 25) * hourSeconds);
    expect(days, kind).toHaveLength(7);
    expect(
      days.reduce((sum, count) => sum + count, 0),
      kind,
    ).toBeGreaterThanOrEqual(alerts.length);
  }
  const { count, days } = await preview('channel_failing', { repeat_hours: '1' });
  expect(days.reduce((sum, one) => sum + one, 0)).toBe(count);
  expect(days.slice(-2)).toEqual([24, 24]);
});

test('alerts and the list of channels agree which fail, and in which words', async () => {
  const random = randomOf(7);
  const below = (limit: number) => Math.floor(random() * limit);
  const ids: number[] = [];
  for (let at = 0; at < 40; at++) ids.push(await gateway.channel('http://127.0.0.1:1', { name: `c${at}` }));
  for (const id of ids)
    for (const [span, times] of [
      [300, [0, 1, 2, 14]],
      [hourSeconds, [0, 1, 30]],
    ] as const)
      for (const back of times) {
        if (below(3) === 0) continue;
        const attempts = below(6);
        const failed = below(attempts + 1);
        const streak = failed === 0 ? 0 : below(failed + 1);
        const row = { span, subject_id: id, at: now - (now % span) - back * span, attempts, failed_upstream: failed };
        const answered = Number(failed < attempts || below(2) === 0);
        await traffic({ ...row, streak, answered, words: failed === 0 ? '' : `500 at ${id} ${span} ${back}` });
      }
  const listed = (await gateway.services.channelStates()).filter(({ state }) => state === 'failing');
  expect(listed.length).toBeGreaterThan(5);
  expect(listed.length).toBeLessThan(35);
  const failing = createFailingChannels({ database: gateway.database, now: () => now * 1000 });
  expect([...(await failing(new Set(ids)))].sort(([one], [other]) => one - other)).toEqual(
    listed.map(({ id, words }) => [id, words]).sort(([one], [other]) => Number(one) - Number(other)),
  );
});

test('a value that may not be stored may not be tried either', async () => {
  await expect(preview('spend_high', { spend_limit: 'much' })).rejects.toMatchObject({ code: 'option_invalid' });
  await expect(preview('errors_high', { failed_minutes: '7' })).rejects.toMatchObject({ code: 'option_invalid' });
});
