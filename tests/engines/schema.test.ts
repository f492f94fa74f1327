/** One description of the tables: a database made from it equals one that was migrated from the first release's. */
import type { Database as RawDatabase } from 'better-sqlite3';
import { expect, test } from 'vitest';
import { newWrites, statementsFor } from '../../db/ledger/postgres/writes.ts';
import { createTotals } from '../../db/ledger/totals.ts';
import { migrate } from '../../db/migrate.ts';
import { movedTables } from '../../db/move/tables.ts';
import { openDatabase } from '../../db/open.ts';
import { migratePostgres } from '../../db/postgres/migrate.ts';
import { ensureMonths } from '../../db/postgres/months.ts';
import type { PostgresDatabase } from '../../db/postgres/open.ts';
import { createUsersRepository } from '../../db/repositories/users.ts';
import { newestPostgres, newestSqlite, postgresMigrations, sqliteMigrations } from '../../db/schema/migrations.ts';
import { eventLog } from '../../server/domain/logs/event.ts';
import { engines, onServer, postgres, rowsOf } from '../support/engines.ts';
import { expectGolden } from '../support/golden-file.ts';
import { applyAll, makeOld, openOld } from '../support/old-schema.ts';

/** Parts of a column list, each in one line: commas inside of parentheses and quotes do not part. */
function partsOf(list: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let part = '';
  for (const [chunk] of list.matchAll(/'[^']*'|[^']/g)) {
    if (chunk === '(') depth++;
    if (chunk === ')') depth--;
    if (chunk === ',' && depth === 0) {
      parts.push(part);
      part = '';
    } else part += chunk;
  }
  return [...parts, part].map((one) => one.replace(/--.*/g, '').replace(/\s+/g, ' ').trim()).sort();
}

/** Columns with their rules, whatever their order; the rest word for word. */
function sqliteFacts(
  raw: RawDatabase,
): (readonly [name: string, columns: string | readonly string[], more?: string])[] {
  const rows = raw
    .prepare<{ type: string; name: string; sql: string }>(
      "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'kysely_%' AND name NOT LIKE 'sqlite_%' ORDER BY type, name",
    )
    .all();
  return rows.map(({ type, name, sql }) => {
    if (type !== 'table') return [name, sql.replace(/\s+/g, ' ')];
    const [, list = '', how = ''] = /^[^(]+\(([\s\S]*)\)([^)]*)$/.exec(sql) ?? [];
    return [name, partsOf(list), how.trim()];
  });
}

const event = { type: 3, user: { id: 1, username: 'a', group_name: 'default' }, content: 'hello' };

const accounts = (raw: RawDatabase) =>
  raw.prepare('SELECT id, balance, overrun, paid_in FROM accounts ORDER BY id').all();

test('SQLite: a database migrated from the first release equals the described one', async () => {
  const described = openDatabase(':memory:');
  expect(await migrate(described)).toEqual(sqliteMigrations.map(({ name }) => name));
  const migrated = openOld(':memory:', '0001-initial');
  expect((await migrate(migrated)).at(-1)).toBe(newestSqlite);
  expect(sqliteFacts(migrated.raw)).toEqual(sqliteFacts(described.raw));
  expect(sqliteFacts(described.raw).length).toBeGreaterThan(60);
  expectGolden(
    'tests/engines/outlines/schema-sqlite.txt',
    sqliteFacts(described.raw).flatMap(([name, columns, ...rest]) =>
      typeof columns === 'string' ? [columns] : [`${name} ${rest.join(' ')}`, ...columns.map((one) => `  ${one}`)],
    ),
  );
  expect(accounts(migrated.raw)).toEqual(accounts(described.raw));
  await Promise.all([described.close(), migrated.close()]);
});

/** Made side by side and released together; newest first. Labels were there before channels of keys: both write the feed of keys. */
const labels = sqliteMigrations.filter(({ name }) => name === '0023-limits');
const together = sqliteMigrations
  .filter((one) => one.name > '0022' && one.name < '0029' && !labels.includes(one))
  .toReversed();

test('SQLite: a database to which migrations come in another order equals the described one', async () => {
  const described = openDatabase(':memory:');
  await migrate(described);
  for (const last of together) {
    const migrated = openOld(':memory:', '0021-audit-changes');
    migrated.raw.exec(`INSERT INTO budgets (id, holder, period, unit, amount, created_at, updated_at)
      VALUES (3, 'site', 'day', 'money', 7, 1, 1), (9, 'group', 'day', 'money', 8, 1, 1); DELETE FROM budgets WHERE id = 9`);
    applyAll(migrated, [...labels, ...together.filter((one) => one !== last)]);
    expect((await migrate(migrated))[0]).toBe(last.name);
    expect(sqliteFacts(migrated.raw), last.name).toEqual(sqliteFacts(described.raw));
    migrated.raw.exec(
      `INSERT INTO budgets (holder, period, unit, amount, created_at, updated_at) VALUES ('label', 'request', 'tokens', 1, 1, 1)`,
    );
    expect(migrated.raw.prepare('SELECT id, amount FROM budgets ORDER BY id').raw().all()).toEqual([
      [3, 7],
      [10, 1],
    ]);
    await migrated.close();
  }
  await described.close();
});

