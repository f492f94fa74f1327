/**
 * What a request will cost by evidence of our own, which may be less than the most that it may cost: the beginning of its prompt that
 * the provider has in its cache, and how many tokens its model makes of counted ones. Learned where requests end, from upstreams
 * whose reports of usage are trusted. Known to this thread alone.
 */
import { cacheTokensOf, weightOf } from '../../contract/pricing/bucket.ts';
import { promptTokensOf } from '../../contract/pricing/charge.ts';
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { Usage } from '../../protocols/canonical.ts';
import { codecFor } from '../../protocols/registry.ts';
import { providerByType } from '../../providers/catalogue.ts';
import { trustsUsage } from '../../providers/knowledge/own-hosts.ts';
import { expectsThinking } from '../../routing/offers.ts';
import { callDetails } from '../../routing/protocol.ts';
import type { ParsedRequest, Principal } from '../intake/parsed-request.ts';
import { countedTexts, minCount, noMedia } from '../intake/prompt.ts';
import { conversationKey } from '../routing/affinity.ts';
import { Calibration, mostPerCounted } from './calibration.ts';
import { type Estimate, estimate } from './meter.ts';
import type { Plan } from './plan.ts';
import { type Opening, type Origin, PrefixEvidence, type Proven } from './prefix-evidence.ts';
import { openingOf } from './prompt-opening.ts';
import { withSearchesOf } from './search-limit.ts';
import { usageMarks } from './usage-marks.ts';

/** Cost that is likely at one channel with one key. */
export interface Likely {
  readonly size: Estimate;
  readonly channel: ChannelSnapshot;
  /** The key of the channel, as it is sent. */
  readonly key: string;
  /** The hold may grow with the delivery: everything that is paid for is seen, and the answer ends when it is cut. */
  readonly mayGrow: boolean;
}

/** The parts of a request that evidence is looked up by. */
export interface Subject {
  readonly parsed: ParsedRequest;
  readonly principal: Principal;
  readonly plan: Plan;
  /** null = its prompt was not counted. */
  readonly counts: PromptCounts | null;
}

/** Tokens by our own encodings. */
export interface PromptCounts {
  /** Of all texts of the prompt. */
  readonly all: number;
  /** Of what stands behind the beginning that was known then; null = none was. */
  readonly rest: number | null;
}

/** A beginning that the provider has, and what stands behind it. */
interface Known extends Proven {
  readonly rest: string;
  /** Number of the remaining parts, and an upper bound of their tokens by their bytes. */
  readonly restParts: number;
  readonly restMost: number;
}

interface Looked {
  readonly channel: ChannelSnapshot;
  readonly key: string;
  /** Upstream. */
  readonly model: string;
  readonly known: Known | null;
}

/** The attempt that was answered. */
export interface AnsweredAttempt {
  readonly channel: ChannelSnapshot;
  readonly key: string;
  readonly upstreamModel: string;
  /** When it was sent: by the monotonic clock. */
  readonly sentMs: number;
  readonly received: number;
}

/** Providers keep a prompt for so long at least, from when it was last used (Anthropic, prompt caching; OpenAI: five to ten minutes). */
const lifeMs = 300_000;
/** A block's frame. */
const framingTokens = 16;

export class Evidence {
  private readonly prefixes: PrefixEvidence;
  private readonly calibration = new Calibration();
  /** A changed channel is another object, and other news. */
  private readonly serials = new WeakMap<ChannelSnapshot, string>();
  private serial = 0;
  /** By body, for the target that was looked at last: the next one of a virtual model gets the same body. */
  private readonly looked = new WeakMap<object, Looked>();

  /** @param now milliseconds of a monotonic clock. */
  constructor(now: () => number) {
    this.prefixes = new PrefixEvidence(now);
  }

