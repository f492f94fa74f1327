/** What OpenAI's Responses refuse. */
import { z } from 'zod';
import { valueAt } from '../../../server/practice/row-rules.ts';
import { list, record, records } from '../../../server/protocols/shared/json.ts';
import { invalid, type Refusal, type Rule } from '../rule.ts';
import { bracketed, type Fault, shapeRule } from '../shape.ts';
import { inputOf } from '../wires/responses.ts';
import { rootUnion, unionFault, unionized } from './schemas.ts';
import { rejected, when, worded } from './when.ts';

const reference = 'https://platform.openai.com/docs/api-reference/responses/create';
const words = z.string();
const idWith = (prefix: string) =>
  words
    .regex(new RegExp(`^${prefix}[A-Za-z0-9_-]*$`))
    .max(64)
    .nullish();
const callId = words.min(1).max(64);
const status = z.enum(['in_progress', 'completed', 'incomplete']).nullish();
const name = words.regex(/^[a-zA-Z0-9_-]{1,128}$/);

const inputPiece = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('input_text'), text: words }),
  z.strictObject({
    type: z.literal('input_image'),
    image_url: words.regex(/^(?:https?:|data:image\/)/).nullish(),
    file_id: words.nullish(),
    detail: z.enum(['auto', 'low', 'high', 'original']).nullish(),
  }),
  z.strictObject({
    type: z.literal('input_file'),
    file_id: words.nullish(),
    filename: words.nullish(),
    file_data: words.nullish(),
    file_url: words.nullish(),
    detail: words.nullish(),
  }),
]);
const outputPiece = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('output_text'),
    text: words,
    annotations: z.array(z.unknown()).optional(),
    logprobs: z.array(z.unknown()).nullish(),
  }),
  z.strictObject({ type: z.literal('refusal'), refusal: words }),
]);

const message = (role: 'user' | 'system' | 'developer' | 'assistant') =>
  z.strictObject({
    type: z.literal('message').optional(),
    role: z.literal(role),
    content: z.union([words, z.array(role === 'assistant' ? outputPiece : inputPiece)]),
    id: idWith('msg'),
    status,
    phase: words.nullish(),
  });

const item = z.union([
  message('user'),
  message('system'),
  message('developer'),
  message('assistant'),
  z.strictObject({
    type: z.literal('function_call'),
    id: idWith('fc'),
    call_id: callId,
    name,
    arguments: words,
    status,
    namespace: words.nullish(),
    caller: z.unknown().optional(),
  }),
  z.strictObject({
    type: z.literal('function_call_output'),
    id: words.nullish(),
    call_id: callId,
    output: z.union([words, z.array(inputPiece)]),
    status,
    name: words.nullish(),
    caller: z.unknown().optional(),
  }),
  z.strictObject({
    type: z.literal('reasoning'),
    id: idWith('rs'),
    summary: z.array(z.strictObject({ type: z.literal('summary_text'), text: words })),
    content: z.array(z.looseObject({})).nullish(),
    encrypted_content: words.nullish(),
    status,
  }),
  z.strictObject({
    type: z.literal('custom_tool_call'),
    id: idWith('ctc'),
    call_id: callId,
    name,
    input: words,
    status,
    namespace: words.nullish(),
    caller: z.unknown().optional(),
    async: z.boolean().optional(),
  }),
  z.strictObject({
    type: z.literal('additional_tools'),
    id: words.nullish(),
    role: z.literal('developer'),
    tools: z.array(z.looseObject({ type: words })),
  }),
  z.strictObject({
    type: z.literal('custom_tool_call_output'),
    id: words.nullish(),
    call_id: callId,
    output: z.union([words, z.array(inputPiece)]),
    status,
  }),
  z.strictObject({ type: z.literal('compaction'), id: words.nullish(), encrypted_content: words }),
  z.strictObject({ type: z.literal('compaction_trigger') }),
  z.strictObject({ type: z.literal('item_reference'), id: words }),
  z.looseObject({ type: words.regex(/_call(?:_output)?$|^mcp_|^program/) }),
]);

const effort = z.strictObject({
  effort: words.nullish(),
  summary: z.enum(['auto', 'concise', 'detailed']).nullish(),
  generate_summary: words.nullish(),
  context: z.unknown().optional(),
  mode: words.nullish(),
});

