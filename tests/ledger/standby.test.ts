import { rmSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLedgerStore } from '../../db/ledger/sqlite/store.ts';
import type { Database } from '../../db/open.ts';
import type { LedgerCommand } from '../../server/billing/ledger/commands.ts';
import { type EngineStore, LedgerEngine } from '../../server/billing/ledger/engine.ts';
import type { Outcome } from '../../server/billing/ports.ts';
import { type NodeFiles, openNodeFiles } from '../../server/cluster/node-files.ts';
import { systemTimers, type Timers } from '../../server/contract/timers.ts';
import { diskFolder } from '../support/disk-folder.ts';
import { randomOf } from '../support/random.ts';
import { VirtualTime } from '../support/virtual-time.ts';
import { addUsers, balanceOf, grant, openBooks, settle, violations } from './support.ts';

let dir: string;
let database: Awaited<ReturnType<typeof openBooks>> & Database;
let files: NodeFiles;
let now = 0;

beforeEach(async () => {
  dir = diskFolder('standby');
  database = await openBooks();
  addUsers(database.raw, 1, 2);
  files = openNodeFiles(dir, { now: () => now, print: () => undefined });
});
afterEach(async () => {
  files.close();
  expect(violations(database)).toEqual([]);
  await database.close();
  rmSync(dir, { recursive: true, force: true });
});

const raise = (error: Error): never => {
  throw error;
};

const unavailable = () => Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' });

/** Books that answer in a while, when `fate` lets them. */
function distant(fate: (commands: readonly LedgerCommand[]) => 'done' | 'away' | 'unanswered'): EngineStore & {
  readonly batches: string[][];
} {
  const store = createLedgerStore(database.raw);
  store.nextEpoch();
  const batches: string[][] = [];
  let last: Outcome | null = null;
  return {
    batches,
    async apply(commands) {
      await Bun.sleep(1);
      batches.push(commands.map(({ ref }) => ref));
      if (last !== null) {
        const known = last;
        last = null;
        return known;
      }
      const what = fate(commands);
      if (what === 'away') throw unavailable();
      const outcome = store.apply(commands);
      if (what === 'done') return outcome;
      last = outcome;
      throw Object.assign(new Error('cut'), { code: 'UNRESOLVED' });
    },
    async probe() {
      if (fate([]) === 'away') throw unavailable();
    },
    isInvalidCommand: () => false,
    isUncertain: (error) => (error as { code?: unknown }).code === 'UNRESOLVED',
  };
}

function engineOver(store: EngineStore, withOutbox = true, admits = false, timers: Timers = systemTimers) {
  const results: string[] = [];
  const healths: boolean[] = [];
  const engine = new LedgerEngine({
    store,
    onBalance: () => undefined,
    onHealth: ({ ok }) => healths.push(ok),
    timers,
    ...(withOutbox
      ? {
          standby: {
            outbox: files.outbox,
            durable: true,
            mayAdmit: () => admits,
            onRejected: ({ ref }) => results.push(`${ref} lost`),
          },
        }
      : {}),
  });
  const submit = (command: LedgerCommand) =>
    engine.submit(command, (result) =>
      results.push(`${command.ref} ${result instanceof Error ? result.code : result.status}`),
    );
  return { engine, results, healths, submit };
}

test('an end is durable nearby while the books are away, and in them once when they are back', async () => {
  let gone = true;
  const { engine, results, submit } = engineOver(distant(() => (gone ? 'away' : 'done')));
  submit(grant('g', 1, 100));
  submit(settle('r', 1, 10));
  await expect.poll(() => results).toEqual(['r done', 'g storage_unavailable']);
  expect(files.outbox.size()).toBe(1);
  expect(engine.health().ok).toBe(false);
  gone = false;
  await expect.poll(() => files.outbox.size()).toBe(0);
  expect(balanceOf(database.raw, -2)).toBe(10);
  expect(engine.health()).toEqual({ ok: true });
});

