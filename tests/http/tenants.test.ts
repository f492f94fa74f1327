import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Endpoint } from '../../server/contract/endpoint.ts';
import { endpoints } from '../../server/contract/endpoints/index.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { figure } from '../support/figure.ts';
import { inShare } from '../support/often.ts';

let api: ApiFixture;
let mine: Headers;
let theirs: Headers;
let tokenId: number;
let key: string;

const tables = [
  'tokens',
  'passkeys',
  'second_factors',
  'recovery_codes',
  'access_tokens',
  'saved_filters',
  'drawing_tasks',
  'tasks',
  'top_ups',
] as const;
const rowsOfAll = async () => {
  const dump: Record<string, unknown[]> = {};
  for (const table of tables) dump[table] = await api.gateway.database.query.selectFrom(table).selectAll().execute();
  return dump;
};

beforeEach(async () => {
  api = await createApiFixture();
  await api.addUser('root', 100);
  const me = await api.addUser('me', 1);
  mine = me.headers;
  theirs = (await api.addUser('other', 1)).headers;
  const made = await api.send('POST', '/api/token/', { name: 'my-laptop' }, mine);
  ({ id: tokenId, key } = made.body.data as { id: number; key: string });
  const { query } = api.gateway.database;
  await query
    .insertInto('passkeys')
    .values({
      id: tokenId,
      credential_id: 'c',
      user_id: me.id,
      name: 'my-phone',
      public_key: 'k',
      transports: '',
      counter: 0,
      created_at: 1,
      last_used_at: 0,
    })
    .execute();
  await query
    .insertInto('access_tokens')
    .values({
      id: tokenId,
      user_id: me.id,
      name: 'my-program',
      token_hash: 'h',
      hint: 'gat_…',
      scopes: 'read',
      created_at: 1,
      last_used_at: 0,
      expires_at: -1,
    })
    .execute();
  await query
    .insertInto('saved_filters')
    .values({ id: tokenId, user_id: me.id, place: 'logs', name: 'my-errors', query: 'type=5', created_at: 1 })
    .execute();
  await query
    .insertInto('drawing_tasks')
    .values({ id: tokenId, user_id: me.id, mj_id: 'my-drawing', action: 'IMAGINE' } as never)
    .execute();
  await query
    .insertInto('tasks')
    .values({
      id: tokenId,
      user_id: me.id,
      task_id: 'my-song',
      platform: 'suno',
      created_at: 1,
      updated_at: 1,
    } as never)
    .execute();
  await api.gateway.ledger.execute({
    type: 'settle',
    ref: 'my-request',
    userId: me.id,
    tokenId,
    channelId: 0,
    amount: 5,
    at: Math.floor(Date.now() / 1000),
    log: null,
    tokens: 1,
    model: 'my-model',
    username: 'me',
  });
});
afterEach(() => api.close());

/** What only I may ever see. */
const traces = () => [key, 'my-laptop', 'my-phone', 'my-program', 'my-errors', 'my-drawing', 'my-song', 'my-model'];
/** Closing the other account would end the attack. */
const ofUsers = (endpoints as readonly Endpoint[]).filter(
  ({ access, id }) => access === 'user' && id !== 'user.close_self',
);

test('no call of a user reads, changes, deletes, finds or exports what another has', async () => {
  const before = await rowsOfAll();
  const crossed: string[] = [];
  for (const [at, row] of ofUsers.entries()) {
    const path = row.path.replace(/:(\w+)/g, String(tokenId));
    const bodies = [
      {},
      { id: tokenId, ids: [tokenId], name: 'taken over', status: 2, status_only: true, keyword: 'my', token: key, key },
      {
        id: tokenId,
        token_name: 'my-laptop',
        mj_id: 'my-drawing',
        task_id: 'my-song',
        username: 'me',
        p: 0,
        page_size: 100,
        size: 100,
      },
    ];
    for (const body of bodies.filter((_, index) => inShare(at, index))) {
      const query =
        row.method === 'GET' || row.method === 'DELETE'
          ? `?${new URLSearchParams(Object.entries(body).map(([name, value]) => [name, String(value)]))}`
          : '';
      const answer = await fetch(`${api.base}${path}${query}`, {
        method: row.method,
        headers: { 'content-type': 'application/json', ...theirs },
        ...(query === '' ? { body: row.method === 'GET' ? null : JSON.stringify(body) } : {}),
      });
      const text = await answer.text();
      for (const trace of traces()) {
        // What the caller sent may be said back.
        if (text.includes(trace) && !JSON.stringify(body).includes(trace)) crossed.push(`${row.id}: ${trace}`);
      }
    }
  }
  expect((await api.send('GET', '/api/user/self', undefined, theirs)).body.success).toBe(true);
  expect(crossed).toEqual([]);
  const after = await rowsOfAll();
  for (const table of tables) {
    const kept = after[table]?.filter((row) =>
      before[table]?.some((one) => (one as { id?: number }).id === (row as { id?: number }).id),
    );
    expect([table, kept]).toEqual([table, before[table]]);
  }
});

test('the same calls show their owner everything: the test above can fail', async () => {
  const seen = new Set<string>();
  for (const path of [
    '/api/token/?p=0&size=10',
    '/api/passkey/',
    '/api/access_token/',
    '/api/filter/',
    '/api/mj/self?p=0',
    '/api/task/self?p=0',
    '/api/data/self',
  ]) {
    const text = JSON.stringify((await api.send('GET', path, undefined, mine)).body);
    for (const trace of traces()) if (text.includes(trace)) seen.add(trace);
  }
  expect([...seen].sort()).toEqual(traces().sort());
});

