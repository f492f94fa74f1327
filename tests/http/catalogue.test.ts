/** The endpoint table against the running application: who gets which answer, and that nothing else answers. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Express } from 'express';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type * as z from 'zod/mini';
import type { Access, Endpoint } from '../../server/contract/endpoint.ts';
import { endpoints } from '../../server/contract/endpoints/index.ts';
import { createApp } from '../../server/http/app.ts';
import { signInPaths } from '../../server/http/path-kind.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { figure } from '../support/figure.ts';
import { inShare } from '../support/often.ts';

const rows = endpoints as readonly Endpoint[];
let api: ApiFixture;
beforeEach(async () => {
  // Nothing outside is asked.
  api = await createApiFixture({}, { fetch: (async () => Response.json({})) as unknown as typeof fetch });
});
afterEach(() => api.close());

interface Caller {
  readonly name: string;
  readonly headers: Headers;
  /** What the caller may reach. */
  readonly level: number;
  /** What is said to it where it may not be. */
  readonly refusal: readonly [number, string];
  /** Said before the place is looked at. */
  readonly always: boolean;
}

const levels: Readonly<Record<Access, number>> = { public: 0, user: 1, admin: 10, root: 100, local: 101 };
let made = 0;

const bearer = async (id: number, headers: Headers): Promise<Headers> => {
  const { data } = (await api.send('POST', '/api/user/token', {}, headers)).body;
  return { authorization: `Bearer ${data}`, 'new-api-user': String(id) };
};

/** Nine who call: each stands for a kind. */
async function callers(): Promise<readonly Caller[]> {
  const suffix = String(++made);
  const user = await api.addUser(`user${suffix}`, 1);
  const other = await api.addUser(`other${suffix}`, 1);
  const banned = await api.addUser(`banned${suffix}`, 1);
  const closed = await api.addUser(`closed${suffix}`, 10);
  const admin = await api.addUser(`admin${suffix}`, 10);
  const root = await api.addUser(`root${suffix}`, 100);
  const program = await api.addUser(`program${suffix}`, 1);
  const steward = await api.addUser(`steward${suffix}`, 10);
  const key = ((await api.send('POST', '/api/token/', { name: 'laptop' }, user.headers)).body.data as { key: string })
    .key;
  const programToken = await bearer(program.id, program.headers);
  const stewardToken = await bearer(steward.id, steward.headers);
  const bannedToken = await bearer(banned.id, banned.headers);
  const closedToken = await bearer(closed.id, closed.headers);
  const act = (id: number, action: string) => api.send('POST', '/api/user/manage', { id, action }, root.headers);
  await act(banned.id, 'disable');
  await act(closed.id, 'delete');
  const low = [200, 'role_too_low'] as const;
  const out = [401, 'login_required'] as const;
  const unknown = [401, 'access_token_invalid'] as const;
  const disabled = [200, 'user_disabled'] as const;
  const one = (name: string, headers: Headers, level: number, refusal: Caller['refusal'], always = false): Caller => ({
    name,
    headers,
    level,
    refusal,
    always,
  });
  return [
    one('anonymous', {}, 0, out),
    one('user', user.headers, 1, low),
    one('other user', other.headers, 1, low),
    one('disabled', banned.headers, 0, disabled, true),
    one('disabled by access token', bannedToken, 0, disabled, true),
    one('closed', closed.headers, 0, out),
    one('closed by access token', closedToken, 0, unknown, true),
    one('admin', admin.headers, 10, low),
    one('root', root.headers, 100, low),
    one('API token', { authorization: `Bearer ${key}` }, 0, unknown, true),
    one('access token', programToken, 1, low),
    one('administrator’s access token', stewardToken, 10, low),
  ];
}

/** Would change who the caller is before the other rows are tried. */
const changesCaller = /^(session\.logout|user\.close_self|user\.access_token|user\.update_self)/;

async function check(row: Endpoint, caller: Caller): Promise<string> {
  const reads = row.method === 'GET' || row.method === 'DELETE';
  const path = row.path.replace(/:type/, 'github').replace(/:\w+/, '999999');
  const response = await fetch(api.base + path, {
    method: row.method,
    redirect: 'manual',
    headers: { 'content-type': 'application/json', ...caller.headers },
    ...(reads ? {} : { body: '{}' }),
  });
  const text = await response.text();
  const isJson = (response.headers.get('content-type') ?? '').startsWith('application/json');
  const body = (isJson ? JSON.parse(text) : {}) as { success?: boolean; code?: string; data?: unknown };
  const place = `${row.id} as ${caller.name}`;
  expect([place, response.status < 500, body.code]).not.toEqual([place, true, 'internal']);
  expect([place, response.status]).not.toEqual([place, 500]);
  if (caller.level < levels[row.access]) {
    // Places of the data directory's owner tell nobody whether a login would help.
    const refusal = row.access === 'local' && !caller.always ? ([200, 'local_only'] as const) : caller.refusal;
    expect([place, response.status, body.success, body.code]).toEqual([place, refusal[0], false, refusal[1]]);
    return 'refused';
  }
  const rights = ['login_required', 'role_too_low', 'access_token_invalid', 'user_disabled', 'user_header_missing'];
  expect([place, rights.includes(body.code ?? '')]).toEqual([place, false]);
  const envelope = row.envelope ?? 'data';
  if (
    response.status === 200 &&
    (envelope === 'data' ? body.success === true : envelope === 'raw' && body.code === undefined)
  ) {
    const parsed = (row.output as z.ZodMiniType).safeParse(envelope === 'raw' ? body : body.data);
    expect([place, parsed.success ? '' : JSON.stringify(parsed.error.issues)]).toEqual([place, '']);
    return 'declared';
  }
  return 'failed';
}

