/** How pages look, from the geometry of what is drawn: every page at five widths with long names, amounts in both displays, the statement on paper. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Inside, openInside } from './inside.ts';
import { kept, quietLine, settled, shot } from './support.ts';

const widths = [390, 768, 1280, 1440, 1600] as const;
const plain = [
  '',
  'about',
  'api-docs',
  'first',
  'channel/add',
  'playground',
  'nodes',
  'audit',
  'budget',
  'connect',
  'audit?open=1',
  'personal',
  'midjourney',
  'task',
  'setting?tab=system',
  'nowhere',
];
/** They show amounts. */
const amounts = [
  'detail',
  'log',
  'token',
  'topup',
  'channel',
  'channel?mode=tag',
  'pricing',
  'user',
  'redemption',
  'orders',
  'statement',
];
const longName = 'OpenAI batch key of the research department in Frankfurt, second contract (renewed)';

let inside: Inside;
let page: Page;

beforeAll(async () => {
  inside = await openInside();
  ({ page } = inside);
  const { ask, stage } = inside;
  const [channel] = (await ask('GET', '/api/channel/?p=0&page_size=5')) as { id: number; type: number }[];
  const fields = {
    type: channel?.type,
    key: 'none',
    base_url: stage.upstream,
    group: 'default',
    models: 'practice-small',
  };
  await ask('POST', '/api/channel/', { ...fields, name: longName, tag: longName.slice(0, 60) });
  await ask('POST', '/api/channel/', { ...fields, name: 'spare' });
  await ask('POST', '/api/token/', { name: longName.slice(0, 50), unlimited_quota: false, remain_quota: 363_700 });
  await ask('POST', '/api/user/', {
    username: 'johannes-w',
    password: 'password1',
    display_name: longName.slice(0, 20),
  });
  await ask('POST', '/api/redemption/', { name: 'summer campaign 2026', quota: 1_234_567, count: 2 });
  await inside.set({ ModelRatio: JSON.stringify({ 'practice-small': 800 }) });
  for (let n = 0; n < 4; n++)
    await fetch(`${stage.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${inside.key}` },
      body: JSON.stringify({
        model: 'practice-small',
        messages: [{ role: 'user', content: 'hi '.repeat(40 * (n + 1)) }],
      }),
    }).then((answer) => answer.text());
});
afterAll(() => inside?.stage.close());

/** What is wrong with the picture as it stands. */
const faultsIn = (): Promise<string[]> =>
  page.evaluate(() => {
    const faults: string[] = [];
    const root = document.documentElement;
    if (root.scrollWidth > root.clientWidth) faults.push('scrolls sideways');
    const nameOf = (element: Element) =>
      `${element.tagName.toLowerCase()} "${(element.textContent ?? '').trim().replace(/\s+/g, ' ').slice(0, 40)}"`;
    const isDrawn = (element: Element) =>
      element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) &&
      element.closest('.sr-only') === null;
    const textsIn = (element: Element): DOMRect[] => {
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      const rects: DOMRect[] = [];
      for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
        if ((node.textContent ?? '').trim() === '' || node.parentElement?.closest('.sr-only, svg') != null) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        rects.push(...[...range.getClientRects()].filter(({ width }) => width > 0));
      }
      return rects;
    };
    // Controls, heads and marks are one line high, and show all of what they say or end in an ellipsis.
    for (const control of document.querySelectorAll(
      'header button, .button, .sheet-table thead th, .status, [role="radio"]',
    )) {
      if (!isDrawn(control)) continue;
      const texts = textsIn(control);
      const box = control.getBoundingClientRect();
      const lines = new Set(texts.map(({ top, height }) => Math.round((top + height / 2) / 6)));
      if (
        lines.size > 2 ||
        (lines.size > 1 && Math.max(...texts.map((one) => one.bottom)) - Math.min(...texts.map((one) => one.top)) > 26)
      )
        faults.push(`wraps: ${nameOf(control)}`);
      if (texts.some((one) => one.top < box.top - 3 || one.bottom > box.bottom + 3))
        faults.push(`higher than its box: ${nameOf(control)}`);
    }
    // Every column has its room: no cell's words lie under the next cell.
    for (const table of document.querySelectorAll('table.sheet-table')) {
      if (!isDrawn(table)) continue;
      const whole = table.getBoundingClientRect();
      // In a wide window nobody has to look for a column.
      const place = table.closest('section, div.overflow-x-auto');
      if (innerWidth >= 1280 && place !== null && table.scrollWidth > place.clientWidth + 1)
        faults.push(`${table.scrollWidth - place.clientWidth} pixels wider than its place: ${nameOf(table)}`);
      for (const row of [...table.querySelectorAll('tbody tr[data-row]')].slice(0, 6)) {
        const cells = [...row.children].filter(
          (cell) => isDrawn(cell) && getComputedStyle(cell).display === 'table-cell',
        );
        for (const [at, cell] of cells.entries()) {
          const box = cell.getBoundingClientRect();
          const next = cells[at + 1]?.getBoundingClientRect();
          if (box.width > 1 && box.width < 16) faults.push(`a column without room: ${nameOf(cell)}`);
          if (cells.length > 2 && at <= 2 && box.width > Math.max(420, whole.width * 0.6))
            faults.push(`one column takes the table: ${nameOf(cell)}`);
          const clipped = (element: Element | null): boolean =>
            element !== null &&
            element !== row &&
            (getComputedStyle(element).overflowX !== 'visible' || clipped(element.parentElement));
          if (next === undefined) continue;
          const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
          for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
            if ((node.textContent ?? '').trim() === '' || clipped(node.parentElement)) continue;
            const range = document.createRange();
            range.selectNodeContents(node);
            if (range.getBoundingClientRect().right > next.left + 2)
              faults.push(`lies under the next column: ${nameOf(cell)}`);
          }
        }
      }
    }
    return [...new Set(faults)];
  });

