/** Brings the schema of a PostgreSQL database to this build's version, once, however many nodes start together. */
import { type Kysely, sql, type Transaction } from 'kysely';
import { AppError } from '../../server/contract/errors.ts';
import type { MigrationStep } from '../migrate.ts';
import { placeName } from '../place.ts';
import { postgresSchema } from '../schema/create.ts';
import { type Migration, postgresMigrations } from '../schema/migrations.ts';
import type { Schema } from '../schema/tables.ts';
import { prepareMonths } from './months.ts';
import type { PostgresDatabase } from './open.ts';

interface Applied {
  readonly name: string;
  readonly breaks: number;
}

/** An arbitrary advisory lock number, used for nothing else in this database. */
const lockNumber = 4_747_201_116;

interface SchemaState {
  readonly isOwn: boolean;
  /** A move into it has begun and not ended. */
  readonly isMoving: boolean;
  readonly tableCount: number;
}

async function schemaState(db: Kysely<Schema>): Promise<SchemaState> {
  const { rows } = await sql<SchemaState>`
    SELECT coalesce(bool_or(relname = 'gateway_migrations'), false) AS "isOwn",
      coalesce(bool_or(relname = 'move_cursor'), false) AS "isMoving", count(*) AS "tableCount"
    FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v')`.execute(db);
  return rows[0] ?? { isOwn: false, isMoving: false, tableCount: 0 };
}

const appliedIn = async (db: Kysely<Schema>): Promise<readonly Applied[]> =>
  (await sql<Applied>`SELECT name, breaks FROM gateway_migrations ORDER BY name`.execute(db)).rows;

/** @returns name of the newest migration, '' = none. */
export async function postgresSchemaOf({ query }: PostgresDatabase): Promise<string> {
  if (!(await schemaState(query)).isOwn) return '';
  return (await appliedIn(query)).at(-1)?.name ?? '';
}

/** A schema one version newer is accepted where it is marked compatible: nodes are replaced one after the other. */
function rejectNewer(applied: readonly Applied[], known: readonly string[]): void {
  const unknown = applied.filter(({ name }) => !known.includes(name));
  if (unknown.length === 0 || (unknown.length === 1 && unknown[0]?.breaks === 0)) return;
  throw new AppError('database_newer', { schema: applied.at(-1)?.name ?? '', newest: known.at(-1) ?? '' });
}

/** @param isMoving a process that fills it may have begun before. @param report called when a database exists already. @returns names applied. @throws AppError database_foreign, database_newer, move_unfinished. */
export async function migratePostgres(
  database: PostgresDatabase,
  migrations: readonly Migration[] = postgresMigrations,
  isMoving = false,
  report: (step: MigrationStep) => void = () => undefined,
): Promise<string[]> {
  const known = migrations.map(({ name }) => name);
  // Looking takes no lock: nearly every start finds nothing to do.
  const before = await schemaState(database.query);
  if (before.isMoving && !isMoving) throw new AppError('move_unfinished', { name: placeName(database.place) });
  if (before.isOwn) {
    const applied = await appliedIn(database.query);
    rejectNewer(applied, known);
    if (known.every((name) => applied.some((one) => one.name === name))) return [];
  }
  const applied = await database.query.transaction().execute(async (transaction) => {
    await sql`SELECT pg_advisory_xact_lock(${sql.lit(lockNumber)})`.execute(transaction);
    const found = await schemaState(transaction);
    if (!found.isOwn && found.tableCount > 0)
      throw new AppError('database_foreign', { name: placeName(database.place) });
    if (!found.isOwn)
      await sql`CREATE TABLE gateway_migrations (name text COLLATE "C" PRIMARY KEY, breaks bigint NOT NULL, at timestamptz NOT NULL DEFAULT now())`.execute(
        transaction,
      );
    if (found.isOwn) return applyMissing(transaction, migrations, known, report);
    for (const statement of postgresSchema()) await sql.raw(statement).execute(transaction);
    for (const migration of migrations) await note(migration, transaction);
    return known;
  });
  if (before.isOwn) report({ kind: 'done', to: known.at(-1) ?? '', copy: '' });
  await prepareMonths(database.query);
  return applied;
}

const note = ({ name, breaks = false }: Migration, transaction: Transaction<Schema>) =>
  sql`INSERT INTO gateway_migrations (name, breaks) VALUES (${name}, ${breaks ? 1 : 0})`.execute(transaction);

async function applyMissing(
  transaction: Transaction<Schema>,
  migrations: readonly Migration[],
  known: readonly string[],
  report: (step: MigrationStep) => void,
): Promise<string[]> {
  const applied = await appliedIn(transaction);
  rejectNewer(applied, known);
  const missing = migrations.filter(({ name }) => !applied.some((one) => one.name === name));
  for (const [index, migration] of missing.entries()) {
    report({ kind: 'apply', name: migration.name, at: index + 1, of: missing.length });
    for (const statement of migration.statements) await sql.raw(statement).execute(transaction);
    await note(migration, transaction);
  }
  return missing.map(({ name }) => name);
}
