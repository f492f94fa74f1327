/** Providers that pass over what they do not know, and refuse what they know to be wrong. */
import { z } from 'zod';
import { record, records } from '../../../protocols/shared/json.ts';
import type { Double } from '../double.ts';
import { invalid, type Refusal, type Rule } from '../rule.ts';
import { alternating, messagesOf, pairedCalls, thoughtsKept } from '../rules/chat-order.ts';
import { given, refused, when, worded } from '../rules/when.ts';
import { bracketed, type Fault } from '../shape.ts';
import { chatDouble, messagesDoor, responsesDoor, thinksWhen } from './chat.ts';

const fault = ({ path, expected }: Fault): Refusal =>
  invalid(`Invalid value for '${bracketed(path)}': expected ${expected}`);
const usual =
  'temperature top_p max_tokens max_completion_tokens stop seed presence_penalty frequency_penalty logit_bias logprobs top_logprobs parallel_tool_calls user n';
const open = { closed: false, members: usual, formats: 'text json_object json_schema' } as const;
const paired = (name: string, source: string): Rule =>
  pairedCalls(`${name}/paired-calls`, source, {
    missing: (ids) => invalid(`tool calls without results: ${ids}`),
    orphan: () => invalid('messages with role "tool" must be a response to a preceeding message with "tool_calls".'),
  });

export const together: Double = chatDouble({
  name: 'together',
  path: '/v1/chat/completions',
  source: 'https://docs.together.ai/reference/chat-completions-1',
  form: { ...open, roles: 'system user assistant tool', parts: 'text image_url video_url input_audio' },
  fault,
  // https://github.com/BerriAI/litellm/issues/8675
  habits: {
    thoughts: 'reasoning',
    thinks: thinksWhen(/gpt-oss|thinking|deepseek/i),
    textBeside: true,
    usageInLast: true,
  },
  rules: [
    worded('together/effort', 'https://docs.together.ai/docs/openai-api-compatibility', 'reasoning_effort', [
      [/./, 'low medium high'],
    ]),
    paired('together', 'https://docs.together.ai/docs/function-calling'),
  ],
});

export const perplexity: Double = chatDouble({
  name: 'perplexity',
  path: '/chat/completions',
  source: 'https://docs.perplexity.ai/api-reference/chat-completions-post',
  form: {
    ...open,
    roles: 'system user assistant tool',
    parts: 'text image_url file',
    formats: 'text json_schema regex',
  },
  fault,
  habits: {
    thoughts: 'think-tag',
    thinks: (model) => model.includes('reasoning'),
    deltaBeside: true,
    usageInLast: true,
    more: {
      citations: ['https://example.com/source'],
      search_results: [{ title: 'Source', url: 'https://example.com/source' }],
    },
  },
  rules: [
    alternating(
      'perplexity/alternation',
      'https://github.com/perplexityai/api-discussion/issues/265',
      invalid('After the (optional) system message(s), user and assistant roles should be alternating.', {
        type: 'invalid_message',
      }),
    ),
    when(
      'perplexity/last-message',
      'https://docs.perplexity.ai/api-reference/chat-completions-post',
      ({ body }) => !['user', 'tool'].includes(String(messagesOf(body).at(-1)?.role)),
      invalid('Last message must have role `user` or `tool`.', { type: 'invalid_message' }),
    ),
    when(
      'perplexity/tools',
      'https://github.com/pipecat-ai/pipecat/pull/4862',
      ({ body }) => records(body.tools).length > 0,
      invalid('Tool calling is not supported for this model', { type: 'invalid_parameter' }),
    ),
    when(
      'perplexity/effort',
      'https://docs.getbifrost.ai/providers/supported-providers/perplexity',
      ({ body }) => {
        const effort = given(body, 'reasoning_effort');
        return effort !== undefined && !['minimal', 'low', 'medium', 'high'].includes(String(effort));
      },
      invalid('reasoning_effort must be one of minimal, low, medium, high', { type: 'invalid_parameter' }),
    ),
  ],
  complain: ({ status, message, type = 'invalid_parameter' }) => ({ error: { message, type, code: status } }),
});

const always = /grok-(?:3-mini|4)(?!.*non-reasoning)/;

