import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStage, type Stage, shot, violationsOn } from './support.ts';

let stage: Stage;
let page: Page;
let url: string;
let upstream: string;
let complaints: string[];
const violations = () => violationsOn(page);

beforeAll(async () => {
  stage = await openStage();
  ({ url, upstream, complaints } = stage);
  page = await stage.newPage(await stage.newContext());
});
afterAll(() => stage?.close());

test('first run, key, request, explained charge: all in the console', async () => {
  await page.goto(url);
  await page.waitForURL('**/setup');
  expect(await violations()).toEqual([]);
  await shot(page, 'setup.png');
  // The printed link, opened where the page is open already: one click and nothing to type.
  await page.goto(stage.setupLink);
  expect(await page.getByLabel('Setup code').inputValue()).toMatch(/^[0-9a-f]{16}$/);
  await page.getByLabel('Username').fill('root');
  await page.getByLabel('Password', { exact: true }).fill('short');
  await page.getByRole('button', { name: 'Set up' }).click();
  await page.getByText('The password must have at least 8 characters').waitFor();
  await page.getByLabel('Password', { exact: true }).fill('password1');
  await page.getByLabel('Confirm password').fill('password1');
  await page.getByRole('button', { name: 'Set up' }).click();
  // Whoever has just chosen a password is inside, at the first steps.
  await page.waitForURL('**/first');

  await page.getByRole('link', { name: 'Channels' }).click();
  await page.getByRole('button', { name: 'Add channel' }).first().click();
  const dialog = page.getByRole('dialog');
  expect(await violations()).toEqual([]);
  await shot(page, 'channel-provider.png');
  await dialog.getByLabel(/^Search \d+ providers/).fill('practice');
  await page.keyboard.press('Enter');
  await dialog.getByLabel('Name').fill('practice');
  await dialog.getByLabel('Key').fill('sk-canary-in-the-console');
  await dialog.getByLabel('API address').fill(upstream);
  await dialog.getByRole('button', { name: 'Default models' }).click();
  await dialog.getByRole('button', { name: 'Test now' }).click();
  await dialog.getByText(/^Works: /).waitFor();
  await dialog.getByRole('button', { name: 'Advanced' }).click();
  expect(await violations()).toEqual([]);
  await shot(page, 'channel-drawer.png');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Channel created').waitFor();
  await page.getByRole('button', { name: 'Test practice', exact: true }).click();
  await page.getByRole('button', { name: 'Test practice-small' }).click();
  await page
    .getByText(/^(\d+ ms|\d+\.\d\d s)$/)
    .first()
    .waitFor();
  expect(await violations()).toEqual([]);
  await shot(page, 'channel-test.png');
  await page.keyboard.press('Escape');

  await page.getByRole('link', { name: 'API keys' }).click();
  await page.getByRole('button', { name: 'Add key' }).first().click();
  await dialog.getByLabel('Name').fill('laptop');
  await dialog.getByRole('button', { name: 'Create and show' }).click();
  const key = (await page.locator('code', { hasText: /^sk-/ }).textContent()) ?? '';
  expect(key).toMatch(/^sk-[A-Za-z0-9]{48}$/);
  expect(await violations()).toEqual([]);
  await shot(page, 'key-reveal.png');
  await page.keyboard.press('Escape');

  await expect
    .poll(async () => {
      const answer = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: '{"model":"practice-small","messages":[{"role":"user","content":"hi"}]}',
      });
      return answer.status;
    })
    .toBe(200);

  await page.getByRole('link', { name: 'Usage log' }).click();
  await page.getByRole('cell', { name: 'practice-small', exact: true }).first().click();
  await page.getByText('Bill', { exact: true }).waitFor();
  expect(await page.getByText(/= \$0\.0000\d\d/).count()).toBeGreaterThan(0);
  expect(await violations()).toEqual([]);
  await shot(page, 'log-drawer.png');
  await page.keyboard.press('Escape');
  expect(complaints).toEqual([]);
});

