/** Remembers which channel served a conversation, so that its prompt cache is met again. Memory only, bounded. */
import type { Inquiry, Principal } from './exchange.ts';

export interface Affinity {
  /** The channel that served this conversation lately. */
  find(key: string | null): number | null;
  remember(key: string | null, channelId: number): void;
  /** An upstream that keeps responses can only continue those of its own. */
  rememberResponse(responseId: string, channelId: number): void;
  channelOfResponse(responseId: string): number | null;
}

/** Prompt caches live five minutes to an hour. */
const lifetimeMs = 15 * 60_000;
const mostEntries = 20_000;

export function createAffinity(now: () => number): Affinity {
  const served = new Map<string, { readonly channelId: number; readonly until: number }>();
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
    rememberResponse: (responseId, channelId) => put(`response:${responseId}`, channelId, 24 * lifetimeMs),
    channelOfResponse: (responseId) => get(`response:${responseId}`),
  };
}

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
