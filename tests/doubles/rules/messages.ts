/** What Anthropic's Messages refuse: the form, the order of turns, signatures, and how thinking goes with the rest. */
import { z } from 'zod';
import { valueAt } from '../../../server/practice/row-rules.ts';
import { type Json, list, record, records } from '../../../server/protocols/shared/json.ts';
import { invalid, type Refusal, type Rule, type Seen } from '../rule.ts';
import { dotted, type Fault, shapeRule } from '../shape.ts';
import { thoughtOf } from '../wires/messages.ts';
import { rootUnion } from './schemas.ts';
import { when } from './when.ts';

const reference = 'https://platform.claude.com/docs/en/api/messages';
const thinkingGuide = 'https://platform.claude.com/docs/en/build-with-claude/extended-thinking';
const words = z.string();
const cache_control = z
  .strictObject({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).optional(), scope: words.optional() })
  .nullish();
const source = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('base64'),
    media_type: z.enum(['image/jpeg', 'image/png', 'image/gif', 'image/webp', 'application/pdf']),
    data: words.min(1),
  }),
  z.strictObject({ type: z.literal('url'), url: words.regex(/^https?:/) }),
  z.strictObject({ type: z.literal('file'), file_id: words }),
  z.strictObject({ type: z.literal('text'), media_type: z.literal('text/plain'), data: words }),
  z.strictObject({ type: z.literal('content'), content: z.unknown() }),
]);
const toolId = words.regex(/^[a-zA-Z0-9_-]+$/);
const text = z.strictObject({
  type: z.literal('text'),
  text: words,
  cache_control,
  citations: z.array(z.looseObject({})).nullish(),
});
const image = z.strictObject({ type: z.literal('image'), source, cache_control });
const document = z.strictObject({
  type: z.literal('document'),
  source,
  title: words.nullish(),
  context: words.nullish(),
  citations: z.looseObject({}).nullish(),
  cache_control,
});
const block = z.union([
  text,
  image,
  document,
  z.strictObject({ type: z.literal('thinking'), thinking: words, signature: words }),
  z.strictObject({ type: z.literal('redacted_thinking'), data: words }),
  z.strictObject({
    type: z.literal('tool_use'),
    id: toolId,
    name: words.min(1).max(200),
    input: z.looseObject({}),
    cache_control,
    caller: z.unknown().optional(),
  }),
  z.strictObject({
    type: z.literal('tool_result'),
    tool_use_id: toolId,
    content: z
      .union([
        words,
        z.array(z.union([text, image, document, z.looseObject({ type: z.enum(['search_result', 'tool_reference']) })])),
      ])
      .nullish(),
    is_error: z.boolean().nullish(),
    cache_control,
  }),
  z.looseObject({
    type: words.regex(/^(?:server_|mcp_|web_|code_|bash_|text_editor_|tool_search|search_|container_|compaction)/),
  }),
]);
const tool = z.union([
  z.strictObject({
    type: z.literal('custom').nullish(),
    name: words.regex(/^[a-zA-Z0-9_-]{1,128}$/),
    description: words.nullish(),
    input_schema: z.looseObject({ type: z.literal('object') }),
    cache_control,
    strict: z.boolean().nullish(),
    eager_input_streaming: z.boolean().nullish(),
    defer_loading: z.boolean().nullish(),
    input_examples: z.array(z.unknown()).nullish(),
    allowed_callers: z.array(words).nullish(),
  }),
  z.looseObject({ type: words.regex(/_\d{8}$|^mcp_toolset$/) }),
]);

export interface MessagesForm {
  /** Members that this platform has besides the ones of all. */
  readonly more: string;
  /** The model stands in the body. */
  readonly model: boolean;
  readonly roles: readonly [string, ...string[]];
}

const optional = (names: string) =>
  Object.fromEntries(names.split(' ').flatMap((name) => (name === '' ? [] : [[name, z.unknown().optional()]])));

