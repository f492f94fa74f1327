/** Rejected requests: the id in the error leads to a log row. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Log } from '../../server/contract/entities.ts';
import { AppError } from '../../server/contract/errors.ts';
import { createRejectionLog } from '../../server/relay/delivery/rejection-log.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
beforeEach(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream((response) => sendJson(response, completion(10, 5)));
  await gateway.channel(upstream.url, { models: 'gpt-4o-mini,never-priced' });
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

const ask = (model = 'gpt-4o-mini') => ({ model, messages: [{ role: 'user', content: 'hi' }] });

/** As a user would who reads the error in a terminal and asks the operator about it. */
async function rowOf(response: Response): Promise<Log> {
  const { error } = (await response.json()) as { error: { message: string } };
  const [, id = ''] = /request id: (\w+)/.exec(error.message) ?? [];
  expect(id).not.toBe('');
  await gateway.logs();
  return (await gateway.call('log.get', { ref: id })) as Log;
}

const details = (row: Log) => JSON.parse(row.other) as Record<string, unknown>;

test.each<[string, (key: string) => Promise<Response>]>([
  ['model_not_found', (key) => gateway.chat(key, ask('unheard-of'))],
  ['model_price_unset', (key) => gateway.chat(key, ask('never-priced'))],
  ['body_not_json', (key) => gateway.chat(key, '{')],
])('%s leaves a row under the id of its error', async (code, send) => {
  const { key } = await gateway.token({ name: 'mine' });
  const response = await send(key);
  const { status } = response;
  const row = await rowOf(response);
  expect(row).toMatchObject({
    type: 5,
    quota: 0,
    channel: 0,
    username: 'tester',
    token_name: 'mine',
    end_reason: 'refused',
    prompt_tokens: 0,
  });
  expect(details(row)).toMatchObject({ refused: code, status, request_path: '/v1/chat/completions' });
  expect(row.content).toContain(row.request_id);
  expect(upstream.requests).toHaveLength(0);
});

test('a model the key may not use, a key without quota, a window that is full', async () => {
  const narrow = await gateway.token({ model_limits_enabled: true, model_limits: 'other' });
  const rejected = await rowOf(await gateway.chat(narrow.key, ask()));
  expect(rejected).toMatchObject({ model_name: 'gpt-4o-mini', end_reason: 'refused' });
  expect(details(rejected).refused).toBe('model_not_allowed');

  const empty = await gateway.token({ unlimited_quota: false, remain_quota: 0 });
  expect(details(await rowOf(await gateway.chat(empty.key, ask()))).refused).toBe('token_exhausted');

  const slow = await gateway.token({ rpm_limit: 1 });
  expect((await gateway.chat(slow.key, ask())).status).toBe(200);
  const limited = await rowOf(await gateway.chat(slow.key, ask()));
  expect(String(details(limited).refused)).toMatch(/^limit|rate/);
});

test('they are no usage: no statistics, no counters, no quota, and the books balance', async () => {
  const { key } = await gateway.token();
  const before = await gateway.balance();
  for (let n = 0; n < 5; n++) await gateway.chat(key, ask('unheard-of'));
  await gateway.logs();
  expect(await gateway.services.logs.stat({})).toMatchObject({ quota: 0, rpm: 0, tpm: 0 });
  expect(await gateway.database.query.selectFrom('usage_hours').selectAll().execute()).toEqual([]);
  expect(await gateway.balance()).toBe(before);
  expect(await gateway.verify()).toEqual([]);
  expect((await gateway.services.logs.verify({})).checked).toBe(0);
});

test('a stranger’s refusal keeps the address it came from, for operators alone', async () => {
  const row = await rowOf(await gateway.chat('nobody', ask()));
  expect(row).toMatchObject({ user_id: 0, username: '', token_id: 0 });
  expect(details(row)).toMatchObject({ refused: 'token_invalid', admin_info: { ip: '127.0.0.1' } });
  const page = await gateway.services.logs.page({}, 1, 10, false);
  expect(page.items.map(({ other }) => other).join()).not.toContain('127.0.0.1');
});

test('a request without a key for an unknown path leaves no row', async () => {
  const response = await gateway.relay.handle(new Request('http://gateway/v1/wp-login.php'), '/v1/wp-login.php', {
    ip: () => '127.0.0.1',
  });
  expect(response.status).toBe(404);
  expect(await gateway.logs()).toEqual([]);
});

