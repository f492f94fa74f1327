/** Providers that refuse what they do not know: Mistral, Groq, Cerebras. */
import { z } from 'zod';
import { valueAt } from '../../../server/practice/row-rules.ts';
import { record, records } from '../../../server/protocols/shared/json.ts';
import type { Double } from '../double.ts';
import { invalid } from '../rule.ts';
import { following, messagesOf, pairedCalls, parsedArguments } from '../rules/chat-order.ts';
import { requiredWithoutProperties } from '../rules/schemas.ts';
import { when } from '../rules/when.ts';
import { nameFrom } from '../seal.ts';
import { bracketed, dotted } from '../shape.ts';
import { namedBreak } from '../wires/chat.ts';
import { chatDouble, responsesDoor, thinksWhen } from './chat.ts';

const nineLetters = /^[a-zA-Z0-9]{9}$/;

export const mistral: Double = chatDouble({
  name: 'mistral',
  path: '/v1/chat/completions',
  source: 'https://docs.mistral.ai/api/endpoint/chat',
  form: {
    closed: true,
    members:
      'temperature top_p max_tokens stop random_seed metadata presence_penalty frequency_penalty n prediction parallel_tool_calls prompt_mode guardrails safe_prompt prompt_cache_key reasoning_effort',
    roles: 'system user assistant tool',
    parts: 'text image_url input_audio file thinking',
    assistant: 'prefix',
    tool: 'name',
    choices: 'auto none any required',
    formats: 'text json_object json_schema',
  },
  // https://github.com/dnakov/anon-kode/issues/53
  error: ({ kind, path, expected, input }) => ({
    status: 422,
    message: JSON.stringify({
      detail: [
        {
          type: kind === 'unknown' ? 'extra_forbidden' : kind,
          loc: ['body', ...path],
          msg: kind === 'unknown' ? 'Extra inputs are not permitted' : `Input should be ${expected}`,
          input,
        },
      ],
    }),
  }),
  habits: {
    thoughts: 'content-parts',
    thinks: (model, body) => model.startsWith('magistral') || body.reasoning_effort === 'high',
    callId: (seed) => nameFrom(seed, 9),
    usageInLast: true,
    wholeCalls: true,
  },
  rules: [
    {
      id: 'mistral/call-ids',
      source: 'https://github.com/anomalyco/opencode/issues/1680',
      reject({ body }) {
        const ids = messagesOf(body).flatMap((message) => [
          ...records(message.tool_calls).map(({ id }) => id),
          ...(message.role === 'tool' ? [message.tool_call_id] : []),
        ]);
        const wrong = ids.find((id) => !nineLetters.test(String(id)));
        return wrong === undefined
          ? null
          : invalid(`Tool call id was ${wrong} but must be a-z, A-Z, 0-9, with a length of 9.`, {
              type: 'invalid_function_call',
              code: '3280',
            });
      },
    },
    following(
      'mistral/roles',
      'https://github.com/BerriAI/litellm/issues/17761',
      { tool: 'tool assistant', user: 'user assistant system', system: 'system user assistant' },
      (role, after) =>
        invalid(`Unexpected role '${role}' after role '${after}'`, {
          type: 'invalid_request_message_order',
          code: '3230',
        }),
    ),
    pairedCalls('mistral/paired-calls', 'https://github.com/mistralai/client-ts/issues/106', {
      missing: () => invalid('Not the same number of function calls and responses'),
      orphan: () => invalid("Unexpected role 'tool' after role 'user'", { type: 'invalid_request_message_order' }),
    }),
    when(
      'mistral/last-role',
      'https://github.com/0xPlaygrounds/rig/pull/1130',
      ({ body }) => {
        const last = messagesOf(body).at(-1);
        return last?.role === 'assistant' && last.prefix !== true;
      },
      invalid('Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant'),
    ),
    when(
      'mistral/effort',
      'https://docs.mistral.ai/capabilities/reasoning/adjustable',
      ({ body, model }) => {
        const effort = valueAt(body, 'reasoning_effort');
        const adjustable = /^mistral-(?:small-(?:2603|latest)|medium-(?:2604|3-5|latest)|large-4)/.test(model);
        return effort !== undefined && (!adjustable || !['none', 'high'].includes(String(effort)));
      },
      ({ body }) =>
        invalid(`reasoning_effort ${body.reasoning_effort} is not supported for this model.`, { code: '3051' }),
    ),
  ],
  complain: ({ status, message, type = 'invalid_request_error', code }) => ({
    object: 'error',
    message: status === 422 ? JSON.parse(message) : message,
    type,
    param: null,
    code: code ?? null,
  }),
});