/** The one who comes closest without being admitted, the lowest who is admitted, and a share of the others. */
function callersOf(row: Endpoint, everybody: readonly Caller[]): readonly Caller[] {
  const level = levels[row.access];
  const closest = everybody
    .filter((caller) => caller.level < level)
    .toSorted((one, other) => other.level - one.level)[0];
  const lowest = everybody
    .filter((caller) => caller.level >= level)
    .toSorted((one, other) => one.level - other.level)[0];
  return everybody.filter(
    (caller, index) => caller === closest || caller === lowest || inShare(rows.indexOf(row), index),
  );
}

test('every row of the table answers every kind of caller as it declares', async () => {
  const everybody = await callers();
  const seen: Record<string, number> = {};
  let asked = 0;
  const count = (outcome: string) => {
    seen[outcome] = (seen[outcome] ?? 0) + 1;
  };
  for (const row of rows.filter(({ id }) => !changesCaller.test(id)))
    for (const caller of callersOf(row, everybody)) {
      asked++;
      count(await check(row, caller));
    }
  for (const row of rows.filter(({ id }) => changesCaller.test(id))) {
    // Logins from one address are few.
    await api.close();
    api = await createApiFixture();
    for (const caller of await callers()) count(await check(row, caller));
  }
  figure(`${rows.length} endpoints x ${everybody.length} callers, ${asked} asked`);
  expect(asked).toBeGreaterThan((rows.length * everybody.length) / 3);
  expect(seen.declared ?? 0).toBeGreaterThan(rows.length / 3);
});

interface Mounted {
  readonly route?: { readonly path: string; readonly stack: readonly { readonly method: string }[] };
}

test('the application mounts the rows of the table and nothing else', () => {
  const app = createApp({
    services: api.gateway.services,
    listener: 'network',
    requestId: () => '',
    report: () => undefined,
  }) as Express;
  const mounted = (app.router.stack as readonly Mounted[]).flatMap(({ route }) =>
    route === undefined ? [] : [...new Set(route.stack.map(({ method }) => `${method.toUpperCase()} ${route.path}`))],
  );
  // Standards set the answers of these, so that they are no rows.
  const read = /^\/(\.well-known|protocol|oauth\/authorize)/;
  const signIn = [...signInPaths].map((path) => `${read.test(path) ? 'GET' : 'POST'} ${path}`);
  expect(mounted.sort()).toEqual([...rows.map(({ method, path }) => `${method} ${path}`), ...signIn].sort());
  expect(new Set(mounted).size).toBe(mounted.length);
});

test('routes are mounted in one place and where programs sign in, and the front door answers three paths of its own', () => {
  const root = resolve(import.meta.dirname, '../..');
  const files = [...new Bun.Glob('server/**/*.ts').scanSync({ cwd: root })];
  const mounting = files.filter((path) =>
    /\bapp(\.(get|post|put|delete|all|use)\(|\[method\]\()/.test(readFileSync(resolve(root, path), 'utf8')),
  );
  expect(mounting.sort()).toEqual(['server/http/app.ts', 'server/http/program-sign-in.ts']);
  const door = readFileSync(resolve(root, 'server/http/http-server.ts'), 'utf8');
  expect([...door.matchAll(/path === '([^']+)'/g)].map((match) => match[1]).sort()).toEqual([
    '/api/hello',
    '/v1/realtime',
    '/v1/responses',
  ]);
});

test('paths and methods that no row declares answer 404 and 405 to everybody', async () => {
  const root = (await api.addUser('root', 100)).headers;
  const declared = new Set(rows.map(({ method, path }) => `${method} ${path}`));
  const shapes = [...new Set(rows.map(({ path }) => path))];
  const undeclared = [
    '/api',
    '/api/',
    '/api/users',
    '/api/admin',
    '/api/user/1/token',
    '/api/debug',
    '/metrics',
    '/api/status/x/y',
  ];
  for (const path of undeclared)
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'])
      expect([method, path, (await api.send(method, path, method === 'GET' ? undefined : {}, root)).status]).toEqual([
        method,
        path,
        404,
      ]);
  let rejected = 0;
  for (const path of shapes) {
    for (const method of ['PUT', 'DELETE', 'POST', 'PATCH']) {
      const concrete = path.replace(/:\w+/, '999999');
      const taken = [...declared].some(
        (one) => one.startsWith(`${method} `) && matches(one.slice(method.length + 1), concrete),
      );
      if (taken) continue;
      const answer = await api.send(method, concrete, {}, root);
      expect([method, concrete, answer.status, answer.body.code]).toEqual([
        method,
        concrete,
        405,
        'method_not_allowed',
      ]);
      rejected += 1;
    }
  }
  expect(rejected).toBeGreaterThan(shapes.length);
});

const matches = (pattern: string, path: string): boolean =>
  new RegExp(`^${pattern.replace(/\/$/, '').replace(/:\w+/g, '[^/]+')}/?$`).test(path);
