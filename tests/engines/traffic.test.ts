/** Traffic in the database: rolled up by hour and day, added by several nodes into one row, kept for as long as the operator says. */
import { afterEach, expect, test } from 'vitest';
import type { Database } from '../../db/open.ts';
import { createTrafficRepository } from '../../db/repositories/traffic.ts';
import { counterAt, type TrafficCounter, type TrafficWindow, trafficCounters } from '../../server/contract/traffic.ts';
import type { OptionsService } from '../../server/domain/options/service.ts';
import { TrafficRecorder } from '../../server/domain/traffic/recorder.ts';
import { engines, rowsOf, type TestEngine } from '../support/engines.ts';

const open: Database[] = [];
afterEach(async () => {
  for (const database of open.splice(0)) await database.close();
});
async function opened(engine: TestEngine): Promise<Database> {
  const database = await engine.open();
  open.push(database);
  return database;
}

const kept = { 'traffic_setting.minute_hours': 48, 'traffic_setting.hour_days': 35, 'traffic_setting.day_days': 400 };
const options = { get: (key: keyof typeof kept) => kept[key] } as unknown as OptionsService;
const keeperOn = (database: Database, node = '', now = () => Date.now()): TrafficRecorder =>
  new TrafficRecorder({ database, options, node, now });

const counts = (counters: Partial<Record<TrafficCounter, number>>): number[] => {
  const all = trafficCounters.map(() => 0);
  for (const [name, value] of Object.entries(counters)) all[counterAt(name as TrafficCounter)] = value ?? 0;
  return all;
};
const window = (at: number, more: Partial<TrafficWindow> = {}): TrafficWindow => ({
  at,
  routes: [[1, 'm', counts({ requests: 2, charge: 10, attempts: 3, latency_4: 2 })]],
  callers: [[5, 7, 'm', counts({ requests: 2, charge: 10, latency_4: 2 })]],
  streaks: [],
  saves: [],
  places: [],
  ...more,
});
const day = Date.UTC(2026, 9, 3) / 1000;

test.each(engines)('windows are added up by hour and day, each request once in each ($name)', async (engine) => {
  const database = await opened(engine);
  const keeper = keeperOn(database);
  // Two windows of one hour, one of the next, one of the next day.
  for (const at of [day + 300, day + 600, day + 3600, day + 86_400]) keeper.add([window(at)]);
  await keeper.flush();
  keeper.add([window(day + 600)]);
  await keeper.flush();
  const repository = createTrafficRepository(database);
  const sums = async (span: 300 | 3600 | 86_400) =>
    (await repository.totals({ span, kind: 'all', from: 0, to: day * 2 }, ['at'])).map((row) => [
      row.at - day,
      row.requests,
      row.charge,
      row.latency_4,
    ]);
  expect(await sums(300)).toEqual([
    [300, 2, 10, 2],
    [600, 4, 20, 4],
    [3600, 2, 10, 2],
    [86_400, 2, 10, 2],
  ]);
  expect(await sums(3600)).toEqual([
    [0, 6, 30, 6],
    [3600, 2, 10, 2],
    [86_400, 2, 10, 2],
  ]);
  expect(await sums(86_400)).toEqual([
    [0, 8, 40, 8],
    [86_400, 2, 10, 2],
  ]);
  // Each way to read them has the same sum.
  for (const kind of ['channel', 'model', 'route', 'token', 'use'] as const) {
    const [row] = await repository.totals({ span: 86_400, kind, from: 0, to: day * 2 }, []);
    expect([kind, row?.requests, row?.charge]).toEqual([kind, 10, 50]);
  }
});

