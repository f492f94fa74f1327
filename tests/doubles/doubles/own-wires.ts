/** Providers with a wire of their own: Cohere and Ollama. */
import { z } from 'zod';
import { valueAt } from '../../../server/practice/row-rules.ts';
import { record, records } from '../../../server/protocols/shared/json.ts';
import { bearer, type Double } from '../double.ts';
import { invalid, type Refusal } from '../rule.ts';
import { pairedCalls } from '../rules/chat-order.ts';
import { systemFirst } from '../rules/template.ts';
import { when } from '../rules/when.ts';
import { dotted, type Fault, shapeRule } from '../shape.ts';
import { cohereWire } from '../wires/cohere.ts';
import { ollamaWire } from '../wires/ollama.ts';

const words = z.string();
const unknown = (names: string) => Object.fromEntries(names.split(' ').map((name) => [name, z.unknown().optional()]));

const text = z.strictObject({ type: z.literal('text'), text: words });
const cohereCall = z.strictObject({
  id: words,
  type: z.literal('function'),
  function: z.strictObject({ name: words, arguments: words }),
});
const cohereForm = z.strictObject({
  model: words,
  stream: z.boolean().optional(),
  messages: z
    .array(
      z.discriminatedUnion('role', [
        z.strictObject({ role: z.literal('system'), content: z.union([words, z.array(text)]) }),
        z.strictObject({
          role: z.literal('user'),
          content: z.union([
            words,
            z.array(
              z.union([
                text,
                z.strictObject({ type: z.literal('image_url'), image_url: z.looseObject({ url: words }) }),
              ]),
            ),
          ]),
        }),
        z.strictObject({
          role: z.literal('assistant'),
          content: z
            .union([words, z.array(z.union([text, z.strictObject({ type: z.literal('thinking'), thinking: words })]))])
            .optional(),
          tool_plan: words.optional(),
          tool_calls: z.array(cohereCall).min(1).optional(),
          citations: z.array(z.unknown()).optional(),
        }),
        z.strictObject({
          role: z.literal('tool'),
          tool_call_id: words,
          content: z.union([words, z.array(z.union([text, z.looseObject({ type: z.literal('document') })])).min(1)]),
        }),
      ]),
    )
    .min(1),
  tools: z
    .array(
      z.strictObject({
        type: z.literal('function'),
        function: z.strictObject({ name: words, description: words.optional(), parameters: z.looseObject({}) }),
      }),
    )
    .optional(),
  tool_choice: z.enum(['REQUIRED', 'NONE']).optional(),
  response_format: z
    .strictObject({ type: z.enum(['text', 'json_object']), json_schema: z.looseObject({}).optional() })
    .optional(),
  max_tokens: z.int().min(0).optional(),
  stop_sequences: z.array(words).max(5).optional(),
  temperature: z.number().min(0).max(1).optional(),
  seed: z.int().min(0).optional(),
  frequency_penalty: z.number().min(0).max(1).optional(),
  presence_penalty: z.number().min(0).max(1).optional(),
  k: z.number().min(0).max(500).optional(),
  p: z.number().min(0.01).max(0.99).optional(),
  thinking: z
    .strictObject({ type: z.enum(['enabled', 'disabled']), token_budget: z.int().min(1).optional() })
    .optional(),
  strict_tools: z.boolean().optional(),
  ...unknown('documents citation_options safety_mode logprobs priority raw_prompting'),
});

/** https://github.com/agno-agi/agno/issues/3503 */
const cohereFault = ({ kind, path, expected }: Fault): Refusal =>
  kind === 'unknown'
    ? {
        status: 422,
        message: `unknown field: parameter '${path.at(-1)}' is not a valid field. For proper usage, please refer to https://docs.cohere.com/reference/chat`,
      }
    : invalid(`invalid request: ${dotted(path)} should be ${expected}`);

const reference = 'https://docs.cohere.com/reference/chat';

