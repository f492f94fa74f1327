/** Every place where money is shown, with every unit of quota, with currency and without: console, terminal, messages. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { setUp } from '../binary/support.ts';
import { figure } from '../support/figure.ts';
import { callFrom, openStage, type Stage, settled } from './support.ts';

let stage: Stage;
let page: Page;

interface Facts {
  readonly unit: number;
  readonly currency: boolean;
}

const settings: readonly Facts[] = [1000, 500_000, 1_000_000].flatMap((unit) =>
  [true, false].map((currency) => ({ unit, currency })),
);

/** What an amount may read as: rounded to cents or to three digits, or as exact as the unit is, as in columns, which add up. Written anew here, on purpose. */
function readings(quota: number, { unit, currency }: Facts): readonly string[] {
  if (currency) return [0, 2, 6].map((decimals) => `$${(quota / unit).toFixed(decimals)}`);
  const every = String(quota);
  if (quota >= 1e9) return [`${(quota / 1e9).toFixed(1)}B`, every];
  if (quota >= 1e6) return [`${(quota / 1e6).toFixed(1)}M`, every];
  return quota >= 1e4 ? [`${(quota / 1e3).toFixed(1)}k`, every] : [every];
}

const ask = async <Answer>(path: string): Promise<Answer> => (await callFrom(page, 'GET', path)).data as Answer;

beforeAll(async () => {
  stage = await openStage();
  const key = await setUp(stage.sandbox, stage.upstream);
  await stage.sandbox.run(['option', 'set', 'QuotaForInviter=300000']);
  await fetch(`${stage.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'practice-small', messages: [{ role: 'user', content: 'hi' }] }),
  }).then((answer) => answer.text());
  await stage.sandbox.run(['redemption', 'create', '--name', 'gift', '--quota', '3000000', '--count', '1']);
  await stage.sandbox.run(['token', 'create', '--name', 'limited', '--quota', '7000000']);
  page = await stage.newPage(await stage.newContext(true));
  await page.goto(`${stage.url}/nowhere`);
  await page.evaluate(async () => {
    localStorage.setItem('i18nextLng', 'en');
    localStorage.setItem('channels-table-columns', '{"used":true}');
    const response = await fetch('/api/user/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'root', password: 'password1' }),
    });
    localStorage.setItem('user', JSON.stringify(((await response.json()) as { data: unknown }).data));
  });
});
afterAll(() => stage?.close());

/** Amounts in the form of money that a text has. */
const amountsIn = (text: string): readonly string[] => text.match(/-?\$\d[\d.]*|(?<![\w.])\d+\.\d[kMB]\b/g) ?? [];

const openPage = async (path: string): Promise<string> => {
  await page.goto(`${stage.url}/${path}`);
  await settled(page);
  const text = await page.evaluate(() =>
    // biome-ignore lint/performance/useDomNodeTextContent: what is hidden is not said
    [...document.querySelectorAll('main, [role=dialog]')].map((part) => (part as HTMLElement).innerText).join('\n'),
  );
  // Pages set thousands apart, the terminal does not.
  return text.replace(/(\d),(?=\d{3})/g, '$1');
};
const terminal = async (...args: string[]): Promise<string> => {
  const { out, err } = await stage.sandbox.run(args);
  return out + err;
};

interface Site {
  readonly self: { readonly quota: number; readonly used_quota: number };
  readonly charge: number;
}

/** A place, what it shows, and an amount of quota that it must show. */
const places: readonly (readonly [string, () => Promise<string>, (site: Site) => number])[] = [
  ['console: log', () => openPage('log'), ({ charge }) => charge],
  ['console: log, sum', () => openPage('log?type=2'), ({ charge }) => charge],
  ['console: wallet, balance', () => openPage('topup'), ({ self }) => self.quota],
  ['console: wallet, used', () => openPage('topup'), ({ self }) => self.used_quota],
  ['console: dashboard, spent', () => openPage('detail?range=7d'), ({ charge }) => charge],
  ['console: dashboard, balance', () => openPage('detail?range=7d'), ({ self }) => self.quota],
  ['console: personal', () => openPage('personal'), ({ self }) => self.quota],
  ['console: users', () => openPage('user'), ({ self }) => self.quota],
  ['console: one user', () => openPage('user/edit/1'), ({ self }) => self.quota],
  ['console: tokens', () => openPage('token'), () => 7_000_000],
  ['console: codes', () => openPage('redemption'), () => 3_000_000],
  ['console: channels', () => openPage('channel'), ({ charge }) => charge],
  ['console: tags', () => openPage('channel?mode=tag'), ({ charge }) => charge],
  ['terminal: user list', () => terminal('user', 'list'), ({ self }) => self.quota],
  ['terminal: token list', () => terminal('token', 'list'), () => 7_000_000],
  ['terminal: redemption list', () => terminal('redemption', 'list'), () => 3_000_000],
  ['terminal: channel list', () => terminal('channel', 'list'), ({ charge }) => charge],
  ['terminal: logs list', () => terminal('logs', 'list'), ({ charge }) => charge],
  ['terminal: logs stat', () => terminal('logs', 'stat'), ({ charge }) => charge],
  ['terminal: logs stat --by model', () => terminal('logs', 'stat', '--by', 'model'), ({ charge }) => charge],
];

test.each(settings)('a unit of $unit, currency $currency', async (details) => {
  const { unit, currency } = details;
  await stage.sandbox.run(['option', 'set', `QuotaPerUnit=${unit}`]);
  await stage.sandbox.run(['option', 'set', `DisplayInCurrencyEnabled=${currency}`]);
  const self = await ask<Site['self']>('/api/user/self');
  const { items } = await ask<{ items: readonly { quota: number }[] }>('/api/log/?type=2&p=1&page_size=10');
  const site: Site = { self, charge: items.reduce((sum, { quota }) => sum + quota, 0) };
  expect(site.charge).toBeGreaterThan(0);
  const wrong: string[] = [];
  for (const [place, show, amountOf] of places) {
    const text = await show();
    const wanted = readings(amountOf(site), details);
    if (!wanted.some((reading) => text.includes(reading)))
      wrong.push(`${place}: ${wanted.join(' or ')} is not in ${amountsIn(text).join(', ')}`);
    if (!currency && /\$\d/.test(text)) wrong.push(`${place}: ${text.match(/\$[\d.]+/)?.[0]} without currency`);
  }
  // Presets of a new token are whole units.
  const drawer = await openPage('token?open=new');
  for (const preset of [1, 50, 1000])
    if (!readings(preset * unit, details).some((reading) => drawer.includes(reading))) wrong.push(`preset ${preset}`);
  const added = await terminal('user', 'quota', 'add', 'root', '2usd', '--json');
  const after = (JSON.parse(added) as { quota: number }).quota;
  if (after - self.quota !== 2 * unit) wrong.push(`2usd became ${after - self.quota}`);
  const refusal = (await callFrom(page, 'POST', '/api/user/aff_transfer', { quota: 1 })).message;
  if (!readings(unit, details).some((reading) => refusal.includes(reading))) wrong.push(`message: ${refusal}`);
  const manage = await openPage('log?type=3');
  if (!readings(after, details).some((reading) => manage.includes(reading))) wrong.push('console: log of management');
  figure(`${places.length + 6} places, ${wrong.length} wrong`);
  expect(wrong).toEqual([]);
});
