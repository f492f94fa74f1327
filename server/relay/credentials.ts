/** Finds the caller's key wherever a client of any dialect puts it. All places are equal: same limits, same log. */

export interface Credential {
  /** The key without `sk-` and without the channel suffix. */
  readonly key: string;
  /** Channel an administrator pinned with `sk-KEY-CHANNEL`. */
  readonly channelId: string | null;
}

const bearer = /^bearer\s+/i;
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

/** @returns null when the request carries no key at all. */
export function readCredential(request: Request): Credential | null {
  const headers = request.headers;
  const authorization = headers.get('authorization')?.replace(bearer, '').trim();
  const raw =
    (authorization !== undefined && authorization !== '' && authorization !== 'midjourney-proxy'
      ? authorization
      : null) ??
    headers.get('x-api-key') ??
    headers.get('x-goog-api-key') ??
    headers.get('api-key') ??
    headers.get('mj-api-secret') ??
    fromSocketProtocol(headers.get('sec-websocket-protocol')) ??
    fromQuery(request.url);
  if (raw === null || raw === '') return null;
  const bare = raw.startsWith('sk-') ? raw.slice(3) : raw;
  const dash = bare.indexOf('-');
  return dash < 0 ? { key: bare, channelId: null } : { key: bare.slice(0, dash), channelId: bare.slice(dash + 1) };
}
