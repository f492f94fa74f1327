/** Remembers which channel served a conversation, so that its prompt cache is met again, and whose the things are that upstreams keep. Bounded. */

import { AppError } from '../../contract/errors.ts';
import { codecFor } from '../../protocols/registry.ts';
import type { ParsedRequest, Principal } from '../intake/parsed-request.ts';
import type { ItemStore } from '../shared/items.ts';
import type { HealthReport, Kept } from './health-report.ts';

/** Where a conversation's prompt is cached: a channel, and the key whose account it is. */
export interface Place {
  /** 0 = none. */
  readonly channelId: number;
  /** -1 = any. */
  readonly keyIndex: number;
}

/** Who served a conversation lately. */
export interface Served extends Place {
  readonly until: number;
  readonly reportedMs: number;
  /** Where it was before, had to leave, and may return to once. */
  readonly left: Left | null;
}

interface Left extends Place {
  readonly from: number;
  readonly until: number;
}

export interface Affinity {
  find(key: string | null): Served | null;
  /** What the conversation left is worth going back to, if it is sound. */
  isWarm(left: Left): boolean;
  /** @param keyIndex -1 = the conversation may change keys. */
  store(key: string | null, channelId: number, keyIndex?: number): void;
  /** This channel failed it: it goes elsewhere, and may come back while its prompt is cached there. */
  evict(key: string | null, channelId: number): void;
  /** An upstream that keeps responses can only continue those of its own, and for whom it made them. */
  storeItem(id: string, kept: Kept): void;
  kept(id: string): Kept | null;
  /** Asks the store for what this thread does not remember. @returns null = it remembers all. @throws AppError body_invalid, storage_unavailable. */
  load(ids: readonly string[]): Promise<void> | null;
  /** Takes over what another thread remembers. */
  receive(report: Pick<HealthReport, 'served' | 'kept'>): void;
}

/** Called for new entries, and for those reported long ago. */
export interface AffinityReports {
  served(key: string, channelId: number, keyIndex: number): void;
  kept(id: string, kept: Kept): void;
}

/** Where owners outlast this process; other machines write there, too. */
export type OwnerStore = Pick<ItemStore, 'keepOwners' | 'ownersOf'>;

/** Waits as a timer does. */
export type Wait = (ms: number, done: () => void) => unknown;

/** Prompt caches live five minutes to an hour. */
const lifetimeMs = 15 * 60_000;
/** What was left is sure to be cached for so long after its last answer, and is not tried again at once. */
const warmMs = 5 * 60_000;
const awayMs = 30_000;
const maxEntries = 20_000;
/** Stands for a channel that was forgotten, so that other threads forget it, too. */
const noop = 0;
const nowhere: Place = { channelId: noop, keyIndex: -1 };
/** Upstreams keep responses for thirty days. */
const keptMs = 30 * 24 * 3_600_000;
const maxKept = 50_000;
/** Entries reported that long ago are reported again before other nodes evict them. */
const againMs = lifetimeMs / 3;
/** Owners that are named again are written again before they are forgotten. */
const writtenAgainMs = 24 * 3_600_000;
/** Owners are written together. */
const togetherMs = 20;
/** The report that an answer has an owner may be on its way from another thread or machine. */
const inTransitMs = 250;
/** The upstream chooses them; relays put what they need to know into theirs. */
const maxIdUnits = 2048;
/** Conversations have hundreds of turns, not tens of thousands. */
const maxNamed = 10_000;

