/** Lists of the console by hand: order, selection, filters, and the address of what is open. */
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { en } from '../../web/locales/en.ts';
import { type Inside, openInside } from './inside.ts';
import { settled, violationsOn } from './support.ts';

let inside: Inside;
let page: Page;
const models = ['practice-small', 'practice-large'];

beforeAll(async () => {
  inside = await openInside();
  ({ page } = inside);
  for (let n = 0; n < 25; n++)
    await inside.ask('POST', '/api/token/', { name: `key ${String(n).padStart(2, '0')}`, remain_quota: 5_000_000 });
  for (let n = 0; n < 12; n++)
    await inside.ask('POST', '/api/user/', { username: `user${n}`, password: 'password1', display_name: '' });
  // Requests of different cost: the dearest is neither the first nor the last.
  for (let n = 0; n < 14; n++)
    await fetch(`${inside.stage.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${inside.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: models[n % models.length],
        messages: [{ role: 'user', content: 'word '.repeat(n === 4 ? 900 : 10 + n) }],
      }),
    }).then((answer) => answer.text());
}, 120_000);
afterAll(() => inside?.stage.close());

const rows = (): Locator => page.locator('tr[data-row]');
const waitForText = (text: string | RegExp) => page.getByText(text).first().waitFor();
const bar = () => page.getByRole('region', { name: en.table.chosen });

test('sorting a list of pages sorts all of it: the dearest request stands first', async () => {
  const { items } = (await inside.ask('GET', '/api/log/?type=2&p=1&page_size=100')) as {
    items: { id: number; quota: number }[];
  };
  const dearest = items.reduce((one, other) => (other.quota > one.quota ? other : one));
  await inside.open('log?type=2&size=10&sort=-quota');
  await expect.poll(() => rows().first().getAttribute('data-row')).toBe(String(dearest.id));
  expect(await page.locator('th[aria-sort="descending"]').textContent()).toContain(en.logs.cost);
  await page.getByRole('button', { name: en.app.next }).click();
  await expect.poll(() => rows().first().getAttribute('data-row')).not.toBe(String(dearest.id));
  // Another order begins with its first page.
  await page.getByRole('button', { name: new RegExp(`^${en.logs.cost}`) }).click();
  await expect.poll(() => new URL(page.url()).searchParams.get('p')).toBeNull();
});

test('users by name, and an order that is not offered, is none', async () => {
  await inside.open('user?size=10&sort=-username');
  await expect.poll(() => rows().first().textContent()).toContain('user9');
  await inside.open('user?size=10&sort=-password');
  await expect.poll(() => rows().count()).toBeGreaterThan(5);
  expect(await page.locator('th[aria-sort="descending"]').count()).toBe(0);
});

test('picked rows are forgotten on another page; "all matching" means all rows', async () => {
  await inside.open('token?size=10');
  await rows().nth(0).getByRole('checkbox').check();
  await rows().nth(1).getByRole('checkbox').check();
  await bar().getByText('2 selected').waitFor();
  await page.getByRole('button', { name: en.app.next }).click();
  await expect.poll(() => rows().first().textContent()).not.toContain('key 24');
  expect(await bar().count()).toBe(0);
  await rows().nth(0).getByRole('checkbox').check();
  await bar().getByRole('button', { name: en.table.all }).click();
  const all = (await inside.ask('GET', '/api/token/?p=0&size=100')) as { id: number }[];
  await bar().getByText(`${all.length} selected`).waitFor();
  await bar().getByRole('button', { name: en.tokens.copyChosen }).click();
  await settled(page);
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied.split('\n')).toHaveLength(all.length);
  await bar().getByRole('button', { name: en.app.delete }).click();
  await page
    .getByRole('dialog')
    .getByText(en.tokens.notInSight.replace('{{count}}', String(all.length - 10)))
    .waitFor();
  await page.getByRole('dialog').getByRole('button', { name: en.app.cancel }).click();
});

test('sums stand over rows that spend, not over others', async () => {
  await inside.open('log?type=2');
  await waitForText(en.logs.quota);
  await inside.open('log?type=5');
  await settled(page);
  expect(await page.getByText(en.logs.quota, { exact: true }).count()).toBe(0);
});

test('a filter that cannot match says so, a channel is found by its name and a model by a part of its', async () => {
  await inside.open('log?channel=nowhere');
  await waitForText(/No row matches.*nowhere/);
  await inside.open('log?channel=practice');
  await expect.poll(() => rows().count()).toBeGreaterThan(5);
  await inside.open('log?model=large');
  await expect.poll(() => rows().count()).toBeGreaterThan(2);
  for (const text of await rows().allTextContents()) expect(text).toContain('practice-large');
  await inside.open('log?from=2027-02-02T00:00&to=2027-01-01T00:00');
  await waitForText(en.logs.backwards);
});

test('an open row of the log has an address: reload keeps it, j and k go on, Back closes it', async () => {
  await inside.open('log?type=2');
  const id = (await rows().nth(1).getAttribute('data-row')) ?? '';
  const next = (await rows().nth(2).getAttribute('data-row')) ?? '';
  await rows().nth(1).locator('td').nth(1).click();
  const drawer = page.getByRole('dialog').getByRole('heading').first();
  await drawer.waitFor();
  expect(new URL(page.url()).searchParams.get('open')).toBe(id);
  await page.reload();
  await drawer.waitFor();
  await page.keyboard.press('j');
  await expect.poll(() => new URL(page.url()).searchParams.get('open')).toBe(next);
  await page.keyboard.press('k');
  await expect.poll(() => new URL(page.url()).searchParams.get('open')).toBe(id);
  await page.goBack();
  await drawer.waitFor({ state: 'detached' });
  expect(new URL(page.url()).pathname + new URL(page.url()).search).toBe('/log?type=2');
  // A link to a row that is on no page in sight.
  await inside.open(`log?type=5&open=${id}`);
  await drawer.waitFor();
  await page.keyboard.press('Escape');
  await drawer.waitFor({ state: 'detached' });
  expect(new URL(page.url()).search).toBe('?type=5');
});

test('rows are narrowed by what is counted and by a range out of the histogram, and the address says so', async () => {
  await page.setViewportSize({ width: 1440, height: 900 });
  const asked = () => new URL(page.url()).searchParams;
  await inside.open('log');
  const rail = page.getByRole('navigation', { name: en.logs.facets });
  const model = rail.getByRole('button', { name: /^practice-large/ });
  await model.click();
  await expect.poll(() => asked().get('model')).toBe('=practice-large');
  expect(await model.getAttribute('aria-pressed')).toBe('true');
  await expect
    .poll(async () => (await rows().allTextContents()).every((text) => text.includes('practice-large')))
    .toBe(true);
  await model.click();
  await expect.poll(() => asked().get('model')).toBeNull();
  const bars = (await page.locator('.u-over').boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  await page.mouse.move(bars.x + bars.width / 2, bars.y + 20);
  await page.mouse.down();
  await page.mouse.move(bars.x + bars.width - 2, bars.y + 20, { steps: 4 });
  await page.mouse.up();
  await expect.poll(() => asked().get('from')).toMatch(/Z$/);
  await expect.poll(() => rows().count()).toBeGreaterThan(5);
});

test('the id of a request typed into the search opens its row', async () => {
  const { items } = (await inside.ask('GET', '/api/log/?type=2&p=1&page_size=1')) as {
    items: readonly { request_id: string }[];
  };
  const id = items[0]?.request_id ?? '';
  await inside.open('token');
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: en.palette.hint }).fill(id);
  await page.getByRole('option', { name: id }).click();
  await page.getByRole('dialog').getByText(id, { exact: true }).waitFor();
  expect(new URL(page.url()).search).toBe(`?open=${id}`);
});

test('a new key waits for its own first request, whatever other keys are called', async () => {
  await inside.ask('POST', '/api/token/', { name: 'twin', remain_quota: 5_000_000 });
  const [old] = (await inside.ask('GET', '/api/token/?p=0&size=1')) as { key: string }[];
  const request = (key: string) =>
    fetch(`${inside.stage.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-${key.replace(/^sk-/, '')}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'practice-small', messages: [{ role: 'user', content: 'hi' }] }),
    }).then((answer) => answer.text());
  await request(old?.key ?? '');
  await inside.open('token?open=new');
  await page.getByRole('dialog').getByLabel(en.tokens.name, { exact: true }).fill('twin');
  await page.getByRole('dialog').getByRole('button', { name: en.tokens.create }).click();
  await waitForText(en.tokens.waiting);
  await settled(page);
  await waitForText(en.tokens.waiting);
  const [made] = (await inside.ask('GET', '/api/token/?p=0&size=1')) as { key: string }[];
  await request(made?.key ?? '');
  await page.getByText(en.tokens.seeLog).waitFor();
});

