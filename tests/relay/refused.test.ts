/** Rejected requests: the id in the error leads to a log row. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Log } from '../../server/contract/entities.ts';
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

test('a stranger leaves where they called from, for operators alone', async () => {
  const row = await rowOf(await gateway.chat('nobody', ask()));
  expect(row).toMatchObject({ user_id: 0, username: '', token_id: 0 });
  expect(details(row)).toMatchObject({ refused: 'token_invalid', admin_info: { ip: '127.0.0.1' } });
  const page = await gateway.services.logs.page({}, 1, 10, false);
  expect(page.items.map(({ other }) => other).join()).not.toContain('127.0.0.1');
});

test('who has no key and asks for nothing we know leaves nothing', async () => {
  const response = await gateway.relay.handle(new Request('http://gateway/v1/wp-login.php'), '/v1/wp-login.php', {
    ip: () => '127.0.0.1',
  });
  expect(response.status).toBe(404);
  expect(await gateway.logs()).toEqual([]);
});

test('an attack leaves a sample, of each key and of all, and says how many it stands for', async () => {
  const rows: Record<string, unknown>[] = [];
  let monoNow = 0;
  let ok = true;
  const user = (id: number) => ({ user: { id, username: `u${id}`, group: 'default' }, token: { id, name: 't' } });
  const rejected = createRejectionLog({
    ledger: {
      healthy: () => (ok ? { ok: true } : { ok: false, reason: 'disk' }),
      execute: async (command) => {
        if (command.type === 'note') rows.push({ ...command.log, ...JSON.parse(command.log.other) });
        return { status: 'done' };
      },
    },
    authorize: { ownerOf: (request) => user(Number(new URL(request.url).searchParams.get('user'))) as never },
    now: () => 0,
    monoNow: () => monoNow,
    noteLost: () => undefined,
  });
  const reject = (id: number) =>
    rejected.note({
      request: new Request(`http://gateway/?user=${id}`),
      path: '/v1/chat/completions',
      peer: { ip: () => '' },
      seen: { principal: null, parsed: null },
      error: null,
      clientError: () => ({ status: 429, type: '', code: 'rate_limited', message: '', requestId: `r${id}` }),
    });
  for (let n = 0; n < 1000; n++) reject(1);
  expect(rows).toHaveLength(20);
  monoNow = 5000;
  reject(1);
  expect(rows.at(-1)).toMatchObject({ userId: 1, skipped: 980 });
  rows.length = 0;
  monoNow = 60_000;
  for (let id = 2; id < 10_000; id++) reject(id);
  expect(rows).toHaveLength(200);
  monoNow += 1000;
  for (let id = 2; id < 10_000; id++) reject(id);
  expect(rows).toHaveLength(210);
  ok = false;
  monoNow += 60_000;
  reject(3);
  expect(rows).toHaveLength(210);
});
