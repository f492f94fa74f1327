/** Providers' own diagnoses of missed caches: read where the client asks, asked for and taken out again where the channel says so. */
import { beforeEach, expect, test } from 'vitest';
import { sharedGateway } from '../support/shared-gateway.ts';
import { type Received, sendJson } from '../support/upstream.ts';

const bench = await sharedGateway();
const { gateway, upstream } = bench;
await gateway.option('SelfUseModeEnabled', 'true');

type Members = Record<string, unknown>;
interface Dialect {
  readonly name: string;
  readonly path: string;
  readonly type: number;
  readonly model: string;
  body(turns: number): Members;
  /** What the provider answers, and the same as it would without having been asked. */
  answer(id: string, said: unknown, options: unknown): Members;
  readonly says: string;
  readonly changed: unknown;
  /** The member of an event that holds the answer. */
  readonly within: string;
  events(answer: Members): readonly Members[];
}

const turnsOf = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content: `turn ${at}` }));

const messages: Dialect = {
  ...{
    name: 'Messages',
    path: '/v1/messages',
    type: 14,
    model: 'claude-opus-4-5',
    says: 'diagnostics',
    within: 'message',
  },
  body: (turns) => ({
    model: 'claude-opus-4-5',
    max_tokens: 50,
    system: [{ type: 'text', text: 'be kind', cache_control: { type: 'ephemeral' } }],
    messages: turnsOf(turns),
  }),
  answer: (id, said) => ({
    ...{ id, type: 'message', role: 'assistant', model: 'claude-opus-4-5', content: [{ type: 'text', text: 'hi' }] },
    ...{ stop_reason: 'end_turn', stop_sequence: null, diagnostics: said ?? null },
    usage: {
      input_tokens: 20,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: 9000 - read,
      output_tokens: 3,
    },
  }),
  changed: { cache_miss_reason: { type: 'tools_changed', cache_missed_input_tokens: 8000 } },
  events: (answer) => [
    { type: 'message_start', message: { ...answer, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 3 } },
    { type: 'message_stop' },
  ],
};
const responses: Dialect = {
  ...{ name: 'Responses', path: '/v1/responses', type: 1, model: 'gpt-5.6' },
  ...{ says: 'prompt_cache_diagnostics', within: 'response' },
  body: (turns) => ({ model: 'gpt-5.6', max_output_tokens: 50, instructions: 'be kind', input: turnsOf(turns) }),
  answer: (id, said, options) => ({
    ...{ id, object: 'response', created_at: 1, status: 'completed', model: 'gpt-5.6' },
    prompt_cache_options: { mode: 'implicit', ttl: '30m', ...(options as object) },
    output: [
      {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'hi', annotations: [] }],
      },
    ],
    ...(said === undefined ? {} : { prompt_cache_diagnostics: said }),
    usage: { input_tokens: 9020, input_tokens_details: { cached_tokens: read }, output_tokens: 3, total_tokens: 9023 },
  }),
  changed: { type: 'cache_miss', reason: 'tools_changed', cache_missed_tokens: 8000, comparison_reusable_tokens: 900 },
  events: (answer) => [
    {
      type: 'response.created',
      sequence_number: 0,
      response: { ...answer, status: 'in_progress', output: [], usage: null },
    },
    {
      type: 'response.output_item.added',
      sequence_number: 1,
      output_index: 0,
      item: { type: 'message', id: 'msg_1', role: 'assistant', status: 'in_progress', content: [] },
    },
    {
      type: 'response.content_part.added',
      sequence_number: 2,
      output_index: 0,
      content_index: 0,
      item_id: 'msg_1',
      part: { type: 'output_text', text: '', annotations: [] },
    },
    {
      type: 'response.output_text.delta',
      sequence_number: 3,
      output_index: 0,
      content_index: 0,
      item_id: 'msg_1',
      delta: 'hi',
    },
    { type: 'response.completed', sequence_number: 4, response: answer },
  ],
};
const cases = [messages, responses].flatMap((dialect) =>
  [true, false].map((stream) => [dialect.name, stream, dialect] as const),
);

/** Tokens that the cache gives. */
let read = 8800;
let said: unknown;
let received: Members[] = [];
let count = 0;
/** What the upstream answers that asks nobody. */
let refusal: string | null = null;
/** Whether or not it is asked. */
let refusesAll = false;