/** A log on its own, in front of a ledger that keeps what it is given. */
function rejectionLog() {
  const rows: Record<string, unknown>[] = [];
  const state = { monoNow: 0, ok: true };
  const log = createRejectionLog({
    ledger: {
      healthy: () => (state.ok ? { ok: true } : { ok: false, reason: 'disk' }),
      execute: async (command) => {
        if (command.type === 'note') rows.push({ ...command.log, ...JSON.parse(command.log.other) });
        return { status: 'done' };
      },
    },
    authorize: {
      ownerOf: (request) => {
        const { searchParams } = new URL(request.url);
        const id = Number(searchParams.get('user'));
        const token = { id: Number(searchParams.get('token')), name: 't' };
        return (id === 0 ? null : { user: { id, username: `u${id}`, group: 'default' }, token }) as never;
      },
    },
    now: () => 0,
    monoNow: () => state.monoNow,
    noteLost: () => undefined,
  });
  interface Refusal {
    /** 0 = a stranger. */
    readonly user?: number;
    readonly token?: number;
    readonly address?: string;
    readonly model?: string;
    readonly path?: string;
  }
  const reject = ({ user = 1, token = 1, address = '', model = '', path = '/v1/chat/completions' }: Refusal) =>
    log.note({
      request: new Request(`http://gateway/?user=${user}&token=${token}`),
      path,
      peer: { ip: () => address },
      seen: { principal: null, parsed: null },
      error: new AppError(user === 0 ? 'token_invalid' : 'model_not_allowed', { model }),
      clientError: () => ({
        ...{ status: 403, type: '', code: 'model_not_allowed', requestId: 'r' },
        message: `${model} ${path} ${path} (request id: 20261129)`,
      }),
    });
  return { rows, state, reject };
}

test('refusals that say the same are counted: three rows, then one a minute that says how many it stands for', () => {
  const { rows, state, reject } = rejectionLog();
  for (let n = 0; n < 1000; n++) reject({});
  expect(rows).toHaveLength(3);
  reject({ model: 'other' });
  reject({ path: '/v1/other' });
  reject({ token: 2 });
  expect(rows).toHaveLength(6);
  expect(rows.every((row) => row.skipped === undefined)).toBe(true);
  state.monoNow = 60_000;
  reject({});
  expect(rows.at(-1)).toMatchObject({ userId: 1, skipped: 997 });
});

test('a user leaves as many rows with many keys as with one, and everybody together no more than one a second', () => {
  const { rows, state, reject } = rejectionLog();
  for (let n = 0; n < 1000; n++) reject({ token: n, model: `m${n}`, path: `/v1/${n}` });
  expect(rows).toHaveLength(20);
  state.monoNow = 5000;
  for (let n = 0; n < 10; n++) reject({ token: n, model: `n${n}` });
  expect(rows).toHaveLength(21);
  rows.length = 0;
  state.monoNow = 600_000;
  for (let user = 2; user < 10_000; user++) reject({ user });
  expect(rows).toHaveLength(200);
  state.monoNow += 10_000;
  for (let user = 2; user < 10_000; user++) reject({ user });
  expect(rows).toHaveLength(210);
  state.ok = false;
  state.monoNow += 60_000;
  reject({ user: 3 });
  expect(rows).toHaveLength(210);
});

test('an address without a known key leaves five rows at once, all of them together twenty', () => {
  const { rows, state, reject } = rejectionLog();
  for (let n = 0; n < 100; n++) reject({ user: 0, address: '192.0.2.1', path: `/v1/${n}` });
  expect(rows).toHaveLength(5);
  for (let n = 0; n < 100; n++) reject({ user: 0, address: `198.51.100.${n}` });
  expect(rows).toHaveLength(20);
  reject({ user: 1 });
  expect(rows).toHaveLength(21);
  state.monoNow = 60_000;
  for (let n = 0; n < 100; n++) reject({ user: 0, address: `198.51.100.${n}` });
  expect(rows).toHaveLength(33);
});

test('a row is small whatever the path and the names are, has the path once more than its message, and keeps the id', () => {
  const { rows, reject } = rejectionLog();
  reject({ path: `/v1/${'a'.repeat(14_000)}`, model: 'b'.repeat(14_000) });
  const [row] = rows;
  expect(String(row?.request_path)).toHaveLength(200);
  expect(String(row?.model)).toHaveLength(200);
  expect(row?.content).toContain('20261129');
  expect(JSON.stringify(row).length).toBeLessThan(2000);
});
