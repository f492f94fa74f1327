/**
 * How upstreams are doing: each model of a channel, each key, and the host behind it; which key is next. Decisions follow from
 * failure classes alone, and what one model does says nothing about another.
 */

import type { ChannelFailure } from '../../contract/channel-failure.ts';
import { Role } from '../../contract/enum.ts';
import type { ChannelSnapshot, UserSnapshot } from '../../contract/snapshot.ts';
import { type Condition, mapModel } from '../../routing/candidates.ts';
import { neverSent, type UpstreamFailure } from '../shared/failure.ts';
import type { ChannelReport, KeptHealth, PairReport } from './health-report.ts';
import type { KeyLog } from './key-log.ts';
import { type Pair, Pairs } from './pairs.ts';

export interface KeyChoice {
  readonly key: string;
  readonly index: number;
}

export interface HealthDeps {
  /** Milliseconds of a monotonic clock: waits do not depend on the wall clock. */
  readonly now: () => number;
  readonly random: () => number;
  readonly failure: (failure: ChannelFailure) => void;
  /** Called when the state of a channel's host or keys changes. */
  readonly changed?: (report: ChannelReport) => void;
  /** Called when the state of one of its models changes. */
  readonly pairChanged?: (report: PairReport) => void;
  /** Writes down what becomes of each key. */
  readonly keys?: KeyLog;
}

/** Figures of Envoy's outlier detection: five failures in a row, 30 s at first. */
const failuresToEject = 5;
/** A broken stream reaches its client, since no other channel could be tried any more: it counts for more than one failure. */
const brokenStream = 2;
/** Share of the last outcomes, the latest of which count most: a channel that fails so often is of no use even if it never fails in a row. */
const shareToEject = 0.5;
const latestCounts = 0.1;
/** What is left of a share after some sixteen answers says nothing any more. */
const shareForgotten = 0.02;
/** A probe without a result is over after that long. */
const probeMs = 60_000;
const minuteMs = 60_000;
const ejectionMs = 30_000;
const maxEjectionMs = 300_000;
/** What failed its probes so often, some five minutes, needs an operator. */
const sustainedEjections = 5;
const sustainedMs = 300_000;
/**
 * A host is ejected when half of the models that were tried within a minute fail, so many at least, whichever user is left out:
 * what one caller writes can make an upstream fail, and must not take it from the others.
 */
const failingModels = 3;
const triedMs = 60_000;
/** Models of a channel that were tried lately, as many as are remembered. */
const triedKept = 16;
/** The same model is noted again after so long. */
const triedAgainMs = 5000;
/** A 429 without Retry-After. */
const rateLimitMs = 10_000;
const missing = 404;
/** The longest wait an upstream may ask for, and how often it is looked whether it is over: plans are renewed before their time. */
const maxWaitMs = 7 * 86_400_000;
const lookAgainMs = 3_600_000;
/** The shortest wait: an upstream that asks for a millisecond, or for none, refuses the next request as well. */
const minWaitMs = 1000;
/** Wrong or exhausted keys. */
const keyFailureMs = 60_000;
/** Models of channels, and keys at them, that are remembered; those that failed longest ago leave. */
const maxPairs = 20_000;

/** What is reported at a time of those that are remembered, some tenths of a millisecond each. */
const pairsAtOnce = 1000;
const channelsAtOnce = 250;
const noPairs = new Float64Array(0);
/** So many more there is room for at least when it is made. */
const moreHosts = 16;
const wellPair = { failures: 0, ejections: 0, ejectedUntil: 0, share: 0, waitUntil: 0 };

/** What may be ejected and probed. */
interface Ejectable {
  failures: number;
  ejections: number;
  ejectedUntil: number;
  /** A probe is under way, at most so long. */
  probingUntil: number;
  /** It was tried after its ejection. */
  wasTried: boolean;
  /** Share of failures among the last outcomes, 0 to 1. */
  share: number;
  /** Since when failures are counted, where a rule of the channel counts them. */
  since: number;
}

/** Out after so many errors within so many minutes, and tried again after so many. */
interface OffRule {
  readonly errors: number;
  readonly minutes: number;
  readonly half_open_minutes: number;
}

interface KeyErrors {
  readonly counts: number[];
  readonly since: number[];
}

