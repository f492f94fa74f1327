/** Remembers which channel served a conversation, so that its prompt cache is met again. Memory only, bounded. */
import { codecFor } from '../../protocols/registry.ts';
import type { Inquiry, Principal } from '../intake/inquiry.ts';
import type { Hearsay, Kept } from './hearsay.ts';

export interface Affinity {
  /** The channel that served this conversation lately. */
  find(key: string | null): number | null;
  remember(key: string | null, channelId: number): void;
  /** This channel failed it: nothing speaks for going there again. */
  forget(key: string | null, channelId: number): void;
  /** An upstream that keeps responses can only continue those of its own, and for whom it made them. */
  rememberKept(id: string, kept: Kept): void;
  kept(id: string): Kept | null;
  /** Takes over what another thread remembers. */
  hear(news: Pick<Hearsay, 'served' | 'kept'>): void;
}

/** Told of what is remembered newly, or was told long ago. */
export interface AffinityTold {
  served(key: string, channelId: number): void;
  kept(id: string, kept: Kept): void;
}

/** Prompt caches live five minutes to an hour. */
const lifetimeMs = 15 * 60_000;
const mostEntries = 20_000;
/** Stands for a channel that was forgotten, so that other threads forget it, too. */
const nobody = 0;
/** Upstreams keep responses for thirty days. */
const keptMs = 30 * 24 * 3_600_000;
const mostKept = 50_000;
/** What others were told so long ago they are told again before they forget it. */
const againMs = lifetimeMs / 3;

export function createAffinity(now: () => number, told: AffinityTold | null = null): Affinity {
  const served = new Map<string, { readonly channelId: number; readonly until: number; readonly toldMs: number }>();
  const owned = new Map<string, Kept & { readonly until: number }>();
  const put = (key: string, channelId: number, toldMs: number) => {
    served.delete(key);
    served.set(key, { channelId, until: now() + lifetimeMs, toldMs });
    if (served.size <= mostEntries) return;
    const oldest = served.keys().next().value;
    if (oldest !== undefined) served.delete(oldest);
  };
  const keep = (id: string, kept: Kept) => {
    owned.delete(id);
    owned.set(id, { ...kept, until: now() + keptMs });
    if (owned.size <= mostKept) return;
    const oldest = owned.keys().next().value;
    if (oldest !== undefined) owned.delete(oldest);
  };
  const get = (key: string): number | null => {
    const entry = served.get(key);
    return entry === undefined || entry.until < now() || entry.channelId === nobody ? null : entry.channelId;
  };
  return {
    find: (key) => (key === null ? null : get(key)),
    remember(key, channelId) {
      if (key === null) return;
      const known = served.get(key);
      const isNews = known?.channelId !== channelId || now() - known.toldMs >= againMs;
      put(key, channelId, isNews ? now() : known.toldMs);
      if (isNews) told?.served(key, channelId);
    },
    forget(key, channelId) {
      if (key === null || get(key) !== channelId) return;
      put(key, nobody, now());
      told?.served(key, nobody);
    },
    rememberKept(id, { channelId, ownerId }) {
      keep(id, { channelId, ownerId });
      told?.kept(id, { channelId, ownerId });
    },
    hear(news) {
      for (const [key, channelId] of news.served) put(key, channelId, now());
      for (const [id, kept] of news.kept) keep(id, kept);
    },
    kept(id) {
      const entry = owned.get(id);
      return entry === undefined || entry.until < now() ? null : entry;
    },
  };
}

/** Ids by which a request asks for something that its upstream keeps. */
export const keptIds = ({ protocol, body }: Pick<Inquiry, 'protocol' | 'body'>): readonly string[] =>
  codecFor(protocol).traits.kept?.asked(body) ?? [];

/** Headers and members by which clients name their conversation. */
const sessionHeaders = ['x-session-id', 'session_id', 'session-id', 'x-claude-code-session-id'] as const;
/** The beginning of a conversation that is compared: what providers cache first. */
const prefixLength = 2048;

/** @returns null for operations that have no conversation. */
export function conversationKey(inquiry: Inquiry, principal: Principal): string | null {
  if (inquiry.operation !== 'chat') return null;
  const owner = `${principal.user.id}:${inquiry.model}:`;
  for (const name of sessionHeaders) {
    const value = inquiry.request.headers.get(name);
    if (value !== null && value !== '') return `${owner}${value}`;
  }
  const named = inquiry.body.prompt_cache_key ?? (inquiry.body.metadata as { user_id?: unknown } | undefined)?.user_id;
  if (typeof named === 'string' && named !== '') return `${owner}${named.slice(0, 256)}`;
  let prefix = '';
  for (const text of inquiry.prompt.texts) {
    prefix += text.slice(0, prefixLength);
    if (prefix.length >= prefixLength) break;
  }
  return `${owner}${Bun.hash(prefix).toString(36)}`;
}