test('the playground answers on the reader’s own account, and settings take effect', async () => {
  await page.goto(`${url}/playground`);
  // The first model comes into the field with the list; text typed at that very moment would stand beside it.
  await expect.poll(() => page.getByLabel('Model').inputValue()).not.toBe('');
  await page.getByLabel('Model').fill('practice-small');
  await page.getByPlaceholder('Say something').fill('hello');
  await page.keyboard.press('Enter');
  await page.getByText('practice practice practice').waitFor();
  // What it cost and its row come behind the answer, and all of it is there after a reload.
  await page
    .getByRole('log')
    .getByText(/^\$0\.000\d{3}$/)
    .waitFor();
  await page.reload();
  await page.getByText('practice practice practice').waitFor();
  await page
    .getByRole('log')
    .getByText(/^\$0\.000\d{3}$/)
    .waitFor();
  expect(await violations()).toEqual([]);
  await shot(page, 'playground-talk.png');
  // Two models side by side, the second one picked already.
  await page.getByRole('button', { name: 'Compare models' }).click();
  await page.getByPlaceholder('Say something').fill('and now?');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Ask practice-small again' }).waitFor();
  await page.getByRole('button', { name: 'Ask practice-large again' }).waitFor();
  expect(await violations()).toEqual([]);
  await page.getByRole('button', { name: 'Remove practice-large' }).click();
  await page.getByRole('button', { name: 'Code', exact: true }).click();
  await page.getByText('/v1/chat/completions').waitFor();
  expect(await violations()).toEqual([]);
  await page.goto(`${url}/log`);
  await page.getByRole('cell', { name: 'practice-small' }).first().waitFor();
  // One search over labels, keys and explanations of every tab; what was edited is listed before it is sent.
  await page.goto(`${url}/setting`);
  await page.getByLabel('Search all options').fill('retries failure');
  await page.getByText('RetryTimes = 0').waitFor();
  await page.getByLabel('Retries after failure').fill('2');
  await page.getByText('1 changed: Retries after failure').waitFor();
  expect(await violations()).toEqual([]);
  const sent: string[] = [];
  const watch = (request: { readonly method: () => string; readonly postData: () => string | null }) => {
    if (request.method() === 'PUT') sent.push(request.postData() ?? '');
  };
  page.on('request', watch);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved').first().waitFor();
  await page.getByLabel('Search all options').fill('');
  await page.getByRole('button', { name: 'Changed only' }).click();
  await page.getByRole('button', { name: 'Reset Retries after failure to default' }).click();
  await page.getByRole('button', { name: 'Save', exact: true }).first().click();
  await page.getByRole('button', { name: 'Reset Retries after failure to default' }).waitFor({ state: 'detached' });
  expect(sent.map((text) => JSON.parse(text) as unknown)).toEqual([
    { key: 'RetryTimes', value: '2' },
    { key: 'RetryTimes', value: '0' },
  ]);
  page.off('request', watch);
  await page.goto(`${url}/setting?tab=other`);
  await page.getByLabel('System name').fill('Acme Relay');
  await page
    .locator('form', { has: page.getByLabel('System name') })
    .getByRole('button', { name: 'Save' })
    .click();
  await page.getByText('Saved').waitFor();
  await page.reload();
  await page.getByText('Acme Relay').first().waitFor();
  expect(complaints).toEqual([]);
});

test('an edited price is shown before it is stored, and the model without a price is found', async () => {
  await page.goto(`${url}/setting?tab=operation&block=visual`);
  await page.getByLabel('Search models').fill('practice-small');
  await page.getByRole('button', { name: 'Edit practice-small' }).click();
  await page.getByLabel('Input price ($/1M tokens)').fill('8');
  await page.getByText('ratio 4', { exact: true }).waitFor();
  expect(await violations()).toEqual([]);
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('button', { name: 'Save (' }).click();
  await page.getByRole('dialog').getByText('ModelRatio').waitFor();
  expect(await violations()).toEqual([]);
  await shot(page, 'price-changes.png');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved').first().waitFor();
  await page.reload();
  await page.getByLabel('Search models').fill('practice-small');
  await page.getByRole('cell', { name: '$8.00' }).first().waitFor();
  await page.getByRole('radio', { name: 'History' }).click();
  await page.getByRole('button', { name: /^Show/ }).first().click();
  await page.getByRole('dialog').getByText('practice-small').first().waitFor();
  expect(await violations()).toEqual([]);
  await shot(page, 'price-history.png');
  await page.getByRole('dialog').getByRole('button', { name: 'Roll back this change' }).click();
  await page.getByText('Rolled back change').waitFor();
  await page.getByRole('radio', { name: 'Models', exact: true }).click();
  await page.getByLabel('Search models').fill('practice-small');
  await page.getByRole('cell', { name: '$8 /' }).waitFor({ state: 'detached' });
  await page.goto(`${url}/setting?tab=other`);
  await page.getByRole('button', { name: 'Check for updates' }).click();
  await page.getByText('Set a release URL to check for updates').waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Pages, names').fill('prac');
  await page
    .getByRole('option', { name: /practice/ })
    .first()
    .waitFor();
  expect(await violations()).toEqual([]);
  await page.keyboard.press('Escape');
  await page.locator('main').click({ position: { x: 5, y: 5 } });
  await page.keyboard.press('?');
  await page.getByText('Single keys are on').waitFor();
  expect(await violations()).toEqual([]);
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await page.keyboard.press('l');
  await page.waitForURL(/\/log/);
  expect(complaints).toEqual([]);
});

test('a session that ends over a half-filled form is opened again above it', async () => {
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.evaluate(() => localStorage.setItem('i18nextLng', 'en'));
  await page.goto(`${url}/token?open=new`);
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('half-way');
  await page.context().clearCookies();
  await dialog.getByRole('button', { name: 'Create and show' }).click();
  await page.getByText('Your input is kept').waitFor();
  expect(await violations()).toEqual([]);
  await page.getByLabel('Username or email').fill('root');
  await page.getByLabel('Password', { exact: true }).fill('password1');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByText('Your input is kept').waitFor({ state: 'detached' });
  await dialog.getByRole('button', { name: 'Create and show' }).click();
  await page.locator('code', { hasText: /^sk-/ }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('cell', { name: /^half-way/ }).waitFor();
  complaints.length = 0;
});

test('a session that ended leads to the login, and says so', async () => {
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.evaluate(() => localStorage.setItem('i18nextLng', 'zh'));
  await page.context().clearCookies();
  complaints.length = 0;
  await page.goto(`${url}/token`);
  await page.waitForURL('**/login?expired=true');
  await page.getByText('未登录或登录已过期，请重新登录！').waitFor();
  expect(await violations()).toEqual([]);
});
