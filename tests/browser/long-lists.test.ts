/** Lists of more rows than are built at once, and rows as cards on a phone. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Inside, openInside } from './inside.ts';
import { settled } from './support.ts';

let inside: Inside;

beforeAll(async () => {
  inside = await openInside();
  const { ask, set } = inside;
  const models = Array.from({ length: 300 }, (_, n) => `priced-${String(n).padStart(3, '0')}`);
  await set({ ModelRatio: JSON.stringify(Object.fromEntries(models.map((name) => [name, 1]))) });
  const channel = { type: 1, base_url: 'http://127.0.0.1:9', models: models.join(',') };
  const key = Array.from({ length: 200 }, (_, n) => `sk-${n}`).join('\n');
  await ask('POST', '/api/channel/', { ...channel, name: 'many', key });
  for (let n = 0; n < 150; n++)
    await ask('POST', '/api/token/', { name: `key-${String(n).padStart(3, '0')}`, remain_quota: 5_000_000 });
}, 120_000);
afterAll(() => inside?.stage.close());

test.each([
  ['channel?size=1000', /many_\d+/],
  ['token?size=1000', /key-\d+/],
  ['pricing', /priced-\d+/],
])('%s shows its rows at first, whatever their number', async (path, name) => {
  for (const width of [1440, 390]) {
    await inside.page.setViewportSize({ width, height: 800 });
    const page = await inside.open(path);
    const rows = page.locator('tr[data-row]').filter({ hasText: name });
    await expect.poll(() => rows.count()).toBeGreaterThan(5);
    expect(await rows.first().isVisible()).toBe(true);
  }
});

test('on a phone the card of a key has its name, its amount and every button in sight', async () => {
  await inside.page.setViewportSize({ width: 390, height: 800 });
  const page = await inside.open('token');
  await settled(page);
  const card = page
    .locator('tr[data-row]')
    .filter({ hasText: /key-\d+/ })
    .first();
  const parts = [card.getByText(/^key-\d+$/), card.getByText(/^\$10\.00/), ...(await card.getByRole('button').all())];
  expect(parts.length).toBeGreaterThan(4);
  const outer = await card.boundingBox();
  for (const part of parts) {
    const box = await part.boundingBox();
    // As wide as its text: nothing is cut off or pushed out of the card.
    expect(box?.width).toBeGreaterThan(20);
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual((outer?.x ?? 0) + (outer?.width ?? 0));
    expect(await part.evaluate((element) => element.scrollWidth <= element.clientWidth + 1)).toBe(true);
  }
});