export const xai: Double = chatDouble({
  name: 'xai',
  path: '/v1/chat/completions',
  source: 'https://docs.x.ai/docs/api-reference#chat-completions',
  form: { ...open, roles: 'system developer user assistant tool', parts: 'text image_url file' },
  fault,
  habits: { thoughts: 'reasoning_content', thinks: thinksWhen(/grok-3-mini|grok-4\.3/) },
  rules: [
    when(
      'xai/effort',
      'https://github.com/NousResearch/hermes-agent/pull/23435',
      ({ body, model }) =>
        given(body, 'reasoning_effort') !== undefined &&
        !/grok-3-mini|grok-4\.[3-9]|grok-4\.20-multi|grok-[5-9]/.test(model),
      ({ model }) => invalid(`Model ${model} does not support parameter reasoningEffort.`),
    ),
    worded('xai/effort-words', 'https://docs.x.ai/developers/model-capabilities/text/reasoning', 'reasoning_effort', [
      [/grok-3-mini/, 'low high'],
      [/grok-4\.3/, 'none low medium high'],
      [/grok-4\.20-multi/, 'low medium high xhigh'],
      [/grok-4\.5/, 'low medium high'],
      [/grok-4\.[6-9]/, 'low medium high xhigh'],
    ]),
    refused(
      'xai/penalties',
      'https://github.com/open-webui/open-webui/issues/21266',
      { models: /grok-[3-9]/, members: 'presence_penalty frequency_penalty' },
      (member, model) =>
        `Model ${model} does not support parameter ${member === 'presence_penalty' ? 'presencePenalty' : 'frequencyPenalty'}.`,
    ),
    refused(
      'xai/stop',
      'https://docs.x.ai/developers/model-capabilities/text/reasoning',
      { models: always, members: 'stop' },
      (_, model) => `Model ${model} does not support parameter stop.`,
    ),
    paired('xai', 'https://docs.x.ai/docs/guides/function-calling'),
  ],
  complain: ({ message }) => ({ code: 'Client specified an invalid argument', error: message }),
  doors: [
    responsesDoor('/v1/responses', thinksWhen(/grok-3-mini|grok-4\.3/), [
      when(
        'xai/responses-effort',
        'https://github.com/NousResearch/hermes-agent/pull/23435',
        ({ body, model }) =>
          given(body, 'reasoning.effort') !== undefined &&
          !/grok-3-mini|grok-4\.[3-9]|grok-4\.20-multi|grok-[5-9]/.test(model),
        ({ model }) => invalid(`Model ${model} does not support parameter reasoningEffort.`),
      ),
      when(
        'xai/instructions',
        'https://docs.x.ai/docs/guides/responses-api',
        ({ body }) => given(body, 'instructions') !== undefined && given(body, 'previous_response_id') !== undefined,
        invalid('instructions cannot be given together with previous_response_id'),
      ),
    ]),
  ],
});

const deepseekThinks = /reasoner|deepseek-v[4-9]/;

export const deepseek: Double = chatDouble({
  name: 'deepseek',
  path: '/v1/chat/completions',
  source: 'https://api-docs.deepseek.com/api/create-chat-completion',
  form: { ...open, roles: 'system user assistant tool', parts: 'text', formats: 'text json_object' },
  // https://github.com/rikkahub/rikkahub/issues/1433
  fault: ({ path, input }) => {
    const word = typeof input === 'string' ? `: unknown variant \`${input}\`` : '';
    return invalid(`Failed to deserialize the JSON body into the target type: ${bracketed(path)}${word}`, {
      code: 'invalid_request_error',
    });
  },
  habits: {
    thoughts: 'reasoning_content',
    thinks: (model, body) => deepseekThinks.test(model) && record(body.thinking)?.type !== 'disabled',
    usageInLast: true,
  },
  rules: [
    thoughtsKept(
      'deepseek/thoughts',
      'https://github.com/deepseek-ai/DeepSeek-V3/issues/1053',
      deepseekThinks,
      (at) =>
        `Missing \`reasoning_content\` field in the assistant message at message index ${at}. For more information, please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls`,
    ),
    when(
      'deepseek/forced-tool',
      'https://api-docs.deepseek.com/guides/thinking_mode',
      ({ body, model }) =>
        deepseekThinks.test(model) &&
        record(body.thinking)?.type !== 'disabled' &&
        !['auto', 'none', 'undefined'].includes(String(given(body, 'tool_choice'))),
      ({ model }) => invalid(`${model} does not support this tool_choice`),
    ),
    worded('deepseek/effort', 'https://api-docs.deepseek.com/guides/thinking_mode', 'reasoning_effort', [
      [/./, 'low medium high xhigh max'],
    ]),
    when(
      'deepseek/longest-answer',
      'https://api-docs.deepseek.com/quick_start/pricing',
      ({ body, model }) =>
        Number(body.max_tokens ?? 0) > (/v[4-9]/.test(model) ? 393_216 : /reasoner/.test(model) ? 65_536 : 8192),
      invalid('Invalid max_tokens value, the valid range of max_tokens is [1, 8192]'),
    ),
    when(
      'deepseek/word-json',
      'https://api-docs.deepseek.com/guides/json_mode',
      ({ body }) =>
        given(body, 'response_format.type') === 'json_object' && !/json/i.test(JSON.stringify(body.messages)),
      invalid("Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'."),
    ),
    paired('deepseek', 'https://api-docs.deepseek.com/guides/function_calling'),
  ],
  doors: [messagesDoor('deepseek', '/anthropic/v1/messages', 'https://api-docs.deepseek.com/guides/anthropic_api')],
});

