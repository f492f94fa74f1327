import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, freePort, type Sandbox, setUp } from './support.ts';

let sandbox: Sandbox;
let key: string;
let url: string;

beforeAll(async () => {
  sandbox = createSandbox();
  const upstream = await sandbox.start(['mock-upstream', '--port', String(freePort())]);
  key = await setUp(sandbox, upstream.line);
  const gateway = await sandbox.start(['serve', '--port', String(freePort())]);
  url = gateway.line.replace('URL: ', '');
});
afterAll(() => sandbox.close());

test('the official SDK chats through the executable and every unit is accounted for', async () => {
  const client = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 });
  const ask = { model: 'practice-small', messages: [{ role: 'user' as const, content: 'hello' }] };
  const whole = await client.chat.completions.create(ask);
  expect(whole.choices[0]?.message.content).toContain('practice');
  let streamed = '';
  for await (const chunk of await client.chat.completions.create({ ...ask, stream: true }))
    streamed += chunk.choices[0]?.delta.content ?? '';
  expect(streamed.trim()).toBe(whole.choices[0]?.message.content);
  expect((await client.models.list()).data.map((model) => model.id)).toEqual(['practice-large', 'practice-small']);

  const logs = JSON.parse((await sandbox.run(['logs', 'list', '--json'])).out) as {
    id: number;
    quota: number;
    prompt_tokens: number;
    completion_tokens: number;
    is_stream: boolean;
  }[];
  expect(logs).toHaveLength(2);
  expect(logs.map((log) => log.is_stream)).toEqual([true, false]);
  // group ratio x model ratio x (prompt + completion x completion ratio): 1 x 0.5 x (p + c x 3)
  // What the first left of a unit counts with the second.
  const exact = logs.reduce((sum, log) => sum + 0.5 * (log.prompt_tokens + log.completion_tokens * 3), 0);
  expect(logs.reduce((sum, log) => sum + log.quota, 0)).toBe(Math.floor(exact));
  expect(logs[1]).toMatchObject({
    prompt_tokens: whole.usage?.prompt_tokens,
    completion_tokens: whole.usage?.completion_tokens,
  });
  for (const log of logs) {
    const explained = await sandbox.run(['logs', 'explain', String(log.id), '--json']);
    expect(explained.code).toBe(0);
    expect(JSON.parse(explained.out).bill).toMatchObject({ quota: log.quota, matches: true });
  }
  const verified = await sandbox.run(['ledger', 'verify', '--json']);
  expect(verified.code).toBe(0);
  expect(JSON.parse(verified.out)).toHaveLength(13);
});

test('the channel is tested through the same pipeline and no user is charged', async () => {
  const before = JSON.parse((await sandbox.run(['token', 'list', '--json'])).out)[0].used_quota;
  const ran = await sandbox.run(['channel', 'test', 'practice', '--json']);
  expect(ran.code).toBe(0);
  expect(JSON.parse(ran.out)).toMatchObject([{ name: 'practice', success: true }]);
  expect(JSON.parse((await sandbox.run(['token', 'list', '--json'])).out)[0].used_quota).toBe(before);
});

test('a change made in the terminal holds for the next request within a second', async () => {
  const ask = () =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: '{"model":"practice-small","messages":[]}',
    });
  expect((await sandbox.run(['channel', 'disable', 'practice'])).code).toBe(0);
  await expect.poll(async () => (await ask()).status, { timeout: 1000 }).toBe(503);
  expect((await sandbox.run(['channel', 'enable', 'practice'])).code).toBe(0);
  await expect.poll(async () => (await ask()).status, { timeout: 1000 }).toBe(200);
});

test('the console is served with its policy, and unknown calls are answered in the caller’s shape', async () => {
  const page = await fetch(`${url}/token`);
  expect(await page.text()).toContain('<div id="root"');
  expect(page.headers.get('content-security-policy')).toContain("script-src 'self'");
  expect(await (await fetch(`${url}/v1/nothing`, { method: 'POST' })).json()).toMatchObject({
    error: { code: 'route_unknown' },
  });
  expect(await (await fetch(`${url}/api/nothing`)).json()).toMatchObject({ success: false, code: 'route_unknown' });
});

test('no secret is in any output or file', async () => {
  const outputs = await Promise.all(
    [
      ['channel', 'list', '--json'],
      ['channel', 'get', '1'],
      ['status'],
      ['option', 'list'],
      ['token', 'list', '--json'],
      ['logs', 'list', '--json'],
    ].map((args) => sandbox.run(args)),
  );
  const text = outputs.map((ran) => ran.out + ran.err).join('');
  expect(text).not.toContain('canary-upstream');
  expect(text).not.toContain(key);
  for (const name of ['gateway.db', 'gateway.db-wal']) {
    const bytes = Buffer.from(await Bun.file(`${sandbox.dataDir}/${name}`).arrayBuffer());
    expect(bytes.includes('canary-upstream')).toBe(false);
    expect(bytes.includes(key.slice(3))).toBe(false);
  }
});

test('two thousand streams are open at once and all of them end', async () => {
  const slow = await sandbox.start([
    'mock-upstream',
    '--port',
    String(freePort()),
    '--chunks',
    '120',
    '--tokens-per-second',
    '5',
  ]);
  await sandbox.run(
    [
      'channel',
      'add',
      '--type',
      'practice',
      '--name',
      'slow',
      '--models',
      'practice-slow',
      '--base-url',
      slow.line,
      '--key-stdin',
    ],
    'k',
  );
  await sandbox.run(['option', 'set', 'SelfUseModeEnabled=true']);
  await Bun.sleep(300);
  let open = 0;
  let max = 0;
  /** On a busy machine a burst of so many is shed in part; then they ask again, as clients do. */
  const openStream = async (): Promise<Response> => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: '{"model":"practice-slow","stream":true,"messages":[{"role":"user","content":"hi"}]}',
    });
    if (response.status !== 503) return response;
    await response.text();
    await Bun.sleep(Number(response.headers.get('retry-after')) * 1000);
    return openStream();
  };
  const ends = await Promise.all(
    Array.from({ length: 2000 }, async () => {
      const response = await openStream();
      open++;
      max = Math.max(max, open);
      const text = await response.text();
      open--;
      return text.endsWith('data: [DONE]\n\n');
    }),
  );
  expect(ends.filter(Boolean)).toHaveLength(2000);
  expect(max).toBeGreaterThan(1900);
});
