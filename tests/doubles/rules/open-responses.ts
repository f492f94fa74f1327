/** Responses as servers of open models read them: members and items that they do not know are passed over, those that they know must be right. */
import { z } from 'zod';

const words = z.string();
const maybe = <Schema extends z.ZodType>(schema: Schema) => schema.nullish();

const item = z.looseObject({
  type: words.optional(),
  role: z.enum(['user', 'assistant', 'system', 'developer']).optional(),
  content: maybe(z.union([words, z.array(z.looseObject({ type: words }))])),
  call_id: words.optional(),
  name: words.optional(),
  arguments: words.optional(),
});

export const openResponses: z.ZodType = z.looseObject({
  model: words,
  input: z.union([words, z.array(item).min(1)]),
  instructions: maybe(words),
  include: maybe(z.array(words)),
  max_output_tokens: maybe(z.int().min(1)),
  parallel_tool_calls: maybe(z.boolean()),
  reasoning: maybe(z.looseObject({ effort: maybe(words), summary: maybe(words) })),
  stream: maybe(z.boolean()),
  temperature: maybe(z.number().min(0).max(2)),
  text: maybe(z.looseObject({})),
  tools: maybe(z.array(z.looseObject({ type: words }))),
  tool_choice: maybe(z.union([z.enum(['none', 'auto', 'required']), z.looseObject({ type: words })])),
  top_p: maybe(z.number().min(0).max(1)),
});
