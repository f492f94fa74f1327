/** Traffic by channel, key and model in windows of five minutes, counted where requests end; collected by the control thread. */
import { ownToken } from '../../contract/counted.ts';
import type { EndReason } from '../../contract/enum.ts';
import {
  type AttemptError,
  attemptErrors,
  counterAt,
  type FailureStreak,
  minSpan,
  otherModel,
  otherToken,
  type RequestError,
  requestErrors,
  type TrafficWindow,
  trafficBounds,
  trafficBuckets,
  trafficCounters,
} from '../../contract/traffic.ts';
import type { AttemptSummary, FailedAttempt } from './failure.ts';

/** One request that has ended. */
export interface EndedTraffic {
  readonly model: string;
  /** 0 = no channel was called. */
  readonly channelId: number;
  readonly userId: number;
  /** 0 = the request came without a key. */
  readonly tokenId: number;
  /** None of the users': `isOwnTraffic`. */
  readonly own: boolean;
  readonly endReason: EndReason;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly charged: number;
  readonly streamed: boolean;
  /** In order. */
  readonly tried: readonly AttemptSummary[];
  readonly ms: number;
  /** null = no byte came. */
  readonly firstByteMs: number | null;
  /** Epoch milliseconds. */
  readonly endedMs: number;
  /** The model's name as it was sent. */
  readonly sentModel: string;
  /** The other model that the upstream says it answered with; null = it is the same, or the upstream does not say. */
  readonly otherModel: string | null;
}

/** Who was turned away; 0 = unknown. */
export interface RejectedCaller {
  readonly userId: number;
  readonly tokenId: number;
  /** None of the users': `isOwnTraffic`. */
  readonly own: boolean;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

/** Series of each kind; what is beyond counts as `other`. */
const maxSeries = 10_000;
/** Windows that wait to be collected, an hour: older ones are dropped. */
const maxWindows = 12;
const maxWordsLength = 300;
/** Pairs of models of one channel that are told apart. */
const maxOthers = 20;

const [requests, retried, saved, attempts, rejected] = (
  ['requests', 'retried', 'saved', 'attempts', 'refused'] as const
).map(counterAt) as [number, number, number, number, number];
const [tokensIn, tokensOut, tokensCached, charge] = (
  ['tokens_in', 'tokens_out', 'tokens_cached', 'charge'] as const
).map(counterAt) as [number, number, number, number];
const [streamTokens, streamMs, latencyMs, firstMs] = (
  ['stream_tokens', 'stream_ms', 'latency_ms', 'first_ms'] as const
).map(counterAt) as [number, number, number, number];
const latency = counterAt('latency_0');
const first = counterAt('first_0');
const errorAt = Object.fromEntries(requestErrors.map((name) => [name, counterAt(`error_${name}`)])) as Readonly<
  Record<RequestError, number>
>;
const failedAt = Object.fromEntries(attemptErrors.map((name) => [name, counterAt(`failed_${name}`)])) as Readonly<
  Record<AttemptError, number>
>;

/** The counters of one pair; given out once and emptied whenever it is handed over. */
class Series {
  readonly counts = new Float64Array(trafficCounters.length);
  /** Something was counted since it was handed over. */
  dirty = false;
  /** Something was counted in this window. */
  active = false;

  constructor(
    /** In its table. */
    readonly key: number,
    /** The channel, or the key. */
    readonly subjectId: number,
    readonly userId: number,
    readonly model: string,
  ) {}

  add(at: number, value: number): void {
    this.counts[at] = (this.counts[at] ?? 0) + value;
    this.dirty = true;
  }

  ended(request: EndedTraffic, error: RequestError | null, before: number): void {
    const { inputTokens, outputTokens, cachedTokens, charged, streamed, tried, ms, firstByteMs } = request;
    this.add(requests, 1);
    if (tried.length > 1) this.add(retried, 1);
    if (error !== null) this.add(errorAt[error], 1);
    this.add(tokensIn, inputTokens);
    this.add(tokensOut, outputTokens);
    this.add(tokensCached, cachedTokens);
    this.add(charge, charged);
    const own = Math.max(0, ms - before);
    this.add(latencyMs, own);
    this.add(latency + bucketOf(own), 1);
    if (firstByteMs === null) return;
    const ownFirst = Math.max(0, firstByteMs - before);
    this.add(firstMs, ownFirst);
    this.add(first + bucketOf(ownFirst), 1);
    if (!streamed || outputTokens === 0) return;
    this.add(streamTokens, outputTokens);
    this.add(streamMs, Math.max(0, ms - firstByteMs));
  }

  take(): number[] {
    const counts: number[] = [];
    // An iterator over typed arrays takes ten times as long, and requests wait meanwhile.
    for (let at = 0; at < this.counts.length; at++) counts.push(this.counts[at] ?? 0);
    this.counts.fill(0);
    this.dirty = false;
    return counts;
  }
}

function bucketOf(ms: number): number {
  let at = 0;
  while (at < trafficBuckets - 1 && ms > (trafficBounds[at] as number)) at++;
  return at;
}

/** Finds the series of a number and a model without putting a key together. */
class SeriesTable {
  private readonly byKey = new Map<number, Map<string, Series>>();
  readonly all: Series[] = [];

