/** The relay's routes: which path means which dialect and operation. One row per path; the pipeline is the same for all. */
import type { ProtocolId } from '../../protocols/canonical.ts';
import type { DialectRoute } from '../../protocols/definition.ts';
import { allCodecs, codecFor, commonProtocol } from '../../protocols/registry.ts';

export type Operation =
  | 'chat'
  | 'count_tokens'
  | 'completions'
  | 'embeddings'
  | 'moderations'
  | 'rerank'
  | 'images'
  | 'image_edits'
  | 'image_variations'
  | 'speech'
  | 'transcriptions'
  | 'translations'
  | 'realtime'
  | 'drawing'
  | 'music';

export interface RelayRoute {
  /** `{model}` stands for one segment that names the model; Gemini's verb follows after a colon. */
  readonly path: string;
  readonly protocol: ProtocolId;
  readonly operation: Operation;
  /** How the body is written; absent = JSON. */
  readonly body?: 'form';
  /** Model that is meant when the request names none; absent = the model is required. */
  readonly defaultModel?: string;
  /** Set where the path alone decides whether the answer is streamed. */
  readonly stream?: boolean;
  /** Streamed unless the request says otherwise. */
  readonly streamsByDefault?: true;
  /** The playground: whose request it is follows from the console's session, not from a key. */
  readonly session?: true;
  /** Makes a conversation short. */
  readonly compacts?: true;
  readonly asChat?: DialectRoute['asChat'];
}

const row = (
  path: string,
  protocol: ProtocolId,
  operation: Operation,
  more: Omit<RelayRoute, 'path' | 'protocol' | 'operation'> = {},
): RelayRoute => ({ path, protocol, operation, ...more });

export const relayRoutes: readonly RelayRoute[] = [
  ...allCodecs.flatMap(({ id, definition }) =>
    definition.routes.map(({ path, operation, ...more }) => row(path, id, operation, more)),
  ),
  row('/v1/completions', commonProtocol, 'completions'),
  // Source: `model` in `ModerationCreateParams` of openai 7.59
  row('/v1/moderations', commonProtocol, 'moderations', { defaultModel: 'omni-moderation-latest' }),
  row('/v1/rerank', commonProtocol, 'rerank'),
  row('/rerank', commonProtocol, 'rerank'),
  row('/v2/rerank', commonProtocol, 'rerank'),
  row('/v1/images/generations', commonProtocol, 'images', { defaultModel: 'dall-e-2' }),
  row('/v1/images/edits', commonProtocol, 'image_edits', { body: 'form', defaultModel: 'gpt-image-1' }),
  row('/v1/images/variations', commonProtocol, 'image_variations', { body: 'form', defaultModel: 'dall-e-2' }),
  row('/v1/audio/speech', commonProtocol, 'speech', { defaultModel: 'tts-1' }),
  row('/v1/audio/transcriptions', commonProtocol, 'transcriptions', { body: 'form', defaultModel: 'whisper-1' }),
  row('/v1/audio/translations', commonProtocol, 'translations', { body: 'form', defaultModel: 'whisper-1' }),
];

/** Whose form a route has: the label of its dialect begins with the maker. */
export const dialectMaker = ({ protocol }: Pick<RelayRoute, 'protocol'>): string =>
  codecFor(protocol).definition.label.split(' ')[0] ?? protocol;

/** Addresses under which SDKs for other hosts look for the same calls. */
const spellings: readonly (readonly [prefix: string, plain: string])[] = [
  ['/v1beta/openai/', '/v1/'],
  ['/openai/v1/', '/v1/'],
];

/** @returns the path that is meant. */
export function plainPath(path: string): string {
  for (const [prefix, plain] of spellings) if (path.startsWith(prefix)) return plain + path.slice(prefix.length);
  return path;
}

/** Clients that call models deployments name them in the path. */
const deploymentRoutes = relayRoutes
  .filter(({ path, protocol, session }) => protocol === commonProtocol && session !== true && path.startsWith('/v1/'))
  .map((route): RelayRoute => ({ ...route, path: route.path.replace('/v1/', '/openai/deployments/{model}/') }));

export interface MatchedRoute {
  readonly route: RelayRoute;
  /** The model the path names, decoded; null when the body names it. */
  readonly model: string | null;
}

const placeholder = '{model}';
const byPath = new Map(
  relayRoutes.filter((route) => !route.path.includes(placeholder)).map((route) => [route.path, { route, model: null }]),
);
const patterns = [...relayRoutes.filter((route) => route.path.includes(placeholder)), ...deploymentRoutes].map(
  (route) => {
    const [before = '', after = ''] = route.path.split(placeholder);
    return { route, before, after };
  },
);

