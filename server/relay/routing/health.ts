/** How channels and their keys are doing: cool-downs, ejection with half-open probes, which key is next. Memory only; decisions follow from failure classes alone. */

import type { ChannelFailure } from '../../contract/channel-failure.ts';
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { Condition } from '../../routing/candidates.ts';
import type { UpstreamFailure } from '../shared/failure.ts';
import type { ChannelReport } from './health-report.ts';

export interface KeyChoice {
  readonly key: string;
  readonly index: number;
}

export interface HealthDeps {
  /** Milliseconds of a monotonic clock: waits do not depend on the wall clock. */
  readonly now: () => number;
  readonly random: () => number;
  readonly failure: (failure: ChannelFailure) => void;
  /** Called when a channel's state changes. */
  readonly changed?: (word: ChannelReport) => void;
}

/** Figures of Envoy's outlier detection: five failures in a row, 30 s at first. */
const failuresToEject = 5;
/** A broken stream reaches its client, since no other channel could be tried any more: it counts for more than one failure. */
const brokenStream = 2;
/** Of the last outcomes, the latest count most: a host that fails so often is no use even if it never fails in a row. */
const shareToEject = 0.5;
const latestCounts = 0.1;
/** A probe without a result is over after that long. */
const probeMs = 60_000;
const ejectionMs = 30_000;
const maxEjectionMs = 300_000;
/** A host that failed its probes so often, some five minutes, needs an operator. */
const sustainedEjections = 5;
/** A 429 without Retry-After, and the longest wait an upstream may ask for. */
const rateLimitMs = 10_000;
const missing = 404;
const maxWaitMs = 3_600_000;
/** Wrong or exhausted keys. */
const keyFailureMs = 60_000;

interface State {
  /** Until when each key waits. */
  readonly coolUntil: number[];
  failures: number;
  ejections: number;
  ejectedUntil: number;
  /** A probe is under way, at most so long. */
  probingUntil: number;
  /** It was tried after its ejection. */
  wasTried: boolean;
  /** Of failures among the last outcomes, 0 to 1. */
  share: number;
  turn: number;
}

export class Health {
  private readonly states = new Map<number, State>();

  constructor(private readonly deps: HealthDeps) {}

  condition(channel: ChannelSnapshot): Condition {
    const state = this.states.get(channel.id);
    if (state === undefined) return 'up';
    const now = this.deps.now();
    if (state.ejectedUntil > now || (state.ejectedUntil > 0 && state.probingUntil > now)) return 'ejected';
    return minKeyWait(channel, state, now) > 0 ? 'cooling' : 'up';
  }

  /** Milliseconds until something may be tried again; 0 = now. */
  waitMs(channel: ChannelSnapshot): number {
    const state = this.states.get(channel.id);
    if (state === undefined) return 0;
    const now = this.deps.now();
    return Math.max(state.ejectedUntil - now, minKeyWait(channel, state, now), 0);
  }

  /** The key of the next attempt: in turn or by chance, those that cool down last. */
  pickKey(channel: ChannelSnapshot): KeyChoice {
    if (channel.keys.length <= 1) return { key: channel.keys[0] ?? '', index: 0 };
    const state = this.stateOf(channel);
    const now = this.deps.now();
    const ready = channel.keys.flatMap((_, index) => (keyWait(state, index, now) === 0 ? [index] : []));
    const pool = ready.length > 0 ? ready : [soonest(state, channel.keys.length)];
    const random = channel.setting.key_mode === 'random';
    const index = pool[random ? Math.floor(this.deps.random() * pool.length) : state.turn++ % pool.length] ?? 0;
    return { key: channel.keys[index] ?? '', index };
  }

  /** Another key than those that failed in this request is ready. */
  hasSpareKey(channel: ChannelSnapshot): boolean {
    if (channel.keys.length <= 1) return false;
    return minKeyWait(channel, this.stateOf(channel), this.deps.now()) === 0;
  }

  /** An attempt starts; of an ejected channel it is the one probe. */
  begin(channel: ChannelSnapshot): void {
    const state = this.states.get(channel.id);
    if (state === undefined || state.ejectedUntil === 0) return;
    const now = this.deps.now();
    state.wasTried = true;
    if (state.ejectedUntil <= now) state.probingUntil = now + probeMs;
  }

  /** An attempt ended without a result for its channel: the client left, or we ended it. */
  released(channel: ChannelSnapshot): void {
    const state = this.states.get(channel.id);
    if (state !== undefined) state.probingUntil = 0;
  }