  /** @param rest subject of what finds no room. */
  constructor(private readonly rest: number) {}

  of(key: number, subjectId: number, userId: number, model: string): Series {
    const found = this.byKey.get(key)?.get(model) ?? this.make(key, subjectId, userId, model);
    found.active = true;
    return found;
  }

  /** Drops what nothing was counted for in the window that ends. */
  turn(): void {
    const kept = this.all.filter(({ active }) => active);
    this.all.length = 0;
    this.byKey.clear();
    for (const one of kept) {
      one.active = false;
      this.keep(one);
    }
  }

  private make(key: number, subjectId: number, userId: number, model: string): Series {
    const { length } = this.all;
    if (length < maxSeries) return this.keep(new Series(key, subjectId, userId, model));
    // Then one more for each channel or key, and one for all the rest.
    if (length < 2 * maxSeries) {
      const known = this.byKey.get(key)?.get(otherModel);
      return known ?? this.keep(new Series(key, subjectId, userId, otherModel));
    }
    const { rest } = this;
    return this.byKey.get(rest)?.get(otherModel) ?? this.keep(new Series(rest, rest, 0, otherModel));
  }

  private keep(one: Series): Series {
    let models = this.byKey.get(one.key);
    if (models === undefined) {
      models = new Map();
      this.byKey.set(one.key, models);
    }
    models.set(one.model, one);
    this.all.push(one);
    return one;
  }
}

/** How a channel has been doing since it was handed over last. */
class Streak {
  private succeeded = false;
  private failures = 0;
  private since = 0;
  private lastAt = 0;
  private last: FailedAttempt | null = null;
  dirty = false;

  constructor(private readonly channelId: number) {}

  answered(): void {
    this.succeeded = true;
    this.failures = 0;
    this.dirty = true;
  }

  failed(failure: FailedAttempt, at: number): void {
    if (this.failures === 0) this.since = at;
    this.failures++;
    this.lastAt = at;
    this.last = failure;
    this.dirty = true;
  }

  take(): FailureStreak {
    const { channelId, succeeded, failures, since, lastAt, last } = this;
    const streak =
      last === null || failures === 0
        ? { channelId, succeeded, failures: 0, since: 0, lastAt: 0, words: '' }
        : { channelId, succeeded, failures, since, lastAt, words: wordsOf(last) };
    this.succeeded = false;
    this.failures = 0;
    this.last = null;
    this.dirty = false;
    return streak;
  }
}

const wordsOf = ({ status, reason, message }: FailedAttempt): string =>
  `${status ?? reason} ${message}`.trim().slice(0, maxWordsLength);

/** @returns null for want of something of our own: no descriptor, no lease. */
function attemptErrorOf({ class: kind, status, reason }: FailedAttempt): AttemptError | null {
  switch (reason) {
    case 'timeout':
      return 'timeout';
    case 'unreachable':
    case 'broken':
      return 'network';
    case 'starved':
    case 'untenured':
      return null;
    default:
      break;
  }
  if (status === 429) return 'rate_limited';
  // By what it means and not by its status: providers answer 400 where an account is spent, too.
  if (kind === 'key') return 'auth';
  if (kind === 'client' || kind === 'refusal') return 'invalid';
  return status === 408 ? 'timeout' : 'upstream';
}

function requestErrorOf({ endReason, tried }: EndedTraffic): RequestError | null {
  switch (endReason) {
    case 'completed':
      return null;
    case 'client_gone':
      return 'client_left';
    case 'upstream_failed':
    case 'upstream_broken': {
      const last = tried.at(-1)?.failed ?? null;
      if (last !== null) return attemptErrorOf(last) ?? 'refused';
      return endReason === 'upstream_broken' ? 'network' : 'refused';
    }
    default:
      return 'refused';
  }
}

/** Whether no earlier attempt was at the same channel. */
function isFirst(tried: readonly AttemptSummary[], index: number): boolean {
  const id = tried[index]?.channelId;
  for (let at = 0; at < index; at++) if (tried[at]?.channelId === id) return false;
  return true;
}

const secondsOf = (ms: number): number => Math.floor(ms / 1000);
/** A number for each series of callers: a key's own; a negative one for each user who has none; for the own traffic of the site the half between two of these. */
const callerKey = (userId: number, tokenId: number, own = false): number =>
  own ? otherToken - 1.5 - userId : tokenId === 0 ? otherToken - 1 - userId : tokenId;

/** Allocates nothing for a request whose series are known. */
export class Traffic {
  private readonly routes = new SeriesTable(0);
  private readonly callers = new SeriesTable(otherToken);
  private readonly streaks = new Map<number, Streak>();
  /** By failed channel, then by the one that served. */
  private readonly saves = new Map<number, Map<number, number>>();
  /** Answers of other models than were asked for, by channel and both names. */
  private readonly others = new Map<number, Map<string, number>>();
  /** Where each key was used from, as of its first request since it was handed over. */
  private readonly places = new Map<number, string>();
  /** Epoch seconds; 0 = nothing was counted yet. */
  private windowAt = 0;
  private waiting: TrafficWindow[] = [];

