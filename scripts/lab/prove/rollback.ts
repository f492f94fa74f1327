/**
 * An upgrade from an older build and the way back, with many rows: a site of the old executable is opened by the new
 * one, killed at five moments of the migration, opened again, then restored for the old executable. The same list of
 * checks has to hold each time. `bun scripts/lab/prove/rollback.ts --old OLD/dist/gateway --new dist/gateway [--rows 300000]`
 */
import { Database } from 'bun:sqlite';
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { TOTP } from 'otpauth';

const { values } = parseArgs({
  options: { old: { type: 'string' }, new: { type: 'string' }, rows: { type: 'string', default: '300000' } },
});
const oldProgram = resolve(values.old ?? '');
const newProgram = resolve(values.new ?? 'dist/gateway');
const rows = Number(values.rows);
for (const program of [oldProgram, newProgram]) if (!existsSync(program)) throw new Error(`${program} is missing`);

const root = mkdtempSync(join(tmpdir(), 'gateway-way-back-'));
const environment = (dir: string) => ({ TERM: 'dumb', LANG: 'C', HOME: root, GATEWAY_DATA_DIR: dir });
const password = 'password1';
const names = ['ann', 'bob', 'cid', 'dan', 'eve'];
const withSecondFactor = 'cid';
const disabled = 'eve';

interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(program: string, dir: string, args: readonly string[], input = ''): Promise<CommandResult> {
  const child = Bun.spawn([program, ...args], {
    ...{ cwd: root, env: environment(dir), stdin: new Blob([input]), stdout: 'pipe', stderr: 'pipe' },
  });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, out: out.trim(), err: err.trim() };
}

async function ok(program: string, dir: string, args: readonly string[], input = ''): Promise<string> {
  const result = await run(program, dir, args, input);
  if (result.code !== 0) throw new Error(`${args.join(' ')}: ${result.code} ${result.err}`);
  return result.out;
}

/** A process whose lines are read while it runs. */
class Process {
  readonly child: Bun.Subprocess<'ignore', 'pipe', 'pipe'>;
  readonly lines: string[] = [];
  readonly #heard: ((line: string) => void)[] = [];

  constructor(program: string, dir: string, args: readonly string[]) {
    this.child = Bun.spawn([program, ...args], {
      ...{ cwd: root, env: environment(dir), stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' },
    });
    for (const stream of [this.child.stdout, this.child.stderr]) void this.#read(stream);
  }

  async #read(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let rest = '';
    for await (const chunk of stream) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        this.lines.push(line);
        for (const received of this.#heard) received(line);
      }
    }
  }

  /** @returns the first line that fits. */
  line(matches: RegExp): Promise<string> {
    const known = this.lines.find((line) => matches.test(line));
    if (known !== undefined) return Promise.resolve(known);
    const { promise, resolve: found, reject } = Promise.withResolvers<string>();
    this.#heard.push((line) => matches.test(line) && found(line));
    void this.child.exited.then(() => reject(new Error(`ended without ${matches}: ${this.lines.join('\n')}`)));
    return promise;
  }

  async end(signal: NodeJS.Signals): Promise<number> {
    this.child.kill(signal);
    return this.child.exited;
  }
}

class Site {
  readonly #process: Process;
  readonly url: string;

  private constructor(process: Process, url: string) {
    this.#process = process;
    this.url = url;
  }

  static async open(program: string, dir: string): Promise<Site> {
    const process = new Process(program, dir, ['serve', '--port', '0']);
    const line = await process.line(/^URL: /);
    return new Site(process, line.replace('URL: ', ''));
  }

  async close(): Promise<void> {
    const code = await this.#process.end('SIGTERM');
    if (code !== 0) throw new Error(`serve ended with ${code}: ${this.#process.lines.join('\n')}`);
  }

  async send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const response = await fetch(this.url + path, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = (await response.json().catch(() => ({}))) as { success?: boolean; message?: string; data?: unknown };
    return { status: response.status, cookie: response.headers.get('set-cookie')?.split(';')[0] ?? '', ...answer };
  }

  async login(username: string) {
    const answer = await this.send('POST', '/api/user/login', { username, password });
    const { id = 0, ticket = '' } = (answer.data ?? {}) as { id?: number; ticket?: string };
    return { ...answer, ticket, headers: headersOf(answer.cookie, id) };
  }
}

