/** An upstream that names a member which it does not take: one more attempt without it, what is remembered of that, and for whom. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createUnsupportedMembersRepository } from '../../db/repositories/unsupported-members.ts';
import type { Removable } from '../../server/providers/knowledge/removable-members.ts';
import { LearntMembers, newTrialCells, type Trial } from '../../server/relay/routing/learnt-members.ts';
import { createRelayState, type RelayState } from '../../server/relay/state/state.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, type Received, sendJson, sendStream, startUpstream, type Upstream } from '../support/upstream.ts';
import { VirtualTime } from '../support/virtual-time.ts';

type Members = Record<string, unknown>;

let gateway: TestGateway;
let upstream: Upstream;
let time: VirtualTime;
let channel: number;
/** Keys of three users. */
let one: string;
let two: string;
let three: string;
/** What the upstream says of a body; null = it takes it. */
let refuses: (body: Members, received: Received) => { readonly status?: number; readonly error: unknown } | null;
let made = 0;

const messages = [{ role: 'user', content: 'hello' }];

beforeAll(async () => {
  time = new VirtualTime();
  upstream = await startUpstream((response, received) => {
    const body = JSON.parse(received.body.toString('utf8')) as Members;
    const refused = refuses(body, received);
    if (refused !== null) return sendJson(response, { error: refused.error }, refused.status ?? 400);
    if (received.path.endsWith('/messages'))
      return sendJson(response, {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'claude',
        content: [{ type: 'text', text: 'hi' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 3, output_tokens: 2 },
      });
    if (received.path.endsWith('/responses'))
      return sendJson(response, {
        id: 'resp_1',
        object: 'response',
        status: 'completed',
        model: 'gpt',
        output: JSON.stringify(body.tools ?? '').includes('patch')
          ? [{ type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'patch', arguments: '{"input":"text"}' }]
          : [{ type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] }],
        usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
      });
    if (body.stream === true) {
      const chunk = (delta: unknown, finish: string | null) =>
        `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
      return sendStream(response, [
        Buffer.from(chunk({ role: 'assistant', content: 'hello' }, null)),
        Buffer.from(`${chunk({}, 'stop')}data: [DONE]\n\n`),
      ]);
    }
    return sendJson(response, completion(3, 2));
  });
  gateway = await createTestGateway({ relay: { timers: time } });
  await gateway.option('SelfUseModeEnabled', 'true');
  one = (await gateway.token()).key;
  const keyOf = async (username: string) => {
    const id = await gateway.services.users.create({
      ...{ username, password: 'password1', displayName: '', role: 1, quota: 1_000_000_000 },
    });
    const { key } = await gateway.services.tokens.create(id, { name: 't', unlimited_quota: true });
    await gateway.sync();
    return key;
  };
  two = await keyOf('second');
  three = await keyOf('third');
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});
beforeEach(async () => {
  upstream.requests.length = 0;
  refuses = () => null;
  // A model of its own: nothing of another test is known of it.
  made++;
  channel = await gateway.channel(upstream.url, { models: `m${made}` });
});

const unsupported = (param: string, more: Members = {}) => ({
  error: {
    message: `Unsupported parameter: '${param}' is not supported with this model.`,
    param,
    code: 'unsupported_parameter',
    ...more,
  },
});
const refusing =
  (member: string, more: Members = {}) =>
  (body: Members) =>
    body[member] === undefined ? null : unsupported(member, more);

const sentBodies = () => upstream.requests.map(({ body }) => JSON.parse(body.toString('utf8')) as Members);
const chat = (key: string, body: Members = {}, headers: Record<string, string> = {}) =>
  gateway.chat(key, { model: `m${made}`, messages, ...body }, headers);
const stored = async () => {
  await gateway.sync();
  return gateway.services.unsupportedMembers.list(channel);
};

/** Asks once and says how often the upstream was called. */
async function calls(ask: () => Promise<Response>) {
  const before = upstream.requests.length;
  const response = await ask();
  const text = await response.text();
  await gateway.sync();
  return { status: response.status, calls: upstream.requests.length - before, last: sentBodies().at(-1), text };
}

test('a refused member is left out at the same channel, beyond the retries that the option allows, and declared', async () => {
  await gateway.option('RetryTimes', '0');
  refuses = refusing('temperature');
  const asked = await calls(() => chat(one, { temperature: 0.3, top_p: 0.5 }));
  expect(asked).toMatchObject({ status: 200, calls: 2 });
  expect(asked.last).toEqual({ model: `m${made}`, messages, top_p: 0.5 });
  const row = await gateway.lastLog();
  expect(JSON.stringify(row)).toContain('/temperature: refused by this upstream');
});

test.each([
  ['422', { status: 422, ...unsupported('seed') }, 'seed'],
  ['a path in quotes', { error: { message: "Invalid request: 'seed' is not permitted" } }, 'seed'],
  ['a path in front', { error: { message: 'body.seed: Extra inputs are not permitted' } }, 'seed'],
  ['a path behind', { error: { message: 'Unrecognized request argument supplied: seed' } }, 'seed'],
  ['a code', { error: { message: 'bad request', code: 'seed' } }, 'seed'],
])('a refusal by %s is understood', async (_, refusal, member) => {
  refuses = (body) => (body[member] === undefined ? null : refusal);
  expect(await calls(() => chat(one, { [member]: 1 }))).toMatchObject({ status: 200, calls: 2 });
});

test.each([
  ['another status', { status: 409, ...unsupported('seed') }],
  ['a member that the body has not', unsupported('top_k')],
  ['no member', { error: { message: 'Invalid request', code: 'invalid_request_error' } }],
  ['two members', { error: { message: "'seed' and 'top_p' cannot both be set" } }],
  ['another member by param', { error: { message: "'seed' is not supported", param: 'model' } }],
])('a refusal that names %s stands', async (_, refusal) => {
  refuses = () => refusal;
  expect(await calls(() => chat(one, { seed: 1, top_p: 0.5 }))).toMatchObject({ calls: 1 });
});

test.each([
  ['messages', messages],
  ['tools', [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]],
  ['tool_choice', 'auto'],
  ['response_format', { type: 'json_object' }],
  ['stop', ['x']],
  ['max_tokens', 9],
  ['max_completion_tokens', 9],
  ['n', 2],
  ['service_tier', 'flex'],
  ['stream_options', { include_usage: true }],
  ['store', false],
  ['safety_identifier', 'u'],
  ['user', 'u'],
  ['prompt_cache_retention', 'in_memory'],
  ['logprobs', true],
  ['modalities', ['text']],
  ['web_search_options', {}],
])('%s is never left out', async (member, value) => {
  refuses = () => unsupported(member);
  expect(await calls(() => chat(one, { [member]: value, stream: member === 'stream_options' }))).toMatchObject({
    status: 400,
    calls: 1,
  });
});

test('no member is left out a second time, and a request has one more attempt in all', async () => {
  refuses = (body) => (body.seed === undefined ? refusing('top_p')(body) : unsupported('seed'));
  expect(await calls(() => chat(one, { seed: 1, top_p: 0.5 }))).toMatchObject({ status: 400, calls: 2 });
  expect(await stored()).toEqual([]);
});

test('a member that was left out in vain is not remembered', async () => {
  refuses = (body) => unsupported(body.seed === undefined ? 'messages' : 'seed');
  expect(await calls(() => chat(one, { seed: 1 }))).toMatchObject({ status: 400, calls: 2 });
  expect(await calls(() => chat(one, { seed: 1 }))).toMatchObject({ status: 400, calls: 2 });
  expect(await stored()).toEqual([]);
});

test.each([
  ['in a message', { messages: [{ role: 'user', content: 'what is the seed of an apple' }] }],
  ['with other capitals', { messages: [{ role: 'user', content: 'SEED!' }] }],
  ['behind an escape', `{"messages":[{"role":"user","content":"\\u0073eed"}],"seed":1}`],
  ['in a part', { messages: [{ role: 'user', content: [{ type: 'text', text: '{"seed":3}' }] }] }],
  [
    'in a description',
    {
      tools: [{ type: 'function', function: { name: 'f', description: "use 'seed'", parameters: { type: 'object' } } }],
    },
  ],
  [
    'as a member of a schema',
    {
      tools: [
        {
          type: 'function',
          function: { name: 'f', parameters: { type: 'object', properties: { seed: { type: 'number' } } } },
        },
      ],
    },
  ],
])('a name that the caller wrote %s proves nothing', async (_, body) => {
  refuses = refusing('seed');
  const text =
    typeof body === 'string'
      ? body.replace('{', `{"model":"m${made}",`)
      : { model: `m${made}`, messages, ...body, seed: 1 };
  expect(await calls(() => gateway.chat(one, text))).toMatchObject({ status: 400, calls: 1 });
});

test('a name that a header of the caller has proves nothing', async () => {
  refuses = refusing('seed');
  expect(await calls(() => chat(one, { seed: 1 }, { 'user-agent': 'seed' }))).toMatchObject({ status: 400, calls: 1 });
});

test('a longer word that has the name in it is another word', async () => {
  refuses = refusing('seed');
  const body = { seed: 1, messages: [{ role: 'user', content: 'seeds, birdseed and seed_2' }] };
  expect(await calls(() => chat(one, body))).toMatchObject({ status: 200, calls: 2 });
});

test('a conversation is spared it from then on, another one of the same user meets it again', async () => {
  refuses = refusing('seed');
  const first = { seed: 1, prompt_cache_key: 'a' };
  expect(await calls(() => chat(one, first))).toMatchObject({ status: 200, calls: 2 });
  expect(await calls(() => chat(one, first))).toMatchObject({ status: 200, calls: 1 });
  expect(await calls(() => chat(one, { seed: 1, prompt_cache_key: 'b' }))).toMatchObject({ status: 200, calls: 2 });
  expect(await stored()).toMatchObject([{ model: `m${made}`, member: 'openai-chat:seed', source: 'learnt', count: 2 }]);
});

test('all are spared it once two users met it, and not before', async () => {
  refuses = refusing('seed');
  const ask = (key: string, name: string) => calls(() => chat(key, { seed: 1, prompt_cache_key: name }));
  expect(await ask(one, 'a')).toMatchObject({ calls: 2 });
  expect(await ask(one, 'b')).toMatchObject({ calls: 2 });
  expect(await ask(two, 'c')).toMatchObject({ calls: 2 });
  expect(await ask(three, 'd')).toMatchObject({ status: 200, calls: 1 });
  expect(sentBodies().at(-1)).not.toHaveProperty('seed');
});

test('a refusal is remembered for one model of one channel', async () => {
  const models = `m${made},n${made}`;
  const other = await gateway.channel(upstream.url, { models: `o${made}` });
  await gateway.services.channels.update(channel, { models }, 'owner');
  await gateway.sync();
  await gateway.services.unsupportedMembers.store(channel, 'hand', [{ model: `m${made}`, member: 'openai-chat:seed' }]);
  await gateway.sync();
  const sent = async (model: string) => (await calls(() => gateway.chat(one, { model, messages, seed: 1 }))).last?.seed;
  expect([await sent(`m${made}`), await sent(`n${made}`), await sent(`o${made}`)]).toEqual([undefined, 1, 1]);
  expect(await gateway.services.unsupportedMembers.list(other)).toEqual([]);
});

test('a refusal of one dialect says nothing of another at the same channel', async () => {
  await gateway.services.unsupportedMembers.store(channel, 'hand', [
    { model: `m${made}`, member: 'openai-chat:temperature' },
  ]);
  await gateway.sync();
  const body = { model: `m${made}`, input: 'hello', temperature: 1 };
  expect((await calls(() => gateway.send(one, '/v1/responses', body))).last).toMatchObject({ temperature: 1 });
});

test('a word that is refused is left out, other words of the same member are not', async () => {
  refuses = ({ reasoning_effort: effort }) =>
    effort !== 'xhigh' && effort !== 'max'
      ? null
      : {
          error: {
            message: `Unsupported value: 'reasoning_effort' does not support '${effort}'. Supported values are: 'low', 'high'.`,
            param: 'reasoning_effort',
            code: 'unsupported_value',
          },
        };
  for (const key of [one, two])
    expect(await calls(() => chat(key, { reasoning_effort: 'xhigh' }))).toMatchObject({ calls: 2 });
  expect(await stored()).toMatchObject([{ member: 'openai-chat:reasoning_effort=xhigh' }]);
  expect(await calls(() => chat(three, { reasoning_effort: 'xhigh' }))).toMatchObject({ status: 200, calls: 1 });
  expect((await calls(() => chat(three, { reasoning_effort: 'high' }))).last).toMatchObject({
    reasoning_effort: 'high',
  });
});

test.each([
  ['a number that is too large', { message: "'top_p' must be between 0 and 1", param: 'top_p' }],
  ['another member', { message: "'top_p' is not supported when tools are used", param: 'top_p' }],
  ['a second member', { message: "'top_p' is not supported with 'logprobs'", param: 'top_p' }],
  ['thinking', { message: '`top_p` is not supported in thinking mode', param: 'top_p' }],
  ['the account', { message: "'top_p' is not available to your organization", param: 'top_p' }],
])('a refusal for %s is remembered for the conversation alone, however many meet it', async (_, error) => {
  refuses = (body) => (body.top_p === undefined ? null : { error });
  for (const key of [one, two]) {
    expect(await calls(() => chat(key, { top_p: 7 }))).toMatchObject({ status: 200, calls: 2 });
    expect(await calls(() => chat(key, { top_p: 7 }))).toMatchObject({ status: 200, calls: 1 });
  }
  expect(await stored()).toEqual([]);
  expect((await calls(() => chat(three, { top_p: 7 }))).calls).toBe(2);
});

test('ten attempts a minute at one channel, five of them for one user', async () => {
  refuses = refusing('seed');
  const attempts = async (key: string, times: number, from: string) => {
    let more = 0;
    for (let at = 0; at < times; at++)
      more +=
        (
          await calls(() =>
            chat(key, {
              seed: 1,
              messages: [{ role: 'user', content: `${from}${at}` }],
              temperature: 1,
              top_p: 0.5,
              prompt_cache_key: `${from}${at}`,
            }),
          )
        ).calls - 1;
    return more;
  };
  // Each names another place, so that nothing is known for all.
  refuses = (body) =>
    body.seed === undefined ? null : { error: { message: "'seed' is not supported when asked so", param: 'seed' } };
  expect(await attempts(one, 7, 'a')).toBe(5);
  expect(await attempts(two, 4, 'b')).toBe(4);
  expect(await attempts(three, 3, 'c')).toBe(1);
  time.jump(60_000);
  expect(await attempts(one, 1, 'd')).toBe(1);
});

test('relay threads count attempts together, and several machines have a part each', () => {
  let now = 90_000;
  const trialCells = newTrialCells();
  const thread = (machines = 1) =>
    new LearntMembers({
      now: () => now,
      trialCells: machines === 1 ? trialCells : newTrialCells(),
      share: (limit) => Math.max(1, Math.floor(limit / machines)),
      known: () => undefined,
      report: () => undefined,
    });
  const threads = [thread(), thread(), thread()];
  const attempts = (userId: number, channelId = 7) => {
    let made = 0;
    for (let turn = 0; turn < 4; turn++) for (const each of threads) if (each.mayTry(channelId, userId)) made++;
    return made;
  };
  expect([attempts(1), attempts(2), attempts(3)]).toEqual([5, 5, 0]);
  expect(attempts(1, 8)).toBe(5);
  expect(threads.map(({ counts }) => counts.tried).reduce((sum, tried) => sum + tried)).toBe(15);
  now = 120_000;
  expect(attempts(1)).toBe(5);
  const oneOfThree = thread(3);
  expect([1, 1, 2, 2, 3, 3].filter((userId) => oneOfThree.mayTry(7, userId))).toEqual([1, 2, 3]);
});

test('a request leaves out what holds for all, what its conversation met and what the attempt tries, each once', () => {
  const member = (name: string) => ({ row: { dialect: 'openai-chat', member: name }, value: null }) as Removable;
  const [seed, top, user] = [member('seed'), member('top_p'), member('user')];
  const learnt = new LearntMembers({
    now: () => 0,
    trialCells: newTrialCells(),
    share: (limit) => limit,
    known: (channelId) => (channelId === 7 ? new Map([['m', [seed]]]) : undefined),
    report: () => undefined,
  });
  const without = (trial: Trial | null = null, channelId = 7) =>
    learnt.without(channelId, () => 'talk', trial)?.get('m') ?? null;
  const trial = (members: readonly Removable[], concernsAll: boolean) => ({
    ...{ channelId: 7, model: 'm', members, concernsAll },
  });
  expect(without()).toEqual([seed]);
  learnt.succeeded(trial([top, seed], false), 1, 'talk');
  expect(without()).toEqual([seed, top]);
  expect(without(trial([user, top], false))).toEqual([seed, top, user]);
  expect([without(null, 8), without(trial([user], false), 8)]).toEqual([null, null]);
});

test('an edit of the channel forgets what was learnt, for all and for conversations; what was written by hand stays', async () => {
  refuses = refusing('seed');
  for (const key of [one, two]) await calls(() => chat(key, { seed: 1, prompt_cache_key: 'a' }));
  await gateway.services.unsupportedMembers.store(channel, 'hand', [
    { model: `m${made}`, member: 'openai-chat:top_p' },
  ]);
  expect(await stored()).toHaveLength(2);
  await gateway.services.channels.update(channel, { priority: 3 }, 'owner');
  expect(await stored()).toHaveLength(2);
  await gateway.services.channels.update(channel, { base_url: `${upstream.url}/v2/..` }, 'owner');
  expect(await stored()).toMatchObject([{ member: 'openai-chat:top_p' }]);
  await gateway.services.channels.update(channel, { base_url: upstream.url }, 'owner');
  await gateway.sync();
  expect(await calls(() => chat(one, { seed: 1, prompt_cache_key: 'a' }))).toMatchObject({ status: 200, calls: 2 });
  await gateway.services.channels.remove(channel);
  expect(await stored()).toEqual([]);
});

test('a refusal that an administrator confirms holds for all and stays', async () => {
  refuses = refusing('seed');
  await calls(() => chat(one, { seed: 1 }));
  await gateway.sync();
  const key = { channel_id: channel, model: `m${made}`, member: 'openai-chat:seed' };
  expect(await gateway.services.unsupportedMembers.confirm(key)).toMatchObject({ source: 'hand', expires_at: 0 });
  await gateway.sync();
  expect(await calls(() => chat(three, { seed: 1 }))).toMatchObject({ status: 200, calls: 1 });
});

test('a member that the operator writes into each body is never left out', async () => {
  await gateway.services.channels.update(channel, { param_override: '{"seed":5}' }, 'owner');
  await gateway.sync();
  refuses = refusing('seed');
  expect(await calls(() => chat(one, { seed: 1 }))).toMatchObject({ status: 400, calls: 1 });
  await gateway.services.unsupportedMembers.store(channel, 'hand', [{ model: `m${made}`, member: 'openai-chat:seed' }]);
  await gateway.sync();
  expect((await calls(() => chat(one, { seed: 1 }))).last).toMatchObject({ seed: 5 });
});

test('bodies that are to pass untouched do', async () => {
  await gateway.services.channels.update(channel, { setting: '{"pass_through":true}' }, 'owner');
  await gateway.sync();
  refuses = refusing('seed');
  expect(await calls(() => chat(one, { seed: 1 }))).toMatchObject({ status: 400, calls: 1 });
  await gateway.services.unsupportedMembers.store(channel, 'hand', [{ model: `m${made}`, member: 'openai-chat:seed' }]);
  await gateway.sync();
  expect((await calls(() => chat(one, { seed: 1 }))).last).toMatchObject({ seed: 1 });
});

test('members of lists go from each item; numbers elsewhere keep their digits', async () => {
  refuses = (body) =>
    JSON.stringify(body.tools).includes('strict')
      ? { error: { message: "Unknown parameter: 'tools[1].function.strict'.", param: 'tools[1].function.strict' } }
      : null;
  const tool = (strict: Members) => ({
    type: 'function',
    function: { name: 'f', parameters: { type: 'object' }, ...strict },
  });
  const text = `{"model":"m${made}","messages":[{"role":"user","content":"x"}],"user_number":12345678901234567890,"tools":${JSON.stringify([tool({}), tool({ strict: true })])}}`;
  expect(await calls(() => gateway.chat(one, text))).toMatchObject({ status: 200, calls: 2 });
  const sent = upstream.requests.at(-1)?.body.toString('utf8');
  expect(sent).toContain('"user_number":12345678901234567890');
  expect(sentBodies().at(-1)?.tools).toEqual([tool({}), tool({})]);
});

test('a bare name that also stands where nothing may go is ambiguous', async () => {
  refuses = () => ({ error: { message: "'strict' is not supported" } });
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' }, strict: true } }];
  const format = { type: 'json_schema', json_schema: { name: 'n', strict: true, schema: { type: 'object' } } };
  expect(await calls(() => chat(one, { tools, response_format: format }))).toMatchObject({ calls: 1 });
  expect(await calls(() => chat(one, { tools }))).toMatchObject({ calls: 2 });
});

test('a request that is translated goes again without the member, too, and a stream does', async () => {
  refuses = refusing('temperature');
  const body = { model: `m${made}`, max_tokens: 9, messages, temperature: 0.4 };
  expect(await calls(() => gateway.send(one, '/v1/messages', body))).toMatchObject({ status: 200, calls: 2 });
  expect(await calls(() => chat(two, { temperature: 0.4, stream: true }))).toMatchObject({ status: 200, calls: 2 });
  expect(await calls(() => gateway.send(three, '/v1/messages', body))).toMatchObject({ status: 200, calls: 1 });
});

test('a feature in the header goes by its name, others stay', async () => {
  channel = await gateway.channel(upstream.url, { type: 14, models: `claude-x${made}` });
  const sentBetas = () => upstream.requests.at(-1)?.headers['anthropic-beta'];
  refuses = (_, { headers }) =>
    String(headers['anthropic-beta']).includes('context-1m')
      ? {
          error: {
            type: 'invalid_request_error',
            message: 'Unexpected value(s) `context-1m-2025-08-07` for the `anthropic-beta` header.',
          },
        }
      : null;
  const ask = (betas: string) =>
    calls(() =>
      gateway.send(
        one,
        '/v1/messages',
        { model: `claude-x${made}`, max_tokens: 9, messages },
        { headers: { 'anthropic-beta': betas } },
      ),
    );
  expect(await ask('context-1m-2025-08-07,claude-code-20250219')).toMatchObject({ status: 200, calls: 2 });
  expect(sentBetas()).toBe('claude-code-20250219');
  expect(await stored()).toMatchObject([{ member: 'anthropic-messages:anthropic-beta=context-1m-2025-08-07' }]);
  refuses = () => ({
    error: { message: 'Unexpected value(s) `fast-mode-2026-02-01` for the `anthropic-beta` header.' },
  });
  expect(await ask('fast-mode-2026-02-01')).toMatchObject({ status: 400, calls: 1 });
});

test('a tool of a type that is refused is told as a function, and its call comes back as it was offered', async () => {
  refuses = ({ tools }) =>
    (tools as Members[]).some(({ type }) => type !== 'function')
      ? { error: { message: "Invalid value: 'custom'. Supported values are: 'function'.", param: 'tools[0].type' } }
      : null;
  const tools = [{ type: 'custom', name: 'patch', description: 'd' }];
  const asked = await calls(() => gateway.send(one, '/v1/responses', { model: `m${made}`, input: 'x', tools }));
  expect(asked).toMatchObject({ status: 200, calls: 2, last: { tools: [{ type: 'function', name: 'patch' }] } });
  expect(asked.text).toContain('custom_tool_call');
  expect(asked.text).toContain('"input":"text"');
  expect(await stored()).toMatchObject([{ member: 'openai-responses:tools[].type=custom', demand: 'function' }]);
});

test('tools that run at the upstream are never told as functions', async () => {
  refuses = () => ({ error: { message: 'unknown type', param: 'tools[0].type' } });
  const body = { model: `m${made}`, input: 'x', tools: [{ type: 'web_search' }] };
  expect(await calls(() => gateway.send(one, '/v1/responses', body))).toMatchObject({ status: 400, calls: 1 });
});

test('a left-out member is charged and held for as if it had gone', async () => {
  await gateway.option('SelfUseModeEnabled', 'false');
  const price = { [`m${made}`]: 1 };
  await gateway.option('ModelRatio', JSON.stringify(price));
  const quotas: number[] = [];
  for (const body of [{}, { metadata: { a: 'b' } }]) {
    refuses = refusing('metadata');
    await calls(() => chat(one, { ...body, max_tokens: 5 }));
    quotas.push((await gateway.lastLog())?.quota ?? -1);
  }
  await gateway.option('SelfUseModeEnabled', 'true');
  expect(quotas[1]).toBe(quotas[0]);
  expect(quotas[0]).toBeGreaterThan(0);
});

test('no more than 32 are remembered of a model at a channel, and what two users met stays', async () => {
  const key = { channelId: channel, model: 'x' };
  const efforts = Array.from({ length: 40 }, (_, at) => `openai-chat:reasoning_effort=e${at}`);
  const { note } = gateway.services.unsupportedMembers;
  for (const userId of [1, 2]) await note({ ...key, members: ['openai-chat:seed'], userId });
  for (const member of efforts) await note({ ...key, members: [member], userId: 1 });
  const kept = await stored();
  expect(kept).toHaveLength(32);
  expect(kept.map(({ member }) => member)).toContain('openai-chat:seed');
  expect(kept.map(({ member }) => member)).toContain('openai-chat:reasoning_effort=e39');
});

test('no more than 2,000 are remembered of a site: what one user alone met leaves, and what holds for all stays', async () => {
  const { note, store, remove } = gateway.services.unsupportedMembers;
  const repository = createUnsupportedMembersRepository(gateway.database);
  const before = await repository.count();
  const { removeOldest } = repository;
  while (await removeOldest());
  const held = await repository.count();
  expect(held).toBeLessThan(before);
  const row = (at: number, source: string) => ({
    ...{ channel_id: channel, model: `site${at}`, member: 'openai-chat:seed', demand: 'absent', source, count: 1 },
    ...{ users: '1', first_at: at, last_at: at, expires_at: 0 },
  });
  for (let at = held; at < 2000; at++) await repository.insert(row(at, at === held ? 'learnt' : 'hand'));
  const models = async () => (await stored()).map(({ model }) => model);
  await note({ channelId: channel, model: 'more', members: ['openai-chat:seed'], userId: 1 });
  expect([await repository.count(), (await models()).includes(`site${held}`)]).toEqual([2000, false]);
  expect(await models()).toContain('more');
  // One of its own may be stored in the place of what one user met, and no further one.
  await store(channel, 'hand', [{ model: 'own', member: 'openai-chat:seed' }]);
  expect(await models()).not.toContain('more');
  await note({ channelId: channel, model: 'late', members: ['openai-chat:seed'], userId: 1 });
  expect(await models()).not.toContain('late');
  await expect(store(channel, 'hand', [{ model: 'late', member: 'openai-chat:seed' }])).rejects.toMatchObject({
    code: 'params_invalid',
  });
  expect(await repository.count()).toBe(2000);
  for (const { model, member } of await stored()) await remove({ channel_id: channel, model, member });
});

test('further attempts are counted, and those that were answered', async () => {
  const counted = () => gateway.relay.stats().withoutMember;
  const { tried, answered } = counted();
  refuses = refusing('seed');
  await calls(() => chat(one, { seed: 1 }));
  expect(counted()).toEqual({ tried: tried + 1, answered: answered + 1 });
  refuses = (body) => unsupported(body.top_p === undefined ? 'messages' : 'top_p');
  await calls(() => chat(one, { top_p: 0.5 }));
  expect(counted()).toEqual({ tried: tried + 2, answered: answered + 1 });
});

test('a member that may not be left out is not noted, stored or obeyed', async () => {
  const { note, store } = gateway.services.unsupportedMembers;
  await note({ channelId: channel, model: 'x', members: ['openai-chat:messages', 'openai-chat:seed=5'], userId: 1 });
  expect(await stored()).toEqual([]);
  await expect(store(channel, 'hand', [{ model: 'x', member: 'openai-chat:tools' }])).rejects.toMatchObject({
    code: 'params_invalid',
  });
});

test('an expired refusal is sent again, and another thread is given the valid ones', () => {
  let now = 1_000_000;
  const ignored = () => undefined;
  const watcher = {
    observeUser: ignored,
    observeToken: ignored,
    evictUser: ignored,
    evictToken: ignored,
    observeBudgets: ignored,
  };
  const state = createRelayState(watcher, () => now);
  const row = (member: string, expiresAt: number) => ({ channelId: 3, model: 'm', member, expiresAt });
  const known = [row('openai-chat:seed', 2000), row('openai-chat:top_p', 0), row('openai-chat:messages', 0)];
  const empty = { seq: 1, users: [], tokens: [], channels: [], options: {} };
  state.apply({ kind: 'snapshot', ...empty, unsupported: [{ channelId: 3, members: known }] });
  const names = (of: RelayState) =>
    of
      .unsupportedOf(3)
      ?.get('m')
      ?.map(({ row }) => row.member);
  expect(names(state)).toEqual(['seed', 'top_p']);
  const other = createRelayState(watcher, () => now);
  other.apply(state.snapshot());
  expect(names(other)).toEqual(['seed', 'top_p']);
  now = 2_000_000;
  expect(names(state)).toEqual(['top_p']);
  expect(state.unsupportedOf(4)).toBeUndefined();
  const removed = { users: [], tokens: [], channels: [] };
  state.apply({ kind: 'delta', ...empty, removed, unsupported: [{ channelId: 3, members: [] }] });
  expect(state.unsupportedOf(3)).toBeUndefined();
  expect(state.snapshot()).not.toHaveProperty('unsupported');
  other.apply({ kind: 'delta', ...empty, removed: { ...removed, channels: [3] } });
  expect(other.unsupportedOf(3)).toBeUndefined();
});
