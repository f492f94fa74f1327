import { expect, test } from 'vitest';
import { rowRules } from '../../server/practice/row-rules.ts';
import { modelRows } from '../../server/providers/knowledge/models.ts';
import { providerRows } from '../../server/providers/knowledge/providers.ts';
import { bedrockAccount } from '../doubles/doubles/bedrock.ts';
import { createVertex, makeServiceAccount } from '../doubles/doubles/vertex.ts';
import type { Rule } from '../doubles/rule.ts';
import { createDouble } from '../doubles/serve.ts';
import { startStrictDouble } from '../doubles/start.ts';
import { doubleNames, doubles } from '../doubles/table.ts';

const played = [...doubles, createVertex(makeServiceAccount('http://vertex.test/token'))];
const now = () => Date.parse('2026-01-01T00:00:00Z');

type Members = Record<string, unknown>;
const headersOf: Readonly<Record<string, Record<string, string>>> = {
  anthropic: { 'x-api-key': 'sk', 'anthropic-version': '2023-06-01' },
  gemini: { 'x-goog-api-key': 'sk' },
  azure: { 'api-key': 'sk' },
  bedrock: { authorization: 'Bearer bedrock-practice-key' },
};

/** @param headers instead of a caller's with a good key. */
function ask(name: string, path: string, body: unknown, headers?: Record<string, string>): Promise<Response> {
  const double = played.find((one) => one.name === name);
  if (double === undefined) throw new Error(name);
  const running = createDouble(double, { now, rulesFor: rowRules(modelRows, providerRows) });
  return running.handle(
    new Request(`http://${name}.test${path}`, {
      method: 'POST',
      headers: headers ?? headersOf[name] ?? { authorization: 'Bearer sk' },
      body: JSON.stringify(body),
    }),
  );
}

const chatAt: Readonly<Record<string, string>> = {
  groq: '/openai/v1/chat/completions',
  openrouter: '/api/v1/chat/completions',
};
const pathOf = (name: string): string => {
  const double = played.find((one) => one.name === name);
  return chatAt[name] ?? double?.doors.find(({ path }) => path.endsWith('/chat/completions'))?.path ?? '';
};
const turn = { role: 'user', content: 'hi' };
const chat = (name: string, model: string, more: Members = {}, headers?: Record<string, string>) =>
  ask(name, pathOf(name), { model, messages: [turn], ...more }, headers);
const claude = (more: Members = {}, headers?: Record<string, string>) =>
  ask(
    'anthropic',
    '/v1/messages',
    { model: 'claude-sonnet-4-5', max_tokens: 4096, messages: [turn], ...more },
    headers,
  );
const gemini = (model: string, more: Members = {}, method = 'generateContent', headers?: Record<string, string>) =>
  ask(
    'gemini',
    `/v1beta/models/${model}:${method}`,
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }], ...more },
    headers,
  );
const responses = (more: Members = {}) => ask('openai', '/v1/responses', { model: 'gpt-5', input: 'hi', ...more });

const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } });
const requested = (id: string, more: Members = {}) => ({
  role: 'assistant',
  content: '',
  tool_calls: [call(id)],
  ...more,
});
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'done' });
const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }];
const messagesTools = [{ name: 'f', input_schema: { type: 'object', properties: {} } }];

