/** What ails a node, in the language of whoever looks. */
import i18next from 'i18next';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { aroundPages, reader, rendered } from './rendered.tsx';

beforeAll(() => aroundPages(reader(100)));
afterAll(() => vi.unstubAllGlobals());

const nothing = { leases: 0, leased_quota: 0, open: 0, settles_seconds: null, owes: false, forgotten: false };
const silent = { cpu_percent: null, memory_bytes: null, relays: null, waiting: null, news_ms: null, hears: null };
const node = { name: 'alpha', state: 'live', version: '1', schema: '1', started_at: 1, silent_seconds: 1 } as const;

test.each([
  ['zh', '备用服务器未确认提交'],
  ['en', 'the standby does not confirm'],
])('on its page and in its drawer, in %s', async (language, words) => {
  await i18next.changeLanguage(language);
  const { NodesPage } = await import('../../web/features/nodes/nodes-page.tsx');
  const { NodeDetails } = await import('../../web/features/nodes/node-drawer.tsx');
  const ails = { ...node, ...nothing, ...silent, trouble: { code: 'standby_silent', params: {} } };
  const page = (nodes: readonly object[]) => rendered(<NodesPage />, { answers: { nodes: { several: true, nodes } } });
  expect(page([ails])).toContain(words);
  expect(page([{ ...ails, trouble: null }])).not.toContain(words);
  expect(rendered(<NodeDetails node={{ ...ails, id: 1 }} />)).toContain(words);
});

test('above every page', async () => {
  await i18next.changeLanguage('zh');
  const { StorageWarning: StorageFailure } = await import('../../web/shell/storage-warning.tsx');
  const storage = { ok: false, reason: 'the ledger is gone', late: 0, refused: 0 };
  const shown = rendered(<StorageFailure />, { answers: { status: { storage } } });
  expect(shown).toContain('计费请求已暂停：账本线程已终止');
});
