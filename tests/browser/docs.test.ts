/** The documentation as the executable serves it: accessible, as wide as its window, complete in itself, and with links that lead somewhere. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { docsPages } from '../../web/docs/pages.ts';
import { docsLanguages, urlOf } from '../../web/docs/render.ts';
import { openStage, type Stage, shot, violationsNow } from './support.ts';

let stage: Stage;
let page: Page;
/** What a page asks of another server. */
const elsewhere: string[] = [];
beforeAll(async () => {
  stage = await openStage();
  const context = await stage.newContext(true);
  await context.route(
    ({ origin }) => origin !== new URL(stage.url).origin,
    (route) => {
      elsewhere.push(route.request().url());
      return route.abort();
    },
  );
  page = await stage.newPage(context);
}, 180_000);
afterAll(() => stage?.close());

const themes = ['light', 'dark'] as const;
const widths = [1440, 390] as const;
const addresses = docsLanguages.flatMap((language) => docsPages.map(({ slug }) => urlOf(language, slug)));

/** Of the page that is open: in both themes, at both widths. */
async function faultsNow(what: string): Promise<string[]> {
  const faults: string[] = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height: 800 });
    for (const theme of themes) {
      await page.evaluate((name) => {
        document.documentElement.dataset.theme = name;
      }, theme);
      faults.push(...(await violationsNow(page)).map((error) => `${what} ${theme} ${width}: ${error}`));
    }
    const [content, available] = await page.evaluate(() => {
      const { scrollWidth, clientWidth } = document.documentElement;
      return [scrollWidth, clientWidth];
    });
    if (content > available) faults.push(`${what} ${width}: ${content} px wide`);
  }
  return faults;
}

test.each(docsLanguages)(
  'each page in %s is accessible and does not scroll sideways',
  async (language) => {
    const faults: string[] = [];
    for (const { slug } of docsPages) {
      const address = urlOf(language, slug);
      expect((await page.goto(stage.url + address))?.status()).toBe(200);
      expect(await page.locator('html').getAttribute('lang')).toBe(language);
      faults.push(...(await faultsNow(address)));
    }
    await page.goto(`${stage.url}/docs/${language}/nothing`);
    faults.push(...(await faultsNow('a page that does not exist')));
    expect(faults).toEqual([]);
  },
  300_000,
);

test.each(docsLanguages)('search and menu in %s are accessible, and search finds a page', async (language) => {
  await page.setViewportSize({ width: 1440, height: 800 });
  await page.goto(stage.url + urlOf(language, 'index'));
  const field = page.getByRole('combobox');
  await field.fill('nginx');
  await page.getByRole('option').first().waitFor();
  expect(await faultsNow('results')).toEqual([]);
  await shot(page, `docs-search-${language}-390.png`);
  await field.fill('qqqqqq');
  await page.locator('#found .none').waitFor();
  expect(await faultsNow('no result')).toEqual([]);
  await field.fill('nginx');
  await page.getByRole('option').first().waitFor();
  await field.press('Enter');
  await page.waitForURL((to) => to.pathname.startsWith(`/docs/${language}/`));
  await page.locator('button.menu').click();
  expect(await faultsNow('menu')).toEqual([]);
  await shot(page, `docs-menu-${language}-390.png`);
});

test('each link within the site leads to a page, and each anchor to a heading', async () => {
  const targets = new Map<string, string>();
  for (const address of addresses) {
    await page.goto(stage.url + address);
    const links = await page.locator('a[href]').evaluateAll((all) => all.map((one) => (one as HTMLAnchorElement).href));
    const sources = await page
      .locator('img[src]')
      .evaluateAll((all) => all.map((one) => (one as HTMLImageElement).src));
    for (const target of [...links, ...sources]) if (!targets.has(target)) targets.set(target, address);
  }
  const inside = [...targets].filter(([target]) => target.startsWith(stage.url));
  expect(inside.length).toBeGreaterThan(addresses.length);
  const texts = new Map<string, string | null>();
  const textAt = async (address: string): Promise<string | null> => {
    const response = await page.request.get(address);
    return response.ok() ? response.text() : null;
  };
  const lost: string[] = [];
  for (const [target, source] of inside) {
    const [address = '', anchor = ''] = target.split('#');
    if (!texts.has(address)) texts.set(address, await textAt(address));
    const text = texts.get(address) ?? null;
    if (text === null || (anchor !== '' && !text.includes(`id="${decodeURIComponent(anchor)}"`)))
      lost.push(`${source}: ${target}`);
  }
  expect(lost).toEqual([]);
}, 120_000);

test('the pages ask nothing of another server, and the browser has no complaint', () => {
  expect(elsewhere).toEqual([]);
  expect(stage.complaints.filter((one) => !/404/.test(one))).toEqual([]);
});