/** A channel's host and keys: one more member and each takes sixty bytes more. */
interface Host extends Ejectable {
  /** When each key is tried again. */
  coolUntil: number[];
  /** When the upstream lets a key work again, where it is looked at before. */
  spentUntil: number[];
  /** Errors of each key within the time of the channel's rule, and since when. */
  keyErrors: KeyErrors | null;
  turn: number;
  /** Pairs and keys at models that are remembered of it. */
  pairs: number;
  /** When any of its models answered last. */
  answeredAt: number;
  /** The model that was noted last, and when. */
  tried: string;
  triedAt: number;
  /** Where `Health.lately` has hashes of models, then second x 2 + whether it failed, then the user of whom all that failed was, 0 = of several; -1 = nowhere. */
  lately: number;
  /** Whose request failed last after an ejection, and whose connection broke last; 0 = nobody's. */
  probedBy: number;
  brokenBy: number;
}

/** Whose request failed, where its word counts by itself. */
const operator = 0;

/** @returns the user of a request; an operator may well take a host from everybody. */
export const callerOf = ({ user: { id, role } }: { readonly user: Pick<UserSnapshot, 'id' | 'role'> }): number =>
  role >= Role.admin ? operator : id;

/** Stands for whatever model of the channel does best. */
export type ModelOrAny = string | null;

/** Numbers of a `PairReport`. */
export const pairMembers = 6;
const idBase = 2 ** 32;
const keyMix = 0x9e3779b1;

export class Health {
  private readonly hosts = new Map<number, Host>();
  /** By channel and hash of the upstream's model; and keys at one model, of which `ejectedUntil` and `waitUntil` are used alone. */
  private readonly pairs = new Pairs(maxPairs);
  /** Recent outcomes of all hosts, and where there is room. */
  private lately = new Int32Array(0);
  private latelyUsed = 0;
  private readonly latelyFree: number[] = [];
  /** Something changed since it was asked for what to keep. */
  private hasChanged = false;

  constructor(private readonly deps: HealthDeps) {}

  /** @param model as clients name it; null = the best of them. */
  condition(channel: ChannelSnapshot, model: ModelOrAny): Condition {
    const host = this.hosts.get(channel.id);
    if (host === undefined || isQuiet(host)) return 'up';
    const now = this.deps.now();
    if (isOut(host, now)) return 'ejected';
    if (host.pairs === 0) return minKeyWait(channel, host, now) > 0 ? 'cooling' : 'up';
    if (model !== null) return this.pairCondition(channel, host, model, now);
    let best: Condition = 'ejected';
    for (const one of channel.models) {
      const found = this.pairCondition(channel, host, one, now);
      if (found === 'up') return found;
      if (found === 'cooling') best = found;
    }
    return channel.models.length === 0 ? 'up' : best;
  }

  /** Milliseconds until something may be tried again; 0 = now. @param model as clients name it; null = the best of them. */
  waitMs(channel: ChannelSnapshot, model: ModelOrAny): number {
    const host = this.hosts.get(channel.id);
    if (host === undefined || isQuiet(host)) return 0;
    const now = this.deps.now();
    const ofHost = host.ejectedUntil - now;
    if (host.pairs === 0) return Math.max(ofHost, minKeyWait(channel, host, now));
    if (model !== null) return Math.max(ofHost, this.pairWait(channel, host, model, now));
    let best = channel.models.length === 0 ? 0 : Number.POSITIVE_INFINITY;
    for (const one of channel.models) best = Math.min(best, this.pairWait(channel, host, one, now));
    return Math.max(ofHost, best);
  }

  /** The key of the next attempt: in turn or by chance, those that cool down last. @param preferred indexes of keys that go first if they are ready; -1 = none. */
  pickKey(channel: ChannelSnapshot, model: string, preferred = -1, second = -1): KeyChoice {
    return channel.keys.length <= 1
      ? { key: channel.keys[0] ?? '', index: 0 }
      : this.pickOfKeys(channel, model, preferred, second);
  }

  private pickOfKeys(channel: ChannelSnapshot, model: string, preferred: number, second: number): KeyChoice {
    const host = this.hostOf(channel);
    const now = this.deps.now();
    const hash = host.pairs === 0 ? 0 : hashOf(channel, model);
    for (let wish = preferred, last = false; ; wish = second, last = true) {
      const key = channel.keys[wish];
      if (key !== undefined && this.keyWait(channel, host, hash, wish, now) === 0) return { key, index: wish };
      if (last) break;
    }
    const ready = channel.keys.flatMap((_, index) =>
      this.keyWait(channel, host, hash, index, now) === 0 ? [index] : [],
    );
    const pool = ready.length > 0 ? ready : [this.soonest(channel, host, hash, now)];
    const random = channel.setting.key_mode === 'random';
    const index = pool[random ? Math.floor(this.deps.random() * pool.length) : host.turn++ % pool.length] ?? 0;
    return { key: channel.keys[index] ?? '', index };
  }

