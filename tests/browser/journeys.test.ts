import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allProviders } from '../../server/providers/catalogue.ts';
import { callFrom, logIn, openStage, type Stage, shot, violationsOn } from './support.ts';

const practiceType = allProviders.find(({ slug }) => slug === 'practice')?.type;

let stage: Stage;
let admin: Page;
let url: string;

beforeAll(async () => {
  stage = await openStage();
  url = stage.url;
  admin = await stage.newPage(await stage.newContext());
  await admin.goto(stage.setupLink);
  await admin.getByLabel('Username').fill('root');
  await admin.getByLabel('Password', { exact: true }).fill('password1');
  await admin.getByLabel('Confirm password').fill('password1');
  await admin.getByRole('button', { name: 'Set up' }).click();
  await admin.waitForURL('**/first');
  const made = await callFrom(admin, 'POST', '/api/channel/', {
    type: practiceType,
    name: 'practice',
    key: 'none',
    base_url: stage.upstream,
    models: 'practice-small,practice-large',
    group: 'default',
  });
  expect(made.message).toBe('');
});
afterAll(() => stage?.close());

const chat = (key: string, model = 'practice-small') =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
  });

test('a new user registers, redeems a code, makes a key and chats', async () => {
  const codes = await callFrom(admin, 'POST', '/api/redemption/', { name: 'gift', quota: 5_000_000, count: 1 });
  const [code = ''] = codes.data as string[];
  const page = await stage.newPage(await stage.newContext());
  await page.goto(`${url}/register`);
  await page.getByLabel('Username').fill('newcomer');
  await page.getByLabel('Password', { exact: true }).fill('password1');
  await page.getByLabel('Confirm password').fill('password2');
  await page.getByRole('button', { name: 'Create an account' }).click();
  await page.getByText("Passwords don't match").waitFor();
  await page.getByLabel('Confirm password').fill('password1');
  await page.getByRole('button', { name: 'Create an account' }).click();
  await page.waitForURL('**/login');
  await logIn(page, url, 'newcomer', 'password1');

  await page.getByRole('link', { name: 'Wallet' }).click();
  await page.getByRole('textbox', { name: /code/i }).fill(code);
  await page.getByRole('button', { name: /redeem/i }).click();
  await page.getByText('$10.00').first().waitFor();

  await page.goto(`${url}/token?new=1`);
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('laptop');
  await dialog.getByText('Limits and rates').click();
  await dialog.getByLabel('Requests per minute').fill('2');
  expect(await violationsOn(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Create and show' }).click();
  const key = (await page.locator('code', { hasText: /^sk-/ }).textContent()) ?? '';
  await page.getByText('Waiting for the first request').waitFor();
  expect((await chat(key)).status).toBe(200);
  await page.getByText(/First request: practice-small/).waitFor();
  expect(await violationsOn(page)).toEqual([]);
  await shot(page, 'first-request.png');
  expect((await chat(key)).status).toBe(200);
  expect((await chat(key)).status).toBe(429);
  await page.context().close();
});

test('a price that is edited is the price of the next request', async () => {
  const token = (await callFrom(admin, 'POST', '/api/token/', { name: 'prices', unlimited_quota: true })).data as {
    key: string;
  };
  const lastCharge = async (): Promise<number> => {
    const rows = (await callFrom(admin, 'GET', '/api/log/?p=1&page_size=1&type=2')).data as {
      items: { quota: number }[];
    };
    return rows.items[0]?.quota ?? 0;
  };
  expect((await chat(token.key)).status).toBe(200);
  const before = await lastCharge();
  await admin.goto(`${url}/setting?tab=operation&block=visual`);
  await admin.getByLabel('Search models').fill('practice-small');
  await admin.getByRole('button', { name: 'Edit practice-small' }).click();
  const ratio = await admin.getByLabel('Input price ($/1M tokens)').inputValue();
  await admin.getByLabel('Input price ($/1M tokens)').fill(String(Number(ratio) * 10));
  const output = await admin.getByLabel('Output price ($/1M tokens)').inputValue();
  await admin.getByLabel('Output price ($/1M tokens)').fill(String(Number(output) * 10));
  await admin.getByRole('button', { name: 'Done' }).click();
  await admin.getByRole('button', { name: 'Save (' }).click();
  await admin.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await admin.getByText('Saved').first().waitFor();
  await expect
    .poll(async () => {
      await chat(token.key);
      return lastCharge();
    })
    .toBe(before * 10);
});

test('a banned user is outside at once', async () => {
  await callFrom(admin, 'POST', '/api/user/', { username: 'banned', password: 'password1' });
  const page = await stage.newPage(await stage.newContext());
  await logIn(page, url, 'banned', 'password1');
  await admin.goto(`${url}/user?q=banned`);
  const row = admin.getByRole('row', { name: /banned/ });
  await row.getByRole('button', { name: /^More/ }).click();
  await admin.getByRole('menuitem', { name: 'Disable' }).click();
  await row.getByText('Disabled').waitFor();
  stage.complaints.length = 0;
  await page.goto(`${url}/log`);
  await page.waitForURL('**/login?expired=true');
  await page.context().close();
  stage.complaints.length = 0;
});

test('a thousand channels: filter, choose all, tag, undo', async () => {
  const keys = Array.from({ length: 990 }, (_key, index) => `key-${index}`).join('\n');
  await callFrom(admin, 'POST', '/api/channel/', {
    type: 1,
    name: 'many',
    key: keys,
    models: 'gpt-4o',
    group: 'default',
    priority: -5,
  });
  await admin.goto(`${url}/channel?q=many`);
  await admin.getByText('990', { exact: true }).first().waitFor();
  // Rows out of sight are not built.
  expect(await admin.locator('tbody tr[data-row]').count()).toBeLessThan(80);
  await admin.getByLabel('Select all rows on this page').check();
  await admin.getByText('990 of 990 selected').waitFor();
  expect(await violationsOn(admin)).toEqual([]);
  await shot(admin, 'thousand-channels.png');
  await admin.getByRole('button', { name: 'Set tag' }).click();
  await admin.getByRole('dialog').getByLabel('Tag').fill('bulk');
  await admin.getByRole('dialog').getByRole('button', { name: 'Set tag' }).click();
  await admin.getByText('990 channels tagged bulk').waitFor();
  const tagged = async () =>
    ((await callFrom(admin, 'GET', '/api/channel/search?keyword=many')).data as { tag: string }[]).filter(
      ({ tag }) => tag === 'bulk',
    ).length;
  expect(await tagged()).toBe(990);
  await admin.getByRole('button', { name: 'Undo' }).click();
  await admin.getByText('Undone').waitFor();
  expect(await tagged()).toBe(0);
  await admin
    .getByRole('row', { name: /practice/ })
    .first()
    .waitFor({ state: 'detached' });
  expect(stage.complaints).toEqual([]);
});
