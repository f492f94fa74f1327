/**
 * Finds out why a conversation's prompt was not met in its provider's cache: digests of the blocks of earlier turns say which block
 * is the first that differs. Known to this thread alone, of conversations that clients name.
 */
import type { CacheMiss } from '../../contract/cache-miss.ts';
import { cacheTokensOf } from '../../contract/pricing/bucket.ts';
import { promptTokensOf, quotaOf } from '../../contract/pricing/charge.ts';
import type { Prices } from '../../contract/pricing/price.ts';
import type { RequestRules } from '../../contract/request-rules.ts';
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { Usage } from '../../protocols/canonical.ts';
import type { CacheRules } from '../../protocols/definition.ts';
import { codecFor } from '../../protocols/registry.ts';
import type { CacheDiagnosis, Compared } from '../../protocols/shared/cache-diagnosis.ts';
import { record } from '../../protocols/shared/json.ts';
import type { ParsedRequest } from '../intake/parsed-request.ts';

/** A turn that was answered, with reported usage. */
export interface WatchedTurn {
  readonly userId: number;
  /** The conversation as its client names it, within the length of names. */
  readonly conversation: string;
  readonly parsed: Pick<ParsedRequest, 'protocol' | 'operation' | 'body' | 'json'>;
  readonly channel: ChannelSnapshot;
  /** The key of the channel. */
  readonly key: string;
  /** Upstream. */
  readonly model: string;
  /** The site's rules that change bodies; null = there are none. */
  readonly rules: RequestRules | null;
  /** When it was sent: by the monotonic clock. */
  readonly sentMs: number;
  readonly usage: Usage;
  /** The upstream's id of the answer. */
  readonly responseId?: string | null;
}

/** A turn that is about to be sent. */
export interface NextTurn extends Pick<WatchedTurn, 'userId' | 'conversation' | 'channel' | 'key'> {
  readonly parsed: Pick<ParsedRequest, 'protocol' | 'body'>;
}

/** A turn of a conversation as it was seen. */
interface Seen {
  readonly channelId: number;
  readonly keyHash: number;
  readonly model: string;
  readonly settings: number;
  readonly blocks: readonly Block[];
  /** Where the first turn of the messages begins. */
  readonly heads: number;
  /** It asks for a cache, where its provider is asked. */
  readonly isMarked: boolean;
  /** Tokens of it that its provider's cache holds. */
  readonly held: number;
  readonly untilMs: number;
  readonly responseId: string | null;
}

interface Block {
  readonly name: string;
  readonly digest: number;
}

/** Smaller differences are how providers round. */
const minTokens = 1024;
/** Conversations of one thread, and branches of one: helpers and side questions go under its name. */
const maxConversations = 2000;
const branches = 6;
/** Digests kept of one turn, and of all of a thread: some 80 bytes each, with their names. */
const maxBlocks = 1000;
const maxOfAll = 200_000;
/** Members of longer names are called alike: clients choose them, and they are kept and logged. */
const maxNameUnits = 64;
const maxIdUnits = 200;
const longName = '…';
/** A body takes up to 3 ms per MB to digest, on the thread that serves all requests. Of longer ones nothing is found out. */
const maxBytes = 4 * 1024 * 1024;
const minuteMs = 60_000;
/** Anthropic keeps a prompt for five minutes from its last use, OpenAI for five to ten; an hour where it was asked for. */
const shortLifeMs = 5 * minuteMs;
const longLifeMs = 60 * minuteMs;

/**
 * With what the provider says itself: what it names where we know of no turn before, or saw nothing change.
 * @param most tokens of the prompt that the cache did not have.
 */
export function withDiagnosis(miss: CacheMiss | null, diagnosis: CacheDiagnosis, most: number): CacheMiss | null {
  const { reason } = diagnosis;
  if (!isChange(reason) || (miss !== null && miss.by !== 'upstream')) return miss;
  const tokens = miss?.tokens ?? Math.min(diagnosis.tokens ?? 0, most);
  return tokens < minTokens ? miss : { by: 'provider', at: reason.replace(/_changed$/, ''), tokens };
}
const isChange = (reason: string): boolean => reason.endsWith('_changed') || reason === 'context_compacted';

export class CacheWatch {
  /** The one that was used longest ago first; the branch that was used last is last. */
  private readonly seen = new Map<string, Seen[]>();
  private readonly digests = new WeakMap<object, number>();

  /** Blocks of all of them. */
  private kept = 0;

  constructor(
    private readonly most = maxConversations,
    private readonly mostKept = maxOfAll,
  ) {}

  get conversations(): number {
    return this.seen.size;
  }