  /** Another key than those that failed in this request is ready. */
  hasSpareKey(channel: ChannelSnapshot, model: string): boolean {
    if (channel.keys.length <= 1) return false;
    const host = this.hostOf(channel);
    const hash = host.pairs === 0 ? 0 : hashOf(channel, model);
    return this.minWait(channel, host, hash, this.deps.now()) === 0;
  }

  /** An attempt starts; of what was ejected, and of a key that waits for days, it is the one probe. */
  begin(channel: ChannelSnapshot, model: string, keyIndex: number): void {
    const host = this.hosts.get(channel.id);
    if (host === undefined || isQuiet(host)) return;
    const now = this.deps.now();
    probe(host, now);
    const waits = (host.spentUntil[keyIndex] ?? 0) > now || isKeyOut(channel, host, keyIndex);
    if (waits && (host.coolUntil[keyIndex] ?? 0) <= now) host.coolUntil[keyIndex] = now + probeMs;
    if (host.pairs === 0) return;
    const hash = hashOf(channel, model);
    const pair = this.pairs.get(pairId(channel.id, hash));
    if (pair !== undefined) probe(pair, now);
    const limit = this.pairs.get(limitId(channel.id, hash, keyIndex));
    if (limit !== undefined && limit.waitUntil > now && limit.ejectedUntil <= now) limit.ejectedUntil = now + probeMs;
  }

  /** An attempt ended without a result for its channel: the client left, or we ended it. */
  released(channel: ChannelSnapshot, model: string): void {
    const host = this.hosts.get(channel.id);
    if (host === undefined) return;
    host.probingUntil = 0;
    const pair = host.pairs === 0 ? undefined : this.pairs.get(pairId(channel.id, hashOf(channel, model)));
    if (pair !== undefined) pair.probingUntil = 0;
  }

  /** An answer ended well. */
  succeeded(channel: ChannelSnapshot, model: string, keyIndex: number): void {
    this.deps.keys?.succeeded(channel, keyIndex);
    let host = this.hosts.get(channel.id);
    if (host === undefined) {
      // The few models of others cannot speak for a host.
      if (channel.models.length < failingModels) return;
      host = this.hostOf(channel);
    }
    const now = this.deps.now();
    this.tried(channel, host, model, false, now);
    host.answeredAt = now;
    if (host.pairs > 0) this.pairSucceeded(channel, host, model, keyIndex, now);
    const isWell = host.failures === 0 && host.ejectedUntil === 0 && host.share === 0;
    if (isWell && (host.coolUntil[keyIndex] ?? 0) === 0) return;
    // Attempts from before the ejection add no information.
    if (host.ejectedUntil > now && !host.wasTried) return;
    const wasWell = host.failures === 0 && host.ejectedUntil === 0 && (host.coolUntil[keyIndex] ?? 0) === 0;
    recover(host, ruleOf(channel));
    host.probedBy = 0;
    if (host.keyErrors !== null && isKeyOut(channel, host, keyIndex)) host.keyErrors.counts[keyIndex] = 0;
    host.coolUntil[keyIndex] = 0;
    host.spentUntil[keyIndex] = 0;
    if (!wasWell) this.report(channel.id, host);
  }

  /** @param by user of the request, as `callerOf` says. */
  failed(
    channel: ChannelSnapshot,
    model: string,
    keyIndex: number,
    failure: UpstreamFailure,
    by: number = operator,
  ): void {
    this.deps.keys?.failed(channel, keyIndex, failure);
    const host = this.hostOf(channel);
    const now = this.deps.now();
    host.probingUntil = 0;
    if (failure.status !== null) reached(host);
    if (failure.class === 'key') {
      this.keyFailed(channel, host, model, keyIndex, failure, now);
      return;
    }
    if (failure.class !== 'host') {
      this.released(channel, model);
      return;
    }
    const onProbation = host.ejectedUntil > 0;
    if (failure.reason === 'unreachable') {
      this.released(channel, model);
      if (host.ejectedUntil > now) return;
      // Some hosts hang up over what they are sent: then what one caller meets in a row counts once.
      if (by !== operator && !neverSent(failure.error)) {
        this.pairFailed(channel, host, model, keyIndex, failure, now);
        if (host.brokenBy === by) return;
        host.brokenBy = by;
      }
      const ejected = fail(host, failure, now, ruleOf(channel));
      this.report(channel.id, host);
      if (ejected) this.ejected(channel, host, model, keyIndex, failure);
      return;
    }
    this.pairFailed(channel, host, model, keyIndex, failure, now);
    // A missing model is no evidence against the host.
    if (failure.status === missing) return;
    this.tried(channel, host, model, true, now, by);
    if (host.ejectedUntil > now || !((onProbation && isConfirmed(host, by)) || this.mostFail(host, now))) return;
    eject(host, now);
    host.probedBy = 0;
    if (host.lately >= 0) this.lately.fill(0, host.lately, host.lately + 3 * triedKept);
    this.report(channel.id, host);
    this.ejected(channel, host, model, keyIndex, failure);
  }

