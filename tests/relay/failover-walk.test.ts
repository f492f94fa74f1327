/** Conversations with thoughts and tools whose channel and dialect change after every turn, before upstreams that take nothing that they did not sign. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

type Item = Record<string, unknown>;
const dialects = ['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini-generate'] as const;
type Dialect = (typeof dialects)[number];
const models: Readonly<Record<Dialect, string>> = {
  'openai-chat': 'chat-walk',
  'openai-responses': 'gpt-5-walk',
  'anthropic-messages': 'claude-opus-4-5',
  'gemini-generate': 'gemini-3-walk',
};

/** What each upstream signed. */
const issued: Readonly<Record<Dialect, Set<string>>> = {
  'openai-chat': new Set(),
  'openai-responses': new Set(),
  'anthropic-messages': new Set(),
  'gemini-generate': new Set(),
};
let serial = 0;
function sign(dialect: Dialect, start: string): string {
  const signature = `${start}${String(serial++).padStart(48, 'A')}`;
  issued[dialect].add(signature);
  return signature;
}

const items = (value: unknown): Item[] => (Array.isArray(value) ? (value as Item[]) : []);
const standIn = 'skip_thought_signature_validator';

/** Calls and their results by id, as every provider wants them: known, unique, answered in the next turn. */
function pairing(calls: readonly unknown[], results: readonly unknown[], words: string): string[] {
  const faults: string[] = [];
  if (new Set(calls).size !== calls.length) faults.push(`${words}: ids of calls are not unique`);
  if (calls.some((id) => typeof id !== 'string' || !/^[a-zA-Z0-9_-]{1,64}$/.test(id))) faults.push(`${words}: bad id`);
  if (calls.join() !== results.join()) faults.push(`${words}: calls ${calls.join()} and results ${results.join()}`);
  return faults;
}

const refusals: Readonly<Record<Dialect, (body: Item) => string[]>> = {
  'anthropic-messages': ({ messages, thinking }) => {
    const blocks = items(messages).flatMap(({ content }) => items(content));
    const last = items(messages).findLast(({ role }) => role === 'assistant');
    const [first] = items(last?.content);
    const calls = blocks.filter(({ type }) => type === 'tool_use');
    const bare = items(last?.content).some(({ type }) => type === 'tool_use') && !/thinking/.test(String(first?.type));
    return [
      ...blocks
        .filter(({ type, signature }) => type === 'thinking' && !issued['anthropic-messages'].has(String(signature)))
        .map(() => 'Invalid `signature` in `thinking` block'),
      ...(bare && (thinking as Item | undefined)?.type === 'enabled'
        ? ['Expected `thinking`, but found `tool_use`']
        : []),
      ...items(messages).flatMap(({ content }) =>
        items(content).length === 0 && content !== 'go' ? ['empty content'] : [],
      ),
      ...pairing(
        calls.map(({ id }) => id),
        blocks.flatMap(({ type, tool_use_id }) => (type === 'tool_result' ? [tool_use_id] : [])),
        'anthropic',
      ),
    ];
  },
  'openai-responses': ({ input }) => {
    const all = items(input);
    return [
      ...all
        .filter(({ type }) => type === 'reasoning')
        .filter(({ encrypted_content }) => !issued['openai-responses'].has(String(encrypted_content)))
        .map(() => 'invalid_encrypted_content'),
      ...pairing(
        all.flatMap(({ type, call_id }) => (type === 'function_call' ? [call_id] : [])),
        all.flatMap(({ type, call_id }) => (type === 'function_call_output' ? [call_id] : [])),
        'responses',
      ),
    ];
  },
  'openai-chat': ({ messages }) => {
    const all = items(messages);
    return [
      ...all
        .flatMap(({ reasoning_details }) => items(reasoning_details))
        .filter(({ signature }) => signature !== undefined && !issued['openai-chat'].has(String(signature)))
        .map(() => 'a signature of another provider'),
      ...pairing(
        all.flatMap(({ tool_calls }) => items(tool_calls).map(({ id }) => id)),
        all.flatMap(({ role, tool_call_id }) => (role === 'tool' ? [tool_call_id] : [])),
        'chat',
      ),
    ];
  },
  'gemini-generate': ({ contents }) => {
    const faults: string[] = [];
    for (const [at, { parts }] of items(contents).entries()) {
      if (items(parts).length === 0) faults.push('must include at least one parts field');
      for (const { thoughtSignature } of items(parts))
        if (
          thoughtSignature !== undefined &&
          thoughtSignature !== standIn &&
          !issued['gemini-generate'].has(String(thoughtSignature))
        )
          faults.push('Corrupted thought signature');
      const calls = items(parts).filter(({ functionCall }) => functionCall !== undefined);
      if (calls.length === 0) continue;
      if (calls[0]?.thoughtSignature === undefined) faults.push('Function call is missing a thought_signature');
      const answers = items(items(contents)[at + 1]?.parts).filter(
        ({ functionResponse }) => functionResponse !== undefined,
      );
      if (answers.length !== calls.length) faults.push('number of function response parts');
    }
    return faults;
  },
};

