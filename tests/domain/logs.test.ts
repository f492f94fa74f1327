import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let api: ApiFixture;
let upstream: Upstream;
let admin: Headers;
const requests = 23;

beforeAll(async () => {
  api = await createApiFixture();
  admin = await api.login('tester', 'password1');
  upstream = await startUpstream((response) => sendJson(response, completion(1000, 500)));
  await api.gateway.channel(upstream.url, { models: 'gpt-4o-mini,gpt-4o' });
  const { key } = await api.gateway.token({ name: '=cmd()' });
  for (let n = 0; n < requests; n++)
    await (await api.gateway.chat(key, { model: n === 0 ? 'gpt-4o' : 'gpt-4o-mini', messages: [] })).text();
  await api.gateway.ledger.drain();
});
afterAll(async () => {
  await api.close();
  await upstream.stop();
});

const get = (path: string) => api.send('GET', path, undefined, admin).then((answer) => answer.body.data as never);

test('exports hold every row, as CSV without formulas and as JSON lines', async () => {
  const download = async (path: string) => {
    const response = await fetch(api.base + path, { headers: admin });
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(await response.arrayBuffer());
    return { text, headers: response.headers };
  };
  const csv = await download('/api/log/export?format=csv&type=2');
  const lines = csv.text.trimEnd().split('\r\n');
  expect(lines).toHaveLength(requests + 1);
  expect(lines[0]).toBe(
    '\uFEFFtime_utc,type,status,user,key,group,model,channel,channel_name,stream,duration_ms,input_tokens,output_tokens,usd,quota,usage_source,end_reason,content,request_id,id',
  );
  // Whole rows are for programs; people read none of this.
  expect(csv.text).not.toContain('admin_info');
  expect(lines[1]).toContain(`,'=cmd(),`);
  expect(csv.headers.get('content-disposition')).toBe('attachment; filename=logs.csv');
  const own = await download('/api/log/self/export?format=jsonl&model_name=gpt-4o');
  const rows = own.text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { other: string; channel: number });
  expect(rows).toHaveLength(1);
  expect(rows[0]?.channel).toBe(0);
  expect(rows[0]?.other).not.toContain('admin_info');
});

test('a walk in steps meets every row once', async () => {
  const seen: number[] = [];
  let after = '';
  do {
    const { items, next } = (await get(`/api/log/step?limit=5&type=2&after=${after}`)) as {
      items: { id: number }[];
      next: string;
    };
    seen.push(...items.map((item) => item.id));
    after = next;
  } while (after !== '');
  expect(new Set(seen).size).toBe(requests);
  expect(seen).toHaveLength(requests);
});

test('every charge is recomputed from its row; an altered one is found', async () => {
  expect(await get('/api/log/verify')).toEqual({ checked: requests, unequal: 0, wrong: [] });
  await api.gateway.rows("UPDATE logs SET quota = quota + 1 WHERE model_name = 'gpt-4o'");
  expect(await get('/api/log/verify')).toMatchObject({ unequal: 1, wrong: [{ quota: 3751, expected: 3750 }] });
  await api.gateway.rows("UPDATE logs SET quota = quota - 1 WHERE model_name = 'gpt-4o'");
});

test('what channels, models and users cost and brought in', async () => {
  await api.gateway.option('GroupRatio', '{"default":1}');
  await api.gateway.option('ChannelCostRatio', '{"1":0.5}');
  const total = 3750 + (requests - 1) * 225;
  expect(await get('/api/log/stat/by?by=channel')).toEqual([
    { name: '1', username: '', requests, tokens: requests * 1500, quota: total, cost: total / 2 },
  ]);
  expect(await get('/api/log/stat/by?by=model')).toMatchObject([
    { name: 'gpt-4o-mini', quota: 4950, cost: 2475 },
    { name: 'gpt-4o', quota: 3750, cost: 1875 },
  ]);
  await api.gateway.option('ChannelCostRatio', '{}');
  expect(await get('/api/log/stat/by?by=user')).toMatchObject([{ name: 'tester', quota: total, cost: null }]);
});

test('filters by name of user, token, model and group', async () => {
  const totals = async (query: string) => ((await get(`/api/log/?type=2&${query}`)) as { total: number }).total;
  expect(await totals('username=tester')).toBe(requests);
  expect(await totals('username=nobody')).toBe(0);
  expect(await totals(`token_name=${encodeURIComponent('=cmd()')}&group=default`)).toBe(requests);
  expect(await totals('model_name=gpt-4o&channel=1')).toBe(1);
});

test('clearing needs a time, deletes what is older in steps, and leaves the books alone', async () => {
  expect((await api.send('DELETE', '/api/log/', undefined, admin)).body).toMatchObject({ code: 'log_time_required' });
  await api.gateway.rows('UPDATE logs SET created_at = 100 WHERE id % 2 = 0');
  const many = Array.from({ length: 1200 }, () => '(50, 4, 1)');
  await api.gateway.rows(`INSERT INTO logs (created_at, type, user_id) VALUES ${many.join()}`);
  const removed = (await api.send('DELETE', '/api/log/?target_timestamp=101', undefined, admin)).body.data as number;
  expect(removed).toBeGreaterThanOrEqual(1200 + Math.floor(requests / 2));
  expect((await get('/api/log/?p=1')) as { total: number }).toMatchObject({ items: expect.anything() });
  expect(await api.gateway.verify()).toEqual([]);
});
