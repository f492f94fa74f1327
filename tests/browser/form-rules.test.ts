/** What forms of the console check and send, rule by rule: the request that leaves the page, or none. */
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { en } from '../../web/locales/en.ts';
import { type Inside, openInside } from './inside.ts';

let inside: Inside;
let page: Page;
/** What left the page to be changed, as it was written. */
const sent: { readonly call: string; readonly body: Readonly<Record<string, unknown>> }[] = [];

beforeAll(async () => {
  inside = await openInside();
  ({ page } = inside);
  await inside.ask('POST', '/api/user/', { username: 'ann', password: 'password1' });
  await inside.ask('POST', '/api/channel/', { type: 1, name: 'tagged', key: 'k', models: 'gpt-4o', tag: 'blue' });
  await inside.set({
    ServerAddress: inside.stage.url,
    PayAddress: 'https://pay.example',
    EpayId: '1000',
    EpayKey: 'secret',
    MinTopUp: '5',
  });
  await page.route('**/api/**', async (route) => {
    const request = route.request();
    const path = new URL(request.url()).pathname;
    // A question, too long for an address.
    if (request.method() === 'GET' || path === '/api/ratio/facts') return route.continue();
    sent.push({ call: `${request.method()} ${path}`, body: JSON.parse(request.postData() ?? '{}') });
    return route.fulfill({ json: { success: false, message: 'kept from the server', code: 'x' } });
  });
});
afterAll(() => inside?.stage.close());
beforeEach(() => {
  sent.length = 0;
});

