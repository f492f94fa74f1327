/**
 * Refusals by seed, from upstreams that are hostile, odd or only strict about a value, to callers who want others to lose what
 * they send: whatever two accounts of one person meet, a third user's requests stay as they are, and nobody is asked for more
 * than one further attempt. The full number is run by `HOSTILE_REFUSALS=200`.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { removableRows } from '../../server/providers/knowledge/removable-members.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { randomOf } from '../support/random.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';
import { VirtualTime } from '../support/virtual-time.ts';

type Members = Record<string, unknown>;
type Dialect = 'openai-chat' | 'openai-responses' | 'anthropic-messages';

const cases = Number(process.env.HOSTILE_REFUSALS ?? 45);

let gateway: TestGateway;
let upstream: Upstream;
let time: VirtualTime;
/** Two accounts of one person, and another user. */
let attackers: readonly [string, string];
let victim: string;
/** What the upstream answers a body; null = it takes it. */
let refuses: (body: Members) => { readonly status: number; readonly body: unknown } | null;

const served: Readonly<Record<Dialect, unknown>> = {
  'openai-chat': completion(3, 2),
  'openai-responses': {
    ...{ id: 'resp_1', object: 'response', status: 'completed', model: 'm' },
    output: [{ type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] }],
    usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
  },
  'anthropic-messages': {
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' },
    content: [{ type: 'text', text: 'hi' }],
    usage: { input_tokens: 3, output_tokens: 2 },
  },
};
const paths: Readonly<Record<Dialect, string>> = {
  'openai-chat': '/v1/chat/completions',
  'openai-responses': '/v1/responses',
  'anthropic-messages': '/v1/messages',
};
const types: Readonly<Record<Dialect, number>> = { 'openai-chat': 1, 'openai-responses': 1, 'anthropic-messages': 14 };
const dialects = Object.keys(paths) as Dialect[];

beforeAll(async () => {
  time = new VirtualTime();
  upstream = await startUpstream((response, received) => {
    const refused = refuses(JSON.parse(received.body.toString('utf8')) as Members);
    if (refused !== null) return sendJson(response, refused.body, refused.status);
    const dialect = dialects.find((one) => received.path.endsWith(paths[one]));
    return sendJson(response, served[dialect ?? 'openai-chat']);
  });
  gateway = await createTestGateway({ relay: { timers: time } });
  await gateway.option('SelfUseModeEnabled', 'true');
  await gateway.option('RetryTimes', '0');
  const keyOf = async (username: string) => {
    const id = await gateway.services.users.create({
      ...{ username, password: 'password1', displayName: '', role: 1, quota: 1_000_000_000 },
    });
    const { key } = await gateway.services.tokens.create(id, { name: 't', unlimited_quota: true });
    return key;
  };
  attackers = [await keyOf('first'), await keyOf('second')];
  victim = await keyOf('third');
  await gateway.sync();
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});

const parameters = {
  type: 'object',
  properties: { a: { type: 'string' } },
  required: ['a'],
  additionalProperties: false,
};

/** A request with all that may be left out, and with what may not. */
function whole(dialect: Dialect, model: string, words: string, conversation: string, effort = 'low'): Members {
  if (dialect === 'openai-chat')
    return {
      model,
      messages: [{ role: 'user', content: words }],
      ...{ temperature: 0.5, top_p: 0.9, seed: 1, presence_penalty: 0.1, frequency_penalty: 0.1 },
      ...{ verbosity: effort, reasoning_effort: effort, metadata: { a: 'b' }, prompt_cache_key: conversation },
      tools: [{ type: 'function', function: { name: 'look', parameters, strict: true } }],
      ...{ tool_choice: 'auto', max_completion_tokens: 50, n: 1, stop: ['x'], store: false },
      response_format: { type: 'json_object' },
    };
  if (dialect === 'openai-responses')
    return {
      model,
      input: [{ role: 'user', content: words }],
      ...{ temperature: 0.5, top_p: 0.9, metadata: { a: 'b' }, prompt_cache_key: conversation },
      ...{ reasoning: { effort }, text: { verbosity: effort } },
      tools: [{ type: 'function', name: 'look', parameters, strict: true }],
      ...{ tool_choice: 'auto', max_output_tokens: 50, store: false },
    };
  return {
    model,
    messages: [{ role: 'user', content: [{ type: 'text', text: words, cache_control: { type: 'ephemeral' } }] }],
    ...{ temperature: 0.5, top_k: 5, output_config: { effort }, metadata: { user_id: conversation } },
    tools: [{ name: 'look', input_schema: parameters, strict: true }],
    ...{ tool_choice: { type: 'auto' }, max_tokens: 50, stop_sequences: ['x'] },
  };
}