const callArguments = { city: 'Oslo' };
const answers: Readonly<Record<Dialect, (calls: boolean) => unknown>> = {
  'anthropic-messages': (calls) => ({
    id: `msg_${serial}`,
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [
      { type: 'thinking', thinking: 'I think.', signature: sign('anthropic-messages', 'E') },
      calls
        ? { type: 'tool_use', id: `toolu_${serial++}`, name: 'weather', input: callArguments }
        : { type: 'text', text: 'done' },
    ],
    stop_reason: calls ? 'tool_use' : 'end_turn',
    usage: { input_tokens: 1, output_tokens: 2 },
  }),
  'openai-responses': (calls) => ({
    id: `resp_${serial}`,
    object: 'response',
    status: 'completed',
    model: 'm',
    output: [
      {
        type: 'reasoning',
        id: `rs_${serial++}`,
        summary: [{ type: 'summary_text', text: 'I think.' }],
        encrypted_content: sign('openai-responses', 'gAAAA'),
      },
      calls
        ? {
            type: 'function_call',
            id: `fc_${serial}`,
            call_id: `call_${serial++}`,
            name: 'weather',
            arguments: JSON.stringify(callArguments),
            status: 'completed',
          }
        : {
            type: 'message',
            id: `msg_${serial++}`,
            role: 'assistant',
            content: [{ type: 'output_text', text: 'done', annotations: [] }],
          },
    ],
    usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
  }),
  'openai-chat': (calls) => ({
    id: `chatcmpl-${serial++}`,
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: calls ? null : 'done',
          reasoning_content: 'I think.',
          reasoning_details: [{ type: 'reasoning.text', text: 'I think.', signature: sign('openai-chat', 'or-') }],
          ...(calls
            ? {
                tool_calls: [
                  {
                    id: `call_${serial++}`,
                    type: 'function',
                    function: { name: 'weather', arguments: JSON.stringify(callArguments) },
                  },
                ],
              }
            : {}),
        },
        finish_reason: calls ? 'tool_calls' : 'stop',
      },
    ],
    usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
  }),
  'gemini-generate': (calls) => ({
    responseId: `r${serial++}`,
    candidates: [
      {
        content: {
          role: 'model',
          parts: [
            { text: 'I think.', thought: true },
            calls
              ? {
                  functionCall: { name: 'weather', args: callArguments },
                  thoughtSignature: sign('gemini-generate', 'CiQB'),
                }
              : { text: 'done' },
          ],
        },
        finishReason: 'STOP',
      },
    ],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2, totalTokenCount: 3 },
  }),
};

const schema = { type: 'object', properties: { city: { type: 'string' } } };

/** A client that keeps what it got and sends it back, as the SDKs do. */
interface Client {
  path(model: string): string;
  ask(model: string): Item;
  /** @returns the calls it was given; takes answer and results into its history. */
  take(answer: Item): number;
}