export const cohere: Double = {
  name: 'cohere',
  slug: 'cohere',
  maker: 'cohere',
  base: '',
  admit: bearer,
  doors: [
    {
      path: '/v2/chat',
      wire: cohereWire,
      rules: [
        shapeRule('cohere/form', reference, cohereForm, cohereFault),
        when(
          'cohere/schema-with-tools',
          'https://docs.cohere.com/docs/structured-outputs',
          ({ body }) => valueAt(body, 'response_format.type') === 'json_object' && records(body.tools).length > 0,
          invalid('invalid request: response_format is not supported with tools'),
        ),
        when(
          'cohere/thinking',
          'https://docs.cohere.com/docs/reasoning',
          ({ body, model }) => valueAt(body, 'thinking') !== undefined && !/reasoning|command-a-plus/.test(model),
          invalid('invalid request: thinking is not supported by the provided model'),
        ),
        when(
          'cohere/pictures',
          'https://docs.cohere.com/docs/image-inputs',
          ({ body, model }) =>
            !/vision|command-a-plus/.test(model) && JSON.stringify(body.messages).includes('"image_url"'),
          invalid('invalid request: image content is not supported by the provided model'),
        ),
        when(
          'cohere/schema-object',
          'https://docs.cohere.com/docs/structured-outputs',
          ({ body }) => {
            const schema = record(valueAt(body, 'response_format.json_schema'));
            return schema !== null && (schema.type !== 'object' || !Array.isArray(schema.required));
          },
          invalid('invalid request: the top-level schema must be an object with at least one required field'),
        ),
        pairedCalls('cohere/paired-calls', 'https://docs.cohere.com/docs/tool-use-overview', {
          missing: (ids) => invalid(`invalid request: tool call id not found in result messages: ${ids}`),
          orphan: (id) => invalid(`invalid request: tool call id not found in previous tool calls: ${id}`),
        }),
      ],
    },
  ],
  complain: ({ message }) => ({ id: 'practice', message }),
};

const ollamaForm = z.looseObject({
  model: words,
  stream: z.boolean().optional(),
  messages: z.array(
    z.looseObject({
      role: z.enum(['system', 'user', 'assistant', 'tool']),
      content: words.optional(),
      images: z.array(words.regex(/^[A-Za-z0-9+/]+=*$/)).optional(),
      thinking: words.optional(),
      tool_name: words.optional(),
      tool_calls: z
        .array(z.looseObject({ function: z.looseObject({ name: words, arguments: z.looseObject({}) }) }))
        .optional(),
    }),
  ),
  tools: z
    .array(
      z.looseObject({
        type: z.literal('function'),
        function: z.looseObject({ name: words, parameters: z.looseObject({}).optional() }),
      }),
    )
    .optional(),
  format: z.union([z.literal('json'), z.literal(''), z.looseObject({})]).optional(),
  options: z
    .looseObject({
      num_ctx: z.int().optional(),
      num_predict: z.int().optional(),
      seed: z.int().optional(),
      stop: z.array(words).optional(),
      temperature: z.number().optional(),
      top_k: z.int().optional(),
      top_p: z.number().optional(),
    })
    .optional(),
  keep_alive: z.union([words, z.number()]).optional(),
});

export const ollama: Double = {
  name: 'ollama',
  slug: 'ollama',
  maker: 'ollama',
  base: '',
  // It has no keys of its own.
  admit: () => null,
  doors: [
    {
      path: '/api/chat',
      wire: ollamaWire,
      streamsByDefault: true,
      rules: [
        shapeRule('ollama/form', 'https://docs.ollama.com/api/chat', ollamaForm, ({ path, expected }) =>
          invalid(`json: cannot unmarshal into Go struct field ChatRequest.${dotted(path)} of type ${expected}`),
        ),
        when(
          'ollama/think',
          'https://github.com/ollama/ollama/issues/17837',
          ({ body }) => {
            const think = valueAt(body, 'think');
            return (
              think !== undefined && ![true, false, 'high', 'medium', 'low', 'max'].includes(think as string | boolean)
            );
          },
          ({ body }) =>
            invalid(`invalid think value: "${body.think}" (must be "high", "medium", "low", "max", true, or false)`),
        ),
        when(
          'ollama/no-thinking',
          'https://github.com/taketwo/llm-ollama/pull/54',
          ({ body, model }) =>
            valueAt(body, 'think') !== undefined &&
            body.think !== false &&
            !/qwen3|gpt-oss|deepseek|thinking/.test(model),
          ({ model }) => invalid(`"${model}" does not support thinking`),
        ),
        // The older renderers take it: the report tried both.
        systemFirst('ollama/system-first', 'https://github.com/ollama/ollama/issues/17774', /qwen3\.[89]/, {
          status: 500,
          message: 'system message must be at the beginning',
        }),
      ],
    },
  ],
  complain: ({ message }) => ({ error: message }),
};