export const messagesForm = ({ more, model, roles }: MessagesForm): z.ZodType =>
  z.strictObject({
    ...(model ? { model: words } : {}),
    max_tokens: z.int().min(1),
    messages: z
      .array(z.strictObject({ role: z.enum(roles), content: z.union([words.min(1), z.array(block).min(1)]) }))
      .min(1),
    system: z.union([words, z.array(text)]).nullish(),
    stream: z.boolean().nullish(),
    temperature: z.number().min(0).max(1).nullish(),
    top_p: z.number().min(0).max(1).nullish(),
    top_k: z.int().min(0).nullish(),
    stop_sequences: z.array(words.regex(/\S/)).nullish(),
    metadata: z.strictObject({ user_id: words.max(256).nullish() }).nullish(),
    tools: z.array(tool).nullish(),
    tool_choice: z
      .strictObject({
        type: z.enum(['auto', 'any', 'tool', 'none']),
        name: words.optional(),
        disable_parallel_tool_use: z.boolean().optional(),
      })
      .nullish(),
    thinking: z
      .discriminatedUnion('type', [
        z.strictObject({
          type: z.literal('enabled'),
          budget_tokens: z.int().min(1024),
          display: z.enum(['summarized', 'omitted']).nullish(),
        }),
        z.strictObject({ type: z.literal('disabled') }),
        z.strictObject({
          type: z.literal('adaptive'),
          display: z.enum(['summarized', 'omitted']).nullish(),
          block_binding: z.unknown().optional(),
        }),
      ])
      .nullish(),
    ...optional(more),
  });

export function messagesFault({ kind, path, expected }: Fault): Refusal {
  const at = dotted(path);
  if (kind === 'unknown') return invalid(`${at}: Extra inputs are not permitted`);
  return invalid(kind === 'missing' ? `${at}: Field required` : `${at}: Input should be ${expected}`);
}

interface Turn {
  readonly role: unknown;
  readonly blocks: readonly Record<string, unknown>[];
}

export const turnsOf = (body: Json): readonly Turn[] =>
  records(body.messages).map(({ role, content }) => ({
    role,
    blocks: typeof content === 'string' ? [{ type: 'text', text: content }] : records(content),
  }));

const everyBlock = (body: Json) =>
  turnsOf(body).flatMap(({ blocks }, turn) =>
    blocks.map((one, at) => ({ one, path: `messages.${turn}.content.${at}` })),
  );

const order: Rule = {
  id: 'messages/order',
  source: 'https://github.com/aliasrobotics/cai/issues/182',
  reject({ body }) {
    const turns = turnsOf(body);
    if (turns[0]?.role !== 'user') return invalid('messages: first message must use the "user" role');
    for (const [at, { role, blocks }] of turns.entries()) {
      const calls = role === 'assistant' ? blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id) : [];
      const next = turns[at + 1]?.blocks ?? [];
      const results = next.filter(({ type }) => type === 'tool_result').map(({ tool_use_id }) => tool_use_id);
      const lost = calls.filter((id) => !results.includes(id));
      if (lost.length > 0)
        return invalid(
          `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${lost.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
        );
      const known = new Set(turns[at - 1]?.blocks.map(({ id }) => id));
      const orphan = blocks.findIndex(({ type, tool_use_id }) => type === 'tool_result' && !known.has(tool_use_id));
      if (orphan >= 0)
        return invalid(
          `messages.${at}.content.${orphan}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${blocks[orphan]?.tool_use_id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
        );
      const misplaced = blocks.findIndex(
        ({ type }, place) => type === 'tool_result' && blocks.slice(0, place).some((one) => one.type !== 'tool_result'),
      );
      if (misplaced >= 0)
        return invalid(
          `messages.${at}: Did not find ${results.length} \`tool_result\` block(s) at the beginning of this message.`,
        );
    }
    return null;
  },
};

const blanks: Rule = {
  id: 'messages/blank-texts',
  source: 'https://github.com/livekit/agents/issues/1789',
  reject({ body }) {
    const said = [...everyBlock(body).map(({ one }) => one), ...records(body.system)];
    const within = said.flatMap((one) => (one.type === 'tool_result' ? records(one.content) : []));
    const blank = [...said, ...within].find((one) => one.type === 'text' && String(one.text).trim() === '');
    if (blank === undefined) return null;
    return blank.text === ''
      ? invalid('messages: text content blocks must be non-empty')
      : invalid('messages: text content blocks must contain non-whitespace text');
  },
};