const headersOf = (cookie: string, id: number): Record<string, string> => ({
  ...{ cookie, 'new-api-user': String(id), 'sec-fetch-site': 'same-origin' },
});

/** What was made, and how it is opened. */
interface Made {
  readonly keys: readonly string[];
  readonly secret: string;
  readonly sessions: readonly (readonly [name: string, headers: Record<string, string>])[];
  readonly codes: readonly string[];
}

async function make(dir: string, upstream: string): Promise<Made> {
  const old = (args: readonly string[], input = '') => ok(oldProgram, dir, args, input);
  await old(['setup', '--username', 'root', '--password-stdin'], `${password}\n`);
  await old(
    ['channel', 'add', '--type', 'practice', '--name', 'practice', '--base-url', upstream, '--key-stdin'],
    'sk-upstream\n',
  );
  await old(['option', 'set', 'SystemName=A site of before', 'ModelRatio={"practice-small":2}']);
  for (const name of names) {
    await old(['user', 'create', '--username', name, '--password-stdin'], `${password}\n`);
    await old(['user', 'quota', 'add', name, '2000000000', '--yes']);
  }
  const codes = (
    await old(['redemption', 'create', '--name', 'gift', '--count', '6', '--quota', '500000', '-q'])
  ).split('\n');
  const site = await Site.open(oldProgram, dir);
  const keys: string[] = [];
  const sessions: [string, Record<string, string>][] = [];
  let secret = '';
  for (const [at, name] of names.entries()) {
    const { headers } = await site.login(name);
    sessions.push([name, headers]);
    const made = await site.send(
      'POST',
      '/api/token/',
      { name: `key of ${name}`, unlimited_quota: true, expired_time: -1 },
      headers,
    );
    keys.push(String((made.data as { key?: string } | undefined)?.key ?? made.data));
    if (at < 3) await site.send('POST', '/api/user/topup', { key: codes[at] }, headers);
    if (name === withSecondFactor) {
      secret = ((await site.send('POST', '/api/user/2fa', {}, headers)).data as { secret: string }).secret;
      const enabled = await site.send('POST', '/api/user/2fa/enable', { code: codeOf(secret) }, headers);
      if (enabled.success !== true) throw new Error(`second factor: ${enabled.message}`);
    }
  }
  for (const key of keys)
    for (let n = 0; n < 5; n++) {
      const answer = await site.send(
        'POST',
        '/v1/chat/completions',
        { model: 'practice-small', messages: [{ role: 'user', content: 'hi' }] },
        { authorization: `Bearer ${key.replace(/^(sk-)?/, 'sk-')}` },
      );
      if (answer.status !== 200) throw new Error(`chat: ${answer.status} ${JSON.stringify(answer)}`);
    }
  await site.close();
  await old(['user', 'disable', disabled]);
  return { keys, secret, sessions, codes };
}

const codeOf = (secret: string): string => new TOTP({ secret }).generate();

/** Copies of one real charge of each user, with everything that the books say of it. */
function fill(dir: string): void {
  const database = new Database(join(dir, 'gateway.db'));
  const charges = database
    .query<Record<string, number | string>, []>(
      `SELECT min(p.id) AS posting, p.debit, p.credit, p.amount, l.id AS log, l.user_id, l.token_id, l.channel_id, l.model_name,
        l.prompt_tokens + l.completion_tokens AS tokens, l.created_at - l.created_at % 3600 AS hour
      FROM postings p JOIN logs l ON l.request_id = p.ref WHERE p.kind = 'settle' GROUP BY l.user_id`,
    )
    .all();
  const each = Math.floor(rows / charges.length);
  const columns = (table: string, without: readonly string[]) =>
    database
      .query<{ name: string }, []>(`SELECT name FROM pragma_table_info('${table}')`)
      .all()
      .map(({ name }) => name)
      .filter((name) => !without.includes(name))
      .join();
  const logColumns = columns('logs', ['id', 'request_id']);
  const postingColumns = columns('postings', ['id', 'ref']);
  database.exec('BEGIN');
  for (const charge of charges) {
    const numbers = `WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${each})`;
    const ref = `printf('20261101fill%d-%06d', ${charge.user_id}, n)`;
    database.exec(
      `${numbers} INSERT INTO postings (ref, ${postingColumns}) SELECT ${ref}, ${postingColumns} FROM numbers, postings WHERE id = ${charge.posting}`,
    );
    database.exec(
      `${numbers} INSERT INTO logs (request_id, ${logColumns}) SELECT ${ref}, ${logColumns} FROM numbers, logs WHERE id = ${charge.log}`,
    );
    const sum = each * Number(charge.amount);
    database.exec(`UPDATE accounts SET balance = balance - ${sum} WHERE id = ${charge.debit};
      UPDATE accounts SET balance = balance + ${sum} WHERE id = ${charge.credit};
      UPDATE accounts SET used_quota = used_quota + ${sum}, request_count = request_count + ${each} WHERE id = ${charge.user_id};
      UPDATE tokens SET used_quota = used_quota + ${sum} WHERE id = ${charge.token_id};
      UPDATE channels SET used_quota = used_quota + ${sum} WHERE id = ${charge.channel_id};
      UPDATE usage_hours SET count = count + ${each}, tokens = tokens + ${each * Number(charge.tokens)}, quota = quota + ${sum}
        WHERE hour_at = ${charge.hour} AND user_id = ${charge.user_id} AND model_name = '${charge.model_name}' AND channel_id = ${charge.channel_id}`);
  }
  database.exec('COMMIT');
  database.close();
}