const look = async (path: string, where: string): Promise<string[]> => {
  await page.setViewportSize({ width: widths[0], height: 900 });
  await inside.open(path);
  const faults: string[] = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    // What depends on the width may be loaded when it is first wanted.
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    await quietLine(page);
    faults.push(...(await faultsIn()).map((fault) => `${where} ${path || 'home'} ${width}: ${fault}`));
    if (width === 768 || width === 1280)
      await shot(page, `look-${where}-${path.replace(/\W+/g, '-') || 'home'}-${width}.png`);
  }
  return faults;
};

test('at five widths nothing wraps that should not, nothing is cut, no column is eaten by a long name', async () => {
  const faults: string[] = [];
  let states = 0;
  for (const path of [...amounts, ...plain]) {
    faults.push(...(await look(path, 'usd')));
    states += widths.length;
  }
  await inside.set({ DisplayInCurrencyEnabled: 'false' });
  for (const path of ['detail', 'log', 'token', 'topup', 'pricing', 'statement']) {
    faults.push(...(await look(path, 'quota')));
    states += widths.length;
  }
  console.log(`${states} states`);
  expect(faults).toEqual([]);
});

/** Words that stand out too little from what is behind them (WCAG 2.2, 1.4.3), as they are drawn. */
const paleIn = (): Promise<string[]> =>
  page.evaluate(() => {
    const context = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d', {
      willReadFrequently: true,
    });
    const known = new Map<string, readonly number[]>();
    /** Red, green, blue and how much of what is behind is covered, 0 to 255: whatever the colour is written in. */
    const partsOf = (color: string): readonly number[] => {
      const found = known.get(color);
      if (found !== undefined || context === null) return found ?? [0, 0, 0, 0];
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = color;
      context.fillRect(0, 0, 1, 1);
      const parts = [...context.getImageData(0, 0, 1, 1).data];
      known.set(color, parts);
      return parts;
    };
    const over = (top: readonly number[], below: readonly number[]): readonly number[] => {
      const share = (top[3] ?? 0) / 255;
      return [0, 1, 2].map((at) => (top[at] ?? 0) * share + (below[at] ?? 0) * (1 - share)).concat(255);
    };
    const behind = (element: Element | null): readonly number[] => {
      if (element === null) return [255, 255, 255, 255];
      const own = partsOf(getComputedStyle(element).backgroundColor);
      return own[3] === 255 ? own : over(own, behind(element.parentElement));
    };
    const light = (parts: readonly number[]): number =>
      [0.2126, 0.7152, 0.0722].reduce((sum, weight, at) => {
        const value = (parts[at] ?? 0) / 255;
        return sum + weight * (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
      }, 0);
    const faults = new Set<string>();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const element = node.parentElement;
      const words = (node.textContent ?? '').trim();
      if (
        words === '' ||
        element === null ||
        element.closest('.sr-only, svg, [aria-hidden="true"], :disabled, [aria-disabled="true"]')
      )
        continue;
      if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
      const style = getComputedStyle(element);
      // Pictures and gradients are looked at by people.
      if (style.backgroundImage !== 'none') continue;
      const below = behind(element);
      const [one, other] = [light(over(partsOf(style.color), below)), light(below)].toSorted((a, b) => b - a) as [
        number,
        number,
      ];
      const ratio = (one + 0.05) / (other + 0.05);
      const size = Number.parseFloat(style.fontSize);
      const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      if (ratio < (isLarge ? 3 : 4.5)) faults.add(`pale ${ratio.toFixed(2)}: "${words.slice(0, 30)}"`);
    }
    return [...faults];
  });

