/** The form of chat completions: OpenAI's members, and how providers narrow or widen them. */
import { z } from 'zod';

const maybe = <Schema extends z.ZodType>(schema: Schema) => schema.nullish();
const words = z.string();

export interface ChatForm {
  /** Members that are not named are refused, at the top and in messages, calls and tools. */
  readonly closed: boolean;
  /** Names of the members it has besides the model, the messages and those of every provider. */
  readonly members: string;
  /** Members of its own. */
  readonly own?: Readonly<Record<string, z.ZodType>>;
  readonly roles: string;
  /** Kinds of parts that users may write. */
  readonly parts: string;
  /** Members of an assistant's message besides content and calls. */
  readonly assistant?: string;
  /** Members of a tool's message besides content and id. */
  readonly tool?: string;
  readonly callId?: z.ZodType;
  readonly choices?: string;
  readonly formats: string;
}

const object = (closed: boolean, shape: z.ZodRawShape): z.ZodType =>
  closed ? z.strictObject(shape) : z.looseObject(shape);

const named = (names: string | undefined, schema: z.ZodType): z.ZodRawShape =>
  Object.fromEntries((names ?? '').split(' ').flatMap((name) => (name === '' ? [] : [[name, schema]])));

/** Types of the members that several providers have. */
const types: Readonly<Record<string, z.ZodType>> = {
  stream: maybe(z.boolean()),
  temperature: maybe(z.number().min(0).max(2)),
  top_p: maybe(z.number().min(0).max(1)),
  max_tokens: maybe(z.int().min(1)),
  max_completion_tokens: maybe(z.int().min(1)),
  n: maybe(z.int().min(1).max(128)),
  stop: maybe(z.union([words, z.array(words).max(4)])),
  seed: maybe(z.int()),
  presence_penalty: maybe(z.number().min(-2).max(2)),
  frequency_penalty: maybe(z.number().min(-2).max(2)),
  logit_bias: maybe(z.record(words, z.number())),
  logprobs: maybe(z.boolean()),
  top_logprobs: maybe(z.int().min(0).max(20)),
  parallel_tool_calls: maybe(z.boolean()),
  reasoning_effort: maybe(words),
  user: maybe(words),
  store: maybe(z.boolean()),
  metadata: maybe(z.record(words, words)),
  modalities: maybe(z.array(words)),
  verbosity: maybe(z.enum(['low', 'medium', 'high'])),
};

const toolName = words.regex(/^[a-zA-Z0-9_-]{1,64}$/);

function partForms({ closed, parts }: ChatForm): z.ZodType {
  const forms: Readonly<Record<string, z.ZodRawShape>> = {
    text: { text: words, cache_control: z.looseObject({ type: z.literal('ephemeral') }).optional() },
    image_url: { image_url: z.union([words, z.looseObject({ url: words.regex(/^(?:https?:|data:image\/)/) })]) },
    input_audio: { input_audio: z.looseObject({ data: words, format: words }) },
    file: { file: z.looseObject({}) },
    video_url: { video_url: z.looseObject({ url: words }) },
    thinking: { thinking: z.array(z.looseObject({ type: words })) },
    refusal: { refusal: words },
  };
  const known = parts.split(' ').map((type) => {
    const { cache_control: mark, ...shape } = forms[type] ?? {};
    return object(closed, {
      type: z.literal(type),
      ...shape,
      ...(closed || mark === undefined ? {} : { cache_control: mark }),
    });
  });
  return z.array(z.union(known as [z.ZodType, ...z.ZodType[]])).min(1);
}

function messageForm(form: ChatForm): z.ZodType {
  const { closed, roles, assistant, tool, callId = words } = form;
  const text = z.union([words, partForms({ ...form, parts: 'text' })]);
  const call = object(closed, {
    id: callId,
    type: z.literal('function').optional(),
    index: z.int().optional(),
    function: object(closed, { name: toolName, arguments: words }),
  });
  const own: Readonly<Record<string, z.ZodRawShape>> = {
    system: { content: text, ...(closed ? {} : { name: words.optional() }) },
    developer: { content: text, name: words.optional() },
    user: { content: z.union([words, partForms(form)]), name: words.optional() },
    assistant: {
      content: z.union([words, z.null(), partForms({ ...form, parts: 'text refusal thinking' })]).optional(),
      tool_calls: maybe(z.array(call).min(1)),
      ...named(assistant, z.unknown().optional()),
    },
    tool: { content: text, tool_call_id: callId, ...named(tool, words.optional()) },
  };
  const forms = roles.split(' ').map((role) => object(closed, { role: z.literal(role), ...own[role] }));
  return z.discriminatedUnion('role', forms as unknown as [z.ZodObject, ...z.ZodObject[]]);
}

export function chatForm(form: ChatForm): z.ZodType {
  const { closed, members, own, choices = 'none auto required', formats } = form;
  const functionForm = object(closed, {
    name: toolName,
    description: maybe(words),
    parameters: maybe(z.looseObject({})),
    strict: maybe(z.boolean()),
  });
  const shape: Record<string, z.ZodType> = {
    model: words,
    messages: z.array(messageForm(form)).min(1),
    stream: maybe(z.boolean()),
    tools: maybe(z.array(object(closed, { type: z.literal('function'), function: functionForm })).min(1)),
    tool_choice: maybe(
      z.union([
        z.enum(choices.split(' ') as [string, ...string[]]),
        z.looseObject({ type: z.literal('function'), function: z.looseObject({ name: words }) }),
      ]),
    ),
    response_format: maybe(
      z.looseObject({ type: z.enum(formats.split(' ') as [string, ...string[]]), json_schema: z.unknown().optional() }),
    ),
    ...Object.fromEntries(members.split(' ').map((name) => [name, types[name] ?? z.unknown().optional()])),
    ...own,
  };
  return object(closed, shape);
}
