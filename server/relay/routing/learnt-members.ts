/**
 * Members that upstreams refused: which are left out of a request, and whether another attempt without one may be made. What
 * holds for all comes with the published state; here is what single conversations met. Bounded.
 */
import { maxUnsupportedOfPair, type RefusalReport, unsupportedSeconds } from '../../contract/unsupported-members.ts';
import { nameOf, type Removable, type Without } from '../../providers/knowledge/removable-members.ts';

/** An attempt without members that the one before was refused for. */
export interface Trial {
  readonly channelId: number;
  readonly model: string;
  readonly members: readonly Removable[];
  /** Others may be spared it. */
  readonly concernsAll: boolean;
}

/** Attempts a minute at one channel by all relay threads, and those that one user may cause: nobody uses up what others need. */
const attemptsPerMinute = 10;
const attemptsOfUser = 5;
const minuteMs = 60_000;
/** Conversations that are remembered of a channel, and channels; the oldest leave. */
const maxConversations = 2000;
const maxChannels = 1000;

interface Met {
  readonly until: number;
  readonly without: Without;
}

/** Channels by their id, and users of channels by a hash: those that share a cell have fewer attempts. */
const cellsOfKind = 4096;
/** A cell holds a minute, and the attempts within it in so many bits. */
const countBits = 4;

/** Attempts of the current minute, of all relay threads. */
export const newTrialCells = (): SharedArrayBuffer =>
  new SharedArrayBuffer(2 * cellsOfKind * Int32Array.BYTES_PER_ELEMENT);

export interface LearntMembersDeps {
  /** Milliseconds of a monotonic clock that all relay threads share. */
  readonly now: () => number;
  readonly trialCells: SharedArrayBuffer;
  /** This machine's part of what all of them may do. */
  readonly share: (limit: number) => number;
  /** What holds for every request at a channel; undefined = nothing. */
  readonly known: (channelId: number) => Without | undefined;
  readonly report: (report: RefusalReport) => void;
}

export class LearntMembers {
  /** Attempts so far, and those that were answered. */
  readonly counts = { tried: 0, answered: 0 };
  private readonly met = new Map<number, Map<string, Met>>();
  private readonly cells: Int32Array;

  constructor(private readonly deps: LearntMembersDeps) {
    this.cells = new Int32Array(deps.trialCells);
  }

  /** @param conversation names it; called only where conversations are known at the channel. @returns null = nothing is left out. */
  without(channelId: number, conversation: () => string | null, trial: Trial | null): Without | null {
    const known = this.deps.known(channelId);
    const met = this.met.size === 0 ? undefined : this.met.get(channelId);
    const own = met === undefined ? undefined : this.ofConversation(met, conversation());
    const tried = trial?.channelId === channelId ? trial : null;
    if (own === undefined && tried === null) return known ?? null;
    const all = new Map(known);
    for (const [model, members] of own ?? []) all.set(model, joined(all.get(model), members));
    if (tried !== null) all.set(tried.model, joined(all.get(tried.model), tried.members));
    return all;
  }

  /** Whether one more attempt may be made; it is counted. */
  mayTry(channelId: number, userId: number): boolean {
    const { share } = this.deps;
    const ofUser = (Math.imul(channelId, 0x9e3779b1) + Math.imul(userId, 0x85ebca6b)) >>> 0;
    if (!this.take(cellsOfKind + (ofUser % cellsOfKind), share(attemptsOfUser))) return false;
    if (!this.take(channelId % cellsOfKind, share(attemptsPerMinute))) return false;
    this.counts.tried++;
    return true;
  }

  /** @returns false where the cell has as many of this minute. */
  private take(cell: number, most: number): boolean {
    const minute = Math.floor(this.deps.now() / minuteMs);
    for (;;) {
      const held = Atomics.load(this.cells, cell);
      const count = held >> countBits === minute ? held & ((1 << countBits) - 1) : 0;
      if (count >= most) return false;
      const next = (minute << countBits) | (count + 1);
      if (Atomics.compareExchange(this.cells, cell, held, next) === held) return true;
    }
  }

  /** The upstream took the request without them. @param conversation null = it has none that could be known again. */
  succeeded({ channelId, model, members, concernsAll }: Trial, userId: number, conversation: string | null): void {
    this.counts.answered++;
    if (conversation !== null) this.remember(channelId, conversation, model, members);
    if (concernsAll) this.deps.report({ channelId, model, members: members.map(nameOf), userId });
  }

  /** The channel was edited: it may be another upstream now. */
  forget(channelId: number): void {
    this.met.delete(channelId);
  }

  private ofConversation(met: Map<string, Met>, conversation: string | null): Without | undefined {
    const known = conversation === null ? undefined : met.get(conversation);
    return known === undefined || known.until < this.deps.now() ? undefined : known.without;
  }

  private remember(channelId: number, conversation: string, model: string, members: readonly Removable[]): void {
    let met = this.met.get(channelId);
    if (met === undefined) {
      oldestLeaves(this.met, maxChannels);
      met = new Map();
      this.met.set(channelId, met);
    }
    const before = this.ofConversation(met, conversation);
    met.delete(conversation);
    oldestLeaves(met, maxConversations);
    const all = joined(before?.get(model), members).slice(-maxUnsupportedOfPair);
    const until = this.deps.now() + unsupportedSeconds * 1000;
    met.set(conversation, { until, without: new Map([...(before ?? []), [model, all]]) });
  }
}

function oldestLeaves<Key>(map: Map<Key, unknown>, max: number): void {
  const oldest = map.keys().next();
  if (map.size >= max && oldest.done !== true) map.delete(oldest.value);
}

/** Each once. */
function joined(one: readonly Removable[] | undefined, more: readonly Removable[]): readonly Removable[] {
  if (one === undefined) return more;
  const names = new Set(one.map(nameOf));
  return [...one, ...more.filter((member) => !names.has(nameOf(member)))];
}