const trailing = when(
  'messages/trailing-whitespace',
  'https://platform.claude.com/docs/en/build-with-claude/prompt-engineering/prefill-claudes-response',
  ({ body }) => {
    const last = turnsOf(body).at(-1);
    const final = last?.blocks.at(-1);
    return last?.role === 'assistant' && typeof final?.text === 'string' && /\s$/.test(final.text);
  },
  invalid('messages: final assistant content cannot end with trailing whitespace'),
);

/** Every thought that is shown again was signed here, and not changed since. */
export const signedThoughts: Rule = {
  id: 'messages/signatures',
  source: 'https://github.com/anthropics/anthropic-sdk-python/issues/1598',
  reject({ body, seals }) {
    for (const { one, path } of everyBlock(body)) {
      if (one.type === 'thinking' && !seals.knows('thinking', String(one.thinking), String(one.signature)))
        return invalid(`${path}: Invalid \`signature\` in \`thinking\` block`);
      if (one.type === 'redacted_thinking' && !seals.knows('redacted', '', String(one.data)))
        return invalid(`${path}: Invalid \`data\` in \`redacted_thinking\` block`);
    }
    return null;
  },
};

const thinks = ({ body }: Seen): boolean => thoughtOf(body) !== 'off';

export const thinkingRules: readonly Rule[] = [
  when(
    'messages/thought-budget',
    thinkingGuide,
    ({ body }) => Number(valueAt(body, 'thinking.budget_tokens') ?? 0) >= Number(body.max_tokens),
    invalid('`max_tokens` must be greater than `thinking.budget_tokens`.'),
  ),
  when(
    'messages/thought-temperature',
    'https://github.com/MartialBE/one-hub/issues/529',
    (seen) => thinks(seen) && (valueAt(seen.body, 'temperature') ?? 1) !== 1,
    invalid('`temperature` may only be set to 1 when thinking is enabled.'),
  ),
  when(
    'messages/thought-top-k',
    thinkingGuide,
    (seen) => thinks(seen) && valueAt(seen.body, 'top_k') !== undefined,
    invalid('`top_k` must be unset when thinking is enabled.'),
  ),
  when(
    'messages/thought-top-p',
    thinkingGuide,
    (seen) => thinks(seen) && Number(valueAt(seen.body, 'top_p') ?? 1) < 0.95,
    invalid('`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.'),
  ),
  when(
    'messages/thought-forced-tool',
    thinkingGuide,
    (seen) => thinks(seen) && ['any', 'tool'].includes(String(valueAt(seen.body, 'tool_choice.type'))),
    invalid('Thinking may not be enabled when tool_choice forces tool use.'),
  ),
  {
    id: 'messages/thought-first',
    source: 'https://github.com/lbjlaq/Antigravity-Manager/issues/139',
    reject(seen) {
      if (valueAt(seen.body, 'thinking.type') !== 'enabled') return null;
      const turns = turnsOf(seen.body);
      const at = turns.findLastIndex(({ role }) => role === 'assistant');
      const blocks = turns[at]?.blocks ?? [];
      const first = String(blocks[0]?.type);
      if (!blocks.some(({ type }) => type === 'tool_use') || /thinking$/.test(first)) return null;
      return invalid(
        `messages.${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`,
      );
    },
  },
];

export const messagesBasics: readonly Rule[] = [order, blanks, trailing];

const marks = (body: Json): number =>
  [...everyBlock(body).map(({ one }) => one), ...records(body.system), ...records(body.tools)].filter(
    (one) => record(one.cache_control) !== null,
  ).length;

/** A schema that answers must follow closes all of its objects. */
export function openObject(schema: unknown): boolean {
  const one = record(schema);
  if (one === null) return false;
  if (one.type === 'object' && one.additionalProperties !== false) return true;
  const members = [...Object.values(record(one.properties) ?? {}), one.items, ...list(one.anyOf), ...list(one.allOf)];
  return members.some(openObject);
}