const kimiThinks = /kimi-k(?:2\.[5-9]|2-thinking|[3-9])/;

export const moonshot: Double = chatDouble({
  name: 'moonshot',
  path: '/v1/chat/completions',
  source: 'https://platform.moonshot.ai/docs/api/chat',
  form: { ...open, roles: 'system user assistant tool', parts: 'text image_url video_url' },
  fault,
  habits: {
    thoughts: 'reasoning_content',
    thinks: (model, body) => kimiThinks.test(model) && record(body.thinking)?.type !== 'disabled',
    usageInLast: true,
  },
  rules: [
    refused(
      'moonshot/temperature',
      'https://github.com/NousResearch/hermes-agent/pull/12668',
      { models: /kimi-k(?:2\.[5-9]|[3-9])/, members: 'temperature', but: 1 },
      () => 'invalid temperature: only 1 is allowed for this model',
    ),
    refused(
      'moonshot/top-p',
      'https://github.com/google-gemini/gemini-cli/pull/18977',
      { models: /kimi-k(?:2\.[5-9]|[3-9])/, members: 'top_p', but: 0.95 },
      () => 'invalid top_p: only 0.95 is allowed for this model',
    ),
    refused(
      'moonshot/penalties',
      'https://platform.moonshot.ai/docs/guide/kimi-k2-5-quickstart#parameters-differences-in-request-body',
      { models: /kimi-k(?:2\.[5-9]|[3-9])/, members: 'presence_penalty frequency_penalty', but: 0 },
      (member) => `invalid ${member}: only 0 is allowed for this model`,
    ),
    thoughtsKept(
      'moonshot/thoughts',
      'https://github.com/n8n-io/n8n/issues/29142',
      kimiThinks,
      (at) => `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${at}`,
    ),
    when(
      'moonshot/forced-tool',
      'https://github.com/UKGovernmentBEIS/inspect_ai/pull/5152',
      ({ body, model }) =>
        /kimi-k(?:2\.[5-9]|2-thinking)/.test(model) &&
        record(body.thinking)?.type !== 'disabled' &&
        !['auto', 'none', 'undefined'].includes(String(given(body, 'tool_choice'))),
      ({ body }) =>
        invalid(
          `tool_choice '${body.tool_choice === 'required' ? 'required' : 'specified'}' is incompatible with thinking enabled`,
        ),
    ),
    when(
      'moonshot/effort-and-thinking',
      'https://github.com/HKUDS/nanobot/issues/3939',
      ({ body }) => given(body, 'reasoning_effort') !== undefined && given(body, 'thinking') !== undefined,
      invalid("cannot specify both 'thinking' and 'reasoning_effort'"),
    ),
    worded('moonshot/effort', 'https://github.com/router-for-me/CLIProxyAPI/issues/1307', 'reasoning_effort', [
      [/./, 'low medium high'],
    ]),
    when(
      'moonshot/empty-message',
      'https://platform.moonshot.ai/docs/api/chat',
      ({ body }) => messagesOf(body).some(({ role, content }) => role === 'user' && content === ''),
      invalid('Invalid request: message must not be empty'),
    ),
    paired('moonshot', 'https://platform.moonshot.ai/docs/guide/use-kimi-api-to-complete-tool-calls'),
  ],
  complain: ({ message, type = 'invalid_request_error' }) => ({ error: { message, type } }),
  doors: [messagesDoor('moonshot', '/anthropic/v1/messages', 'https://platform.moonshot.ai/docs/guide/agent-support')],
});

