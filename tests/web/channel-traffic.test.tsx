/** The channel list says which channels fail by requests of users, since when, and who served them instead. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Channel } from '../../server/contract/entities.ts';
import type { ChannelTraffic } from '../../web/features/channels/traffic.ts';
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
    tagMode: false,
    idSort: false,
    setIdSort: nothing,
    filtered: false,
    sight: '',
  };
  const props = {
    state,
    actions: {},
    selection: { chosen: new Set<number>(), onChange: nothing, labelOf: () => '' },
    bar: null,
    onTest: nothing,
    onRemove: nothing,
  } as unknown as Parameters<typeof ChannelTable>[0];
  return rendered(<ChannelTable {...props} />, { path: '/channel', answers: { 'channel-traffic': found } });
}

test('a channel whose requests fail is shown as failing, with the words of its upstream and who served them', async () => {
  const saved_by = [{ id: 2, name: 'backup', requests: 13 }];
  const failing = {
    state: 'failing',
    since: 1_795_000_000,
    failed: 14,
    saved: 13,
    saved_by,
    words: 'key revoked',
  } as const;
  const page = await list([channel(1, 'main'), channel(2, 'backup')], [traffic(1, failing), traffic(2, {})]);
  expect(page).toContain('status status-bad">失败');
  expect(page).toContain('失败数：14。 由其他渠道完成：backup 13。 上游：key revoked');
  expect(page).toContain('status">正常');
});

test('requests that no channel served are not said to have been saved', async () => {
  const page = await list([channel(1, 'main')], [traffic(1, { state: 'failing', since: 1_795_000_000, failed: 5 })]);
  expect(page).toContain('没有其他渠道完成这些请求。');
  expect(page).not.toContain('上游：');
});

test('a slow channel says how long requests take now and usually', async () => {
  const page = await list([channel(1, 'main')], [traffic(1, { state: 'slow', p95: 4200, usual_p95: 900 })]);
  expect(page).toContain('最近一小时 95% 的请求用时不超过 4.2 s；平时：0.9 s。');
});

test('a channel of which no traffic is known says nothing of it', async () => {
  const page = await list([channel(1, 'main')], []);
  expect(page).not.toContain('status-bad');
  expect(page).toContain('流量状态');
});
