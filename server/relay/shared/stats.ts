/** Metrics of finished requests, counted where they end: a few additions each, read only on request. */
import type { EndReason } from '../../contract/enum.ts';
import type { TrafficWindow } from '../../contract/traffic.ts';
import type { TargetFailure } from '../../contract/virtual-models.ts';
import type { ChainStep } from '../../routing/chains.ts';
import { type EndedTraffic, type RejectedCaller, Traffic } from './traffic.ts';

/** Upper bounds in milliseconds; what is longer counts in the last. */
export const durationBounds = [50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 120_000, 300_000] as const;
export const commitBounds = [1, 2, 5, 10, 25, 50, 100, 250, 1000, 5000] as const;

/** Counts below each bound and above all of them, then the sum in milliseconds. */
export interface Distribution {
  readonly counts: number[];
  sum: number;
}

/** Counters of one model at one channel for one operation. */
export interface Series {
  readonly model: string;
  /** 0 = no channel was called. */
  readonly channelId: number;
  readonly operation: string;
  readonly ends: Partial<Record<EndReason, number>>;
  inputTokens: number;
  outputTokens: number;
  /** Quota. */
  charged: number;
  /** Calls of upstreams, retries included. */
  attempts: number;
  readonly duration: Distribution;
  readonly firstByte: Distribution;
}

/** Outcomes of one target of a virtual model, over all requests that came to it. */
export interface TargetCount {
  readonly virtualModel: string;
  readonly model: string;
  /** `failed` is counted by what failed. */
  readonly result: 'served' | 'uncovered' | 'limits' | 'no_price' | TargetFailure;
  count: number;
}

/** Answers of one channel with one model where another had been sent. */
export interface OtherModels {
  readonly channelId: number;
  readonly sent: string;
  readonly answered: string;
  count: number;
}

export interface Sample extends EndedTraffic {
  readonly operation: string;
}

/** All since the relay began. */
export interface RelayStats {
  readonly series: readonly Series[];
  readonly targets: readonly TargetCount[];
  /** Requests without an upstream call, by error code. */
  readonly refusals: Readonly<Record<string, number>>;
  /** Answers of another model than was sent. */
  readonly otherModels: readonly OtherModels[];
  readonly commit: Distribution;
  readonly open: number;
  /** Defects of ours that requests met. */
  readonly defects: number;
  /** Further attempts without a member that an upstream refused, and those of them that it answered. */
  readonly withoutMember: { readonly tried: number; readonly answered: number };
  /** Sockets for responses, and the bytes of conversations kept for them. */
  readonly sockets: { readonly open: number; readonly keptBytes: number };
}

export interface Stats {
  ended(sample: Sample): void;
  /** A request for a virtual model is over. */
  chainEnded(virtualModel: string, steps: readonly ChainStep[]): void;
  /** @param caller 0 = unknown. */
  rejected(code: string, caller: RejectedCaller): void;
  /** A key is used. @param peer who uses it. */
  seen(tokenId: number, peer: { ip(): string }): void;
  /** @param ms from the sending of a settlement to its commit. */
  committed(ms: number): void;
  read(): Omit<RelayStats, 'open' | 'defects' | 'withoutMember' | 'sockets'>;
  /** Traffic since the last call, to be stored. */
  takeTraffic(): readonly TrafficWindow[];
}

/** Names come from clients: what is beyond is counted under one. */
const maxSeries = 2000;
/** Upstreams choose what they say. */
const maxOtherModels = 200;
const others = 'other';

const empty = (bounds: readonly number[]): Distribution => ({ counts: new Array(bounds.length + 1).fill(0), sum: 0 });

function add(into: Distribution, bounds: readonly number[], value: number): void {
  let at = 0;
  while (at < bounds.length && value > (bounds[at] as number)) at++;
  into.counts[at] = (into.counts[at] ?? 0) + 1;
  into.sum += value;
}

export function createStats(): Stats {
  /** By channel, operation and model: nothing is put together for a request to be found. */
  const byChannel = new Map<number, Map<string, Map<string, Series>>>();
  const series: Series[] = [];
  const targets = new Map<string, TargetCount>();
  const otherModels = new Map<string, OtherModels>();
  const refusals: Record<string, number> = {};
  const commit = empty(commitBounds);
  const traffic = new Traffic();

  const make = (model: string, channelId: number, operation: string): Series => {
    const made: Series = {
      model,
      channelId,
      operation,
      ends: {},
      inputTokens: 0,
      outputTokens: 0,
      charged: 0,
      attempts: 0,
      duration: empty(durationBounds),
      firstByte: empty(durationBounds),
    };
    series.push(made);
    return made;
  };
  const seriesOf = (modelName: string, channelId: number, operation: string): Series => {
    const operations = byChannel.get(channelId) ?? new Map<string, Map<string, Series>>();
    byChannel.set(channelId, operations);
    const models = operations.get(operation) ?? new Map<string, Series>();
    operations.set(operation, models);
    const known = models.get(modelName);
    if (known !== undefined) return known;
    const model = series.length < maxSeries ? modelName : others;
    const found = models.get(model) ?? make(model, channelId, operation);
    models.set(model, found);
    return found;
  };

  const count = (virtualModel: string, model: string, result: TargetCount['result']): void => {
    const name = JSON.stringify([virtualModel, model, result]);
    const known = targets.get(name);
    if (known !== undefined) known.count++;
    else if (targets.size < maxSeries || virtualModel === others)
      targets.set(name, { virtualModel, model, result, count: 1 });
    else count(others, others, result);
  };

  const countOther = (channelId: number, sent: string, answered: string): void => {
    const name = JSON.stringify([channelId, sent, answered]);
    const known = otherModels.get(name);
    if (known !== undefined) known.count++;
    else if (otherModels.size < maxOtherModels || sent === others)
      otherModels.set(name, { channelId, sent, answered, count: 1 });
    else countOther(channelId, others, others);
  };

  return {
    chainEnded(virtualModel, steps) {
      for (const { leaf, outcome, failure } of steps)
        if (outcome === 'failed') count(virtualModel, leaf.model, failure ?? 'unavailable');
        else if (outcome === 'served' || outcome === 'uncovered' || outcome === 'limits' || outcome === 'no_price')
          count(virtualModel, leaf.model, outcome);
    },
    ended(sample) {
      const one = seriesOf(sample.model, sample.channelId, sample.operation);
      one.ends[sample.endReason] = (one.ends[sample.endReason] ?? 0) + 1;
      one.inputTokens += sample.inputTokens;
      one.outputTokens += sample.outputTokens;
      one.charged += sample.charged;
      one.attempts += sample.tried.length;
      add(one.duration, durationBounds, sample.ms);
      if (sample.firstByteMs !== null) add(one.firstByte, durationBounds, sample.firstByteMs);
      if (sample.otherModel !== null) countOther(sample.channelId, sample.sentModel, sample.otherModel);
      traffic.ended(sample);
    },
    rejected(code, caller) {
      refusals[code] = (refusals[code] ?? 0) + 1;
      traffic.rejected(caller);
    },
    seen: (tokenId, peer) => traffic.seen(tokenId, peer),
    committed: (ms) => add(commit, commitBounds, ms),
    read: () => ({ series, targets: [...targets.values()], refusals, otherModels: [...otherModels.values()], commit }),
    takeTraffic: () => traffic.take(),
  };
}
