/** How long an answer may get: where each dialect says it, what the candidates say about it, and the same request with another limit written into it. */
import { type ModelLimits, modelLimits } from '../../contract/model-limits.ts';
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import { leastTokens } from '../../protocols/anthropic-messages/suffix.ts';
import { allCodecs, codecFor } from '../../protocols/registry.ts';
import { budgetOf } from '../../protocols/shared/effort.ts';
import { record } from '../../protocols/shared/json.ts';
import type { LimitMembers } from '../../protocols/traits.ts';
import { mapModel } from '../../routing/candidates.ts';
import { exactBody, type Inquiry } from '../intake/inquiry.ts';
import { editMembers, outline } from '../intake/json-text.ts';

type Members = Readonly<Record<string, unknown>>;

/** More than any model writes; wishes beyond it are the same wish. */
const longestAnswer = 1_000_000_000;
const mostChoices = 1_000_000;
/** Thinking needs room, or nothing is left for the answer. */
const leastThought = 1024;

const positive = (value: unknown): number => {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number > 0 ? Math.ceil(number) : 0;
};
const limitIn = (value: unknown): number => (typeof value === 'number' ? Math.min(positive(value), longestAnswer) : 0);

/** The longest answer that the members allow, 0 = they do not say. */
function namedIn(body: Members, { names, nested }: LimitMembers): number {
  let most = 0;
  for (const name of names) most = Math.max(most, limitIn(body[name]));
  for (const object of nested?.objects ?? none) {
    const config = record(body[object]);
    if (config !== null) for (const name of nested?.names ?? none) most = Math.max(most, limitIn(config[name]));
  }
  return most;
}

const none: readonly string[] = [];
/** Objects that may ask for several answers. */
const choosing = allCodecs.flatMap(({ traits: { limit } }) =>
  limit.nested === undefined || limit.nested.choices.length === 0 ? [] : [limit.nested],
);

/** Answers asked for at once; each of them is paid. */
export function choicesOf(body: Members): number {
  let most = Math.max(1, positive(body.n), positive(body.best_of));
  for (const { objects, choices } of choosing) {
    for (const object of objects) {
      const config = record(body[object]);
      if (config !== null) for (const name of choices) most = Math.max(most, positive(config[name]));
    }
  }
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
  const { limit } = codecFor(protocol).traits;
  let named = namedIn(body, limit);
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
  if (named > 0) named = Math.max(named, leastOutput(inquiry.model), thoughtOf(body, limit, model.countable));
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

const overriddenLimit = ({ paramOverride }: ChannelSnapshot): number =>
  Math.max(...allCodecs.map(({ traits }) => namedIn(paramOverride, traits.limit)));

/** A translation gives a thought its room above a limit that is too tight for it. */
function thoughtOf(body: Members, { nested, thoughts }: LimitMembers, itsOwnWords: boolean): number {
  let asked = 0;
  if (nested === undefined)
    for (const [object, member] of thoughts) asked = Math.max(asked, limitIn(record(body[object])?.[member]));
  const effort = body.reasoning_effort ?? record(body.reasoning)?.effort;
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
  const { limit: members } = codecFor(protocol).traits;
  const { nested } = members;
  if (nested !== undefined) {
    const exact = exactBody(inquiry);
    const present = nested.objects.filter((name) => record(body[name]) !== null);
    for (const name of present.length === 0 ? nested.objects.slice(0, 1) : present)
      edits.set(name, JSON.stringify(configWith(record(exact[name]) ?? {}, limit, members)));
  } else if (!topWithLimit(edits, body, { limit, members, model })) return null;
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

/** @returns false where the limit leaves no room for the thought that is asked for. */
function topWithLimit(
  edits: Map<string, string>,
  body: Members,
  { limit, members, model }: { readonly limit: number; readonly members: LimitMembers; readonly model: ModelLimits },
): boolean {
  const { names, older, thoughts } = members;
  const present = names.filter((name) => body[name] !== undefined);
  const usual = older !== undefined && !(model.thinks && model.countable) ? older : names[0];
  for (const name of present.length === 0 ? [usual ?? ''] : present) {
    const told = limitIn(body[name]);
    if (told === 0 || told > limit) edits.set(name, String(limit));
  }
  for (const [name, member] of thoughts) {
    const thinking = record(body[name]);
    if (thinking === null || limitIn(thinking[member]) < limit) continue;
    if (limit < 2 * leastThought) return false;
    edits.set(name, JSON.stringify({ ...thinking, [member]: Math.floor(limit / 2) }));
  }
  return true;
}

function configWith(config: Members, limit: number, { nested, thoughts }: LimitMembers): Members {
  const names = nested?.names ?? none;
  const present = names.filter((name) => config[name] !== undefined);
  const lowered = (present.length === 0 ? names.slice(0, 1) : present).map((name) => {
    const told = limitIn(config[name]);
    return [name, told === 0 ? limit : Math.min(told, limit)];
  });
  const thought: [string, unknown][] = [];
  for (const [name, member] of thoughts) {
    const thinking = record(config[name]);
    if (thinking !== null && limitIn(thinking[member]) >= limit)
      thought.push([name, { ...thinking, [member]: Math.floor(limit / 2) }]);
  }
  return { ...config, ...Object.fromEntries([...lowered, ...thought]) };
}

/** A name that wishes for thought is given at least so much room, whatever the client says. */
export const leastOutput = (model: string): number => (model.endsWith('-thinking') ? leastTokens : 0);

/** Whether a request asks for thoughts, in the words of any dialect. */
export function asksForThought(body: Members): boolean {
  const reasoning = record(body.reasoning);
  const effort = body.reasoning_effort ?? reasoning?.effort;
  if (typeof effort === 'string' && effort !== 'none') return true;
  if (reasoning !== null && (reasoning.enabled === true || limitIn(reasoning.max_tokens) > 0)) return true;
  const thinking = record(body.thinking);
  if (thinking !== null && thinking.type !== 'disabled') return true;
  const config = record(body.generationConfig) ?? record(body.generation_config);
  const asked = record(config?.thinkingConfig) ?? record(config?.thinking_config);
  if (asked !== null && asked.thinkingBudget !== 0 && asked.thinking_budget !== 0) return true;
  const template = record(body.chat_template_kwargs);
  if (template?.enable_thinking === true || template?.thinking === true) return true;
  return body.enable_thinking === true || (body.think !== undefined && body.think !== null && body.think !== false);
}