/** Personal facts of a peer and of the super administrator that no administrator may learn, and keys of theirs. */
interface Neighbour {
  readonly id: number;
  readonly headers: Headers;
  readonly traces: readonly string[];
}

async function neighbour(name: string, role: number): Promise<Neighbour> {
  const { id, headers } = await api.addUser(name, role);
  const made = await api.send('POST', '/api/token/', { name: `${name}-laptop` }, headers);
  const token = (await api.send('POST', '/api/user/token', {}, headers)).body.data as string;
  await api.gateway.database.query
    .updateTable('users')
    .set({
      email: `${name}@private.example`,
      github_id: `${name}-github`,
      oidc_id: `${name}-oidc`,
      wechat_id: `${name}-wechat`,
      telegram_id: `${name}-telegram`,
      linux_do_id: `${name}-linuxdo`,
      setting: JSON.stringify({ webhook_url: `https://${name}.hooks.example`, webhook_secret: `${name}-hook` }),
    })
    .where('id', '=', id)
    .execute();
  const { key: own } = made.body.data as { key: string };
  const words = ['@private.example', '-github', '-oidc', '-wechat', '-telegram', '-linuxdo', '.hooks.example', '-hook'];
  return { id, headers, traces: [own, token, ...words.map((word) => `${name}${word}`)] };
}

const ofAdmins = (endpoints as readonly Endpoint[]).filter(
  ({ access, id }) => (access === 'user' || access === 'admin') && id !== 'user.close_self',
);

test('an administrator reads, changes, deletes, finds and exports nothing personal of a peer or of the super administrator', async () => {
  const attacker = (await api.addUser('attacker', 10)).headers;
  const targets = [await neighbour('peer', 10), await neighbour('chief', 100)];
  await api.send('POST', '/api/channel/', { type: 1, name: 'up', key: 'k', models: 'm' }, attacker);
  const rows = async () =>
    api.gateway.database.query
      .selectFrom('users')
      .selectAll()
      .where(
        'id',
        'in',
        targets.map(({ id }) => id),
      )
      .execute();
  const tokens = () =>
    api.gateway.database.query
      .selectFrom('tokens')
      .selectAll()
      .where(
        'user_id',
        'in',
        targets.map(({ id }) => id),
      )
      .execute();
  const before = [await rows(), await tokens()];
  const crossed: string[] = [];
  let calls = 0;
  for (const [at, row] of ofAdmins.entries()) {
    for (const [beside, { id, traces }] of targets.entries()) {
      const name = id === targets[0]?.id ? 'peer' : 'chief';
      const bodies: object[] = [
        { id, ids: [id], action: 'disable', password: 'password9', add_quota: 5, role: 1, status: 2, name: 'x' },
        ...['enable', 'delete', 'promote', 'demote'].map((action) => ({ id, action })),
        { keyword: name, username: name, p: 1, page_size: 100, size: 100, after: '', format: 'csv' },
        // Found by what is private, it would be known.
        { keyword: `${name}@private`, p: 1, page_size: 100 },
        { keyword: `${name}-github`, p: 1, page_size: 100, format: 'jsonl' },
      ];
      for (const body of bodies.filter((_, index) => inShare(at + beside, index))) {
        const reads = row.method === 'GET' || row.method === 'DELETE';
        const query = reads
          ? `?${new URLSearchParams(Object.entries(body).map(([key, value]) => [key, String(value)]))}`
          : '';
        const path = row.path.replace(/:type/, 'github').replace(/:\w+/g, String(id));
        const answer = await fetch(`${api.base}${path}${query}`, {
          method: row.method,
          headers: { 'content-type': 'application/json', ...attacker },
          ...(reads ? {} : { body: JSON.stringify(body) }),
        });
        const text = await answer.text();
        calls += 1;
        const sent = JSON.stringify(body);
        for (const trace of traces)
          if (text.includes(trace) && !sent.includes(trace)) crossed.push(`${row.id}: ${trace}`);
        if (row.id === 'user.search' && sent.includes('private') && text.includes(`"id":${id},`))
          crossed.push(`${row.id}: found by ${sent}`);
      }
    }
  }
  expect(crossed).toEqual([]);
  // What they had is untouched; reading one's own account again shows that the attack itself was possible.
  expect([await rows(), await tokens()]).toEqual(before);
  expect((await api.send('GET', '/api/user/self', undefined, attacker)).body.success).toBe(true);
  for (const { id, headers } of targets)
    expect((await api.send('GET', '/api/user/self', undefined, headers)).body).toMatchObject({
      data: { id, status: 1 },
    });
  figure(`${ofAdmins.length} rows, ${calls} calls of an administrator against a peer and the super administrator`);
});

test('a higher role finds and reads the same facts: the test above can fail', async () => {
  const { id, traces } = await neighbour('peer', 10);
  const chief = (await api.addUser('chief', 100)).headers;
  for (const path of ['/api/user/search?keyword=peer@private', `/api/user/${id}`, '/api/user/?p=1&page_size=100']) {
    const text = JSON.stringify((await api.send('GET', path.replace('@', '%40'), undefined, chief)).body);
    expect(traces.filter((trace) => text.includes(trace)).length).toBeGreaterThanOrEqual(7);
  }
});
