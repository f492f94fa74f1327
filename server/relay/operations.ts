/** The relay's routes: which path means which dialect and operation. One row per path; the pipeline is the same for all. */
import type { ProtocolId } from '../protocols/canonical.ts';

export type Operation = 'chat' | 'completions' | 'embeddings' | 'moderations';

export interface RelayRoute {
  readonly path: string;
  readonly protocol: ProtocolId;
  readonly operation: Operation;
  /** Model that is meant when the body names none; absent = the model is required. */
  readonly defaultModel?: string;
}

export const relayRoutes: readonly RelayRoute[] = [
  { path: '/v1/chat/completions', protocol: 'openai-chat', operation: 'chat' },
];

const byPath = new Map(relayRoutes.map((route) => [route.path, route]));

/** Exact match; one trailing slash is forgiven. */
export function relayRouteFor(path: string): RelayRoute | undefined {
  return byPath.get(path) ?? (path.endsWith('/') ? byPath.get(path.slice(0, -1)) : undefined);
}

/** Paths that belong to the relay even when no row matches: their errors have the relay's shape. */
export function isRelayPath(path: string): boolean {
  return (
    path.startsWith('/v1/') ||
    path.startsWith('/v1beta/') ||
    path.startsWith('/pg/') ||
    path.startsWith('/mj') ||
    path.startsWith('/suno/')
  );
}