/** The months around today. */
const isOwnMonth = /\blogs_20(2[6-9]|[3-9])/;

const ours = 'relnamespace = current_schema()::regnamespace';
const postgresStats: readonly string[] = [
  `SELECT relname AS table, attname AS column, format_type(atttypid, atttypmod) AS type, attnotnull AS required, attidentity AS identity,
    attcollation::regcollation AS collation, pg_get_expr(adbin, adrelid) AS fallback, relpersistence AS persistence
    FROM pg_attribute JOIN pg_class c ON c.oid = attrelid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE ${ours} AND relkind IN ('r', 'p', 'v') AND attnum > 0 AND NOT attisdropped ORDER BY 1, 2`,
  `SELECT relname AS table, conname AS name, pg_get_constraintdef(k.oid) AS rule FROM pg_constraint k JOIN pg_class c ON c.oid = conrelid
    WHERE ${ours} AND contype <> 'n' ORDER BY 1, 2`,
  `SELECT indexname AS name, indexdef AS rule FROM pg_indexes WHERE schemaname = current_schema()
    AND indexname NOT IN (SELECT conname FROM pg_constraint) ORDER BY 1`,
  `SELECT tgname AS name, pg_get_triggerdef(t.oid) AS rule FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid WHERE ${ours} ORDER BY 1`,
  'SELECT proname AS name, prosrc AS rule FROM pg_proc WHERE pronamespace = current_schema()::regnamespace ORDER BY 1',
  `SELECT relname AS name, CASE relkind WHEN 'v' THEN pg_get_viewdef(oid) ELSE pg_get_partkeydef(oid) END AS rule,
    pg_get_expr(relpartbound, oid) AS part FROM pg_class WHERE ${ours} AND relkind IN ('r', 'p', 'v') ORDER BY 1`,
  'SELECT id, balance, overrun, paid_in FROM accounts ORDER BY id',
  'SELECT forgotten FROM feed',
];

const detailsOf = async ({ pool }: PostgresDatabase): Promise<unknown[]> => {
  const details: unknown[] = [];
  for (const question of postgresStats) details.push((await pool.query(question)).rows);
  return details;
};

interface PostgresColumn {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  readonly required: boolean;
  /** '' = it takes no number by itself. */
  readonly identity: string;
  readonly collation: string | null;
  readonly fallback: string | null;
  /** p = it outlives a crash of the server. */
  readonly persistence: string;
}

/** A column in words that both engines share: type, order of texts, whether it has to be there, what stands where nothing was written. */
const columnFact = ({ type, required, collation, fallback }: PostgresColumn): string =>
  [
    type === 'text' && collation === '"C"' ? 'text by bytes' : type,
    required ? 'required' : 'optional',
    fallback?.replace(/^'?(.*?)'?::\w+$/, '$1').replace(/^'(.*)'$/, '$1') ?? 'no default',
  ].join(', ');

/** By table and column, as `columnFact` words it. */
function sqliteColumns(raw: RawDatabase): ReadonlyMap<string, string> {
  const tables = raw
    .prepare<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all();
  return new Map(
    tables.flatMap(({ name: table }) =>
      raw
        .prepare<{ name: string; type: string; notnull: number; dflt_value: string | null; pk: number }>(
          `SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info('${table}')`,
        )
        .all()
        .map(({ name, type, notnull, dflt_value: fallback, pk }) => [
          `${table} ${name}`,
          [
            { INTEGER: 'bigint', TEXT: 'text by bytes', REAL: 'double precision', BLOB: 'bytea' }[type.toUpperCase()] ??
              type,
            notnull === 1 || pk > 0 ? 'required' : 'optional',
            fallback?.replace(/^'(.*)'$/, '$1') ?? 'no default',
          ].join(', '),
        ]),
    ),
  );
}

const emptied = async ({ pool }: PostgresDatabase): Promise<void> => {
  await pool.query('DROP SCHEMA public CASCADE');
  await pool.query('CREATE SCHEMA public');
};