  /** How the keys that are in use are doing, by their place. Milliseconds; 0 = now. */
  keyWaits(channel: ChannelSnapshot): {
    readonly waitMs: number;
    readonly spentMs: number;
    readonly models: readonly { readonly model: string; readonly waitMs: number }[];
  }[] {
    const host = this.hosts.get(channel.id);
    const now = this.deps.now();
    const left = (until: number | undefined): number => Math.max(0, (until ?? 0) - now);
    return channel.keys.map((_, index) => ({
      waitMs: left(host?.coolUntil[index]),
      spentMs: left(host?.spentUntil[index]),
      models:
        (host?.pairs ?? 0) === 0
          ? []
          : channel.models.flatMap((model) => {
              const waitMs = left(this.pairs.get(limitId(channel.id, hashOf(channel, model), index))?.ejectedUntil);
              return waitMs === 0 ? [] : [{ model, waitMs }];
            }),
    }));
  }

  /** Forgets what was known, when a channel was edited or passed a test. */
  reset(channelId: number): void {
    const host = this.hosts.get(channelId);
    if (host === undefined) return;
    this.hosts.delete(channelId);
    if (host.lately >= 0) this.latelyFree.push(host.lately);
    this.hasChanged = true;
    if (host.pairs === 0) return;
    for (const id of this.pairs.order()) if (channelOf(id) === channelId) this.pairs.delete(id);
  }

  /** Takes over what another thread knows of a host and its keys. */
  receive({ channelId, ...report }: ChannelReport): void {
    this.hasChanged = true;
    const host = this.hostFor(channelId);
    host.failures = report.failures;
    host.ejections = report.ejections;
    host.ejectedUntil = report.ejectedUntil;
    host.share = report.share;
    for (const [index, until] of report.coolUntil.entries()) host.coolUntil[index] = until;
    for (const [index, until] of (report.spentUntil ?? []).entries()) host.spentUntil[index] = until;
    for (const [index, errors] of (report.keyErrors ?? []).entries()) {
      const { counts, since } = errorsOf(host);
      if (errors > 0) since[index] ??= this.deps.now();
      counts[index] = errors;
    }
  }

  /** Takes over what another thread knows of a model. */
  receivePair({ id, failures, ejections, ejectedUntil, share, waitUntil }: PairReport): void {
    this.hasChanged = true;
    if (failures === 0 && ejectedUntil === 0) {
      this.forget(id);
      return;
    }
    const pair = this.pairFor(id, this.hostFor(channelOf(id)));
    pair.failures = failures;
    pair.ejections = ejections;
    pair.ejectedUntil = ejectedUntil;
    pair.share = share;
    pair.waitUntil = waitUntil;
  }

  /** Something changed since the last call. */
  takeChanged(): boolean {
    const { hasChanged } = this;
    this.hasChanged = false;
    return hasChanged;
  }

  /** All that would be missed after a restart, in pieces; what changes between them is in the next ones or in those of the next time. */
  *remembered(): Generator<KeptHealth, undefined> {
    yield* this.rememberedPairs();
    let channels: ChannelReport[] = [];
    let left = channelsAtOnce;
    for (const [id, host] of this.hosts) {
      if (this.isMissed(host)) channels.push(reportOf(id, host));
      if (--left > 0) continue;
      yield { channels, pairs: noPairs };
      channels = [];
      left = channelsAtOnce;
    }
    yield { channels, pairs: noPairs };
  }

  private *rememberedPairs(): Generator<KeptHealth, undefined> {
    let flat = new Float64Array(pairMembers * pairsAtOnce);
    let length = 0;
    let met = 0;
    let now = this.deps.now();
    for (const id of this.pairs.order()) {
      // One may have left meanwhile.
      const { failures, ejections, ejectedUntil, share, waitUntil } = this.pairs.get(id) ?? wellPair;
      if (failures > 0 || ejections > 0 || ejectedUntil > now || waitUntil > now) {
        flat[length++] = id;
        flat[length++] = failures;
        flat[length++] = ejections;
        flat[length++] = ejectedUntil;
        flat[length++] = share;
        flat[length++] = waitUntil;
      }
      if (++met < pairsAtOnce) continue;
      yield { channels: [], pairs: flat.subarray(0, length) };
      flat = new Float64Array(pairMembers * pairsAtOnce);
      length = 0;
      met = 0;
      now = this.deps.now();
    }
    yield { channels: [], pairs: flat.subarray(0, length) };
  }

