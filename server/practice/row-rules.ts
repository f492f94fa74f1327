/** Reads the rows of knowledge the other way round: a played provider refuses what they say it does not take. */
import type { ProtocolId } from '../protocols/canonical.ts';
import { type Json, list, record } from '../protocols/shared/json.ts';
import { hasRootUnion } from '../protocols/shared/tools.ts';
import type { ModelParameter } from '../protocols/target.ts';
import { isSystemFirst } from '../providers/knowledge/message-order.ts';
import type { Demand, ModelRow, ProviderRow } from '../providers/knowledge/row.ts';

export interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly param?: string;
  readonly type?: string;
  readonly code?: string;
}

/** 400 in the provider's words. */
export const invalid = (message: string, more: Partial<Refusal> = {}): Refusal => ({ status: 400, message, ...more });

export interface RowRule {
  readonly id: string;
  /** Address of the document, or of a report of the refusal. */
  readonly source: string;
  readonly reject: (request: { readonly model: string; readonly body: Json }) => Refusal | null;
}

/** The value at a path of dotted names; undefined where it is absent or null. */
export function valueAt(body: Json, path: string): unknown {
  let value: unknown = body;
  for (const name of path.split('.')) value = record(value)?.[name];
  return value ?? undefined;
}

/** What a request is written in. */
export type WireId = ProtocolId | 'converse';

/** Where a wire says what a model may refuse. */
interface FieldReaders {
  readonly values: Partial<Record<ModelParameter, string>>;
  /** Whether a tool is forced. */
  readonly forced: (body: Json) => boolean;
  readonly schema: (body: Json) => boolean;
  readonly json: (body: Json) => boolean;
  /** The word for effort. */
  readonly effort: (body: Json) => unknown;
  readonly budget: (body: Json) => unknown;
  /** The request switches thinking off. */
  readonly off: (body: Json) => boolean;
  readonly limit: (body: Json) => unknown;
}

const isForced = (choice: unknown): boolean => choice === 'required' || record(choice) !== null;
const never = (): boolean => false;
const nothing = (): undefined => undefined;
const chatValues = {
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  stop: 'stop',
  seed: 'seed',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  candidates: 'n',
  tools: 'tools',
  parallelToolCalls: 'parallel_tool_calls',
} as const;

const messagesOff = (body: Json): boolean => valueAt(body, 'thinking.type') === 'disabled';

