/** Asks for a shorter answer where the quota that is left carries no longer one: how long it may get, and the same request with that limit written into it. */
import type { ModelLimits } from '../../contract/model-limits.ts';
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { LimitMembers } from '../../protocols/definition.ts';
import { record } from '../../protocols/shared/json.ts';
import { looseName } from '../../protocols/shared/member-name.ts';
import { keepsLimit, limitIn, wrappersIn } from '../../routing/offers.ts';
import { editMembers, outline } from '../intake/json-text.ts';
import { exactBody, type ParsedRequest } from '../intake/parsed-request.ts';
import { type AnswerLimit, type Estimate, limitOf, minThinking, mostTokens, reserveFor } from './meter.ts';
import type { Plan } from './plan.ts';

type Members = Readonly<Record<string, unknown>>;

const none: readonly string[] = [];

/** An answer shorter than this is of no use to anybody. */
const minResponseTokens = 16;
/** A thought that is cut off answers nothing and is paid all the same. */
const minWithThinking = 4096;

/**
 * @param available quota the request may hold.
 * @returns output tokens, at most what the request may write, that fit together with the prompt; 0 = not even the prompt and one token.
 */
export function affordableOutput(estimate: Estimate, available: number): number {
  const isAffordable = (maxTokens: number) => reserveFor(estimate, maxTokens) <= available;
  if (estimate.reserveAmount <= available) return estimate.maxTokens;
  // Invariant: `low` fits (or is 0), `high` does not.
  let low = 0;
  let high = estimate.maxTokens;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (isAffordable(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** The shortest single answer that is worth requesting: the client's own limit where that is less. */
export function minWorth({ answer }: Estimate, body: ParsedRequest['body']): number {
  if (answer === null) return 0;
  const budget = record(body.thinking)?.budget_tokens;
  const isThinking = answer.model.thinking || (typeof budget === 'number' && budget > 0);
  return Math.min(answer.tokens, isThinking ? minWithThinking : minResponseTokens);
}

/** The shortest thought beside an answer. */
export const leastThought = ({ thought, thoughtMember }: AnswerLimit): number =>
  thoughtMember === null ? thought : Math.min(thought, minThinking);

/**
 * The same request with a limit that can be paid for: what half of the free quota affords, so that the next request finds
 * some as well; down to the shortest answer of worth.
 * @param available quota the request may cost at most. @param held what it is likely to cost, and quota for that; null = all is held.
 * @returns null when no limit can be written, or not enough is left for an answer.
 */
export function shorten(
  parsed: ParsedRequest,
  plan: Plan,
  available: number,
  held: { readonly estimate: Estimate; readonly available: number } | null = null,
): { readonly parsed: ParsedRequest; readonly plan: Plan } | null {
  const { estimate } = plan;
  const { answer } = estimate;
  if (answer === null) return null;
  const min = minWorth(estimate, parsed.body);
  const least = leastThought(answer);
  const shortest = (min + least) * answer.choices;
  if (reserveFor(estimate, shortest) > available) return null;
  if (held !== null && reserveFor(held.estimate, shortest) > held.available) return null;
  const requested = answer.model.known ? Math.min(answer.tokens, answer.model.output) : answer.tokens;
  const most = affordableOutput(estimate, available / 2);
  const mostHeld = held === null ? most : affordableOutput(held.estimate, held.available / 2);
  const half = Math.floor(Math.min(most, mostHeld) / answer.choices);
  const thought = Math.min(answer.thought, Math.max(least, Math.min(Math.floor(half / 2), half - min)));
  return withAnswer(parsed, plan, Math.max(min, Math.min(half - thought, requested)), thought);
}

/**
 * The same request with the longest answer that keeps prompt and answer within so many tokens.
 * @returns null where the client names how long the answer may get, no limit can be written, or the prompt leaves no room for an answer of worth.
 */
export function fitTokens(
  parsed: ParsedRequest,
  plan: Plan,
  most: number,
): { readonly parsed: ParsedRequest; readonly plan: Plan } | null {
  const { estimate } = plan;
  const { answer, maxTokens } = estimate;
  if (answer === null || answer.named) return null;
  const room = Math.floor((most - (mostTokens(estimate) - maxTokens)) / answer.choices);
  const min = minWorth(estimate, parsed.body);
  const least = leastThought(answer);
  if (room < min + least) return null;
  const thought = Math.min(answer.thought, Math.max(least, Math.min(Math.floor(room / 2), room - min)));
  return withAnswer(parsed, plan, Math.min(answer.tokens, room - thought), thought);
}

/** @param limit tokens of one answer, at most what the request may write. @param thought those that the limit does not count. @returns null when no limit can be written. */
function withAnswer(
  parsed: ParsedRequest,
  plan: Plan,
  limit: number,
  thought: number,
): { readonly parsed: ParsedRequest; readonly plan: Plan } | null {
  const { estimate, route } = plan;
  const { answer } = estimate;
  if (answer === null) return null;
  const { keepLimits } = route.offers;
  const keeps = (channel: ChannelSnapshot): boolean => keepsLimit(channel, plan.settings, parsed.model);
  const candidates = keepLimits ? plan.candidates : plan.candidates.filter(keeps);
  const shorter =
    candidates.length === 0
      ? null
      : withLimit(
          parsed,
          limit,
          answer.model,
          answer.thoughtMember !== null && thought < answer.thought ? { [answer.thoughtMember]: thought } : {},
        );
  if (shorter === null) return null;
  const maxTokens = (limit + thought) * answer.choices;
  const reserveAmount = reserveFor(estimate, maxTokens);
  return {
    parsed: shorter,
    plan: {
      ...plan,
      candidates,
      route: keepLimits ? route : route.filter(keeps),
      estimate: { ...estimate, maxTokens, reserveAmount, answer: { ...answer, tokens: limit, thought } },
      reserveAmount,
      max: reserveAmount,
      reserved: maxTokens,
    },
  };
}

/**
 * The same request with `limit` as the longest answer, in the member its dialect has for it.
 * @param model a thinking model whose words are counted here refuses the older of two members.
 * @param more other numbers to write.
 * @returns null when it cannot be determined, or leaves no room for the requested thinking.
 */
export function withLimit(
  parsed: ParsedRequest,
  limit: number,
  model: ModelLimits,
  more: Readonly<Record<string, number>> = {},
): ParsedRequest | null {
  const { body, json } = parsed;
  if (json === null) return null;
  const edits = new Map<string, string>();
  const members = limitOf(parsed);
  const { nested } = members;
  if (nested !== undefined) {
    const exact = exactBody(parsed);
    const present = nested.objects.filter((name) => record(body[name]) !== null);
    for (const name of present.length === 0 ? nested.objects.slice(0, 1) : present)
      edits.set(name, JSON.stringify(configWith(record(exact[name]) ?? {}, limit, members)));
  } else if (!topWithLimit(edits, body, { limit, members, model })) return null;
  for (const [name, value] of Object.entries(more)) edits.set(name, String(value));
  const text = editMembers(json.text, json.shape, edits);
  const shape = outline(text);
  if (!shape.ok) return null;
  const changed = Object.fromEntries([...edits].map(([name, value]) => [name, JSON.parse(value) as unknown]));
  return {
    ...parsed,
    body: { ...body, ...changed },
    json: { text, shape, bytes: new TextEncoder().encode(text) },
    ceiling: limit,
  };
}

/** Whether a member that is there allows more. */
const exceeds = (value: unknown, limit: number): boolean =>
  typeof value === 'number' && (limitIn(value) === 0 || value > limit);

/** A wrapper without longer limits, in whatever spelling and as whatever type. @returns null where it has none. */
function loweredWithin(wrapped: Members, looseNames: readonly string[], limit: number): Members | null {
  let lowered: Record<string, unknown> | null = null;
  for (const name in wrapped) {
    const value = wrapped[name];
    if (
      !looseNames.includes(looseName(name)) ||
      value === null ||
      (typeof value === 'number' && !exceeds(value, limit))
    )
      continue;
    lowered ??= { ...wrapped };
    lowered[name] = limit;
  }
  return lowered;
}

/** @returns false where the limit leaves no room for the requested thinking. */
function topWithLimit(
  edits: Map<string, string>,
  body: Members,
  { limit, members, model }: { readonly limit: number; readonly members: LimitMembers; readonly model: ModelLimits },
): boolean {
  const { names, legacyName, others = none, thoughts } = members;
  const present = names.filter((name) => body[name] !== undefined);
  const fallback = legacyName !== undefined && !(model.thinking && model.countable) ? legacyName : names[0];
  for (const name of present.length === 0 ? [fallback ?? ''] : present) {
    const requestedLimit = limitIn(body[name]);
    if (requestedLimit === 0 || requestedLimit > limit) edits.set(name, String(limit));
  }
  for (const name of others) if (exceeds(body[name], limit)) edits.set(name, String(limit));
  for (const { value: wrapped, place } of wrappersIn(body)) {
    const lowered = loweredWithin(wrapped, [...names, ...others].map(looseName), limit);
    if (lowered !== null) edits.set(place, JSON.stringify(lowered));
  }
  for (const [name, member] of thoughts) {
    const thinking = record(body[name]);
    if (thinking === null || limitIn(thinking[member]) < limit) continue;
    if (limit < 2 * minThinking) return false;
    edits.set(name, JSON.stringify({ ...thinking, [member]: Math.floor(limit / 2) }));
  }
  return true;
}

function configWith(config: Members, limit: number, { nested, thoughts }: LimitMembers): Members {
  const names = nested?.names ?? none;
  const present = names.filter((name) => config[name] !== undefined);
  const lowered = (present.length === 0 ? names.slice(0, 1) : present).map((name) => {
    const requestedLimit = limitIn(config[name]);
    return [name, requestedLimit === 0 ? limit : Math.min(requestedLimit, limit)];
  });
  const thought: [string, unknown][] = [];
  for (const [name, member] of thoughts) {
    const thinking = record(config[name]);
    if (thinking !== null && limitIn(thinking[member]) >= limit)
      thought.push([name, { ...thinking, [member]: Math.floor(limit / 2) }]);
  }
  return { ...config, ...Object.fromEntries([...lowered, ...thought]) };
}
