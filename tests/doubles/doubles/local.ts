/** Servers that people run themselves: vLLM and LM Studio, with a model whose template is strict. */
import { record, records } from '../../../server/protocols/shared/json.ts';
import type { Double } from '../double.ts';
import { invalid, type Refusal } from '../rule.ts';
import { openResponses } from '../rules/open-responses.ts';
import { noDeveloper, qwen, systemFirst, userAsked } from '../rules/template.ts';
import { when } from '../rules/when.ts';
import { nameFrom } from '../seal.ts';
import { type Fault, shapeRule } from '../shape.ts';
import { responsesWireWith } from '../wires/responses.ts';
import { chatDouble } from './chat.ts';
import { fallback, open } from './lax.ts';

const quoted = (value: unknown): string =>
  value === undefined || value === null ? 'None' : typeof value === 'string' ? `'${value}'` : JSON.stringify(value);
const located = (path: readonly (string | number)[]): string =>
  ['body', ...path].map((part) => (typeof part === 'number' ? String(part) : `'${part}'`)).join(', ');

/** Pydantic's list as vLLM prints it: https://github.com/vllm-project/vllm/issues/10015 */
const pydantic = (type: string, path: readonly (string | number)[], message: string, input: unknown): Refusal =>
  invalid(`[{'type': '${type}', 'loc': (${located(path)}), 'msg': "${message}", 'input': ${quoted(input)}}]`, {
    type: 'Bad Request',
  });

const vllmFault = ({ kind, path, expected, input }: Fault): Refusal =>
  kind === 'missing'
    ? pydantic('missing', path, 'Field required', input)
    : pydantic('literal_error', path, `Input should be ${expected}`, input);

const vllmSource = 'https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/openai/chat_completion/protocol.py';
/** https://github.com/nashsu/llm_wiki/issues/45 shows the type. */
const template = (message: string): Refusal => invalid(message, { type: 'BadRequestError' });

/** As openai-python types them, which vLLM reads with: https://github.com/vllm-project/vllm/issues/42475 */
const vllmTools =
  /^(?:function|file_search|computer_use_preview|web_search|web_search_2025_08_26|mcp|code_interpreter|image_generation|local_shell|shell|custom|web_search_preview|web_search_preview_2025_03_11|apply_patch)$/;

const vllmThinks = (model: string): boolean => qwen.test(model);

export const vllm: Double = chatDouble({
  name: 'vllm',
  path: '/v1/chat/completions',
  source: vllmSource,
  form: {
    ...open,
    members: `${fallback} stream_options reasoning_effort chat_template_kwargs`,
    roles: 'system developer user assistant tool',
    parts: 'text image_url input_audio video_url',
  },
  error: vllmFault,
  habits: {
    thoughts: 'reasoning',
    thinks: vllmThinks,
    callId: (seed) => `chatcmpl-tool-${nameFrom(seed, 32)}`,
    usageInLast: false,
  },
  rules: [
    when(
      'vllm/choice-without-tools',
      vllmSource,
      ({ body }) => body.tool_choice != null && body.tool_choice !== 'none' && records(body.tools).length === 0,
      template('When using `tool_choice`, `tools` must be set.'),
    ),
    when(
      'vllm/stream-options',
      vllmSource,
      ({ body, stream }) => record(body.stream_options) !== null && !stream,
      template('Stream options can only be defined when `stream=True`.'),
    ),
    noDeveloper(
      'vllm/developer',
      'https://github.com/ogx-ai/ogx/issues/6069',
      qwen,
      template('Unexpected message role.'),
    ),
    systemFirst(
      'vllm/system-first',
      'https://github.com/vllm-project/vllm/issues/41114',
      qwen,
      template('System message must be at the beginning.'),
    ),
    userAsked(
      'vllm/user-asked',
      'https://huggingface.co/Qwen/Qwen3.5-27B/blob/main/chat_template.jinja',
      qwen,
      template('No user query found in messages.'),
    ),
  ],
  complain: ({ status, message, type = 'BadRequestError', param }) => ({
    error: { message, type, param: param ?? null, code: status },
  }),
  doors: [
    {
      path: '/v1/responses',
      wire: responsesWireWith(vllmThinks),
      rules: [
        shapeRule('vllm/responses-form', 'https://github.com/openai/codex/issues/8829', openResponses, vllmFault),
        {
          id: 'vllm/responses-tools',
          source: 'https://github.com/vllm-project/vllm/issues/42475',
          reject({ body }) {
            const at = records(body.tools).findIndex(({ type }) => !vllmTools.test(String(type)));
            return at < 0
              ? null
              : pydantic(
                  'literal_error',
                  ['tools', at, 'FunctionTool', 'type'],
                  "Input should be 'function'",
                  records(body.tools)[at]?.type,
                );
          },
        },
      ],
    },
  ],
});

