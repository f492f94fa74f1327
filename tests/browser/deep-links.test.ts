/** Every page has its title, and an address survives the login that came between. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { setUp } from '../binary/support.ts';
import { openStage, type Stage } from './support.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
  await setUp(stage.sandbox, stage.upstream);
});
afterAll(() => stage?.close());

test('a login leads back to the address that was asked for, and the tab says what it shows', async () => {
  const page = await stage.newPage(await stage.newContext(true));
  await page.goto(`${stage.url}/log?type=5#last`);
  await page.waitForURL('**/login');
  await page.getByLabel('Username or email').fill('root');
  await page.getByLabel('Password', { exact: true }).fill('password1');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.waitForURL('**/log?type=5#last');
  const titles: Record<string, string> = {};
  for (const path of ['log', 'token', 'channel', 'topup', 'pricing', 'setting', 'personal']) {
    await page.goto(`${stage.url}/${path}`);
    await page.locator('main h1').first().waitFor();
    await page.waitForFunction(() => document.title.includes(' · '));
    titles[path] = await page.title();
  }
  expect(titles).toEqual({
    log: 'Usage log · New API',
    token: 'API keys · New API',
    channel: 'Channels · New API',
    topup: 'Wallet · New API',
    pricing: 'Models & prices · New API',
    setting: 'Settings · New API',
    personal: 'Account settings · New API',
  });
  await page.getByRole('link', { name: 'Usage log' }).first().click();
  await page.waitForFunction(() => document.title.startsWith('Usage log'));
});

test('a reader without a login finds the pages of the site on a narrow screen', async () => {
  const page = await stage.newPage(await stage.newContext(true));
  await page.setViewportSize({ width: 390, height: 700 });
  await page.goto(`${stage.url}/login`);
  await page.getByRole('button', { name: 'Site' }).click();
  await page.getByRole('menuitem', { name: 'Models & prices' }).click();
  await page.waitForURL('**/pricing');
});
