/** Forms of the console by hand: what is typed is stored or refused, and is not thrown away without a question. */
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { en } from '../../web/locales/en.ts';
import { type Inside, openInside } from './inside.ts';
import { settled, violationsOn } from './support.ts';

let inside: Inside;
let page: Page;

beforeAll(async () => {
  inside = await openInside();
  ({ page } = inside);
  await inside.ask('POST', '/api/user/', { username: 'ann', password: 'password1' });
}, 120_000);
afterAll(() => inside?.stage.close());

const dialog = (): Locator => page.getByRole('dialog').last();
const field = (label: string): Locator => dialog().getByLabel(label, { exact: true });
/** A time of expiry is typed, not one of the usual spans. */
const onDate = () => dialog().getByRole('radio', { name: en.tokens.onDate, exact: true }).click();
const save = () => dialog().locator('button[type=submit]').click();
const waitForText = (text: string | RegExp) => page.getByText(text).first().waitFor();
const button = (name: string) => page.getByRole('button', { name, exact: true });
const closed = () => page.getByRole('dialog').waitFor({ state: 'detached' });

/** What is typed, and the quota it is; null = it is refused. */
const amounts: readonly (readonly [string, number | null])[] = [
  ['$5', 2_500_000],
  ['5.5', 2_750_000],
  ['1,000,000', 500_000_000_000],
  ['1e6', 500_000_000_000],
  ['500 000', 250_000_000_000],
  ['１２', 6_000_000],
  ['-100', null],
  ['', null],
  ['12.7 and more', null],
  ['1.000,5', null],
];

test('the amount of a key is stored as it was meant, or refused beside the field', async () => {
  for (const [text, quota] of amounts) {
    await inside.open('token?open=new');
    await field(en.tokens.name).fill(`amount ${text}`);
    await field(en.tokens.quota).fill(text);
    await save();
    if (quota === null) {
      await expect.poll(() => field(en.tokens.quota).getAttribute('aria-invalid')).toBe('true');
      expect(await field(en.tokens.quota).evaluate((input) => input === document.activeElement)).toBe(true);
      const note = (await field(en.tokens.quota).getAttribute('aria-describedby')) ?? '';
      expect(await page.locator(`[id="${note}"]`).textContent()).not.toBe('');
      continue;
    }
    await waitForText(en.tokens.reveal);
    const [made] = (await inside.ask('GET', '/api/token/?p=0&size=1')) as { name: string; remain_quota: number }[];
    expect([text, made?.name, made?.remain_quota]).toEqual([text, `amount ${text}`, quota]);
  }
});

test('a limit of a key is what was typed, and no limit only where it was left empty', async () => {
  await inside.open('token?open=new');
  await field(en.tokens.name).fill('limited');
  await dialog().getByText(en.tokens.limits).click();
  await field(en.tokens.day_budget).fill('$5');
  await field(en.tokens.rpm_limit).fill('-5');
  await dialog().getByText(en.tokens.limits).click();
  await save();
  // What is wrong is unfolded.
  await expect.poll(() => field(en.tokens.rpm_limit).isVisible()).toBe(true);
  expect(await field(en.tokens.rpm_limit).evaluate((input) => input === document.activeElement)).toBe(true);
  await field(en.tokens.rpm_limit).fill('1,000');
  await save();
  await waitForText(en.tokens.reveal);
  const [made] = (await inside.ask('GET', '/api/token/?p=0&size=1')) as unknown[];
  expect(made).toMatchObject({ day_budget: 2_500_000, month_budget: 0, rpm_limit: 1000, tpm_limit: 0 });
});

test('the worth of a code and the quota added to a user are what was typed', async () => {
  await inside.open('redemption');
  await button(en.redemption.add).first().click();
  for (const text of ['', '-5', '0']) {
    await field(en.redemption.quota).fill(text);
    await save();
    await expect.poll(() => field(en.redemption.quota).getAttribute('aria-invalid')).toBe('true');
  }
  await field(en.redemption.quota).fill('1,000');
  await save();
  await waitForText(en.redemption.createdOk);
  const { items } = (await inside.ask('GET', '/api/redemption/?p=1&page_size=10')) as { items: { quota: number }[] };
  expect(items.map(({ quota }) => quota)).toEqual([500_000_000]);
  const quotaOf = async () => ((await inside.ask('GET', '/api/user/2')) as { quota: number }).quota;
  const before = await quotaOf();
  await inside.open('user/edit/2');
  await field(en.users.addQuota).fill('5.50');
  await save();
  await closed();
  expect((await quotaOf()) - before).toBe(2_750_000);
});

