/** What Google's generateContent refuses. */
import { z } from 'zod';
import { valueAt } from '../../../server/practice/row-rules.ts';
import { type Json, record, records } from '../../../server/protocols/shared/json.ts';
import { invalid, type Refusal, type Rule } from '../rule.ts';
import { bracketed, type Fault, shapeRule } from '../shape.ts';
import { levelled, partsOf } from '../wires/generate.ts';
import { when } from './when.ts';

const reference = 'https://ai.google.dev/api/generate-content';
const thinkingGuide = 'https://ai.google.dev/gemini-api/docs/thinking';
const words = z.string();
const blob = z.strictObject({
  mimeType: words.regex(/^[a-z]+\/[\w.+-]+$/),
  data: words,
  displayName: words.optional(),
});
const part = z.strictObject({
  text: words.optional(),
  thought: z.boolean().optional(),
  thoughtSignature: words.optional(),
  partMetadata: z.unknown().optional(),
  inlineData: blob.optional(),
  fileData: z.strictObject({ mimeType: words.optional(), fileUri: words, displayName: words.optional() }).optional(),
  functionCall: z
    .strictObject({
      id: words.optional(),
      name: words,
      args: z.looseObject({}).nullish(),
      willContinue: z.boolean().optional(),
    })
    .optional(),
  functionResponse: z
    .strictObject({
      id: words.optional(),
      name: words,
      response: z.looseObject({}),
      parts: z.array(z.unknown()).optional(),
      willContinue: z.boolean().optional(),
      scheduling: words.optional(),
    })
    .optional(),
  executableCode: z.unknown().optional(),
  codeExecutionResult: z.unknown().optional(),
  toolCall: z.unknown().optional(),
  toolResponse: z.unknown().optional(),
  videoMetadata: z.unknown().optional(),
  mediaResolution: z.unknown().optional(),
});
const content = z.strictObject({ role: z.enum(['user', 'model', 'function']).optional(), parts: z.array(part).min(1) });

/** Google's own schema: a part of OpenAPI's. https://ai.google.dev/api/caching#Schema */
const schema: z.ZodType = z.lazy(() =>
  z.strictObject({
    ...Object.fromEntries(
      'type format title description nullable enum maxItems minItems required minProperties maxProperties minLength maxLength pattern example default propertyOrdering minimum maximum'
        .split(' ')
        .map((name) => [name, z.unknown().optional()]),
    ),
    properties: z.record(words, schema).optional(),
    items: schema.optional(),
    anyOf: z.array(schema).optional(),
  }),
);
/** Google's own programs send `$schema` in it. */
const jsonSchema = z.looseObject({});
const declaration = z.strictObject({
  name: words.regex(/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/),
  description: words.optional(),
  behavior: words.optional(),
  parameters: schema.optional(),
  parametersJsonSchema: jsonSchema.optional(),
  response: schema.optional(),
  responseJsonSchema: jsonSchema.optional(),
});
const others = (names: string) => Object.fromEntries(names.split(' ').map((name) => [name, z.unknown().optional()]));
const tool = z.strictObject({
  functionDeclarations: z.array(declaration).min(1).optional(),
  ...others('googleSearch googleSearchRetrieval codeExecution urlContext computerUse fileSearch googleMaps mcpServers'),
});

