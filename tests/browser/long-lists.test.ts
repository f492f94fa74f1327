/** Lists of more rows than are built at once, and rows as cards on a phone. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Inside, openInside } from './inside.ts';
import { settled } from './support.ts';
import { type ListTable, rowsSeen, tablesOf } from './tables.ts';

let inside: Inside;
let tables: Readonly<Record<string, ListTable>>;

beforeAll(async () => {
  inside = await openInside();
  tables = await tablesOf(inside);
}, 120_000);
afterAll(() => inside?.stage.close());

/** The whole table of figures is made by `lab/measure/rows`. */
test.each([
  ['channels', 201],
  ['log, endless', 201],
  ['models and prices', 101],
  ['tokens', 101],
  ['own orders', 21],
  ['spending by model', 201],
])('every row of %s comes into sight for a reader who scrolls by screens, %i of them', async (name, rows) => {
  const table = tables[name];
  if (table === undefined) throw new Error(name);
  await table.fill(rows);
  for (const width of [1440, 390]) {
    await inside.page.setViewportSize({ width, height: 800 });
    expect([width, await rowsSeen(inside, table)]).toEqual([width, rows]);
  }
});

test('a size of pages that cannot be had is none: no row falls between two pages', async () => {
  const table = tables.tokens;
  if (table === undefined) throw new Error('tokens');
  await table.fill(101);
  for (const size of ['1000', '-5', 'many']) {
    const path = `token?size=${size}`;
    expect([size, await rowsSeen(inside, { ...table, path })]).toEqual([size, 101]);
  }
});

test('on a phone the card of a key has its name, its amount, its copy button and its menu in sight', async () => {
  await inside.page.setViewportSize({ width: 390, height: 800 });
  const page = await inside.open('token');
  await settled(page);
  const card = page
    .locator('tr[data-row]')
    .filter({ hasText: /key-\d+/ })
    .first();
  const parts = [card.getByText(/^key-\d+$/), card.getByText(/\$10\.00/), ...(await card.getByRole('button').all())];
  expect(parts.length).toBe(4);
  const outer = await card.boundingBox();
  for (const part of parts) {
    const box = await part.boundingBox();
    // As wide as its text: nothing is cut off or pushed out of the card.
    expect(box?.width).toBeGreaterThan(20);
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual((outer?.x ?? 0) + (outer?.width ?? 0));
    expect(await part.evaluate((element) => element.scrollWidth <= element.clientWidth + 1)).toBe(true);
  }
});

test('columns of a long list are as wide as what its rows show, on a narrow screen too', async () => {
  await tables.channels?.fill(201);
  await inside.page.setViewportSize({ width: 1024, height: 768 });
  const page = await inside.open('channel');
  await settled(page);
  await page.locator('table.measured').waitFor();
  const cut = () =>
    page
      .locator('tbody tr[data-row] td')
      .evaluateAll((cells) =>
        cells.filter((cell) => cell.scrollWidth > cell.clientWidth + 1).map((cell) => cell.textContent),
      );
  await expect.poll(cut).toEqual([]);
});