  /** @returns null = all that the request may cost has to be held. */
  likely(subject: Subject): Likely | null {
    const { plan, counts } = subject;
    const target = this.targetOf(subject);
    if (target === null) return null;
    const { channel, key, model, mayGrow } = target;
    const factor = counts === null ? mostPerCounted : this.calibration.factor(model);
    const known = this.knownOf(subject, target);
    if (known === null && factor >= mostPerCounted) return null;
    const base = counts === null || factor >= mostPerCounted ? plan.estimate : calibrated(subject, counts.all, factor);
    const { maxTokens, answer } = plan.estimate;
    const own = known === null ? base.own : Math.min(base.own, known.most + restTokens(known, counts, factor));
    const cached = Math.min(own, known?.read ?? 0) * (1 + base.rereads);
    const size = withSearchesOf({ ...base, own, cached, maxTokens, answer }, plan);
    return size.reserveAmount >= plan.max ? null : { size, channel, key, mayGrow };
  }

  /** Text of the prompt behind the known beginning: to be counted by itself. @returns null = no beginning is known. */
  restOf(subject: Subject): string | null {
    const target = this.targetOf(subject);
    return target === null ? null : (this.knownOf(subject, target)?.rest ?? null);
  }

  private targetOf({ parsed, plan }: Subject) {
    const channel = plan.candidates.at(0);
    if (channel === undefined || !mayBeProven(parsed, plan)) return null;
    const key = keyFor(channel, plan);
    if (key === null || !isTrusted(channel)) return null;
    const passes = passed(channel, parsed, plan);
    if (passes === null) return null;
    const { model, thinks } = passes;
    const mayGrow = parsed.stream && plan.estimate.answer !== null && plan.route.offers.stopOnCancel && !thinks;
    return { channel, key, model, mayGrow };
  }

  /** Read once a request: it takes the time of reading the prompt. */
  private knownOf(
    { parsed, principal, plan }: Subject,
    { channel, key, model }: { readonly channel: ChannelSnapshot; readonly key: string; readonly model: string },
  ): Known | null {
    if (!isCheaperRead(plan)) return null;
    const looked = this.looked.get(parsed.body);
    if (looked?.channel === channel && looked.key === key && looked.model === model) return looked.known;
    const opening = this.openingOf(parsed, channel, model);
    const proven =
      opening === null ? null : this.prefixes.proven(originOf(principal, { parsed, channel, key }), opening);
    let known: Known | null = null;
    if (opening !== null && proven !== null) {
      const behind = opening.parts.slice(proven.parts);
      const restMost = behind.reduce((sum, { most }) => sum + most, 0);
      // Parts without words cannot be counted.
      const rest = restMost === Number.POSITIVE_INFINITY ? '' : behind.map(({ text }) => text).join('\n');
      known = { ...proven, rest, restParts: behind.length, restMost };
    }
    this.looked.set(parsed.body, { channel, key, model, known });
    return known;
  }

  /** The same with a shorter answer. @returns null = more was changed than what no provider hashes. */
  shortened(
    likely: Likely,
    { body, protocol }: ParsedRequest,
    shorter: Pick<Subject, 'parsed' | 'plan'>,
  ): Likely | null {
    const { unhashed = [] } = codecFor(protocol).definition.cache ?? {};
    const { parsed, plan } = shorter;
    for (const name in parsed.body) if (parsed.body[name] !== body[name] && !unhashed.includes(name)) return null;
    const { maxTokens, answer } = plan.estimate;
    const size = withSearchesOf({ ...likely.size, maxTokens, answer }, plan);
    return size.reserveAmount >= plan.max ? null : { ...likely, size };
  }

  /** A response ended well, and its upstream reported what it used. */
  answered(subject: Subject, attempt: AnsweredAttempt, usage: Usage): void {
    const { parsed, principal, plan, counts } = subject;
    const { channel, key, upstreamModel, sentMs, received } = attempt;
    if (!mayBeProven(parsed, plan) || !isTrusted(channel) || usage.parts !== undefined) return;
    // A tool that ran gave the model more to read, and had it read all of it once more.
    for (const tool in usage.toolCalls) if ((usage.toolCalls[tool] ?? 0) > 0) return;
    if (passed(channel, parsed, plan) === null) return;
    if (usageMarks(usage, { parsed, estimate: plan.estimate, upstreamModel, received }) !== null) return;
    const all = promptTokensOf(usage);
    const { media, files } = parsed.prompt.bound;
    if (counts !== null && media === noMedia && !files)
      this.calibration.learn(upstreamModel, principal.user.id, counts.all, all);
    const opening = isCheaperRead(plan) ? this.openingOf(parsed, channel, upstreamModel) : null;
    if (opening === null) return;
    this.prefixes.answered(originOf(principal, { parsed, channel, key }), opening, {
      tokens: cacheTokensOf(usage),
      all,
      sentMs,
      lifeMs,
    });
  }

