/** What an operator says of models, as it is written in the option `model_rules`. */
import * as z from 'zod/mini';
import type { OptionKind } from './option-kinds.ts';

/** Members of a request that a model may refuse, in the words of all dialects together. */
export const modelParameters = [
  'temperature',
  'topP',
  'topK',
  'stop',
  'seed',
  'presencePenalty',
  'frequencyPenalty',
  'candidates',
  'tools',
  'parallelToolCalls',
  'forcedToolChoice',
  'schemaFormat',
  'jsonFormat',
  // A form for the answer, where tools are offered too.
  'formatWithTools',
  // Tools that the provider runs, where others are offered too.
  'hostedWithTools',
  // Unions at the root of a tool's schema.
  'schemaUnions',
  // Words that the answer is to go on from.
  'prefill',
] as const;

/** How thinking is requested of a model: not at all, by a word, by tokens, by a word while it decides the tokens itself, or by a level. */
export const thinkingForms = ['none', 'effort', 'budget', 'adaptive', 'level'] as const;

const maxPatternLength = 200;
const maxRules = 500;

const isPattern = (source: string): boolean => {
  try {
    return new RegExp(source) instanceof RegExp;
  } catch {
    return false;
  }
};

const positive = z.int().check(z.gte(1));
const words = z.array(z.string().check(z.regex(/^[a-z]{1,20}$/)));
const members = z.array(z.enum(modelParameters));
const kinds = z.array(z.enum(['text', 'image', 'audio', 'video', 'pdf']));

const rule = z.strictObject({
  models: z.string().check(z.minLength(1), z.maxLength(maxPatternLength), z.refine(isPattern)),
  provider: z.optional(z.string().check(z.regex(/^[a-z0-9-]{1,40}$/))),
  outputCap: z.optional(positive),
  inputLimit: z.optional(positive),
  thinking: z.optional(z.enum(thinkingForms)),
  alwaysThinks: z.optional(z.boolean()),
  thinksUnasked: z.optional(z.boolean()),
  showsThoughts: z.optional(z.boolean()),
  tokensPerSecond: z.optional(positive),
  efforts: z.optional(words),
  budget: z.optional(z.tuple([positive, positive])),
  refuses: z.optional(members),
  refusesThinking: z.optional(members),
  takes: z.optional(members),
  limitMember: z.optional(z.enum(['max_tokens', 'max_completion_tokens'])),
  switched: z.optional(z.enum(['thinking', 'enable_thinking'])),
  suffixed: z.optional(z.boolean()),
  signedCalls: z.optional(z.boolean()),
  inputs: z.optional(kinds),
  outputs: z.optional(kinds),
  /** Where it is known from, for later readers. */
  source: z.optional(z.string().check(z.maxLength(500))),
});

export type ModelRule = z.infer<typeof rule>;

const rules = z.array(rule).check(z.maxLength(maxRules));

function read(value: string) {
  try {
    return rules.safeParse(value.trim() === '' ? [] : JSON.parse(value));
  } catch {
    return null;
  }
}

/** JSON list of rules. */
export const modelRules: OptionKind<readonly ModelRule[]> = {
  name: 'json',
  clean: (value) => (value.trim() === '' ? '[]' : value),
  check(value) {
    const found = read(value);
    if (found === null) return { zh: '不是合法的 JSON 字符串', en: 'not valid JSON' };
    if (found.success) return null;
    const [issue] = found.error.issues;
    const [at, member] = issue?.path ?? [];
    const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
    const name = String(unknown ?? member ?? '');
    if (typeof at !== 'number') return { zh: '必须是规则的 JSON 数组', en: 'must be a JSON list of rules' };
    if (unknown !== undefined)
      return { zh: `第 ${at + 1} 条规则：没有名为 ${name} 的字段`, en: `rule ${at + 1}: there is no member ${name}` };
    return { zh: `第 ${at + 1} 条规则：${name} 无效`, en: `rule ${at + 1}: ${name} is not valid` };
  },
  parse(value) {
    const found = read(value);
    return found?.success === true ? found.data : [];
  },
};
