/**
 * What of a prompt a provider's cache still holds, from what it reported of earlier turns: evidence of our own, which lets a request
 * hold less than it may cost. A caller can lower it and not raise it: what counts is what a trusted upstream reported, of a prompt
 * that began with the same bytes, from the same user to the same channel and key. Names of conversations find it and prove nothing.
 */

/** One block of a message, or whatever else a provider hashes one after another. */
export interface PromptPart {
  /** The text as it is sent, without the marks of a cache: they move from turn to turn, and no provider hashes them. */
  readonly text: string;
  /** Tokens at most. */
  readonly most: number;
}

export interface Opening {
  /** All that a provider hashes before the messages: model, system, tools, tool choice, thinking, media, betas; absent ones as ''. */
  readonly head: readonly string[];
  readonly parts: readonly PromptPart[];
  /**
   * Where the request asks for a cache, as numbers of parts before it, ascending; 0 = in the head. A provider that is asked keeps
   * nothing between these places. null = it caches by itself, up to any part.
   */
  readonly marks: readonly number[] | null;
}

/** Whose cache it is, and where to look. */
export interface Origin {
  readonly userId: number;
  readonly channelId: number;
  /** The key hash of the channel's key that was used. */
  readonly keyHash: string;
  /** By any name, however its client chose it. */
  readonly conversation: string;
}

/** Cache use of a turn as a trusted upstream reported it. */
export interface ReportedCache {
  /** Read and written together. */
  readonly tokens: number;
  /** All of the prompt: the most that any beginning of it has. */
  readonly all: number;
  /** When the turn was sent: by the monotonic clock. */
  readonly sentMs: number;
  /** How long the shortest-lived part of it stays. */
  readonly lifeMs: number;
}

/** The beginning of a turn: so many of its parts. */
interface Point {
  readonly count: number;
  readonly hash: string;
  /** Tokens at most of the parts between it and the end of what is cached: of what was reported, at least the rest lies before. */
  readonly behind: number;
}

/** A known beginning of a prompt. */
export interface Proven {
  /** Tokens that the provider still has, at least. */
  readonly read: number;
  /** Tokens of the beginning, at most. */
  readonly most: number;
  /** Parts of the prompt that the beginning has. */
  readonly parts: number;
}

interface Turn {
  /** The longest first. */
  readonly points: readonly Point[];
  readonly tokens: number;
  /** The most that the beginning up to any of the points may have. */
  readonly most: number;
  readonly untilMs: number;
}

/** Clients rewrite the last messages of a turn in the next one. */
const pointsOfTurn = 8;
/** A provider that is asked looks at so many parts back from each mark, the marked one included (Anthropic, prompt caching). */
const partsBack = 20;
/** Branches of one conversation: agents let others work under its name. */
const turnsOfConversation = 8;
/** Conversations of one thread: with eight turns of eight points each some 60 MB at most, and 2 MB as a rule. */
const maxConversations = 5000;
const nameUnits = 256;
/** A request is sent a little later than it is looked up. */
const marginMs = 5000;

export class PrefixEvidence {
  /** The one that was used longest ago first. */
  private readonly turns = new Map<string, readonly Turn[]>();

  /** @param now milliseconds of a monotonic clock. */
  constructor(
    private readonly now: () => number,
    private readonly most = maxConversations,
  ) {}

  get conversations(): number {
    return this.turns.size;
  }

  /** @returns what of the prompt's beginning the provider still has, as far as is proven; null = nothing. Reads no text where nothing is known. */
  proven(origin: Origin, opening: Opening): Proven | null {
    const turns = this.turns.get(keyOf(origin));
    if (turns === undefined) return null;
    const now = this.now() + marginMs;
    const living = turns.filter(({ untilMs }) => untilMs > now);
    if (living.length === 0) return null;
    const hashes = hashesAt(opening, countsIn(living));
    let best: Proven | null = null;
    for (const turn of living) {
      const proven = provenBy(turn, hashes, opening.marks);
      if (proven !== null && proven.read > (best?.read ?? 0)) best = proven;
    }
    return best;
  }