const groqEfforts: readonly (readonly [RegExp, string])[] = [
  [/qwen3|qwen-3/, 'none default'],
  [/gpt-oss/, 'low medium high'],
];

export const groq: Double = chatDouble({
  name: 'groq',
  base: '/openai',
  path: '/openai/v1/chat/completions',
  source: 'https://console.groq.com/docs/api-reference#chat-create',
  form: {
    closed: true,
    members:
      'citation_options compound_custom disable_tool_validation documents exclude_domains frequency_penalty function_call functions include_domains include_reasoning max_completion_tokens max_tokens metadata n parallel_tool_calls presence_penalty reasoning_effort reasoning_format search_settings seed service_tier stop store stream_options temperature top_p user',
    own: { n: z.literal(1).nullish() },
    roles: 'system developer user assistant tool',
    parts: 'text image_url',
    assistant: 'reasoning function_call refusal',
    formats: 'text json_object json_schema',
  },
  // https://github.com/janhq/jan/issues/8136
  error: ({ kind, path, expected }) => {
    const member = String(path.at(-1));
    if (kind === 'unknown' && path[0] === 'messages') {
      const at = `'messages.${path[1]}'`;
      return invalid(
        `${at} : for 'role:assistant' the following must be satisfied[(${at} : property '${member}' is unsupported)]`,
      );
    }
    return invalid(
      kind === 'unknown' ? `property '${bracketed(path)}' is unsupported` : `'${dotted(path)}' : expected ${expected}`,
    );
  },
  habits: {
    thoughts: 'reasoning',
    thinks: thinksWhen(/qwen3|gpt-oss/),
    breaks: namedBreak,
    more: { x_groq: { id: 'req_practice' } },
  },
  rules: [
    when(
      'groq/names',
      'https://console.groq.com/docs/openai',
      ({ body }) => messagesOf(body).some(({ name }) => name !== undefined),
      invalid("property 'name' is unsupported"),
    ),
    {
      id: 'groq/effort',
      source: 'https://github.com/earendil-works/pi/issues/1745',
      reject({ body, model }) {
        const effort = valueAt(body, 'reasoning_effort');
        if (effort === undefined) return null;
        const words = groqEfforts.find(([models]) => models.test(model))?.[1];
        if (words === undefined) return invalid('reasoning_effort is not supported with this model');
        return words.split(' ').includes(String(effort))
          ? null
          : invalid(
              `\`reasoning_effort\` must be one of ${words
                .split(' ')
                .map((word) => `\`${word}\``)
                .join(' or ')}`,
            );
      },
    },
    when(
      'groq/schema',
      'https://console.groq.com/docs/structured-outputs#supported-models',
      ({ body, model }) =>
        valueAt(body, 'response_format.type') === 'json_schema' && !/gpt-oss|llama-4|kimi-k2/.test(model),
      invalid('This model does not support response format `json_schema`.', { param: 'response_format' }),
    ),
    when(
      'groq/json-with-tools',
      'https://console.groq.com/docs/structured-outputs',
      ({ body }) =>
        ['json_object', 'json_schema'].includes(String(valueAt(body, 'response_format.type'))) &&
        records(body.tools).length > 0,
      invalid('json mode cannot be combined with tool/function calling'),
    ),
    pairedCalls('groq/paired-calls', 'https://console.groq.com/docs/tool-use', {
      missing: (ids) => invalid(`'messages' : tool calls without results: ${ids}`),
      orphan: (id) => invalid(`'messages' : tool_call_id '${id}' answers no call`),
    }),
    {
      id: 'groq/tool-schemas',
      source: 'https://github.com/usestrix/strix/issues/1088',
      reject({ body }) {
        const at = records(body.tools).findIndex((tool) =>
          requiredWithoutProperties(record(tool.function)?.parameters),
        );
        const name = record(records(body.tools)[at]?.function)?.name;
        return at < 0
          ? null
          : invalid(
              `invalid JSON schema for tool ${name}, tools[${at}].function.parameters: 'required' present but 'properties' is missing`,
              { param: `tool ${name}, tools[${at}].function.parameters` },
            );
      },
    },
    parsedArguments('groq/arguments', 'https://console.groq.com/docs/tool-use', () =>
      invalid('Failed to parse tool call arguments as JSON', { code: 'tool_use_failed' }),
    ),
  ],
  complain: ({ message, type = 'invalid_request_error', param, code }) => ({
    error: { message, type, ...(param === undefined ? {} : { param }), ...(code === undefined ? {} : { code }) },
  }),
  doors: [
    responsesDoor('/openai/v1/responses', thinksWhen(/qwen3|gpt-oss/), [
      when(
        'groq/responses-members',
        'https://console.groq.com/docs/responses-api#unsupported-features',
        ({ body }) =>
          ['previous_response_id', 'truncation', 'include', 'safety_identifier', 'prompt_cache_key'].some(
            (member) => valueAt(body, member) !== undefined,
          ) || body.store === true,
        invalid('this member is not supported by the Responses API yet'),
      ),
      when(
        'groq/responses-tools',
        'https://console.groq.com/docs/responses-api',
        ({ body }) =>
          records(body.tools).some(
            ({ type }) => !['function', 'browser_search', 'code_interpreter', 'mcp'].includes(String(type)),
          ),
        ({ body }) => {
          const at = records(body.tools).findIndex(
            ({ type }) => !['function', 'browser_search', 'code_interpreter', 'mcp'].includes(String(type)),
          );
          return invalid(`tools[${at}].type: unsupported tool type '${records(body.tools)[at]?.type}'`);
        },
      ),
    ]),
  ],
});

export const cerebras: Double = chatDouble({
  name: 'cerebras',
  path: '/v1/chat/completions',
  source: 'https://inference-docs.cerebras.ai/api-reference/chat-completions',
  form: {
    closed: true,
    // The penalties, the bias and parallel calls: refused by older documents, taken by newer ones; the stricter counts.
    members:
      'clear_thinking disable_reasoning logprobs max_completion_tokens max_tokens min_tokens prediction prompt_cache_key reasoning_effort reasoning_format seed stop stream_options temperature top_logprobs top_p user',
    own: { temperature: z.number().min(0).max(1.5).nullish() },
    roles: 'system developer user assistant tool',
    parts: 'text image_url',
    assistant: 'reasoning',
    tool: 'name',
    formats: 'text json_object json_schema',
  },
  // https://github.com/Kilo-Org/kilocode/issues/10375
  error: ({ kind, path, expected }) => {
    const [first, at, ...rest] = path;
    const place =
      first === 'messages' && rest.length > 0 ? `messages.${at}.assistant.${dotted(rest)}` : `body.${dotted(path)}`;
    return invalid(
      kind === 'unknown' ? `${place}: property '${place}' is unsupported` : `${place}: expected ${expected}`,
      {
        param: 'validation_error',
        code: 'wrong_api_format',
      },
    );
  },
  habits: { thoughts: 'reasoning', thinks: thinksWhen(/gpt-oss|glm|qwen/) },
  rules: [
    when(
      'cerebras/effort',
      'https://inference-docs.cerebras.ai/capabilities/reasoning',
      ({ body, model }) => {
        const effort = valueAt(body, 'reasoning_effort');
        const words = /gpt-oss/.test(model) ? 'low medium high' : /glm/.test(model) ? 'none low medium high' : '';
        return effort !== undefined && !words.split(' ').includes(String(effort));
      },
      ({ body }) =>
        invalid(`reasoning_effort: '${body.reasoning_effort}' is not supported for this model`, {
          param: 'reasoning_effort',
          code: 'wrong_api_format',
        }),
    ),
    when(
      'cerebras/json-with-tools',
      'https://inference-docs.cerebras.ai/capabilities/structured-outputs',
      ({ body }) => valueAt(body, 'response_format.type') === 'json_schema' && records(body.tools).length > 0,
      invalid('`tools` is incompatible with `response_format`', { param: 'response_format', code: 'wrong_api_format' }),
    ),
    pairedCalls('cerebras/paired-calls', 'https://inference-docs.cerebras.ai/capabilities/tool-use', {
      missing: (ids) => invalid(`tool calls without results: ${ids}`, { code: 'wrong_api_format' }),
      orphan: (id) => invalid(`tool_call_id '${id}' answers no call`, { code: 'wrong_api_format' }),
    }),
  ],
  complain: ({ message, type = 'invalid_request_error', param, code }) => ({
    message,
    type,
    param: param ?? null,
    code: code ?? null,
  }),
});
