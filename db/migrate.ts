/** Brings the schema to this build's version; the migrations are part of the executable. */
import { AppError } from '../server/contract/errors.ts';
import { type CopyPlan, planCopy, writeMigrationBackup } from './database-file.ts';
import type { SqliteDatabase } from './open.ts';
import { sqliteSchema } from './schema/create.ts';
import { hasSchema, type Migration, newestSqlite, sqliteMigrations } from './schema/migrations.ts';

/** Looking writes nothing: every command would wait for a durable write. */
function appliedIn({ raw }: SqliteDatabase): string[] {
  const table = raw.prepare<string>("SELECT name FROM sqlite_master WHERE name = 'kysely_migration'").pluck().get();
  if (table === undefined) return [];
  return raw.prepare<string>('SELECT name FROM kysely_migration ORDER BY name').pluck().all();
}

const inMemory = ':memory:';

/** Progress of a migration, for the person who waits for it. */
export type MigrationStep =
  /** The database is copied aside first. */
  | ({ readonly kind: 'copy'; readonly from: string; readonly to: string } & CopyPlan)
  /** The `at`-th of `of`. */
  | { readonly kind: 'apply'; readonly name: string; readonly at: number; readonly of: number }
  /** `copy` is the way back, '' = there was nothing to copy. */
  | { readonly kind: 'done'; readonly to: string; readonly copy: string };

export interface MigrationWatch {
  /** Version of this build, for the copy. */
  readonly version?: string | undefined;
  readonly report?: ((step: MigrationStep) => void) | undefined;
}

/**
 * Applies what is missing, all of it or nothing; what was there before is copied aside first.
 * @returns the names applied. @throws AppError database_newer, backup_unwritable; the error of a statement.
 */
export async function migrate(database: SqliteDatabase, watch: MigrationWatch = {}): Promise<string[]> {
  const { version = '', report = () => undefined } = watch;
  const applied = appliedIn(database);
  const schema = applied.at(-1) ?? '';
  if (!applied.every(hasSchema)) throw new AppError('database_newer', { schema, newest: newestSqlite });
  const missing = sqliteMigrations.filter(({ name }) => !applied.includes(name));
  if (missing.length === 0) return [];
  const names = missing.map(({ name }) => name);
  if (applied.length === 0) {
    apply(database, sqliteSchema(), names);
    return names;
  }
  const plan = database.raw.name === inMemory ? null : planCopy(database, schema, newestSqlite);
  if (plan !== null) {
    report({ kind: 'copy', from: schema, to: newestSqlite, ...plan });
    await writeMigrationBackup(database, plan, { schema, version });
  }
  apply(database, steps(missing, report), names);
  report({ kind: 'done', to: newestSqlite, copy: plan?.file ?? '' });
  return names;
}

function* steps(missing: readonly Migration[], report: (step: MigrationStep) => void): Generator<string> {
  for (const [index, { name, statements }] of missing.entries()) {
    report({ kind: 'apply', name, at: index + 1, of: missing.length });
    yield* statements;
  }
}

/** In one transaction: a process that is killed in between leaves what there was. */
function apply({ raw }: SqliteDatabase, statements: Iterable<string>, names: readonly string[]): void {
  const work = raw.transaction(() => {
    // As Kysely's migrator made it in earlier builds.
    raw.exec(
      'CREATE TABLE IF NOT EXISTS kysely_migration (name varchar(255) NOT NULL PRIMARY KEY, timestamp varchar(255) NOT NULL)',
    );
    for (const statement of statements) raw.exec(statement);
    const note = raw.prepare('INSERT INTO kysely_migration (name, timestamp) VALUES (?, ?)');
    for (const name of names) note.run(name, new Date().toISOString());
  });
  work.immediate();
}