const format = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    name: words.regex(/^[a-zA-Z0-9_-]{1,64}$/),
    schema: z.looseObject({}),
    strict: z.boolean().nullish(),
    description: words.nullish(),
  }),
]);

const tool = z.union([
  z.strictObject({
    type: z.literal('function'),
    name,
    description: words.nullish(),
    parameters: z.looseObject({}).nullable(),
    strict: z.boolean().nullable(),
    defer_loading: z.boolean().optional(),
    output_schema: z.unknown().optional(),
    allowed_callers: z.unknown().optional(),
  }),
  z.looseObject({ type: words.regex(/^(?!function$)/) }),
]);

const form = z.strictObject({
  model: words,
  input: z.union([words, z.array(item)]),
  stream: z.boolean().nullish(),
  instructions: words.nullish(),
  include: z.array(words).nullish(),
  max_output_tokens: z.int().min(16).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  reasoning: effort.nullish(),
  text: z.strictObject({ format: format.optional(), verbosity: words.nullish() }).nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: z.union([z.enum(['none', 'auto', 'required']), z.looseObject({ type: words })]).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  ...Object.fromEntries(
    'background context_management conversation max_tool_calls metadata moderation previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention safety_identifier service_tier store stream_options top_logprobs truncation user client_metadata'
      .split(' ')
      .map((member) => [member, z.unknown().optional()]),
  ),
});

function error({ kind, path, expected, input }: Fault): Refusal {
  const param = bracketed(path);
  if (kind === 'unknown') return invalid(`Unknown parameter: '${param}'.`, { param, code: 'unknown_parameter' });
  if (kind === 'missing')
    return invalid(`Missing required parameter: '${param}'.`, { param, code: 'missing_required_parameter' });
  return invalid(`Invalid '${param}': '${JSON.stringify(input)}'. Expected ${expected}.`, {
    param,
    code: 'invalid_value',
  });
}

const shortened = (text: string) => (text.length > 12 ? `${text.slice(0, 4)}...${text.slice(-4)}` : text);

