/**
 * What of a prompt a provider's cache still holds, from what it reported of earlier turns: evidence of our own, which lets a request
 * hold less than it may cost. A caller can lower it and not raise it: what counts is what a trusted upstream reported, of a prompt
 * that began with the same bytes, from the same user to the same channel and key. Names of conversations find it and prove nothing.
 */

/** One block of a message, or whatever else a provider hashes one after another. */
export interface PromptPart {
  /** As it is sent, without the marks of a cache: they move from turn to turn, and no provider hashes them. */
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
  /** Of the channel's key that was used. */
  readonly keyHash: string;
  /** By any name, however its client chose it. */
  readonly conversation: string;
}

/** What a trusted upstream reported of a turn. */
export interface ReportedCache {
  /** Read and written together. */
  readonly tokens: number;
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

interface Turn {
  /** The longest first. */
  readonly points: readonly Point[];
  readonly tokens: number;
  readonly untilMs: number;
}

/** Clients write the last messages of a turn otherwise in the next one. */
const pointsOfTurn = 8;
/** A provider that is asked looks at so many parts back from each mark, the marked one included (Anthropic, prompt caching). */
const partsBack = 20;
/** Branches of one conversation: agents let others work under its name. */
const turnsOfConversation = 8;
/** Conversations of one thread: with eight turns of eight points each some 60 MB at most, and 2 MB as a rule. */
const mostConversations = 5000;
const nameUnits = 256;
/** What is looked up is sent a little later. */
const marginMs = 5000;

export class PrefixEvidence {
  /** The one that was used longest ago first. */
  private readonly turns = new Map<string, readonly Turn[]>();

  /** @param now milliseconds of a monotonic clock. */
  constructor(
    private readonly now: () => number,
    private readonly most = mostConversations,
  ) {}

  get conversations(): number {
    return this.turns.size;
  }

  /** @returns tokens of the prompt's beginning that the provider still has, as far as is proven. Reads no text where nothing is known. */
  tokensRead(origin: Origin, opening: Opening): number {
    const turns = this.turns.get(keyOf(origin));
    if (turns === undefined) return 0;
    const now = this.now() + marginMs;
    const living = turns.filter(({ untilMs }) => untilMs > now);
    if (living.length === 0) return 0;
    const hashes = hashesAt(opening, countsIn(living));
    return living.reduce((most, turn) => Math.max(most, provenBy(turn, hashes, opening.marks)), 0);
  }

  /** A turn was answered, and its upstream is trusted. What it refutes is forgotten. */
  answered(origin: Origin, opening: Opening, { tokens, sentMs, lifeMs }: ReportedCache): void {
    const key = keyOf(origin);
    const known = this.turns.get(key) ?? [];
    const now = this.now();
    const own = cachedCounts(opening);
    const hashes = hashesAt(opening, new Set([...own, ...countsIn(known)]));
    const kept = known.filter(
      // A turn that this one goes on from is part of it.
      (turn) => turn.untilMs > now && !isPartOf(turn, hashes, own) && provenBy(turn, hashes, opening.marks) <= tokens,
    );
    if (tokens > 0 && own.length > 0 && sentMs + lifeMs > now)
      kept.push(turnOf(opening, own, hashes, { tokens, sentMs, lifeMs }));
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
  { parts }: Opening,
  counts: readonly number[],
  hashes: ReadonlyMap<number, string>,
  { tokens, sentMs, lifeMs }: ReportedCache,
): Turn {
  let behind = 0;
  let end = counts[0] ?? 0;
  const points = counts.map((count): Point => {
    while (end > count) behind += parts[--end]?.most ?? 0;
    return { count, hash: hashes.get(count) ?? '', behind };
  });
  return { points, tokens, untilMs: sentMs + lifeMs };
}

const isSame = ({ count, hash }: Point, hashes: ReadonlyMap<number, string>): boolean => hashes.get(count) === hash;

/** @param counts of the later turn: what it has in its cache ends behind the other one. */
const isPartOf = (
  { points: [whole] }: Turn,
  hashes: ReadonlyMap<number, string>,
  [longest = -1]: readonly number[],
): boolean => whole !== undefined && whole.count <= longest && isSame(whole, hashes);

/** Tokens that a prompt with these hashes has in common with the turn, where its provider looks for them. */
function provenBy({ points, tokens }: Turn, hashes: ReadonlyMap<number, string>, marks: Opening['marks']): number {
  for (const point of points)
    if (isSame(point, hashes) && isInReach(point, marks)) return Math.max(0, tokens - point.behind);
  return 0;
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
