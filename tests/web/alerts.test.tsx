/** Alerts in the top bar: those that are new are counted, each leads to what it is about. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { alertKindNames } from '../../server/contract/alert-kinds.ts';
import { pageAddresses } from '../../server/contract/console-pages.ts';
import { pages } from '../../web/app/pages.tsx';
import { aroundPages, linksIn, reader, rendered } from './rendered.tsx';

beforeAll(() => aroundPages(reader(10)));
afterAll(() => vi.unstubAllGlobals());

const alert = (kind: (typeof alertKindNames)[number], subject: string) => ({
  ...{ kind, subject, title: 'a title', text: `words of ${kind}`, told_at: 0 },
});
const bar = async (alerts: readonly object[]) => {
  const { Alerts } = await import('../../web/shell/alerts.tsx');
  return rendered(<Alerts />, { answers: { 'alerts,zh': { targets: [], alerts } } });
};

test('new alerts are counted, seen ones are not, and one that comes back is new again', async () => {
  const { unreadOf } = await import('../../web/shell/alerts.tsx');
  const all = [alert('channel_failing', '3'), alert('disk_low', '')];
  expect(await bar(all)).toContain('aria-label="告警，2 条新告警"');
  localStorage.setItem('seen-alerts', JSON.stringify(['channel_failing 3', 'disk_low ']));
  expect(await bar(all)).toContain('aria-label="告警"');
  expect(unreadOf([alert('channel_failing', '4')], ['channel_failing 3'])).toHaveLength(1);
  localStorage.setItem('seen-alerts', 'broken');
  expect(await bar(all)).toContain('2 条新告警');
});

test('every kind of alert says what it is and leads to a page that exists', async () => {
  const { AlertList } = await import('../../web/shell/alerts.tsx');
  const nothing = () => undefined;
  for (const kind of alertKindNames) {
    const page = rendered(<AlertList alerts={[alert(kind, '7')]} onSeen={nothing} onLeave={nothing} />);
    expect(page).toContain('a title');
    expect(page).toContain(`words of ${kind}`);
    const [link = ''] = linksIn(page);
    const path = link.split('?')[0] ?? '';
    expect([kind, pages.some((one) => pageAddresses(one.path).test(path))]).toEqual([kind, true]);
  }
  expect(rendered(<AlertList alerts={[alert('channel_failing', '7')]} onSeen={nothing} onLeave={nothing} />)).toContain(
    '/channel/edit/7',
  );
});

test('the panel says that nothing is wrong where there are no alerts', async () => {
  const { AlertList } = await import('../../web/shell/alerts.tsx');
  const nothing = () => undefined;
  expect(rendered(<AlertList alerts={[]} onSeen={nothing} onLeave={nothing} />)).toContain('目前没有异常。');
});