  /** An answer ended well. */
  succeeded(channel: ChannelSnapshot, keyIndex: number): void {
    const state = this.states.get(channel.id);
    if (state === undefined) return;
    const wasWell = state.failures === 0 && state.ejectedUntil === 0 && (state.coolUntil[keyIndex] ?? 0) === 0;
    // Attempts from before the ejection add no information.
    if (state.ejectedUntil > this.deps.now() && !state.wasTried) return;
    state.failures = 0;
    state.ejections = 0;
    state.ejectedUntil = 0;
    state.probingUntil = 0;
    state.share *= 1 - latestCounts;
    state.coolUntil[keyIndex] = 0;
    if (!wasWell) this.report(channel.id, state);
  }

  failed(channel: ChannelSnapshot, keyIndex: number, failure: UpstreamFailure): void {
    const state = this.stateOf(channel);
    state.probingUntil = 0;
    if (failure.class === 'key') {
      const retryMs = failure.retryAfter === null ? null : Math.min(failure.retryAfter * 1000, maxWaitMs);
      const limited = failure.status === 429;
      const ms = retryMs ?? (limited && failure.named !== true ? rateLimitMs : keyFailureMs);
      state.coolUntil[keyIndex] = Math.max(state.coolUntil[keyIndex] ?? 0, this.deps.now() + ms);
      this.report(channel.id, state);
      if (!limited || failure.named === true) this.reportFailure(channel, state, keyIndex, failure);
      return;
    }
    if (failure.class !== 'host') return;
    const now = this.deps.now();
    if (state.ejectedUntil > now) return;
    state.failures += failure.delivered === true ? brokenStream : 1;
    // A missing model is no evidence against the host.
    if (failure.status !== missing) state.share += (1 - state.share) * latestCounts;
    const onProbation = state.ejectedUntil > 0;
    if (!onProbation && state.failures < failuresToEject && state.share < shareToEject) {
      this.report(channel.id, state);
      return;
    }
    state.ejections++;
    state.wasTried = false;
    state.share = 0;
    state.ejectedUntil = now + Math.min(ejectionMs * state.ejections, maxEjectionMs);
    state.failures = 0;
    this.report(channel.id, state);
    if (state.ejections === sustainedEjections) this.reportFailure(channel, state, keyIndex, failure);
  }

  /** Forgets what was known, when a channel was edited or passed a test. */
  reset(channelId: number): void {
    this.states.delete(channelId);
  }

  /** Takes over what another thread knows. */
  receive({ channelId, ...word }: ChannelReport): void {
    const known = this.states.get(channelId) ?? { probingUntil: 0, wasTried: false, turn: 0 };
    this.states.set(channelId, { ...known, ...word, coolUntil: [...word.coolUntil] });
  }

  private stateOf(channel: ChannelSnapshot): State {
    const known = this.states.get(channel.id);
    if (known !== undefined) return known;
    const fresh = {
      coolUntil: [],
      failures: 0,
      ejections: 0,
      ejectedUntil: 0,
      probingUntil: 0,
      wasTried: false,
      share: 0,
      turn: 0,
    };
    this.states.set(channel.id, fresh);
    return fresh;
  }

  /** To other threads. */
  private report(channelId: number, { coolUntil, failures, ejections, ejectedUntil, share }: State): void {
    this.deps.changed?.({ channelId, coolUntil: [...coolUntil], failures, ejections, ejectedUntil, share });
  }

  /** Reported to the code that may disable the channel or the key. */
  private reportFailure(channel: ChannelSnapshot, state: State, keyIndex: number, failure: UpstreamFailure): void {
    const now = this.deps.now();
    this.deps.failure({
      channelId: channel.id,
      keyIndex,
      lastKey: channel.keys.every((_, index) => index === keyIndex || (state.coolUntil[index] ?? 0) > now),
      kind: failure.class === 'key' ? 'key' : 'host',
      status: failure.status,
      type: failure.error?.type ?? '',
      code: failure.error?.code ?? '',
      message: failure.error?.message ?? failure.reason,
    });
  }
}

const keyWait = (state: State, index: number, now: number): number => Math.max(0, (state.coolUntil[index] ?? 0) - now);

function minKeyWait({ keys }: ChannelSnapshot, state: State, now: number): number {
  if (keys.length === 0) return 0;
  let min = Number.POSITIVE_INFINITY;
  for (let index = 0; index < keys.length; index++) min = Math.min(min, keyWait(state, index, now));
  return min;
}

function soonest(state: State, count: number): number {
  let best = 0;
  for (let index = 1; index < count; index++) {
    if ((state.coolUntil[index] ?? 0) < (state.coolUntil[best] ?? 0)) best = index;
  }
  return best;
}