const sse = (events: readonly Members[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

/** Answers as the provider does: what was asked is shown. */
const script = (dialect: Dialect) =>
  upstream.script((response, { body }: Received) => {
    const sent = JSON.parse(String(body)) as Members;
    received.push(sent);
    const options = sent.prompt_cache_options as Members | undefined;
    const asked = sent.diagnostics !== undefined || options?.comparison_response_id !== undefined;
    if ((asked || refusesAll) && refusal !== null)
      return sendJson(response, { type: 'error', error: { type: 'invalid_request_error', message: refusal } }, 400);
    const answer = dialect.answer(`up_${++count}`, asked ? said : undefined, options);
    if (sent.stream !== true) return sendJson(response, answer);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(sse(dialect.events(answer)));
  });
/** The bytes that a client gets whose request asks nothing. */
const plain = (dialect: Dialect, stream: boolean): string => {
  const answer = dialect.answer(`up_${count}`, undefined, undefined);
  return stream ? sse(dialect.events(answer)) : JSON.stringify(answer);
};

async function open(dialect: Dialect, setting: object): Promise<number> {
  script(dialect);
  return gateway.channel(upstream.url, {
    ...{ type: dialect.type, models: dialect.model, name: dialect.name },
    setting: JSON.stringify(setting),
  });
}
const keyOf = async () => (await gateway.token()).key;

async function ask(key: string, dialect: Dialect, body: Members, session: string | null): Promise<string> {
  const headers: Record<string, string> = session === null ? {} : { 'x-session-id': session };
  const response = await gateway.send(key, dialect.path, body, { headers });
  return response.text();
}
async function rowOf(): Promise<Members> {
  return JSON.parse((await bench.row())?.other ?? '{}') as Members;
}

beforeEach(() => {
  [read, said, received, refusal, refusesAll] = [8800, undefined, [], null, false];
});

test.each(cases)(
  '%s, streamed %s: the channel asks, the answer shows nothing of it, the row has the diagnosis',
  async (_, stream, dialect) => {
    await open(dialect, { cache_diagnosis: true });
    const key = await keyOf();
    const session = `asks-${dialect.name}-${stream}`;
    const body = (turns: number) => ({ ...dialect.body(turns), ...(stream ? { stream: true } : {}) });
    expect(await ask(key, dialect, body(1), session)).toBe(plain(dialect, stream));
    const first = `up_${count}`;
    read = 0;
    said = dialect.changed;
    expect(await ask(key, dialect, body(3), session)).toBe(plain(dialect, stream));
    if (dialect === messages) {
      expect(received.map(({ diagnostics }) => diagnostics)).toEqual([
        { previous_message_id: null },
        { previous_message_id: first },
      ]);
    } else {
      expect(received.map(({ prompt_cache_options }) => prompt_cache_options)).toEqual([
        undefined,
        { comparison_response_id: first },
      ]);
    }
    const row = await rowOf();
    expect(row.cache_diagnosis).toEqual({ reason: 'tools_changed', tokens: 8000, asked: true });
    // We saw nothing change, and the provider names what did.
    expect(row.cache_miss).toMatchObject({ by: 'provider', at: 'tools', lost: expect.any(Number) });
  },
);

test.each(cases)(
  '%s, streamed %s: a client that asks itself gets its answer untouched, and its row has the diagnosis',
  async (_, stream, dialect) => {
    await open(dialect, {});
    const key = await keyOf();
    said = dialect.changed;
    read = 0;
    const own =
      dialect === messages
        ? { diagnostics: { previous_message_id: 'msg_mine' } }
        : { prompt_cache_options: { comparison_response_id: 'resp_mine' } };
    const text = await ask(key, dialect, { ...dialect.body(3), ...own, ...(stream ? { stream: true } : {}) }, null);
    expect(received[0]).toMatchObject(own);
    const answer = dialect.answer(`up_${count}`, said, own.prompt_cache_options);
    expect(text).toBe(stream ? sse(dialect.events(answer)) : JSON.stringify(answer));
    const row = await rowOf();
    expect(row.cache_diagnosis).toEqual({ reason: 'tools_changed', tokens: 8000, asked: false });
    expect(row.cache_miss).toMatchObject({ by: 'provider', at: 'tools', tokens: 8000 });
  },
);

test.each([messages, responses].map((dialect) => [dialect.name, dialect] as const))(
  '%s: a channel that does not ask sends and passes every byte as it is',
  async (_, dialect) => {
    await open(dialect, {});
    const key = await keyOf();
    for (const turns of [1, 3]) {
      const body = dialect.body(turns);
      expect(await ask(key, dialect, body, `plain-${dialect.name}`)).toBe(plain(dialect, false));
      expect(received.at(-1)).toEqual(body);
    }
    expect((await rowOf()).cache_diagnosis).toBeUndefined();
  },
);

test('the result of our own comparison stays, and the provider’s words stand beside it', async () => {
  await open(messages, { cache_diagnosis: true });
  const key = await keyOf();
  await ask(key, messages, messages.body(1), 'both');
  read = 0;
  said = { cache_miss_reason: { type: 'system_changed', cache_missed_input_tokens: 8000 } };
  const changed = {
    ...messages.body(3),
    system: [{ type: 'text', text: 'it is 12:01', cache_control: { type: 'ephemeral' } }],
  };
  await ask(key, messages, changed, 'both');
  expect(await rowOf()).toMatchObject({
    cache_miss: { by: 'client', at: 'system[0]' },
    cache_diagnosis: { reason: 'system_changed', tokens: 8000, asked: true },
  });
});

test.each([
  ['nothing changed', null, undefined],
  ['it is not known yet', { cache_miss_reason: null }, undefined],
  [
    'the turn before is unknown',
    { cache_miss_reason: { type: 'previous_message_not_found' } },
    { reason: 'not_found', tokens: null },
  ],
  ['it cannot be said', { cache_miss_reason: { type: 'unavailable' } }, { reason: 'unavailable', tokens: null }],
  [
    'an absurd number',
    { cache_miss_reason: { type: 'tools_changed', cache_missed_input_tokens: -3 } },
    { reason: 'tools_changed', tokens: null },
  ],
  ['an absurd reason', { cache_miss_reason: { type: '<script>' } }, undefined],
])('Messages: %s', async (_, value, logged) => {
  await open(messages, { cache_diagnosis: true });
  const key = await keyOf();
  said = value;
  expect(await ask(key, messages, messages.body(1), `says-${_}`)).toBe(plain(messages, false));
  const row = await rowOf();
  expect(row.cache_diagnosis).toEqual(logged === undefined ? undefined : { ...logged, asked: true });
  expect(row.cache_miss).toBeUndefined();
});

test('an upstream that refuses to be asked gets the request once more as it is, and is asked no more', async () => {
  await open(messages, { cache_diagnosis: true });
  const key = await keyOf();
  refusal = 'diagnostics: Extra inputs are not permitted';
  expect(await ask(key, messages, messages.body(1), 'refuses')).toBe(plain(messages, false));
  expect(received.map(({ diagnostics }) => diagnostics !== undefined)).toEqual([true, false]);
  await ask(key, messages, messages.body(3), 'refuses');
  expect(received.map(({ diagnostics }) => diagnostics !== undefined)).toEqual([true, false, false]);
});

test('a refusal that has the same words for another reason changes nothing for those who come after', async () => {
  await open(messages, { cache_diagnosis: true });
  const key = await keyOf();
  [refusal, refusesAll] = ['messages.0.content: "my diagnostics" is not allowed', true];
  await ask(key, messages, messages.body(1), 'quotes');
  expect(received.map(({ diagnostics }) => diagnostics !== undefined)).toEqual([true, false]);
  [refusal, refusesAll] = [null, false];
  await ask(key, messages, messages.body(1), 'others');
  expect(received.at(-1)).toHaveProperty('diagnostics');
});

test.each([true, false])('an answer that does not heed the question passes as it is, streamed %s', async (stream) => {
  const answer = (id: string): Members => {
    const { diagnostics: _, ...others } = messages.answer(id, undefined, undefined);
    return others;
  };
  const unheeding: Dialect = { ...messages, answer };
  await open(unheeding, { cache_diagnosis: true });
  const body = { ...messages.body(1), ...(stream ? { stream: true } : {}) };
  expect(await ask(await keyOf(), unheeding, body, `unheeding-${stream}`)).toBe(plain(unheeding, stream));
  expect(received[0]).toHaveProperty('diagnostics');
});

test.each([
  [
    'is asked beside what the rule sets',
    { mode: 'set', path: 'prompt_cache_options.ttl', value: '1h' },
    { ttl: '1h', comparison_response_id: expect.stringMatching(/^up_/) },
  ],
  [
    'keeps the question of the rule',
    { mode: 'set', path: 'prompt_cache_options.comparison_response_id', value: 'r' },
    { mode: 'implicit', comparison_response_id: 'r' },
  ],
  ['is not asked where the rule takes the member out', { mode: 'delete', path: 'prompt_cache_options' }, undefined],
])('Responses: a channel with a rule of its own about the member %s', async (says, rule, sent) => {
  script(responses);
  await gateway.channel(upstream.url, {
    ...{ type: responses.type, models: responses.model, setting: JSON.stringify({ cache_diagnosis: true }) },
    param_override: JSON.stringify({ operations: [rule] }),
  });
  const key = await keyOf();
  const session = `rule ${says}`;
  await ask(key, responses, responses.body(1), session);
  const own = says.startsWith('is asked') ? {} : { prompt_cache_options: { mode: 'implicit' } };
  await ask(key, responses, { ...responses.body(3), ...own }, session);
  expect(received[1]?.prompt_cache_options).toEqual(sent);
});

test('only named conversations are asked about', async () => {
  await open(messages, { cache_diagnosis: true });
  const key = await keyOf();
  await ask(key, messages, messages.body(1), null);
  expect(received.at(-1)).not.toHaveProperty('diagnostics');
});

test('a channel whose bodies pass as they are asks nothing', async () => {
  await open(messages, { cache_diagnosis: true, pass_through: true });
  await ask(await keyOf(), messages, messages.body(1), 'passes');
  expect(received.at(-1)).not.toHaveProperty('diagnostics');
});

test('Responses: earlier models, which do not take it, are not asked', async () => {
  const older = {
    ...responses,
    model: 'gpt-5.4',
    body: (turns: number) => ({ ...responses.body(turns), model: 'gpt-5.4' }),
  };
  await open(older, { cache_diagnosis: true });
  const key = await keyOf();
  for (const turns of [1, 3]) await ask(key, older, older.body(turns), 'older');
  expect(received).toHaveLength(2);
  for (const sent of received) expect(sent).not.toHaveProperty('prompt_cache_options');
});
