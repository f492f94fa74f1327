/** What upstreams keep is named by its owner alone, also after a restart; what this site knows nothing of goes on as the channel allows. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemTimers } from '../../server/contract/timers.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, sendStream, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let mine: string;
let theirs: string;
let channel: number;
/** Hours that the relay's memory believes to have passed. */
let hours: number;

const output = [
  { type: 'reasoning', id: 'rs_mine', summary: [] },
  { type: 'code_interpreter_call', id: 'ci_mine', container_id: 'cntr_mine' },
  { type: 'message', id: 'msg_mine', role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] },
];
const response = {
  id: 'resp_mine',
  object: 'response',
  status: 'completed',
  model: 'gpt-4o-mini',
  output,
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
};
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-6',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
  container: { id: 'container_mine' },
  usage: { input_tokens: 1, output_tokens: 1 },
};
const events = (list: readonly object[]): Buffer =>
  Buffer.from(
    list.map((event) => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`).join(''),
  );

beforeEach(async () => {
  hours = 0;
  gateway = await createTestGateway({
    relay: { timers: { ...systemTimers, monoNow: () => performance.now() + hours * 3_600_000 } },
  });
  upstream = await startUpstream((answer, { path }) =>
    sendJson(answer, path.endsWith('/messages') ? message : response),
  );
  channel = await gateway.channel(upstream.url, { type: 1 });
  await gateway.channel(upstream.url, { name: 'claude', type: 14, models: 'claude-sonnet-4-6' });
  mine = (await gateway.token()).key;
  const other = await gateway.services.users.create({
    username: 'other',
    password: 'password1',
    displayName: '',
    role: 1,
    quota: 1_000_000,
  });
  theirs = (await gateway.services.tokens.create(other, { name: 't', unlimited_quota: true })).key;
  await gateway.sync();
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

const ask = async (key: string, body: object, path = '/v1/responses') => {
  const answer = await gateway.relay.handle(
    new Request(`http://gateway${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-${key}` },
      body: JSON.stringify({ model: 'gpt-4o-mini', input: 'hi', ...body }),
    }),
    path,
    { ip: () => '127.0.0.1' },
  );
  await answer.text();
  return answer.status;
};
const set = async (setting: object) => {
  await gateway.services.channels.update(channel, { setting: JSON.stringify(setting) });
  await gateway.sync();
};
/** The process has nothing in its memory any more. */
const restarted = () => {
  hours += 24 * 31;
};
const stored = async (ids: readonly string[]) => {
  for (;;) {
    const found = await gateway.services.tasks.ownersOf(ids);
    if (found.length === ids.length) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};

const named: readonly (readonly [string, object])[] = [
  ['a response', { previous_response_id: 'resp_mine' }],
  ['an item', { input: [{ type: 'item_reference', id: 'msg_mine' }] }],
  ['an item without a type', { input: [{ id: 'msg_mine' }] }],
  ['a thought', { input: [{ type: 'reasoning', id: 'rs_mine', summary: [] }] }],
  ['a container', { tools: [{ type: 'code_interpreter', container: 'cntr_mine' }] }],
  ['a shell', { tools: [{ type: 'shell', environment: { type: 'container_reference', container_id: 'cntr_mine' } }] }],
  ['a shell in other letters', { tools: [{ type: 'shell', Environment: { Container_ID: 'cntr_mine' } }] }],
];
const all = ['resp_mine', 'msg_mine', 'rs_mine', 'cntr_mine'];

describe.each([false, true])('what an answer made (streamed: %s)', (stream) => {
  beforeEach(async () => {
    if (stream)
      upstream.script((answer) =>
        sendStream(answer, [
          events([
            { type: 'response.created', response: { ...response, output: [] } },
            { type: 'response.completed', response },
          ]),
        ]),
      );
    expect(await ask(mine, { stream })).toBe(200);
    await stored(all);
  });

  test.each(named)('%s is its owner’s, also after a restart', async (_name, body) => {
    for (const step of [() => undefined, restarted]) {
      step();
      const before = upstream.requests.length;
      expect(await ask(theirs, body)).toBe(400);
      expect(upstream.requests).toHaveLength(before);
      expect(await ask(mine, body)).toBe(200);
    }
  });
});

test('a container that a stream of messages names is its owner’s, also after a restart', async () => {
  upstream.script((answer) =>
    sendStream(answer, [
      events([
        { type: 'message_start', message: { ...message, content: [], stop_reason: null, container: null } },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'hi' } },
        { type: 'content_block_stop', index: 0 },
        {
          type: 'message_delta',
          delta: { stop_reason: 'end_turn', container: { id: 'container_mine' } },
          usage: { output_tokens: 1 },
        },
        { type: 'message_stop' },
      ]),
    ]),
  );
  const body = { model: 'claude-sonnet-4-6', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] };
  expect(await ask(mine, { ...body, stream: true }, '/v1/messages')).toBe(200);
  await stored(['container_mine']);
  restarted();
  upstream.script((answer) => sendJson(answer, message));
  expect(await ask(theirs, { ...body, container: 'container_mine' }, '/v1/messages')).toBe(400);
  expect(await ask(mine, { ...body, container: 'container_mine' }, '/v1/messages')).toBe(200);
});

describe('items without a known owner', () => {
  test.each(named.filter(([name]) => name !== 'a thought'))(
    '%s is refused on a shared account',
    async (_name, body) => {
      expect(await ask(mine, body)).toBe(400);
      expect(upstream.requests).toHaveLength(0);
    },
  );

  test('a thought passes, for a client repeats what a broken answer began', async () => {
    expect(await ask(mine, { input: [{ type: 'reasoning', id: 'rs_cut', summary: [] }] })).toBe(200);
  });

  test('a channel may pass it on, to the user who named it first', async () => {
    await set({ unknown_ids: 'allow' });
    expect(await ask(mine, { conversation: 'conv_1' })).toBe(200);
    expect(await ask(theirs, { conversation: 'conv_1' })).toBe(400);
  });

  test('an unknown id is passed on where one person pays for all', async () => {
    await gateway.option('SelfUseModeEnabled', 'true');
    expect(await ask(mine, { previous_response_id: 'resp_old' })).toBe(200);
  });

  test('an answer that is not kept gives no names', async () => {
    expect(await ask(mine, { store: false })).toBe(200);
    expect(await ask(mine, { input: [{ type: 'item_reference', id: 'msg_mine' }] })).toBe(400);
  });
});

describe('files and vector stores, which the operator made', () => {
  const searching = { tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] };
  const reading = { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file_1' }] }] };

  test.each([searching, reading])('%j passes', async (body) => {
    expect(await ask(mine, body)).toBe(200);
    expect(await ask(theirs, body)).toBe(200);
  });

  test.each([
    searching,
    reading,
    { tools: [{ type: 'code_interpreter', container: { type: 'auto', File_Ids: ['file_1'] } }] },
  ])('%j is refused where the channel says so', async (body) => {
    await set({ unknown_ids: 'refuse' });
    expect(await ask(mine, body)).toBe(400);
    expect(upstream.requests).toHaveLength(0);
    expect(await ask(mine, {})).toBe(200);
  });

  test('a file’s name in text for the model is no reference', async () => {
    await set({ unknown_ids: 'refuse' });
    const parameters = { type: 'object', properties: { file_id: { type: 'string', enum: ['file_1'] } } };
    expect(await ask(mine, { tools: [{ type: 'function', name: 'open', parameters }] })).toBe(200);
  });
});
