/** Conversations that come back after a change of channel: what the upstream did not sign never reaches it, what it did sign stays byte for byte. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { codecFor } from '../../server/protocols/registry.ts';
import { signingAt } from '../../server/providers/knowledge/signature.ts';
import { editPaths } from '../../server/relay/intake/json-text.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;

const sealed = `EqoB${'AbCd'.repeat(20)}==`;

const answers: Readonly<Record<string, unknown>> = {
  messages: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: [{ type: 'text', text: 'hi' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 3, output_tokens: 2 },
  },
  responses: {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'gpt',
    output: [{ type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] }],
    usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
  },
  gemini: {
    candidates: [{ content: { role: 'model', parts: [{ text: 'hi' }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
  },
};

beforeAll(async () => {
  upstream = await startUpstream((response, { path }) =>
    sendJson(
      response,
      path.endsWith('/messages')
        ? answers.messages
        : path.endsWith('/responses')
          ? answers.responses
          : path.includes('generateContent')
            ? answers.gemini
            : completion(3, 2),
    ),
  );
  gateway = await createTestGateway();
  await gateway.channel(upstream.url, { type: 14, models: 'claude' });
  await gateway.channel(upstream.url, { type: 1, models: 'gpt' });
  await gateway.channel(upstream.url, { type: 24, models: 'gemini-3-pro' });
  await gateway.option('SelfUseModeEnabled', 'true');
  key = (await gateway.token()).key;
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});

async function sent(path: string, body: string): Promise<{ body: string; dropped: readonly string[] }> {
  const before = upstream.requests.length;
  const response = await gateway.relay.handle(
    new Request(`http://gateway${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
      body,
    }),
    path,
    { ip: () => '127.0.0.1' },
  );
  await response.text();
  expect(response.status).toBe(200);
  const [log] = await gateway.logs();
  const { dropped = [] } = JSON.parse(log?.other ?? '{}') as { dropped?: string[] };
  return { body: upstream.requests[before]?.body.toString('utf8') ?? '', dropped };
}

/** Unusual spacing: what is kept must be kept byte for byte. */
const turns = (blocks: readonly string[], more = '') =>
  `{ "model":"claude" ,"max_tokens": 5e2,${more}"messages" : [ {"role":"user","content":"hi"} , {"role":"assistant", "content":[ ${blocks.join(' , ')} ]},\n{"role":"user","content":"go on"} ] }`;

const thinking = (signature: string | null) =>
  `{"type":"thinking","thinking":"h\\u006dm"${signature === null ? '' : `,"signature":"${signature}"`}}`;
const words = '{"type":"text","text":"it is \\u0031" }';
const call = '{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":1.0}}';

test('thoughts that this upstream signed go back byte for byte', async () => {
  const body = turns([thinking(sealed), `{"type":"redacted_thinking","data":"${sealed}"}`, words, call]);
  expect(await sent('/v1/messages', body)).toEqual({ body, dropped: [] });
});

test.each([
  ['sealed by a Responses upstream', 'gw1.r.gAAAAAB'],
  ['signed by a Gemini upstream', 'gw1.g.CiQB'],
  ['with an empty signature', ''],
  ['without a signature', null],
])('a thought %s goes, and is declared; every other byte stays', async (_name, signature) => {
  expect(await sent('/v1/messages', turns([thinking(signature), words, thinking(sealed), call]))).toEqual({
    body: turns([words, thinking(sealed), call]),
    dropped: ["/messages/1/content/0: a thought without this provider's signature"],
  });
  expect((await sent('/v1/messages', turns([words, thinking(signature)]))).body).toBe(turns([words]));
});

test('a turn that was nothing but a foreign thought goes as a whole', async () => {
  const { body } = await sent('/v1/messages', turns([thinking('gw1.g.x')]));
  expect(JSON.parse(body).messages).toEqual([
    { role: 'user', content: 'hi' },
    { role: 'user', content: 'go on' },
  ]);
});