const removableOf: Readonly<Record<Dialect, readonly string[]>> = {
  'openai-chat': ['temperature', 'top_p', 'seed', 'presence_penalty', 'verbosity', 'reasoning_effort', 'metadata'],
  'openai-responses': ['temperature', 'top_p', 'metadata', 'reasoning.effort', 'text.verbosity'],
  'anthropic-messages': ['temperature', 'top_k', 'output_config.effort', 'tools.0.strict'],
};
const neverOf: Readonly<Record<Dialect, readonly string[]>> = {
  'openai-chat':
    'messages tools tool_choice response_format stop max_completion_tokens n store messages[0].content tools[0].function.name'.split(
      ' ',
    ),
  'openai-responses': 'input tools tool_choice max_output_tokens store input[0].content tools[0].name'.split(' '),
  'anthropic-messages':
    'messages tools tool_choice max_tokens stop_sequences metadata messages.0.content.0.text tools.0.input_schema'.split(
      ' ',
    ),
};

/** What servers answer in. */
const shapes: readonly ((dialect: Dialect, message: string, param: string) => unknown)[] = [
  (dialect, message, param) =>
    dialect === 'anthropic-messages'
      ? { type: 'error', error: { type: 'invalid_request_error', message: `${param}: ${message}` } }
      : { error: { message, type: 'invalid_request_error', param, code: null } },
  (_, message, param) => ({ error: { message: `${message} ('${param}')`, type: 'invalid_request_error' } }),
  (_, message, param) => ({ object: 'error', message: `'${param}': ${message}`, type: 'BadRequestError', code: 400 }),
  (_, message, param) => ({ error: `${param}: ${message}` }),
];

/** Sentences about one value, one account or one combination: true of nobody else. Each as a real server words it. */
const narrow: readonly string[] = [
  'decimal above maximum value. Expected a value <= 2, but got 99 instead.',
  'Input should be less than or equal to 1',
  'must be between 0 and 1',
  'Expected an integer, but got a string instead.',
  'string too long. Expected a string with maximum length 64, but got a string with length 900 instead.',
  'Invalid value: 99',
  'has too many properties, expected at most 16',
  'is not supported when tools are used',
  'is not supported together with response_format',
  'may only be set if thinking is off',
  'is not available on your plan',
  'Your organization must be verified to use this parameter.',
  'is not enabled for this account',
  'cannot be combined with other sampling parameters',
  'is not supported for free users',
  'is not permitted by the policy of your workspace',
  'is not allowed on trial subscriptions',
  'is not supported for streaming requests',
  'is not supported in batches',
  'is not supported for pictures',
  'is not supported at this context length',
  'is not available in your region',
  'is not supported for this request',
  'is temporarily not supported',
  'unsupported: 99',
  '流式请求不支持该参数',
  '免费套餐不支持该参数',
  '取值范围为 0 到 1',
  '您的账号不支持该参数',
];
/** Sentences that are true of all. */
const plain: readonly string[] = [
  'Unsupported parameter: this is not supported with this model.',
  'Extra inputs are not permitted',
  'Unrecognized request argument supplied',
  'is deprecated for this model',
  '不支持该参数',
];

interface Scene {
  readonly kind: string;
  readonly dialect: Dialect;
  /** Of the attacker's request. */
  readonly words: string;
  /** Accounts that meet it. */
  readonly accounts: number;
  readonly status: number;
  /** Of the first refusal, and of those to what comes after it. */
  readonly answers: readonly unknown[];
  /** Attempts that a request may cost. */
  readonly most: number;
}