test('between two tries of books that are away an end is kept at once, and waits for neither', async () => {
  // The next try is far off by then.
  const time = new VirtualTime();
  let isFailed = false;
  const attempts = { count: 0 };
  const { results, submit } = engineOver(
    distant(() => {
      if (++attempts.count === 8) isFailed = true;
      return 'away';
    }),
    true,
    false,
    time,
  );
  submit(grant('g', 1, 100));
  while (!isFailed) {
    await Bun.sleep(1);
    await time.advance(1000);
  }
  await new Promise((resolve) => setImmediate(resolve));
  submit(settle('r', 1, 10));
  submit(settle('s', 1, 10));
  while (results.length < 3) await new Promise((resolve) => setImmediate(resolve));
  expect([results, files.outbox.size(), attempts.count]).toEqual([['g storage_unavailable', 'r done', 's done'], 2, 8]);
});

test('an outbox that cannot be read for a moment is a failure of storage, and is read again', async () => {
  let reads = 0;
  const results: string[] = [];
  const healths: boolean[] = [];
  const take: NodeFiles['outbox']['take'] = (most) => {
    if (++reads === 1) throw new Error('EIO');
    return files.outbox.take(most);
  };
  const outbox = { ...files.outbox, take };
  const engine = new LedgerEngine({
    store: createLedgerStore(database.raw),
    onBalance: () => undefined,
    onHealth: ({ ok }) => healths.push(ok),
    standby: { outbox, durable: true, mayAdmit: () => false, onRejected: () => undefined },
  });
  engine.submit(settle('r', 1, 10), (result) => results.push(result instanceof Error ? result.code : result.status));
  await expect.poll(() => healths).toEqual([false, true]);
  await expect.poll(() => files.outbox.size()).toBe(0);
  expect([results, balanceOf(database.raw, -2)]).toEqual([['done'], 10]);
});

test('a node’s next start sends what its dead predecessor had kept', async () => {
  const first = engineOver(distant(() => 'away'));
  for (let n = 0; n < 5; n++) first.submit(settle(`r${n}`, 1, 1));
  await expect.poll(() => first.results.length).toBe(5);
  files.close();
  const again = openNodeFiles(dir, { now: () => now, print: () => undefined });
  expect(again.outbox.size()).toBe(5);
  const store = createLedgerStore(database.raw);
  const engine = new LedgerEngine({
    store,
    onBalance: () => undefined,
    onHealth: () => undefined,
    standby: { outbox: again.outbox, durable: true, mayAdmit: () => false, onRejected: () => undefined },
  });
  await engine.drain();
  expect([again.outbox.size(), balanceOf(database.raw, -2)]).toEqual([0, 5]);
  again.close();
});

test('exactness 13: a commit that hangs is not waited for: ends are kept nearby, other commands wait for it', async () => {
  const gate = Promise.withResolvers<void>();
  const store = createLedgerStore(database.raw);
  store.nextEpoch();
  const slow: EngineStore = {
    ...store,
    async apply(commands) {
      await gate.promise;
      return store.apply(commands);
    },
  };
  const time = new VirtualTime();
  const { results, submit } = engineOver(slow, true, false, time);
  submit(grant('g', 1, 100));
  submit(settle('r', 1, 10));
  await time.advance(200);
  expect(results).toEqual([]);
  await time.advance(100);
  expect(results).toEqual(['r done']);
  expect(files.outbox.size()).toBe(1);
  submit(settle('later', 1, 5));
  await time.advance(0);
  expect(results).toEqual(['r done', 'later done']);
  gate.resolve();
  await expect.poll(() => results).toEqual(['r done', 'later done', 'g done']);
  await expect.poll(() => files.outbox.size()).toBe(0);
  expect(balanceOf(database.raw, 1)).toBe(85);
});

