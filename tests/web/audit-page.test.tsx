// @vitest-environment happy-dom
/** The audit trail in the console: what was before and after, the filters, the way back. */
import i18next from 'i18next';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import type { AuditChange, AuditView } from '../../server/contract/entities.ts';
import { listChange, placeOf, shownValue } from '../../web/features/audit/change-words.ts';
import { dateTime } from '../../web/lib/format.ts';
import { mounted, unmounted } from './mounted.tsx';
import { reader } from './rendered.tsx';

afterEach(unmounted);
afterAll(() => vi.unstubAllGlobals());

const change = (fields: Partial<AuditChange> = {}): AuditChange => ({
  ...{ kind: 'channel', id: '7', field: 'name', member: null, before: 'old name', after: 'new name', hidden: false },
  ...fields,
});
const entry = (fields: Partial<AuditView> = {}): AuditView => ({
  ...{ id: 5, created_at: 1_780_000_000, actor_id: 1, actor: 'boss', ip: '198.51.100.7', action: 'channel.update' },
  action_label: '修改渠道',
  ...{ target: '7', detail: '{"id":7,"name":"new name"}', hash: 'ab', changes: [change()], changes_left: 0 },
  undoable: true,
  ...fields,
});
const open = async (rows: readonly AuditView[], path = '/audit', more: Record<string, unknown> = {}) => {
  const { AuditPage } = await import('../../web/features/audit/audit-page.tsx');
  const answers = { 'audit.list': { items: rows, total: rows.length, page: 1, page_size: 10 }, ...more };
  return mounted(() => <AuditPage />, { path, user: reader(100), answers });
};

test('a row says who changed what, where and when, and opens to before and after', async () => {
  const page = await open([entry()], '/audit?open=5');
  await page.until(() => expect(page.text()).toContain('old name'));
  for (const text of ['boss', '198.51.100.7', '修改渠道', 'channel.update', '渠道 7', 'name: old name → new name'])
    expect(page.text()).toContain(text);
  expect([...document.querySelectorAll('del')].map((one) => one.textContent)).toEqual(['old name']);
  expect([...document.querySelectorAll('ins')].map((one) => one.textContent)).toEqual(['new name']);
});

test('an entry that is on another page opens by its address', async () => {
  const page = await open([], '/audit?open=5', { 'audit.get': entry() });
  await page.until(() => expect(page.text()).toContain('old name'));
  expect(page.calls).toContainEqual(['audit.get', { id: '5' }]);
});

test('a change is put back after a question, and the list is read again', async () => {
  const page = await open([entry()], '/audit?open=5', { 'audit.undo': { undone: 1 } });
  await page.until(() => expect(page.text()).toContain('old name'));
  await page.press(i18next.t('app.undo'));
  await page.until(() => expect(page.text()).toContain(i18next.t('audit.undoTitle', { id: 5 })));
  expect(page.calls.map(([id]) => id)).not.toContain('audit.undo');
  const before = page.calls.filter(([id]) => id === 'audit.list').length;
  const buttons = [...document.querySelectorAll('[role=alertdialog] button, [role=dialog] button')];
  (buttons.findLast((one) => one.textContent === i18next.t('app.undo')) as HTMLElement).click();
  await page.until(() => expect(page.calls).toContainEqual(['audit.undo', { id: '5' }]));
  await page.until(() => expect(page.calls.filter(([id]) => id === 'audit.list').length).toBeGreaterThan(before));
});

test.each([
  ['what cannot be put back', entry({ undoable: false })],
  ['what nothing is kept of', entry({ changes: [], undoable: false })],
])('%s offers no way back', async (_what, row) => {
  const page = await open([row], '/audit?open=5');
  await page.until(() => expect(page.text()).toContain('#5 修改渠道'));
  expect([...document.querySelectorAll('button')].map((one) => one.textContent)).not.toContain(i18next.t('app.undo'));
});

test('a call without kept changes shows what it was called with', async () => {
  const page = await open([entry({ changes: [], undoable: false })], '/audit?open=5');
  await page.until(() => expect(page.text()).toContain(i18next.t('audit.noChanges')));
  expect(page.text()).toContain('new name');
});

