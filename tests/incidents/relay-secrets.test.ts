/** Secrets that others told, and rules that held on one door and not on the next. */
import { afterAll, beforeAll, expect } from 'vitest';
import { contentOf } from '../support/engines.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';
import { incident } from './incident.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;
const secret = 'sk-upstream-secret-key';
const geminiSecret = 'AIzaSyPlantedGeminiKey0123456789';

beforeAll(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream((response) => sendJson(response, completion(10, 5)));
  key = (await gateway.token()).key;
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});

const body = (model: string) => ({ model, messages: [{ role: 'user', content: 'hi' }] });
const channelFor = (model: string, fields: object = {}) => gateway.channel(upstream.url, { models: model, ...fields });
const post = (path: string, headers: Record<string, string>, content: unknown) =>
  gateway.relay.handle(
    new Request(`http://gateway${path}`, {
      method: 'POST',
      headers,
      body: typeof content === 'string' ? content : JSON.stringify(content),
    }),
    path.split('?')[0] ?? path,
    { ip: () => '127.0.0.1' },
  );
const written = async () => JSON.stringify(await gateway.logs());

incident('litellm#6963', 'a Gemini key stood in the address, and so in every error about it', async () => {
  await gateway.channel('http://127.0.0.1:1', { type: 24, models: 'gemini-1.5-flash', key: geminiSecret });
  const text = await (await gateway.chat(key, body('gemini-1.5-flash'))).text();
  expect(text).not.toContain(geminiSecret);
  expect(await written()).not.toContain(geminiSecret);
});

incident('litellm#8075', 'an upstream that quoted its own address quoted the key in it', async () => {
  await channelFor('quoting');
  await gateway.option('ModelRatio', '{"quoting":1,"all-fail":1,"two-doors":1,"gpt-4o-mini":1}');
  upstream.script((response) =>
    sendJson(response, { error: { message: `bad request to http://10.0.0.1/v1?key=${secret}`, code: 'x' } }, 400),
  );
  const text = await (await gateway.chat(key, body('quoting'))).text();
  expect(text).toContain('bad request');
  expect(text).not.toMatch(/sk-upstream|10\.0\.0\.1/);
  expect(await written()).not.toContain(secret);
});

incident('litellm#18731', 'an expired key was said back in full', async () => {
  const expired = await gateway.token({ expired_time: 1 });
  const response = await gateway.chat(expired.key, body('gpt-4o-mini'));
  expect(response.status).toBe(401);
  expect(await response.text()).not.toContain(expired.key.slice(8, 40));
});

incident('litellm#39757', 'a wrong key’s refusal named the table and the key’s hash', async () => {
  const wrong = 'x'.repeat(48);
  const text = await (await gateway.chat(wrong, body('gpt-4o-mini'))).text();
  expect(text).not.toMatch(
    new RegExp(`tokens|key_hmac|table|select|sqlite|${gateway.vault.keyHmac(wrong).slice(0, 12)}`, 'i'),
  );
});

incident('litellm#5762', 'when all deployments failed the answer listed them with their keys', async () => {
  for (const name of ['planted-one', 'planted-two'])
    await channelFor('all-fail', { name, key: `sk-${name}-secret-key` });
  upstream.script((response) => sendJson(response, { error: { message: 'down' } }, 500));
  const text = await (await gateway.chat(key, body('all-fail'))).text();
  expect(text).not.toMatch(/planted|secret|127\.0\.0\.1/);
  expect(await written()).not.toMatch(/planted-(one|two)-secret/);
});

incident('sub2api#3839', 'keys of upstreams lay in the database as they were typed', async () => {
  await gateway.services.channels.create({
    type: 1,
    name: 'c',
    key: 'sk-planted-canary-0123456789',
    models: 'm',
    base_url: '',
  });
  const stored = await contentOf(gateway.database);
  expect(stored.includes('sk-planted-canary-0123456789')).toBe(false);
  expect(stored.includes(key)).toBe(false);
});

