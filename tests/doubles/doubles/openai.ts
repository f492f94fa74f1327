/** OpenAI, and Azure's deployments of the same models. */
import { z } from 'zod';
import { valueAt } from '../../../server/practice/row-rules.ts';
import { record, records } from '../../../server/protocols/shared/json.ts';
import { bearer, type Door, type Double, keyIn, knownModels, openaiBody } from '../double.ts';
import { invalid, type Refusal, type Rule } from '../rule.ts';
import { chatForm } from '../rules/chat-form.ts';
import { pairedCalls, parsedArguments } from '../rules/chat-order.ts';
import { responsesRules } from '../rules/responses.ts';
import { rootUnion, unionFault, unionized } from '../rules/schemas.ts';
import { rejected, when, worded } from '../rules/when.ts';
import { bracketed, type Fault, shapeRule } from '../shape.ts';
import { chatWire } from '../wires/chat.ts';
import { responsesWire } from '../wires/responses.ts';

const reference = 'https://platform.openai.com/docs/api-reference/chat/create';
const reasoningGuide = 'https://platform.openai.com/docs/guides/reasoning';
const reasoning = /^(?:o\d|gpt-[5-9])(?!.*chat)/;

/** As https://github.com/OpenAI/openai-python/issues shows them for each kind of fault. */
export function openaiFault({ kind, path, expected, input }: Fault): Refusal {
  const param = bracketed(path);
  if (kind === 'unknown' && path.length === 1) return invalid(`Unrecognized request argument supplied: ${param}`);
  if (kind === 'unknown') return invalid(`Unknown parameter: '${param}'.`, { param, code: 'unknown_parameter' });
  if (kind === 'missing')
    return invalid(`Missing required parameter: '${param}'.`, { param, code: 'missing_required_parameter' });
  const got = input === null ? 'null' : Array.isArray(input) ? 'an array' : typeof input;
  return invalid(`Invalid type or value for '${param}': expected ${expected}, but got ${got} instead.`, {
    param,
    code: 'invalid_type',
  });
}

const members =
  'audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens metadata modalities moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort safety_identifier seed service_tier stop store temperature top_logprobs top_p user verbosity web_search_options';

const callId = z.string().max(40);
const form = chatForm({
  closed: true,
  members,
  own: {
    stream_options: z
      .strictObject({ include_usage: z.boolean().optional(), include_obfuscation: z.boolean().optional() })
      .nullish(),
  },
  roles: 'system developer user assistant tool',
  parts: 'text image_url input_audio file',
  assistant: 'name refusal audio function_call',
  callId,
  formats: 'text json_object json_schema',
});

/** Words for effort; source: the model pages beside the reasoning guide. */
export const openaiEfforts = [
  [/^gpt-[5-9][\d.]*-pro/, 'medium high xhigh'],
  [/^gpt-5(?:-mini|-nano)?(?:-\d{4}.*)?$/, 'minimal low medium high'],
  [/^gpt-5-codex/, 'low medium high'],
  [/^gpt-5\.1-codex-max/, 'none low medium high xhigh'],
  [/^gpt-5\.1(?!.*chat)/, 'none low medium high'],
  [/^gpt-[6-9](?!.*chat)/, 'low medium high xhigh'],
  [/^gpt-5\.[2-9](?!.*chat)/, 'none low medium high xhigh'],
  [/^o\d/, 'low medium high'],
  [/./, ''],
] as const;

/** A schema that is to be followed strictly must close every object and require every member. */
export function looseSchema(schema: unknown, path: readonly string[] = []): string | null {
  const given = record(schema);
  if (given === null) return null;
  const properties = record(given.properties);
  if (given.type === 'object' || properties !== null) {
    const context = `In context=(${path.map((part) => `'${part}'`).join(', ')})`;
    if (given.additionalProperties !== false)
      return `${context}, 'additionalProperties' is required to be supplied and to be false.`;
    const required = new Set(Array.isArray(given.required) ? given.required : []);
    const missing = Object.keys(properties ?? {}).find((name) => !required.has(name));
    if (missing !== undefined)
      return `${context}, 'required' is required to be supplied and to be an array including every key in properties. Missing '${missing}'.`;
  }
  for (const [name, member] of Object.entries(properties ?? {})) {
    const error = looseSchema(member, [...path, 'properties', name]);
    if (error !== null) return error;
  }
  return looseSchema(given.items, [...path, 'items']);
}