const between = (value: unknown): boolean => typeof value === 'number' && value > 0 && value < 1;

export const zhipu: Double = chatDouble({
  name: 'zhipu',
  slug: 'zhipu-v4',
  path: '/api/paas/v4/chat/completions',
  source: 'https://docs.bigmodel.cn/api-reference/模型-api/对话补全',
  form: {
    ...open,
    own: { stop: z.union([z.string(), z.array(z.string()).max(1)]).nullish() },
    roles: 'system user assistant tool',
    parts: 'text image_url video_url file',
    choices: 'auto',
    formats: 'text json_object',
  },
  fault,
  habits: {
    thoughts: 'reasoning_content',
    thinks: (model, body) => /glm-(?:4\.[5-9]|[5-9])/.test(model) && record(body.thinking)?.type !== 'disabled',
    usageInLast: true,
  },
  rules: [
    {
      id: 'zhipu/open-intervals',
      source: 'https://github.com/songquanpeng/one-api/issues/1045',
      refuse({ body }) {
        const member = ['temperature', 'top_p'].find((name) => given(body, name) !== undefined && !between(body[name]));
        const whole = member === 'temperature' && (body.temperature === 1 || body.temperature === 0);
        return member === undefined || whole ? null : invalid(`${member}参数非法。请检查文档。`, { code: '1214' });
      },
    },
    when(
      'zhipu/chosen-tool',
      'https://docs.bigmodel.cn/cn/guide/capabilities/function-calling',
      ({ body }) => record(body.tool_choice) !== null,
      invalid('tool_choice参数非法。请检查文档。', { code: '1214' }),
    ),
    paired('zhipu', 'https://docs.bigmodel.cn/cn/guide/capabilities/function-calling'),
  ],
  complain: ({ message, code }) => ({ error: { code: code ?? '1210', message } }),
  doors: [messagesDoor('zhipu', '/api/anthropic/v1/messages', 'https://docs.bigmodel.cn/cn/guide/develop/claude')],
});

export const openrouter: Double = chatDouble({
  name: 'openrouter',
  base: '/api',
  path: '/api/v1/chat/completions',
  source: 'https://openrouter.ai/docs/api-reference/chat-completion',
  form: { ...open, roles: 'system developer user assistant tool', parts: 'text image_url input_audio file' },
  fault,
  habits: {
    thoughts: 'reasoning_details',
    thinks: (_, body) => body.reasoning_effort !== undefined || record(body.reasoning) !== null,
  },
  rules: [
    worded('openrouter/effort', 'https://github.com/Darkatse/TauriTavern/pull/85', 'reasoning_effort', [
      [/./, 'xhigh high medium low minimal none'],
    ]),
    worded('openrouter/nested-effort', 'https://github.com/Darkatse/TauriTavern/pull/85', 'reasoning.effort', [
      [/./, 'xhigh high medium low minimal none'],
    ]),
    when(
      'openrouter/one-effort',
      'https://github.com/danny-avila/LibreChat/issues/6076',
      ({ body }) => given(body, 'reasoning') !== undefined && given(body, 'reasoning_effort') !== undefined,
      invalid('Only one of "reasoning" and "reasoning_effort" may be provided'),
    ),
    paired('openrouter', 'https://openrouter.ai/docs/guides/features/tool-calling'),
  ],
  complain: ({ status, message }) => ({ error: { message, code: status } }),
  doors: [
    responsesDoor('/api/v1/responses', (_, body) => record(body.reasoning) !== null, []),
    messagesDoor(
      'openrouter',
      '/api/v1/messages',
      'https://openrouter.ai/docs/api/api-reference/anthropic-messages/create-messages',
    ),
  ],
});

const streamOnly = /^(?:qwq|qvq)|-thinking|^qwen3-(?:\d+b|\d+b-a\d+b)$/;