  ended(request: EndedTraffic): void {
    this.enter(request.endedMs);
    const { channelId, userId, tokenId, model, tried, endReason, own } = request;
    const error = requestErrorOf(request);
    const caller = this.callers.of(callerKey(userId, tokenId, own), own ? ownToken : tokenId, userId, model);
    const completed = endReason === 'completed';
    // Whichever side ended it: an answer was delivered.
    const answered = completed || endReason === 'quota_cut' || endReason === 'word_cut';
    const at = secondsOf(request.endedMs);
    let before = 0;
    let wasSaved = false;
    for (let index = 0; index < tried.length; index++) {
      const { channelId: requested, failed } = tried[index] as AttemptSummary;
      // A channel test counts for the channel's health, and is no attempt of its users.
      const route = own ? null : this.routes.of(requested, requested, 0, model);
      route?.add(attempts, 1);
      if (failed === null) {
        if (answered && requested === channelId) this.streak(requested).answered();
        continue;
      }
      if (index < tried.length - 1) before += failed.ms;
      const kind = attemptErrorOf(failed);
      if (kind === null) continue;
      route?.add(failedAt[kind], 1);
      caller.add(failedAt[kind], 1);
      if (kind !== 'invalid') this.streak(requested).failed(failed, at);
      if (!completed || requested === channelId || !isFirst(tried, index)) continue;
      wasSaved = true;
      route?.add(saved, 1);
      if (!own) this.save(requested, channelId);
    }
    caller.add(attempts, tried.length);
    if (wasSaved) caller.add(saved, 1);
    caller.ended(request, error, 0);
    if (request.otherModel !== null) this.otherModel(channelId, `${request.sentModel} → ${request.otherModel}`);
    if (own) return;
    this.routes.of(channelId, channelId, 0, model).ended(request, error, before);
  }

  /** Turned away before admission. Models of such requests are the clients' words. */
  rejected({ userId, tokenId, own, nowMs }: RejectedCaller): void {
    this.enter(nowMs);
    this.callers.of(callerKey(userId, tokenId, own), own ? ownToken : tokenId, userId, '').add(rejected, 1);
  }

  /** A key is used: its address is recorded once in a while and not with every request. */
  seen(tokenId: number, peer: { ip(): string }): void {
    if (!this.places.has(tokenId) && this.places.size < maxSeries) this.places.set(tokenId, peer.ip());
  }

  /** All that was counted since the last call; what is handed over is no longer here. */
  take(): readonly TrafficWindow[] {
    this.close();
    const { waiting } = this;
    this.waiting = [];
    return waiting;
  }

  private enter(nowMs: number): void {
    const second = secondsOf(nowMs);
    if (second < this.windowAt + minSpan && second >= this.windowAt) return;
    this.close();
    this.routes.turn();
    this.callers.turn();
    this.streaks.clear();
    this.saves.clear();
    this.others.clear();
    this.windowAt = second - (second % minSpan);
  }

  /** Counts wait to be collected. */
  private close(): void {
    const routes = this.routes.all.flatMap((one): TrafficWindow['routes'] =>
      one.dirty ? [[one.subjectId, one.model, one.take()]] : [],
    );
    const callers = this.callers.all.flatMap((one): TrafficWindow['callers'] =>
      one.dirty ? [[one.userId, one.subjectId, one.model, one.take()]] : [],
    );
    if (routes.length === 0 && callers.length === 0) return;
    const streaks = [...this.streaks.values()].flatMap((one) => (one.dirty ? [one.take()] : []));
    const saves: (readonly [number, number, number])[] = [];
    for (const [failed, servers] of this.saves)
      for (const [server, count] of servers)
        if (count > 0) {
          saves.push([failed, server, count]);
          servers.set(server, 0);
        }
    const others: (readonly [number, string, number])[] = [];
    for (const [channelId, pairs] of this.others)
      for (const [pair, count] of pairs) others.push([channelId, pair, count]);
    this.others.clear();
    const places = [...this.places];
    this.places.clear();
    this.waiting.push({ at: this.windowAt, routes, callers, streaks, saves, others, places });
    if (this.waiting.length > maxWindows) this.waiting.shift();
  }

  private streak(channelId: number): Streak {
    let found = this.streaks.get(channelId);
    if (found === undefined) {
      found = new Streak(channelId);
      this.streaks.set(channelId, found);
    }
    return found;
  }

  private otherModel(channelId: number, pair: string): void {
    let pairs = this.others.get(channelId);
    if (pairs === undefined) {
      pairs = new Map();
      this.others.set(channelId, pairs);
    }
    // An upstream that makes names up fills nothing.
    const name = pairs.has(pair) || pairs.size < maxOthers ? pair : otherModel;
    pairs.set(name, (pairs.get(name) ?? 0) + 1);
  }

  private save(failed: number, servedBy: number): void {
    let servers = this.saves.get(failed);
    if (servers === undefined) {
      servers = new Map();
      this.saves.set(failed, servers);
    }
    servers.set(servedBy, (servers.get(servedBy) ?? 0) + 1);
  }
}