/** The words around what a template raised: https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1586 */
const rendering = (raised: string): Refusal =>
  invalid(
    `Error rendering prompt with jinja template: "${raised}".\n\nThis is usually an issue with the model's prompt template. If you are using a popular model, you can try to search the model under lmstudio-community, which will have fixed prompt templates. If you cannot find one, you are welcome to post this issue to our discord or issue tracker on GitHub. Alternatively, if you know how to write jinja templates, you can override the prompt template in My Models > model settings > Prompt Template.`,
  );

/** Its chat answers with a sentence, its Responses with an object. */
const lmComplain = ({ message, type, param, code }: Refusal): unknown =>
  type === undefined ? { error: message } : { error: { message, type, param: param ?? null, code: code ?? null } };

const lmResponses = (message: string, param: string, code: string): Refusal =>
  invalid(message, { type: 'invalid_request_error', param, code });

/** One level of thoughts for the models that have them. */
const lmThinks = (model: string): boolean => qwen.test(model);

export const lmStudio: Double = chatDouble({
  name: 'lm-studio',
  path: '/v1/chat/completions',
  source: 'https://lmstudio.ai/docs/developer/openai-compat/chat-completions',
  form: {
    ...open,
    members: `${fallback} stream_options`,
    roles: 'system developer user assistant tool',
    parts: 'text image_url',
    // Other words and formats: below, as it words them.
    formats: 'text json_object json_schema',
  },
  // https://github.com/openai/codex/issues/22294
  error: ({ path, expected }) =>
    invalid(
      path[0] === 'tools' && path.at(-1) === 'type'
        ? 'Invalid literal value, expected "function"'
        : `Invalid '${path.map((part) => (typeof part === 'number' ? `[${part}]` : part)).join('.')}': expected ${expected}`,
    ),
  habits: { thoughts: 'reasoning_content', thinks: lmThinks, callId: (seed) => nameFrom(seed, 9) },
  rules: [
    when(
      'lm-studio/tool-choice',
      'https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/670',
      ({ body }) => record(body.tool_choice) !== null,
      invalid("Invalid tool_choice type: 'object'. Supported string values: none, auto, required"),
    ),
    when(
      'lm-studio/json-object',
      'https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/189',
      ({ body }) => record(body.response_format)?.type === 'json_object',
      invalid("'response_format.type' must be 'json_schema' or 'text'"),
    ),
    systemFirst(
      'lm-studio/system-first',
      'https://github.com/phuetz/code-buddy/pull/75',
      qwen,
      rendering('System message must be at the beginning.'),
    ),
    userAsked(
      'lm-studio/user-asked',
      'https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1586',
      qwen,
      rendering('No user query found in messages.'),
    ),
  ],
  complain: lmComplain,
  doors: [
    {
      path: '/v1/responses',
      wire: responsesWireWith(lmThinks),
      rules: [
        shapeRule(
          'lm-studio/responses-form',
          'https://lmstudio.ai/docs/developer/openai-compat/responses',
          openResponses,
          ({ path }) => lmResponses('Invalid', path.join('.'), 'invalid_string'),
        ),
        {
          id: 'lm-studio/responses-tools',
          source: 'https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1383',
          reject({ body }) {
            // Newer ones pass over custom tools and searches, and still refuse this: issues 1810 and 1812 there.
            const at = records(body.tools).findIndex(
              ({ type }) => !/^(?:function|mcp|custom|web_search)$/.test(String(type)),
            );
            return at < 0 ? null : lmResponses('Invalid', `tools.${at}.type`, 'invalid_string');
          },
        },
        {
          id: 'lm-studio/responses-parameters',
          source: 'https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2254',
          reject({ body }) {
            const at = records(body.tools).findIndex(
              ({ type, parameters }) => type === 'function' && record(parameters)?.type !== 'object',
            );
            return at < 0 ? null : lmResponses('Invalid input', `tools.${at}`, 'custom');
          },
        },
        when(
          'lm-studio/responses-text',
          'https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1576',
          ({ body }) => record(body.text) !== null && record(body.text)?.format === undefined,
          lmResponses('Required', 'text.format', 'missing_required_parameter'),
        ),
      ],
    },
  ],
});
