import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Notice } from '../../server/domain/notifications/notice.ts';
import { createQuotaAlerts } from '../../server/domain/notifications/quota-alerts.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
let clock: number;
let sent: { id: number; notice: Notice }[];
let fails: boolean;
let reported: unknown[];

beforeEach(async () => {
  gateway = await createTestGateway({ quota: 500 });
  clock = Date.UTC(2026, 0, 1, 12, 30);
  sent = [];
  reported = [];
  fails = false;
});
afterEach(() => gateway.close());

const check = () => {
  const { database, services } = gateway;
  const notify = async ({ id }: { id: number }, notice: Notice) => {
    if (fails) throw new Error('no mail server');
    sent.push({ id, notice });
  };
  const report = (error: unknown) => void reported.push(error);
  return createQuotaAlerts({ database, options: services.options, notify, report, now: () => clock }).look();
};
const spend = (ref: string) =>
  gateway.ledger.execute({
    type: 'settle',
    ref,
    userId: gateway.userId,
    tokenId: 0,
    channelId: 0,
    amount: 1,
    at: clock / 1000,
    log: null,
    tokens: 1,
    model: 'm',
    username: 'tester',
  });
const setting = (value: object) =>
  gateway.database.query
    .updateTable('users')
    .set({ setting: JSON.stringify(value) })
    .execute();

test('below the threshold a spender gets one message in two hours, from all processes together', async () => {
  await spend('a');
  await Promise.all([check(), check(), check()]);
  expect(sent.map(({ id }) => id)).toEqual([gateway.userId]);
  expect(sent[0]?.notice).toMatchObject({ type: 'quota_exceed', title: '您的余额即将用尽' });
  expect(sent[0]?.notice.content).toContain('＄0.000998 额度');
  clock += 7199_000;
  await spend('b');
  await check();
  expect(sent).toHaveLength(1);
  clock += 1000;
  await check();
  expect(sent).toHaveLength(2);
});

test('users who have enough, spend nothing, or are banned get no mail', async () => {
  await check();
  await gateway.option('QuotaRemindThreshold', '400');
  await spend('a');
  await check();
  await gateway.option('QuotaRemindThreshold', '1000');
  await gateway.database.query.updateTable('users').set({ status: 2 }).execute();
  await check();
  expect(sent).toEqual([]);
});

test('the user’s own threshold and language count', async () => {
  await setting({ quota_warning_threshold: 100, language: 'en' });
  await spend('a');
  await check();
  expect(sent).toEqual([]);
  await setting({ quota_warning_threshold: 600, language: 'en' });
  await check();
  expect(sent[0]?.notice.title).toBe('Low balance');
});

test('a notice that cannot be sent is reported and not tried again at once', async () => {
  fails = true;
  await spend('a');
  await check();
  await check();
  expect(reported).toHaveLength(1);
});

test('a user who spent at the end of one hour gets the message at the beginning of the next', async () => {
  clock = Date.UTC(2026, 0, 1, 11, 59, 50);
  await spend('a');
  clock = Date.UTC(2026, 0, 1, 12, 0, 10);
  await check();
  expect(sent.map(({ id }) => id)).toEqual([gateway.userId]);
});

test('users who spent two hours ago are not looked at any more', async () => {
  clock = Date.UTC(2026, 0, 1, 10, 59, 50);
  await spend('a');
  clock = Date.UTC(2026, 0, 1, 12, 0, 10);
  await check();
  expect(sent).toEqual([]);
});

test('a user who reads English gets the message in English, the amount too', async () => {
  await setting({ language: 'en' });
  await spend('a');
  await check();
  const { title, content } = sent[0]?.notice ?? {};
  expect(title).toBe('Low balance');
  expect(content).not.toMatch(/\p{Script=Han}|\uFF04/u);
  expect(content).toContain('$0.000998');
  expect(content).toMatch(/left\.$/);
});