/** One trailing slash is forgiven. */
export function relayRouteFor(path: string): MatchedRoute | undefined {
  const plain = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
  const exact = byPath.get(plain);
  if (exact !== undefined) return exact;
  for (const { route, before, after } of patterns) {
    if (!plain.startsWith(before) || !plain.endsWith(after) || plain.length <= before.length + after.length) continue;
    return { route, model: decoded(plain.slice(before.length, plain.length - after.length)) };
  }
  return undefined;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

const relayPrefixes = [
  '/v1/',
  '/v1beta/',
  '/v2/',
  '/openai/',
  '/pg/',
  '/mj',
  '/suno/',
  '/fast/mj/',
  '/relax/mj/',
  '/turbo/mj/',
] as const;

/** First segments of the relay's paths. */
export const relaySegments: readonly string[] = [
  ...relayPrefixes.map((prefix) => prefix.split('/')[1] ?? ''),
  'rerank',
];

/** Paths that clients ask for whose base address lacks its version. */
const versionless: ReadonlyMap<string, string> = new Map(
  ['/chat/completions', '/completions', '/embeddings', '/messages', '/messages/count_tokens', '/responses']
    .concat(['/responses/compact', '/moderations', '/images/generations', '/images/edits', '/audio/speech'])
    .concat(['/audio/transcriptions', '/audio/translations', '/models', '/realtime'])
    .map((path): [string, string] => [path, `/v1${path}`])
    // DeepSeek's address for prefixes and suffixes. Source: https://api-docs.deepseek.com/guides/chat_prefix_completion
    .concat(['/chat/completions', '/completions'].map((path) => [`/beta${path}`, `/v1${path}`])),
);

/** A base address with the version in it before a path that has one too: `/v1/v1/messages`, `/v1/v1beta/models`. */
const doubled = /^\/v1(?:beta)?(?=\/v1(?:beta)?\/)/;

/** @returns the path that is meant; most often the same. No page of the console has such an address. */
export function forgivenPath(path: string): string {
  if (path.startsWith('/v1')) return path.replace(doubled, '');
  if (path.startsWith('/models/')) return `/v1${path}`;
  return versionless.get(path.endsWith('/') ? path.slice(0, -1) : path) ?? path;
}

/** Paths that belong to the relay even when no row matches: their errors have the relay's shape. */
export const isRelayPath = (path: string): boolean =>
  relayPrefixes.some((prefix) => path.startsWith(prefix)) ||
  path === '/rerank' ||
  path === '/rerank/' ||
  path.startsWith('/dashboard/billing/') ||
  isDialectPath(path);

/** Paths of dialects outside of the relay's own folders: these and nothing beside them. */
const dialectPaths: ReadonlySet<string> = new Set(
  allCodecs
    .flatMap(({ definition }) => [
      ...definition.routes.map(({ path }) => path),
      ...(definition.paths ?? []),
      ...Object.keys(definition.fixed ?? {}),
      ...(definition.modelDetails === undefined ? [] : [definition.modelDetails.path]),
      ...(definition.absent ?? []),
      ...(definition.gateway?.paths.keys() ?? []),
    ])
    .filter((path) => !relayPrefixes.some((prefix) => path.startsWith(prefix))),
);
const isDialectPath = (path: string): boolean => dialectPaths.has(path.endsWith('/') ? path.slice(0, -1) : path);

const absentPaths: ReadonlySet<string> = new Set(allCodecs.flatMap(({ definition }) => definition.absent ?? []));

/** Documented, and not served. */
export const isUnimplemented = (path: string): boolean =>
  absentPaths.has(path) || unimplementedPaths.some((pattern) => pattern.test(path));

/** Paths of providers' state that no channel can be picked for, and calls of the vendors that are not served: answered, not forgotten. */
const unimplementedPaths: readonly RegExp[] = [
  /^\/v1\/(edits|files|fine[-_]tun\w*|batches|uploads|assistants|threads|vector_stores)(\/|$)/,
  // Sources: the paths of OpenAI's openapi.yaml 2.3.0, docs.claude.com/en/api, ai.google.dev/api, docs.cohere.com/reference, docs.mistral.ai/api.
  /^\/v1\/(conversations|videos|containers|evals|chatkit|skills|fim|ocr|agents|messages\/batches)(\/|$)/,
  /^\/v1\/responses\/[^/]+(\/(cancel|input_items))?$/,
  /^\/v1\/realtime\/(client_secrets|sessions|transcription_sessions|calls)(\/|$)/,
  /^\/v1beta\/(files|cachedContents|batches|tunedModels|corpora|fileSearchStores|interactions)(\/|$)/,
  /^\/v1(?:beta)?\/models\/[^:]+:(predict|predictLongRunning|batchGenerateContent|asyncBatchEmbedContent|generateAnswer)$/,
  /^\/v2\/embed$/,
  /^\/v1\/(embed-jobs|datasets|connectors|tokenize|detokenize|classify)(\/|$)/,
];