  private isMissed({ failures, ejectedUntil, coolUntil, spentUntil }: Host): boolean {
    const now = this.deps.now();
    const waits = (until: number) => until > now;
    return failures > 0 || ejectedUntil > 0 || coolUntil.some(waits) || spentUntil.some(waits);
  }

  // --- one model of a channel

  private pairCondition(channel: ChannelSnapshot, host: Host, model: string, now: number): Condition {
    const hash = hashOf(channel, model);
    const pair = this.pairs.get(pairId(channel.id, hash));
    if (pair !== undefined && isOut(pair, now)) return 'ejected';
    return this.minWait(channel, host, hash, now) > 0 ? 'cooling' : 'up';
  }

  private pairWait(channel: ChannelSnapshot, host: Host, model: string, now: number): number {
    const hash = hashOf(channel, model);
    const pair = this.pairs.get(pairId(channel.id, hash));
    return Math.max((pair?.ejectedUntil ?? 0) - now, this.minWait(channel, host, hash, now), 0);
  }

  private pairSucceeded(channel: ChannelSnapshot, host: Host, model: string, keyIndex: number, now: number): void {
    const hash = hashOf(channel, model);
    this.recovered(limitId(channel.id, hash, keyIndex));
    const id = pairId(channel.id, hash);
    const pair = this.pairs.get(id);
    if (pair === undefined || (pair.ejectedUntil > now && !pair.wasTried)) return;
    const wasWell = pair.failures === 0 && pair.ejectedUntil === 0;
    recover(pair, ruleOf(channel));
    if (!wasWell) this.reportPair(id, pair);
    if (pair.share < shareForgotten && pair.failures === 0) this.drop(id, host);
  }

  private pairFailed(
    channel: ChannelSnapshot,
    host: Host,
    model: string,
    keyIndex: number,
    failure: UpstreamFailure,
    now: number,
  ): void {
    const id = pairId(channel.id, hashOf(channel, model));
    const pair = this.pairFor(id, host);
    pair.probingUntil = 0;
    if (pair.ejectedUntil > now) return;
    const ejected = fail(pair, failure, now, ruleOf(channel));
    this.reportPair(id, pair);
    // No other model answers either: the whole channel needs an operator.
    if (ejected && pair.ejections === sustainedEjections && now - host.answeredAt >= sustainedMs)
      this.reportFailure(channel, host, model, keyIndex, failure);
  }

  private keyFailed(
    channel: ChannelSnapshot,
    host: Host,
    model: string,
    keyIndex: number,
    failure: UpstreamFailure,
    now: number,
  ): void {
    this.released(channel, model);
    const { status, named, refusal, retryAfter } = failure;
    const isLimited = status === 429 && named !== true;
    const askedMs = retryAfter === null ? null : Math.max(minWaitMs, Math.min(retryAfter * 1000, maxWaitMs));
    const ms = askedMs ?? (isLimited ? rateLimitMs : keyFailureMs);
    const until = now + Math.min(ms, lookAgainMs);
    if (isLimited && refusal?.reason !== 'spent') {
      // Upstreams count requests of each model by itself.
      const id = limitId(channel.id, hashOf(channel, model), keyIndex);
      const limit = this.pairFor(id, host);
      limit.ejectedUntil = Math.max(limit.ejectedUntil, until);
      limit.waitUntil = now + ms;
      this.reportPair(id, limit);
      return;
    }
    const rule = ruleOf(channel);
    const ownMs = rule === null ? 0 : countKeyError(rule, host, keyIndex, now);
    const asked = rule === null || askedMs !== null || isLimited ? until : 0;
    if (host.coolUntil.length === 0) {
      // An array that grows by itself takes twice as much.
      host.coolUntil = new Array<number>(channel.keys.length).fill(0);
      host.spentUntil = new Array<number>(channel.keys.length).fill(0);
    }
    host.coolUntil[keyIndex] = Math.max(host.coolUntil[keyIndex] ?? 0, asked, now + ownMs);
    host.spentUntil[keyIndex] = asked === 0 ? 0 : now + ms;
    this.report(channel.id, host);
    if (!isLimited) this.reportFailure(channel, host, model, keyIndex, failure);
  }

