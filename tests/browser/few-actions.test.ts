/** What people come for, by the number of things they do until they have it. */
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { en } from '../../web/locales/en.ts';
import { openStage, type Stage, settled, violationsOn } from './support.ts';

let stage: Stage;
let page: Page;
let actions = 0;
const act = async (done: Promise<unknown>): Promise<void> => {
  actions += 1;
  await done;
};
const button = (name: string): Locator => page.getByRole('button', { name, exact: true });

beforeAll(async () => {
  stage = await openStage();
  page = await stage.newPage(await stage.newContext(true));
});
afterAll(() => stage?.close());

test('from the printed link to the first answer with its bill: six, without a key of any provider', async () => {
  await page.goto(stage.setupLink);
  actions = 0;
  await act(page.getByLabel(en.setup.username).fill('root'));
  await act(page.getByLabel(en.setup.password, { exact: true }).fill('password1'));
  await act(page.getByLabel(en.setup.confirm).fill('password1'));
  await act(button(en.setup.run).click());
  await page.waitForURL('**/first');
  await button(en.setup.practice).waitFor();
  expect(await violationsOn(page)).toEqual([]);
  await act(button(en.setup.practice).click());
  await button(en.setup.sendForMe).waitFor();
  expect(await violationsOn(page)).toEqual([]);
  await act(button(en.setup.sendForMe).click());
  await page.getByText(en.setup.showLog).waitFor();
  expect(await page.locator('main').textContent()).toMatch(/\$0\.000\d{3}/);
  expect(await violationsOn(page)).toEqual([]);
  expect(actions).toBe(6);
});

test('two models compared: three, with the cost of each', async () => {
  await page.goto(`${stage.url}/playground`);
  await settled(page);
  actions = 0;
  await act(button(en.playground.compare).click());
  await act(page.getByPlaceholder(en.playground.say).fill('hello'));
  await act(page.keyboard.press('Enter'));
  await expect
    .poll(() =>
      page
        .getByRole('log')
        .getByText(/^\$0\.000\d{3}$/)
        .count(),
    )
    .toBe(2);
  expect(actions).toBe(3);
});

test('latency over a week: one; and from its chart to the requests one more', async () => {
  await page.goto(`${stage.url}/detail`);
  await settled(page);
  actions = 0;
  await act(page.getByRole('radio', { name: en.range['7d'], exact: true }).click());
  await page.waitForURL(/range=7d/);
  await expect.poll(() => page.locator('main').textContent()).toMatch(/\d\.\d\d \/ \d\.\d\d/);
  const chart = page.locator('.u-over').last();
  await chart.waitFor();
  const box = await chart.boundingBox();
  if (box === null) throw new Error('no chart');
  // The last bar is the hour under way.
  await act(chart.click({ position: { x: box.width - 3, y: box.height - 3 } }));
  await page.waitForURL(/\/log\?.*from=/);
  await page
    .getByRole('cell', { name: /practice-/ })
    .first()
    .waitFor();
  expect(actions).toBe(2);
});
