/** One gateway and one upstream for all tests of a file, each of which opens channels of its own. */
import { afterAll, afterEach, expect } from 'vitest';
import { createTestGateway, type TestGatewayOptions } from './gateway.ts';
import { startUpstream } from './upstream.ts';

export async function sharedGateway(options: TestGatewayOptions = {}) {
  const gateway = await createTestGateway(options);
  const upstream = await startUpstream(() => undefined);
  const { key } = await gateway.token();

  afterEach(async () => {
    upstream.script(() => undefined);
    upstream.requests.length = 0;
    const { items } = await gateway.services.channels.list({}, 0, 100);
    for (const { id } of items) await gateway.services.channels.remove(id);
    await gateway.sync();
  });
  afterAll(async () => {
    expect(await gateway.verify()).toEqual([]);
    await gateway.close();
    await upstream.stop();
  });

  return {
    gateway,
    upstream,
    key,
    /** The row of the last request, once none runs. */
    async row() {
      await expect.poll(() => gateway.relay.open(), { timeout: 5000, interval: 5 }).toBe(0);
      return gateway.lastLog();
    },
  };
}