test('a budget for thinking goes where the call it would stand before has lost its thought', async () => {
  const requested = '"thinking":{"type":"enabled","budget_tokens":2000},';
  const clearing =
    '"context_management":{"edits":[{"type":"clear_thinking_20251015"},{"type":"clear_tool_uses_20250919"}]},';
  const { body, dropped } = await sent('/v1/messages', turns([thinking(''), call], requested + clearing));
  expect(JSON.parse(body)).not.toHaveProperty('thinking');
  expect(JSON.parse(body).context_management).toEqual({ edits: [{ type: 'clear_tool_uses_20250919' }] });
  expect(dropped).toContain('/thinking: the history calls a tool without the signed thought before it');
  const adaptive = turns([thinking(''), call], '"thinking":{"type":"adaptive"},');
  expect(JSON.parse((await sent('/v1/messages', adaptive)).body)).toMatchObject({ thinking: { type: 'adaptive' } });
});

test('a call that another upstream made without a thought takes the budget away too', async () => {
  const requested = '"thinking":{"type":"enabled","budget_tokens":2000},';
  const { body, dropped } = await sent('/v1/messages', turns(['{"type":"text","text":"I look"}', call], requested));
  expect(JSON.parse(body)).not.toHaveProperty('thinking');
  expect(JSON.parse(body).messages[1].content).toHaveLength(2);
  expect(dropped).toEqual(['/thinking: the history calls a tool without the signed thought before it']);
});

const items = (list: readonly string[]) => `{"model":"gpt","store":false,"input":[\n${list.join(',\n')}\n]}`;
const userItem = '{"type":"message","role":"user","content":"hi" }';
const own = '{"type":"reasoning","id":"rs_68af01c2","summary":[],"encrypted_content":"gAAAAABqYUYA"}';

test('items of a Responses history that another upstream sealed go; its own stay', async () => {
  const anonymous = [
    '{"type":"reasoning","id":"rs_1_0","summary":[],"encrypted_content":"gw1.a.EqoB"}',
    '{"type":"reasoning","id":"rs_20261122_1","summary":[{"type":"summary_text","text":"hm"}]}',
  ];
  const { body, dropped } = await sent(
    '/v1/responses',
    items([userItem, anonymous[0] ?? '', own, anonymous[1] ?? '', userItem]),
  );
  expect(body).toBe(items([userItem, own, userItem]));
  expect(dropped).toEqual([1, 3].map((at) => `/input/${at}: a thought without this provider's seal`));
  const kept = items([userItem, '{"type":"reasoning","id":"rs_68af01c2","summary":[]}', userItem]);
  expect(await sent('/v1/responses', kept)).toEqual({ body: kept, dropped: [] });
});

test('seals of other dialects leave a chat history', async () => {
  const message = (details: string) =>
    `{"model":"gpt","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"x"${details}},{"role":"user","content":"go"}]}`;
  const foreign = '{"type":"reasoning.text","text":"hm","signature":"gw1.a.EqoB"}';
  const native = '{"type":"reasoning.encrypted","data":"abc"}';
  expect((await sent('/v1/chat/completions', message(`,"reasoning_details":[${foreign}]`))).body).toBe(message(''));
  expect((await sent('/v1/chat/completions', message(`,"reasoning_details":[${foreign},${native}]`))).body).toBe(
    message(`,"reasoning_details":[${native}]`),
  );
});

test('a Gemini history loses foreign thoughts, and foreign calls get the documented stand-in', async () => {
  const parts = (list: readonly unknown[]) => ({
    contents: [
      { role: 'user', parts: [{ text: 'hi' }] },
      { role: 'model', parts: list },
      { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: '1' } } }] },
    ],
  });
  const path = '/v1beta/models/gemini-3-pro:generateContent';
  const foreign = parts([
    { text: 'hm', thought: true, thoughtSignature: 'gw1.a.EqoB' },
    { functionCall: { name: 'f', args: {} }, thoughtSignature: Buffer.from('gw1.r.gAAA').toString('base64') },
  ]);
  const standIn = 'skip_thought_signature_validator';
  expect(JSON.parse((await sent(path, JSON.stringify(foreign))).body)).toEqual(
    parts([{ functionCall: { name: 'f', args: {} }, thoughtSignature: standIn }]),
  );
  const unsigned = parts([{ functionCall: { id: 'toolu_1', name: 'f', args: {} } }]);
  expect(JSON.parse((await sent(path, JSON.stringify(unsigned))).body)).toEqual(
    parts([{ functionCall: { id: 'toolu_1', name: 'f', args: {} }, thoughtSignature: standIn }]),
  );
  const native = JSON.stringify(
    parts([
      { functionCall: { name: 'f', args: {} }, thoughtSignature: 'CiQB' },
      { functionCall: { name: 'f', args: {} } },
    ]),
  );
  expect(await sent(path, native)).toEqual({ body: native, dropped: [] });
});

