import { expect, test } from 'vitest';
import type { SnapshotDelta } from '../../server/contract/snapshot.ts';
import { createPublisher } from '../../server/threads/control/snapshot-updates.ts';

const delta = (seq: number, options: Record<string, string> = {}): SnapshotDelta => ({
  kind: 'delta',
  seq,
  users: [],
  tokens: [],
  channels: [],
  options,
  removed: { users: [], tokens: [], channels: [] },
});

function fixture() {
  const feed: SnapshotDelta[] = [];
  const published: number[] = [];
  const order: string[] = [];
  const errors: unknown[] = [];
  let broken = false;
  let withheld = false;
  const publisher = createPublisher({
    source: {
      load: async () => ({ kind: 'snapshot', seq: 0, users: [], tokens: [], channels: [], options: {} }),
      async since(seq) {
        const next = feed.find((news) => news.seq > seq) ?? null;
        await Bun.sleep(2);
        if (broken) throw new Error('locked');
        return next;
      },
    },
    publish: (news) => {
      if (news.kind === 'part') return;
      published.push(news.seq);
      order.push(`news ${news.seq}`);
      if (!withheld) publisher.applied(news.seq);
    },
    optionsChanged: async () => void order.push('options'),
    report: (error) => void errors.push(error),
  });
  return {
    feed,
    published,
    order,
    errors,
    publisher,
    breakDown: (is: boolean) => (broken = is),
    withhold: (is: boolean) => (withheld = is),
  };
}

test('when look resolves, everything written before it is out, in order and once', async () => {
  const { feed, published, publisher } = fixture();
  await publisher.start();
  feed.push(delta(1), delta(2));
  const early = publisher.check();
  await Bun.sleep(1);
  feed.push(delta(3));
  await publisher.check();
  expect(published).toEqual([0, 1, 2, 3]);
  await early;
  await Promise.all([publisher.check(), publisher.check(), publisher.check()]);
  expect(published).toEqual([0, 1, 2, 3]);
  publisher.stop();
});

test('a look waits until every relay thread has applied what was published, and not for ever', async () => {
  const { feed, published, publisher, withhold } = fixture();
  await publisher.start();
  withhold(true);
  feed.push(delta(1), delta(2));
  let done = false;
  const check = publisher.check().then(() => (done = true));
  await expect.poll(() => published).toEqual([0, 1, 2]);
  publisher.applied(1);
  await Bun.sleep(20);
  expect(done).toBe(false);
  publisher.applied(2);
  await check;
  // A thread that is stuck delays a change by a second.
  feed.push(delta(3));
  await publisher.check();
  expect(published).toEqual([0, 1, 2, 3]);
  publisher.stop();
});

test('changes of others come by themselves; options are read again first', async () => {
  const { feed, order, publisher } = fixture();
  await publisher.start();
  feed.push(delta(1, { RetryTimes: '1' }));
  await expect.poll(() => order).toEqual(['news 0', 'options', 'news 1']);
  publisher.stop();
});

test('a failed check is reported and made good by the next', async () => {
  const { feed, published, errors, publisher, breakDown } = fixture();
  await publisher.start();
  feed.push(delta(1));
  breakDown(true);
  await publisher.check();
  expect([published, errors.length]).toEqual([[0], 1]);
  breakDown(false);
  await publisher.check();
  expect(published).toEqual([0, 1]);
  publisher.stop();
});
