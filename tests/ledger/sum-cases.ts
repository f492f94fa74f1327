/** Charged requests of every kind, and what sums over the log have to be equal to: the log itself. */
import { sql } from 'kysely';
import { expect } from 'vitest';
import { sumsFromKey } from '../../db/log-sums.ts';
import type { Database } from '../../db/open.ts';
import type { LogFilter } from '../../db/repositories/log-filter.ts';
import { createLogsRepository } from '../../db/repositories/logs.ts';
import type { Settle } from '../../server/billing/ledger/commands.ts';
import type { EndReason } from '../../server/contract/enum.ts';
import { type NameKind, nameKinds } from '../../server/contract/names.ts';
import { settle } from './support.ts';

export const firstDay = 20_000;
export const beginOfRows = firstDay * 86_400;
const days = 4;

/** Of users 1 and 2, some for the site itself, with names and without, within four days. */
export function variedSettlements(count: number, seed: number): Settle[] {
  let state = seed;
  const next = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
  const one = <Value>(...values: readonly Value[]): Value => values[next(values.length)] as Value;
  return Array.from({ length: count }, (_, index): Settle => {
    const command = settle(`v${seed}-${index}`, one(1, 2), next(50));
    const { log } = command;
    if (log === null) throw new Error('it has a row');
    const tokenId = one(0, 1, 2);
    const isOwn = tokenId === 0 && next(2) === 0;
    const other = {
      ...(JSON.parse(log.other) as object),
      ...{ group_ratio: one(0, 1, 2, 0.5), cache_tokens: next(30), text: '"group_ratio":7' },
    };
    const named = next(3) === 0 ? {} : Object.fromEntries(namesFrom(next));
    return {
      ...command,
      tokenId,
      log: {
        ...log,
        ...{
          tokenId,
          tokenName: one('a', 'b'),
          channelId: one(0, 1, 2),
          group: one('vip', 'a b', 'a'),
          model: one('m', 'b m', 'x'),
        },
        ...{ createdAt: beginOfRows + next(days * 86_400), completionTokens: next(9) },
        endReason: one<EndReason>('completed', 'completed', 'client_gone', 'upstream_broken'),
        other: isOwn ? JSON.stringify({ ...other, own: true }) : JSON.stringify(other),
        ...(Object.keys(named).length === 0 ? {} : { names: named }),
      },
    };
  });
}

function namesFrom(next: (below: number) => number): (readonly [NameKind, string])[] {
  return nameKinds.flatMap((kind): (readonly [NameKind, string])[] =>
    next(2) === 0 ? [] : [[kind, `${kind}-${next(3)}`]],
  );
}

/** @param from null = nothing is added up. */
export async function addedUpFrom({ query }: Database, from: number | null): Promise<void> {
  await query.deleteFrom('meta').where('key', '=', sumsFromKey).execute();
  if (from !== null)
    await query
      .insertInto('meta')
      .values({ key: sumsFromKey, value: String(from) })
      .execute();
}

const at = (day: number, seconds = 0): number => beginOfRows + day * 86_400 + seconds;
const ranges: readonly Pick<LogFilter, 'from' | 'to'>[] = [
  {},
  { from: at(0), to: at(4) - 1 },
  { from: at(0, 1), to: at(3, 86_399) },
  { from: at(1, 7000), to: at(1, 7100) },
  { from: at(1, 7000), to: at(1, 20_000) },
  { from: at(1, 7000), to: at(3, 5000) },
  { from: at(2, 3600) },
  { to: at(2, 3599) },
];
const filters: readonly LogFilter[] = [
  { userId: 1 },
  { username: 'u2' },
  { username: 'nobody' },
  { userId: 1, username: 'u2' },
  { tokenId: 0 },
  { tokenId: 1, tokenName: 'a' },
  { model: 'm', group: 'a b' },
  { model: '%m' },
  { channel: 2, userId: 2 },
  { channel: 0 },
  { statuses: ['client_left'] },
  { names: { agent: 'agent-1' } },
  { names: { agent: '' } },
  { channelName: 'c' },
  { type: 2 },
  { type: 5 },
];

/** All ranges without a filter, and each filter in two of them. */
const questions: readonly LogFilter[] = [
  ...ranges,
  ...filters.flatMap((filter, index) =>
    [1, 4].map((step) => ({ ...filter, ...ranges[(index + step) % ranges.length] })),
  ),
];

/** All groupings of each. */
export async function allSums(database: Database): Promise<Record<string, unknown>> {
  const logs = createLogsRepository(database);
  const found: Record<string, unknown> = {};
  const byText = (rows: readonly object[]): string[] => rows.map((row) => JSON.stringify(row)).sort();
  for (const which of questions) {
    const put = (name: string, value: unknown): void => {
      found[`${name} ${JSON.stringify(which)}`] = value;
    };
    put('all', await logs.stat(which));
    for (const by of ['channel', 'model', 'user'] as const) put(by, byText(await logs.totals(which, by)));
    for (const by of ['token', 'label', 'group', 'tag', 'hour', 'day'] as const)
      put(by, byText(await logs.groups(which, by, 1000)));
    for (const kind of nameKinds) put(kind, byText(await logs.namedGroups(which, kind, 1000)));
  }
  return found;
}

/** @param database has rows that were settled. */
export async function expectEqualSums(database: Database): Promise<void> {
  await addedUpFrom(database, null);
  const fromLog = await allSums(database);
  expect(Object.keys(fromLog).length).toBeGreaterThan(500);
  for (const from of [0, at(1, 3600), at(2)]) {
    await addedUpFrom(database, from);
    expect(await allSums(database)).toEqual(fromLog);
  }
  // What was cleared is still in them: it is they that answer.
  await sql`DELETE FROM logs`.execute(database.query);
  await addedUpFrom(database, 0);
  const whole = await allSums(database);
  for (const by of ['all', 'channel', 'model', 'user', 'token', 'label', 'group', 'tag', 'hour', 'day', ...nameKinds]) {
    const key = `${by} ${JSON.stringify(ranges[1])}`;
    expect(whole[key]).toEqual(fromLog[key]);
  }
}
