/** The rare condition of a rule that has several: a translated body, a session, a test's long stream, a suffix, an odd content type, a drawing's channel. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemTimers } from '../../server/contract/timers.ts';
import { providerBySlug } from '../../server/providers/catalogue.ts';
import { runChannelTest } from '../../server/relay/channel-test.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;
/** Added to the relay's clock. */
let leadMs: number;
beforeEach(async () => {
  leadMs = 0;
  gateway = await createTestGateway({
    limits: { idleMs: 60_000 },
    relay: { timers: { ...systemTimers, now: () => Date.now() + leadMs } },
  });
  upstream = await startUpstream((response) => sendJson(response, completion(1, 1)));
  key = (await gateway.token()).key;
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  gateway.relay.handle(
    new Request(`http://gateway${path}`, {
      method: 'POST',
      // The playground has a session.
      headers: {
        'content-type': 'application/json',
        ...(path.startsWith('/pg') ? {} : { authorization: `Bearer sk-${key}` }),
        ...headers,
      },
      body: JSON.stringify(body),
    }),
    path,
    { ip: () => '127.0.0.1' },
  );
const type = (slug: string) => providerBySlug(slug)?.type;
const ask = (model: string, more: object = {}) => ({ model, messages: [{ role: 'user', content: 'hi' }], ...more });
const sent = () => JSON.parse(upstream.requests.at(-1)?.body.toString() || '{}');
const events = (...bodies: object[]) => bodies.map((body) => `data: ${JSON.stringify(body)}\n\n`).join('');

test('the operator’s parameters win over the client’s, translated or not', async () => {
  const paid = { param_override: '{"temperature":0.1}', models: 'gpt-4o-mini' };
  const id = await gateway.channel(upstream.url, { ...paid, type: type('anthropic') });
  upstream.script((response) => sendJson(response, { content: [{ type: 'text', text: 'hi' }], usage: {} }));
  await (await post('/v1/chat/completions', ask('gpt-4o-mini', { temperature: 0.9 }))).text();
  expect(upstream.requests.at(-1)?.path).toBe('/v1/messages');
  expect(sent()).toMatchObject({ temperature: 0.1 });
  await gateway.services.channels.remove(id);
  await gateway.channel(upstream.url, paid);
  await (await post('/v1/chat/completions', ask('gpt-4o-mini', { temperature: 0.9 }))).text();
  expect(sent()).toMatchObject({ temperature: 0.1 });
});

test('an agent’s words about itself go along with a key, and not from the playground', async () => {
  await gateway.channel(upstream.url);
  const agent = { originator: 'codex', 'session-id': 's-1', 'user-agent': 'agent/1' };
  const own = { 'New-Api-User': String(gateway.userId) };
  await (await post('/v1/chat/completions', ask('gpt-4o-mini'), agent)).text();
  expect(upstream.requests.at(-1)?.headers).toMatchObject(agent);
  const played = await post('/pg/chat/completions', ask('gpt-4o-mini', { group: 'default' }), { ...agent, ...own });
  expect([played.status, await played.text()]).toEqual([200, expect.anything()]);
  expect(upstream.requests).toHaveLength(2);
  const { originator, 'session-id': session, 'user-agent': name } = upstream.requests.at(-1)?.headers ?? {};
  expect([originator, session, name]).toEqual([undefined, undefined, 'gateway']);
});

test('a channel test’s stream may outgrow what a request would hold, and holds nothing', async () => {
  const id = await gateway.channel(upstream.url, { models: 'gpt-4o-mini' });
  const words = 'word '.repeat(5000);
  upstream.script(async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let n = 0; n < 4; n++) {
      // What is owed is noted now and then.
      leadMs += 60_000;
      response.write(events({ choices: [{ index: 0, delta: { content: words } }] }));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    response.end(`${events({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}data: [DONE]\n\n`);
  });
  const order = { channelId: id, model: 'gpt-4o-mini', stream: true };
  const tested = await runChannelTest(gateway.relay, gateway.state, order, Date.now);
  expect(tested).toMatchObject({ ok: true, message: '' });
  expect((await gateway.logs())[0]).toMatchObject({ quota: 0, end_reason: 'completed' });
  expect(await gateway.verify()).toEqual([]);
});

test('a stream under another content type has the time for its first byte, and no more', async () => {
  await gateway.channel(upstream.url, { models: 'gpt-4o-mini', setting: '{"first_byte_seconds":0.05}', priority: 9 });
  const other = await startUpstream((response) => sendJson(response, completion(1, 1)));
  await gateway.channel(other.url, { models: 'gpt-4o-mini' });
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.flushHeaders();
  });
  const response = await post('/v1/chat/completions', ask('gpt-4o-mini', { stream: true }));
  expect(await response.text()).toContain('[DONE]');
  expect([upstream.requests.length, other.requests.length]).toEqual([1, 1]);
  await other.stop();
}, 5000);

test('a follow-up of a drawing goes to the channel that made it, whichever else there are', async () => {
  const drawing = { type: type('midjourney'), models: 'mj_imagine,mj_upscale' };
  await gateway.option('ModelPrice', '{"mj_imagine":0.1,"mj_upscale":0.05}');
  upstream.script((response) => sendJson(response, { code: 1, description: 'ok', result: 'mj-1' }));
  await gateway.channel(upstream.url, drawing);
  const asked = (path: string, body: object) => post(path, body, { 'mj-api-secret': `sk-${key}` });
  await (await asked('/mj/submit/imagine', { prompt: 'a cat' })).text();
  const other = await startUpstream((response) => sendJson(response, { code: 1, description: 'ok', result: 'mj-3' }));
  await gateway.channel(other.url, { ...drawing, priority: 100 });
  upstream.script((response) => sendJson(response, [{ id: 'mj-1', status: 'SUCCESS', progress: '100%' }]));
  await gateway.services.tasks.poll();
  upstream.script((response) => sendJson(response, { code: 1, result: 'mj-2' }));
  const change = { taskId: 'mj-1', action: 'UPSCALE', index: 2 };
  expect(await (await asked('/mj/submit/change', change)).json()).toMatchObject({ code: 1, result: 'mj-2' });
  expect(other.requests).toHaveLength(0);
  await other.stop();
});

test('a choice of another host goes where the channel allows it, or where nobody reads it', async () => {
  const asking = async () => {
    const response = await post('/v1/chat/completions', ask('gpt-4o-mini', { provider: { order: ['dear'] } }));
    const { error } = (await response.json()) as { error?: { code: string } };
    return { status: response.status, code: error?.code };
  };
  const id = await gateway.channel(upstream.url, { models: 'gpt-4o-mini' });
  expect(await asking()).toMatchObject({ code: 'member_not_allowed' });
  expect(upstream.requests).toHaveLength(0);
  await gateway.services.channels.update(id, { setting: '{"allow_tiers":true}' }, 'owner');
  await gateway.sync();
  expect((await asking()).status).toBe(200);
  expect(sent()).toMatchObject({ provider: { order: ['dear'] } });
  await gateway.services.channels.remove(id);
  await gateway.channel(upstream.url, { models: 'gpt-4o-mini', type: type('anthropic') });
  upstream.script((response) => sendJson(response, { content: [{ type: 'text', text: 'hi' }], usage: {} }));
  expect((await asking()).status).toBe(200);
  expect(sent()).not.toHaveProperty('provider');
});
