import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;

beforeEach(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream((response) => sendJson(response, completion(1000, 500)));
  await gateway.channel(upstream.url);
  ({ key } = await gateway.token());
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

const chat = () => gateway.chat(key, { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] });
const pragma = (text: string) => gateway.database.raw.pragma(text);

/** The driver's own refusals: no page left, and no right to write. */
const troubles = [
  [
    'a full disk',
    () => {
      const [{ page_count: pages }] = pragma('page_count') as [{ page_count: number }];
      pragma(`max_page_count = ${pages}`);
    },
    () => pragma('max_page_count = 1000000'),
  ],
  ['a read-only disk', () => pragma('query_only = ON'), () => pragma('query_only = OFF')],
] as const;

test.each(troubles)(
  '%s: paid work is refused at once with the reason, reads go on, nothing is lost',
  async (_name, begin, end) => {
    const { services, ledger } = gateway;
    const before = await gateway.balance();
    const [code = ''] = await services.redemptions.create(gateway.userId, { quota: 100, name: 'x' });
    const user = await services.users.find(gateway.userId);
    if (user === undefined) throw new Error('no user');
    begin();
    // Answers that are under way end well; what they owe waits in memory.
    let answered = 0;
    const deadline = Date.now() + 20_000;
    while (ledger.healthy().ok && Date.now() < deadline) {
      const response = await chat();
      if (response.status === 200) answered++;
      await response.text();
    }
    expect(answered).toBeGreaterThan(0);
    expect(ledger.healthy().ok).toBe(false);

    const asked = performance.now();
    const refused = await chat();
    expect(performance.now() - asked).toBeLessThan(50);
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({
      error: { code: 'storage_unavailable', message: expect.stringMatching(/full|readonly/) },
    });
    await expect(services.redemptions.redeem(user, code)).rejects.toMatchObject({ code: 'storage_unavailable' });
    expect((await services.logs.page({}, 1, 10, true)).page).toBe(1);
    expect((await services.users.find(gateway.userId))?.username).toBe('tester');

    end();
    expect(await gateway.balance()).toBe(before - answered * 225);
    expect(ledger.healthy().ok).toBe(true);
    expect(await services.redemptions.redeem(user, code)).toBe(100);
    expect((await chat()).status).toBe(200);
    expect(await gateway.verify()).toEqual([]);
  },
);
