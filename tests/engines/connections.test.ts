/** Connections that are opened to a server: what they are called, what passes over them, what their failures mean, and who is heard over them. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createChangeStream } from '../../db/change-stream.ts';
import { errorFor, isConnectionLost } from '../../db/postgres/failures.ts';
import { openLine } from '../../db/postgres/line.ts';
import {
  createNotificationListener,
  type ListenerConnection,
  notifyOver,
  openListenerConnection,
} from '../../db/postgres/notifications.ts';
import { createPool, openPostgres, readAsLibpq } from '../../db/postgres/open.ts';
import { serverStatus } from '../../db/postgres/server-status.ts';
import { openWire } from '../../db/postgres/wire.ts';
import { createOptionsRepository } from '../../db/repositories/options.ts';
import { openSandboxOf } from '../../db/sandbox.ts';
import { AppError } from '../../server/contract/errors.ts';
import { sqlite } from '../support/engines.ts';
import { errorMessage, type LiteServer, serveLite } from '../support/pglite-server.ts';

let server: LiteServer;
let place: { readonly engine: 'postgres'; readonly url: string };
beforeAll(async () => {
  server = await serveLite();
  place = { engine: 'postgres', url: server.url };
});
afterAll(() => server.close());

/** Only what hangs takes so long. */
const long = { timeout: 60_000 };
const codeOf = (error: unknown): string => (error as { code?: string }).code ?? String(error);

test('a pool has names, numbers as numbers, and texts without what the server cannot keep', async () => {
  const database = await openPostgres(place, { connections: 1, name: 'ours' });
  expect(server.names.splice(0)).toEqual(['ours']);
  const asked = async (text: string, values?: unknown[]) =>
    (await database.pool.query(text, values)).rows[0] as unknown;
  expect(
    await asked('SELECT 7::bigint AS a, 1.5::numeric AS b, true AS c, $1::text AS d, $2::text[] AS e', [
      'x\0y',
      ['\0', 'z'],
    ]),
  ).toEqual({
    a: 7,
    b: 1.5,
    c: true,
    d: 'x\ufffdy',
    e: ['\ufffd', 'z'],
  });
  expect((await database.pool.query({ text: 'SELECT $1::text AS d', values: ['\0'] })).rows).toEqual([{ d: '\ufffd' }]);
  expect(await asked("SELECT current_setting('idle_in_transaction_session_timeout') AS t")).toEqual({ t: '1min' });
  expect(await database.query.selectFrom('users').select('id').where('id', 'in', []).execute()).toEqual([]);
  expect([database.engine, database.folder, database.place]).toEqual(['postgres', null, place]);
  await database.close();
  expect(database.pool.ended).toBe(true);
  const unnamed = createPool(server.url);
  await unnamed.query('SELECT 1');
  expect(server.names.splice(0)).toEqual(['gateway']);
  expect([unnamed.options.max, unnamed.options.connectionTimeoutMillis, unnamed.options.keepAlive]).toEqual([
    8,
    10_000,
    true,
  ]);
  await unnamed.end();
});

test('an address means what it means to libpq', () => {
  expect(readAsLibpq('postgres://h/db?sslmode=require')).toBe('postgres://h/db?sslmode=require&uselibpqcompat=true');
  expect(readAsLibpq('postgres://h/db?uselibpqcompat=false')).toBe('postgres://h/db?uselibpqcompat=false');
  expect(() => readAsLibpq('nonsense')).toThrow(AppError);
});

test.each([
  [errorMessage('28P01', 'password authentication failed'), 'database_password'],
  [errorMessage('3D000', 'database "x" does not exist'), 'database_absent'],
  [errorMessage('53300', 'too many clients'), 'database_full'],
  [errorMessage('57P03', 'the database system is starting up'), 'database_starting'],
  [errorMessage('28000', 'no pg_hba.conf entry, no encryption'), 'database_tls_required'],
])('a server that turns us away: %#', async (answer, code) => {
  server.refuse(answer);
  await expect(openPostgres(place)).rejects.toMatchObject({
    code,
    params: { name: expect.stringMatching(/^127\.0\.0\.1:\d+\/test$/) },
  });
  server.refuse(null);
  server.names.splice(0);
});

