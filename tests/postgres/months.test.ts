/** The log by months: rows are found wherever they lie, whole months go at once. */
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { ensureMonths, monthOf, prepareMonths } from '../../db/postgres/months.ts';
import { createLogsRepository } from '../../db/repositories/logs.ts';
import { createLogs } from '../../server/domain/logs/service.ts';
import { postgres } from '../support/engines.ts';

const at = (text: string): number => Date.parse(text) / 1000;
const row = (created_at: number, request_id: string) => ({
  request_id,
  created_at,
  type: 2,
  user_id: 1,
  username: '',
  token_id: 1,
  token_name: '',
  channel_id: 1,
  group_name: '',
  model_name: 'm',
  is_stream: 0,
  use_time: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  quota: 1,
  content: '',
  other: '',
  usage_source: '',
  end_reason: '',
});

async function opened() {
  const database = await postgres.open();
  const places = async (): Promise<Record<string, number>> => {
    const { rows } = await sql<{ place: string; n: number }>`
      SELECT tableoid::regclass::text AS place, count(*) AS n FROM logs GROUP BY 1 ORDER BY 1`.execute(database.query);
    return Object.fromEntries(rows.map(({ place, n }) => [place, n]));
  };
  return { database, places, logs: createLogsRepository(database) };
}

test('a month begins at midnight UTC on its first day', () => {
  expect(monthOf(at('2026-12-31T23:59:59Z'))).toEqual({
    table: 'logs_2026_12',
    from: at('2026-12-01T00:00:00Z'),
    to: at('2027-01-01T00:00:00Z'),
  });
});

test('rows that came before their month was there are brought into it', async () => {
  const { database, places, logs } = await opened();
  const times = ['2024-01-31T23:59:59Z', '2024-02-01T00:00:00Z', '2024-02-29T12:00:00Z', '2024-04-01T00:00:00Z'].map(
    at,
  );
  await database.query
    .insertInto('logs')
    .values(times.map((time, index) => row(time, `r${index}`)))
    .execute();
  expect(await places()).toEqual({ logs_rest: 4 });
  await Promise.all([1, 2, 3].map(() => ensureMonths(database.query, times[0] ?? 0, at('2024-03-05T00:00:00Z'))));
  expect(await places()).toEqual({ logs_2024_01: 1, logs_2024_02: 2, logs_rest: 1 });
  await database.query
    .insertInto('logs')
    .values(row(at('2024-03-01T00:00:00Z'), 'r9'))
    .execute();
  expect(await places()).toEqual({ logs_2024_01: 1, logs_2024_02: 2, logs_2024_03: 1, logs_rest: 1 });
  expect((await logs.find('r2'))?.created_at).toBe(times[2]);
  expect((await logs.list({ userId: 1 }, 0, 10)).map(({ request_id }) => request_id)).toEqual([
    'r3',
    'r9',
    'r2',
    'r1',
    'r0',
  ]);
  await database.close();
});

test('what is kept for so long goes by whole months, and the rest row by row', async () => {
  const { database, places, logs } = await opened();
  await ensureMonths(database.query, at('2024-01-01T00:00:00Z'), at('2024-03-01T00:00:00Z'));
  const times = ['2024-01-05T00:00:00Z', '2024-02-05T00:00:00Z', '2024-03-05T00:00:00Z', '2024-03-20T00:00:00Z'].map(
    at,
  );
  await database.query
    .insertInto('logs')
    .values(times.map((time, index) => row(time, `r${index}`)))
    .execute();
  const service = createLogs({ database, now: Date.now });
  expect(await service.prune(at('2024-03-10T00:00:00Z'))).toBe(3);
  expect(await places()).toEqual({ logs_2024_03: 1 });
  expect((await logs.list({}, 0, 10)).map(({ request_id }) => request_id)).toEqual(['r3']);
  await database.close();
});

test('the months to come are there, and making them again makes nothing', async () => {
  const { database } = await opened();
  const months = async () =>
    (
      await sql<{ n: number }>`SELECT count(*) AS n FROM pg_inherits WHERE inhparent = 'logs'::regclass`.execute(
        database.query,
      )
    ).rows;
  const before = await months();
  await prepareMonths(database.query);
  expect(await months()).toEqual(before);
  await database.query
    .insertInto('logs')
    .values(row(Math.floor(Date.now() / 1000) + 40 * 86_400, 'soon'))
    .execute();
  const { rows } = await sql<{ n: number }>`SELECT count(*) AS n FROM logs_rest`.execute(database.query);
  expect(rows).toEqual([{ n: 0 }]);
  await database.close();
});
