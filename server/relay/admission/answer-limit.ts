/** How long an answer may get: where each dialect says it, what the candidates say about it, and the same request with another limit written into it. */
import { type ModelLimits, modelLimits } from '../../contract/model-limits.ts';
import type { ProtocolId } from '../../protocols/canonical.ts';
import { budgetOf } from '../../protocols/shared/effort.ts';
import { record } from '../../protocols/shared/json.ts';
import type { Inquiry } from '../intake/inquiry.ts';
import { editMembers, outline } from '../intake/json-text.ts';
import { mapModel } from '../routing/choose.ts';
import type { ChannelSnapshot } from '../state/snapshot.ts';

type Members = Readonly<Record<string, unknown>>;

/** More than any model writes; wishes beyond it are the same wish. */
const longestAnswer = 1_000_000_000;
const mostChoices = 1_000_000;
/** Thinking needs room, or nothing is left for the answer. */
const leastThought = 1024;

const names: Readonly<Record<ProtocolId, readonly string[]>> = {
  'openai-chat': ['max_completion_tokens', 'max_tokens'],
  'openai-responses': ['max_output_tokens'],
  'anthropic-messages': ['max_tokens'],
  'gemini-generate': [],
};
const configNames = ['generationConfig', 'generation_config'];
const nestedNames = ['maxOutputTokens', 'max_output_tokens'];

const positive = (value: unknown): number => {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number > 0 ? Math.ceil(number) : 0;
};
const limitIn = (value: unknown): number => (typeof value === 'number' ? Math.min(positive(value), longestAnswer) : 0);

/** The longest answer that the members allow, 0 = they do not say. */
function namedIn(body: Members, protocol: ProtocolId): number {
  let most = 0;
  if (protocol === 'gemini-generate') {
    for (const name of configNames) {
      const config = record(body[name]);
      if (config !== null) for (const nested of nestedNames) most = Math.max(most, limitIn(config[nested]));
    }
  } else for (const name of names[protocol]) most = Math.max(most, limitIn(body[name]));
  return most;
}

/** Answers asked for at once; each of them is paid. */
export function choicesOf(body: Members): number {
  let most = Math.max(1, positive(body.n), positive(body.best_of));
  const config = record(body.generationConfig ?? body.generation_config);
  if (config !== null) most = Math.max(most, positive(config.candidateCount), positive(config.candidate_count));
  return Math.min(most, mostChoices);
}

/** What may be written at most, as far as the request and its candidates tell. */
export interface AnswerLimit {
  readonly model: ModelLimits;
  /** Tokens of one answer. */
  readonly tokens: number;
  /** The client named the limit. */
  readonly named: boolean;
  readonly choices: number;
}

export function answerLimit(inquiry: Inquiry, candidates: readonly ChannelSnapshot[]): AnswerLimit {
  const { body, protocol } = inquiry;
  let model = modelLimits(inquiry.model);
  let named = namedIn(body, protocol);
  let choices = choicesOf(body);
  for (const channel of candidates) {
    if (Object.hasOwn(channel.modelMapping, inquiry.model))
      model = widest(model, modelLimits(mapModel(channel.modelMapping, inquiry.model)));
    // An operator's override wins over what the client says.
    if (hasOverride(channel)) {
      named = Math.max(named, overriddenLimit(channel));
      choices = Math.max(choices, choicesOf(channel.paramOverride));
    }
  }
  if (named > 0) named = Math.max(named, leastOutput(inquiry.model), thoughtOf(body, model.countable));
  return { model, tokens: named > 0 ? named : model.output, named: named > 0, choices };
}

function widest(one: ModelLimits, other: ModelLimits): ModelLimits {
  if (one === other) return one;
  return {
    output: Math.max(one.output, other.output),
    context: Math.max(one.context, other.context),
    thinks: one.thinks || other.thinks,
    countable: one.countable && other.countable,
    known: one.known && other.known,
  };
}

const hasOverride = ({ paramOverride }: ChannelSnapshot): boolean => {
  for (const _name in paramOverride) return true;
  return false;
};

const protocols = Object.keys(names) as ProtocolId[];