/** Everything that has to be as it was. Nothing here changes the books. */
async function check(program: string, dir: string, made: Made): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  const site = await Site.open(program, dir);
  try {
    for (const [name, headers] of made.sessions) {
      const self = await site.send('GET', '/api/user/self', undefined, headers);
      const {
        username,
        quota,
        used_quota: used,
        request_count: count,
        group,
      } = (self.data ?? {}) as Record<string, unknown>;
      found[`session of ${name}`] = [self.success ?? false, username, quota, used, count, group];
    }
    for (const name of names.filter((one) => one !== withSecondFactor)) {
      const { success, message } = await site.login(name);
      found[`login of ${name}`] = success === true ? 'in' : message;
    }
    const half = await site.login(withSecondFactor);
    found['a password alone'] = half.ticket === '' ? 'opens the account' : 'asks for the second factor';
    found['second factor'] = await secondFactor(site, half.ticket, made.secret);
    for (const [at, key] of made.keys.entries()) {
      const { status } = await site.send('GET', '/v1/models', undefined, {
        authorization: `Bearer ${key.replace(/^(sk-)?/, 'sk-')}`,
      });
      found[`key of ${names[at]}`] = status;
    }
    const admin = (await site.login('root')).headers;
    const read = async (path: string) => (await site.send('GET', path, undefined, admin)).data;
    const users = ((await read('/api/user/?p=1&page_size=100')) as { items: Record<string, unknown>[] }).items;
    found.users = users
      .map(({ id, username, display_name: shown, role, status, quota, used_quota: used }) => [
        id,
        username,
        shown,
        role,
        status,
        quota,
        used,
      ])
      .sort((one, other) => Number(one[0]) - Number(other[0]));
    found.codes = ((await read('/api/redemption/?p=1&page_size=100')) as { items: Record<string, unknown>[] }).items
      .map(({ id, name, status, quota, used_user_id: user }) => [id, name, status, quota, user])
      .sort((one, other) => Number(one[0]) - Number(other[0]));
    found.sum = ((await read('/api/log/stat?type=2')) as { quota: number }).quota;
    found['the site’s name'] = ((await site.send('GET', '/api/status')).data as { system_name: string }).system_name;
    found.channels = JSON.parse(await ok(program, dir, ['channel', 'list', '--json'])).map(
      ({ id, name, status, used_quota: used }: Record<string, unknown>) => [id, name, status, used],
    );
  } finally {
    await site.close();
  }
  const verified = await run(program, dir, ['ledger', 'verify', '--json']);
  const reports = JSON.parse(verified.out) as { id: string; violations: number }[];
  found['ledger verify'] = [verified.code, reports.filter(({ violations }) => violations > 0).map(({ id }) => id)];
  return found;
}

/** A code opens once: after a check of a moment ago the next one is waited for. */
async function secondFactor(site: Site, ticket: string, secret: string): Promise<string> {
  for (let attempts = 1; ; attempts++) {
    const { success, message } = await site.send('POST', '/api/user/login/2fa', { ticket, code: codeOf(secret) });
    if (success === true) return 'in';
    if (attempts === 4) return message ?? '';
    await Bun.sleep(31_000 - (Date.now() % 30_000));
    ticket = (await site.login(withSecondFactor)).ticket;
  }
}

