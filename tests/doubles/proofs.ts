/** For each rule of a double: a request that breaks it, and one like it that passes. A test asks the doubles both. */
import type { Json } from '../../server/protocols/shared/json.ts';

export interface Place {
  readonly double: string;
  readonly path: string;
  readonly model: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The plainest request that is answered. */
  readonly base: Json;
}

export interface Proof {
  readonly rule: string;
  readonly place: Place;
  /** What is added to the base. */
  readonly breaks: Json;
  readonly passes: Json;
  /** The model of the request that passes, where the model breaks it. */
  readonly instead?: string;
  /** Headers in place of the base's, for the request that breaks. */
  readonly headers?: Readonly<Record<string, string>>;
}

const user = { role: 'user', content: 'hi' };
const bearer = { authorization: 'Bearer sk' };
const chat = (double: string, model: string, path = '/v1/chat/completions'): Place => ({
  ...{ double, path, model, headers: bearer },
  base: { model, messages: [user] },
});
const responses = (double: string, model: string, path = '/v1/responses'): Place => ({
  ...{ double, path, model, headers: bearer },
  base: { model, input: 'hi' },
});
const messages = (double: string, model: string, path = '/v1/messages'): Place => ({
  ...{ double, path, model },
  headers: double === 'anthropic' ? { 'x-api-key': 'sk', 'anthropic-version': '2023-06-01' } : bearer,
  base: { model, max_tokens: 4096, messages: [user] },
});
const gemini = (model: string): Place => ({
  ...{ double: 'gemini', path: `/v1beta/models/${model}:generateContent`, model },
  headers: { 'x-goog-api-key': 'sk' },
  base: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
});
const bedrockKey = { authorization: 'Bearer bedrock-practice-key' };
const bedrock = (model: string): Place => ({
  ...{ double: 'bedrock', path: `/model/${model}/invoke`, model, headers: bedrockKey },
  base: { anthropic_version: 'bedrock-2023-05-31', max_tokens: 4096, messages: [user] },
});
const converse: Place = {
  ...{ double: 'bedrock', path: '/model/amazon.nova-pro-v1:0/converse', model: 'amazon.nova-pro-v1:0' },
  headers: bedrockKey,
  base: { messages: [{ role: 'user', content: [{ text: 'hi' }] }] },
};

const schema = { type: 'object', properties: { city: { type: 'string' } } };
const union = { type: 'object', properties: {}, anyOf: [{ required: ['a'] }] };
const tool = (name = 'f', parameters: Json = schema) => ({ type: 'function', function: { name, parameters } });
const flat = (more: Json = {}) => ({ type: 'function', name: 'f', parameters: schema, strict: false, ...more });
const claudeTool = (name = 'f', input_schema: Json = schema) => ({ name, input_schema });
const declared = (...names: readonly string[]) => [
  { functionDeclarations: names.map((name) => ({ name, parametersJsonSchema: schema })) },
];

const called = (more: Json = {}, args = '{}') => ({
  ...{ role: 'assistant', content: '', ...more },
  tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: args } }],
});
const answered = { role: 'tool', tool_call_id: 'call_1', content: 'done' };
/** A call and its result, and the same without the result. */
const pairs = (more: Json = {}) => ({
  passes: { tools: [tool()], messages: [user, called(more), answered] },
  breaks: { tools: [tool()], messages: [user, called(more), user] },
});
const use = { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }] };
const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'x' }] };
const said = (role: string, content: unknown) => ({ role, content });
const system = said('system', 'S');
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const picture = (media_type: string) => ({
  messages: [said('user', [{ type: 'image', source: { type: 'base64', media_type, data: png } }])],
});

const systems = (more: Json = {}) => ({
  passes: { messages: [system, user], ...more },
  breaks: { messages: [system, user, system, user], ...more },
});
const nobodyAsked = { passes: { messages: [system, user] }, breaks: { messages: [system] } };

const modelSaid = { role: 'model', parts: [{ text: 'y' }] };

/** Rules that one place proves. */
const at = (
  place: Place,
  rows: Readonly<Record<string, Omit<Proof, 'rule' | 'place' | 'passes'> & Partial<Pick<Proof, 'passes'>>>>,
): readonly Proof[] => Object.entries(rows).map(([rule, row]) => ({ rule, place, passes: {}, ...row }));