test('where no changes are kept a row says what the call was made with: no secret, no name, nothing that is empty', async () => {
  const detail = JSON.stringify({
    ...{ id: 7, type: 14, name: 'pool', key: '***', setting: '***', base_url: '', priority: 0, other: null },
    ...{ weight: 5, models: 'gpt-4o,o3', quota: 5_000_000, used_time: 1_780_000_000 },
  });
  const page = await open([entry({ action: 'channel.create', target: 'pool', detail, changes: [], undoable: false })]);
  await page.until(() => expect(page.text()).toContain('pool'));
  expect(document.querySelector('td .text-ink-3')?.textContent).toBe(
    `weight: 5 · models: gpt-4o, o3 · quota: 5,000,000 · used_time: ${dateTime(1_780_000_000)}`,
  );
});

test('filters are asked of the server, and an area that is none is no filter', async () => {
  const page = await open([], '/audit?area=channel&by=boss&target=7&from=1780000000&to=1780003600');
  await page.until(() => expect(page.calls.map(([id]) => id)).toContain('audit.list'));
  expect(page.calls.find(([id]) => id === 'audit.list')?.[1]).toMatchObject({
    ...{ action: 'channel.', actor: 'boss', target: '7', from: '1780000000', to: '1780003600' },
  });
  const other = await open([], '/audit?area=x%25');
  await other.until(() => expect(other.calls.map(([id]) => id)).toContain('audit.list'));
  expect(other.calls.find(([id]) => id === 'audit.list')?.[1]).not.toHaveProperty('action');
});

describe('words', () => {
  const t = i18next.t;

  test('a list says what came and went, and is whole where only its order changed', () => {
    const models = (before: string | null, after: string | null) =>
      listChange(change({ field: 'models', before, after }));
    expect(models('a, b,c', 'b,c,d')).toEqual({ added: ['d'], removed: ['a'] });
    expect(models('a,b', 'b,a')).toBe(null);
    expect(models(null, 'a')).toEqual({ added: ['a'], removed: [] });
    expect(listChange(change({ field: 'name', before: 'a,b', after: 'a' }))).toBe(null);
    expect(listChange(change({ field: 'models', member: 'x', before: 'a', after: 'b' }))).toBe(null);
  });

  test('a text among the members of a map is shown without quotes; what is not there, and what is empty, is named', () => {
    expect(shownValue(t, '"gpt-4o"', 'alias')).toBe('gpt-4o');
    expect(shownValue(t, '"quoted"', null)).toBe('"quoted"');
    expect(shownValue(t, '{"a":1}', 'alias')).toBe('{"a":1}');
    expect(shownValue(t, null, null)).toBe(t('audit.absent'));
    expect(shownValue(t, '', null)).toBe(t('audit.empty'));
  });

  test('a place names the thing, its field and its member', () => {
    expect(placeOf(t, change({ member: 'a' }))).toBe(`${t('audit.kind.channel', { id: '7' })} · name · a`);
    expect(placeOf(t, change({ kind: 'option', id: 'ModelRatio', field: 'value', member: 'a' }))).toBe('模型倍率 · a');
  });
});

test('a switch says whether it is on, and an option is called as in the settings', async () => {
  const set = (fields: Partial<AuditView>, changed: Partial<AuditChange>) =>
    entry({
      ...{ action: 'option.set', target: 'DrawingEnabled', undoable: false },
      changes: [
        change({ kind: 'option', id: 'DrawingEnabled', field: 'value', before: null, after: 'true', ...changed }),
      ],
      ...fields,
    });
  const page = await open([
    set({ id: 1 }, {}),
    set({ id: 2, target: 'TopUpLink' }, { id: 'TopUpLink', after: 'false' }),
  ]);
  await page.until(() => expect(page.text()).toContain('启用绘图功能'));
  expect(page.text()).toContain(`启用绘图功能${i18next.t('audit.absent')} → ${i18next.t('settings.on')}`);
  // A text may be the word, too.
  expect(page.text()).toContain(`充值链接${i18next.t('audit.absent')} → false`);
  expect(page.text()).not.toContain('DrawingEnabled');
});

test('only the super administrator has the page', async () => {
  const { navItems } = await import('../../web/shell/nav.ts');
  const has = (role: number) => navItems(reader(role), undefined).some(({ to }) => to === '/audit');
  expect([has(1), has(10), has(100)]).toEqual([false, false, true]);
});