test('a site that moves takes every table of its file with it, and nothing that nodes count for themselves', async () => {
  const database = openDatabase(':memory:');
  await migrate(database);
  const inFile = database.raw
    .prepare<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all();
  await database.close();
  const moved = movedTables.map(({ name }) => name);
  // Which changes others have read, and which migrations it has had, a place knows of itself.
  const own = ['changes', 'kysely_migration'];
  expect([...moved, ...own].sort()).toEqual(inFile.map(({ name }) => name).sort());
  expect(moved).not.toContain('leases');
  expect(movedTables.find(({ name }) => name === 'users')).toEqual({ name: 'users', key: ['id'], idColumn: 'id' });
});

test('PostgreSQL: a database migrated from the first release equals the described one', async () => {
  const database = (await postgres.open()) as PostgresDatabase;
  const described = await detailsOf(database);
  await emptied(database);
  await makeOld(database, '0001-initial');
  expect(await migratePostgres(database)).toEqual(postgresMigrations.slice(1).map(({ name }) => name));
  const migrated = await detailsOf(database);
  for (const [index, rows] of described.entries()) expect(migrated[index], postgresStats[index]).toEqual(rows);
  expect((described[0] as unknown[]).length).toBeGreaterThan(250);
  const file = openDatabase(':memory:');
  await migrate(file);
  const [columns, ...others] = described as [PostgresColumn[], ...object[][]];
  const inFile = sqliteColumns(file.raw);
  const own = columns.filter(
    (one) =>
      columnFact(one) !== inFile.get(`${one.table} ${one.column}`) || one.identity !== '' || one.persistence !== 'p',
  );
  const here = new Set(columns.map(({ table, column }) => `${table} ${column}`));
  await file.close();
  // Servers of other versions have other words for the same.
  const lines = [
    ...[...inFile.keys()].filter((name) => !here.has(name)).map((name) => `in SQLite alone: ${name}`),
    ...[own, ...others].flat().map((row) =>
      Object.values(row)
        .filter((one) => one !== null && one !== '')
        .join(' '),
    ),
  ];
  if (!onServer)
    expectGolden(
      'tests/engines/outlines/schema-postgres.txt',
      lines.filter((line) => !isOwnMonth.test(line)).map((line) => line.replace(/\s+/g, ' ')),
    );
  const names = await database.pool.query('SELECT name, breaks FROM gateway_migrations ORDER BY name');
  expect(names.rows.at(-1)).toEqual({ name: newestPostgres, breaks: 0 });
  expect(names.rows[0]).toEqual({ name: '0001-initial', breaks: 1 });
  await database.close();
});

test('PostgreSQL: a node of the version before goes on with what upstreams do not take, under the earlier name', async () => {
  const database = (await postgres.open()) as PostgresDatabase;
  const { pool } = database;
  await emptied(database);
  await makeOld(database, '0021-audit-changes');
  // As that version words them.
  const insert = `INSERT INTO channel_facts (channel_id, model, member, demand, source, users, first_at, last_at, expires_at)
    VALUES (3, 'm', $1, 'absent', 'learnt', '7', 1, 1, $2) ON CONFLICT DO NOTHING`;
  await pool.query(insert, ['chat:before', 0]);
  await migratePostgres(database);
  for (const [member, until] of [
    ['chat:a', 0],
    ['chat:b', 9],
    ['chat:c', 0],
  ])
    expect((await pool.query(insert, [member, until])).rowCount).toBe(1);
  expect((await pool.query(insert, ['chat:a', 5])).rowCount).toBe(0);
  const update = `UPDATE channel_facts SET users = '7,8', last_at = 4, count = count + 1
    WHERE channel_id = 3 AND model = 'm' AND member = 'chat:a' AND users = $1 AND source = 'learnt'`;
  expect((await pool.query(update, ['7'])).rowCount).toBe(1);
  expect((await pool.query(update, ['7'])).rowCount).toBe(0);
  expect((await pool.query("DELETE FROM channel_facts WHERE member = 'chat:c'")).rowCount).toBe(1);
  expect((await pool.query('DELETE FROM channel_facts WHERE expires_at > 0 AND expires_at <= 9')).rowCount).toBe(1);
  const left = 'SELECT member, users, count FROM TABLE ORDER BY member';
  for (const table of ['channel_unsupported', 'channel_facts'])
    expect((await pool.query(left.replace('TABLE', table))).rows).toEqual([
      { member: 'chat:a', users: '7,8', count: 1 },
      { member: 'chat:before', users: '7', count: 0 },
    ]);
  // Newer nodes hear of it.
  const heard = await pool.query("SELECT DISTINCT entity_id FROM changes WHERE entity = 'channel_unsupported'");
  expect(heard.rows).toEqual([{ entity_id: '3' }]);
  await database.close();
});