  /** A new one takes the place of the one that failed longest ago. */
  private pairFor(id: number, host: Host): Pair {
    const known = this.pairs.moveToEnd(id);
    if (known !== undefined) return known;
    const oldest = this.pairs.size >= maxPairs ? this.pairs.oldest() : undefined;
    if (oldest !== undefined) this.forget(oldest);
    host.pairs++;
    return this.pairs.add(id);
  }

  private recovered(id: number): void {
    const limit = this.pairs.get(id);
    if (limit === undefined) return;
    limit.ejectedUntil = 0;
    limit.waitUntil = 0;
    this.reportPair(id, limit);
    this.forget(id);
  }

  private forget(id: number): void {
    const host = this.hosts.get(channelOf(id));
    if (host !== undefined) this.drop(id, host);
    else this.pairs.delete(id);
  }

  private drop(id: number, host: Host): void {
    if (this.pairs.delete(id)) host.pairs--;
  }

  // --- keys

  private keyWait(channel: ChannelSnapshot, host: Host, hash: number, index: number, now: number): number {
    const own = (host.coolUntil[index] ?? 0) - now;
    const limit = host.pairs === 0 ? undefined : this.pairs.get(limitId(channel.id, hash, index));
    return Math.max(0, own, (limit?.ejectedUntil ?? 0) - now);
  }

  private minWait(channel: ChannelSnapshot, host: Host, hash: number, now: number): number {
    let min = channel.keys.length === 0 ? 0 : Number.POSITIVE_INFINITY;
    for (let index = 0; index < channel.keys.length && min > 0; index++)
      min = Math.min(min, this.keyWait(channel, host, hash, index, now));
    return min;
  }

  private soonest(channel: ChannelSnapshot, host: Host, hash: number, now: number): number {
    let best = 0;
    let min = this.keyWait(channel, host, hash, 0, now);
    for (let index = 1; index < channel.keys.length; index++) {
      const wait = this.keyWait(channel, host, hash, index, now);
      if (wait >= min) continue;
      best = index;
      min = wait;
    }
    return best;
  }

  // --- the host

  /** Notes the outcome among those of the models that were tried lately. */
  private tried(
    channel: ChannelSnapshot,
    host: Host,
    model: string,
    failed: boolean,
    now: number,
    by: number = operator,
  ): void {
    if (channel.models.length < failingModels) return;
    if (!failed && host.tried === model && now - host.triedAt < triedAgainMs) return;
    host.tried = failed ? '' : model;
    host.triedAt = now;
    const first = this.latelyOf(host);
    const { lately } = this;
    const hash = hashOf(channel, model) | 0;
    let place = first;
    for (let at = first; at < first + triedKept; at++) {
      if (lately[at] === hash && lately[triedKept + at] !== 0) {
        place = at;
        break;
      }
      if ((lately[triedKept + at] ?? 0) < (lately[triedKept + place] ?? 0)) place = at;
    }
    const before = lately[triedKept + place] ?? 0;
    const failsOn = lately[place] === hash && (before & 1) === 1 && before >> 1 >= secondOf(now - triedMs);
    if (!failsOn) lately[2 * triedKept + place] = by;
    else if (failed && lately[2 * triedKept + place] !== by) lately[2 * triedKept + place] = operator;
    lately[place] = hash;
    lately[triedKept + place] = secondOf(now) * 2 + (failed ? 1 : 0);
  }

  /** The rows of all hosts lie together: an array of each would take half as much again. */
  private latelyOf(host: Host): number {
    if (host.lately >= 0) return host.lately;
    const free = this.latelyFree.pop();
    host.lately = free ?? this.latelyUsed;
    if (free === undefined) this.latelyUsed += 3 * triedKept;
    if (this.latelyUsed > this.lately.length) {
      const wider = new Int32Array(this.lately.length + Math.max(this.lately.length >> 2, 3 * triedKept * moreHosts));
      wider.set(this.lately);
      this.lately = wider;
    }
    this.lately.fill(0, host.lately, host.lately + 3 * triedKept);
    return host.lately;
  }