  /** @returns null = the cache gave what it had, or nothing was known of it. */
  answered(turn: WatchedTurn): CacheMiss | null {
    const { parsed, usage } = turn;
    const { cache: rules } = codecFor(parsed.protocol).definition;
    if (rules === undefined || parsed.operation !== 'chat') return null;
    if (parsed.json !== null && parsed.json.bytes.length > maxBytes) return null;
    const key = `${turn.userId}:${turn.conversation}`;
    const held = heldAfter(usage, rules);
    const known = this.seen.get(key) ?? none;
    // A cache that holds nothing cannot be missed.
    if (known.length === 0 && held < minTokens) return null;
    const { blocks, isMarked } = blocksOf(parsed.body, rules) ?? nothing;
    if (blocks.length === 0) return null;
    const before = branchOf(known, blocks);
    const now: Seen = {
      channelId: turn.channel.id,
      keyHash: digestOf(turn.key),
      model: turn.model,
      settings: this.settingsOf(turn),
      blocks,
      heads: headsIn(blocks, rules),
      isMarked,
      held,
      responseId: (turn.responseId?.length ?? 0) <= maxIdUnits ? (turn.responseId ?? null) : null,
      untilMs: turn.sentMs + (usage.cacheWrite1h + usage.cacheWrite12h > 0 ? longLifeMs : shortLifeMs),
    };
    const miss = before === null ? null : missOf(before, now, usage, turn.sentMs);
    this.forget(key, known);
    const branchesNow = [...known.filter((one) => one !== before), now].slice(-branches);
    this.seen.set(key, branchesNow);
    this.kept += blocksIn(branchesNow);
    for (const [oldest, of] of this.seen) {
      if (oldest === key || (this.seen.size <= this.most && this.kept <= this.mostKept)) break;
      this.forget(oldest, of);
    }
    return miss;
  }

  /** @returns the answer that a turn goes on from, at the same channel and key: of several branches, of the one that began alike. */
  compared({ userId, conversation, parsed, channel, key }: NextTurn): Compared {
    const known = this.seen.get(`${userId}:${conversation}`) ?? none;
    const { cache: rules } = codecFor(parsed.protocol).definition;
    if (known.length === 0 || rules === undefined) return nothingBefore;
    const keyHash = digestOf(key);
    const first = known.length === 1 ? null : firstTurnIn(parsed.body, rules);
    const before = known.findLast(
      (one) =>
        one.channelId === channel.id &&
        one.keyHash === keyHash &&
        (first === null || one.blocks[one.heads]?.digest === first),
    );
    return before === undefined ? nothingBefore : { previous: before.responseId };
  }

  private forget(key: string, known: readonly Seen[]): void {
    this.seen.delete(key);
    this.kept -= blocksIn(known);
  }

  /** Settings of the channel and rules of the site that change bodies. */
  private settingsOf({ channel, rules }: WatchedTurn): number {
    const ofChannel = this.digest(channel, () => {
      const { baseUrl, other, organization, modelMapping, paramOverride, bodyRules = [], setting } = channel;
      return JSON.stringify([baseUrl, other, organization, modelMapping, paramOverride, bodyRules, setting]);
    });
    return rules === null ? ofChannel : ofChannel + this.digest(rules, () => JSON.stringify(rules));
  }

  /** Once an object: a changed one is another. */
  private digest(of: object, text: () => string): number {
    let digest = this.digests.get(of);
    if (digest === undefined) {
      digest = digestOf(text());
      this.digests.set(of, digest);
    }
    return digest;
  }
}

const blocksIn = (turns: readonly Seen[]): number => turns.reduce((all, { blocks }) => all + blocks.length, 0);

/** 52 bits of it. */
const digestOf = (text: string): number => Number(BigInt.asUintN(52, BigInt(Bun.hash(text))));

/** Members that ask for a diagnosis, and name another turn each time (Anthropic and OpenAI, cache diagnostics). */
const asks: ReadonlySet<string> = new Set(['diagnostics', 'prompt_cache_options']);

interface Cut {
  readonly blocks: readonly Block[];
  readonly isMarked: boolean;
}
const none: readonly Seen[] = [];
const nothingBefore: Compared = { previous: null };
const nothing: Cut = { blocks: [], isMarked: false };

/** Tools first and the messages last, as providers hash them. @returns null = there are no messages, or some stand elsewhere. */
function blocksOf(body: Readonly<Record<string, unknown>>, rules: CacheRules): Cut | null {
  const { mark } = rules;
  const turns = body[rules.turns];
  if (typeof turns !== 'string' && !Array.isArray(turns)) return null;
  for (const name of rules.elsewhere) if (body[name] !== undefined && body[name] !== null) return null;
  const blocks: Block[] = [];
  let isMarked = mark !== undefined && record(body[mark]) !== null;
  const add = (name: string, value: unknown) => {
    if (blocks.length === maxBlocks) return;
    const text = JSON.stringify(value);
    const unmarked = withoutMark(text, value, mark);
    isMarked ||= unmarked !== text;
    blocks.push({ name, digest: digestOf(unmarked) });
  };
  const addAll = (name: string, value: unknown) => {
    if (Array.isArray(value)) for (const [at, one] of value.entries()) add(`${name}[${at}]`, one);
    else if (value !== undefined && value !== null) add(name, value);
  };
  addAll('tools', body.tools);
  for (const name of Object.keys(body).sort())
    if (name !== 'tools' && name !== rules.turns && name !== mark && !rules.unhashed.includes(name) && !asks.has(name))
      addAll(name.length > maxNameUnits ? longName : name, body[name]);
  if (typeof turns === 'string') add(rules.turns, turns);
  else for (const [at, turn] of turns.entries()) add(`${rules.turns}[${at}]`, inBlocks(turn, rules));
  return { blocks, isMarked };
}

