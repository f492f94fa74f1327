// @vitest-environment happy-dom
/** Alert rules in the console: their sentences, values that are tried and saved in place, and what they would have said. */
import i18next from 'i18next';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { filled } from '../support/answers.ts';
import { mounted, unmounted } from './mounted.tsx';
import { reader } from './rendered.tsx';

afterEach(unmounted);
afterAll(() => vi.unstubAllGlobals());

const percent = '渠道失败率阈值（%）';
const open = async (more: Record<string, unknown> = {}) => {
  const { AlertRulesPage } = await import('../../web/features/alerts/rules-page.tsx');
  const answers = { ...filled, 'option.set': null, ...more };
  const page = await mounted(() => <AlertRulesPage />, { path: '/alert', user: reader(10), answers });
  await page.until(() => expect(page.text()).toContain(i18next.t('alertRules.said', { count: 5 })));
  return page;
};
type Page = Awaited<ReturnType<typeof open>>;
const previews = (page: Page, kind: string) =>
  page.calls.filter(([id, fields]) => id === 'alert.preview' && (fields as { kind: string }).kind === kind);
const saved = (page: Page) => page.calls.filter(([id]) => id === 'option.set').map(([, fields]) => fields);

test('a rule reads as one sentence, names who is told, and shows what it would have said, the last of it at first', async () => {
  const page = await open();
  expect(page.field(percent).value).toBe('20');
  expect(page.text()).toContain('的尝试失败（至少 ');
  expect(page.text()).toContain('mail、slack');
  expect(page.text()).toContain('(#24): 2.0% of 200 attempts');
  expect(page.text()).not.toContain('(#24): 3.0% of 200 attempts');
  expect(page.text()).toContain(i18next.t('alertRules.quietNow'));
  await page.press(i18next.t('alertRules.all', { count: 5 }));
  expect(page.text()).toContain('(#24): 52.0% of 200 attempts');
});

test('a value that is typed is tried at once, and stored only when it is saved', async () => {
  const page = await open();
  await page.type(percent, '5');
  await page.until(() =>
    expect(previews(page, 'errors_high').at(-1)?.[1]).toEqual({ kind: 'errors_high', failed_percent: '5' }),
  );
  expect(saved(page)).toEqual([]);
  await page.press(i18next.t('app.save'));
  await page.until(() => expect(saved(page)).toEqual([{ key: 'alert_setting.failed_percent', value: '5' }]));
});

test('a value that the server refuses stays as it was typed', async () => {
  const page = await open({ 'option.set': { refused: 'busy' } });
  const lists = () => page.calls.filter(([id]) => id === 'alert.rules').length;
  await page.type(percent, '5');
  await page.press(i18next.t('app.save'));
  // What is stored is read again.
  await page.until(() => expect(lists()).toBe(2));
  expect(page.field(percent).value).toBe('5');
});

test('a value that cannot be is refused where it stands, and neither tried nor stored', async () => {
  const page = await open();
  const before = previews(page, 'errors_high').length;
  await page.type(percent, '200');
  await page.until(() => expect(page.text()).toContain('必须是 0 到 100 之间的数字'));
  await page.press(i18next.t('app.save'));
  expect(previews(page, 'errors_high')).toHaveLength(before);
  expect(saved(page)).toEqual([]);
  await page.press(i18next.t('alertRules.discard'));
  expect(page.field(percent).value).toBe('20');
});

test('a rule is muted and heard again without touching the others', async () => {
  const page = await open();
  await page.press(`${i18next.t('alertRules.mute')}: Channel fails too often`);
  await page.until(() => expect(saved(page)).toEqual([{ key: 'alert_setting.muted', value: 'disk_low,errors_high' }]));
  await page.press(`${i18next.t('alertRules.unmute')}: Disk space low`);
  await page.until(() => expect(saved(page)).toHaveLength(2));
  expect(saved(page)[1]).toEqual({ key: 'alert_setting.muted', value: '' });
});

test('what reads the log is computed only when it is asked for', async () => {
  const page = await open();
  expect(previews(page, 'cache_halved')).toEqual([]);
  await page.press(`${i18next.t('alertRules.compute')}: Cache hit rate halved`);
  await page.until(() => expect(previews(page, 'cache_halved')).toHaveLength(1));
});
