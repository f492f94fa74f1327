import { expect, test } from 'vitest';
import type { ChannelSnapshot } from '../../server/contract/snapshot.ts';
import { Health } from '../../server/relay/routing/health.ts';

test('a host that never recovers is probed every five minutes at the latest', () => {
  let now = 0;
  const health = new Health({ now: () => now, random: () => 0, failure: () => undefined });
  const channel = { id: 1, keys: ['k'], models: ['m'], modelMapping: {}, setting: {} } as unknown as ChannelSnapshot;
  const failure = { class: 'host', status: 502, error: null, retryAfter: null, reason: 'status' } as const;
  const waits: number[] = [];
  for (let n = 0; n < 5; n++) health.failed(channel, 'm', 0, failure);
  for (let probes = 0; probes < 14; probes++) {
    waits.push(health.waitMs(channel, 'm'));
    now += health.waitMs(channel, 'm');
    expect(health.condition(channel, 'm')).toBe('up');
    health.begin(channel, 'm', 0);
    health.failed(channel, 'm', 0, failure);
  }
  const seconds = [30, 60, 90, 120, 150, 180, 210, 240, 270, 300, 300, 300, 300, 300];
  expect(waits).toEqual(seconds.map((one) => one * 1000));
});