test('a batch with an unknown outcome is sent again unchanged, before anything else', async () => {
  let cut = true;
  const store = distant(() => {
    if (!cut) return 'done';
    cut = false;
    submit(settle('next', 1, 1));
    return 'unanswered';
  });
  const { results, submit } = engineOver(store, false);
  submit(grant('g', 1, 100));
  submit(settle('r', 1, 10));
  await expect.poll(() => results.length).toBe(3);
  expect(store.batches).toEqual([['g', 'r'], ['g', 'r'], ['next']]);
  expect(results).toEqual(['g done', 'r done', 'next done']);
});

test('a full outbox keeps what it cannot take in memory, and nothing is admitted', async () => {
  files.close();
  const small = openNodeFiles(dir, { now: () => now, max: 2, print: () => undefined });
  let gone = true;
  const results: string[] = [];
  const engine = new LedgerEngine({
    store: distant(() => (gone ? 'away' : 'done')),
    onBalance: () => undefined,
    onHealth: () => undefined,
    standby: {
      outbox: small.outbox,
      durable: true,
      mayAdmit: () => small.outbox.size() < 2,
      onRejected: () => undefined,
    },
  });
  for (let n = 0; n < 3; n++) engine.submit(settle(`r${n}`, 1, 1), () => results.push(`r${n}`));
  await Bun.sleep(50);
  expect(results).toEqual([]);
  gone = false;
  await engine.drain();
  expect(results).toHaveLength(3);
  small.close();
});

const batch = (seq: number, run = 'run', epoch = 3) => ({ epoch, run, seq });

test('acknowledged batches are kept for a quarter of an hour', () => {
  const { acknowledged } = files;
  acknowledged.keep(batch(1), [settle('a', 1, 1)]);
  acknowledged.keep(batch(2), [settle('b', 1, 1)]);
  expect(acknowledged.since(batch(1)).map(({ ref }) => ref)).toEqual(['b']);
  expect(acknowledged.marks()).toEqual([batch(2)]);
  now += 14 * 60_000;
  acknowledged.keep(batch(3), [settle('d', 1, 1)]);
  expect(acknowledged.since(batch(1)).map(({ ref }) => ref)).toEqual(['b', 'd']);
  now += 16 * 60_000;
  acknowledged.keep(batch(1, 'run', 4), [settle('c', 1, 1)]);
  expect(acknowledged.marks()).toEqual([batch(1, 'run', 4)]);
});

test('a start long after the last batch still has it: the database may have been away as long', () => {
  files.acknowledged.keep(batch(1), [settle('a', 1, 1)]);
  files.close();
  now += 60 * 60_000;
  files = openNodeFiles(dir, { now: () => now, print: () => undefined });
  expect(files.acknowledged.marks()).toEqual([batch(1)]);
});

test('an epoch that is given out a second time replaces nothing of the first', () => {
  files.acknowledged.keep(batch(1, 'before'), [settle('a', 1, 1)]);
  files.acknowledged.keep(batch(1, 'after'), [settle('b', 1, 1)]);
  expect(files.acknowledged.since(batch(0, 'before')).map(({ ref }) => ref)).toEqual(['a']);
  files.acknowledged.markResent(batch(0, 'before'));
  expect(files.acknowledged.marks()).toEqual([batch(1, 'after')]);
});

test('a full disk is reported by the process that writes a batch, and checked again before the next', () => {
  files.close();
  files = openNodeFiles(dir, { now: () => now, maxPages: 40, print: () => undefined });
  expect(() => files.acknowledged.check()).not.toThrow();
  const fill = () => {
    for (let seq = 1; seq < 1000; seq++) files.acknowledged.keep(batch(seq), [settle(`r${seq}`.padEnd(2000), 1, 1)]);
  };
  expect(fill).toThrow('does not take the copy');
  expect(() => files.acknowledged.check()).toThrow('does not take the copy');
  const kept = files.acknowledged.marks()[0]?.seq ?? 0;
  expect(kept).toBeGreaterThan(0);
  files.acknowledged.markResent(batch(0));
  expect(() => files.acknowledged.check()).not.toThrow();
});

