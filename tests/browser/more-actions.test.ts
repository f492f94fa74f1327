/** The other things people come for, by the number of things they do until they have them, counted as in `few-actions`. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { en } from '../../web/locales/en.ts';
import { type Inside, openInside } from './inside.ts';
import { settled } from './support.ts';

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