incident('CVE-2026-45339', 'a limit held for keys in Authorization and not for those in x-api-key', async () => {
  await channelFor('two-doors');
  upstream.script((response) => sendJson(response, completion(1, 1)));
  const limited = (await gateway.token({ rpm_limit: 1 })).key;
  const chat = body('two-doors');
  const first = await post('/v1/chat/completions', { authorization: `Bearer sk-${limited}` }, chat);
  expect(first.status).toBe(200);
  for (const headers of [
    { 'x-api-key': `sk-${limited}` },
    { 'x-goog-api-key': `sk-${limited}` },
    { 'api-key': `sk-${limited}` },
    { authorization: `Bearer sk-${limited}` },
  ] as Record<string, string>[])
    expect([headers, (await post('/v1/chat/completions', headers, chat)).status]).toEqual([headers, 429]);
  expect((await post(`/v1/chat/completions?key=sk-${limited}`, {}, chat)).status).toBe(429);
});

incident('CVE-2026-42208', 'a key in a header became part of an SQL statement before anybody was known', async () => {
  for (const payload of [
    "' OR 1=1--",
    "x' UNION SELECT key FROM tokens--",
    'sk-%',
    "'; DROP TABLE tokens;--",
    'sk-\\',
    '"',
  ]) {
    const response = await post('/v1/chat/completions', { authorization: `Bearer ${payload}` }, body('gpt-4o-mini'));
    expect([payload, response.status]).toEqual([payload, 401]);
    expect(await response.text()).not.toMatch(/sql|syntax|near "/i);
  }
  expect((await gateway.database.query.selectFrom('tokens').select('id').execute()).length).toBeGreaterThan(0);
});

incident('new-api: middleware/auth.go', 'who was banned went on with the rights of the day of the login', async () => {
  const id = await gateway.services.users.create({
    username: 'banned',
    password: 'password1',
    displayName: '',
    role: 1,
    quota: 1e6,
  });
  const { key: theirs } = await gateway.services.tokens.create(id, { name: 't', unlimited_quota: true });
  await gateway.sync();
  expect((await gateway.chat(theirs, body('two-doors'))).status).toBe(200);
  await gateway.call('user.manage', { id, action: 'disable' });
  await gateway.sync();
  expect((await gateway.chat(theirs, body('two-doors'))).status).toBe(403);
});

incident('new-api: middleware/recover.go', 'the text of a crash went to whoever had caused it', async () => {
  await channelFor('gpt-4o-mini');
  for (const answer of ['null', '[]', '{"choices":{}}', '{"choices":[null]}', '{"choices":[{"message":7}]}', '"x"']) {
    upstream.script((response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(answer);
    });
    const text = await (await gateway.chat(key, body('gpt-4o-mini'))).text();
    expect(text).not.toMatch(/TypeError|undefined is not|\.ts:|at \w+ \(/);
  }
});

incident('CVE-2026-30886', 'anybody could fetch another’s picture by the number of its task', async () => {
  const other = await gateway.services.users.create({
    username: 'painter',
    password: 'password1',
    displayName: '',
    role: 1,
    quota: 0,
  });
  await gateway.database.query
    .insertInto('drawing_tasks')
    .values({ id: 77, user_id: other, mj_id: 'theirs-77', action: 'IMAGINE' } as never)
    .execute();
  const path = '/mj/task/theirs-77/fetch';
  const request = new Request(`http://gateway${path}`, { headers: { authorization: `Bearer sk-${key}` } });
  const text = await (await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' })).text();
  expect(text).not.toContain('IMAGINE');
});

incident('sub2api#3839 (links)', 'a chat link carried the user’s own key to another site', async () => {
  await gateway.services.options.set('Chats', '[{"A":"https://chat.example/#/?key={key}&url={address}"}]', 100);
  const { url } = await gateway.services.chatLinks.open(gateway.userId, 0);
  expect(url).not.toContain(key);
  // What it carries is a key of its own, which its owner can see and take away.
  const carried = /[?&]key=(?:sk-)?([\w-]+)/.exec(url)?.[1] ?? '';
  const { items } = await gateway.services.tokens.list(gateway.userId, 0, 100);
  expect(items.map((token) => token.key)).toContain(carried);
});
