/** What relay threads report to each other about channels and conversations, some milliseconds late: each knows nearly what the others know. */

/** What an upstream keeps under an id: a response, a conversation, a container. */
export interface Kept {
  readonly channelId: number;
  readonly ownerId: number;
}

/** Health of a channel's host and keys, without its place in the rotation and its probe. */
export interface ChannelReport {
  readonly channelId: number;
  readonly coolUntil: readonly number[];
  /** Absent in reports of older nodes. */
  readonly spentUntil?: readonly number[];
  readonly failures: number;
  readonly ejections: number;
  readonly ejectedUntil: number;
  readonly share: number;
  /** Errors of each key, where a rule of the channel counts them. */
  readonly keyErrors?: readonly number[];
}

/** One model of a channel, or one key at one. It is well again where it neither fails nor waits. */
export interface PairReport {
  /** Names channel and upstream model, and the key where it is one's. */
  readonly id: number;
  readonly failures: number;
  readonly ejections: number;
  readonly ejectedUntil: number;
  readonly share: number;
  readonly waitUntil: number;
}

/** One key of a channel, by its name: what people are told of it. Times are epoch milliseconds, 0 = never. */
export interface KeyReport {
  readonly channelId: number;
  readonly name: string;
  readonly usedAt: number;
  readonly errorAt: number;
  readonly error: string;
  readonly isRefused: boolean;
}

/** What outlasts a restart. */
export interface KeptHealth {
  readonly channels: readonly ChannelReport[];
  /** Members of `PairReport` in their order, pair by pair: thousands are handed over at once. */
  readonly pairs: Float64Array;
  readonly keys?: readonly KeyReport[];
}

/** A part of it: thousands of channels and models take longer than a thread may stand still. */
export interface HealthPiece extends KeptHealth {
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

/** @param pieces from the first to the last. */
export function joinedHealth(pieces: readonly KeptHealth[]): KeptHealth {
  const pairs = new Float64Array(pieces.reduce((length, piece) => length + piece.pairs.length, 0));
  let at = 0;
  for (const piece of pieces) {
    pairs.set(piece.pairs, at);
    at += piece.pairs.length;
  }
  return {
    channels: pieces.flatMap(({ channels }) => channels),
    pairs,
    keys: pieces.flatMap(({ keys = [] }) => keys),
  };
}

export interface HealthReport {
  readonly channels: readonly ChannelReport[];
  readonly pairs: readonly PairReport[];
  /** Older nodes name no key. */
  readonly served: readonly (readonly [conversation: string, channelId: number, keyIndex?: number])[];
  readonly kept: readonly (readonly [id: string, kept: Kept])[];
  /** Absent = nothing is new. */
  readonly keys?: readonly KeyReport[];
}

/** The same moment by another clock, whole milliseconds; 0 = it never was, and stays. */
export const shifted = (at: number, byMs: number): number => (at ? Math.max(1, Math.round(at + byMs)) : 0);

/** By another clock. */
export const shiftedChannel = (report: ChannelReport, byMs: number): ChannelReport => ({
  ...report,
  coolUntil: report.coolUntil.map((at) => shifted(at, byMs)),
  spentUntil: (report.spentUntil ?? []).map((at) => shifted(at, byMs)),
  ejectedUntil: shifted(report.ejectedUntil, byMs),
});

/** By another clock. */
export const shiftedPair = (report: PairReport, byMs: number): PairReport => ({
  ...report,
  ejectedUntil: shifted(report.ejectedUntil, byMs),
  waitUntil: shifted(report.waitUntil, byMs),
});

/** What comes within so long makes one message. */
const togetherMs = 20;

/** @param wait starts a timer. */
export function createHealthReports(
  send: (report: HealthReport) => void,
  wait: (ms: number, done: () => void) => unknown,
) {
  let channels = new Map<number, ChannelReport>();
  let pairs = new Map<number, PairReport>();
  let served = new Map<string, HealthReport['served'][number]>();
  let kept = new Map<string, Kept>();
  let keys = new Map<string, KeyReport>();
  let waiting = false;
  const flush = () => {
    waiting = false;
    send({
      channels: [...channels.values()],
      pairs: [...pairs.values()],
      served: [...served.values()],
      kept: [...kept],
      ...(keys.size === 0 ? {} : { keys: [...keys.values()] }),
    });
    channels = new Map();
    pairs = new Map();
    served = new Map();
    kept = new Map();
    keys = new Map();
  };
  const schedule = () => {
    if (waiting) return;
    waiting = true;
    wait(togetherMs, flush);
  };
  return {
    channel(report: ChannelReport): void {
      channels.set(report.channelId, report);
      schedule();
    },
    pair(report: PairReport): void {
      pairs.set(report.id, report);
      schedule();
    },
    key(report: KeyReport): void {
      keys.set(`${report.channelId} ${report.name}`, report);
      schedule();
    },
    served(conversation: string, channelId: number, keyIndex: number): void {
      served.set(conversation, [conversation, channelId, keyIndex]);
      schedule();
    },
    kept(id: string, one: Kept): void {
      kept.set(id, one);
      schedule();
    },
  };
}