const sealed: Rule = {
  id: 'responses/sealed-thoughts',
  source: 'https://github.com/openai/codex/issues/8145',
  reject({ body, seals }) {
    for (const { type, encrypted_content } of inputOf(body)) {
      if (typeof encrypted_content !== 'string') continue;
      if (!seals.knows(String(type), '', encrypted_content))
        return invalid(
          `The encrypted content ${shortened(encrypted_content)} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
          { code: 'invalid_encrypted_content' },
        );
    }
    return null;
  },
};

const paired: Rule = {
  id: 'responses/paired-calls',
  source: 'https://github.com/openai/openai-agents-python/issues/673',
  reject({ body }) {
    if (valueAt(body, 'previous_response_id') !== undefined) return null;
    const items = inputOf(body);
    const idsOf = (pattern: RegExp) =>
      items.flatMap(({ type, call_id }) => (pattern.test(String(type)) ? [String(call_id)] : []));
    const calls = new Set(idsOf(/^(?:function|custom_tool)_call$/));
    const outputs = new Set(idsOf(/^(?:function|custom_tool)_call_output$/));
    const lost = [...calls].find((id) => !outputs.has(id));
    if (lost !== undefined) return invalid(`No tool output found for function call ${lost}.`, { param: 'input' });
    const orphan = [...outputs].find((id) => !calls.has(id));
    return orphan === undefined
      ? null
      : invalid(`No tool call found for function call output with call_id ${orphan}.`, { param: 'input' });
  },
};

/** A thought stands before what it led to. */
const followed: Rule = {
  id: 'responses/followed-thoughts',
  source: 'https://github.com/openai/openai-node/issues/1567',
  reject({ body }) {
    const items = inputOf(body);
    const at = items.findIndex(({ type }, place) => {
      const next = items[place + 1];
      const goesOn = /_call$|^reasoning$/.test(String(next?.type)) || next?.role === 'assistant';
      return type === 'reasoning' && !goesOn;
    });
    return at < 0
      ? null
      : invalid(`Item '${items[at]?.id}' of type 'reasoning' was provided without its required following item.`, {
          param: 'input',
        });
  },
};

const unsupported = (member: string) => `Unsupported parameter: '${member}' is not supported with this model.`;
const reasoning = /^(?:o\d|gpt-[5-9])(?!.*chat)/;
const guide = 'https://platform.openai.com/docs/guides/reasoning';

/** What every host of this dialect refuses, whatever its models. */
export const responsesBasics: readonly Rule[] = [shapeRule('responses/form', reference, form, error), sealed, paired];

export const responsesRules: readonly Rule[] = [
  when(
    'responses/chat-alone',
    'https://github.com/Laisky/one-api/issues/88',
    ({ model }) => /search-preview/.test(model),
    ({ model }) => ({
      status: 404,
      message: `The requested model '${model}' is not supported with the Responses API.`,
      type: 'invalid_request_error',
      param: 'model',
      code: 'model_not_found',
    }),
  ),
  ...responsesBasics,
  followed,
  rejected('responses/sampling', guide, { models: reasoning, members: 'temperature top_p', but: 1 }, unsupported),
  rejected('responses/probabilities', guide, { models: reasoning, members: 'top_logprobs' }, unsupported),
  worded('responses/effort', guide, 'reasoning.effort', [
    [/^gpt-[5-9][\d.]*-pro/, 'medium high xhigh'],
    [/^gpt-5(?:-mini|-nano)?(?:-\d{4}.*)?$/, 'minimal low medium high'],
    [/^gpt-5-codex/, 'low medium high'],
    [/^gpt-5\.1(?!.*chat)/, 'none low medium high xhigh'],
    [/^gpt-[6-9]/, 'low medium high xhigh max'],
    [/^gpt-5\.[2-9](?!.*chat)/, 'none low medium high xhigh max'],
    [/^o\d/, 'low medium high'],
  ]),
  when(
    'responses/effort-unknown',
    guide,
    ({ model, body }) => !reasoning.test(model) && valueAt(body, 'reasoning.effort') !== undefined,
    invalid(unsupported('reasoning.effort'), { param: 'reasoning.effort', code: 'unsupported_parameter' }),
  ),
  when(
    'responses/summary-unknown',
    'https://github.com/NousResearch/hermes-agent/issues/52047',
    ({ model, body }) => !reasoning.test(model) && valueAt(body, 'reasoning.summary') !== undefined,
    invalid(unsupported('reasoning.summary'), { param: 'reasoning.summary', code: 'unsupported_parameter' }),
  ),
  when(
    'responses/seals-unknown',
    'https://github.com/pydantic/pydantic-ai/issues/2865',
    ({ model, body }) => !reasoning.test(model) && list(body.include).includes('reasoning.encrypted_content'),
    invalid('Encrypted content is not supported with this model.', { param: 'include' }),
  ),
  {
    id: 'responses/tool-unions',
    source: 'https://github.com/BerriAI/litellm/pull/38837',
    reject({ body, model }) {
      const at = unionized.test(model) ? records(body.tools).findIndex(({ parameters }) => rootUnion(parameters)) : -1;
      return at < 0 ? null : unionFault(records(body.tools)[at]?.name, `tools[${at}].parameters`);
    },
  },
  when(
    'responses/kept-with-seals',
    'https://platform.openai.com/docs/api-reference/responses/create#responses-create-include',
    ({ body }) =>
      records(body.input).some(({ type, encrypted_content }) => type === 'reasoning' && encrypted_content == null) &&
      body.store === false,
    ({ body }) => {
      const lost = records(body.input).find(({ type }) => type === 'reasoning');
      return {
        status: 404,
        message: `Item with id '${lost?.id}' not found. Items are not persisted when \`store\` is set to false.`,
      };
    },
  ),
  when(
    'responses/strict-schema',
    'https://platform.openai.com/docs/guides/structured-outputs#supported-schemas',
    ({ body }) => {
      const wanted = record(record(body.text)?.format);
      return wanted?.strict === true && record(wanted.schema)?.additionalProperties !== false;
    },
    invalid("Invalid schema for response_format: 'additionalProperties' is required to be supplied and to be false.", {
      param: 'text.format.schema',
      code: 'invalid_json_schema',
    }),
  ),
];
