/** The other things people come for, by the number of things they do until they have them, counted as in `few-actions`. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { en } from '../../web/locales/en.ts';
import { type Inside, openInside } from './inside.ts';
import { callFrom, settled } from './support.ts';

let inside: Inside;
let actions = 0;
const act = async (done: Promise<unknown>): Promise<void> => {
  actions += 1;
  await done;
};

beforeAll(async () => {
  inside = await openInside();
});
afterAll(() => inside?.stage.close());
beforeEach(async () => {
  await inside.open('token');
  actions = 0;
});

const menu = (name: string): Promise<void> =>
  act(inside.page.getByRole('navigation', { name: en.app.menu }).getByRole('link', { name, exact: true }).click());
const searchSettings = (words: string): Promise<void> =>
  act(inside.page.locator('main input[type=search]').first().fill(words));

async function openSettings(): Promise<void> {
  const { page } = inside;
  await menu(en.settings.title);
  await page.locator('main input[type=search]').first().waitFor();
  await settled(page);
}

test('the button that tries e-mail: two by search', async () => {
  const { page } = inside;
  await openSettings();
  await searchSettings('smtp');
  await page.getByRole('button', { name: en.settings.mailTest }).waitFor();
  expect(actions).toBe(2);
});

test('a backup: three by search, and it says when it was made', async () => {
  const { page } = inside;
  await openSettings();
  await searchSettings('backup');
  await act(page.getByRole('button', { name: en.settings.backupNow }).click());
  await page
    .getByText(/backups\/scheduled/)
    .first()
    .waitFor();
  expect(actions).toBe(3);
});

test('how Claude Code connects: one, from the menu', async () => {
  await menu(en.connect.title);
  await inside.page.getByText('Claude Code').first().waitFor();
  expect(actions).toBe(1);
});

test('the documentation: one', async () => {
  const opened = inside.page.context().waitForEvent('page', { timeout: 5000 });
  await act(inside.page.getByRole('banner').getByRole('link', { name: 'Docs' }).click());
  expect(new URL((await opened).url()).pathname).toMatch(/^\/docs/);
  expect(actions).toBe(1);
});

test('what an alert rule would have said in a week: two', async () => {
  const { page } = inside;
  await act(page.getByRole('button', { name: en.app.alerts }).click());
  await act(page.getByRole('link', { name: en.alertRules.link }).click());
  await page.getByText(en.alertRules.quiet).first().waitFor();
  expect(actions).toBe(2);
});

test('a provider by its pasted key, with the models that the key may use: three and Save', async () => {
  const { page } = inside;
  const key = `sk-proj-${'a1B2c3D4'.repeat(6)}`;
  // What the provider would answer for a key that is good.
  await page.route('**/api/channel/fetch_models', (route) =>
    route.fulfill({ json: { success: true, message: '', data: ['gpt-4o', 'gpt-4o-mini'] } }),
  );
  await menu(en.channels.title);
  await act(page.getByRole('button', { name: en.channels.add }).click());
  const form = page.getByRole('dialog');
  const paste = form.locator('[data-autofocus]');
  await act(paste.fill(key));
  // Found by how the key begins, and named by it.
  await form.getByText('OpenAI', { exact: true }).first().waitFor();
  await form.getByText('gpt-4o-mini', { exact: true }).first().waitFor();
  // It lies under dots until somebody wants to look at it.
  const typed = form.getByLabel(en.channels.key, { exact: true });
  const isHidden = () => typed.evaluate((field) => getComputedStyle(field).getPropertyValue('-webkit-text-security'));
  expect([await typed.inputValue(), await isHidden()]).toEqual([key, 'disc']);
  await form.getByRole('button', { name: `${en.account.show} ${en.channels.key}` }).click();
  expect(await isHidden()).toBe('none');
  await act(form.getByRole('button', { name: en.app.save, exact: true }).click());
  await form.waitFor({ state: 'detached' });
  await page.unroute('**/api/channel/fetch_models');
  const [made] = (await inside.ask('GET', '/api/channel/?p=0&page_size=1&id_sort=true')) as {
    id: number;
    models: string;
  }[];
  expect(made?.models).toBe('gpt-4o,gpt-4o-mini');
  expect(actions).toBe(4);
  await inside.ask('DELETE', `/api/channel/${made?.id}`);
});

test('the price of a model raised by 20 percent, without a calculator: two', async () => {
  const { page } = inside;
  await menu(en.nav.pricing);
  const cell = page.getByLabel(
    en.pricing.priceOf.replace('{{part}}', en.pricing.in).replace('{{name}}', 'practice-small'),
  );
  await cell.waitFor();
  const before = Number(await cell.inputValue());
  expect(before).toBeGreaterThan(0);
  await act(cell.fill('+20%').then(() => cell.press('Enter')));
  await expect.poll(async () => Number(await cell.inputValue())).toBeCloseTo(before * 1.2, 6);
  expect(actions).toBe(2);
});