test.each<[string, () => Promise<Response>, number, RegExp]>([
  [
    'openai: max_tokens at a model that thinks',
    () => chat('openai', 'gpt-5', { max_tokens: 9 }),
    400,
    /max_completion_tokens/,
  ],
  [
    'openai: a temperature there',
    () => chat('openai', 'o3', { temperature: 0.2 }),
    400,
    /Unsupported value: 'temperature'/,
  ],
  [
    'openai: a word for effort it does not know',
    () => chat('openai', 'gpt-5', { reasoning_effort: 'none' }),
    400,
    /none/,
  ],
  [
    'openai: a member it does not know',
    () => chat('openai', 'gpt-4o', { top_k: 3 }),
    400,
    /Unrecognized request argument supplied: top_k/,
  ],
  [
    'openai: a member inside a message',
    () => chat('openai', 'gpt-4o', { messages: [{ ...turn, x: 1 }] }),
    400,
    /messages\[0\]\.x/,
  ],
  [
    'openai: an id of 41 letters',
    () => chat('openai', 'gpt-4o', { tools, messages: [turn, requested('a'.repeat(41)), result('a'.repeat(41))] }),
    400,
    /tool_calls/,
  ],
  [
    'openai: a call without its result',
    () => chat('openai', 'gpt-4o', { tools, messages: [turn, requested('call_1'), turn] }),
    400,
    /must be followed by tool messages/,
  ],
  ['openai: a model that is not there', () => chat('openai', 'claude-3'), 404, /model_not_found/],
  [
    'openai: an open schema that is strict',
    () =>
      chat('openai', 'gpt-4o', {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'x', strict: true, schema: { type: 'object', properties: {} } },
        },
      }),
    400,
    /additionalProperties/,
  ],
  ['responses: top_k', () => responses({ top_k: 3 }), 400, /unknown_parameter/],
  ['responses: a temperature', () => responses({ temperature: 0.2 }), 400, /temperature/],
  [
    'azure: no version in the address',
    () => ask('azure', '/openai/deployments/gpt-4.1/chat/completions', { messages: [turn] }),
    404,
    /Resource not found/,
  ],
  ['anthropic: no limit', () => claude({ max_tokens: undefined }), 400, /max_tokens: Field required/],
  [
    'anthropic: a limit over the model’s',
    () => claude({ max_tokens: 200_000 }),
    400,
    /maximum allowed number of output tokens/,
  ],
  ['anthropic: temperature and top_p', () => claude({ temperature: 1, top_p: 0.9 }), 400, /cannot both be specified/],
  [
    'anthropic: five marks',
    () =>
      claude({
        system: Array.from({ length: 5 }, () => ({ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } })),
      }),
    400,
    /maximum of 4 blocks/,
  ],
  [
    'anthropic: a blank text',
    () => claude({ messages: [{ role: 'user', content: [{ type: 'text', text: ' ' }] }] }),
    400,
    /non-whitespace/,
  ],
  [
    'anthropic: a call without its result',
    () =>
      claude({
        tools: messagesTools,
        messages: [
          turn,
          { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }] },
          turn,
        ],
      }),
    400,
    /tool_use/,
  ],
  [
    'anthropic: an id of other letters',
    () =>
      claude({
        tools: messagesTools,
        messages: [
          turn,
          { role: 'assistant', content: [{ type: 'tool_use', id: 'a.b', name: 'f', input: {} }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a.b', content: 'x' }] },
        ],
      }),
    400,
    /pattern/,
  ],
  [
    'anthropic: a budget at a model that finds its own',
    () => claude({ model: 'claude-opus-4-8', thinking: { type: 'enabled', budget_tokens: 1024 } }),
    400,
    /adaptive/,
  ],
  [
    'anthropic: a budget as long as the answer',
    () => claude({ max_tokens: 1024, thinking: { type: 'enabled', budget_tokens: 1024 } }),
    400,
    /greater than `thinking.budget_tokens`/,
  ],
  ['anthropic: no version', () => claude({}, { 'x-api-key': 'sk' }), 400, /anthropic-version/],
  [
    'gemini: a level at 2.5',
    () => gemini('gemini-2.5-pro', { generationConfig: { thinkingConfig: { thinkingLevel: 'LOW' } } }),
    400,
    /thinking_level is not supported/,
  ],
  [
    'gemini: level and budget',
    () =>
      gemini('gemini-3-pro-preview', {
        generationConfig: { thinkingConfig: { thinkingLevel: 'LOW', thinkingBudget: 128 } },
      }),
    400,
    /only one/,
  ],
  [
    'gemini: a schema’s own words',
    () =>
      gemini('gemini-2.5-pro', {
        tools: [{ functionDeclarations: [{ name: 'f', parameters: { type: 'OBJECT', additionalProperties: false } }] }],
      }),
    400,
    /Unknown name/,
  ],
  [
    'gemini: a penalty',
    () => gemini('gemini-2.5-flash', { generationConfig: { presencePenalty: 1 } }),
    400,
    /Penalty is not enabled/,
  ],
  [
    'gemini: a call of the running turn unsigned',
    () =>
      gemini('gemini-3-pro-preview', {
        contents: [
          { role: 'user', parts: [{ text: 'hi' }] },
          { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] },
          { role: 'user', parts: [{ functionResponse: { name: 'f', response: {} } }] },
        ],
      }),
    400,
    /thought_signature/,
  ],
  [
    'mistral: an id of other than nine letters',
    () =>
      chat('mistral', 'mistral-large-latest', { tools, messages: [turn, requested('call_123'), result('call_123')] }),
    400,
    /length of 9/,
  ],
  [
    'mistral: a member it does not know',
    () => chat('mistral', 'mistral-large-latest', { logit_bias: {} }),
    422,
    /extra_forbidden/,
  ],
  [
    'groq: thoughts of others in the history',
    () =>
      chat('groq', 'openai/gpt-oss-120b', {
        messages: [turn, { role: 'assistant', content: 'x', reasoning_content: 'y' }, turn],
      }),
    400,
    /reasoning_content/,
  ],
  ['cerebras: a penalty', () => chat('cerebras', 'gpt-oss-120b', { frequency_penalty: 1 }), 400, /frequency_penalty/],
  [
    'perplexity: two users in a row',
    () => chat('perplexity', 'sonar', { messages: [turn, turn] }),
    400,
    /should be alternating/,
  ],
  ['xai: a penalty where it thinks', () => chat('xai', 'grok-4-0709', { presence_penalty: 1 }), 400, /presence/i],
  [
    'deepseek: thoughts that did not come back',
    () => chat('deepseek', 'deepseek-v4-pro', { tools, messages: [turn, requested('call_1'), result('call_1')] }),
    400,
    /reasoning_content/,
  ],
  [
    'deepseek: JSON without the word',
    () => chat('deepseek', 'deepseek-chat', { response_format: { type: 'json_object' } }),
    400,
    /'json'/,
  ],
  [
    'moonshot: a turn of nothing',
    () => chat('moonshot', 'kimi-k2-0905-preview', { messages: [{ role: 'user', content: '' }] }),
    400,
    /empty/,
  ],
  [
    'zhipu: a chosen tool',
    () => chat('zhipu', 'glm-4.6', { tools, tool_choice: { type: 'function', function: { name: 'f' } } }),
    400,
    /tool_choice/,
  ],
  [
    'ali: thinking without a stream',
    () => chat('ali', 'qwen3-235b-a22b', { enable_thinking: true }),
    400,
    /enable_thinking/,
  ],
  [
    'ollama: thoughts of a model that has none',
    () => ask('ollama', '/api/chat', { model: 'llama3.1', messages: [turn], think: true }),
    400,
    /does not support thinking/,
  ],
  [
    'bedrock: the maker’s own name',
    () =>
      ask('bedrock', '/model/claude-sonnet-4-5/invoke', {
        anthropic_version: 'bedrock-2023-05-31',
        max_tokens: 9,
        messages: [turn],
      }),
    400,
    /model identifier is invalid/,
  ],
])('%s', async (_name, request, status, words) => {
  const answer = await request();
  expect([answer.status, await answer.text()]).toEqual([status, expect.stringMatching(words)]);
});

