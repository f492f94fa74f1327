/** When a host that fails is tried again, and who can take it from the others. */
import { expect, test } from 'vitest';
import type { ChannelSnapshot } from '../../server/contract/snapshot.ts';
import { Health } from '../../server/relay/routing/health.ts';
import { createTestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream } from '../support/upstream.ts';

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

test.each([
  ['a user whose requests make three models fail takes none from another', 1, ['first']],
  ['an operator who meets the same is believed', 100, ['second']],
] as const)('%s', async (_name, role, servedBy) => {
  const upstream = await startUpstream((response, { path, body }) =>
    String(body).includes('boom') && path.startsWith('/first')
      ? sendJson(response, { error: { message: 'crashed' } }, 500)
      : sendJson(response, completion(1, 1)),
  );
  const gateway = await createTestGateway();
  try {
    await gateway.option('SelfUseModeEnabled', 'true');
    const fields = { type: 43, models: 'a,b,c,d' };
    await gateway.channel(`${upstream.url}/first`, { ...fields, priority: 9 });
    await gateway.channel(`${upstream.url}/second`, fields);
    const about = { username: 'mallory', password: 'password1', displayName: '', role, quota: 1_000_000 };
    const userId = await gateway.services.users.create(about);
    const { key: foul } = await gateway.services.tokens.create(userId, { name: 't', unlimited_quota: true });
    const { key: fair } = await gateway.token();
    const ask = async (key: string, model: string, content: string) =>
      (await gateway.chat(key, { model, messages: [{ role: 'user', content }] })).text();
    for (const model of ['a', 'b', 'c']) await ask(foul, model, 'boom');
    upstream.requests.length = 0;
    await ask(fair, 'd', 'hi');
    expect(upstream.requests.map(({ path }) => path.split('/')[1])).toEqual(servedBy);
  } finally {
    await gateway.close();
    await upstream.stop();
  }
});