const strictSchemas: Rule = {
  id: 'openai/strict-schema',
  source: 'https://platform.openai.com/docs/guides/structured-outputs#supported-schemas',
  reject({ body }) {
    const { strict, schema, name } = record(record(body.response_format)?.json_schema) ?? {};
    const format = strict === true ? looseSchema(schema) : null;
    if (format !== null)
      return invalid(`Invalid schema for response_format '${name}': ${format}`, { param: 'response_format' });
    for (const tool of records(body.tools)) {
      const one = record(tool.function);
      const error = one?.strict === true ? looseSchema(one.parameters ?? {}) : null;
      if (error !== null)
        return invalid(`Invalid schema for function '${one?.name}': ${error}`, { code: 'invalid_function_parameters' });
    }
    return null;
  },
};

const unsupported = (member: string) => `Unsupported parameter: '${member}' is not supported with this model.`;

const chatRules: readonly Rule[] = [
  when(
    'openai/responses-alone',
    'https://github.com/alvinunreal/tmuxai/issues/82',
    ({ model }) => /codex|^(?:o[13]|gpt-[5-9](?:\.\d)?)-pro/.test(model),
    {
      status: 404,
      message: 'This model is only supported in v1/responses and not in v1/chat/completions.',
      type: 'invalid_request_error',
      param: 'model',
    },
  ),
  shapeRule('openai/chat-form', reference, form, openaiFault),
  rejected(
    'openai/max-tokens',
    'https://github.com/teilomillet/gollm/issues/33',
    { models: reasoning, members: 'max_tokens' },
    (member) => `${unsupported(member)} Use 'max_completion_tokens' instead.`,
  ),
  rejected(
    'openai/sampling',
    'https://github.com/decolua/9router/issues/560',
    { models: reasoning, members: 'temperature top_p', but: 1 },
    (member, _, value) =>
      `Unsupported value: '${member}' does not support ${value} with this model. Only the default (1) value is supported.`,
  ),
  rejected(
    'openai/penalties',
    'https://community.openai.com/t/developer-role-not-accepted-for-o1-o1-mini-o3-mini/1110750/7',
    { models: reasoning, members: 'presence_penalty frequency_penalty', but: 0 },
    unsupported,
  ),
  rejected(
    'openai/probabilities',
    reasoningGuide,
    { models: reasoning, members: 'logprobs top_logprobs logit_bias stop' },
    unsupported,
  ),
  worded('openai/effort', reasoningGuide, 'reasoning_effort', openaiEfforts),
  when(
    'openai/tools-with-effort',
    'https://github.com/openai/openai-openapi/issues/541',
    ({ model, body }) =>
      /^gpt-5\.4(?!.*chat)/.test(model) &&
      records(body.tools).length > 0 &&
      valueAt(body, 'reasoning_effort') !== undefined &&
      body.reasoning_effort !== 'none',
    ({ model }) =>
      invalid(
        `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. Please use /v1/responses instead.`,
        { param: 'reasoning_effort' },
      ),
  ),
  when(
    'openai/tools-beside-thought',
    'https://github.com/BerriAI/litellm/pull/34569',
    ({ model, body }) =>
      /^gpt-(?:5\.[5-9]|[6-9])(?!.*chat)/.test(model) &&
      records(body.tools).length > 0 &&
      body.reasoning_effort !== 'none',
    ({ model }) =>
      invalid(
        `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`,
        { param: 'reasoning_effort' },
      ),
  ),
  {
    id: 'openai/tool-unions',
    source: 'https://github.com/nspady/google-calendar-mcp/issues/39',
    reject({ body, model }) {
      const at = unionized.test(model)
        ? records(body.tools).findIndex((tool) => rootUnion(record(tool.function)?.parameters))
        : -1;
      return at < 0
        ? null
        : unionFault(record(records(body.tools)[at]?.function)?.name, `tools[${at}].function.parameters`);
    },
  },
  when(
    'openai/picture-detail',
    reference,
    ({ body }) =>
      records(body.messages).some(({ content }) =>
        records(content).some(({ image_url }) => {
          const detail = record(image_url)?.detail;
          return detail !== undefined && !['auto', 'low', 'high'].includes(String(detail));
        }),
      ),
    invalid("Invalid value for 'detail'. Supported values are: 'auto', 'low', and 'high'.", { code: 'invalid_value' }),
  ),
  worded('openai/service-tier', reference, 'service_tier', [[/./, 'auto default flex scale priority']]),
  when(
    'openai/choice-without-tools',
    reference,
    ({ body }) => valueAt(body, 'tool_choice') !== undefined && records(body.tools).length === 0,
    invalid("Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.", {
      param: 'tool_choice',
    }),
  ),
  when(
    'openai/parallel-without-tools',
    reference,
    ({ body }) => valueAt(body, 'parallel_tool_calls') !== undefined && records(body.tools).length === 0,
    invalid(
      "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.",
      {
        param: 'parallel_tool_calls',
      },
    ),
  ),
  when(
    'openai/stream-options',
    reference,
    ({ body, stream }) => valueAt(body, 'stream_options') !== undefined && !stream,
    invalid("The 'stream_options' parameter is only allowed when 'stream' is enabled.", { param: 'stream_options' }),
  ),
  strictSchemas,
  pairedCalls('openai/paired-calls', 'https://github.com/openai/openai-python/issues/1351', {
    missing: (ids, at) =>
      invalid(
        `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${ids}`,
        { param: `messages.[${at}].role` },
      ),
    orphan: (_, at) =>
      invalid(
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        { param: `messages.[${at}].role` },
      ),
  }),
  parsedArguments('openai/arguments', 'https://platform.openai.com/docs/guides/function-calling', (id) =>
    invalid(`Invalid arguments of call '${id}'.`),
  ),
];