test('a day of expiry lasts to its end; one that no calendar has and one that has passed are refused', async () => {
  await inside.open('token?open=new');
  await field(en.tokens.name).fill('ends');
  await onDate();
  for (const [text, words] of [
    ['2027-02-30', en.tokens.expiry.impossible],
    ['2020-01-01', en.tokens.expiry.past],
    ['soon', en.tokens.expiry.unreadable],
  ] as const) {
    await field(en.tokens.expires).fill(text);
    await save();
    await waitForText(words);
  }
  await field(en.tokens.expires).fill('2099-12-31');
  await save();
  await waitForText(en.tokens.reveal);
  const [made] = (await inside.ask('GET', '/api/token/?p=0&size=1')) as { expired_time: number }[];
  expect(made?.expired_time).toBe(await page.evaluate(() => new Date(2099, 11, 31, 23, 59, 59).getTime() / 1000));
});

test('a code is made with an expiry, the list shows it, and an edit changes it or leaves it alone', async () => {
  await inside.open('redemption');
  await button(en.redemption.add).first().click();
  await field(en.redemption.name).fill('short-lived');
  await onDate();
  for (const [text, words] of [
    ['2027-02-30', en.tokens.expiry.impossible],
    ['2020-01-01', en.tokens.expiry.past],
  ] as const) {
    await field(en.tokens.expires).fill(text);
    await save();
    await waitForText(words);
  }
  await field(en.tokens.expires).fill('2099-12-31');
  await save();
  await waitForText(en.redemption.createdOk);
  const row = page.locator('tr[data-row]').filter({ hasText: 'short-lived' });
  await row.getByText('2099-12-31 23:59', { exact: true }).waitFor();
  const code = async () => {
    const { items } = (await inside.ask('GET', '/api/redemption/search?keyword=short&p=1&page_size=1')) as {
      items: { expired_time: number; quota: number }[];
    };
    return items[0];
  };
  const end = await page.evaluate(() => new Date(2099, 11, 31, 23, 59, 59).getTime() / 1000);
  expect(await code()).toMatchObject({ expired_time: end });
  const edit = async (change: () => Promise<void>) => {
    await inside.open('redemption');
    await row.getByRole('button', { name: en.app.edit }).click();
    await change();
    await save();
    await closed();
  };
  await edit(() => field(en.redemption.quota).fill('3'));
  expect(await code()).toMatchObject({ expired_time: end, quota: 1_500_000 });
  await edit(() => dialog().getByRole('radio', { name: en.tokens.never, exact: true }).click());
  expect(await code()).toMatchObject({ expired_time: 0, quota: 1_500_000 });
  await row.getByText(en.tokens.never).waitFor();
});

const forms: readonly (readonly [name: string, from: string, open: () => Promise<unknown>, label: string])[] = [
  ['key', 'token', () => button(en.tokens.add).first().click(), en.tokens.name],
  ['user', 'user', () => button(en.users.add).first().click(), en.users.username],
  [
    'edited user',
    'user',
    () => page.locator('tr[data-row="2"]').getByRole('button', { name: en.app.edit }).click(),
    en.users.displayName,
  ],
  ['code', 'redemption', () => button(en.redemption.add).first().click(), en.redemption.name],
];