/** @param owners absent = what is kept is known to this process alone. */
export function createAffinity(
  now: () => number,
  reports: AffinityReports | null = null,
  owners: {
    readonly store: OwnerStore;
    readonly wait: Wait;
    /** Called for what could not be written. */
    readonly noteLost: (error: unknown) => void;
  } | null = null,
): Affinity {
  const served = new Map<string, Served>();
  const owned = new Map<string, Kept & { readonly until: number; readonly writtenMs: number }>();
  let unwritten = new Map<string, Kept>();
  const put = (key: string, { channelId, keyIndex }: Place, reportedMs: number, left: Left | null) => {
    served.delete(key);
    served.set(key, { channelId, keyIndex, until: now() + lifetimeMs, reportedMs, left });
    if (served.size <= maxEntries) return;
    const oldest = served.keys().next().value;
    if (oldest !== undefined) served.delete(oldest);
  };
  const keep = (id: string, kept: Kept, writtenMs: number) => {
    owned.delete(id);
    owned.set(id, { ...kept, until: now() + keptMs, writtenMs });
    if (owned.size <= maxKept) return;
    const oldest = owned.keys().next().value;
    if (oldest !== undefined) owned.delete(oldest);
  };
  const get = (key: string): Served | null => {
    const entry = served.get(key);
    return entry === undefined || entry.until < now() ? null : entry;
  };
  /** @returns whether anything was known of it there. */
  const leave = (key: string, channelId: number): boolean => {
    const known = get(key);
    if (known === null) return false;
    const { left } = known;
    // The one return failed.
    if (left?.channelId === channelId && known.channelId !== channelId) {
      put(key, known, known.reportedMs, null);
      return false;
    }
    if (known.channelId !== channelId) return false;
    const place = { channelId, keyIndex: known.keyIndex };
    const next = left ?? { ...place, from: now() + awayMs, until: known.until - lifetimeMs + warmMs };
    put(key, nowhere, now(), left?.channelId === channelId ? null : next);
    return true;
  };
  const write = () => {
    const batch = [...unwritten].map(([id, { ownerId, channelId }]) => ({ id, ownerId, channelId }));
    unwritten = new Map();
    // What cannot be written is known to this process, and refused by those that come after it.
    owners?.store.keepOwners(batch).catch(owners.noteLost);
  };
  const keptAt = (id: string): Kept | null => {
    const entry = owned.get(id);
    return entry === undefined || entry.until < now() ? null : entry;
  };
  const ask = async ({ store, wait }: NonNullable<typeof owners>, ids: readonly string[]): Promise<void> => {
    let missing = ids;
    for (let last = false; ; last = true) {
      for (const { id, ownerId, channelId } of await store.ownersOf(missing)) keep(id, { ownerId, channelId }, now());
      missing = missing.filter((id) => keptAt(id) === null);
      if (missing.length === 0 || last) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      wait(inTransitMs, resolve);
      await promise;
    }
  };
  return {
    find: (key) => (key === null ? null : get(key)),
    isWarm: ({ from, until }) => from <= now() && now() <= until,
    store(key, channelId, keyIndex = -1) {
      if (key === null) return;
      const known = served.get(key);
      const isNew =
        known?.channelId !== channelId || known.keyIndex !== keyIndex || now() - known.reportedMs >= againMs;
      const left = known?.left ?? null;
      const isBack = left?.channelId === channelId && left.keyIndex === keyIndex;
      put(key, { channelId, keyIndex }, isNew ? now() : known.reportedMs, isBack ? null : left);
      if (isNew) reports?.served(key, channelId, keyIndex);
    },
    evict(key, channelId) {
      if (key !== null && leave(key, channelId)) reports?.served(key, noop, -1);
    },
    storeItem(id, { channelId, ownerId }) {
      if (id.length > maxIdUnits) return;
      const known = owned.get(id);
      const isNew =
        known?.channelId !== channelId || known.ownerId !== ownerId || now() - known.writtenMs >= writtenAgainMs;
      keep(id, { channelId, ownerId }, isNew ? now() : known.writtenMs);
      reports?.kept(id, { channelId, ownerId });
      if (!isNew || owners === null) return;
      if (unwritten.size === 0) owners.wait(togetherMs, write);
      unwritten.set(id, { channelId, ownerId });
    },
    receive(report) {
      for (const [key, channelId, keyIndex = -1] of report.served) {
        const known = get(key);
        // Other threads learn of both at once: that it had to leave, and where it is now.
        if (known !== null && known.channelId !== noop && known.channelId !== channelId) leave(key, known.channelId);
        put(key, { channelId, keyIndex }, now(), get(key)?.left ?? null);
      }
      for (const [id, kept] of report.kept) keep(id, kept, now());
    },
    kept: keptAt,
    load(ids) {
      if (owners === null || ids.length === 0) return null;
      const missing = [...new Set(ids)].filter((id) => keptAt(id) === null);
      if (missing.length === 0) return null;
      if (missing.length > maxNamed)
        throw new AppError('body_invalid', { detail: `more than ${maxNamed} items are named` });
      return ask(owners, missing);
    },
  };
}

/** Ids of items stored upstream that a request refers to. */
export const keptIds = ({ protocol, body }: Pick<ParsedRequest, 'protocol' | 'body'>): readonly string[] =>
  codecFor(protocol).definition.kept?.requested(body) ?? [];

/** Ids that are refused to others than their owner, and pass where none is known. */
export const referencedIds = ({ protocol, body }: Pick<ParsedRequest, 'protocol' | 'body'>): readonly string[] =>
  codecFor(protocol).definition.kept?.referenced?.(body) ?? [];

/** Headers and members by which clients name their conversation. */
const sessionHeaders = ['x-session-id', 'session_id', 'session-id', 'x-claude-code-session-id'] as const;
/** Names are kept, and sent to other threads and machines. */
const nameUnits = 256;
/** The beginning of a conversation that is compared: what providers cache first. */
const prefixLength = 2048;

/** @returns the client's own name of its conversation; null = it has none. */
export function conversationName({ request, body }: Pick<ParsedRequest, 'request' | 'body'>): string | null {
  for (const name of sessionHeaders) {
    const value = request.headers.get(name);
    if (value !== null && value !== '') return value.slice(0, nameUnits);
  }
  const named = body.prompt_cache_key ?? (body.metadata as { user_id?: unknown } | undefined)?.user_id;
  return typeof named === 'string' && named !== '' ? named.slice(0, nameUnits) : null;
}

/** @returns null for operations that have no conversation. */
export function conversationKey(parsed: ParsedRequest, principal: Principal): string | null {
  if (parsed.operation !== 'chat') return null;
  const owner = `${principal.user.id}:${parsed.model}:`;
  const name = conversationName(parsed);
  if (name !== null) return `${owner}${name}`;
  let prefix = '';
  for (const text of parsed.prompt.texts) {
    prefix += text.slice(0, prefixLength);
    if (prefix.length >= prefixLength) break;
  }
  return `${owner}${Bun.hash(prefix).toString(36)}`;
}