const known = /^(?:gpt-|o\d|chatgpt-)/;
const wire = chatWire({
  thoughts: 'hidden',
  thinks: (model, body) => reasoning.test(model) && body.reasoning_effort !== 'none',
});

const chatDoor = (path: string): Door => ({ path, wire, rules: chatRules, unknown: knownModels(known) });
const responsesDoor = (path: string): Door => ({
  path,
  wire: responsesWire,
  rules: responsesRules,
  unknown: knownModels(known),
});

export const openai: Double = {
  name: 'openai',
  slug: 'openai',
  maker: 'openai',
  base: '',
  admit: bearer,
  doors: [chatDoor('/v1/chat/completions'), responsesDoor('/v1/responses')],
  complain: openaiBody,
};

/** Deployments keep the dots of their names: https://github.com/openai/openai-python/blob/main/README.md#microsoft-azure-openai */
export const azure: Double = {
  name: 'azure',
  slug: 'azure',
  maker: 'azure',
  base: '',
  admit: (caller) => {
    const refusal = keyIn('api-key')(caller);
    if (refusal !== null || caller.url.pathname.includes('/openai/v1/') || caller.query.has('api-version'))
      return refusal;
    return { status: 404, message: 'Resource not found', code: '404' };
  },
  doors: [
    chatDoor('/openai/deployments/{model}/chat/completions'),
    chatDoor('/openai/v1/chat/completions'),
    responsesDoor('/openai/v1/responses'),
  ],
  complain: ({ message, type = 'invalid_request_error', param, code }) => ({
    error: { message, type, param: param ?? null, code: code ?? null },
  }),
};