test.each([
  ['ECONNREFUSED', 'connect ECONNREFUSED', 'database_unreachable', true],
  ['ENOTFOUND', 'getaddrinfo', 'database_unreachable', true],
  ['ENOSPC', 'no space', 'database_unreachable', false],
  ['', 'Connection terminated unexpectedly', 'database_unreachable', true],
  ['', 'timeout expired', 'database_unreachable', true],
  ['08006', 'x', 'database_unreachable', true],
  ['53200', 'out of memory', 'database_full', true],
  ['53100', 'disk full', 'database_unreachable', true],
  ['57P01', 'terminating', 'database_starting', true],
  ['57P02', 'crash', 'database_starting', true],
  ['57014', 'canceling statement', 'database_unreachable', false],
  ['28000', 'x', 'database_password', false],
  ['', 'SASL: wrong', 'database_password', false],
  ['', 'The server does not support SSL connections', 'database_tls', false],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'x', 'database_tls', false],
  ['ERR_TLS_CERT_ALTNAME_INVALID', "Hostname/IP does not match certificate's altnames", 'database_tls', false],
  ['', 'server requires SSL', 'database_tls_required', false],
  ['', 'SSL off', 'database_tls_required', false],
  ['42P01', 'relation does not exist', 'database_unreachable', false],
])('%s %s means %s', (code, words, meaning, lost) => {
  const error = Object.assign(new Error(words), code === '' ? {} : { code });
  const found = errorFor(error, place);
  expect([found.code, found.params.detail, isConnectionLost(error)]).toEqual([meaning, words, lost]);
});

test('our own errors stay, and one without words has its code', () => {
  const own = new AppError('not_found', { what: 'x' });
  expect([errorFor(own, place), isConnectionLost(own), isConnectionLost(null), isConnectionLost('ECONNRESET')]).toEqual(
    [own, false, false, false],
  );
  expect(errorFor({ code: 'EPIPE' }, place).params.detail).toBe('EPIPE');
});

test('statements travel together on a line, and the first of their errors counts', async () => {
  const line = await openLine(place, { name: 'a line', isOwn: () => true });
  expect(server.names.splice(0)).toEqual(['a line']);
  const many = await line.send([
    { text: 'SELECT 1 AS one' },
    { text: 'SELECT $1::bigint AS two', values: [2] },
    { text: 'BEGIN' },
    { text: 'COMMIT' },
  ]);
  expect(many.map(({ rows, command }) => [command, rows])).toEqual([
    ['SELECT', [{ one: 1 }]],
    ['SELECT', [{ two: 2 }]],
    ['BEGIN', []],
    ['COMMIT', []],
  ]);
  const [prepared] = await line.send([{ text: 'SELECT name, statement FROM pg_prepared_statements ORDER BY name' }]);
  const kept = (prepared?.rows ?? []) as { name: string; statement: string }[];
  expect(kept.filter(({ name }) => name.startsWith('gateway_')).map(({ statement }) => statement)).toEqual(
    expect.arrayContaining(['SELECT 1 AS one', 'SELECT $1::bigint AS two']),
  );
  expect(kept.some(({ statement }) => /^(BEGIN|COMMIT)$/.test(statement))).toBe(false);
  const failing = line.send([{ text: 'BEGIN' }, { text: 'SELECT 1/0' }, { text: 'SELECT 1' }, { text: 'COMMIT' }]);
  expect(codeOf(await failing.catch((error: unknown) => error))).toBe('22012');
  expect(line.broken).toBe(false);
  expect([line.wasLocal(), line.wasLocal()]).toEqual([false, false]);
  server.noticeNext('canceling wait for synchronous replication due to user request');
  await line.send([{ text: 'BEGIN' }, { text: 'COMMIT' }]);
  expect([line.wasLocal(), line.wasLocal()]).toEqual([true, false]);
  server.noticeNext('something else');
  await line.send([{ text: 'BEGIN' }, { text: 'COMMIT' }]);
  expect(line.wasLocal()).toBe(false);
  server.cut();
  await expect(line.send([{ text: 'SELECT 1' }])).rejects.toThrow();
  expect(line.broken).toBe(true);
  line.close();
});

