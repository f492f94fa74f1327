/** What is said when PostgreSQL does not serve: a real server, and one that plays what a real one cannot here. */
import { createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { openDatabase } from '../../db/open.ts';
import { migratePostgres } from '../../db/postgres/migrate.ts';
import { openPostgres, type PostgresDatabase } from '../../db/postgres/open.ts';
import { postgresMigrations } from '../../db/schema/migrations.ts';
import { AppError } from '../../server/contract/errors.ts';
import { newDatabase, requested, testServer } from '../support/engines.ts';
import { makeOld } from '../support/old-schema.ts';

const errorOf = async (url: string): Promise<AppError> => {
  try {
    const database = await openDatabase({ engine: 'postgres', url });
    await database.close();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('it was opened');
};
const changed = (change: (url: URL) => void): string => {
  const url = new URL(testServer);
  change(url);
  return url.href;
};

test('the port is closed, and the password is not repeated', async () => {
  const error = await errorOf(
    changed((url) => {
      url.port = '1';
    }),
  );
  expect(error.code).toBe('database_unreachable');
  expect(error.message).toContain('127.0.0.1:1/postgres');
  expect(error.message).not.toContain('password');
  expect((await errorOf('postgres://no-such-host.invalid/x')).code).toBe('database_unreachable');
});

test('wrong password, no such user, no such database', async () => {
  const codes = await Promise.all([
    errorOf(
      changed((url) => {
        url.password = 'another';
      }),
    ),
    errorOf(
      changed((url) => {
        url.username = 'nobody';
      }),
    ),
    errorOf(
      changed((url) => {
        url.pathname = '/absent';
      }),
    ),
  ]);
  expect(codes.map(({ code }) => code)).toEqual(['database_password', 'database_password', 'database_absent']);
});

test('an address that is none', async () => {
  expect((await errorOf('postgres://')).code).toMatch(/^database_/);
  expect((await errorOf('postgres://[')).code).toBe('database_address');
});

test('TLS: wanted by the server, not trusted, trusted', async () => {
  await requested('CREATE DATABASE secured').catch(() => undefined);
  const at = (query: string) =>
    changed((url) => {
      url.pathname = '/secured';
      url.search = query;
    });
  expect((await errorOf(at(''))).code).toBe('database_tls_required');
  expect((await errorOf(at('sslmode=verify-full'))).code).toBe('database_tls');
  for (const query of ['sslmode=require', `sslmode=verify-full&sslrootcert=${process.env.GATEWAY_TEST_CERTIFICATE}`]) {
    const database = await openPostgres({ engine: 'postgres', url: at(query) });
    const { rows } = await database.pool.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
    expect(rows).toEqual([{ ssl: true }]);
    await database.close();
  }
});

test('a read-only standby suffices for reading', async () => {
  const { url, drop } = await newDatabase();
  await requested(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = on`);
  expect((await errorOf(url)).code).toBe('database_read_only');
  await (await openDatabase({ engine: 'postgres', url }, { readonly: true })).close();
  await drop();
});

test('a database in another encoding is refused', async () => {
  await requested("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
  const error = await errorOf(
    changed((url) => {
      url.pathname = '/latin';
    }),
  );
  expect([error.code, error.params.encoding]).toEqual(['database_encoding', 'LATIN1']);
  await requested('DROP DATABASE latin');
});

async function opened(migrated: boolean) {
  const { url, drop } = await newDatabase(migrated);
  const database = await openPostgres({ engine: 'postgres', url });
  return {
    database,
    async end() {
      await database.close();
      await drop();
    },
  };
}
const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    (value) => value,
    (error: unknown) => (error instanceof AppError ? error.code : String(error)),
  );

test('a database with foreign tables is refused and left as it is', async () => {
  const { database, end } = await opened(false);
  await database.pool.query('CREATE TABLE somebodys (id int)');
  expect(await codeOf(migratePostgres(database))).toBe('database_foreign');
  expect((await database.pool.query("SELECT to_regclass('users') AS users")).rows).toEqual([{ users: null }]);
  await end();
});

const put = (database: PostgresDatabase, name: string, breaks: number) =>
  database.pool.query('INSERT INTO gateway_migrations (name, breaks) VALUES ($1, $2)', [name, breaks]);

test('a schema newer by one version will do when it says so, another will not', async () => {
  const { database, end } = await opened(true);
  await put(database, '9998-expands', 0);
  expect(await codeOf(migratePostgres(database))).toEqual([]);
  await put(database, '9999-expands', 0);
  expect(await codeOf(migratePostgres(database))).toBe('database_newer');
  await database.pool.query("DELETE FROM gateway_migrations WHERE name LIKE '99%'");
  await put(database, '9998-contracts', 1);
  expect(await codeOf(migratePostgres(database))).toBe('database_newer');
  await end();
});

test('ten nodes that start together migrate once', async () => {
  const { url, drop } = await newDatabase(false);
  const nodes = await Promise.all(Array.from({ length: 10 }, () => openPostgres({ engine: 'postgres', url })));
  const applied = await Promise.all(nodes.map((node) => migratePostgres(node)));
  expect(applied.flat()).toEqual(postgresMigrations.map(({ name }) => name));
  await Promise.all(nodes.map((node) => node.close()));
  await drop();
});

test('an upgrade of a database says what it applies, a new one and one that is up to date say nothing', async () => {
  const { database, end } = await opened(false);
  const steps: string[] = [];
  const migrated = ({ database: one }: { database: PostgresDatabase }) =>
    migratePostgres(one, postgresMigrations, false, (step) =>
      steps.push(step.kind === 'apply' ? `${step.name} ${step.at}/${step.of}` : step.kind),
    );
  const fresh = await opened(false);
  await migrated(fresh);
  expect(steps).toEqual([]);
  await fresh.end();
  const names = postgresMigrations.map(({ name }) => name);
  await makeOld(database, names.at(-3) ?? '');
  await migrated({ database });
  expect(steps).toEqual([`${names.at(-2)} 1/2`, `${names.at(-1)} 2/2`, 'done']);
  await migrated({ database });
  expect(steps).toHaveLength(3);
  await end();
});

/** One that failed leaves nothing behind. */
test('a migration that fails half-way is undone', async () => {
  const { database, end } = await opened(false);
  await makeOld(database, '0001-initial');
  const failing = { name: '0009-fails', statements: ['CREATE TABLE half_way (id int)', 'SELECT 1 FROM half_way_gone'] };
  expect(await codeOf(migratePostgres(database, [...postgresMigrations, failing]))).toContain('half_way_gone');
  const found = await database.pool.query("SELECT to_regclass('half_way') AS one, to_regclass('memos') AS other");
  expect(found.rows).toEqual([{ one: null, other: null }]);
  await end();
});

/** Speaks as much of the protocol as a first question needs. @param error code and text instead of an answer at sign-in. */
async function playServer(version: string, error?: readonly [string, string]) {
  const message = (kind: string, body: Buffer) => {
    const head = Buffer.alloc(5);
    head.write(kind, 0, 'latin1');
    head.writeInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body]);
  };
  const number = (value: number, bytes: 2 | 4) => {
    const buffer = Buffer.alloc(bytes);
    buffer.writeIntBE(value, 0, bytes);
    return buffer;
  };
  const values = { version: '140009', words: '14.9', encoding: 'UTF8', standby: 'f', readonly: 'off' };
  const types = { version: 23, words: 25, encoding: 25, standby: 16, readonly: 25 };
  const ready = message('Z', Buffer.from('I'));
  const answer = () => {
    const entries = Object.entries({ ...values, words: version });
    const fields = entries.map(([name]) =>
      Buffer.concat([
        Buffer.from(`${name}\0`),
        number(0, 4),
        number(0, 2),
        number(types[name as keyof typeof types], 4),
        number(-1, 2),
        number(-1, 4),
        number(0, 2),
      ]),
    );
    const cells = entries.map(([, value]) => Buffer.concat([number(value.length, 4), Buffer.from(value)]));
    return Buffer.concat([
      message('T', Buffer.concat([number(entries.length, 2), ...fields])),
      message('D', Buffer.concat([number(entries.length, 2), ...cells])),
      message('C', Buffer.from('SELECT 1\0')),
      ready,
    ]);
  };
  const refusal = ([code, text]: readonly [string, string]) =>
    message('E', Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${text}\0\0`));
  const serve = (socket: Socket) => {
    let greeted = false;
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      if (greeted) return void (data[0] === 0x51 && socket.write(answer()));
      greeted = true;
      if (error !== undefined) return void socket.end(refusal(error));
      socket.write(Buffer.concat([message('R', number(0, 4)), ready]));
    });
  };
  const server = createServer(serve);
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { url: `postgres://me@127.0.0.1:${port}/site`, close: () => void server.close() };
}

test('a version too old, no connection left, a server that is starting', async () => {
  const old = await playServer('14.9');
  const error = await errorOf(old.url);
  expect([error.code, error.params.version]).toEqual(['database_old', '14.9']);
  old.close();
  for (const [code, text, meant] of [
    ['53300', 'sorry, too many clients already', 'database_full'],
    ['57P03', 'the database system is starting up', 'database_starting'],
  ] as const) {
    const played = await playServer('15', [code, text]);
    expect((await errorOf(played.url)).code).toBe(meant);
    played.close();
  }
});
