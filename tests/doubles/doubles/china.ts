/** DeepSeek, Moonshot, Zhipu, Alibaba and MiniMax: thoughts that must come back, members that must not be there. */
import { z } from 'zod';
import { valueAt } from '../../../server/practice/row-rules.ts';
import { record, records } from '../../../server/protocols/shared/json.ts';
import type { Double } from '../double.ts';
import { invalid } from '../rule.ts';
import { messagesOf, pairedCalls, parsedArguments, thoughtsKept } from '../rules/chat-order.ts';
import { turnsOf } from '../rules/messages.ts';
import { lateInstruction } from '../rules/template.ts';
import { rejected, when, worded } from '../rules/when.ts';
import { nameFrom } from '../seal.ts';
import { bracketed } from '../shape.ts';
import { chatDouble, messagesDoor } from './chat.ts';
import { error, open, paired } from './lax.ts';

const deepseekThinks = /reasoner|deepseek-v[4-9]/;

export const deepseek: Double = chatDouble({
  name: 'deepseek',
  path: '/v1/chat/completions',
  source: 'https://api-docs.deepseek.com/api/create-chat-completion',
  form: { ...open, roles: 'system user assistant tool', parts: 'text', formats: 'text json_object' },
  // https://github.com/rikkahub/rikkahub/issues/1433
  error: ({ path, input }) => {
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
        !['auto', 'none', 'undefined'].includes(String(valueAt(body, 'tool_choice'))),
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
        valueAt(body, 'response_format.type') === 'json_object' && !/json/i.test(JSON.stringify(body.messages)),
      invalid("Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'."),
    ),
    paired('deepseek', 'https://api-docs.deepseek.com/guides/function_calling'),
  ],
  doors: [
    messagesDoor('deepseek', '/anthropic/v1/messages', 'https://api-docs.deepseek.com/guides/anthropic_api', {
      first: [
        {
          id: 'deepseek/messages-system',
          source: 'https://github.com/deepseek-ai/awesome-deepseek-integration/issues/639',
          reject({ body }) {
            const at = turnsOf(body).findIndex(({ role }) => role === 'system');
            return at < 0
              ? null
              : invalid(
                  `Failed to deserialize the JSON body into the target type: messages[${at}].role: unknown variant \`system\`, expected \`user\` or \`assistant\``,
                  { code: 'invalid_request_error' },
                );
          },
        },
        when(
          'deepseek/messages-thoughts',
          'https://github.com/OEvortex/aether/issues/31',
          ({ body, model }) =>
            deepseekThinks.test(model) &&
            record(body.thinking)?.type !== 'disabled' &&
            turnsOf(body).some(
              ({ role, blocks }) =>
                role === 'assistant' &&
                blocks.some(({ type }) => type === 'tool_use') &&
                !blocks.some(({ type }) => type === 'thinking'),
            ),
          invalid('The `content[].thinking` in the thinking mode must be passed back to the API.', {
            code: 'invalid_request_error',
          }),
        ),
        when(
          'deepseek/messages-forced-tool',
          'https://github.com/deepseek-ai/awesome-deepseek-integration/issues/606',
          ({ body, model }) =>
            deepseekThinks.test(model) &&
            record(body.thinking)?.type !== 'disabled' &&
            ['any', 'tool'].includes(String(valueAt(body, 'tool_choice.type'))),
          ({ model }) => invalid(`${model} does not support this tool_choice`, { code: 'invalid_request_error' }),
        ),
      ],
    }),
  ],
});

const kimiThinks = /kimi-k(?:2\.[5-9]|2-thinking|[3-9])/;