test.each<[string, () => Promise<Response>, Members]>([
  [
    'openai',
    () => chat('openai', 'gpt-4o', {}, { authorization: 'Bearer wrong' }),
    { error: { type: 'authentication_error', code: 'invalid_api_key' } },
  ],
  [
    'anthropic',
    () => claude({}, { 'x-api-key': 'wrong', 'anthropic-version': '2023-06-01' }),
    { type: 'error', error: { type: 'authentication_error' } },
  ],
  [
    'anthropic, the key in another place',
    () => claude({}, { authorization: 'Bearer sk', 'anthropic-version': '2023-06-01' }),
    { type: 'error' },
  ],
  [
    'gemini, the key as others send it',
    () => gemini('gemini-2.5-pro', {}, 'generateContent', { authorization: 'Bearer sk' }),
    { error: { status: expect.any(String) } },
  ],
  ['gemini, the key in the address', () => gemini('gemini-2.5-pro', {}, 'generateContent?key=sk'), { error: {} }],
  [
    'azure, the key as others send it',
    () =>
      ask(
        'azure',
        '/openai/deployments/gpt-4.1/chat/completions?api-version=1',
        { messages: [turn] },
        { authorization: 'Bearer sk' },
      ),
    { error: {} },
  ],
])('a key that is not good: %s', async (_name, request, body) => {
  const answer = await request();
  expect([400, 401, 403]).toContain(answer.status);
  expect(await answer.json()).toMatchObject(body);
});

test('a key without money is turned away in the provider’s words', async () => {
  const answer = await chat('openai', 'gpt-4o', {}, { authorization: 'Bearer broke' });
  expect([answer.status, await answer.json()]).toMatchObject([429, { error: { code: 'insufficient_quota' } }]);
});