test('a key that works from one address alone: four, and what is no address is refused where it stands', async () => {
  const { page } = inside;
  await act(page.locator('tr[data-row]').first().locator('td').nth(1).click());
  const form = page.getByRole('dialog');
  await act(form.getByText(en.tokens.addresses).click());
  const field = form.getByLabel(en.tokens.ips);
  const save = form.getByRole('button', { name: en.app.save, exact: true });
  // Somebody who mistypes reads which of the lines it is, and nothing is stored.
  await field.fill('203.0.113.300');
  await save.click();
  await form.getByText(en.tokens.wrongAddress.replace('{{address}}', '203.0.113.300')).waitFor();
  await act(field.fill('203.0.113.7'));
  await act(save.click());
  await form.waitFor({ state: 'detached' });
  const keys = (await inside.ask('GET', '/api/token/?p=0&size=5')) as { allow_ips: string }[];
  expect(keys.map(({ allow_ips: ips }) => ips)).toContain('203.0.113.7');
  expect(actions).toBe(4);
});

/** A new user on a page of its own, from the form to what the first request cost. @param width of the window. */
async function startOf(name: string, width: number): Promise<void> {
  const page: Page = await inside.guest(width);
  const codes = (await inside.ask('POST', '/api/redemption/', { name: 'gift', quota: 500_000, count: 1 })) as string[];
  const narrow = width < 600;
  const go = async (label: string): Promise<void> => {
    if (narrow) await page.getByRole('button', { name: en.app.menu }).click();
    await act(
      page.getByRole('navigation', { name: en.app.menu }).getByRole('link', { name: label, exact: true }).click(),
    );
  };
  await page.goto(`${inside.stage.url}/register`);
  await act(page.getByLabel(en.account.username, { exact: true }).fill(name));
  await act(page.getByLabel(en.login.password, { exact: true }).fill('password1'));
  await act(page.getByLabel(en.account.password2, { exact: true }).fill('password1'));
  await act(page.locator('form').getByRole('button', { name: en.account.register }).click());
  // The name is there already; the password is asked for once more.
  await page.waitForURL('**/login');
  expect(await page.getByLabel(en.login.username).inputValue()).toBe(name);
  await act(page.getByLabel(en.login.password, { exact: true }).fill('password1'));
  await act(page.getByRole('button', { name: en.login.submit, exact: true }).click());
  await page.waitForURL('**/token');
  expect(actions).toBeLessThanOrEqual(8);
  // A code: two and the way there.
  const beforeCode = actions;
  await go(en.nav.wallet);
  await act(page.getByRole('textbox', { name: en.wallet.code }).fill(codes[0] ?? ''));
  await act(page.getByRole('button', { name: en.wallet.redeemAction, exact: true }).click());
  await page.getByText('$1.00').first().waitFor();
  expect(actions - beforeCode).toBeLessThanOrEqual(3);
  const beforeKey = actions;
  await go(en.tokens.title);
  await act(page.getByRole('button', { name: en.tokens.add }).first().click());
  const form = page.getByRole('dialog');
  await act(form.getByLabel(en.tokens.name, { exact: true }).fill('mine'));
  await act(form.getByRole('button', { name: en.tokens.create }).click());
  const shown = page.locator('code', { hasText: /^sk-/ }).first();
  await shown.waitFor();
  expect(actions - beforeKey).toBeLessThanOrEqual(4);
  const key = (await shown.textContent()) ?? '';
  await page.keyboard.press('Escape');
  const answer = await fetch(`${inside.stage.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'practice-large', messages: [{ role: 'user', content: 'hello '.repeat(50) }] }),
  });
  expect(answer.status).toBe(200);
  await answer.text();
  const beforeSpend = actions;
  await go(en.logs.title);
  await expect
    .poll(
      async () => {
        await page.reload();
        await settled(page);
        return page.locator('main').textContent();
      },
      { timeout: 60_000 },
    )
    .toMatch(/practice-large.*\$0\.\d{6}/s);
  expect(actions - beforeSpend).toBe(1);
  // Nothing that scrolls sideways stood in the way.
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth)).toBe(
    true,
  );
  await page.context().close();
}

test('a user’s own start: six to be inside, three for a code, four for a key, one to what it spent', () =>
  startOf('newcomer', 1280));

test('the same on a phone takes as many, besides opening the menu', () => startOf('onaphone', 390));

test('an ordinary user finds the documentation: one, at the chapter of the page, and from the lines for a program', async () => {
  await inside.ask('POST', '/api/user/', { username: 'reader', password: 'password1' });
  const page = await inside.guest();
  await page.goto(`${inside.stage.url}/login`);
  await page.getByLabel(en.login.username).fill('reader');
  await page.getByLabel(en.login.password, { exact: true }).fill('password1');
  await page.getByRole('button', { name: en.login.submit, exact: true }).click();
  await page.waitForURL('**/token');
  expect((await callFrom(page, 'GET', '/api/user/self')).success).toBe(true);
  actions = 0;
  const opened = page.context().waitForEvent('page');
  await page.setViewportSize({ width: 1440, height: 900 });
  await act(page.getByRole('banner').getByRole('link', { name: en.nav.docs }).click());
  const docs = await opened;
  await docs.waitForLoadState();
  expect(new URL(docs.url()).pathname).toBe('/docs/en/users');
  expect(await docs.locator('h1').textContent()).toBe('Users and keys');
  expect(actions).toBe(1);
  await page.goto(`${inside.stage.url}/topup`);
  await settled(page);
  const chapter = await page.getByRole('link', { name: en.wallet.docs }).getAttribute('href');
  expect((await fetch(inside.stage.url + chapter)).status).toBe(200);
  await page.context().close();
});