function sceneFor(random: () => number): Scene {
  const pick = <Of>(of: readonly Of[]): Of => of[Math.floor(random() * of.length)] as Of;
  const dialect = pick(dialects);
  const removable = pick(removableOf[dialect]);
  const never = pick(neverOf[dialect]);
  const shape = pick(shapes);
  const base = { dialect, words: 'hello', accounts: 2, status: pick([400, 422]), most: 2 };
  const kind = pick([
    'narrow',
    'one account',
    'never',
    'quotes',
    'another each time',
    'absent',
    'status',
    'several',
  ] as const);
  switch (kind) {
    case 'narrow':
      return { kind, ...base, answers: [shape(dialect, pick(narrow), removable)] };
    case 'one account':
      return { kind, ...base, accounts: 1, answers: [shape(dialect, pick(plain), removable)] };
    case 'never':
      return { kind, ...base, most: 1, answers: [shape(dialect, pick([...plain, ...narrow]), never)] };
    case 'quotes': {
      const words = pick([
        `the ${removable} of it`,
        `'${removable}' is not supported`,
        removable.toUpperCase(),
        `{"${removable}":1}`,
      ]);
      return { kind, ...base, words, most: 1, answers: [shape(dialect, pick(plain), removable)] };
    }
    case 'another each time':
      return {
        ...{ kind, ...base },
        answers: removableOf[dialect].map((member) => shape(dialect, pick(plain), member)),
      };
    case 'absent':
      return {
        kind,
        ...base,
        most: 1,
        answers: [shape(dialect, pick(plain), pick(['logit_bias', 'min_p', 'top_a', 'x']))],
      };
    case 'status':
      return {
        ...{ kind, ...base, most: 1, status: pick([401, 403, 404, 413, 429, 500, 503]) },
        answers: [shape(dialect, pick(plain), removable)],
      };
    case 'several':
      return {
        ...{ kind, ...base, most: 1 },
        answers: [shape(dialect, `${removable} and ${never} are not supported: '${never}'`, never)],
      };
  }
}

/** What is left of a body without all that may be left out. */
function without(dialect: Dialect, body: Members): Members {
  const copy = structuredClone(body);
  const drop = (value: unknown, [step = '', ...rest]: readonly string[]): void => {
    if (typeof value !== 'object' || value === null) return;
    const name = step.replace('[]', '');
    const held = (value as Members)[name];
    if (rest.length === 0) delete (value as Members)[name];
    else for (const one of Array.isArray(held) ? held : [held]) drop(one, rest);
    // An object that held nothing else goes with it.
    if (rest.length > 0 && typeof held === 'object' && held !== null && Object.keys(held).length === 0)
      delete (value as Members)[name];
  };
  for (const row of removableRows)
    if (row.dialect === dialect && row.member !== 'tools[].type') drop(copy, row.member.split('.'));
  return copy;
}

const bodies = (from: number): Members[] =>
  upstream.requests.slice(from).map(({ body }) => JSON.parse(body.toString('utf8')) as Members);

test('a refusal that two accounts provoke costs no other user a member, and nobody more than one further attempt', async () => {
  const random = randomOf(20261129);
  const seen = new Map<string, number>();
  for (let at = 0; at < cases; at++) {
    const scene = sceneFor(random);
    const { dialect, accounts, answers, status, most, words } = scene;
    const model = `h${at}`;
    await gateway.channel(upstream.url, { type: types[dialect], models: model });
    const ask = async (key: string, body: Members) => {
      const from = upstream.requests.length;
      const response = await gateway.send(key, paths[dialect], body);
      await response.text();
      return { status: response.status, sent: bodies(from) };
    };
    let made = 0;
    refuses = () => {
      const answer = answers[made % answers.length];
      made++;
      // Where one answer is all it has, what comes without the member is taken.
      return answers.length === 1 && made % 2 === 0 && most > 1 ? null : { status, body: answer };
    };
    for (const key of attackers.slice(0, accounts))
      for (const conversation of ['a', 'b']) {
        made = 0;
        const body = whole(dialect, model, words, `${key.slice(-6)}${conversation}`, 'max');
        const asked = await ask(key, body);
        const told = JSON.stringify({ ...scene, conversation, calls: asked.sent.length });
        expect(asked.sent.length, told).toBeLessThanOrEqual(most);
        expect(asked.sent[0], told).toEqual(body);
        for (const one of asked.sent) expect(without(dialect, one), told).toEqual(without(dialect, body));
        if (asked.sent.length > 1) seen.set('further', (seen.get('further') ?? 0) + 1);
      }
    await gateway.sync();
    // An upstream that failed for its own sake is tried again.
    time.jump(600_000);
    refuses = () => null;
    const body = whole(dialect, model, 'hello', `victim${at}`);
    const spared = await ask(victim, body);
    expect(spared, JSON.stringify(scene)).toEqual({ status: 200, sent: [body] });
    seen.set(scene.kind, (seen.get(scene.kind) ?? 0) + 1);
    time.jump(60_000);
  }
  if (cases >= 40) expect([...seen.keys()].length).toBe(9);
  if (cases > 45) console.log(Object.fromEntries(seen));
});
