/** The console under a path beside other applications: nothing it asks for, links to or stores is its neighbours'. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { en } from '../../web/locales/en.ts';
import { setUp } from '../binary/support.ts';
import { openStage, type Stage, settled } from './support.ts';

let stage: Stage;
let page: Page;
/** Addresses that were asked for beside the path. */
const outside: string[] = [];

beforeAll(async () => {
  stage = await openStage({ GATEWAY_BASE_PATH: '/ai' });
  await setUp(stage.sandbox, stage.upstream);
  page = await stage.newPage(await stage.newContext(true));
  page.on('request', (request) => {
    const { protocol, pathname } = new URL(request.url());
    if (protocol.startsWith('http') && !/^\/ai(\/|$)/.test(pathname)) outside.push(pathname);
  });
});
afterAll(() => stage?.close());

test('the printed address leads to the page', async () => {
  expect(stage.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/ai$/);
  await page.goto(stage.url);
  await page.waitForURL((to) => to.pathname === '/ai/');
  await page.locator('main h1').first().waitFor();
});

test('a login leads back to the address that was asked for', async () => {
  await page.goto(`${stage.url}/log?type=5#last`);
  await page.waitForURL('**/ai/login');
  await page.getByLabel('Username or email').fill('root');
  await page.getByLabel('Password', { exact: true }).fill('password1');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.waitForURL('**/ai/log?type=5#last');
});

test('every entry of the rail opens, again after a reload, and Back leads back', async () => {
  const rail = page.getByRole('navigation', { name: en.app.menu }).locator('a[href^="/ai/"]:not([target])');
  const links = await rail.evaluateAll((all) => all.map((one) => one.getAttribute('href') ?? ''));
  expect(links.length).toBeGreaterThan(8);
  // Pages of the site have no rail.
  for (const link of new Set(links.filter((one) => !['/ai/', '/ai/about'].includes(one)))) {
    await rail
      .and(page.locator(`[href="${link}"]`))
      .first()
      .click();
    await page.waitForURL((to) => to.pathname === link);
    await page.locator('main h1').first().waitFor();
    await settled(page);
  }
  const last = new URL(page.url()).pathname;
  await page.reload();
  await page.locator('main h1').first().waitFor();
  expect(new URL(page.url()).pathname).toBe(last);
  await page.goBack();
  await page.waitForURL((to) => to.pathname !== last && to.pathname.startsWith('/ai/'));
  expect(
    await page.locator('a[href^="/"]').evaluateAll((all) => all.map((one) => one.getAttribute('href') ?? '')),
  ).toSatisfy((all: string[]) => all.every((one) => one.startsWith('/ai/')));
});

test('filters, drawers and exports stay under the path', async () => {
  await page.goto(`${stage.url}/log`);
  await page.locator('main h1').first().waitFor();
  await page.goto(`${stage.url}/log?type=2&p=1`);
  await settled(page);
  expect(new URL(page.url()).pathname).toBe('/ai/log');
  await page.goto(`${stage.url}/statement`);
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: /CSV/ }).first().click();
  expect((await download).suggestedFilename()).toMatch(/\.csv$/);
});

test('a question of the playground is answered', async () => {
  await page.goto(`${stage.url}/playground`);
  const answer = page.waitForResponse((response) => response.url().endsWith('/ai/pg/chat/completions'));
  // What is sent before the models are there goes nowhere.
  await expect.poll(() => page.getByRole('combobox', { name: en.playground.model }).inputValue()).not.toBe('');
  await page.getByPlaceholder(en.playground.say).fill('hello');
  await page.getByPlaceholder(en.playground.say).press('Enter');
  expect((await answer).status()).toBe(200);
});

test('the documentation, its search and its way back are under the path', async () => {
  await page.goto(`${stage.url}/docs/en`);
  await page.locator('.search input').fill('channel');
  const found = page.locator('#found a').first();
  await found.waitFor();
  expect(await found.getAttribute('href')).toMatch(/^\/ai\/docs\/en/);
  await found.click();
  await page.waitForURL('**/ai/docs/en**');
  await page.locator('a.console').click();
  await page.waitForURL((to) => to.pathname === '/ai/');
});

test('browser storage carries the path, so that a second site on the host has its own', async () => {
  const names = await page.evaluate(() => Object.keys(localStorage));
  expect(names).toContain('/aiuser');
  expect(names).not.toContain('user');
  const cookies = await page.context().cookies();
  expect(cookies.map(({ path }) => path)).toSatisfy(
    (all: string[]) => all.length > 0 && all.every((one) => one === '/ai'),
  );
});

test('the way out leads to the login under the path', async () => {
  await page.goto(`${stage.url}/token`);
  await page.locator('main h1').first().waitFor();
  await page.context().clearCookies();
  await page.reload();
  await page.waitForURL('**/ai/login**');
});

test('no request left the path, and none failed', () => {
  expect(outside).toEqual([]);
  expect(stage.complaints.filter((one) => !one.includes('401'))).toEqual([]);
});