test('a line that is refused, and one that is not its own', async () => {
  server.refuse(errorMessage('53300', 'too many'));
  await expect(openLine(place)).rejects.toMatchObject({ code: '53300' });
  server.refuse(null);
  expect(server.names.splice(0)).toEqual(['gateway ledger']);
  const line = await openLine(place);
  await line.send([{ text: 'SELECT 3 AS three' }]);
  const [prepared] = await line.send([
    { text: "SELECT 1 FROM pg_prepared_statements WHERE statement = 'SELECT 3 AS three'" },
  ]);
  expect(prepared?.rows).toEqual([]);
  line.close();
  expect(line.broken).toBe(true);
  server.names.splice(0);
});

test('a wire hears what any node sends once, by the connection or, where that is deaf, from the table', async () => {
  const pool = createPool(server.url, { connections: 1 });
  const heard: string[] = [];
  const changes: boolean[] = [];
  const wire = openWire(place, {
    receive: (text) => void heard.push(text),
    notify: notifyOver(pool),
    changed: (is) => void changes.push(is),
    name: 'one',
  });
  await vi.waitUntil(wire.isListening, long);
  expect(server.names).toContain('gateway wire');
  wire.send('first');
  await vi.waitUntil(() => heard.length === 1, long);
  await pool.query("SELECT pg_notify('gateway_nodes', 'second'), pg_notify('gateway_nodes', 'second')");
  await vi.waitUntil(() => heard.length === 2, long);
  await pool.query("SELECT pg_notify('gateway_nodes', 'third')");
  await vi.waitUntil(() => heard.length === 3, long);
  expect(heard).toEqual(['first', 'second', 'third']);
  expect((await pool.query('SELECT text FROM node_messages')).rows).toEqual([{ text: 'first' }]);
  expect(changes).toEqual([]);
  // The connection is gone: another one is made, and what was heard before is not heard again.
  server.cut();
  await vi.waitUntil(() => !wire.isListening(), long);
  await vi.waitUntil(wire.isListening, long);
  wire.send('fourth');
  await vi.waitUntil(() => heard.length === 4, long);
  wire.close();
  wire.send('fifth');
  server.deafen(true);
  let checks = 0;
  const deaf = openWire(place, {
    receive: (text) => void heard.push(text),
    async notify(channel, text) {
      checks++;
      await notifyOver(pool)(channel, text);
    },
    changed: (is) => void changes.push(is),
    name: 'two',
  });
  // Twice it does not hear itself.
  await vi.waitUntil(() => changes.length > 0, long);
  expect([changes, checks]).toEqual([[false], 2]);
  await pool.query("INSERT INTO node_messages (text) VALUES ('from the table')");
  await vi.waitUntil(() => heard.includes('from the table'), long);
  expect(deaf.isListening()).toBe(false);
  expect(heard.filter((text) => text === 'fourth')).toHaveLength(1);
  deaf.close();
  server.deafen(false);
  await pool.end();
  server.names.splice(0);
});