test.each(forms)(
  'a half-typed form of a %s asks before it is closed, and keeps what was typed',
  async (_name, from, open, label) => {
    const ways: readonly (() => Promise<unknown>)[] = [
      () => page.keyboard.press('Escape'),
      () => page.mouse.click(20, 400),
      () => dialog().getByRole('button', { name: en.app.close }).click(),
      () => page.evaluate(() => history.back()),
    ];
    await inside.open('detail');
    // Without loading the page anew: then Back stays inside it.
    await page.evaluate((to) => history.pushState(null, '', to), `/${from}`);
    await settled(page);
    await open();
    await field(label).fill('half a name');
    for (const way of ways) {
      await way();
      await button(en.app.keepEditing).click();
      await button(en.app.keepEditing).waitFor({ state: 'detached' });
      expect(await field(label).inputValue()).toBe('half a name');
    }
    await page.keyboard.press('Escape');
    await dialog().getByRole('button', { name: en.app.discard, exact: true }).click();
    await closed();
    await open();
    // Nothing was typed: nothing is asked.
    await field(label).waitFor();
    await page.keyboard.press('Escape');
    await closed();
  },
);

test('a pasted key of a channel is not thrown away', async () => {
  await inside.open('channel');
  await button(en.channels.add).first().click();
  await dialog().getByRole('searchbox').fill('practice');
  await page.keyboard.press('Enter');
  await field(en.channels.key).fill('sk-pasted');
  await page.keyboard.press('Escape');
  await button(en.app.keepEditing).click();
  expect(await field(en.channels.key).inputValue()).toBe('sk-pasted');
  await field(en.channels.baseUrl).fill('not a url');
  await field(en.channels.name).fill('x');
  await field(en.channels.models).fill('m');
  await page.keyboard.press('Enter');
  await save();
  await waitForText(en.channels.badAddress);
  expect(await field(en.channels.baseUrl).getAttribute('aria-invalid')).toBe('true');
  expect(await field(en.channels.baseUrl).evaluate((input) => input === document.activeElement)).toBe(true);
  await page.evaluate(() => history.back());
  await dialog().getByRole('button', { name: en.app.discard, exact: true }).click();
  await closed();
});

test('each key of a channel is tested and switched in the form of its channel, on a phone too', async () => {
  await inside.ask('POST', '/api/channel/', {
    mode: 'multi_to_single',
    channel: {
      type: 199,
      name: 'with two keys',
      base_url: inside.stage.upstream,
      key: 'sk-canary-one\nsk-canary-two',
      models: 'two-keys',
    },
  });
  const all = (await inside.ask('GET', '/api/channel/?p=0&page_size=100')) as { id: number; name: string }[];
  const id = all.find(({ name }) => name === 'with two keys')?.id;
  const size = page.viewportSize();
  const keys = () => dialog().getByRole('region', { name: en.channels.keys });
  const first = (label: string) =>
    keys()
      .getByRole('button', { name: new RegExp(`^${label.split('{{')[0]}`) })
      .first();
  const openForm = async () => {
    await inside.open(`channel/edit/${id}`);
    await keys().waitFor();
  };
  await openForm();
  expect(await violationsOn(page)).toEqual([]);
  await first(en.channels.keyTest).click();
  await waitForText(/^Works: \d/);
  expect(await keys().getByText(en.channels.keyStatus.off, { exact: true }).count()).toBe(0);
  await first(en.channels.keyDisable).click();
  await keys().getByText(en.channels.keyStatus.off, { exact: true }).waitFor();
  await page.setViewportSize({ width: 390, height: 800 });
  await openForm();
  await keys().getByText(en.channels.keyStatus.off, { exact: true }).waitFor();
  const [box, section] = [await dialog().boundingBox(), await keys().boundingBox()];
  expect((section?.x ?? 0) + (section?.width ?? 0)).toBeLessThanOrEqual((box?.x ?? 0) + (box?.width ?? 0));
  expect(await violationsOn(page)).toEqual([]);
  await keys()
    .getByRole('button', { name: /^Enable the key/ })
    .click();
  await keys().getByText(en.channels.keyStatus.off, { exact: true }).waitFor({ state: 'detached' });
  if (size !== null) await page.setViewportSize(size);
});

test('settings that were changed ask before another page is opened', async () => {
  await inside.open('setting?tab=operation');
  const option = page.locator('[data-option="RetryTimes"]');
  const before = await option.inputValue();
  await option.fill('7');
  await page.getByRole('link', { name: en.channels.title }).first().click();
  await button(en.app.keepEditing).click();
  expect([new URL(page.url()).pathname, await option.inputValue()]).toEqual(['/setting', '7']);
  await page.getByRole('link', { name: en.channels.title }).first().click();
  await dialog().getByRole('button', { name: en.app.discard, exact: true }).click();
  await expect.poll(() => new URL(page.url()).pathname).toBe('/channel');
  await inside.open('setting?tab=operation');
  expect(await option.inputValue()).toBe(before);
});

