// @vitest-environment happy-dom
/** Budgets in the console: what is used of them, and how they are set, raised, reset and deleted. */
import i18next from 'i18next';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { filled } from '../support/answers.ts';
import { act, mounted, unmounted } from './mounted.tsx';
import { reader } from './rendered.tsx';

afterEach(unmounted);
afterAll(() => vi.unstubAllGlobals());

const budget = (fields: object = {}) => ({
  ...{ id: 4, holder: 'user', subject: '7', name: 'mira', window: 'month', unit: 'money', amount: 5_000_000 },
  ...{ zone: '', raise: 0, raise_until: 0, bound: 5_000_000, used: 4_000_000, window_at: 1, resets: 1_790_000_000 },
  ...{ created_time: 1, updated_time: 1 },
  ...fields,
});
const open = async (rows: readonly object[], more: Record<string, unknown> = {}) => {
  const { BudgetsPage } = await import('../../web/features/budgets/budgets-page.tsx');
  const answers = {
    ...filled,
    ...{ 'budget.list': rows, 'budget.set': rows[0] ?? {}, 'budget.reset': rows[0] ?? {}, 'budget.delete': null },
    ...more,
  };
  const page = await mounted(() => <BudgetsPage />, { path: '/budget', user: reader(10), answers });
  await page.until(() => expect(page.calls.map(([id]) => id)).toContain('budget.list'));
  return page;
};
const save = () => act(async () => document.querySelector<HTMLFormElement>('#budget-form')?.requestSubmit());
const sent = (page: Awaited<ReturnType<typeof open>>) => page.calls.filter(([id]) => id === 'budget.set');

test('a row says whose it is, what is used of what, and when it begins again', async () => {
  const page = await open([
    budget(),
    budget({ id: 5, holder: 'site', subject: '', name: '', unit: 'requests', bound: 0, used: 0, resets: null }),
  ]);
  await page.until(() => expect(page.text()).toContain('mira'));
  expect(page.text()).toContain('$8.00 / $10.00（80%）');
  // Nothing is allowed, so that all of it is used.
  expect(page.text()).toContain('0 个请求 / 0 个请求（100%）');
  expect(page.text()).toContain(i18next.t('budgets.holders.site'));
});

test('a budget of a person is set by the name, in what the site shows amounts in', async () => {
  const users = {
    items: [
      { id: 9, username: 'mirabel' },
      { id: 7, username: 'mira' },
    ],
    total: 2,
    page: 1,
    page_size: 100,
  };
  const page = await open([], { 'user.search': users });
  await page.press(i18next.t('budgets.add'));
  await page.until(() => expect(page.text()).toContain(i18next.t('budgets.windowHelp')));
  await page.type(i18next.t('budgets.user'), ' mira ');
  await page.type(i18next.t('budgets.amount'), '12.5');
  await save();
  await page.until(() => expect(sent(page)).toHaveLength(1));
  expect(sent(page)[0]?.[1]).toMatchObject({
    ...{ holder: 'user', subject: '7', window: 'month', unit: 'money', amount: 6_250_000, raise: 0, raise_until: 0 },
  });
});

test('a name that nobody has is refused at its field, and nothing is sent', async () => {
  const page = await open([], { 'user.search': { items: [], total: 0, page: 1, page_size: 100 } });
  await page.press(i18next.t('budgets.add'));
  await page.until(() => expect(page.text()).toContain(i18next.t('budgets.windowHelp')));
  await page.type(i18next.t('budgets.user'), 'nobody');
  await page.type(i18next.t('budgets.amount'), '1');
  await save();
  await page.until(() => expect(page.text()).toContain(i18next.t('budgets.noUser', { name: 'nobody' })));
  expect(sent(page)).toEqual([]);
});

test('an amount that cannot be read is not sent', async () => {
  const page = await open([budget({ unit: 'tokens', amount: 1000, bound: 1000, used: 1 })]);
  await page.until(() => expect(page.text()).toContain('mira'));
  await page.press(i18next.t('app.edit'));
  await page.until(() => expect(page.field(i18next.t('budgets.amount')).value).toBe('1,000'));
  for (const text of ['', '-1', '1.5', 'many']) {
    await page.type(i18next.t('budgets.amount'), text);
    await save();
    expect(sent(page), text).toEqual([]);
  }
  await page.type(i18next.t('budgets.amount'), '2,000');
  await save();
  await page.until(() => expect(sent(page)[0]?.[1]).toMatchObject({ unit: 'tokens', amount: 2000, subject: '7' }));
});

test('a raise ends by itself', async () => {
  const page = await open([budget()]);
  await page.until(() => expect(page.text()).toContain('mira'));
  await page.press(i18next.t('app.edit'));
  await page.until(() => expect(page.field(i18next.t('budgets.raise')).value).toBe(''));
  await page.type(i18next.t('budgets.raise'), '3');
  const from = Math.floor(Date.now() / 1000) + 24 * 3600;
  await save();
  await page.until(() => expect(sent(page)[0]?.[1]).toMatchObject({ raise: 1_500_000, amount: 5_000_000 }));
  const until = Number(sent(page)[0]?.[1].raise_until);
  expect(until).toBeGreaterThanOrEqual(from);
  expect(until).toBeLessThanOrEqual(from + 10);
});

test.each([
  ['budgets.reset', 'budget.reset', 'budgets.resetText'],
  ['app.delete', 'budget.delete', 'budgets.deleteText'],
] as const)('%s asks first', async (action, id, question) => {
  const page = await open([budget()]);
  await page.until(() => expect(page.text()).toContain('mira'));
  await page.press(i18next.t('table.moreOf', { name: '用户 mira' }));
  // The heading of a column begins with the same word.
  const offered = () => [...document.querySelectorAll('[role=menuitem]')].map(({ textContent }) => textContent);
  await page.until(() => expect(offered()).toContain(i18next.t(action)));
  await page.press(i18next.t(action));
  await page.until(() => expect(page.text()).toContain(i18next.t(question)));
  expect(page.calls.map(([name]) => name)).not.toContain(id);
  const buttons = [...document.querySelectorAll('[role=alertdialog] button, [role=dialog] button')];
  (buttons.findLast((one) => one.textContent === i18next.t(action)) as HTMLElement).click();
  await page.until(() => expect(page.calls).toContainEqual([id, { id: '4' }]));
});

test('the limit of a single request is set in tokens, shown without a use, and cannot be reset', async () => {
  const page = await open([
    budget({
      id: 6,
      holder: 'label',
      subject: 'team-a',
      name: 'team-a',
      window: 'request',
      unit: 'tokens',
      bound: 32_000,
    }),
  ]);
  await page.until(() => expect(page.text()).toContain('team-a'));
  expect(page.text()).toContain(i18next.t('budgets.most', { most: '32,000 Tokens' }));
  expect(page.text()).not.toContain('%');
  await page.press(i18next.t('table.moreOf', { name: '标签 team-a' }));
  await page.until(() => expect(document.querySelector('[role=menu]')?.textContent).toBe(i18next.t('app.delete')));
});
