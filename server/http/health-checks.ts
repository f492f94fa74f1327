/** What supervisors and load balancers ask: is the process alive, and may requests be sent here. Answered by the listener itself, so that a busy API thread is not taken for a dead server. */

/** What stands in the way of serving. */
export type NotReadyReason = 'storage' | 'leases' | 'draining';

export interface ReadinessInput {
  /** Nothing may be sold: the disk, the file or the ledger's thread is in trouble. */
  readonly storage: boolean;
  /** The database is away, and what is leased covers no request. */
  readonly leases: boolean;
  /** Milliseconds for which requests are served from leases; null = the database is read. */
  readonly leasesMs: number | null;
  readonly draining: boolean;
}

const paths: ReadonlySet<string> = new Set(['/healthz', '/readyz']);
export const isProbe = (path: string): boolean => paths.has(path);

const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };

/**
 * `/healthz`: the process listens, whatever else is true. `/readyz`: paid requests would be taken, without the database only of users
 * with a lease here and for the seconds that it says; 503 names what is in the way and no more, since anybody may ask. A schema that is not current needs no word here: a server does not start on one.
 */
export function probe(path: string, method: string, { storage, leases, leasesMs, draining }: ReadinessInput): Response {
  if (method !== 'GET' && method !== 'HEAD')
    return new Response(null, { status: 405, headers: { ...headers, allow: 'GET, HEAD' } });
  const found: readonly NotReadyReason[] = [
    ...(storage ? (['storage'] as const) : []),
    ...(leases ? (['leases'] as const) : []),
    ...(draining ? (['draining'] as const) : []),
  ];
  if (path === '/readyz' && found.length === 0 && leasesMs !== null)
    return Response.json({ ok: true, leases: { seconds: Math.floor(leasesMs / 1000) } }, { headers });
  if (path === '/healthz' || found.length === 0) return new Response('{"ok":true}', { headers });
  return new Response(JSON.stringify({ ok: false, hindrances: found }), {
    status: 503,
    headers: { ...headers, 'retry-after': retrySeconds },
  });
}

const retrySeconds = '5';