test('an amount of the settings is typed as money and stored as quota', async () => {
  await inside.open('setting?tab=operation');
  const option = page.locator('[data-option="QuotaForNewUser"]');
  const form = page.locator('form').filter({ has: option });
  await option.fill('five');
  await form.getByRole('button', { name: en.app.save, exact: true }).click();
  await waitForText('"five" is not a number');
  await option.fill('$1.50');
  await form.getByRole('button', { name: en.app.save, exact: true }).click();
  await waitForText(en.settings.saved);
  const stored = (await inside.ask('GET', '/api/option/')) as { key: string; value: string }[];
  expect(stored.find(({ key }) => key === 'QuotaForNewUser')?.value).toBe('750000');
  await settled(page);
  expect(await option.inputValue()).toBe('1.50');
});

test('the low-balance alert is money', async () => {
  await inside.open('personal');
  const alert = page.getByLabel(en.personal.threshold);
  await alert.fill('5');
  await page.locator('form').filter({ has: alert }).getByRole('button', { name: en.app.save }).click();
  await waitForText(en.settings.saved);
  const { setting } = (await inside.ask('GET', '/api/user/self')) as { setting: string };
  expect(JSON.parse(setting)).toMatchObject({ quota_warning_threshold: 2_500_000 });
});

test('the wallet is not offered without payment', async () => {
  await inside.open('topup');
  await waitForText(en.wallet.offline);
  await waitForText(en.wallet.noLink);
  for (const name of [en.wallet.alipay, en.wallet.wechat, en.wallet.stripe, en.wallet.getCode])
    expect(await button(name).count()).toBe(0);
});

test('a server’s objection to a field is shown at that field, which takes the focus', async () => {
  await inside.open('redemption');
  await page.keyboard.press('n');
  await page.route('**/api/redemption/', (route) =>
    route.request().method() === 'POST'
      ? route.fulfill({
          json: { success: false, message: 'name is taken here', code: 'params_invalid', params: { field: 'name' } },
        })
      : route.continue(),
  );
  const name = field(en.redemption.name);
  // A sheet that opens is typed into at once.
  await expect.poll(() => name.evaluate((input) => input === document.activeElement)).toBe(true);
  await page.keyboard.type('winter');
  await save();
  await expect.poll(() => name.getAttribute('aria-invalid')).toBe('true');
  expect(await name.evaluate((input) => input === document.activeElement)).toBe(true);
  const note = (await name.getAttribute('aria-describedby')) ?? '';
  expect(await page.locator(`[id="${note}"]`).textContent()).toBe('name is taken here');
  await page.unroute('**/api/redemption/');
  await page.keyboard.type('!');
  expect(await name.getAttribute('aria-invalid')).toBe('false');
  await save();
  await closed();
});

test('an expiry is picked from a calendar, to the end of that day', async () => {
  await inside.open('token?open=new');
  await onDate();
  const day = new Date(Date.now() + 2 * 86_400_000);
  await dialog().getByRole('button', { name: en.tokens.calendar, exact: true }).click();
  const named = new Intl.DateTimeFormat('en', { dateStyle: 'full' }).format(day);
  const months = new Set([new Date().getMonth(), day.getMonth()]);
  if (months.size > 1) await dialog().getByRole('button', { name: en.range.nextMonth }).click();
  await dialog().getByRole('button', { name: named }).waitFor();
  expect(await violationsOn(page)).toEqual([]);
  await dialog().getByRole('button', { name: named }).click();
  const local = new Date(day.getTime() - day.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
  expect(await field(en.tokens.expires).inputValue()).toBe(`${local} 23:59:59`);
});

test('everything in the calendar of a range is accessible', async () => {
  await inside.open('log');
  await button(en.range.custom).click();
  await page.getByRole('grid').waitFor();
  expect(await violationsOn(page)).toEqual([]);
});