test('thoughts that it signed come back to Anthropic’s double, changed ones and others’ do not', async () => {
  const thinking = { type: 'enabled', budget_tokens: 1024 };
  const { content } = (await (await claude({ thinking })).json()) as { content: Members[] };
  expect(content[0]).toMatchObject({ type: 'thinking', signature: expect.any(String) });
  const again = (first: Members) =>
    claude({ thinking, messages: [turn, { role: 'assistant', content: [first, content[1]] }, turn] });
  expect((await again(content[0] ?? {})).status).toBe(200);
  for (const altered of [{ thinking: 'another thought' }, { signature: 'RXEu' }, { signature: '' }]) {
    const answer = await again({ ...content[0], ...altered });
    expect([answer.status, await answer.text()]).toEqual([
      400,
      expect.stringContaining('Invalid `signature` in `thinking` block'),
    ]);
  }
});

test('so it is with Responses, and a compaction is known again too', async () => {
  const include = ['reasoning.encrypted_content'];
  const more = { include, store: false };
  const { output } = (await (await responses(more)).json()) as { output: Members[] };
  const [thought = {}, ...said] = output;
  const again = (item: Members, after: readonly Members[] = []) =>
    responses({ ...more, input: [turn, item, ...after, turn] });
  expect((await again(thought, said)).status).toBe(200);
  const rejected = await again({ ...thought, encrypted_content: 'gAAAA' }, said);
  expect([rejected.status, await rejected.json()]).toMatchObject([
    400,
    { error: { code: 'invalid_encrypted_content' } },
  ]);
  const compacted = (await (await responses({ input: [turn, { type: 'compaction_trigger' }] })).json()) as {
    output: Members[];
  };
  expect(compacted.output).toEqual([expect.objectContaining({ type: 'compaction' })]);
  expect((await again(compacted.output[0] ?? {})).status).toBe(200);
  expect((await again({ type: 'compaction', encrypted_content: thought.encrypted_content })).status).toBe(400);
});

const declared = [
  {
    functionDeclarations: [
      {
        name: 'f',
        parametersJsonSchema: { type: 'object', properties: { city: { type: 'string' }, days: { type: 'number' } } },
      },
    ],
  },
];

test('and with Gemini’s signed calls', async () => {
  const answer = (await (await gemini('gemini-3-pro-preview', { tools: declared })).json()) as {
    candidates: { content: { parts: Members[] } }[];
  };
  const parts = answer.candidates[0]?.content.parts ?? [];
  const signed = parts.find((part) => part.functionCall !== undefined) ?? {};
  expect(signed.thoughtSignature).toEqual(expect.any(String));
  const history = (part: Members) =>
    gemini('gemini-3-pro-preview', {
      tools: declared,
      contents: [
        { role: 'user', parts: [{ text: 'hi' }] },
        { role: 'model', parts: [part] },
        { role: 'user', parts: [{ functionResponse: { name: 'f', response: {} } }] },
      ],
    });
  expect((await history(signed)).status).toBe(200);
  expect((await history({ ...signed, thoughtSignature: 'RXEu' })).status).toBe(400);
  expect((await history({ ...signed, thoughtSignature: 'context_engineering_is_the_way_to_go' })).status).toBe(200);
});

test('Vertex sells tokens to its own account alone, Bedrock knows its signature', async () => {
  expect((await ask('vertex', '/token', {}, { 'content-type': 'application/x-www-form-urlencoded' })).status).toBe(400);
  const path =
    '/v1/projects/practice-project/locations/us-central1/publishers/google/models/gemini-3-pro-preview:generateContent';
  expect((await ask('vertex', path, {}, { authorization: 'Bearer ya29.9999999999.forged' })).status).toBe(401);
  const { AwsClient } = await import('aws4fetch');
  const body = JSON.stringify({ anthropic_version: 'bedrock-2023-05-31', max_tokens: 9, messages: [turn] });
  const url = 'http://bedrock.test/model/us.anthropic.claude-haiku-4-5-20251001-v1:0/invoke';
  const statusWith = async (secretAccessKey: string, sent = body): Promise<number> => {
    const client = new AwsClient({
      accessKeyId: bedrockAccount.accessKey,
      secretAccessKey,
      service: 'bedrock',
      region: 'us-east-1',
    });
    const signed = await client.sign(url, { method: 'POST', body, aws: { datetime: '20260101T000000Z' } });
    const double = played.find(({ name }) => name === 'bedrock');
    if (double === undefined) throw new Error('bedrock');
    const request = new Request(url, { method: 'POST', headers: signed.headers, body: sent });
    return (await createDouble(double, { now }).handle(request)).status;
  };
  expect(await statusWith(bedrockAccount.secretKey)).toBe(200);
  expect(await statusWith('another')).toBe(403);
  expect(await statusWith(bedrockAccount.secretKey, body.replace('hi', 'ho'))).toBe(403);
});