const fieldReaders: Readonly<Record<WireId, FieldReaders>> = {
  'openai-chat': {
    values: chatValues,
    forced: (body) => isForced(body.tool_choice),
    schema: (body) => valueAt(body, 'response_format.type') === 'json_schema',
    json: (body) => valueAt(body, 'response_format.type') === 'json_object',
    effort: (body) => valueAt(body, 'reasoning_effort'),
    budget: nothing,
    off: (body) => body.reasoning_effort === 'none' || messagesOff(body),
    limit: (body) => valueAt(body, 'max_completion_tokens') ?? valueAt(body, 'max_tokens'),
  },
  'openai-responses': {
    values: { temperature: 'temperature', topP: 'top_p', tools: 'tools', parallelToolCalls: 'parallel_tool_calls' },
    forced: (body) => isForced(body.tool_choice),
    schema: (body) => valueAt(body, 'text.format.type') === 'json_schema',
    json: (body) => valueAt(body, 'text.format.type') === 'json_object',
    effort: (body) => valueAt(body, 'reasoning.effort'),
    budget: nothing,
    off: (body) => valueAt(body, 'reasoning.effort') === 'none',
    limit: (body) => valueAt(body, 'max_output_tokens'),
  },
  'anthropic-messages': {
    values: { temperature: 'temperature', topP: 'top_p', topK: 'top_k', stop: 'stop_sequences', tools: 'tools' },
    forced: (body) => ['any', 'tool'].includes(String(valueAt(body, 'tool_choice.type'))),
    schema: (body) => valueAt(body, 'output_config.format') !== undefined,
    json: never,
    effort: (body) => valueAt(body, 'output_config.effort'),
    budget: (body) => valueAt(body, 'thinking.budget_tokens'),
    off: messagesOff,
    limit: (body) => valueAt(body, 'max_tokens'),
  },
  'gemini-generate': {
    values: Object.fromEntries(
      Object.entries({
        temperature: 'temperature',
        topP: 'topP',
        topK: 'topK',
        stop: 'stopSequences',
        seed: 'seed',
        presencePenalty: 'presencePenalty',
        frequencyPenalty: 'frequencyPenalty',
        candidates: 'candidateCount',
      }).map(([member, name]) => [member, `generationConfig.${name}`]),
    ),
    forced: (body) => valueAt(body, 'toolConfig.functionCallingConfig.mode') === 'ANY',
    schema: (body) => valueAt(body, 'generationConfig.responseJsonSchema') !== undefined,
    json: never,
    effort: (body) => {
      const level = valueAt(body, 'generationConfig.thinkingConfig.thinkingLevel');
      return typeof level === 'string' ? level.toLowerCase() : undefined;
    },
    budget: (body) => valueAt(body, 'generationConfig.thinkingConfig.thinkingBudget'),
    off: (body) => valueAt(body, 'generationConfig.thinkingConfig.thinkingBudget') === 0,
    limit: (body) => valueAt(body, 'generationConfig.maxOutputTokens'),
  },
  'cohere-chat': {
    values: {
      temperature: 'temperature',
      topP: 'p',
      topK: 'k',
      stop: 'stop_sequences',
      seed: 'seed',
      presencePenalty: 'presence_penalty',
      frequencyPenalty: 'frequency_penalty',
      tools: 'tools',
    },
    forced: (body) => body.tool_choice === 'REQUIRED',
    schema: (body) => valueAt(body, 'response_format.json_schema') !== undefined,
    json: never,
    effort: nothing,
    budget: (body) => valueAt(body, 'thinking.token_budget'),
    off: messagesOff,
    limit: (body) => valueAt(body, 'max_tokens'),
  },
  'ollama-chat': {
    values: { temperature: 'options.temperature', topP: 'options.top_p', topK: 'options.top_k', tools: 'tools' },
    forced: never,
    schema: (body) => record(body.format) !== null,
    json: (body) => body.format === 'json',
    effort: nothing,
    budget: nothing,
    off: (body) => body.think === false,
    limit: (body) => valueAt(body, 'options.num_predict'),
  },
  converse: {
    values: {
      temperature: 'inferenceConfig.temperature',
      topP: 'inferenceConfig.topP',
      stop: 'inferenceConfig.stopSequences',
      tools: 'toolConfig',
    },
    forced: (body) =>
      valueAt(body, 'toolConfig.toolChoice.auto') === undefined && valueAt(body, 'toolConfig.toolChoice') !== undefined,
    schema: never,
    json: never,
    effort: nothing,
    budget: nothing,
    off: never,
    limit: (body) => valueAt(body, 'inferenceConfig.maxTokens'),
  },
};

const isPrefilled = (body: Json): boolean =>
  ['assistant', 'model'].includes(String(record(list(body.messages ?? body.contents).at(-1))?.role));

const hasUnions = (body: Json): boolean =>
  list(body.tools).some((tool) => {
    const own = record(tool);
    return hasRootUnion(record(own?.function)?.parameters ?? own?.parameters ?? own?.input_schema);
  });

/** Without the makers' and regions' prefixes that hosts put before a name. */
const bare = (name: string): string =>
  name
    .slice(name.lastIndexOf('/') + 1)
    .toLowerCase()
    .replace(/^(?:(?:us-gov|[a-z]{2,6})\.)?[a-z]+\.(?=[a-z])/, '');

/** What upstreams do where nothing is declared: saying it is no fault. */
const samples: Partial<Record<ModelParameter, unknown>> = {
  temperature: 1,
  topP: 1,
  presencePenalty: 0,
  frequencyPenalty: 0,
  candidates: 1,
  parallelToolCalls: true,
};