/** What is at the beginning of a picture's bytes. */
const pictures: readonly (readonly [start: string, type: string])[] = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
];

/** Words of JSON schema that an answer's schema may not hold: https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations */
const bounds = [
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'maxItems',
];

function boundIn(schema: unknown): { readonly type: string; readonly word: string } | null {
  if (Array.isArray(schema)) return schema.map(boundIn).find((found) => found !== null) ?? null;
  const one = record(schema);
  if (one === null) return null;
  const word = bounds.find((name) => one[name] !== undefined);
  if (word !== undefined && typeof one.type === 'string') return { type: one.type, word };
  if (typeof one.minItems === 'number' && one.minItems > 1) return { type: 'array', word: 'minItems' };
  return (
    boundIn(Object.values(record(one.properties) ?? {})) ?? boundIn([one.items, ...list(one.anyOf), ...list(one.allOf)])
  );
}

/** What is shown, in turns and in the results of calls. */
const shownIn = (body: Json) =>
  everyBlock(body).flatMap(({ one, path }) => [
    { one, path },
    ...(one.type === 'tool_result'
      ? records(one.content).map((inner, at) => ({ one: inner, path: `${path}.tool_result.content.${at}` }))
      : []),
  ]);

export const messagesLimits: readonly Rule[] = [
  {
    id: 'messages/picture-bytes',
    source: 'https://github.com/BerriAI/litellm/issues/24900',
    reject({ body }) {
      for (const { one, path } of shownIn(body)) {
        const { type, media_type, data } = record(one.source) ?? {};
        const found = pictures.find(([start]) => String(data).startsWith(start))?.[1];
        if (one.type === 'image' && type === 'base64' && found !== undefined && found !== media_type)
          return invalid(
            `${path}.image.source.base64: The image was specified using the ${media_type} media type, but the image appears to be a ${found} image`,
          );
      }
      return null;
    },
  },
  {
    id: 'messages/tool-unions',
    source: 'https://github.com/anthropics/claude-code/issues/27337',
    reject({ body }) {
      const at = records(body.tools).findIndex(({ input_schema }) => rootUnion(input_schema));
      return at < 0
        ? null
        : invalid(
            `tools.${at}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`,
          );
    },
  },
  {
    id: 'messages/schema-bounds',
    source: 'https://github.com/agentjido/req_llm/issues/302',
    reject({ body }) {
      const bound = boundIn(valueAt(body, 'output_config.format.schema'));
      return bound === null
        ? null
        : invalid(`output_config.format.schema: For '${bound.type}' type, property '${bound.word}' is not supported`);
    },
  },
  {
    id: 'messages/cache-marks',
    source: 'https://github.com/tghamm/Anthropic.SDK/issues/50',
    reject: ({ body }) =>
      marks(body) > 4
        ? invalid(`A maximum of 4 blocks with cache_control may be provided. Found ${marks(body)}.`)
        : null,
  },
  when(
    'messages/open-schema',
    'https://github.com/veryfront/veryfront-code/issues/3918',
    ({ body }) => openObject(valueAt(body, 'output_config.format.schema')),
    invalid("output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false"),
  ),
  when(
    'messages/choice-without-tools',
    reference,
    ({ body }) => valueAt(body, 'tool_choice') !== undefined && records(body.tools).length === 0,
    invalid('tool_choice: tool_choice may only be specified while providing tools'),
  ),
  when(
    'messages/chosen-tool',
    reference,
    ({ body }) =>
      valueAt(body, 'tool_choice.type') === 'tool' &&
      !records(body.tools).some(({ name }) => name === valueAt(body, 'tool_choice.name')),
    ({ body }) => invalid(`Tool '${valueAt(body, 'tool_choice.name')}' not found in provided tools`),
  ),
  when(
    'messages/same-tools',
    reference,
    ({ body }) => new Set(records(body.tools).map(({ name }) => name)).size < records(body.tools).length,
    invalid('tools: Tool names must be unique.'),
  ),
];

export const messagesShape = (id: string, where: string, form: MessagesForm): Rule =>
  shapeRule(id, where, messagesForm(form), messagesFault);