test.each([
  ['[1, 2 ,3]', [[0]], '[2 ,3]'],
  ['[ 1, 2 ,3 ]', [[2]], '[ 1, 2 ]'],
  [
    '[ {"a":"],"} ,[2]]',
    [
      [0, 'a'],
      [1, 0],
    ],
    '[ {} ,[]]',
  ],
  ['{"a":[{"b":"\\\\\\"]"},2]}', [['a', 0]], '{"a":[2]}'],
  ['[1]', [[7]], '[1]'],
])('an edit of %s at %j touches nothing else', (text, paths, expected) =>
  expect(
    editPaths(
      text,
      paths.map((path) => ({ path, value: undefined })),
    ),
  ).toBe(expected),
);

test('at its own host a provider is shown the form of signature that it makes alone', () => {
  const goes = (provider: string, host: string, signature: string) =>
    codecFor('anthropic-messages').foreignBlocks?.(
      {
        messages: [
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'x', signature },
              { type: 'text', text: 'y' },
            ],
          },
        ],
      },
      signingAt(provider, 'anthropic-messages', host),
    ).length;
  const uuid = '3f0e2f5e-93f7-4a3a-9b51-2f6d8f1f2e11';
  expect(goes('anthropic', 'https://api.anthropic.com', uuid)).toBe(1);
  expect(goes('anthropic', 'https://api.anthropic.com', sealed)).toBe(0);
  expect(goes('anthropic', 'https://relay.example.com', uuid)).toBe(0);
  expect(goes('anthropic', 'https://notanthropic.com', uuid)).toBe(0);
  expect(goes('deepseek', 'https://api.deepseek.com', '')).toBe(0);
  const item = (encrypted_content: string) => ({ input: [{ type: 'reasoning', id: 'rs_1', encrypted_content }] });
  const atOpenAi = signingAt('openai', 'openai-responses', 'https://api.openai.com');
  const foreign = codecFor('openai-responses').foreignBlocks;
  expect(foreign?.(item('bm90IGEgRmVybmV0IHRva2Vu'), atOpenAi)).toHaveLength(1);
  expect(foreign?.(item('gAAAAABqYUYAzHfrxAd'), atOpenAi)).toHaveLength(0);
});

test.each([
  [
    'another account',
    '/v1/responses',
    items([userItem, own, userItem]),
    items([userItem, userItem]),
    {
      error: {
        message: 'The encrypted content gAAA...YA could not be verified.',
        type: 'invalid_request_error',
        code: 'invalid_encrypted_content',
      },
    },
  ],
  [
    'another model',
    '/v1/messages',
    turns([thinking(sealed), words]),
    turns([words]),
    {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'messages.1.content.0: Invalid `signature` in `thinking` block',
      },
    },
  ],
])(
  'what %s signed is refused once, and the conversation goes on without it',
  async (_name, path, body, expected, refusal) => {
    const fallback = upstream.requests.length;
    let rejected = 0;
    upstream.script((response) => {
      rejected++;
      sendJson(
        response,
        rejected === 1 ? refusal : path.endsWith('messages') ? answers.messages : answers.responses,
        rejected === 1 ? 400 : 200,
      );
    });
    const first = await sent(path, body);
    expect(first.body).toBe(body);
    expect(upstream.requests.slice(fallback).map((one) => one.body.toString('utf8'))).toEqual([body, expected]);
    expect(first.dropped).toHaveLength(1);
    expect(gateway.troubles).toEqual([]);
  },
);

test('an upstream that refuses without end is not asked without end', async () => {
  const before = upstream.requests.length;
  upstream.script((response) =>
    sendJson(
      response,
      { type: 'error', error: { type: 'invalid_request_error', message: 'Invalid `signature` in `thinking` block' } },
      400,
    ),
  );
  const response = await gateway.relay.handle(
    new Request('http://gateway/v1/messages', {
      method: 'POST',
      headers: { 'x-api-key': `sk-${key}` },
      body: turns([thinking(sealed), words]),
    }),
    '/v1/messages',
    { ip: () => '' },
  );
  expect(response.status).toBe(400);
  expect(await response.text()).toContain('Invalid `signature`');
  expect(upstream.requests.length - before).toBe(2);
});
