/** Remembers which channel served a conversation, so that its prompt cache is met again. Memory only, bounded. */
import { codecFor } from '../../protocols/registry.ts';
import type { Inquiry, Principal } from '../intake/inquiry.ts';

export interface Affinity {
  /** The channel that served this conversation lately. */
  find(key: string | null): number | null;
  remember(key: string | null, channelId: number): void;
  /** An upstream that keeps responses can only continue those of its own, and for whom it made them. */
  rememberKept(id: string, kept: Kept): void;
  kept(id: string): Kept | null;
}

/** What an upstream keeps under an id: a response, a conversation, a container. */
export interface Kept {
  readonly channelId: number;
  readonly ownerId: number;
}

/** Prompt caches live five minutes to an hour. */
const lifetimeMs = 15 * 60_000;
const mostEntries = 20_000;
/** Upstreams keep responses for thirty days. */
const keptMs = 30 * 24 * 3_600_000;
const mostKept = 50_000;

export function createAffinity(now: () => number): Affinity {
  const served = new Map<string, { readonly channelId: number; readonly until: number }>();
  const owned = new Map<string, Kept & { readonly until: number }>();
  const put = (key: string, channelId: number, ms: number) => {
    served.delete(key);
    served.set(key, { channelId, until: now() + ms });
    if (served.size <= mostEntries) return;
    const oldest = served.keys().next().value;
    if (oldest !== undefined) served.delete(oldest);
  };
  const get = (key: string): number | null => {
    const entry = served.get(key);
    return entry === undefined || entry.until < now() ? null : entry.channelId;
  };
  return {
    find: (key) => (key === null ? null : get(key)),
    remember(key, channelId) {
      if (key !== null) put(key, channelId, lifetimeMs);
    },
    rememberKept(id, { channelId, ownerId }) {
      owned.delete(id);
      owned.set(id, { channelId, ownerId, until: now() + keptMs });
      if (owned.size <= mostKept) return;
      const oldest = owned.keys().next().value;
      if (oldest !== undefined) owned.delete(oldest);
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
