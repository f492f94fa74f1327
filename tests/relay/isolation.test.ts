/** What a node that cannot read the change feed refuses: what others report as changed, and in the end everybody. */
import { beforeEach, expect, test } from 'vitest';
import type { ChangedIds } from '../../server/cluster/recent-changes.ts';
import type { UnknownRights } from '../../server/contract/snapshot.ts';
import { createIsolation, type Isolation } from '../../server/threads/control/isolation.ts';

let now: number;
let known: number;
let look: () => void;
let answer: ChangedIds | null;
let asked: number[];
let posted: ChangedIds[];
let takes: boolean;
let unread: () => Promise<ChangedIds>;
let published: UnknownRights[];

beforeEach(() => {
  now = 100_000;
  known = now;
  answer = { users: [], tokens: [] };
  asked = [];
  posted = [];
  takes = true;
  unread = async () => ({ users: [], tokens: [] });
  published = [];
});

const open = (hasRedis: boolean): Isolation =>
  createIsolation({
    recentChanges: hasRedis
      ? {
          read: async (ms) => {
            asked.push(ms);
            return answer;
          },
          post: async (changed) => {
            posted.push(changed);
            return takes;
          },
        }
      : null,
    unread: () => unread(),
    aloneMs: 5000,
    knownAt: () => known,
    publish: (rights) => void published.push(rights),
    timers: {
      monoNow: () => now,
      every: (run) => {
        look = run;
        return { close: () => undefined } as never;
      },
    },
  });
const after = async (ms: number) => {
  now += ms;
  look();
  await new Promise((resolve) => setImmediate(resolve));
};

test('a node that reads the feed asks nobody, and one that does not refuses what was changed since, until it reads again', async () => {
  open(true);
  await after(900);
  expect([asked, published]).toEqual([[], []]);
  answer = { users: [5], tokens: [17] };
  await after(600);
  expect(asked).toEqual([2500]);
  expect(published).toEqual([{ all: false, away: true, users: [5], tokens: [17] }]);
  // Redis may start anew and know nothing, or only what came later.
  answer = { users: [], tokens: [] };
  await after(250);
  expect(published).toHaveLength(1);
  answer = { users: [6], tokens: [] };
  await after(250);
  expect(published.splice(1)).toEqual([{ all: false, away: true, users: [5, 6], tokens: [17] }]);
  // What it was told stays so when Redis goes as well, and for longer than it may be alone.
  answer = null;
  await after(1000);
  expect(published).toHaveLength(1);
  await after(5000);
  expect(published.at(-1)).toEqual({ all: true, away: true, users: [5, 6], tokens: [17] });
  known = now;
  await after(0);
  expect(published.at(-1)).toEqual({ all: false, users: [], tokens: [] });
});

test('Redis that answers is company enough; without it a node is alone after the time that was set, and not before', async () => {
  open(true);
  const away = { all: false, away: true, users: [], tokens: [] } as const;
  await after(60_000);
  expect(published.splice(0)).toEqual([away]);
  open(false);
  known = now;
  await after(4999);
  expect(published.splice(0)).toEqual([away]);
  await after(1);
  expect(published).toEqual([{ ...away, all: true }]);
});

const settled = () => new Promise((resolve) => setImmediate(resolve));
const unchanged = { kind: 'delta', seq: 1, users: [], tokens: [], channels: [], options: {} } as const;
const nothing = { users: [], tokens: [] };
const some = { users: [3], tokens: [4] };
/** As a node that reads the feed all the time. */
const reading = async (ms: number) => {
  known = now + ms;
  await after(ms);
};

test('changes that other nodes may not have read are posted once at the start and once when the feed starts over', async () => {
  unread = async () => some;
  const isolation = open(true);
  await reading(250);
  expect(posted.splice(0)).toEqual([some]);
  await reading(2000);
  expect(posted).toEqual([]);
  isolation.changed({ kind: 'snapshot', seq: 2, users: [], tokens: [], channels: [], options: {} });
  await reading(2000);
  await reading(2000);
  expect(posted).toEqual([some]);
});

test('a node that does not read the feed posts nothing of it', async () => {
  unread = async () => some;
  open(true);
  await after(2000);
  expect(posted).toEqual([]);
});

test('unread changes that Redis did not take are posted again, once a second at most', async () => {
  unread = async () => some;
  takes = false;
  open(true);
  await reading(250);
  takes = true;
  await reading(250);
  expect(posted).toEqual([some]);
  await reading(1000);
  await reading(1000);
  expect(posted).toEqual([some, some]);
});

test('unread changes that the database did not report are posted when it does', async () => {
  unread = () => Promise.reject(new Error('away'));
  open(true);
  await reading(250);
  unread = async () => some;
  await reading(1000);
  expect(posted).toEqual([some]);
});

test('a change that Redis did not take is among what is posted again', async () => {
  const isolation = open(true);
  await reading(250);
  expect(posted.splice(0)).toEqual([nothing]);
  takes = false;
  isolation.changed({ ...unchanged, users: [{ id: 3 } as never], removed: { users: [], tokens: [4], channels: [] } });
  await settled();
  takes = true;
  unread = async () => some;
  await reading(1000);
  expect(posted).toEqual([some, some]);
});

test('changed and removed users and keys of the feed are posted, and nothing where there are none', async () => {
  const isolation = open(true);
  isolation.changed({ ...unchanged, removed: { users: [], tokens: [], channels: [3] } });
  expect(posted).toEqual([]);
  isolation.changed({
    ...unchanged,
    users: [{ id: 1 } as never],
    tokens: [{ id: 2 } as never],
    removed: { users: [8], tokens: [9], channels: [] },
  });
  await settled();
  expect(posted).toEqual([{ users: [1, 8], tokens: [2, 9] }]);
});