  /** Half of the models that were tried within a minute fail, and no few, whichever user is left out. */
  private mostFail({ lately: first }: Host, now: number): boolean {
    if (first < 0) return false;
    const { lately } = this;
    const since = secondOf(now - triedMs);
    const seen = (at: number): number => lately[first + triedKept + at] ?? 0;
    const isLate = (at: number) => seen(at) !== 0 && seen(at) >> 1 >= since;
    const failsFor = (at: number) =>
      isLate(at) && (seen(at) & 1) === 1 ? (lately[first + 2 * triedKept + at] ?? operator) : none;
    let tried = 0;
    let failing = 0;
    for (let at = 0; at < triedKept; at++) {
      if (isLate(at)) tried++;
      if (failsFor(at) !== none) failing++;
    }
    const isMost = (without: number) =>
      failing - without >= failingModels && 2 * (failing - without) >= tried - without;
    if (!isMost(0)) return false;
    for (let at = 0; at < triedKept; at++) {
      const user = failsFor(at);
      if (user === none || user === operator) continue;
      let own = 0;
      for (let other = at; other < triedKept; other++) if (failsFor(other) === user) own++;
      if (!isMost(own)) return false;
    }
    return true;
  }

  private hostOf(channel: ChannelSnapshot): Host {
    return this.hosts.get(channel.id) ?? this.hostFor(channel.id);
  }

  private hostFor(channelId: number): Host {
    const known = this.hosts.get(channelId);
    if (known !== undefined) return known;
    const fresh: Host = {
      coolUntil: [],
      spentUntil: [],
      keyErrors: null,
      failures: 0,
      ejections: 0,
      ejectedUntil: 0,
      probingUntil: 0,
      wasTried: false,
      share: 0,
      since: 0,
      turn: 0,
      pairs: 0,
      answeredAt: Number.NEGATIVE_INFINITY,
      tried: '',
      triedAt: 0,
      lately: none,
      probedBy: 0,
      brokenBy: 0,
    };
    this.hosts.set(channelId, fresh);
    return fresh;
  }

  private ejected(
    channel: ChannelSnapshot,
    host: Host,
    model: string,
    keyIndex: number,
    failure: UpstreamFailure,
  ): void {
    if (host.ejections === sustainedEjections) this.reportFailure(channel, host, model, keyIndex, failure);
  }

  /** To other threads. */
  private report(channelId: number, host: Host): void {
    this.hasChanged = true;
    this.deps.changed?.(reportOf(channelId, host));
  }

  private reportPair(id: number, pair: Pair): void {
    this.hasChanged = true;
    this.deps.pairChanged?.(pairReportOf(id, pair));
  }

  /** Reported to the code that may disable the channel or the key. */
  private reportFailure(
    channel: ChannelSnapshot,
    host: Host,
    model: string,
    keyIndex: number,
    failure: UpstreamFailure,
  ): void {
    const now = this.deps.now();
    const hash = hashOf(channel, model);
    this.deps.failure({
      channelId: channel.id,
      keyIndex,
      lastKey: channel.keys.every(
        (_, index) => index === keyIndex || this.keyWait(channel, host, hash, index, now) > 0,
      ),
      kind: failure.class === 'key' ? 'key' : 'host',
      status: failure.status,
      type: failure.error?.type ?? '',
      code: failure.error?.code ?? '',
      message: failure.error?.message ?? failure.reason,
    });
  }
}

/** Hash of the model's name at the upstream: several names may lead to one model. */
const hashOf = ({ modelMapping }: ChannelSnapshot, model: string): number =>
  Bun.hash.xxHash32(mapModel(modelMapping, model));

const pairId = (channelId: number, hash: number): number => channelId * idBase + hash;
const limitId = (channelId: number, hash: number, keyIndex: number): number =>
  channelId * idBase + ((hash ^ Math.imul(keyIndex + 1, keyMix)) >>> 0);
const channelOf = (id: number): number => Math.floor(id / idBase);

/** Seconds of a monotonic clock that begins with the process; 0 = never. */
const secondOf = (now: number): number => Math.floor(now / 1000) + 1;

/** Nothing of it waits or is being proved: most channels, most of the time. */
const isQuiet = ({ ejectedUntil, pairs, coolUntil }: Host): boolean =>
  ejectedUntil === 0 && pairs === 0 && coolUntil.length === 0;

const isOut = ({ ejectedUntil, probingUntil }: Ejectable, now: number): boolean =>
  ejectedUntil > now || (ejectedUntil > 0 && probingUntil > now);

function probe(one: Ejectable, now: number): void {
  if (one.ejectedUntil === 0) return;
  one.wasTried = true;
  if (one.ejectedUntil <= now) one.probingUntil = now + probeMs;
}

/** Whoever answers was reached, whatever the answer. */
function reached(host: Host): void {
  host.failures = 0;
  host.share *= 1 - latestCounts;
}

/** @param rule failures are counted by time, and answers between them change nothing. */
function recover(one: Ejectable, rule: OffRule | null): void {
  if (rule === null || one.ejectedUntil > 0) one.failures = 0;
  one.ejections = 0;
  one.ejectedUntil = 0;
  one.probingUntil = 0;
  one.share *= 1 - latestCounts;
  if (one.share < shareForgotten) one.share = 0;
}