const config = (generationConfig: Json) => ({ generationConfig });
const thinking = (thinkingConfig: Json) => config({ thinkingConfig });
const calledByGemini = (more: Json = {}) => [
  { role: 'user', parts: [{ text: 'hi' }] },
  { role: 'model', parts: [{ functionCall: { name: 'f', args: {} }, ...more }] },
];
const gaveGemini = { role: 'user', parts: [{ functionResponse: { name: 'f', response: {} } }] };
const standIn = { thoughtSignature: 'skip_thought_signature_validator' };
const answerSchema = (properties: Json, more: Json = {}) => ({
  output_config: {
    format: { type: 'json_schema', schema: { type: 'object', properties, additionalProperties: false, ...more } },
  },
});
const openAnswer = (strict: boolean, closed: Json = {}) => ({
  response_format: {
    type: 'json_schema',
    json_schema: { name: 'x', strict, schema: { type: 'object', properties: {}, ...closed } },
  },
});
const openText = (closed: Json = {}) => ({
  text: {
    format: { type: 'json_schema', name: 'x', strict: true, schema: { type: 'object', properties: {}, ...closed } },
  },
});
const enabled = { thinking: { type: 'enabled', budget_tokens: 1024 } };
const spoken = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'x', annotations: [] }] };

const openai = [
  // What is asked is right: the model is at the wrong place.
  ...at(chat('openai', 'gpt-5-codex'), { 'openai/responses-alone': { breaks: {}, instead: 'gpt-5' } }),
  ...at(responses('openai', 'gpt-4o-search-preview'), { 'responses/chat-alone': { breaks: {}, instead: 'gpt-4o' } }),
  ...at(chat('openai', 'gpt-4o'), {
    'openai/chat-form': { breaks: { top_k: 3 }, passes: { top_p: 0.5 } },
    'openai/effort': { breaks: { reasoning_effort: 'low' } },
    'openai/tool-unions': { breaks: { tools: [tool('f', union)] }, passes: { tools: [tool()] } },
    'openai/picture-detail': {
      breaks: {
        messages: [
          said('user', [{ type: 'image_url', image_url: { url: 'https://a.test/p.png', detail: 'original' } }]),
        ],
      },
      passes: {
        messages: [said('user', [{ type: 'image_url', image_url: { url: 'https://a.test/p.png', detail: 'high' } }])],
      },
    },
    'openai/service-tier': { breaks: { service_tier: 'standard_only' }, passes: { service_tier: 'auto' } },
    'openai/choice-without-tools': {
      breaks: { tool_choice: 'auto' },
      passes: { tool_choice: 'auto', tools: [tool()] },
    },
    'openai/parallel-without-tools': {
      breaks: { parallel_tool_calls: true },
      passes: { parallel_tool_calls: true, tools: [tool()] },
    },
    'openai/stream-options': {
      breaks: { stream_options: { include_usage: true } },
      passes: { stream: true, stream_options: { include_usage: true } },
    },
    'openai/strict-schema': {
      breaks: openAnswer(true),
      passes: openAnswer(true, { required: [], additionalProperties: false }),
    },
    'openai/paired-calls': pairs(),
    'openai/arguments': {
      breaks: { tools: [tool()], messages: [user, called({}, '{"a'), answered] },
      passes: pairs().passes,
    },
  }),
  ...at(chat('openai', 'gpt-5'), {
    'openai/max-tokens': { breaks: { max_tokens: 99 }, passes: { max_completion_tokens: 99 } },
    'openai/sampling': { breaks: { temperature: 0.2 }, passes: { temperature: 1 } },
    'openai/penalties': { breaks: { presence_penalty: 1 }, passes: { presence_penalty: 0 } },
    'openai/probabilities': { breaks: { stop: ['x'] } },
  }),
  ...at(chat('openai', 'gpt-5.4'), {
    'openai/tools-with-effort': { breaks: { tools: [tool()], reasoning_effort: 'low' }, passes: { tools: [tool()] } },
  }),
  ...at(chat('openai', 'gpt-5.6-sol'), {
    'openai/tools-beside-thought': {
      breaks: { tools: [tool()] },
      passes: { tools: [tool()], reasoning_effort: 'none' },
    },
  }),
  ...at(responses('openai', 'gpt-4o'), {
    'responses/effort-unknown': { breaks: { reasoning: { effort: 'low' } } },
    'responses/summary-unknown': { breaks: { reasoning: { summary: 'auto' } }, passes: { reasoning: {} } },
    'responses/seals-unknown': {
      breaks: { include: ['reasoning.encrypted_content'] },
      passes: { include: ['message.output_text.logprobs'] },
    },
    'responses/tool-unions': { breaks: { tools: [flat({ parameters: union })] }, passes: { tools: [flat()] } },
    'responses/form': { breaks: { top_k: 3 }, passes: { top_p: 0.5 } },
    'responses/paired-calls': {
      breaks: { input: [user, { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }, user] },
      passes: {
        input: [
          user,
          { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
          { type: 'function_call_output', call_id: 'c', output: 'x' },
        ],
      },
    },
    'responses/strict-schema': { breaks: openText(), passes: openText({ additionalProperties: false }) },
  }),
  ...at(responses('openai', 'gpt-5'), {
    'responses/sealed-thoughts': {
      breaks: {
        input: [user, { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' }, spoken, user],
      },
      passes: { input: [user, { type: 'reasoning', id: 'rs_1', summary: [] }, spoken, user] },
    },
    'responses/followed-thoughts': {
      breaks: { input: [user, { type: 'reasoning', id: 'rs_1', summary: [] }, user] },
      passes: { input: [user, { type: 'reasoning', id: 'rs_1', summary: [] }, spoken, user] },
    },
    'responses/sampling': { breaks: { temperature: 0.2 }, passes: { temperature: 1 } },
    'responses/probabilities': { breaks: { top_logprobs: 3 } },
    'responses/effort': { breaks: { reasoning: { effort: 'none' } }, passes: { reasoning: { effort: 'minimal' } } },
    'responses/kept-with-seals': {
      breaks: { store: false, input: [user, { type: 'reasoning', id: 'rs_1', summary: [] }, spoken, user] },
      passes: { input: [user, { type: 'reasoning', id: 'rs_1', summary: [] }, spoken, user] },
    },
  }),
];

const claude = [
  ...at(messages('anthropic', 'claude-sonnet-4-5'), {
    'anthropic/version': { breaks: {}, headers: { 'x-api-key': 'sk' } },
    'anthropic/betas': {
      breaks: {},
      headers: { 'x-api-key': 'sk', 'anthropic-version': '2023-06-01', 'anthropic-beta': 'nobody-2026-01-01' },
    },
    'anthropic/form': { breaks: { seed: 1 }, passes: { top_k: 1 } },
    'anthropic/context_management': { breaks: { context_management: { edits: [] } } },
    'anthropic/mcp_servers': { breaks: { mcp_servers: [] } },
    'anthropic/speed': { breaks: { speed: 'fast' } },
    'anthropic/service-tier': { breaks: { service_tier: 'flex' }, passes: { service_tier: 'standard_only' } },
    'messages/order': {
      breaks: { tools: [claudeTool()], messages: [user, use, user] },
      passes: { tools: [claudeTool()], messages: [user, use, result] },
    },
    'messages/blank-texts': {
      breaks: { messages: [said('user', [{ type: 'text', text: ' ' }])] },
      passes: { messages: [said('user', [{ type: 'text', text: ' x' }])] },
    },
    'messages/trailing-whitespace': {
      breaks: { messages: [user, said('assistant', 'So ')] },
      passes: { messages: [user, said('assistant', 'So')] },
    },
    'messages/signatures': {
      breaks: { messages: [user, said('assistant', [{ type: 'thinking', thinking: 't', signature: 'RXEu' }]), user] },
      passes: { messages: [user, said('assistant', [{ type: 'text', text: 't' }]), user] },
    },
    'messages/thought-budget': {
      breaks: { ...enabled, max_tokens: 1024 },
      passes: { ...enabled, max_tokens: 1025 },
    },
    'messages/thought-temperature': {
      breaks: { ...enabled, temperature: 0.5 },
      passes: { ...enabled, temperature: 1 },
    },
    'messages/thought-top-k': { breaks: { ...enabled, top_k: 5 }, passes: { top_k: 5 } },
    'messages/thought-top-p': { breaks: { ...enabled, top_p: 0.9 }, passes: { ...enabled, top_p: 0.95 } },
    'messages/thought-forced-tool': {
      breaks: { ...enabled, tools: [claudeTool()], tool_choice: { type: 'any' } },
      passes: { ...enabled, tools: [claudeTool()], tool_choice: { type: 'auto' } },
    },
    'messages/thought-first': {
      breaks: { ...enabled, tools: [claudeTool()], messages: [user, use, result] },
      passes: { tools: [claudeTool()], messages: [user, use, result] },
    },
    'messages/picture-bytes': { breaks: picture('image/jpeg'), passes: picture('image/png') },
    'messages/tool-unions': { breaks: { tools: [claudeTool('f', union)] }, passes: { tools: [claudeTool()] } },
    'messages/schema-bounds': {
      breaks: answerSchema({ days: { type: 'integer', minimum: 1 } }),
      passes: answerSchema({ days: { type: 'integer', description: 'at least 1' } }),
    },
    'messages/cache-marks': {
      breaks: {
        system: Array.from({ length: 5 }, () => ({ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } })),
      },
      passes: {
        system: Array.from({ length: 4 }, () => ({ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } })),
      },
    },
    'messages/open-schema': { breaks: answerSchema({}, { additionalProperties: true }), passes: answerSchema({}) },
    'messages/choice-without-tools': {
      breaks: { tool_choice: { type: 'auto' } },
      passes: { tool_choice: { type: 'auto' }, tools: [claudeTool()] },
    },
    'messages/chosen-tool': {
      breaks: { tool_choice: { type: 'tool', name: 'g' }, tools: [claudeTool()] },
      passes: { tool_choice: { type: 'tool', name: 'f' }, tools: [claudeTool()] },
    },
    'messages/same-tools': {
      breaks: { tools: [claudeTool(), claudeTool()] },
      passes: { tools: [claudeTool(), claudeTool('g')] },
    },
    'claude/longest-answer': { breaks: { max_tokens: 200_000 }, passes: { max_tokens: 64_000 } },
    'claude/no-system-turns': { breaks: { messages: [user, system] }, passes: { system: 'S' } },
    'claude/one-sampling': { breaks: { temperature: 1, top_p: 0.9 }, passes: { temperature: 1 } },
    'claude/no-adaptive': { breaks: { thinking: { type: 'adaptive' } }, passes: enabled },
    'claude/no-effort': { breaks: { output_config: { effort: 'low' } } },
  }),
  ...at(
    {
      ...messages('anthropic', 'claude-sonnet-4-5'),
      headers: {
        ...messages('anthropic', '').headers,
        'anthropic-beta': 'context-management-2025-06-27',
      },
    },
    {
      'anthropic/context-management-form': {
        breaks: { context_management: [{ type: 'compaction' }] },
        passes: { context_management: { edits: [] } },
      },
    },
  ),
  ...at(messages('anthropic', 'claude-opus-4-8'), {
    'claude/system-turns-placed': {
      breaks: { messages: [user, system, user] },
      passes: { messages: [user, system, said('assistant', 'x'), user] },
    },
    'claude/sampling': { breaks: { temperature: 0.5 } },
    'claude/no-budget': { breaks: enabled, passes: { thinking: { type: 'adaptive' } } },
    'claude/effort': {
      breaks: { output_config: { effort: 'minimal' } },
      passes: { output_config: { effort: 'xhigh' } },
    },
    'claude/no-prefill': { breaks: { messages: [user, said('assistant', 'So')] } },
  }),
  ...at(messages('anthropic', 'claude-3-5-sonnet-20241022'), {
    'claude/no-thinking': { breaks: enabled },
    'claude/no-schema': { breaks: answerSchema({}) },
  }),
  ...at(bedrock('us.anthropic.claude-haiku-4-5-20251001-v1:0'), {
    'bedrock/form': { breaks: { stream: 'x' } },
    'bedrock/betas': {
      breaks: { anthropic_beta: ['files-api-2025-04-14'] },
      passes: { anthropic_beta: ['context-1m-2025-08-07'] },
    },
    'bedrock/effort': { breaks: { output_config: { effort: 'low' } } },
    'bedrock/context-management': {
      breaks: { context_management: { edits: [] } },
      passes: { context_management: { edits: [] }, anthropic_beta: ['context-management-2025-06-27'] },
    },
    'bedrock/deferred-tools': {
      breaks: { tools: [{ ...claudeTool(), defer_loading: true }] },
      passes: { tools: [{ ...claudeTool(), defer_loading: true }], anthropic_beta: ['tool-search-tool-2025-10-19'] },
    },
    'bedrock/version': { breaks: { anthropic_version: '2023-06-01' } },
    'bedrock/linked-pictures': {
      breaks: { messages: [said('user', [{ type: 'image', source: { type: 'url', url: 'https://a.test/p.png' } }])] },
      passes: picture('image/png'),
    },
  }),
  ...at(bedrock('claude-haiku-4-5'), {
    'bedrock/names': { breaks: {}, instead: 'us.anthropic.claude-haiku-4-5-20251001-v1:0' },
  }),
  ...at(converse, {
    'converse/form': { breaks: { inferenceConfig: { top_k: 3 } }, passes: { inferenceConfig: { topP: 0.5 } } },
    'converse/first-turn': { breaks: { messages: [{ role: 'assistant', content: [{ text: 'x' }] }] } },
    'converse/alternation': {
      breaks: {
        messages: [
          { role: 'user', content: [{ text: 'x' }] },
          { role: 'user', content: [{ text: 'y' }] },
        ],
      },
    },
    'converse/blank': { breaks: { messages: [{ role: 'user', content: [{ text: ' ' }] }] } },
    ...(() => {
      const toolConfig = { tools: [{ toolSpec: { name: 'f', inputSchema: { json: schema } } }] };
      const turns = (content: unknown) => [
        { role: 'user', content: [{ text: 'hi' }] },
        { role: 'assistant', content: [{ toolUse: { toolUseId: 't1', name: 'f', input: {} } }] },
        { role: 'user', content },
      ];
      const given = [{ toolResult: { toolUseId: 't1', content: [{ text: 'x' }] } }];
      const passes = { toolConfig, messages: turns(given) };
      return {
        'converse/tools-named': { breaks: { messages: turns(given) }, passes },
        'converse/empty-result': {
          breaks: { toolConfig, messages: turns([{ toolResult: { toolUseId: 't1', content: [] } }]) },
          passes,
        },
        'converse/paired-calls': { breaks: { toolConfig, messages: turns([{ text: 'x' }]) }, passes },
      };
    })(),
  }),
];

const google = [
  ...at(gemini('gemini-2.5-flash'), {
    'gemini/form': { breaks: config({ maxTokens: 9 }), passes: config({ maxOutputTokens: 9 }) },
    'gemini/order': {
      breaks: { tools: declared('f'), contents: [...calledByGemini(), { role: 'user', parts: [{ text: 'x' }] }] },
      passes: { tools: declared('f'), contents: [...calledByGemini(), gaveGemini] },
    },
    'gemini/thought-budget': { breaks: thinking({ thinkingBudget: 99_999 }), passes: thinking({ thinkingBudget: 0 }) },
    'gemini/thought-level': { breaks: thinking({ thinkingLevel: 'LOW' }), passes: thinking({ thinkingBudget: 128 }) },
    'gemini/penalties': { breaks: config({ presencePenalty: 1 }), passes: config({ temperature: 1 }) },
    'gemini/tools-beside-search': {
      breaks: { tools: [...declared('f'), { googleSearch: {} }] },
      passes: { tools: [{ googleSearch: {} }] },
    },
    'gemini/same-tools': { breaks: { tools: declared('f', 'f') }, passes: { tools: declared('f', 'g') } },
    'gemini/choice-without-tools': {
      breaks: { tools: [{ googleSearch: {} }], toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
      passes: { tools: declared('f'), toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
    },
    'gemini/allowed-names': {
      breaks: {
        tools: declared('f'),
        toolConfig: { functionCallingConfig: { mode: 'AUTO', allowedFunctionNames: ['f'] } },
      },
      passes: {
        tools: declared('f'),
        toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
      },
    },
    'gemini/single-turn': {
      breaks: { contents: [modelSaid] },
      passes: { contents: [{ role: 'user', parts: [{ text: 'x' }] }, modelSaid] },
    },
    'gemini/blank-parts': { breaks: { contents: [{ role: 'user', parts: [{}] }] } },
  }),
  ...at(gemini('gemini-3.6-flash'), {
    'gemini/last-turn': { breaks: { contents: [{ role: 'user', parts: [{ text: 'x' }] }, modelSaid] } },
  }),
  ...at(gemini('gemini-3-pro-preview'), {
    'gemini/signatures': {
      breaks: { tools: declared('f'), contents: [...calledByGemini({ thoughtSignature: 'RXEu' }), gaveGemini] },
      passes: { tools: declared('f'), contents: [...calledByGemini(standIn), gaveGemini] },
    },
    'gemini/signed-calls': {
      breaks: { tools: declared('f'), contents: [...calledByGemini(), gaveGemini] },
      passes: { tools: declared('f'), contents: [...calledByGemini(standIn), gaveGemini] },
    },
    'gemini/level-or-budget': {
      breaks: thinking({ thinkingLevel: 'LOW', thinkingBudget: 128 }),
      passes: thinking({ thinkingLevel: 'LOW' }),
    },
    'gemini/level-words': {
      breaks: thinking({ thinkingLevel: 'MINIMAL' }),
      passes: thinking({ thinkingLevel: 'HIGH' }),
    },
  }),
  ...at(gemini('gemini-2.0-flash'), { 'gemini/no-thinking': { breaks: thinking({ thinkingBudget: 0 }) } }),
];

const local = [
  ...at(chat('vllm', 'Qwen/Qwen3.6-27B'), {
    'vllm/form': { breaks: { temperature: 3 }, passes: { top_k: 3 } },
    'vllm/choice-without-tools': { breaks: { tool_choice: 'auto' }, passes: { tool_choice: 'none' } },
    'vllm/stream-options': {
      breaks: { stream_options: { include_usage: true } },
      passes: { stream: true, stream_options: { include_usage: true } },
    },
    'vllm/developer': { breaks: { messages: [said('developer', 'S'), user] }, passes: { messages: [system, user] } },
    'vllm/system-first': systems(),
    'vllm/user-asked': nobodyAsked,
  }),
  ...at(responses('vllm', 'Qwen/Qwen3.6-27B'), {
    'vllm/responses-form': { breaks: { temperature: 'hot' }, passes: { client_metadata: {} } },
    'vllm/responses-tools': {
      breaks: { tools: [flat(), { type: 'namespace', name: 'n', tools: [] }] },
      passes: { tools: [flat(), { type: 'custom', name: 'p' }] },
    },
  }),
  ...at(chat('lm-studio', 'qwen/qwen3.6-35b-a3b'), {
    'lm-studio/form': { breaks: { tools: [{ type: 'custom', custom: { name: 'p' } }] }, passes: { tools: [tool()] } },
    'lm-studio/tool-choice': {
      breaks: { tools: [tool()], tool_choice: { type: 'function', function: { name: 'f' } } },
      passes: { tools: [tool()], tool_choice: 'required' },
    },
    'lm-studio/json-object': {
      breaks: { response_format: { type: 'json_object' } },
      passes: { response_format: { type: 'text' } },
    },
    'lm-studio/system-first': systems(),
    'lm-studio/user-asked': nobodyAsked,
  }),
  ...at(responses('lm-studio', 'qwen/qwen3.6-35b-a3b'), {
    'lm-studio/responses-form': { breaks: { temperature: 'hot' }, passes: { client_metadata: {} } },
    'lm-studio/responses-tools': {
      breaks: { tools: [{ type: 'namespace', name: 'n', tools: [] }] },
      passes: { tools: [{ type: 'custom', name: 'p' }] },
    },
    'lm-studio/responses-parameters': { breaks: { tools: [flat({ parameters: {} })] }, passes: { tools: [flat()] } },
    'lm-studio/responses-text': { breaks: { text: {} }, passes: { text: { format: { type: 'text' } } } },
  }),
  ...at(
    { ...chat('ollama', 'qwen3.8:27b', '/api/chat'), base: { model: 'qwen3.8:27b', messages: [user], stream: false } },
    {
      'ollama/form': { breaks: { options: { stop: 'x' } }, passes: { options: { stop: ['x'] } } },
      'ollama/think': { breaks: { think: 'minimal' }, passes: { think: 'low' } },
      'ollama/system-first': systems(),
    },
  ),
  ...at(
    { ...chat('ollama', 'llama3.1', '/api/chat'), base: { model: 'llama3.1', messages: [user], stream: false } },
    { 'ollama/no-thinking': { breaks: { think: true }, passes: { think: false } } },
  ),
];

const json = { response_format: { type: 'json_object' } };
const hosts = [
  ...at(chat('minimax', 'MiniMax-M2.5', '/v1/text/chatcompletion_v2'), {
    'minimax/form': { breaks: { messages: [said('developer', 'S'), user] } },
    'minimax/parameters': {
      breaks: { tools: [{ type: 'function', function: { name: 'f' } }] },
      passes: { tools: [tool()] },
    },
    'minimax/temperature': { breaks: { temperature: 0 }, passes: { temperature: 1 } },
    'minimax/one-system': { breaks: { messages: [system, system, user] }, passes: { messages: [system, user] } },
    'minimax/system-first': { breaks: { messages: [user, system, user] }, passes: { messages: [system, user] } },
    'minimax/arguments': {
      breaks: { tools: [tool()], messages: [user, called({}, ''), answered] },
      passes: pairs().passes,
    },
    'minimax/paired-calls': pairs(),
  }),
  ...at(messages('minimax', 'MiniMax-M2.5', '/anthropic/v1/messages'), {
    'minimax/messages-system': { breaks: { messages: [user, system] }, passes: { system: 'S' } },
    'minimax/messages-form': { breaks: { max_tokens: 0 } },
  }),
  ...at(chat('fireworks', 'accounts/fireworks/models/qwen3p8', '/inference/v1/chat/completions'), {
    'fireworks/form': { breaks: { store: true }, passes: { top_k: 3 } },
    'fireworks/effort': { breaks: { reasoning_effort: 'max' }, passes: { reasoning_effort: 'low' } },
    'fireworks/paired-calls': pairs(),
    'fireworks/system-first': systems(),
  }),
  ...at(chat('xai', 'grok-4-0709'), {
    'xai/form': { breaks: { temperature: 3 }, passes: { temperature: 1 } },
    'xai/effort': { breaks: { reasoning_effort: 'low' } },
    'xai/penalties': { breaks: { presence_penalty: 1 } },
    'xai/stop': { breaks: { stop: ['x'] } },
    'xai/paired-calls': pairs(),
  }),
  ...at(chat('xai', 'grok-4.5'), {
    'xai/effort-words': { breaks: { reasoning_effort: 'xhigh' }, passes: { reasoning_effort: 'high' } },
  }),
  ...at(responses('xai', 'grok-4.6'), {
    'xai/responses-tools': {
      breaks: { tools: [flat(), { type: 'namespace', name: 'n', tools: [] }] },
      passes: { tools: [flat(), { type: 'x_search' }] },
    },
    'xai/external-web-access': {
      breaks: { tools: [{ type: 'web_search', external_web_access: true }] },
      passes: { tools: [{ type: 'web_search' }] },
    },
    'xai/empty-thoughts': {
      breaks: { input: [user, { type: 'reasoning', id: 'rs_1', summary: [], content: null }, spoken, user] },
      passes: { input: [user, { type: 'reasoning', id: 'rs_1', summary: [] }, spoken, user] },
    },
    'xai/tool-unions': {
      breaks: { tools: [flat({ parameters: { anyOf: [{ type: 'string' }] } })] },
      passes: { tools: [flat()] },
    },
    'xai/instructions': {
      breaks: { instructions: 'S', previous_response_id: 'resp_1' },
      passes: { instructions: 'S' },
    },
  }),
  ...at(responses('xai', 'grok-4-0709'), {
    'xai/responses-effort': { breaks: { reasoning: { effort: 'low' } } },
  }),
  ...at(chat('groq', 'openai/gpt-oss-120b', '/openai/v1/chat/completions'), {
    'groq/form': { breaks: { logit_bias: {} }, passes: { seed: 1 } },
    'groq/names': { breaks: { messages: [{ ...user, name: 'x' }] } },
    'groq/effort': { breaks: { reasoning_effort: 'none' }, passes: { reasoning_effort: 'low' } },
    'groq/json-with-tools': { breaks: { tools: [tool()], ...json }, passes: json },
    'groq/paired-calls': pairs(),
    'groq/tool-schemas': {
      breaks: { tools: [tool('f', { type: 'object', required: [] })] },
      passes: { tools: [tool('f', { type: 'object', properties: {}, required: [] })] },
    },
    'groq/arguments': {
      breaks: { tools: [tool()], messages: [user, called({}, '{"a'), answered] },
      passes: pairs().passes,
    },
  }),
  ...at(chat('groq', 'llama-3.3-70b-versatile', '/openai/v1/chat/completions'), {
    'groq/schema': { breaks: openAnswer(false), passes: json },
  }),
  ...at(responses('groq', 'openai/gpt-oss-120b', '/openai/v1/responses'), {
    'groq/responses-members': { breaks: { include: [] }, passes: { store: false } },
    'groq/responses-tools': {
      breaks: { tools: [{ type: 'custom', name: 'p' }] },
      passes: { tools: [flat(), { type: 'browser_search' }] },
    },
  }),
  ...at(chat('openrouter', 'qwen/qwen3.8-plus', '/api/v1/chat/completions'), {
    'openrouter/form': { breaks: { temperature: 3 }, passes: { top_k: 3 } },
    'openrouter/effort': { breaks: { reasoning_effort: 'max' }, passes: { reasoning_effort: 'none' } },
    'openrouter/nested-effort': { breaks: { reasoning: { effort: 'max' } }, passes: { reasoning: { effort: 'none' } } },
    'openrouter/one-effort': { breaks: { reasoning: { effort: 'low' }, reasoning_effort: 'low' } },
    'openrouter/paired-calls': pairs(),
  }),
  ...at(responses('openrouter', 'qwen/qwen3.8-plus', '/api/v1/responses'), {
    'openrouter/responses-tools': {
      breaks: { tools: [{ type: 'namespace', name: 'n', tools: [] }] },
      passes: { tools: [flat(), { type: 'custom', name: 'p' }] },
    },
  }),
  ...at(messages('openrouter', 'anthropic/claude-opus-4.7', '/api/v1/messages'), {
    'openrouter/messages-form': { breaks: { max_tokens: 0 } },
  }),
  ...at(chat('deepseek', 'deepseek-v4-pro'), {
    'deepseek/form': { breaks: { messages: [said('developer', 'S'), user] }, passes: { messages: [system, user] } },
    'deepseek/thoughts': {
      breaks: pairs().passes,
      passes: pairs({ reasoning_content: 't' }).passes,
    },
    'deepseek/forced-tool': {
      breaks: { tools: [tool()], tool_choice: 'required' },
      passes: { tools: [tool()], tool_choice: 'auto' },
    },
    'deepseek/effort': { breaks: { reasoning_effort: 'minimal' }, passes: { reasoning_effort: 'max' } },
    'deepseek/longest-answer': { breaks: { max_tokens: 400_000 }, passes: { max_tokens: 393_216 } },
    'deepseek/word-json': { breaks: json, passes: { ...json, messages: [said('user', 'as json')] } },
    'deepseek/paired-calls': pairs({ reasoning_content: 't' }),
  }),
  ...at(messages('deepseek', 'deepseek-v4-pro', '/anthropic/v1/messages'), {
    'deepseek/messages-system': { breaks: { messages: [user, system] }, passes: { system: 'S' } },
    'deepseek/messages-thoughts': {
      breaks: { tools: [claudeTool()], messages: [user, use, result] },
      passes: { tools: [claudeTool()], messages: [user, use, result], thinking: { type: 'disabled' } },
    },
    'deepseek/messages-forced-tool': {
      breaks: { tools: [claudeTool()], tool_choice: { type: 'any' } },
      passes: { tools: [claudeTool()], tool_choice: { type: 'auto' } },
    },
    'deepseek/messages-form': { breaks: { max_tokens: 0 } },
  }),
];

export const proofs: readonly Proof[] = [...openai, ...claude, ...google, ...local, ...hosts];
