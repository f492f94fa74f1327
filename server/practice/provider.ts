/** One provider of the catalogue as it is played: its paths, where it takes keys, and what the rows of knowledge say that it refuses. */
import type { ProtocolId } from '../protocols/canonical.ts';
import { allCodecs, codecs, commonProtocol } from '../protocols/registry.ts';
import { parseJson, record } from '../protocols/shared/json.ts';
import { allProviders } from '../providers/catalogue.ts';
import { modelRows } from '../providers/knowledge/models.ts';
import { providerRows } from '../providers/knowledge/providers.ts';
import type { Provider } from '../providers/provider.ts';
import { dialectAt, dialectWith, type Requested } from './dialects.ts';
import { type Refusal, type RowRule, rowRules } from './row-rules.ts';

export interface SimulatedProvider {
  /** What a channel's key must be. */
  readonly key: string;
  readonly models: readonly string[];
  /** @returns null where the provider has no such path for chat. */
  chatAt(path: string): Requested | null;
  /** @returns why the caller is refused; null = he is served. */
  refusal(request: Request, chat: Requested | null, text: string): (Refusal & { readonly rule: string }) | null;
  /** JSON body of a refusal, in the dialect of the path. */
  errorBody(refusal: Refusal, chat: Requested | null): string;
}

const key = 'sk-practice';

/** A key that signs cannot be checked by rows alone, and neither can a wire of the provider's own. */
const canSimulate = ({ protocol, auth, slug }: Provider): boolean =>
  protocol !== null && auth.kind !== 'signed' && slug !== 'practice' && slug !== 'custom';

/** By the names that `channel add --type` takes. */
export const simulatedNames: readonly string[] = allProviders.filter(canSimulate).map(({ slug }) => slug);

interface ChatPath {
  readonly pattern: RegExp;
  readonly protocol: ProtocolId;
  /** Set where the path alone says whether the response is streamed. */
  readonly stream?: boolean;
}

const patternOf = (path: string): RegExp =>
  new RegExp(
    `^${path
      .replace(/\?.*$/, '')
      .replace(/[.*+^$|()[\]\\]/g, '\\$&')
      .replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`,
  );

/** The chat paths of a provider's row: a path that is a dialect's own speaks that dialect, any other the row's. */
function chatPaths({ paths, protocol }: Provider): readonly ChatPath[] {
  const found: ChatPath[] = [];
  for (const { id, definition } of allCodecs) {
    const single = paths[definition.chatOperation];
    const streamed = definition.streamOperation === undefined ? undefined : paths[definition.streamOperation];
    const own =
      id === protocol || definition.chatOperation !== codecs[protocol ?? commonProtocol].definition.chatOperation;
    if (single !== undefined && own) {
      const spoken = dialectAt(single)?.dialect.id ?? id;
      found.push({
        pattern: patternOf(single),
        protocol: spoken,
        ...(streamed === undefined ? {} : { stream: false }),
      });
    }
    if (streamed !== undefined && own) found.push({ pattern: patternOf(streamed), protocol: id, stream: true });
  }
  return found;
}

/** @param strict whether it refuses what its rows refuse; keys are checked either way. @returns null when no provider of this name can be played. */
export function simulatedProvider(name: string, strict: boolean): SimulatedProvider | null {
  const provider = allProviders.find((one) => one.slug === name && canSimulate(one));
  if (provider === undefined) return null;
  const { auth, slug, models } = provider;
  const paths = chatPaths(provider);
  const rulesOf = rowRules(modelRows, providerRows);
  const rules = new Map<ProtocolId, readonly RowRule[]>(
    strict ? paths.map(({ protocol }) => [protocol, rulesOf(slug, protocol)]) : [],
  );
  const credentialIn = ({ headers }: Request): string | null =>
    auth.kind === 'header' ? headers.get(auth.name) : (headers.get('authorization')?.replace(/^Bearer /, '') ?? null);
  return {
    key,
    models,
    chatAt(path) {
      for (const { pattern, protocol, stream } of paths) {
        const match = pattern.exec(path);
        if (match === null) continue;
        const model = match.groups?.model;
        return dialectWith(protocol, {
          ...(model === undefined ? {} : { model: decodeURIComponent(model) }),
          ...(stream === undefined ? {} : { stream }),
        });
      }
      return null;
    },
    refusal(request, chat, text) {
      if (auth.kind !== 'none' && credentialIn(request) !== key)
        return {
          rule: 'key',
          status: 401,
          type: 'authentication_error',
          code: 'invalid_api_key',
          message: 'Incorrect API key provided.',
        };
      const body = record(parseJson(text));
      if (chat === null || body === null) return null;
      const model = chat.model ?? String(body.model ?? '');
      for (const { id, reject } of rules.get(chat.dialect.id) ?? []) {
        const rejected = reject({ model, body });
        if (rejected !== null) return { rule: id, ...rejected };
      }
      return null;
    },
    errorBody: ({ status, message, type = 'invalid_request_error', code = 'invalid_request', param }, chat) =>
      JSON.stringify(
        codecs[chat?.dialect.id ?? commonProtocol].client.encodeError({
          status,
          message,
          type,
          code,
          requestId: '',
          ...(param === undefined ? {} : { param }),
        }),
      ),
  };
}