const dialog = (): Locator => page.getByRole('dialog').last();
const field = (label: string): Locator => dialog().getByLabel(label, { exact: true });
const save = () => dialog().locator('button[type=submit]').click();
const waitForText = (text: string) => page.getByText(text).first().waitFor();
const answered = () => waitForText('kept from the server');
/** Closes the form, and throws away what is in it. */
const leave = async () => {
  await dialog().getByRole('button', { name: en.app.cancel, exact: true }).click();
  await page.getByRole('button', { name: en.app.discard, exact: true }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
};

test('user.edit_quota: an amount that cannot be read is not sent, one that can is sent as whole quota', async () => {
  await inside.open('user/edit/2');
  await field(en.users.addQuota).fill('12.7 and more');
  await save();
  await waitForText('"12.7 and more" is not a number');
  expect(sent).toEqual([]);
  await field(en.users.addQuota).fill('1,012.70');
  await save();
  await answered();
  expect(sent).toMatchObject([{ call: 'PUT /api/user/', body: { id: 2, add_quota: 506_350_000 } }]);
  await leave();
});

test('channel.add: who types faster than the catalogue comes finds the provider all the same', async () => {
  const came = Promise.withResolvers<void>();
  await page.route('**/api/channel/types', async (route) => {
    await came.promise;
    await route.continue();
  });
  await page.goto(`${inside.stage.url}/channel/add`);
  await dialog().getByRole('searchbox').fill('practice');
  await page.keyboard.press('Enter');
  expect(await dialog().getByText(en.channels.noProvider).count()).toBe(0);
  came.resolve();
  await field(en.channels.name).fill('quick');
  expect(await dialog().getByRole('button', { name: 'Practice' }).count()).toBeGreaterThan(0);
  await page.unroute('**/api/channel/types');
});

test('register.needs_both: nothing is sent without a name and a password', async () => {
  const guestPage = await inside.guest();
  const calls: string[] = [];
  guestPage.on('request', (request) => {
    if (request.method() !== 'GET') calls.push(request.url());
  });
  await guestPage.goto(`${inside.stage.url}/register`);
  const press = () => guestPage.getByRole('button', { name: en.account.register }).click();
  await press();
  await guestPage.getByText(en.login.empty).waitFor();
  await guestPage.getByLabel(en.setup.username).fill('somebody');
  await press();
  await guestPage.getByText(en.login.empty).waitFor();
  expect(calls).toEqual([]);
  await guestPage.close();
});

test('email.needs_both: an address is bound with a code only', async () => {
  await inside.open('personal');
  await page.getByRole('button', { name: `${en.account.email}: ${en.personal.bind}` }).click();
  const press = () => dialog().locator('button[type=submit]').click();
  await press();
  await field(en.account.email).fill('root@example.com');
  await press();
  const open = await dialog().locator('input:invalid').count();
  expect([open, sent]).toEqual([1, []]);
});

test('log.cutoff: logs are cleared before a time that was named', async () => {
  await inside.open('setting?tab=operation');
  await page.getByLabel(en.settings.clearUntil).fill('');
  await page.getByRole('button', { name: en.settings.clearLogs }).click();
  await waitForText(en.settings.timeNeeded);
  expect([await page.getByRole('dialog').count(), sent]).toEqual([0, []]);
});

test('channel.slash, channel.integers, channel.spark_version: what a channel is stored with', async () => {
  await inside.open('channel/add');
  await dialog().getByRole('searchbox').fill('spark');
  await dialog().locator('ul button', { hasText: /Spark/ }).first().click();
  await field(en.channels.name).fill('spark');
  await field(en.channels.key).fill('app|secret|key');
  await dialog().getByLabel(en.channels.baseUrl).fill('https://spark.example/');
  await field(en.channels.models).fill('SparkDesk');
  await page.keyboard.press('Enter');
  await dialog().getByRole('button', { name: en.channels.advanced }).click();
  await field(en.channels.priority).fill('7.9');
  await field(en.channels.weight).fill('3.2');
  await save();
  await waitForText(en.channels.priorityWhole);
  expect(await field(en.channels.priority).evaluate((input) => input === document.activeElement)).toBe(true);
  expect(sent).toEqual([]);
  await field(en.channels.priority).fill('-7');
  await field(en.channels.weight).fill('3');
  await save();
  await answered();
  expect(sent.at(-1)?.call).toBe('POST /api/channel/');
  expect(sent.at(-1)?.body).toMatchObject({
    base_url: 'https://spark.example',
    priority: -7,
    weight: 3,
    // The server fills it in.
    other: '',
  });
});

test('channel.inline_weight: a weight below zero is refused where it stands', async () => {
  await page.setViewportSize({ width: 1900, height: 900 });
  await page.evaluate(() => localStorage.setItem('channels-table-columns', '{"weight":true}'));
  await inside.open('channel');
  const weight = page.getByLabel('Weight of practice');
  await weight.fill('-5');
  await page.keyboard.press('Enter');
  await waitForText('must not be negative');
  expect([await weight.getAttribute('aria-invalid'), sent]).toEqual(['true', []]);
  await page.keyboard.press('Escape');
  expect(await weight.inputValue()).toBe('0');
  await page.setViewportSize({ width: 1280, height: 800 });
});

test('tag.mapping, tag.blank: a mapping is JSON, and what is blank is left alone', async () => {
  await inside.open('channel?mode=tag');
  await page.locator('tbody tr', { hasText: 'blue' }).getByRole('button', { name: en.app.edit }).click();
  await field(en.channels.mapping).fill('{');
  await save();
  await waitForText(en.channels.badMapping);
  expect(sent).toEqual([]);
  await field(en.channels.mapping).fill('');
  await field(en.channels.priority).fill('4');
  await save();
  await answered();
  expect(sent).toEqual([{ call: 'PUT /api/channel/tag', body: { tag: 'blue', priority: 4 } }]);
});

test('token.quota_integer: the amount of a key is sent as whole quota', async () => {
  await inside.open('token?open=new');
  await field(en.tokens.name).fill('laptop');
  await field(en.tokens.quota).fill('12.9');
  await save();
  await answered();
  expect(sent).toMatchObject([{ call: 'POST /api/token/', body: { remain_quota: 6_450_000 } }]);
  await leave();
});

test('redemption.default_name, name_length, integers, count: codes', async () => {
  await inside.open('redemption');
  await page.getByRole('button', { name: en.redemption.add }).first().click();
  await field(en.redemption.quota).fill('1');
  await field(en.redemption.count).fill('2.9');
  expect(await field(en.redemption.name).getAttribute('maxlength')).toBe('20');
  await save();
  await waitForText('must be a whole number');
  expect(sent).toEqual([]);
  await field(en.redemption.count).fill('2');
  await dialog().getByText(en.redemption.countHelp.replace('{{most}}', '100')).waitFor();
  await save();
  await answered();
  expect(sent).toMatchObject([{ call: 'POST /api/redemption/', body: { quota: 500_000, count: 2 } }]);
  expect(sent[0]?.body.name).toMatch(/^\$1(\.0+)?$/);
  await leave();
});

test('wallet.least: no order below the least amount', async () => {
  await inside.open('topup');
  await page.getByLabel(en.wallet.amount).fill('4');
  await page.getByRole('button', { name: en.wallet.alipay, exact: true }).click();
  await waitForText(en.wallet.tooLittle.replace('{{least}}', '5'));
  await page.getByLabel(en.wallet.amount).fill('5');
  await page.getByRole('button', { name: en.wallet.alipay, exact: true }).click();
  await dialog().getByText(en.wallet.confirmTitle).waitFor();
  // The price alone was asked for.
  expect(sent.map(({ call }) => call).filter((call) => !call.endsWith('/amount'))).toEqual([]);
});