test('a promoted user gets the menu of administrators without a new login', async () => {
  const ann = await inside.guest();
  await ann.goto(`${inside.stage.url}/login`);
  await ann.getByLabel(en.login.username).fill('user3');
  await ann.getByLabel(en.login.password, { exact: true }).fill('password1');
  await ann.keyboard.press('Enter');
  await ann.getByRole('link', { name: en.tokens.title }).first().waitFor();
  expect(await ann.getByRole('link', { name: en.channels.title }).count()).toBe(0);
  const { items } = (await inside.ask('GET', '/api/user/search?keyword=user3&p=1&page_size=10')) as {
    items: { id: number }[];
  };
  await inside.ask('POST', '/api/user/manage', { id: items[0]?.id, action: 'promote' });
  await ann.reload();
  await ann.getByRole('link', { name: en.channels.title }).first().waitFor();
  await ann.close();
});

test('the first steps are gone after a real request, and a channel test is none', async () => {
  await inside.open('detail');
  await settled(page);
  const goOn = page.getByRole('link', { name: en.setup.goOn, exact: true });
  expect(await goOn.count()).toBe(0);
  await page.route('**/api/log/?*', async (route) => {
    const data = { items: [], page: 1, page_size: 1, total: 2 };
    // As if every row were a test.
    await route.fulfill({ json: { success: true, message: '', data } });
  });
  await inside.open('detail');
  await goOn.click();
  await waitForText(en.setup.waiting);
  await page.unroute('**/api/log/?*');
});

