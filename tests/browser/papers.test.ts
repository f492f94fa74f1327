/** Papers and alert rules: invoices, statements, links, mails and rules in both languages, on a phone and in the dark, as axe and as the keyboard meet them. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { endpoints } from '../../server/contract/endpoints/index.ts';
import { en } from '../../web/locales/en.ts';
import { zh } from '../../web/locales/zh.ts';
import { done, filled } from '../support/answers.ts';
import { type Inside, openInside } from './inside.ts';
import { newViolations, settled, shot } from './support.ts';

let inside: Inside;
let page: Page;
const words = { en, zh } as const;
const answers: Readonly<Record<string, unknown>> = { ...filled, ...done };

/** No order of this site was paid: what it would say of one is given. */
const given = [
  'invoice.get',
  'invoice.list',
  'invoice.list_self',
  'invoice.buyer',
  'link.list',
  'link.open',
  'statement.schedules',
] as const;

beforeAll(async () => {
  inside = await openInside();
  ({ page } = inside);
  for (const id of given) {
    const row = endpoints.find((one) => one.id === id);
    const data = answers[id];
    if (row === undefined || data === undefined) throw new Error(id);
    const path = new RegExp(`${row.path.replace(/:\w+/g, '[^/?]+')}(\\?.*)?$`);
    await page.route(path, (route) =>
      route.request().method() === row.method
        ? route.fulfill({ json: { success: true, message: '', data } })
        : route.fallback(),
    );
  }
});
afterAll(() => inside?.stage.close());

type Step = (t: typeof en) => Promise<unknown>;
const openSheet =
  (name: (t: typeof en) => string): Step =>
  async (t) => {
    const button = page.getByRole('button', { name: name(t), exact: true });
    if (await button.isVisible()) return button.click();
    await page.getByRole('button', { name: t.statement.export, exact: true }).click();
    return page.getByRole('menuitem', { name: name(t), exact: true }).click();
  };
const places: readonly (readonly [name: string, path: string, step?: Step])[] = [
  ['statement', 'statement'],
  ['links', 'statement', openSheet((t) => t.links.share)],
  ['mails', 'statement', openSheet((t) => t.statement.mail.button)],
  ['invoices', 'topup?view=invoices'],
  ['all-invoices', 'orders?view=invoices'],
  ['invoice', 'invoice?number=INV-2026-000012'],
  ['document', 'document#AAECAwQFBgcICQoLDA0ODw'],
  ['rules', 'alert'],
];

test.each([
  ['en', 'light', 1280],
  ['zh', 'dark', 390],
] as const)('%s, %s, %i pixels: axe finds nothing, and nothing scrolls sideways', async (language, theme, width) => {
  await page.setViewportSize({ width, height: 844 });
  await page.evaluate(
    ([one, mode]) => {
      localStorage.setItem('i18nextLng', one);
      localStorage.setItem('theme-mode', mode);
    },
    [language, theme] as const,
  );
  const seen = new Set<string>();
  const faults: string[] = [];
  for (const [name, path, step] of places) {
    await page.goto('about:blank');
    await inside.open(path);
    await step?.(words[language] as typeof en);
    if (step !== undefined) await page.getByRole('dialog').getByRole('heading').first().waitFor();
    await settled(page);
    faults.push(...(await newViolations(page, seen)).map((fault) => `${name}: ${fault}`));
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    if (wide) faults.push(`${name}: scrolls sideways`);
    await shot(page, `papers-${name}-${language}-${theme}-${width}.png`);
  }
  expect(faults).toEqual([]);
});

const focused = () =>
  page.evaluate(() => {
    const one = document.activeElement;
    return one?.getAttribute('aria-label') ?? one?.textContent ?? '';
  });
/** @returns how often Tab was pressed. */
async function tabTo(name: string): Promise<number> {
  for (let pressed = 1; pressed < 80; pressed++) {
    await page.keyboard.press('Tab');
    if ((await focused()) === name) return pressed;
  }
  throw new Error(`${name} is not reached`);
}

test('by the keyboard alone a rule is changed, and a link and a mail are opened and left again', async () => {
  await page.setViewportSize({ width: 1280, height: 844 });
  await page.evaluate(() => localStorage.setItem('i18nextLng', 'en'));
  await page.goto('about:blank');
  await inside.open('alert');
  await tabTo("Share of a channel's failed attempts (%)");
  await page.keyboard.press('Control+a');
  await page.keyboard.type('12.5');
  await page.keyboard.press('Enter');
  await page.getByText(en.settings.saved).first().waitFor();
  expect(await inside.ask('GET', '/api/alert/rules')).toMatchObject({
    rules: expect.arrayContaining([
      expect.objectContaining({ kind: 'errors_high', sentence: expect.stringContaining('12.5%') }),
    ]),
  });
  for (const [button, title] of [
    [en.links.share, /^Links to/],
    [en.statement.mail.button, en.statement.mail.title],
  ] as const) {
    await page.goto('about:blank');
    await inside.open('statement');
    await tabTo(button);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: title }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await focused()).toBe(button);
  }
  expect(inside.stage.complaints).toEqual([]);
});
