/** The channel list says which channels fail by requests of users, since when, and who served them instead. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Channel } from '../../server/contract/entities.ts';
import type { ChannelTraffic } from '../../web/components/channel-traffic.ts';
import { aroundPages, reader, rendered } from './rendered.tsx';

beforeAll(() => aroundPages(reader(100)));
afterAll(() => vi.unstubAllGlobals());

const channel = (id: number, name: string, status = 1): Channel =>
  ({
    id,
    name,
    status,
    type: 1,
    group: 'default',
    models: 'gpt-4o',
    response_time: 0,
    test_time: 0,
    used_quota: 0,
    balance: 0,
    balance_updated_time: 0,
    priority: 0,
    weight: 0,
    tag: '',
    other_info: '',
    setting: '',
  }) as unknown as Channel;

const traffic = (id: number, more: Partial<ChannelTraffic>): ChannelTraffic => ({
  id,
  name: `c${id}`,
  state: 'serving',
  since: 0,
  failed: 0,
  saved: 0,
  saved_by: [],
  words: '',
  p95: null,
  usual_p95: null,
  requests_per_minute: 0,
  charged_today: 0,
  balance: null,
  balance_lasts_days: null,
  auto_disabled: false,
  period: null,
  ...more,
});

async function list(channels: readonly Channel[], found: readonly ChannelTraffic[]): Promise<string> {
  const { ChannelTable } = await import('../../web/features/channels/channel-table.tsx');
  const nothing = () => undefined;
  const state = {
    channels,
    types: [],
    groups: [],
    all: channels,
    list: { pending: false, failure: null },
    traffic: new Map(found.map((one) => [one.id, one])),
    range: '24h',
    tagMode: false,
    idSort: false,
    setIdSort: nothing,
    filtered: false,
    sight: '',
  };
  const props = {
    state,
    actions: {},
    selection: { selected: new Set<number>(), onChange: nothing, labelOf: () => '' },
    bar: null,
    onTest: nothing,
    onRemove: nothing,
  } as unknown as Parameters<typeof ChannelTable>[0];
  return rendered(<ChannelTable {...props} />, { path: '/channel' });
}

const failing = { state: 'failing', since: 1_795_000_000, failed: 14, words: 'key revoked.' } as const;

test('a channel whose requests fail says so in the words of its upstream, since when, and who served them', async () => {
  const saved_by = [{ id: 2, name: 'backup', requests: 14 }];
  const page = await list(
    [channel(1, 'main'), channel(2, 'backup')],
    [traffic(1, { ...failing, saved: 14, saved_by }), traffic(2, {})],
  );
  expect(page).toContain('status status-bad">失败');
  expect(page).toMatch(/key revoked，自 2026-11-18 \d\d:\d\d 起（14 个请求，全部由 backup 完成）。/);
  expect(page).toContain('status">正常');
  // The requests stand in the log of the channel that served them.
  expect(page).toMatch(/href="\/log\?channel=2&amp;from=2026-11-18T[\d:]+"[^>]*>14 个失败的请求/);
  expect(page).toMatch(/href="\/channel\/edit\/1#key"[^>]*>更换密钥/);
});

test('for failed requests that no channel served the log of the channel itself is shown', async () => {
  const page = await list([channel(1, 'main')], [traffic(1, failing)]);
  expect(page).toContain('14 个请求，没有其他渠道完成这些请求');
  expect(page).toContain('href="/log?channel=1&amp;from=');
});

test('a channel that was disabled automatically is offered to be enabled, one that fails to be disabled', async () => {
  const note = (page: string) => page.slice(page.indexOf('class="note"'));
  const other_info = '{"status_reason":"key revoked","status_time":1700000000}';
  const off = note(await list([{ ...channel(1, 'main', 3), other_info }], []));
  expect(off).toContain('key revoked');
  expect(off).toContain('>启用</button>');
  expect(note(await list([channel(1, 'main')], [traffic(1, failing)]))).toContain('>禁用</button>');
});

test('a slow channel says how long requests take now and usually, and gives half of its weight away', async () => {
  const slow = traffic(1, { state: 'slow', p95: 4200, usual_p95: 900 });
  const page = await list([{ ...channel(1, 'main'), weight: 7 }], [slow]);
  expect(page).toContain('最近一小时 95% 的请求用时不超过 4.2 s；平时：0.9 s。');
  expect(page).toContain('权重减半');
  // Without a weight there is nothing to halve.
  expect(await list([channel(1, 'main')], [slow])).not.toContain('权重减半');
});

test('figures of the range: success, first token and p95, requests, spend, how long the balance lasts', async () => {
  const bars = Array.from({ length: 24 }, (_, at) => ({
    ...{ at: 1_795_000_000 + at * 3600, attempts: 10, failed: at === 23 ? 9 : 0, latency: 800 },
    level: at === 23 ? ('bad' as const) : ('good' as const),
  }));
  const period = { attempts: 240, failed: 9, first_token: 310, p95: 3200, bars };
  const page = await list(
    [{ ...channel(1, 'main'), balance: 12, balance_updated_time: 5 }],
    [traffic(1, { period, requests_per_minute: 210.4, balance: 12, balance_lasts_days: 8 })],
  );
  expect(page).toContain('96.2%');
  expect(page).toMatch(/0\.31 <span[^>]*>\/<\/span> 3\.2</);
  expect(page).toContain('>210<');
  expect(page).toMatch(/text-warning[^>]*>8 天</);
  expect(page).toContain('aria-label="240 次请求，9 次失败"');
  const barsOf = (color: string) => page.match(new RegExp(`<path d="([^"]*)" style="fill:var\\(--${color}\\)"`))?.[1];
  expect([barsOf('danger-solid')?.match(/M/g)?.length, barsOf('success-solid')?.match(/M/g)?.length]).toEqual([1, 23]);
});

test('a channel of which no traffic is known is idle, without figures and without a note', async () => {
  const page = await list([channel(1, 'main')], []);
  expect(page).not.toContain('status-bad');
  expect(page).toContain('status status-off">空闲');
  expect(page).not.toContain('class="note"');
});

test('what the channel says of its status is shown before its traffic knows', async () => {
  expect(await list([channel(1, 'main', 2)], [traffic(1, failing)])).toContain('status status-off">已禁用');
  expect(await list([channel(1, 'main')], [traffic(1, { state: 'disabled' })])).toContain('status status-off">空闲');
});

test('channels that fail lead, whether they still serve or were disabled for it; the others keep their order', async () => {
  const { failingFirst } = await import('../../web/components/channel-traffic.ts');
  const channels = [channel(1, 'a'), channel(2, 'b'), channel(3, 'c', 3), channel(4, 'd', 2)];
  const order = failingFirst(channels, new Map([[2, traffic(2, failing)]])).map(({ id }) => id);
  expect(order).toEqual([2, 3, 1, 4]);
});

test('a channel nothing was sent to leaves its figures empty instead of saying zero', async () => {
  const page = await list([channel(1, 'main')], [traffic(1, { state: 'standby' })]);
  expect(page).not.toMatch(/\$0\.00|<svg width=|>0</);
});

test('a channel that stands by has the hollow mark, and a phone shows the kind of each', async () => {
  const page = await list(
    [channel(1, 'main'), channel(2, 'backup')],
    [traffic(1, {}), traffic(2, { state: 'standby' })],
  );
  expect(page).toContain('status status-off">备用');
  expect(page).toContain('"status">正常');
  // The list knows no names of kinds here: their numbers stand for them.
  expect(page).toMatch(/>main<\/span><span class="[^"]*sm:hidden">1</);
});

test('a reason that three channels share is said once, above them; another one stays with its channel', async () => {
  const channels = [1, 2, 3, 4].map((id) => channel(id, `c${id}`));
  const found = [1, 2, 3].map((id) => traffic(id, { ...failing, words: '401 key revoked.' }));
  const other = traffic(4, { ...failing, words: '503 overloaded' });
  const page = await list(channels, [...found, other]);
  expect(page.match(/401 key revoked/g)).toHaveLength(1);
  expect(page).toContain('3 个渠道因同一原因失败：401 key revoked.');
  expect(page.match(/原因同上，自/g)).toHaveLength(3);
  expect(page).toContain('503 overloaded，自');
  // Two are few enough to speak for themselves.
  expect((await list(channels.slice(0, 2), found)).match(/401 key revoked/g)).toHaveLength(2);
});

test('the bars of a channel tell apart what was quiet, good, slow, poor and bad by their height, not by colour alone', async () => {
  const { TrafficBars } = await import('../../web/components/traffic-bars.tsx');
  const levels = ['none', 'good', 'slow', 'poor', 'bad'] as const;
  const heights = levels.map((level) => {
    const bars = [{ at: 1_795_000_000, attempts: 4, failed: 2, latency: 100, level }];
    const [, top, height] = /d="M0 (\d+)h5v(\d+)h-5z"/.exec(rendered(<TrafficBars bars={bars} />)) ?? [];
    expect(Number(top) + Number(height)).toBe(16);
    return Number(height);
  });
  expect(heights).toEqual(heights.toSorted((one, other) => one - other));
  expect(new Set(heights).size).toBe(levels.length);
});