interface Combined {
  readonly unsupported: ReadonlySet<ModelParameter>;
  readonly unsupportedWithThinking: ReadonlySet<ModelParameter>;
  readonly declared: Partial<ModelRow>;
}

function combined(rows: readonly ModelRow[], slug: string, model: string): Combined {
  const unsupported = new Set<ModelParameter>();
  const unsupportedWithThinking = new Set<ModelParameter>();
  let declared: Partial<ModelRow> = {};
  for (const row of rows) {
    if ((row.provider !== undefined && row.provider !== slug) || !row.models.test(bare(model))) continue;
    for (const member of row.supported ?? []) {
      unsupported.delete(member);
      unsupportedWithThinking.delete(member);
    }
    for (const member of row.unsupported ?? []) unsupported.add(member);
    for (const member of row.unsupportedWithThinking ?? []) unsupportedWithThinking.add(member);
    declared = { ...declared, ...row };
  }
  return { unsupported, unsupportedWithThinking, declared };
}

function rejectedMember(members: ReadonlySet<ModelParameter>, at: FieldReaders, body: Json): ModelParameter | null {
  for (const member of members) {
    if (member === 'forcedToolChoice' && at.forced(body)) return member;
    if (member === 'schemaFormat' && at.schema(body)) return member;
    if (member === 'jsonFormat' && at.json(body)) return member;
    if (member === 'schemaUnions' && hasUnions(body)) return member;
    if (member === 'prefill' && isPrefilled(body)) return member;
    const path = at.values[member];
    const value = path === undefined ? undefined : valueAt(body, path);
    if (value !== undefined && value !== samples[member] && !(Array.isArray(value) && value.length === 0))
      return member;
  }
  return null;
}

function thinkingError(declared: Partial<ModelRow>, at: FieldReaders, body: Json): string | null {
  const effort = at.effort(body);
  const budget = at.budget(body);
  const off = at.off(body);
  if (declared.thinking === 'none' && (effort !== undefined || (typeof budget === 'number' && budget !== 0)))
    return 'thinking is not taken by this model';
  if (declared.efforts != null && effort !== undefined && !declared.efforts.includes(String(effort)))
    return `effort ${effort} is not one of ${declared.efforts.join(', ')}`;
  if (declared.thinkingRequired === true && off) return 'thinking cannot be switched off';
  const [min, max] = declared.budget ?? [0, Number.POSITIVE_INFINITY];
  if (typeof budget === 'number' && budget > 0 && (budget < min || budget > max))
    return `a budget of ${budget} is not between ${min} and ${max}`;
  return null;
}

function modelRefusal(
  rows: readonly ModelRow[],
  slug: string,
  wire: WireId,
  seen: { model: string; body: Json },
): Refusal | null {
  const { unsupported, unsupportedWithThinking, declared } = combined(rows, slug, seen.model);
  const at = fieldReaders[wire];
  const { body } = seen;
  const isThinking =
    declared.thinking !== 'none' &&
    !at.off(body) &&
    (declared.thinkingRequired === true ||
      declared.thinkingByDefault === true ||
      at.effort(body) !== undefined ||
      at.budget(body) !== undefined);
  const member =
    rejectedMember(unsupported, at, body) ?? (isThinking ? rejectedMember(unsupportedWithThinking, at, body) : null);
  if (member !== null) return invalid(`${at.values[member] ?? member} is not taken by this model`, { param: member });
  const thought = thinkingError(declared, at, body);
  if (thought !== null) return invalid(thought, { param: 'thinking' });
  const limit = at.limit(body);
  if (typeof limit === 'number' && limit > (declared.outputCap ?? Number.POSITIVE_INFINITY))
    return invalid(`${limit} tokens are more than the ${declared.outputCap} of this model`, { param: 'max_tokens' });
  const older = declared.limitMember === 'max_completion_tokens' && valueAt(body, 'max_tokens') !== undefined;
  return older && wire === 'openai-chat'
    ? invalid('max_tokens is not taken by this model', { param: 'max_tokens' })
    : null;
}