test('a listener proves that it hears, says when it hears again, and does not give up', async () => {
  const pool = createPool(server.url, { connections: 1 });
  const heard: string[] = [];
  const waits: number[] = [];
  /** What is proved arrives within this time. */
  let patienceMs = 2000;
  let backs = 0;
  const lines: ListenerConnection[] = [];
  const listener = createNotificationListener({
    connect: async () => {
      const line = await openListenerConnection(place);
      lines.push(line);
      return line;
    },
    notify: notifyOver(pool),
    channels: ['news', 'more news'],
    receive: (channel, payload) => void heard.push(`${channel}: ${payload}`),
    back: () => void backs++,
    name: 'me',
    async wait(ms) {
      waits.push(ms);
      await Bun.sleep(ms === 2000 ? patienceMs : ms === 10_000 ? 30 : 1);
    },
  });
  await vi.waitUntil(listener.isListening, long);
  expect(server.names).toContain('gateway news');
  await pool.query("SELECT pg_notify('news', 'a'), pg_notify('more news', 'b'), pg_notify('other', 'c')");
  await vi.waitUntil(() => heard.length === 2, long);
  expect([...heard].sort()).toEqual(['more news: b', 'news: a']);
  // It proves it again and again, and is back once.
  await vi.waitUntil(() => waits.filter((ms) => ms === 10_000).length > 2, long);
  expect(backs).toBe(1);
  lines[0]?.close();
  await vi.waitUntil(() => backs === 2, long);
  expect(lines).toHaveLength(2);
  patienceMs = 20;
  server.deafen(true);
  await vi.waitUntil(() => !listener.isListening(), long);
  await vi.waitUntil(() => waits.includes(4000), long);
  // Twice as long each time.
  expect(waits.filter((ms) => ms !== 2000 && ms !== 10_000).join()).toContain('250,500,1000,4000');
  server.deafen(false);
  listener.close();
  expect((await serverStatus(await openPostgres(place, { connections: 1 }), Date.now())).isListening).toBe(true);
  await pool.end();
});

test('the feed of a server: from where one stands, in parts, without what was seen, and everything where that is not known', async () => {
  const { database } = server.migrated;
  const feed = createChangeStream(database);
  const options = createOptionsRepository(database);
  const change = (key: string) => options.change(new Map([[key, 'x']]), null, 1);
  expect(feed.position()).toBeNull();
  expect(await feed.after(0)).toEqual({ seq: 1, changes: null });
  const start = await feed.last();
  expect(start).toBe(2);
  expect(await feed.after(1)).toEqual({ seq: 2, changes: null });
  expect(await feed.after(start)).toBeNull();
  expect(feed.position()).toMatch(/^\d+$/);
  await change('one');
  await change('two');
  const news = await feed.after(start);
  expect([news?.seq, news?.changes?.map(({ entity_id }) => entity_id).sort()]).toEqual([3, ['one', 'two']]);
  // What was not acted upon is told again.
  expect(await feed.after(start)).toEqual(news);
  expect(await feed.after(3)).toBeNull();
  await feed.trim();
  await change('three');
  expect((await feed.after(3))?.changes?.map(({ entity_id }) => entity_id)).toEqual(['three']);
  expect(await feed.after(4)).toBeNull();
  // Others have forgotten what this one has not seen.
  await database.pool.query("UPDATE feed SET forgotten = '999999999'");
  expect(await feed.after(4)).toEqual({ seq: 5, changes: null });
  await database.pool.query('DELETE FROM feed');
  expect(await feed.after(4)).toEqual({ seq: 6, changes: null });
  await database.pool.query("INSERT INTO feed (forgotten) VALUES ('0')");
});

test.each(['SQLite', 'PostgreSQL'])('a sandbox is one transaction, whatever happens in it: %s', async (name) => {
  const database = name === 'SQLite' ? await sqlite.open() : server.migrated.database;
  const options = createOptionsRepository(database);
  const stored = async () => [...(await options.byKeys(['kept', 'inner', 'lost'])).keys()].sort();
  const first = await openSandboxOf(database);
  await createOptionsRepository(first).change(new Map([['lost', '1']]), null, 1);
  await first.close();
  expect(await stored()).toEqual([]);
  const second = await openSandboxOf(database);
  const inside = createOptionsRepository(second);
  await inside.change(new Map([['kept', '1']]), null, 1);
  await expect(
    second.query.transaction().execute(async (transaction) => {
      await transaction.insertInto('options').values({ key: 'inner', value: '', updated_at: 1 }).execute();
      throw new Error('within');
    }),
  ).rejects.toThrow('within');
  await second.query
    .transaction()
    .execute((transaction) => transaction.deleteFrom('options').where('key', '=', 'lost').execute());
  await second.commit();
  await second.close();
  expect(await stored()).toEqual(['kept']);
  if (name === 'SQLite') await database.close();
});