  private openingOf(parsed: ParsedRequest, channel: ChannelSnapshot, model: string): Opening | null {
    let serial = this.serials.get(channel);
    if (serial === undefined) {
      serial = String(++this.serial);
      this.serials.set(channel, serial);
    }
    return openingOf(parsed, [model, serial]);
  }
}

/**
 * The request's own prompt is read, by its own model, and paid by the token; besides it no more than what tools look up whose calls
 * are bounded and reported: that is held for at its dearest.
 */
function mayBeProven(parsed: ParsedRequest, { prices, requested, others }: Plan): boolean {
  const { operation, compaction, protocol } = parsed;
  const { uses, reads, again } = requested;
  if (operation !== 'chat' || compaction !== undefined || prices.modelPrice !== null) return false;
  if (again || others.length > 0) return false;
  // Dialects that bound searches also say how many were made.
  return uses.length === 0
    ? reads === 0
    : Number.isFinite(reads) && codecFor(protocol).definition.searchLimit !== undefined;
}

const isCheaperRead = ({ prices }: Plan): boolean => weightOf(prices, 'cacheRead') < 1;

/** Its reports of usage are believed for more than the charge that they make. */
export function isTrusted({ type, baseUrl, setting }: ChannelSnapshot): boolean {
  const provider = providerByType(type);
  return provider !== undefined && trustsUsage(provider, baseUrl, setting.trusted_usage);
}

/** @returns null = the request is translated: what is sent then is not looked at. */
function passed(channel: ChannelSnapshot, parsed: ParsedRequest, plan: Plan) {
  const request = { ...parsed, session: parsed.route.session === true, ordered: false };
  const details = callDetails(channel, request, plan.settings, 'secret');
  if (details === null || details.translated) return null;
  const { place, known, suffix } = details;
  const { model } = parsed;
  const options = plan.settings;
  const target = { channel, model, options, upstreamModel: place.model, known, settings: suffix !== null };
  return { model: place.model, thinks: expectsThinking(parsed.body, target) };
}

/** The key that is tried first. @returns null = any may be. */
function keyFor({ id, keys }: ChannelSnapshot, { keepsKey, served }: Plan): string | null {
  if (keys.length === 1) return keys[0] ?? null;
  if (!keepsKey || served === null || served.channelId !== id || served.left?.channelId === id) return null;
  return keys[served.keyIndex] ?? null;
}

function originOf(
  principal: Principal,
  { parsed, channel, key }: { readonly parsed: ParsedRequest; readonly channel: ChannelSnapshot; readonly key: string },
): Origin {
  return {
    userId: principal.user.id,
    channelId: channel.id,
    keyHash: Bun.hash(key).toString(36),
    conversation: conversationKey(parsed, principal) ?? '',
  };
}

/** Tokens behind the beginning that is known, at most. */
function restTokens({ rest, restParts, restMost }: Known, counts: PromptCounts | null, factor: number): number {
  if (counts?.rest == null || rest === '') return restMost;
  return Math.min(restMost, Math.ceil(Math.max(counts.rest * factor, minCount([rest]))) + restParts * framingTokens);
}

/** The same request where its model makes so many tokens of each that was counted. */
function calibrated({ parsed, plan }: Subject, counted: number, factor: number): Estimate {
  const isExact = plan.estimate.answer?.model.countable === true;
  return estimate(parsed, plan, isExact ? counted : Math.max(counted * factor, minCount(countedTexts(parsed.prompt))));
}
