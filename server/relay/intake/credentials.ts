/** Finds the caller's key wherever a client of any dialect puts it. All places are equal: same limits, same log. */

import { bareKey } from '../../contract/token-key.ts';

export interface Credential {
  /** The key without `sk-`. */
  readonly key: string;
  /** How else it may be meant: a key and the channel an administrator pinned with `sk-KEY-CHANNEL`. */
  readonly pinned: { readonly key: string; readonly channelId: string } | null;
}

const bearer = /^bearer(\s+|$)/i;
const socketKeyPrefix = 'openai-insecure-api-key.';

function fromSocketProtocol(header: string | null): string | null {
  if (header === null) return null;
  for (const item of header.split(',')) {
    const name = item.trim();
    if (name.startsWith(socketKeyPrefix)) return name.slice(socketKeyPrefix.length);
  }
  return null;
}

function fromQuery(url: string): string | null {
  const start = url.indexOf('?');
  if (start < 0 || !url.includes('key=', start)) return null;
  return new URLSearchParams(url.slice(start + 1)).get('key');
}

/** @returns null when the request carries no key at all. An empty place counts as none. */
export function readCredential(request: Request): Credential | null {
  const headers = request.headers;
  const authorization = headers.get('authorization')?.replace(bearer, '').trim();
  const raw =
    (authorization === 'midjourney-proxy' ? null : authorization) ||
    headers.get('x-api-key') ||
    headers.get('x-goog-api-key') ||
    headers.get('api-key') ||
    headers.get('mj-api-secret') ||
    fromSocketProtocol(headers.get('sec-websocket-protocol')) ||
    fromQuery(request.url);
  if (!raw) return null;
  const key = bareKey(raw);
  // Keys of people's own making may hold dashes themselves.
  const dash = key.lastIndexOf('-');
  return { key, pinned: dash < 0 ? null : { key: key.slice(0, dash), channelId: key.slice(dash + 1) } };
}