/** No provider hashes the marks of a cache, and they move from turn to turn. */
const withoutMark = (text: string, value: unknown, mark: string | undefined): string =>
  mark === undefined || !text.includes(`"${mark}"`)
    ? text
    : JSON.stringify(value, (member: string, own: unknown) => (member === mark ? undefined : own));

/** @returns the digest of the first turn; -1 = there is none. */
function firstTurnIn(body: Readonly<Record<string, unknown>>, rules: CacheRules): number {
  const turns = body[rules.turns];
  const first = Array.isArray(turns) ? inBlocks(turns[0], rules) : turns;
  return first === undefined ? -1 : digestOf(withoutMark(JSON.stringify(first), first, rules.mark));
}

/** A text alone is short for one block of text: clients change between the two where they set marks. */
function inBlocks(turn: unknown, { blocks }: CacheRules): unknown {
  const members = blocks === undefined ? null : record(turn);
  if (blocks === undefined || members === null || typeof members[blocks] !== 'string') return turn;
  return { ...members, [blocks]: [{ type: 'text', text: members[blocks] }] };
}

const headsIn = (blocks: readonly Block[], { turns }: CacheRules): number => {
  const at = blocks.findIndex(({ name }) => name === turns || name.startsWith(`${turns}[`));
  return at < 0 ? blocks.length : at;
};

/** Tokens that a cache holds after a turn. Providers that cache by themselves do so for whole prompts of 1,024 tokens and more. */
function heldAfter(usage: Usage, { mark }: CacheRules): number {
  const reported = cacheTokensOf(usage);
  if (mark !== undefined) return reported;
  const all = promptTokensOf(usage);
  return Math.max(reported, all < minTokens ? 0 : all - (all % 128));
}

/** The earlier turn that has most blocks of messages in common with this one; null = none has any. */
function branchOf(known: readonly Seen[], blocks: readonly Block[]): Seen | null {
  const digests = new Set(blocks.map(({ digest }) => digest));
  let best: Seen | null = null;
  let most = 0;
  for (const one of known) {
    let same = 0;
    for (let at = one.heads; at < one.blocks.length; at++) if (digests.has(one.blocks[at]?.digest ?? -1)) same++;
    if (same > 0 && same >= most) [best, most] = [one, same];
  }
  return best;
}

function missOf(before: Seen, now: Seen, usage: Usage, sentMs: number): CacheMiss | null {
  const tokens = before.held - usage.cacheRead;
  if (tokens < minTokens || usage.cacheRead * 2 >= before.held) return null;
  const miss = (by: CacheMiss['by'], at = ''): CacheMiss => ({ by, at, tokens });
  // Whatever else changed: another upstream has nothing of it.
  if (now.channelId !== before.channelId) return miss('channel', 'channel');
  if (now.keyHash !== before.keyHash) return miss('channel', 'key');
  if (now.model !== before.model) return miss('channel', 'model');
  const changed = firstChange(before.blocks, now.blocks);
  if (changed !== null) return miss('client', changed);
  if (before.isMarked && !now.isMarked) return miss('client', 'cache_control');
  if (now.settings !== before.settings) return miss('gateway', 'settings');
  return sentMs > before.untilMs ? miss('time') : miss('upstream');
}

/** Name of the first block in which two turns differ; null = the later one goes on from the earlier. */
function firstChange(before: readonly Block[], now: readonly Block[]): string | null {
  for (const [at, block] of before.entries()) {
    const same = now[at];
    if (same?.digest === block.digest && same.name === block.name) continue;
    // One that is missing, or another one in its place: whichever stands first in a prompt.
    return same === undefined || rankOf(block) <= rankOf(same) ? block.name : same.name;
  }
  return null;
}

const kindOf = (name: string): string => name.replace(/\[\d+\]$/, '');
const rankOf = ({ name }: Block): string => {
  const kind = kindOf(name);
  return kind === 'tools' ? '' : turnMembers.has(kind) ? '~' : kind;
};
const turnMembers: ReadonlySet<string> = new Set(['messages', 'input']);

/** Quota that the request would have cost less with so many tokens more from the cache. */
export function lostBy(usage: Usage, tokens: number, prices: Prices): number {
  let left = tokens;
  const take = (bucket: number): number => {
    const taken = Math.min(left, bucket);
    left -= taken;
    return bucket - taken;
  };
  // Tokens that were written again had been there already.
  const again = {
    cacheWrite5m: take(usage.cacheWrite5m),
    cacheWrite1h: take(usage.cacheWrite1h),
    cacheWrite12h: take(usage.cacheWrite12h),
    input: take(usage.input),
  };
  const read = { ...usage, ...again, cacheRead: usage.cacheRead + tokens - left };
  return Math.max(0, quotaOf(usage, prices) - quotaOf(read, prices));
}