export const moonshot: Double = chatDouble({
  name: 'moonshot',
  path: '/v1/chat/completions',
  source: 'https://platform.moonshot.ai/docs/api/chat',
  form: { ...open, roles: 'system user assistant tool', parts: 'text image_url video_url' },
  error,
  habits: {
    thoughts: 'reasoning_content',
    thinks: (model, body) => kimiThinks.test(model) && record(body.thinking)?.type !== 'disabled',
    usageInLast: true,
  },
  rules: [
    rejected(
      'moonshot/temperature',
      'https://github.com/NousResearch/hermes-agent/pull/12668',
      { models: /kimi-k(?:2\.[5-9]|[3-9])/, members: 'temperature', but: 1 },
      () => 'invalid temperature: only 1 is allowed for this model',
    ),
    rejected(
      'moonshot/top-p',
      'https://github.com/google-gemini/gemini-cli/pull/18977',
      { models: /kimi-k(?:2\.[5-9]|[3-9])/, members: 'top_p', but: 0.95 },
      () => 'invalid top_p: only 0.95 is allowed for this model',
    ),
    rejected(
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
        !['auto', 'none', 'undefined'].includes(String(valueAt(body, 'tool_choice'))),
      ({ body }) =>
        invalid(
          `tool_choice '${body.tool_choice === 'required' ? 'required' : 'specified'}' is incompatible with thinking enabled`,
        ),
    ),
    when(
      'moonshot/effort-and-thinking',
      'https://github.com/HKUDS/nanobot/issues/3939',
      ({ body }) => valueAt(body, 'reasoning_effort') !== undefined && valueAt(body, 'thinking') !== undefined,
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
  error,
  habits: {
    thoughts: 'reasoning_content',
    thinks: (model, body) => /glm-(?:4\.[5-9]|[5-9])/.test(model) && record(body.thinking)?.type !== 'disabled',
    usageInLast: true,
  },
  rules: [
    {
      id: 'zhipu/open-intervals',
      source: 'https://github.com/songquanpeng/one-api/issues/1045',
      reject({ body }) {
        const member = ['temperature', 'top_p'].find(
          (name) => valueAt(body, name) !== undefined && !between(body[name]),
        );
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
  error: ({ path, input }) =>
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
        valueAt(body, 'response_format.type') === 'json_object' && !/json/i.test(JSON.stringify(body.messages)),
      invalid(
        "<400> InternalError.Algo.InvalidParameter: 'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
        { code: 'invalid_parameter_error' },
      ),
    ),
    when(
      'ali/bounds',
      'https://help.aliyun.com/zh/model-studio/qwen-api-via-openai-chat-completions',
      ({ body }) =>
        Number(body.temperature ?? 0) >= 2 || (valueAt(body, 'top_p') !== undefined && Number(body.top_p) <= 0),
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
  error: ({ path }) => invalid(`invalid params, ${bracketed(path)} (2013)`),
  habits: {
    thoughts: 'reasoning_content',
    thinks: () => true,
    callId: (seed) => `call_function_${nameFrom(seed, 12)}_1`,
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
        valueAt(body, 'temperature') !== undefined && (Number(body.temperature) <= 0 || Number(body.temperature) > 1),
      invalid('invalid params, temperature must be in (0.0, 1.0] (2013)'),
    ),
    when(
      'minimax/one-system',
      'https://github.com/openclaw/openclaw/issues/19386',
      ({ body }) => messagesOf(body).filter(({ role }) => role === 'system').length > 1,
      invalid('invalid params, invalid chat setting (2013)'),
    ),
    when(
      'minimax/system-first',
      'https://github.com/BigPizzaV3/CodexPlusPlus/issues/267',
      ({ body }) => lateInstruction(body) > 0,
      invalid('invalid params, chat content has invalid message role: system (2013)'),
    ),
    parsedArguments('minimax/arguments', 'https://github.com/ResearAI/DeepScientist/issues/48', (id) =>
      invalid(`invalid params, invalid function arguments json string, tool_call_id: ${id} (2013)`),
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
      {
        first: [
          when(
            'minimax/messages-system',
            'https://github.com/MiniMax-AI/MiniMax-M2.7/issues/43',
            ({ body }) => turnsOf(body).some(({ role }) => role === 'system'),
            invalid('invalid params, chat content has invalid message role: system (2013)'),
          ),
        ],
      },
    ),
  ],
});