test.each([
  ['dark', 'zh', 1440],
  ['light', 'zh', 390],
  // What a window of 1280 pixels has at 200 %.
  ['dark', 'en', 640],
])('%s, %s, %i pixels: nothing wraps, is cut, eaten or pale', async (theme, language, width) => {
  const faults: string[] = [];
  await page.evaluate(
    ([look, words]) => {
      localStorage.setItem('theme-mode', look ?? '');
      localStorage.setItem('i18nextLng', words ?? '');
    },
    [theme, language],
  );
  await page.setViewportSize({ width, height: 900 });
  for (const path of [...amounts, ...plain]) {
    await inside.open(path);
    await quietLine(page);
    const found = [...(await faultsIn()), ...(await paleIn())];
    faults.push(...found.map((fault) => `${path || 'home'} ${fault}`));
    await shot(page, `look-${theme}-${language}-${width}-${path.replace(/\W+/g, '-') || 'home'}.png`);
  }
  const shown = await page.evaluate(() => `${document.documentElement.lang} ${document.documentElement.dataset.theme}`);
  expect(shown).toContain(language);
  expect(shown).toContain(theme);
  await page.evaluate(() => {
    localStorage.setItem('theme-mode', 'light');
    localStorage.setItem('i18nextLng', 'en');
  });
  expect(faults).toEqual([]);
});

test('a statement in quota has every digit, and its lines add up to the total', async () => {
  await page.setViewportSize({ width: 1280, height: 900 });
  await inside.open('statement');
  const last = (selector: string) =>
    page.locator(selector).evaluateAll((rows) => rows.map((row) => (row.lastElementChild?.textContent ?? '').trim()));
  const amountsIn = async (selector: string) => (await last(selector)).map((text) => Number(text.replaceAll(',', '')));
  const lines = await amountsIn('.statement tbody tr:has(td:first-child)');
  const [total] = await amountsIn('.statement tfoot tr');
  expect(total).toBeGreaterThan(10_000);
  expect(lines.reduce((sum, one) => sum + one, 0)).toBe(total);
});

test('on paper there is the document alone, its head on each sheet, its total once in each part, and no row is cut', async () => {
  await inside.open('statement');
  await page.emulateMedia({ media: 'print' });
  const printed = await page.evaluate(() =>
    [...document.querySelectorAll('#root *')]
      .filter((one) => one.checkVisibility() && one.closest('.paper') === null && one.querySelector('.paper') === null)
      .map((one) => one.outerHTML.slice(0, 80)),
  );
  expect(printed).toEqual([]);
  const styles = await page.evaluate(() => {
    const of = (selector: string) => getComputedStyle(document.querySelector(selector) ?? document.body);
    return {
      heads: of('.paper thead').display,
      rows: of('.paper tbody tr').breakInside,
      annex: of('.paper-annex').breakBefore,
      due: `${of('.paper-due > th').borderBottomStyle} ${of('.paper-due > th').borderBottomWidth}`,
      ink: of('.paper').backgroundColor,
    };
  });
  expect(styles).toEqual({
    ...{ heads: 'table-header-group', rows: 'avoid', annex: 'page', due: 'double 4px', ink: 'rgb(255, 255, 255)' },
  });
  // A foot of a table would be repeated on each sheet.
  expect(await page.locator('.paper tfoot').count()).toBe(0);
  expect(await page.locator('.paper-due').count()).toBe(2);
  // The heading, the columns and the edge of the paper have one left side.
  const sides = await page.evaluate(() =>
    ['.paper', '.paper h2', '.paper caption', '.paper tbody th', '.paper thead th'].map((one) => {
      const range = document.createRange();
      range.selectNodeContents(document.querySelector(one) ?? document.body);
      return Math.round(range.getBoundingClientRect().left / 4);
    }),
  );
  expect(new Set(sides)).toEqual(new Set([0]));
  await page.emulateMedia({ media: 'screen' });
});

