/** Pages of people who are inside, as they are first shown: heads, filters, columns, banners. Named after the clauses they prove. */
import i18next from 'i18next';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { writeUser } from '../../web/lib/session.ts';
import { aroundPages, reader, rendered } from './rendered.tsx';

beforeAll(() => aroundPages(reader(100)));
afterEach(() => {
  vi.useRealTimers();
  writeUser(reader(100));
});
afterAll(() => vi.unstubAllGlobals());

const has = (page: string, ...words: readonly string[]) => {
  for (const word of words) expect(page).toContain(word);
};
const pageOf = {
  logs: async () => {
    const { LogsPage } = await import('../../web/features/logs/logs-page.tsx');
    return rendered(<LogsPage />, { path: '/log' });
  },
  channels: async () => {
    const { ChannelsPage } = await import('../../web/features/channels/channels-page.tsx');
    return rendered(<ChannelsPage />, { path: '/channel' });
  },
  codes: async () => {
    const { RedemptionPage } = await import('../../web/features/redemption/redemption-page.tsx');
    return rendered(<RedemptionPage />, { path: '/redemption' });
  },
  playground: async () => {
    const { PlaygroundPage } = await import('../../web/features/playground/playground-page.tsx');
    return rendered(<PlaygroundPage />, { path: '/playground' });
  },
  drawings: async () => {
    const { DrawingsPage } = await import('../../web/features/tasks/drawings-page.tsx');
    return rendered(<DrawingsPage />, { path: '/midjourney', answers: { status: { mj_notify_enabled: false } } });
  },
  users: async () => {
    const { UsersPage } = await import('../../web/features/users/users-page.tsx');
    return rendered(<UsersPage />, { path: '/user' });
  },
  tasks: async () => {
    const { TasksPage } = await import('../../web/features/tasks/tasks-page.tsx');
    return rendered(<TasksPage />, { path: '/task' });
  },
};
/** The two ends that the control for the range shows. */
const days = (page: string): string[] =>
  / – /.test(page) ? (/>([\d: –…-]+ – [\d: –…-]+)</.exec(page)?.[1] ?? '').split(' – ') : [];
const at = new Date('2026-03-15T10:00:00');

const proofs: Readonly<Record<string, () => Promise<unknown>>> = {
  '002.2.14': async () => has(await pageOf.codes(), '复制所选兑换码'),
  '002.2.18': async () => {
    vi.useFakeTimers({ now: at });
    const shown = await pageOf.drawings();
    expect(days(shown)).toEqual(['2026-02-13 10:00', '2026-03-15 11:00']);
    has(shown, '任务 ID', '渠道 ID');
    expect(shown).toMatch(/<button[^>]*aria-label="查询"/);
    writeUser(reader(1));
    expect(await pageOf.drawings()).not.toContain('渠道 ID');
  },
  '000.2.69': async () => {
    const shown = await pageOf.users();
    has(shown, '添加用户', '分组');
    expect(shown).toMatch(/<input[^>]*type="search"/);
    expect(shown).toMatch(/<button[^>]*aria-label="查询"/);
  },
  '002.2.23': async () =>
    has(await pageOf.drawings(), '当前未开启 Midjourney 回调，部分项目可能无法获得绘图结果，可在运营设置中开启'),
  '002.2.24': async () => {
    vi.useFakeTimers({ now: at });
    has(await pageOf.tasks(), '2026-03-15 00:00 起');
  },
  '002.2.22': async () => {
    has(await pageOf.drawings(), '回调');
    writeUser(reader(1));
    expect(await pageOf.drawings()).not.toContain('回调');
  },
  '002.2.38': async () => {
    const page = await pageOf.playground();
    has(
      page,
      '分组',
      '模型',
      '温度',
      '最大 Tokens',
      '系统提示词',
      'list="playground-models"',
      '清除上下文',
      '你好，请问有什么可以帮助您的吗？',
    );
    expect(page.match(/<article/g)).toHaveLength(2);
    expect(page).toMatch(/<p>你好<\/p>/);
  },
  '002.4.18': async () => {
    const { logFilterBar } = await import('../../web/features/logs/log-filters.ts');
    const bar = logFilterBar({ t: i18next.t, admin: true, counts: undefined, get: () => '' });
    expect(bar.find(({ name }) => name === 'type')?.options).toEqual(
      ['全部', '充值', '消费', '管理', '系统', '错误'].map((word, type) => [String(type), word]),
    );
  },
  '002.9.30': async () => {
    vi.useFakeTimers({ now: at });
    expect(days(await pageOf.drawings())).toEqual(['2026-02-13 10:00', '2026-03-15 11:00']);
  },
  '000.2.26': async () => {
    const { NewYear } = await import('../../web/shell/new-year.tsx');
    vi.useFakeTimers({ now: new Date('2027-01-01T12:00:00') });
    expect(rendered(<NewYear />)).toContain('<button');
    vi.setSystemTime(new Date('2027-01-02T12:00:00'));
    expect(rendered(<NewYear />)).toBe('');
  },
};

test.each(Object.keys(proofs))('%s', async (id) => void (await proofs[id]?.()));

test('channels may be sorted by id and gathered by tag', async () =>
  has(await pageOf.channels(), '按 ID 排序', '标签聚合模式'));
