/** How channels and their keys are doing: cool-downs, ejection with half-open probes, which key is next. Memory only; decisions follow from failure classes alone. */

import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { Trouble } from '../../contract/trouble.ts';
import type { Condition } from '../../routing/candidates.ts';
import type { UpstreamFailure } from '../shared/failure.ts';
import type { ChannelWord } from './hearsay.ts';

export interface KeyChoice {
  readonly key: string;
  readonly index: number;
}

export interface Health {
  condition(channel: ChannelSnapshot): Condition;
  /** Milliseconds until something may be tried again; 0 = now. */
  waitMs(channel: ChannelSnapshot): number;
  /** The key of the next attempt: in turn or by chance, those that cool down last. */
  pickKey(channel: ChannelSnapshot): KeyChoice;
  /** Another key than those that failed in this request is ready. */
  hasSpareKey(channel: ChannelSnapshot): boolean;
  /** An attempt starts; of an ejected channel it is the one probe. */
  begin(channel: ChannelSnapshot): void;
  /** An answer ended well. */
  succeeded(channel: ChannelSnapshot, keyIndex: number): void;
  failed(channel: ChannelSnapshot, keyIndex: number, failure: UpstreamFailure): void;
  /** An attempt is over and says nothing of its channel: the client left, or we ended it. */
  released(channel: ChannelSnapshot): void;
  /** Forgets what was known, when a channel was edited or passed a test. */
  reset(channelId: number): void;
  /** Takes over what another thread knows. */
  hear(word: ChannelWord): void;
}

export interface HealthDeps {
  /** Milliseconds of a clock that never goes back: a wait is a wait, whatever the wall says. */
  readonly now: () => number;
  readonly random: () => number;
  readonly trouble: (trouble: Trouble) => void;
  /** Told when something is known that was not before. */
  readonly changed?: (word: ChannelWord) => void;
}

/** Figures of Envoy's outlier detection: five failures in a row, 30 s at first. */
const failuresToEject = 5;
/** A stream that broke hurt its client, for nobody else could be asked any more: it counts for more than one. */
const brokenStream = 2;
/** Of the last outcomes, the latest count most: a host that fails so often is no use even if it never fails in a row. */
const shareToEject = 0.5;
const latestCounts = 0.1;
/** A probe that nobody heard of again is over after so long. */
const probeMs = 60_000;
const ejectionMs = 30_000;
const longestEjectionMs = 300_000;
/** A host that failed its probes so often, some five minutes, needs somebody to look at it. */
const sustainedEjections = 5;
/** A 429 without Retry-After, and the longest wait an upstream may ask for. */
const rateLimitMs = 10_000;
const missing = 404;
const longestWaitMs = 3_600_000;
/** Wrong or exhausted keys. */
const keyTroubleMs = 60_000;

interface State {
  /** Until when each key waits. */
  readonly coolUntil: number[];
  failures: number;
  ejections: number;
  ejectedUntil: number;
  /** A probe is under way, at most so long. */
  probingUntil: number;
  /** It was asked since it was ejected. */
  asked: boolean;
  /** Of failures among the last outcomes, 0 to 1. */
  share: number;
  turn: number;
}