test('paid work stops while neither the books nor the outbox take what is owed', async () => {
  let gone = true;
  const outbox = { ...files.outbox, keep: (): number[] => raise(new Error('the disk is full')) };
  const results: string[] = [];
  const engine = new LedgerEngine({
    store: distant(() => (gone ? 'away' : 'done')),
    onBalance: () => undefined,
    onHealth: () => undefined,
    standby: { outbox, durable: true, mayAdmit: () => true, onRejected: () => undefined },
  });
  engine.submit(settle('r', 1, 1), () => results.push('r'));
  await expect.poll(() => engine.health().ok).toBe(false);
  expect(results).toEqual([]);
  gone = false;
  await expect.poll(() => results).toEqual(['r']);
  expect(engine.health()).toEqual({ ok: true });
});

test.each(['with room on the disk', 'with a full disk'])(
  'commands that the books have forgotten are sent again until they have them, grants as well, %s',
  async (disk) => {
    let gone = true;
    const full = { ...files.outbox, keep: (): number[] => raise(new Error('the disk is full')) };
    const engine = new LedgerEngine({
      store: distant(() => (gone ? 'away' : 'done')),
      onBalance: () => undefined,
      onHealth: () => undefined,
      standby: {
        outbox: disk === 'with a full disk' ? full : files.outbox,
        durable: false,
        mayAdmit: () => false,
        onRejected: () => undefined,
      },
    });
    const kept: boolean[] = [];
    const before = balanceOf(database.raw, 1);
    engine.submit(grant('new', 1, 1), () => undefined);
    engine.resend([grant(`old ${disk}`, 1, 100), settle(`r ${disk}`, 1, 10)], () => kept.push(true));
    await expect.poll(() => engine.health().ok).toBe(false);
    expect(kept).toEqual(disk === 'with a full disk' ? [] : [true]);
    gone = false;
    await expect.poll(() => balanceOf(database.raw, 1) - before).toBe(90);
    await engine.drain();
    expect([kept, files.outbox.size()]).toEqual([[true], 0]);
  },
);

test.each(['at once', 'later'])(
  'seeded troubles with books that answer %s: every end is written once, whatever failed',
  async (kind) => {
    for (let seed = 1; seed <= 5; seed++) {
      const random = randomOf(seed);
      const far = distant(() => (random() < 0.3 ? 'away' : random() < 0.3 ? 'unanswered' : 'done'));
      const store = createLedgerStore(database.raw);
      store.nextEpoch();
      const near: EngineStore = {
        ...store,
        apply(commands) {
          if (random() < 0.4) throw Object.assign(new Error('full'), { code: 'SQLITE_FULL' });
          return store.apply(commands);
        },
        isUncertain: () => false,
      };
      const { engine, submit } = engineOver(kind === 'later' ? far : near, seed % 2 === 0);
      const before = balanceOf(database.raw, -2);
      for (let n = 0; n < 60; n++) {
        submit(settle(`${kind}${seed}-${n}`, 1 + (n % 2), 1));
        if (n % 7 === 0) await Bun.sleep(2);
      }
      await expect.poll(() => balanceOf(database.raw, -2) - before).toBe(60);
      await engine.drain();
      await expect.poll(() => files.outbox.size()).toBe(0);
    }
  },
);

test('an outbox belongs to one process: another one gets an error that names the owner', () => {
  expect(() => openNodeFiles(dir, { now: () => now, print: () => undefined })).toThrow(
    expect.objectContaining({ code: 'outbox_locked', params: expect.objectContaining({ dir, pid: process.pid }) }),
  );
  files.close();
  openNodeFiles(dir, { now: () => now, print: () => undefined }).close();
});