test('the keys of a list work before anything is clicked: j and k go through the rows, / narrows', async () => {
  await inside.open('log');
  await page.locator('tbody tr[data-row]').first().waitFor();
  const here = () =>
    page.locator('tbody tr[data-row]').evaluateAll((rows) => rows.indexOf(document.activeElement as HTMLElement));
  await page.keyboard.press('j');
  expect(await here()).toBe(0);
  await page.keyboard.press('j');
  expect(await here()).toBe(1);
  await page.keyboard.press('k');
  expect(await here()).toBe(0);
  await page.keyboard.press('/');
  await page.locator('.menu').getByRole('button', { name: en.logs.model, exact: true }).click();
  await page.keyboard.type('practice');
  await page.keyboard.press('Enter');
  await expect.poll(() => new URL(page.url()).searchParams.get('model')).toBe('practice');
  await page.getByRole('button', { name: en.table.removeFilter.replace('{{name}}', en.logs.model) }).click();
  await expect.poll(() => new URL(page.url()).searchParams.has('model')).toBe(false);
});

test('on a phone a row has its name first, its figure at the right and one menu', async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  await inside.open('user');
  const row = page.locator('tbody tr[data-row]').first();
  await row.waitFor();
  const [name, figure, menu] = [
    row.locator('td:visible').first(),
    row.locator('td.number:visible').last(),
    row.getByRole('button'),
  ];
  expect(await menu.count()).toBe(1);
  const boxes = await Promise.all([name, figure, menu].map((one) => one.boundingBox()));
  const [left, right, far] = boxes.map((box) => box?.x ?? 0);
  const middles = boxes.map((box) => (box?.y ?? 0) + (box?.height ?? 0) / 2);
  expect([left, right, far]).toEqual([left, right, far].toSorted((one, other) => Number(one) - Number(other)));
  expect(Math.max(...middles) - Math.min(...middles)).toBeLessThan(12);
  await page.getByRole('button', { name: en.table.filters }).click();
  await page.getByRole('dialog').getByLabel(en.users.group).waitFor();
  await page.keyboard.press('Escape');
  await page.setViewportSize({ width: 1280, height: 800 });
});

test('in a wide window a request stands beside the log: nothing is dimmed, another row opens, Escape closes and returns', async () => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await inside.open('log?type=2');
  const sheet = page.getByRole('dialog');
  const id = async (at: number) => (await rows().nth(at).getAttribute('data-row')) ?? '';
  const [first, second] = [await id(0), await id(1)];
  await rows().first().click();
  await sheet.getByText(en.logs.bill, { exact: true }).waitFor();
  expect(await page.locator('.bg-scrim').count()).toBe(0);
  expect(await violationsOn(page)).toEqual([]);
  await rows().nth(1).locator('td').first().click();
  await expect.poll(() => new URL(page.url()).searchParams.get('open')).toBe(second);
  await sheet.getByRole('button', { name: en.logs.previous }).click();
  await expect.poll(() => new URL(page.url()).searchParams.get('open')).toBe(first);
  // Whoever asked is one press away.
  expect(await sheet.getByRole('link', { name: 'root', exact: true }).getAttribute('href')).toMatch(/^\/user\/\d+$/);
  await page.keyboard.press('Escape');
  await sheet.waitFor({ state: 'detached' });
  await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('data-row'))).toBe(first);
  // Where there is no room beside the list it stands above it.
  await page.setViewportSize({ width: 1280, height: 900 });
  await rows().first().click();
  await expect.poll(() => page.locator('.bg-scrim').count()).toBe(1);
  await page.keyboard.press('Escape');
});