test('PostgreSQL: columns of a newer node keep their values while this build writes the same rows', async () => {
  const database = (await postgres.open()) as PostgresDatabase;
  const { pool } = database;
  await pool.query("ALTER TABLE users ADD COLUMN next_release text NOT NULL DEFAULT 'd'");
  await pool.query("ALTER TABLE logs ADD COLUMN next_release text NOT NULL DEFAULT 'd'");
  const users = createUsersRepository(database);
  await pool.query(
    "INSERT INTO users (id, username, password_hash, created_at, next_release) VALUES (1, 'a', '', 1, 'kept')",
  );
  await pool.query('INSERT INTO accounts (id) VALUES (1)');
  await users.setSetting(1, '{}');
  const at = Date.UTC(2024, 4, 5) / 1000;
  await pool.query(
    "INSERT INTO logs (request_id, created_at, type, user_id, next_release) VALUES ('r1', $1, 2, 1, 'kept')",
    [at],
  );
  await ensureMonths(database.query, at, at);
  for (const statement of statementsFor({ ...newWrites(), logs: [eventLog({ ...event, at })] }, createTotals(), 1))
    await pool.query(statement.text, statement.values as unknown[]);
  expect((await pool.query('SELECT setting, next_release FROM users')).rows).toEqual([
    { setting: '{}', next_release: 'kept' },
  ]);
  expect(
    (await pool.query('SELECT tableoid::regclass::text AS part, content, next_release FROM logs ORDER BY id')).rows,
  ).toEqual([
    { part: 'logs_2024_05', content: '', next_release: 'kept' },
    { part: 'logs_2024_05', content: 'hello', next_release: 'd' },
  ]);
  // A schema one version newer is served where it breaks nothing, and no other.
  const newer = (name: string, breaks: number) =>
    pool.query('INSERT INTO gateway_migrations (name, breaks) VALUES ($1, $2)', [name, breaks]);
  await newer('9998-next', 0);
  expect(await migratePostgres(database)).toEqual([]);
  await newer('9999-later', 0);
  const refusal = { code: 'database_newer', params: { schema: '9999-later', newest: newestPostgres } };
  await expect(migratePostgres(database)).rejects.toMatchObject(refusal);
  await pool.query("DELETE FROM gateway_migrations WHERE name = '9998-next'");
  expect(await migratePostgres(database)).toEqual([]);
  await pool.query('UPDATE gateway_migrations SET breaks = 1 WHERE name = $1', ['9999-later']);
  await expect(migratePostgres(database)).rejects.toMatchObject(refusal);
  await database.close();
});

const carried: readonly (readonly [who: string, options: Readonly<Record<string, string>>, expected?: string])[] = [
  ['who never chose', {}],
  ['who never lent balances, whatever the line', { OverrunLine: '7' }],
  ['who chose exact reservations', { HoldOvercommit: '1', OverrunLine: '7' }, '0'],
  ['who lent balances', { HoldOvercommit: '1.5' }, '500000'],
  ['who lent them up to a line', { HoldOvercommit: '4', OverrunLine: '7' }, '7'],
  ...['', '.', 'much', '2x', '1.5.5', '1e3', ' 2', '-2', 'NaN', '9'.repeat(400)].map(
    (text) => [`whose factor is "${text.slice(0, 9)}"`, { HoldOvercommit: text, OverrunLine: '7' }, '0'] as const,
  ),
  ...['', 'far', '7.5', '-7', '9'.repeat(16)].map(
    (text) => [`whose line is "${text.slice(0, 9)}"`, { HoldOvercommit: '2', OverrunLine: text }, '500000'] as const,
  ),
  ['whose numbers are long', { HoldOvercommit: '1.3333333333333333', OverrunLine: '9'.repeat(15) }, '9'.repeat(15)],
];

test.each(engines)('$name: the allowance takes the place of what the options said, numbers or not', async (engine) => {
  const database = await engine.open();
  const all = database.engine === 'postgres' ? postgresMigrations : sqliteMigrations;
  const statements = all.find(({ name }) => name === '0016-hold-allowance')?.statements ?? [];
  expect(statements.length).toBe(1);
  for (const [who, options, expected] of carried) {
    await rowsOf(database, 'DELETE FROM options');
    for (const [key, value] of Object.entries(options))
      await rowsOf(database, 'INSERT INTO options (key, value, updated_at) VALUES (?, ?, 5)', key, value);
    for (const statement of statements) await rowsOf(database, statement);
    const rows = await rowsOf<{ key: string; value: string }>(database, 'SELECT key, value FROM options');
    // Older builds and scripts still read the others.
    const found = expected === undefined ? options : { ...options, HoldAllowance: expected };
    expect(Object.fromEntries(rows.map(({ key, value }) => [key, value])), who).toEqual(found);
  }
  await database.close();
});
