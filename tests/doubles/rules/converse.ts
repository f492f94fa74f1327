/** What Bedrock's Converse refuses: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html */
import { z } from 'zod';
import { type Json, record, records } from '../../../server/protocols/shared/json.ts';
import { invalid, type Rule } from '../rule.ts';
import { dotted, shapeRule } from '../shape.ts';
import { when } from './when.ts';

const reference = 'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html';
const words = z.string();
const name = words.regex(/^[a-zA-Z0-9_-]{1,64}$/);
const bytes = z.strictObject({ bytes: words.regex(/^[A-Za-z0-9+/]+=*$/) });
const image = z.strictObject({ format: z.enum(['png', 'jpeg', 'gif', 'webp']), source: bytes });
const document = z.strictObject({
  format: z.enum(['pdf', 'csv', 'doc', 'docx', 'xls', 'xlsx', 'html', 'txt', 'md']),
  name: words.regex(/^[\w\s()[\]-]{1,200}$/),
  source: z.looseObject({}),
  citations: z.unknown().optional(),
  context: words.optional(),
});
const cachePoint = z.strictObject({ type: z.literal('default'), ttl: words.optional() });
const block = z.strictObject({
  text: words.optional(),
  image: image.optional(),
  document: document.optional(),
  video: z.unknown().optional(),
  cachePoint: cachePoint.optional(),
  guardContent: z.unknown().optional(),
  reasoningContent: z.looseObject({}).optional(),
  toolUse: z.strictObject({ toolUseId: name, name, input: z.unknown() }).optional(),
  toolResult: z
    .strictObject({
      toolUseId: name,
      content: z.array(
        z.strictObject({
          text: words.optional(),
          json: z.unknown().optional(),
          image: image.optional(),
          document: document.optional(),
          video: z.unknown().optional(),
        }),
      ),
      status: z.enum(['success', 'error']).optional(),
    })
    .optional(),
});

const form = z.looseObject({
  messages: z.array(z.strictObject({ role: z.enum(['user', 'assistant']), content: z.array(block) })).min(1),
  system: z
    .array(
      z.strictObject({
        text: words.min(1).optional(),
        cachePoint: cachePoint.optional(),
        guardContent: z.unknown().optional(),
      }),
    )
    .optional(),
  inferenceConfig: z
    .strictObject({
      maxTokens: z.int().min(1).optional(),
      temperature: z.number().min(0).max(1).optional(),
      topP: z.number().min(0).max(1).optional(),
      stopSequences: z.array(words.min(1)).max(2500).optional(),
    })
    .optional(),
  toolConfig: z
    .strictObject({
      tools: z
        .array(
          z.strictObject({
            toolSpec: z
              .strictObject({
                name,
                description: words.min(1).optional(),
                inputSchema: z.strictObject({ json: z.looseObject({ type: z.literal('object') }) }),
                strict: z.boolean().optional(),
              })
              .optional(),
            cachePoint: cachePoint.optional(),
            systemTool: z.unknown().optional(),
          }),
        )
        .min(1),
      toolChoice: z
        .strictObject({
          auto: z.looseObject({}).optional(),
          any: z.looseObject({}).optional(),
          tool: z.strictObject({ name }).optional(),
        })
        .optional(),
    })
    .optional(),
});

const messagesOf = (body: Json) =>
  records(body.messages).map(({ role, content }) => ({ role, blocks: records(content) }));
const idsIn = (blocks: readonly Record<string, unknown>[] | undefined, kind: string): readonly unknown[] =>
  (blocks ?? []).flatMap((one) => record(one[kind])?.toolUseId ?? []);

export const converseRules: readonly Rule[] = [
  shapeRule('converse/form', reference, form, ({ path, expected }) =>
    invalid(
      `Malformed input request: #/${path.join('/')}: expected ${expected} at ${dotted(path)}, please reformat your input and try again.`,
    ),
  ),
  when(
    'converse/first-turn',
    'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html',
    ({ body }) => messagesOf(body)[0]?.role !== 'user',
    invalid(
      'A conversation must start with a user message. Try again with a conversation that starts with a user message.',
    ),
  ),
  when(
    'converse/alternation',
    'https://github.com/langgenius/dify/issues/9294',
    ({ body }) => messagesOf(body).some(({ role }, at, all) => at > 0 && all[at - 1]?.role === role),
    invalid(
      'A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.',
    ),
  ),
  {
    id: 'converse/blank',
    source: 'https://github.com/earendil-works/pi/issues/4975',
    reject({ body }) {
      for (const [turn, { blocks }] of messagesOf(body).entries()) {
        if (blocks.length === 0)
          return invalid(
            `The content field in the Message object at messages.${turn} is empty. Add a ContentBlock object to the content field and try again.`,
          );
        const at = blocks.findIndex(({ text }) => typeof text === 'string' && text.trim() === '');
        if (at >= 0)
          return invalid(
            `The text field in the ContentBlock object at messages.${turn}.content.${at} is blank. Add text to the text field, and try again.`,
          );
      }
      return null;
    },
  },
  when(
    'converse/tools-named',
    'https://github.com/vxcontrol/pentagi/pull/196',
    ({ body }) => body.toolConfig === undefined && /"tool(?:Use|Result)"/.test(JSON.stringify(body.messages)),
    invalid('The toolConfig field must be defined when using toolUse and toolResult content blocks.'),
  ),
  when(
    'converse/empty-result',
    'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolResultBlock.html',
    ({ body }) =>
      messagesOf(body).some(({ blocks }) =>
        blocks.some(
          ({ toolResult }) => record(toolResult) !== null && records(record(toolResult)?.content).length === 0,
        ),
      ),
    invalid('The content field in the ToolResultBlock object is empty. Add content and try again.'),
  ),
  {
    id: 'converse/paired-calls',
    source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/tool-use-inference-call.html',
    reject({ body }) {
      const turns = messagesOf(body);
      for (const [at, { blocks }] of turns.entries()) {
        const results = idsIn(turns[at + 1]?.blocks, 'toolResult');
        if (idsIn(blocks, 'toolUse').some((id) => !results.includes(id)))
          return invalid(`Expected toolResult blocks at messages.${at + 1}.content for the calls before.`);
        const calls = idsIn(turns[at - 1]?.blocks, 'toolUse');
        if (idsIn(blocks, 'toolResult').some((id) => !calls.includes(id)))
          return invalid(
            `The number of toolResult blocks at messages.${at}.content exceeds the number of toolUse blocks of previous turn.`,
          );
      }
      return null;
    },
  },
];