const failures: string[] = [];
function compare(what: string, before: Record<string, unknown>, after: Record<string, unknown>): void {
  const names = Object.keys({ ...before, ...after });
  const wrong = names.filter((name) => !isDeepStrictEqual(before[name], after[name]));
  console.log(
    `${wrong.length === 0 ? 'ok  ' : 'FAIL'} ${what}: ${names.length - wrong.length} of ${names.length} checks the same`,
  );
  for (const name of wrong)
    console.log(`     ${name}: ${JSON.stringify(before[name])} -> ${JSON.stringify(after[name])}`);
  if (wrong.length > 0) failures.push(what);
}

const schemaOf = (dir: string): string => {
  const database = new Database(join(dir, 'gateway.db'), { readonly: true });
  const schemas = database.query<{ name: string }, []>('SELECT name FROM kysely_migration ORDER BY name').all();
  database.close();
  return schemas.at(-1)?.name ?? '';
};

/** Kills the start at a line that it says, or while the copy has grown to a share of the database. */
async function killAt(dir: string, point: RegExp | number): Promise<string> {
  const size = statSync(join(dir, 'gateway.db')).size;
  const process = new Process(newProgram, dir, ['serve', '--port', '0']);
  if (typeof point === 'number') {
    await process.line(/is copied to/);
    const folder = join(dir, 'backups');
    const grown = () =>
      (existsSync(folder) ? readdirSync(folder) : [])
        .map((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0)
        .reduce((sum, bytes) => sum + bytes, 0);
    const copying = () => process.child.exitCode === null && !process.lines.some((line) => line.includes('applying'));
    while (copying() && grown() < point * size) await Bun.sleep(5);
  } else await process.line(point);
  await process.end('SIGKILL');
  return schemaOf(dir);
}

const killPoints: readonly (readonly [string, RegExp | number])[] = [
  ['while it is copied (a tenth)', 0.1],
  ['while the copy becomes a backup', 1.3],
  ['at the first migration', /applying .* \(1 of /],
  ['at the migration that looks through the books', /applying 0005/],
  ['at the end', /^.*the database is at /],
];

const upstream = new Process(newProgram, join(root, 'upstream'), ['mock-upstream', '--port', '0', '--chunks', '3']);
try {
  const upstreamUrl = await upstream.line(/^http/);
  const before = join(root, 'before');
  const made = await make(before, upstreamUrl);
  fill(before);
  const schema = schemaOf(before);
  const expected = await check(oldProgram, before, made);
  console.log(
    `a site of the old build at ${schema}: ${rows} charges, ${(statSync(join(before, 'gateway.db')).size / 1e6).toFixed(0)} MB`,
  );
  for (const [name, value] of Object.entries(expected)) console.log(`     ${name}: ${JSON.stringify(value)}`);
  for (const [what, point] of killPoints) {
    const dir = join(root, 'site');
    cpSync(before, dir, { recursive: true });
    const after = await killAt(dir, point);
    const started = performance.now();
    const first = await Site.open(newProgram, dir);
    const ready = ((performance.now() - started) / 1000).toFixed(1);
    await first.close();
    console.log(`killed ${what}: the schema was ${after}; ready again after ${ready} s`);
    compare(`${what}, then the new build`, expected, await check(newProgram, dir, made));
    const [copy] = JSON.parse(await ok(newProgram, dir, ['backup', 'list', '--json'])) as {
      file: string;
      schema: string;
    }[];
    if (copy?.schema !== schema) failures.push(`${what}: the copy is of ${copy?.schema}`);
    await ok(oldProgram, dir, ['backup', 'restore', copy?.file ?? '', '--yes']);
    compare(`${what}, then back with the old build’s restore`, expected, await check(oldProgram, dir, made));
    if (point === killPoints.at(-1)?.[1]) {
      compare('forward again', expected, await check(newProgram, dir, made));
      await ok(newProgram, dir, ['backup', 'restore', copy?.file.split('/').at(-1) ?? '', '--yes']);
      compare('back by name with the new build’s restore', expected, await check(oldProgram, dir, made));
    }
    rmSync(dir, { recursive: true });
  }
} finally {
  await upstream.end('SIGKILL');
  rmSync(root, { recursive: true, force: true });
}
console.log(failures.length === 0 ? 'all the same' : `not the same: ${failures.join('; ')}`);
process.exit(failures.length === 0 ? 0 : 1);