const overriddenLimit = ({ paramOverride }: ChannelSnapshot): number =>
  Math.max(...protocols.map((protocol) => namedIn(paramOverride, protocol)));

/** A translation gives a thought its room above a limit that is too tight for it. */
function thoughtOf(body: Members, itsOwnWords: boolean): number {
  const reasoning = record(body.reasoning);
  const asked = Math.max(limitIn(reasoning?.max_tokens), limitIn(record(body.thinking)?.budget_tokens));
  const effort = body.reasoning_effort ?? reasoning?.effort;
  const usual =
    itsOwnWords || typeof effort !== 'string' ? 0 : (budgetOf({ effort, budget: null, includeThoughts: null }) ?? 0);
  const thought = Math.max(asked, usual);
  return thought > 0 ? thought + leastThought : 0;
}

/** Whether a limit that is written into the request reaches this channel's upstream as it is. */
export const keepsLimit = (channel: ChannelSnapshot): boolean => {
  if (channel.setting.pass_through === true) return false;
  return !hasOverride(channel) || overriddenLimit(channel) === 0;
};

/**
 * The same request with `limit` as the longest answer, in the member its dialect has for it.
 * @param model a thinking model whose words are counted here refuses the older of two members.
 * @returns null when it cannot be said, or leaves no room for the thought that is asked for.
 */
export function withLimit(inquiry: Inquiry, limit: number, model: ModelLimits): Inquiry | null {
  const { body, protocol, json } = inquiry;
  if (json === null) return null;
  const edits = new Map<string, string>();
  if (protocol === 'gemini-generate') {
    const present = configNames.filter((name) => record(body[name]) !== null);
    for (const name of present.length === 0 ? configNames.slice(0, 1) : present)
      edits.set(name, JSON.stringify(configWith(record(body[name]) ?? {}, limit)));
  } else {
    const present = names[protocol].filter((name) => body[name] !== undefined);
    const usual = protocol === 'openai-chat' && !(model.thinks && model.countable) ? 'max_tokens' : names[protocol][0];
    for (const name of present.length === 0 ? [usual ?? ''] : present) {
      const told = limitIn(body[name]);
      if (told === 0 || told > limit) edits.set(name, String(limit));
    }
    for (const [name, member] of [
      ['thinking', 'budget_tokens'],
      ['reasoning', 'max_tokens'],
    ] as const) {
      const thinking = record(body[name]);
      if (thinking === null || limitIn(thinking[member]) < limit) continue;
      if (limit < 2 * leastThought) return null;
      edits.set(name, JSON.stringify({ ...thinking, [member]: Math.floor(limit / 2) }));
    }
  }
  const text = editMembers(json.text, json.shape, edits);
  const shape = outline(text);
  if (!shape.ok) return null;
  const changed = Object.fromEntries([...edits].map(([name, value]) => [name, JSON.parse(value) as unknown]));
  return {
    ...inquiry,
    body: { ...body, ...changed },
    json: { text, shape, bytes: new TextEncoder().encode(text) },
    ceiling: limit,
  };
}

function configWith(config: Members, limit: number): Members {
  const present = nestedNames.filter((name) => config[name] !== undefined);
  const lowered = (present.length === 0 ? nestedNames.slice(0, 1) : present).map((name) => {
    const told = limitIn(config[name]);
    return [name, told === 0 ? limit : Math.min(told, limit)];
  });
  const thought: [string, unknown][] = [];
  for (const [name, member] of [
    ['thinkingConfig', 'thinkingBudget'],
    ['thinking_config', 'thinking_budget'],
  ] as const) {
    const thinking = record(config[name]);
    if (thinking !== null && limitIn(thinking[member]) >= limit)
      thought.push([name, { ...thinking, [member]: Math.floor(limit / 2) }]);
  }
  return { ...config, ...Object.fromEntries([...lowered, ...thought]) };
}

/** Claude's thinking needs at least so much room. */
export const claudeLeastTokens = 1280;

/** A name that wishes for thought is given at least so much room, whatever the client says. */
export const leastOutput = (model: string): number => (model.endsWith('-thinking') ? claudeLeastTokens : 0);