const clients: Readonly<Record<Dialect, () => Client>> = {
  'anthropic-messages': () => {
    const messages: unknown[] = [{ role: 'user', content: 'go' }];
    return {
      path: () => '/v1/messages',
      ask: (model) => ({
        model,
        max_tokens: 4000,
        thinking: { type: 'enabled', budget_tokens: 1024 },
        tools: [{ name: 'weather', input_schema: schema }],
        messages,
      }),
      take({ content }) {
        const calls = items(content).filter(({ type }) => type === 'tool_use');
        messages.push({ role: 'assistant', content });
        if (calls.length > 0)
          messages.push({
            role: 'user',
            content: calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'rain' })),
          });
        return calls.length;
      },
    };
  },
  'openai-responses': () => {
    const input: unknown[] = [{ role: 'user', content: 'go' }];
    return {
      path: () => '/v1/responses',
      ask: (model) => ({
        model,
        store: false,
        include: ['reasoning.encrypted_content'],
        reasoning: { effort: 'high' },
        tools: [{ type: 'function', name: 'weather', parameters: schema, strict: false }],
        input,
      }),
      take({ output }) {
        const calls = items(output).filter(({ type }) => type === 'function_call');
        input.push(...items(output));
        for (const { call_id } of calls) input.push({ type: 'function_call_output', call_id, output: 'rain' });
        return calls.length;
      },
    };
  },
  'openai-chat': () => {
    const messages: unknown[] = [{ role: 'user', content: 'go' }];
    return {
      path: () => '/v1/chat/completions',
      ask: (model) => ({
        model,
        reasoning_effort: 'high',
        tools: [{ type: 'function', function: { name: 'weather', parameters: schema } }],
        messages,
      }),
      take({ choices }) {
        const message = (items(choices)[0]?.message ?? {}) as Item;
        const calls = items(message.tool_calls);
        messages.push(message);
        for (const { id } of calls) messages.push({ role: 'tool', tool_call_id: id, content: 'rain' });
        return calls.length;
      },
    };
  },
  'gemini-generate': () => {
    const contents: unknown[] = [{ role: 'user', parts: [{ text: 'go' }] }];
    return {
      path: (model) => `/v1beta/models/${model}:generateContent`,
      ask: () => ({
        contents,
        generationConfig: { thinkingConfig: { includeThoughts: true, thinkingBudget: 1024 } },
        tools: [{ functionDeclarations: [{ name: 'weather', parameters: schema }] }],
      }),
      take({ candidates }) {
        const content = (items(candidates)[0]?.content ?? {}) as Item;
        const calls = items(content.parts).flatMap(({ functionCall }) =>
          functionCall === undefined ? [] : [functionCall as Item],
        );
        contents.push(content);
        if (calls.length > 0)
          contents.push({
            role: 'user',
            parts: calls.map(({ id, name }) => ({
              functionResponse: { ...(id === undefined ? {} : { id }), name, response: { output: 'rain' } },
            })),
          });
        return calls.length;
      },
    };
  },
};

let gateway: TestGateway;
let upstream: Upstream;
let key: string;
let turn = 0;
const faults: string[] = [];

const spoken = (path: string): Dialect =>
  path.endsWith('/messages')
    ? 'anthropic-messages'
    : path.endsWith('/responses')
      ? 'openai-responses'
      : path.includes('generateContent')
        ? 'gemini-generate'
        : 'openai-chat';

beforeAll(async () => {
  upstream = await startUpstream((response, { path, body }) => {
    const dialect = spoken(path);
    const rejected = refusals[dialect](JSON.parse(body.toString('utf8')) as Item);
    faults.push(...rejected.map((error) => `${dialect}: ${error}`));
    if (rejected.length > 0)
      return sendJson(response, { error: { message: rejected.join('; '), type: 'invalid_request_error' } }, 400);
    sendJson(response, answers[dialect](turn < 2));
  });
  gateway = await createTestGateway();
  for (const dialect of dialects)
    await gateway.channel(upstream.url, { type: 199, models: models[dialect], setting: JSON.stringify({ dialect }) });
  await gateway.option('SelfUseModeEnabled', 'true');
  key = (await gateway.token()).key;
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});

const pairs = dialects.flatMap((first) =>
  dialects.filter((other) => other !== first).map((second) => [first, second] as const),
);
const walks = dialects.flatMap((client) => pairs.map(([first, second]) => [client, first, second] as const));

test.each(walks)(
  'a client of %s goes from %s to %s and back, and no upstream refuses',
  async (client, first, second) => {
    faults.length = 0;
    const talk = clients[client]();
    for (const [at, dialect] of [first, second, first].entries()) {
      turn = at;
      const path = talk.path(models[dialect]);
      const response = await gateway.relay.handle(
        new Request(`http://gateway${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer sk-${key}` },
          body: JSON.stringify(talk.ask(models[dialect])),
        }),
        path,
        { ip: () => '' },
      );
      const answer = (await response.json()) as Item;
      expect([at, dialect, faults, response.status]).toEqual([at, dialect, [], 200]);
      expect(talk.take(answer)).toBe(at < 2 ? 1 : 0);
    }
  },
);