/** The values at a path such as `messages[].tool_calls[].id`. */
function valuesAt(value: unknown, path: readonly string[]): readonly unknown[] {
  const [step, ...rest] = path;
  if (step === undefined) return value === undefined || value === null ? [] : [value];
  const each = step.endsWith('[]');
  const inside = record(value)?.[each ? step.slice(0, -2) : step];
  return each ? list(inside).flatMap((item) => valuesAt(item, rest)) : valuesAt(inside, rest);
}

function violates(demand: Demand, value: unknown): boolean {
  switch (demand.kind) {
    case 'present':
      return value === undefined || value === null;
    // Here null and absent are one.
    case 'notNull':
      return false;
    case 'absent':
    case 'renamed':
      return value !== undefined && value !== null;
    case 'atMost':
      return (Array.isArray(value) ? value.length : typeof value === 'number' ? value : 0) > demand.value;
    case 'atLeast':
      return typeof value === 'number' && value < demand.value;
    case 'word':
      return typeof value === 'object' && value !== null;
    case 'oneOf':
      return typeof value === 'string' && !demand.words.includes(value);
    case 'pictured':
      return value === 'image/jpg';
    case 'without':
      return list(value).some((word) => typeof word === 'string' && demand.words.includes(word));
    case 'shaped':
      return typeof value === 'string' && !demand.pattern.test(value);
    case 'alternating': {
      const roles = list(value).map((turn) => record(turn)?.role);
      return roles.some((role, at) => role !== 'system' && role !== 'tool' && role === roles[at - 1]);
    }
    case 'systemFirst':
      return Array.isArray(value) && !isSystemFirst(value, demand.apart, {});
    case 'continued': {
      const last = record(list(value).at(-1));
      return last?.role === 'assistant' && list(last.tool_calls).length === 0 && last[demand.member] !== true;
    }
    case 'asked':
      return Array.isArray(value) && value.every((turn) => record(turn)?.role !== demand.by.role);
    case 'mentions':
      return !demand.word.test(JSON.stringify(value ?? ''));
    case 'parted': {
      const roles = list(value).map((turn) => record(turn)?.role);
      return roles.some((role, at) => role === demand.before && roles[at - 1] === demand.after);
    }
  }
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0);

const isPlaced = (holder: Json | null, { onlyWith: paired, onlyWithType }: ProviderRow): boolean =>
  paired === undefined ||
  (!isEmpty(holder?.[paired]) && (onlyWithType === undefined || record(holder?.[paired])?.type === onlyWithType));

function providerRule(row: ProviderRow, at: number): RowRule {
  const path = row.member.split('.');
  const last = path.slice(-1);
  return {
    id: `row/${row.provider}/${row.member}/${at}`,
    source: row.source,
    reject({ body, model }) {
      if (row.models !== undefined && !row.models.test(bare(model))) return null;
      const holders = valuesAt(body, path.slice(0, -1)).filter((holder) => isPlaced(record(holder), row));
      const bad = holders.some((holder) =>
        row.demand.kind === 'present'
          ? violates(row.demand, record(holder)?.[last[0] ?? ''])
          : valuesAt(holder, last).some((value) => violates(row.demand, value)),
      );
      return bad ? { status: row.status ?? 400, message: `${row.member}: ${row.demand.kind} is demanded` } : null;
    },
  };
}

/** @returns what the rows say that a provider refuses, by its slug in the catalogue and the wire that is spoken. */
export const rowRules =
  (modelRows: readonly ModelRow[], providerRows: readonly ProviderRow[]) =>
  (slug: string, wire: WireId): readonly RowRule[] => [
    ...providerRows.filter((row) => row.provider === slug && row.dialect === wire).map(providerRule),
    ...(modelRows.length === 0
      ? []
      : [
          {
            id: `row/${slug}/models`,
            source: modelRows[0]?.source ?? '',
            reject: (request: { readonly model: string; readonly body: Json }) =>
              modelRefusal(modelRows, slug, wire, request),
          },
        ]),
  ];