test('long names in Chinese and Latin stay within the sheet, on A4 and on Letter', async () => {
  const long = 'accounts/somebody/models/a-name-that-goes-on-and-on-and-on-without-an-end-2026-11-30-preview-instruct';
  const lines = Array.from({ length: 90 }, (_, at) => ({
    ...{
      day: `2026-11-${String(1 + (at % 30)).padStart(2, '0')}`,
      model: at < 30 ? long : `模型${at % 7}`,
      refund: false,
    },
    ...{ requests: 123_456, prompt_tokens: 1_234_567_890, completion_tokens: 123_456_789, quota: 12_345_678_901 },
  }));
  const total = { requests: 9e6, prompt_tokens: 9e10, completion_tokens: 9e9, quota: 9e11 };
  await page.route('**/api/statement/?*', async (route) => {
    const { data } = (await (await route.fetch()).json()) as { data: object };
    const name = `${'上海某某信息科技发展股份有限公司'.repeat(3)} ${long}`;
    await route.fulfill({ json: { success: true, message: '', data: { ...data, name, lines, total } } });
  });
  await inside.open('statement');
  await page.emulateMedia({ media: 'print' });
  // Widths of what is printable, at 96 dots an inch.
  for (const [format, width] of [
    ['A4', 680],
    ['Letter', 702],
  ] as const) {
    await page.setViewportSize({ width, height: 900 });
    const beyond = await page.evaluate(() => {
      const edge = document.querySelector('.paper')?.getBoundingClientRect().right ?? 0;
      return [...document.querySelectorAll('.paper *')]
        .filter((one) => one.checkVisibility() && one.getBoundingClientRect().right > edge + 1)
        .map((one) => one.textContent);
    });
    expect([format, beyond]).toEqual([format, []]);
    const pdf = (await page.pdf({ ...kept(`paper-${format}.pdf`), format })).toString('latin1');
    expect((pdf.match(/\/Type\s*\/Page\b/g) ?? []).length).toBeGreaterThan(3);
  }
  await page.emulateMedia({ media: 'screen' });
  await page.unroute('**/api/statement/?*');
  await page.setViewportSize({ width: 1280, height: 900 });
});

test('code is in a font of one width, and everything that floats in the font of the page', async () => {
  await inside.open('api-docs');
  const [narrow, wideOne] = await page.evaluate(() => {
    const probe = document.createElement('code');
    probe.className = 'font-mono';
    document.body.append(probe);
    const found = ['iiiiiiiiii“·”', 'MMMMMMMMMM“·”'].map((text) => {
      probe.textContent = text;
      return probe.getBoundingClientRect().width;
    });
    probe.remove();
    return found;
  });
  expect(narrow).toBe(wideOne);
  await inside.open('token');
  await page.getByRole('button', { name: /copy/i }).first().click();
  const toast = page.locator('[data-sonner-toast]').first();
  await toast.waitFor();
  const fontOf = (selector: string) =>
    page
      .locator(selector)
      .first()
      .evaluate((one) => getComputedStyle(one).fontFamily);
  expect(await fontOf('[data-sonner-toast]')).toBe(await fontOf('body'));
});

test.each([
  ['registration', 'RegisterEnabled'],
  ['sign up', 'RegisterEnabled'],
  ['smtp', 'SMTPServer'],
  ['brand', 'SystemName'],
])('searching the settings for "%s" finds %s', async (words, key) => {
  await page.goto(`${inside.stage.url}/setting?q=${encodeURIComponent(words)}`);
  await settled(page);
  expect(await page.locator('main').textContent()).toContain(key);
});

test('the search of the site finds settings, chapters of the documentation and actions', async () => {
  await inside.open('token');
  await page.keyboard.press('Control+k');
  const field = page.getByRole('combobox');
  for (const words of ['claude code', 'backup', 'registration', 'rotate', 'docs', 'smtp', 'dark']) {
    await field.fill(words);
    await page.getByRole('option').first().waitFor({ timeout: 5000 });
  }
  await page.keyboard.press('Escape');
});
