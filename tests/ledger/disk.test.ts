import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;

beforeEach(async () => {
  // The driver's own troubles.
  gateway = await createTestGateway({ engine: 'sqlite' });
  upstream = await startUpstream((response) => sendJson(response, completion(1000, 500)));
  await gateway.channel(upstream.url);
  ({ key } = await gateway.token());
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

const chat = () => gateway.chat(key, { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] });
const pragma = (text: string) => gateway.raw().pragma(text);

/** The driver's own refusals: no page left, and no right to write. */
const failures = [
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

test.each(failures)(
  '%s: paid work is refused from the first failed commit on with the reason, reads go on, no end is delivered before its bill, nothing is lost',
  async (_name, begin, end) => {
    const { services, ledger } = gateway;
    const before = await gateway.balance();
    const [code = ''] = await services.redemptions.create(gateway.userId, { quota: 100, name: 'x' });
    const user = await services.users.find(gateway.userId);
    if (user === undefined) throw new Error('no user');
    begin();
    // Answers that are under way wait for their bill, and none is begun from the first failed commit on.
    let ended = 0;
    const waiting: Promise<number>[] = [];
    while (ledger.healthy().ok && waiting.length < 2000) {
      waiting.push(
        chat().then(({ status }) => {
          ended++;
          return status;
        }),
      );
      await Bun.sleep(5);
    }
    const durable = gateway.raw().prepare("SELECT count(*) FROM postings WHERE kind = 'settle'").pluck().get();

    // It does not wait for the disk: that is in trouble for as long as we like.
    const rejected = await chat();
    expect(rejected.status).toBe(503);
    expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0);
    const { error } = await rejected.json();
    expect(error).toMatchObject({
      code: 'storage_unavailable',
      message: expect.stringContaining('the books cannot be written at the moment'),
    });
    // What the driver said is for the operator.
    expect(error.message).not.toMatch(/full|readonly/);
    expect(ledger.healthy()).toMatchObject({ ok: false, reason: expect.stringMatching(/full|readonly/) });
    await expect(services.redemptions.redeem(user, code)).rejects.toMatchObject({ code: 'storage_unavailable' });
    expect((await services.logs.page({}, 1, 10, true)).page).toBe(1);
    expect((await services.users.find(gateway.userId))?.username).toBe('tester');

    expect(ended).toBe(durable);
    expect(waiting.length).toBeGreaterThan(ended);

    end();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([200]));
    expect(await gateway.balance()).toBe(before - waiting.length * 225);
    expect(ledger.healthy().ok).toBe(true);
    expect(await services.redemptions.redeem(user, code)).toBe(100);
    expect((await chat()).status).toBe(200);
    expect(await gateway.verify()).toEqual([]);
  },
);