export function createHealth(deps: HealthDeps): Health {
  const states = new Map<number, State>();
  const stateOf = (channel: ChannelSnapshot): State => {
    const known = states.get(channel.id);
    if (known !== undefined) return known;
    const fresh = {
      coolUntil: [],
      failures: 0,
      ejections: 0,
      ejectedUntil: 0,
      probingUntil: 0,
      asked: false,
      share: 0,
      turn: 0,
    };
    states.set(channel.id, fresh);
    return fresh;
  };
  const keyWait = (state: State, index: number, now: number): number =>
    Math.max(0, (state.coolUntil[index] ?? 0) - now);
  const shortestKeyWait = (channel: ChannelSnapshot, state: State, now: number): number => {
    let least = Number.POSITIVE_INFINITY;
    for (let index = 0; index < channel.keys.length; index++) least = Math.min(least, keyWait(state, index, now));
    return channel.keys.length === 0 ? 0 : least;
  };
  const cool = (state: State, index: number, ms: number) => {
    state.coolUntil[index] = Math.max(state.coolUntil[index] ?? 0, deps.now() + ms);
  };
  const tell = (channelId: number, { coolUntil, failures, ejections, ejectedUntil, share }: State) =>
    deps.changed?.({ channelId, coolUntil: [...coolUntil], failures, ejections, ejectedUntil, share });
  const report = (channel: ChannelSnapshot, state: State, keyIndex: number, failure: UpstreamFailure) => {
    const now = deps.now();
    deps.trouble({
      channelId: channel.id,
      keyIndex,
      lastKey: channel.keys.every((_, index) => index === keyIndex || (state.coolUntil[index] ?? 0) > now),
      kind: failure.class === 'key' ? 'key' : 'host',
      status: failure.status,
      type: failure.error?.type ?? '',
      code: failure.error?.code ?? '',
      message: failure.error?.message ?? failure.reason,
    });
  };

  return {
    condition(channel) {
      const state = states.get(channel.id);
      if (state === undefined) return 'up';
      const now = deps.now();
      if (state.ejectedUntil > now || (state.ejectedUntil > 0 && state.probingUntil > now)) return 'ejected';
      return shortestKeyWait(channel, state, now) > 0 ? 'cooling' : 'up';
    },
    waitMs(channel) {
      const state = states.get(channel.id);
      if (state === undefined) return 0;
      const now = deps.now();
      return Math.max(state.ejectedUntil - now, shortestKeyWait(channel, state, now), 0);
    },
    pickKey(channel) {
      if (channel.keys.length <= 1) return { key: channel.keys[0] ?? '', index: 0 };
      const state = stateOf(channel);
      const now = deps.now();
      const ready = channel.keys.flatMap((_, index) => (keyWait(state, index, now) === 0 ? [index] : []));
      const pool = ready.length > 0 ? ready : [soonest(state, channel.keys.length)];
      const random = channel.setting.key_mode === 'random';
      const index = pool[random ? Math.floor(deps.random() * pool.length) : state.turn++ % pool.length] ?? 0;
      return { key: channel.keys[index] ?? '', index };
    },
    hasSpareKey(channel) {
      if (channel.keys.length <= 1) return false;
      return shortestKeyWait(channel, stateOf(channel), deps.now()) === 0;
    },
    begin(channel) {
      const state = states.get(channel.id);
      if (state === undefined || state.ejectedUntil === 0) return;
      const now = deps.now();
      state.asked = true;
      if (state.ejectedUntil <= now) state.probingUntil = now + probeMs;
    },
    released(channel) {
      const state = states.get(channel.id);
      if (state !== undefined) state.probingUntil = 0;
    },
    succeeded(channel, keyIndex) {
      const state = states.get(channel.id);
      if (state === undefined) return;
      const wasWell = state.failures === 0 && state.ejectedUntil === 0 && (state.coolUntil[keyIndex] ?? 0) === 0;
      // What was under way when it was ejected says nothing new.
      if (state.ejectedUntil > deps.now() && !state.asked) return;
      state.failures = 0;
      state.ejections = 0;
      state.ejectedUntil = 0;
      state.probingUntil = 0;
      state.share *= 1 - latestCounts;
      state.coolUntil[keyIndex] = 0;
      if (!wasWell) tell(channel.id, state);
    },
    failed(channel, keyIndex, failure) {
      const state = stateOf(channel);
      state.probingUntil = 0;
      if (failure.class === 'key') {
        const asked = failure.retryAfter === null ? null : Math.min(failure.retryAfter * 1000, longestWaitMs);
        const limited = failure.status === 429;
        cool(state, keyIndex, asked ?? (limited && failure.named !== true ? rateLimitMs : keyTroubleMs));
        tell(channel.id, state);
        if (!limited || failure.named === true) report(channel, state, keyIndex, failure);
        return;
      }
      if (failure.class !== 'host') return;
      const now = deps.now();
      if (state.ejectedUntil > now) return;
      state.failures += failure.delivered === true ? brokenStream : 1;
      // That one model is missing says little about the host.
      if (failure.status !== missing) state.share += (1 - state.share) * latestCounts;
      const onProbation = state.ejectedUntil > 0;
      if (!onProbation && state.failures < failuresToEject && state.share < shareToEject)
        return void tell(channel.id, state);
      state.ejections++;
      state.asked = false;
      state.share = 0;
      state.ejectedUntil = now + Math.min(ejectionMs * state.ejections, longestEjectionMs);
      state.failures = 0;
      tell(channel.id, state);
      if (state.ejections === sustainedEjections) report(channel, state, keyIndex, failure);
    },
    reset: (channelId) => void states.delete(channelId),
    hear({ channelId, ...word }) {
      const known = states.get(channelId) ?? { probingUntil: 0, asked: false, turn: 0 };
      states.set(channelId, { ...known, ...word, coolUntil: [...word.coolUntil] });
    },
  };
}

function soonest(state: State, count: number): number {
  let best = 0;
  for (let index = 1; index < count; index++) {
    if ((state.coolUntil[index] ?? 0) < (state.coolUntil[best] ?? 0)) best = index;
  }
  return best;
}