test.each<[string, () => Promise<Response>, RegExp]>([
  [
    'Together tells each word twice',
    () => chat('together', 'openai/gpt-oss-20b', { stream: true }),
    /"text":"Practice ".*"delta":\{[^}]*"content":"Practice "|"content":"Practice ".*"text":"Practice "/s,
  ],
  [
    'Perplexity sends an empty delta beside the whole message',
    () => chat('perplexity', 'sonar'),
    /"delta":\{"role":"assistant","content":""\}/,
  ],
  ['Anthropic counts iterations', () => claude(), /"iterations":\[/],
  [
    'Gemini signs calls',
    () => gemini('gemini-3-pro-preview', { tools: declared }),
    /"functionCall":.*"thoughtSignature"|"thoughtSignature".*"functionCall"/s,
  ],
  [
    'Gemini streams arguments in pieces where asked',
    () =>
      gemini(
        'gemini-3-pro-preview',
        { tools: declared, toolConfig: { functionCallingConfig: { mode: 'AUTO', streamFunctionCallArguments: true } } },
        'streamGenerateContent?alt=sse',
      ),
    /"partialArgs":\[\{"jsonPath":"\$\.city".*"willContinue":true/,
  ],
  ['more may be cached than was asked', () => chat('openai', 'gpt-4o@over-cached'), /cached_tokens/],
  [
    'an error inside a stream of Anthropic',
    () => claude({ model: 'claude-sonnet-4-5@error-in-stream', stream: true }),
    /event: error\ndata: \{"type":"error"/,
  ],
  [
    'an error inside a stream of Responses',
    () => responses({ model: 'gpt-5@error-in-stream', stream: true }),
    /"type":"response.failed"/,
  ],
  [
    'an error inside a stream of Gemini',
    () => gemini('gemini-2.5-pro@error-in-stream', {}, 'streamGenerateContent?alt=sse'),
    /"error":\{"code":503/,
  ],
  ['an error inside a chat stream', () => chat('openai', 'gpt-4o@error-in-stream', { stream: true }), /"error":\{/],
])('%s', async (_name, request, words) => {
  const answer = await request();
  const text = await answer.text();
  expect(answer.status).toBe(200);
  expect(text).toMatch(words);
});

test('every rule says on whose word, which is not ours, and has a name of its own', () => {
  const rules = new Map<string, Rule>();
  for (const { doors } of played)
    for (const door of doors)
      for (const rule of door.rules) {
        const same = rules.get(rule.id);
        if (same !== undefined) expect([rule.id, rule.source]).toEqual([rule.id, same.source]);
        rules.set(rule.id, rule);
      }
  expect(rules.size).toBeGreaterThan(100);
  const sourceless = [...rules.values()].filter(({ source }) => !/^https:\/\/[a-z0-9.-]+\.[a-z]+\//.test(source));
  expect(sourceless.map(({ id }) => id)).toEqual([]);
});

test('every row of knowledge says on whose word too', () => {
  const rows = [...modelRows, ...providerRows];
  expect(rows.filter(({ source }) => !/^https:\/\/[a-z0-9.-]+\.[a-z]+/.test(source))).toEqual([]);
});

test('the shared rows, too, describe a model that refuses', async () => {
  const running = createDouble(played[0] as (typeof played)[number], {
    now,
    rulesFor: rowRules([{ models: /^gpt-4o$/, unsupported: ['seed'], source: 'https://example.com/' }], []),
  });
  const request = (seed?: number) =>
    new Request('http://openai.test/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: 'Bearer sk' },
      body: JSON.stringify({ model: 'gpt-4o', messages: [turn], seed }),
    });
  expect((await running.handle(request(1))).status).toBe(400);
  expect((await running.handle(request())).status).toBe(200);
});

test('all who can be played can be started by name, and what they print is enough for a channel', async () => {
  expect(played.map(({ name }) => name).toSorted()).toEqual(doubleNames.toSorted());
  expect(startStrictDouble({ name: 'nobody', port: 0, strict: true })).toBeNull();
  for (const strict of [true, false]) {
    const lines: string[] = [];
    const running = startStrictDouble({ name: 'openai', port: 0, strict, print: (line) => lines.push(line) });
    if (running === null) throw new Error('openai');
    const answer = await fetch(`${running.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${running.key}` },
      body: JSON.stringify({ model: 'gpt-4o', messages: [turn], nonsense: 1 }),
    });
    expect(answer.status).toBe(strict ? 400 : 200);
    expect(lines).toEqual([expect.stringContaining(strict ? 'openai/chat-form' : '200')]);
    await running.stop();
  }
});