  /** A turn was answered, and its upstream is trusted. What it refutes is forgotten. */
  answered(origin: Origin, opening: Opening, reported: ReportedCache): void {
    const { tokens, sentMs, lifeMs } = reported;
    const key = keyOf(origin);
    const known = this.turns.get(key) ?? [];
    const now = this.now();
    const own = cachedCounts(opening);
    const hashes = hashesAt(opening, new Set([...own, ...countsIn(known)]));
    const kept = known.filter(
      // A turn that this one goes on from is part of it.
      (turn) =>
        turn.untilMs > now &&
        !isPartOf(turn, hashes, own) &&
        (provenBy(turn, hashes, opening.marks)?.read ?? 0) <= tokens,
    );
    if (tokens > 0 && own.length > 0 && sentMs + lifeMs > now) kept.push(turnOf(opening, own, hashes, reported));
    this.turns.delete(key);
    if (kept.length === 0) return;
    this.turns.set(key, kept.slice(-turnsOfConversation));
    if (this.turns.size <= this.most) return;
    for (const oldest of this.turns.keys()) {
      this.turns.delete(oldest);
      return;
    }
  }
}

/** A name may have any sign in it: it stands last. */
const keyOf = ({ userId, channelId, keyHash, conversation }: Origin): string =>
  `${userId}:${channelId}:${keyHash}:${conversation.slice(0, nameUnits)}`;

const countsIn = (turns: readonly Turn[]): ReadonlySet<number> =>
  new Set(turns.flatMap(({ points }) => points.map(({ count }) => count)));

/** Where a cache ends for this prompt, the longest beginning first. */
function cachedCounts({ parts: { length }, marks }: Opening): readonly number[] {
  if (marks !== null)
    return marks
      .filter((count) => count <= length)
      .slice(-pointsOfTurn)
      .reverse();
  return Array.from({ length: Math.min(pointsOfTurn, length + 1) }, (_, index) => length - index);
}

function turnOf(
  { parts, marks }: Opening,
  counts: readonly number[],
  hashes: ReadonlyMap<number, string>,
  { tokens, all, sentMs, lifeMs }: ReportedCache,
): Turn {
  let behind = 0;
  let end = counts[0] ?? 0;
  const points = counts.map((count): Point => {
    while (end > count) behind += parts[--end]?.most ?? 0;
    return { count, hash: hashes.get(count) ?? '', behind };
  });
  // A provider that is asked has all up to the last mark; one that is not may report less than that.
  return { points, tokens, most: marks === null ? all : tokens, untilMs: sentMs + lifeMs };
}

const isSame = ({ count, hash }: Point, hashes: ReadonlyMap<number, string>): boolean => hashes.get(count) === hash;

/** @param counts of the later turn: what it has in its cache ends behind the other one. */
const isPartOf = (
  { points: [whole] }: Turn,
  hashes: ReadonlyMap<number, string>,
  [longest = -1]: readonly number[],
): boolean => whole !== undefined && whole.count <= longest && isSame(whole, hashes);

/** Tokens that a prompt with these hashes has in common with the turn, where its provider looks for it. */
function provenBy({ points, tokens, most }: Turn, hashes: ReadonlyMap<number, string>, marks: Opening['marks']) {
  for (const point of points)
    if (isSame(point, hashes) && isInReach(point, marks))
      return { read: Math.max(0, tokens - point.behind), most, parts: point.count };
  return null;
}

const isInReach = ({ count }: Point, marks: Opening['marks']): boolean =>
  marks === null || marks.some((mark) => mark >= count && mark - count < partsBack);

/** Of the head and the first parts, for each of the counts that there are parts for: one pass over the text. */
function hashesAt({ head, parts }: Opening, counts: ReadonlySet<number>): ReadonlyMap<number, string> {
  const hashes = new Map<number, string>();
  const hasher = new Bun.CryptoHasher('sha256');
  const add = (text: string) => {
    // Its length keeps texts apart that are the same when they are joined.
    hasher.update(`${text.length}:`);
    hasher.update(text);
  };
  for (const text of head) add(text);
  const last = Math.max(-1, ...[...counts].filter((count) => count <= parts.length));
  for (let count = 0; count <= last; count++) {
    if (counts.has(count)) hashes.set(count, hasher.copy().digest('base64'));
    const part = parts[count];
    if (part !== undefined && count < last) add(part.text);
  }
  return hashes;
}