const config = z.strictObject({
  stopSequences: z.array(words).max(5).optional(),
  responseMimeType: words.optional(),
  responseSchema: schema.optional(),
  responseJsonSchema: z.unknown().optional(),
  responseModalities: z.array(z.enum(['TEXT', 'IMAGE', 'AUDIO'])).optional(),
  candidateCount: z.int().min(1).max(8).optional(),
  maxOutputTokens: z.int().min(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
  topP: z.number().min(0).max(1).optional(),
  topK: z.number().min(1).optional(),
  seed: z.int().optional(),
  presencePenalty: z.number().optional(),
  frequencyPenalty: z.number().optional(),
  thinkingConfig: z
    .strictObject({
      includeThoughts: z.boolean().optional(),
      thinkingBudget: z.int().min(-1).optional(),
      thinkingLevel: z.enum(['MINIMAL', 'LOW', 'MEDIUM', 'HIGH', 'minimal', 'low', 'medium', 'high']).optional(),
    })
    .optional(),
  ...others(
    'responseLogprobs logprobs enableEnhancedCivicAnswers speechConfig imageConfig mediaResolution routingConfig audioTimestamp',
  ),
});

const form = z.strictObject({
  contents: z.array(content).min(1),
  systemInstruction: z.strictObject({ role: words.optional(), parts: z.array(part).min(1) }).optional(),
  tools: z.array(tool).optional(),
  toolConfig: z
    .strictObject({
      functionCallingConfig: z
        .strictObject({
          mode: z.enum(['AUTO', 'ANY', 'NONE', 'VALIDATED']).optional(),
          allowedFunctionNames: z.array(words).optional(),
          streamFunctionCallArguments: z.boolean().optional(),
        })
        .optional(),
      retrievalConfig: z.unknown().optional(),
      includeServerSideToolInvocations: z.boolean().optional(),
    })
    .optional(),
  generationConfig: config.optional(),
  safetySettings: z
    .array(z.strictObject({ category: words.regex(/^HARM_CATEGORY_/), threshold: words, method: words.optional() }))
    .optional(),
  cachedContent: words.optional(),
  labels: z.record(words, words).optional(),
  serviceTier: words.optional(),
  store: z.boolean().optional(),
  model: words.optional(),
});

function error({ kind, path, expected }: Fault): Refusal {
  const name = String(path.at(-1));
  const at = bracketed(path.slice(0, -1));
  if (kind === 'unknown')
    return invalid(
      `Invalid JSON payload received. Unknown name "${name}"${at === '' ? '' : ` at '${at}'`}: Cannot find field.`,
    );
  return invalid(`Invalid value at '${bracketed(path)}' (${expected})`);
}

type Item = Record<string, unknown>;
const contentsOf = (body: Json): readonly Item[] => records(body.contents);
const callsIn = (one: Item | undefined) => partsOf(one ?? {}).filter((chunk) => chunk.functionCall !== undefined);
const resultsIn = (one: Item | undefined) => partsOf(one ?? {}).filter((chunk) => chunk.functionResponse !== undefined);

const order: Rule = {
  id: 'gemini/order',
  source: 'https://github.com/langchain-ai/langchain/issues/27799',
  reject({ body }) {
    const contents = contentsOf(body);
    for (const [at, one] of contents.entries()) {
      const before = contents[at - 1];
      if (callsIn(one).length > 0 && (before === undefined || before.role === 'model'))
        return invalid(
          'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
        );
      const results = resultsIn(one);
      if (results.length > 0 && callsIn(before).length === 0)
        return invalid('Please ensure that function response turn comes immediately after a function call turn.');
      const calls = callsIn(before);
      if (calls.length > 0 && calls.length !== results.length)
        return invalid(
          'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
        );
      const names = new Set(calls.map((chunk) => record(chunk.functionCall)?.name));
      if (results.some((chunk) => !names.has(record(chunk.functionResponse)?.name)))
        return invalid('Function response name does not match a function call of the previous turn.');
    }
    return null;
  },
};

const standIns = new Set(['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go']);

const signatures: Rule = {
  id: 'gemini/signatures',
  source: 'https://github.com/google-gemini/gemini-cli/issues/13467',
  reject({ body, seals }) {
    for (const chunk of contentsOf(body).flatMap(partsOf)) {
      const signature = chunk.thoughtSignature;
      if (typeof signature !== 'string' || standIns.has(signature)) continue;
      const name = record(chunk.functionCall)?.name;
      const known =
        typeof name === 'string' ? seals.knows('call', name, signature) : seals.knows('text', '', signature);
      if (!known) return invalid('Corrupted thought signature.');
    }
    return null;
  },
};

const signedCalls: Rule = {
  id: 'gemini/signed-calls',
  source: 'https://ai.google.dev/gemini-api/docs/thought-signatures',
  reject({ body, model }) {
    if (!levelled(model)) return null;
    const contents = contentsOf(body);
    // Only the turn that is going on is looked at: from the user's last words on.
    const start = contents.findLastIndex((one) => one.role !== 'model' && resultsIn(one).length === 0);
    for (const [at, one] of contents.entries()) {
      const [first] = callsIn(one);
      if (at < start || first === undefined || typeof first.thoughtSignature === 'string') continue;
      return invalid(
        `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${record(first.functionCall)?.name}\` , position ${at + 1}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`,
      );
    }
    return null;
  },
};

const budget = (body: Json): number | undefined => {
  const value = valueAt(body, 'generationConfig.thinkingConfig.thinkingBudget');
  return typeof value === 'number' ? value : undefined;
};
const level = (body: Json): unknown => valueAt(body, 'generationConfig.thinkingConfig.thinkingLevel');

/** https://ai.google.dev/gemini-api/docs/thinking#set-budget */
const budgets: readonly (readonly [RegExp, least: number, most: number, off: boolean])[] = [
  [/2\.5-pro/, 128, 32_768, false],
  [/2\.5-flash-lite/, 512, 24_576, true],
  [/2\.5-flash/, 0, 24_576, true],
];

const thinking: readonly Rule[] = [
  {
    id: 'gemini/thought-budget',
    source: thinkingGuide,
    reject({ body, model }) {
      const requested = budget(body);
      const bounds = budgets.find(([models]) => models.test(model));
      if (requested === undefined || bounds === undefined || requested === -1) return null;
      const [, min, max, off] = bounds;
      if (requested === 0) return off ? null : invalid('Budget 0 is invalid. This model only works in thinking mode.');
      return requested < min || requested > max
        ? invalid(`The thinking budget ${requested} is invalid. Please choose a value between ${min} and ${max}.`)
        : null;
    },
  },
  when(
    'gemini/thought-level',
    'https://github.com/QwenLM/qwen-code/pull/9094',
    ({ body, model }) => !levelled(model) && level(body) !== undefined,
    invalid('thinking_level is not supported by this model.'),
  ),
  when(
    'gemini/level-or-budget',
    'https://ai.google.dev/gemini-api/docs/gemini-3#thinking_level',
    ({ body }) => level(body) !== undefined && budget(body) !== undefined,
    invalid('You can only set only one of thinking budget and thinking level.'),
  ),
  when(
    'gemini/level-words',
    'https://ai.google.dev/gemini-api/docs/gemini-3#thinking_level',
    ({ body, model }) => {
      const word = String(level(body) ?? '').toUpperCase();
      return (
        /gemini-3(?:\.\d)?-pro/.test(model) && (word === 'MINIMAL' || (word === 'MEDIUM' && /gemini-3-pro/.test(model)))
      );
    },
    ({ body }) => invalid(`Thinking level ${level(body)} is not supported for this model.`),
  ),
  when(
    'gemini/no-thinking',
    thinkingGuide,
    ({ body, model }) =>
      /gemini-(?:1|2\.0)|gemma/.test(model) && valueAt(body, 'generationConfig.thinkingConfig') !== undefined,
    invalid('Thinking is not enabled for this model.'),
  ),
];

export const generateRules: readonly Rule[] = [
  shapeRule('gemini/form', reference, form, error),
  order,
  signatures,
  signedCalls,
  ...thinking,
  when(
    'gemini/penalties',
    'https://github.com/PublicAffairs/openai-gemini/issues/63',
    ({ body, model }) =>
      /gemini-(?:2\.5|[3-9])/.test(model) &&
      ['presencePenalty', 'frequencyPenalty'].some((name) => valueAt(body, `generationConfig.${name}`) !== undefined),
    ({ model }) => invalid(`Penalty is not enabled for models/${model}`),
  ),
  when(
    'gemini/tools-beside-search',
    'https://github.com/googleapis/go-genai/issues/323',
    ({ body }) =>
      records(body.tools).some((one) => one.functionDeclarations !== undefined) &&
      records(body.tools).some((one) => one.googleSearch !== undefined),
    invalid('Tool use with function calling is unsupported'),
  ),
  {
    id: 'gemini/same-tools',
    source: 'https://github.com/googleapis/dotnet-genai/issues/189',
    reject({ body }) {
      const names = records(body.tools).flatMap((one) => records(one.functionDeclarations).map(({ name }) => name));
      const twice = names.find((name, at) => names.indexOf(name) !== at);
      return twice === undefined ? null : invalid(`Duplicate function declaration found: ${twice}`);
    },
  },
  when(
    'gemini/choice-without-tools',
    'https://github.com/musistudio/claude-code-router/pull/1207',
    ({ body }) =>
      valueAt(body, 'toolConfig.functionCallingConfig') !== undefined &&
      !records(body.tools).some((one) => one.functionDeclarations !== undefined),
    invalid('Function calling config is set without function_declarations.'),
  ),
  when(
    'gemini/allowed-names',
    'https://ai.google.dev/gemini-api/docs/function-calling#function_calling_modes',
    ({ body }) =>
      valueAt(body, 'toolConfig.functionCallingConfig.allowedFunctionNames') !== undefined &&
      !['ANY', 'VALIDATED'].includes(String(valueAt(body, 'toolConfig.functionCallingConfig.mode'))),
    invalid('Please set allowed_function_names only when function calling mode is ANY.'),
  ),
  when(
    'gemini/single-turn',
    'https://github.com/microsoft/semantic-kernel/pull/13288',
    ({ body }) => contentsOf(body).length === 1 && contentsOf(body)[0]?.role === 'model',
    invalid('Please ensure that single turn requests end with a user role or the role field is empty.'),
  ),
  when(
    'gemini/last-turn',
    'https://github.com/pipecat-ai/pipecat/pull/5821',
    ({ body, model }) => !/^gemini-(?:2\.|3-|3\.1-)/.test(model) && contentsOf(body).at(-1)?.role === 'model',
    invalid('Requests ending with a model turn are not supported.'),
  ),
  when(
    'gemini/blank-parts',
    'https://ai.google.dev/api/caching#Part',
    ({ body }) =>
      contentsOf(body)
        .flatMap(partsOf)
        .some((chunk) => Object.keys(chunk).length === 0),
    invalid('Unable to submit request because it must have a text parameter.'),
  ),
];