export const ali: Double = chatDouble({
  name: 'ali',
  path: '/compatible-mode/v1/chat/completions',
  source: 'https://help.aliyun.com/zh/model-studio/qwen-api-via-openai-chat-completions',
  form: {
    ...open,
    roles: 'system user assistant tool function',
    parts: 'text image_url input_audio video_url',
    choices: 'auto none',
  },
  fault: ({ path, input }) =>
    path.at(-1) === 'role'
      ? invalid(
          `${input} is not one of ['system', 'assistant', 'user', 'tool', 'function'] - 'messages.[${path[1]}].role'`,
        )
      : invalid(`<400> InternalError.Algo.InvalidParameter: ${bracketed(path)}`, { code: 'invalid_parameter_error' }),
  habits: {
    thoughts: 'reasoning_content',
    thinks: (model, body) =>
      body.enable_thinking === true || (streamOnly.test(model) && body.enable_thinking !== false),
  },
  rules: [
    when(
      'ali/thinking-streams',
      'https://github.com/infiniflow/ragflow/issues/8972',
      ({ body, model, stream }) =>
        !stream && (body.enable_thinking === true || (streamOnly.test(model) && body.enable_thinking !== false)),
      invalid('parameter.enable_thinking must be set to false for non-streaming calls', {
        code: 'invalid_parameter_error',
      }),
    ),
    when(
      'ali/word-json',
      'https://github.com/agno-agi/agno/pull/5317',
      ({ body }) =>
        given(body, 'response_format.type') === 'json_object' && !/json/i.test(JSON.stringify(body.messages)),
      invalid(
        "<400> InternalError.Algo.InvalidParameter: 'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
        { code: 'invalid_parameter_error' },
      ),
    ),
    when(
      'ali/bounds',
      'https://help.aliyun.com/zh/model-studio/qwen-api-via-openai-chat-completions',
      ({ body }) =>
        Number(body.temperature ?? 0) >= 2 || (given(body, 'top_p') !== undefined && Number(body.top_p) <= 0),
      invalid('<400> InternalError.Algo.InvalidParameter: temperature', { code: 'invalid_parameter_error' }),
    ),
    pairedCalls('ali/paired-calls', 'https://github.com/philschmid/mcp-openai-gemini-llama-example/pull/5', {
      missing: () =>
        invalid(
          '<400> InternalError.Algo.InvalidParameter: An assistant message with "tool_calls" must be followed by tool messages responding to each "tool_call_id".',
        ),
      orphan: () =>
        invalid(
          '<400> InternalError.Algo.InvalidParameter: messages with role "tool" must be a response to a preceeding message with "tool_calls".',
        ),
    }),
  ],
  doors: [
    messagesDoor(
      'ali',
      '/apps/anthropic/v1/messages',
      'https://help.aliyun.com/zh/model-studio/anthropic-api-messages',
    ),
  ],
});

export const minimax: Double = chatDouble({
  name: 'minimax',
  path: '/v1/text/chatcompletion_v2',
  source: 'https://platform.minimax.io/docs/api-reference/text-openai-api',
  form: { ...open, roles: 'system user assistant tool', parts: 'text image_url' },
  fault: ({ path }) => invalid(`invalid params, ${bracketed(path)} (2013)`),
  habits: {
    thoughts: 'reasoning_content',
    thinks: () => true,
    callId: (seed) => `call_function_${seed.length}_1`,
    usageInLast: true,
  },
  rules: [
    when(
      'minimax/parameters',
      'https://github.com/QwenLM/qwen-code/issues/11905',
      ({ body }) => records(body.tools).some((tool) => record(record(tool.function)?.parameters) === null),
      invalid('invalid params, function parameters is empty (2013)'),
    ),
    when(
      'minimax/temperature',
      'https://platform.minimax.io/docs/api-reference/text-openai-api',
      ({ body }) =>
        given(body, 'temperature') !== undefined && (Number(body.temperature) <= 0 || Number(body.temperature) > 1),
      invalid('invalid params, temperature must be in (0.0, 1.0] (2013)'),
    ),
    pairedCalls('minimax/paired-calls', 'https://github.com/MiniMax-AI/MiniMax-M2/issues/76', {
      missing: () => invalid('invalid params, tool call and result not match (2013)'),
      orphan: (id) => invalid(`invalid params, tool result's tool id(${id}) not found (2013)`),
    }),
  ],
  complain: ({ status, message }) => ({
    type: 'error',
    error: { type: 'bad_request_error', message, http_code: String(status) },
    request_id: 'practice',
  }),
  doors: [
    messagesDoor(
      'minimax',
      '/anthropic/v1/messages',
      'https://platform.minimax.io/docs/api-reference/text-anthropic-api',
    ),
  ],
});