test.each(engines)('several nodes that write at once add into the same rows ($name)', async (engine) => {
  const database = await opened(engine);
  const keepers = ['a', 'b', 'c'].map((node) => keeperOn(database, node));
  for (let round = 0; round < 5; round++) {
    for (const keeper of keepers) keeper.add([window(day), window(day + 300)]);
    await Promise.all(keepers.map((keeper) => keeper.flush()));
  }
  const [row] = await createTrafficRepository(database).totals(
    { span: 3600, kind: 'route', from: day, to: day + 1 },
    [],
  );
  expect([row?.requests, row?.charge, row?.attempts]).toEqual([60, 300, 90]);
  expect(await rowsOf(database, "SELECT count(*) AS n FROM traffic WHERE span = 3600 AND kind = 'route'")).toEqual([
    { n: 1 },
  ]);
});

test.each(engines)('a write whose end is unknown is repeated and counts once ($name)', async (engine) => {
  const database = await opened(engine);
  let broken = 2;
  const breaking = new Proxy(database, {
    get: (target, name) =>
      name !== 'query'
        ? Reflect.get(target, name)
        : new Proxy(target.query, {
            get: (query, method) =>
              method !== 'transaction'
                ? Reflect.get(query, method).bind(query)
                : () => ({
                    async execute(work: never) {
                      // First nothing arrives, then the answer is lost.
                      if (broken === 2 && broken-- > 0) throw new Error('connection lost');
                      const done = await query.transaction().execute(work);
                      if (broken === 1 && broken-- > 0) throw new Error('connection lost');
                      return done;
                    },
                  }),
          }),
  });
  const keeper = keeperOn(breaking);
  keeper.add([window(day)]);
  await expect(keeper.flush()).rejects.toThrow('connection lost');
  keeper.add([window(day)]);
  await expect(keeper.flush()).rejects.toThrow('connection lost');
  await keeper.flush();
  const [row] = await createTrafficRepository(database).totals({ span: 300, kind: 'all', from: day, to: day + 1 }, []);
  expect(row?.requests).toBe(4);
});

test.each(engines)('rows are kept for as long as the operator says, each span for itself ($name)', async (engine) => {
  const database = await opened(engine);
  const now = day + 500 * 86_400;
  const keeper = keeperOn(database, '', () => now * 1000);
  const ages = [0, 47 * 3600, 49 * 3600, 34 * 86_400, 36 * 86_400, 399 * 86_400, 402 * 86_400];
  for (const age of ages) keeper.add([window(now - age - ((now - age) % 300))]);
  await keeper.flush();
  await keeper.deleteOld();
  const left = async (span: number) =>
    (
      await rowsOf<{ at: number }>(
        database,
        "SELECT at FROM traffic WHERE kind = 'all' AND span = ? ORDER BY at DESC",
        span,
      )
    ).length;
  expect([await left(300), await left(3600), await left(86_400)]).toEqual([2, 4, 6]);
});

test.each(engines)('a streak of failures goes on over writes and ends with an answer ($name)', async (engine) => {
  const database = await opened(engine);
  const keeper = keeperOn(database);
  const repository = createTrafficRepository(database);
  const streak = (failures: number, since: number, succeeded = false, words = '401 no') => ({
    ...{ channelId: 1, succeeded, failures, since, words: failures === 0 ? '' : words },
    lastAt: failures === 0 ? 0 : since + failures,
  });
  const now = async (expected: ReturnType<typeof streak>) => {
    keeper.add([window(day, { streaks: [expected] })]);
    await keeper.flush();
    const [row] = await repository.windows(300, day, 1);
    return [row?.answered, row?.streak, row?.streak === 0 ? 0 : (row?.streak_at ?? 0) - day, row?.words];
  };
  expect(await now(streak(2, day + 10))).toEqual([0, 2, 10, '401 no']);
  expect(await now(streak(3, day + 20))).toEqual([0, 5, 10, '401 no']);
  expect(await now(streak(0, 0, true))).toEqual([1, 0, 0, '401 no']);
  expect(await now(streak(1, day + 40, false, '500 oh'))).toEqual([1, 1, 40, '500 oh']);
  expect(await now(streak(2, day + 50, true, '503 ah'))).toEqual([1, 2, 50, '503 ah']);
});