/** @returns whether it is ejected by that. */
function fail(one: Ejectable, failure: UpstreamFailure, now: number, rule: OffRule | null): boolean {
  if (rule !== null) return failUnder(rule, one, now);
  one.failures += failure.delivered === true ? brokenStream : 1;
  if (failure.status !== missing) one.share += (1 - one.share) * latestCounts;
  if (one.ejectedUntil === 0 && one.failures < failuresToEject && one.share < shareToEject) return false;
  eject(one, now);
  return true;
}

function failUnder({ errors, minutes, half_open_minutes: open }: OffRule, one: Ejectable, now: number): boolean {
  if (now - one.since > minutes * minuteMs) {
    one.failures = 0;
    one.since = now;
  }
  one.failures++;
  if (one.ejectedUntil === 0 && one.failures < errors) return false;
  eject(one, now);
  one.ejectedUntil = now + open * minuteMs;
  return true;
}

/**
 * One more error of a key: it is out for as long as the rule says after so many. Until then it rests so long that as many
 * fit within the rule's time, and others are tried instead.
 * @returns milliseconds that it is left alone.
 */
function countKeyError({ errors, minutes, half_open_minutes: open }: OffRule, host: Host, index: number, now: number) {
  const { counts, since } = errorsOf(host);
  const before = counts[index] ?? 0;
  // Requests that were under way when the key went out add nothing; a failed probe does.
  if (before >= errors) return (host.coolUntil[index] ?? 0) - probeMs > now ? 0 : open * minuteMs;
  const isFirst = before === 0 || now - (since[index] ?? 0) > minutes * minuteMs;
  if (isFirst) since[index] = now;
  const count = isFirst ? 1 : before + 1;
  counts[index] = count;
  return count >= errors ? open * minuteMs : Math.min(keyFailureMs, (minutes * minuteMs) / errors);
}

/** Few channels have such a rule. */
const errorsOf = (host: Host): KeyErrors => {
  host.keyErrors ??= { counts: [], since: [] };
  return host.keyErrors;
};

/** By the rule of its channel; when its time is over it is tried once. */
function isKeyOut(channel: ChannelSnapshot, { keyErrors }: Host, index: number): boolean {
  const count = keyErrors?.counts[index] ?? 0;
  return count > 0 && count >= (ruleOf(channel)?.errors ?? Number.POSITIVE_INFINITY);
}

/** Member `off_after` of a channel's settings; null = the usual rule. */
function ruleOf({ setting: { off_after: rule } }: ChannelSnapshot): OffRule | null {
  if (rule === undefined) return null;
  const { errors, minutes, half_open_minutes: open } = Object(rule) as Partial<OffRule>;
  return isAmount(errors) && isAmount(minutes) && isAmount(open) ? (rule as OffRule) : null;
}

const isAmount = (value: unknown): boolean => typeof value === 'number' && value > 0;

function eject(one: Ejectable, now: number): void {
  one.ejections++;
  one.wasTried = false;
  one.share = 0;
  one.failures = 0;
  one.ejectedUntil = now + Math.min(ejectionMs * one.ejections, maxEjectionMs);
}

/** What was ejected fails once more. @returns whether others than this user say so. */
function isConfirmed(host: Host, by: number): boolean {
  if (by === operator || (host.probedBy !== 0 && host.probedBy !== by)) return true;
  host.probedBy = by;
  return false;
}

const none = -1;

const reportOf = (channelId: number, host: Host): ChannelReport => ({
  channelId,
  coolUntil: [...host.coolUntil],
  spentUntil: [...host.spentUntil],
  failures: host.failures,
  ejections: host.ejections,
  ejectedUntil: host.ejectedUntil,
  share: host.share,
  ...(host.keyErrors === null ? {} : { keyErrors: Array.from(host.keyErrors.counts, (errors) => errors ?? 0) }),
});

const pairReportOf = (id: number, { failures, ejections, ejectedUntil, share, waitUntil }: Pair): PairReport => ({
  id,
  failures,
  ejections,
  ejectedUntil,
  share,
  waitUntil,
});

function minKeyWait({ keys }: ChannelSnapshot, { coolUntil }: Host, now: number): number {
  if (keys.length === 0) return 0;
  let min = Number.POSITIVE_INFINITY;
  for (let index = 0; index < keys.length; index++) min = Math.min(min, Math.max(0, (coolUntil[index] ?? 0) - now));
  return min;
}
