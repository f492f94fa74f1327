/** Lists the models a key may use, in the shape of whoever asks: OpenAI, Anthropic or Gemini. */
import { AppError } from '../../contract/errors.ts';
import type { ProtocolId } from '../../protocols/canonical.ts';
import type { Authorise } from '../intake/authorise.ts';
import type { Peer } from '../intake/inquiry.ts';
import type { RelayState } from '../state/state.ts';

export interface ListModelsDeps {
  readonly state: RelayState;
  readonly authorise: Authorise;
}

interface Shape {
  card(id: string): Record<string, unknown>;
  list(cards: readonly Record<string, unknown>[], query: URLSearchParams): Record<string, unknown>;
}

/** Fixed, as in the family: clients only look at the id. */
const createdAt = 1_626_777_600;
const createdText = new Date(createdAt * 1000).toISOString().replace('.000', '');

const openAi: Shape = {
  card: (id) => ({ id, object: 'model', created: createdAt, owned_by: 'gateway' }),
  list: (data) => ({ object: 'list', success: true, data }),
};

const anthropic: Shape = {
  card: (id) => ({ type: 'model', id, display_name: id, created_at: createdText }),
  list(cards, query) {
    const after = query.get('after_id');
    const before = query.get('before_id');
    const at = (id: string | null): number => cards.findIndex((card) => card.id === id);
    const limit = sizeOf(query.get('limit'), 20);
    const end = before !== null && at(before) >= 0 ? at(before) : cards.length;
    const start = after !== null ? at(after) + 1 : before !== null ? Math.max(0, end - limit) : 0;
    const data = cards.slice(start, Math.min(end, start + limit));
    const more = before !== null && after === null ? start > 0 : start + limit < end;
    return { data, has_more: more, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
  },
};

const gemini: Shape = {
  card: (id) => ({
    name: `models/${id}`,
    version: '001',
    displayName: id,
    description: '',
    inputTokenLimit: 1_048_576,
    outputTokenLimit: 65_536,
    supportedGenerationMethods: ['generateContent', 'countTokens'],
  }),
  list(cards, query) {
    const start = sizeOf(query.get('pageToken'), 0);
    const size = sizeOf(query.get('pageSize'), 50);
    const next = start + size;
    return {
      models: cards.slice(start, next),
      ...(next < cards.length ? { nextPageToken: String(next) } : {}),
    };
  },
};

const shapes: Readonly<Partial<Record<ProtocolId, Shape>>> = {
  'anthropic-messages': anthropic,
  'gemini-generate': gemini,
};

const sizeOf = (text: string | null, fallback: number): number => {
  const number = Number(text);
  return text !== null && text !== '' && Number.isInteger(number) && number >= 0 ? Math.min(number, 1000) : fallback;
};

/** GET /v1/models, /v1beta/models and one of them by name. */
export const isModelsPath = (path: string): boolean => /^\/v1(beta)?\/models(\/[^:]*)?$/.test(path);

/** In whose form models are listed. */
export function askerOf(request: Request, path: string): ProtocolId {
  const { headers } = request;
  if (path.startsWith('/v1beta/') || headers.has('x-goog-api-key')) return 'gemini-generate';
  return headers.has('anthropic-version') ? 'anthropic-messages' : 'openai-chat';
}

/** @throws AppError as `identify` does; model_unknown. */
export function listModels(deps: ListModelsDeps, request: Request, path: string, peer: Peer): Response {
  if (request.method !== 'GET') throw new AppError('method_not_allowed', { method: request.method });
  const principal = deps.authorise.identify(request, peer);
  const served = deps.state.models(principal.group);
  const limits = principal.token?.modelLimits ?? null;
  const names = (limits === null ? [...served] : served.filter((name) => limits.includes(name))).sort();
  const shape = shapes[askerOf(request, path)] ?? openAi;
  const wanted = nameIn(path);
  if (wanted !== '') {
    if (!names.includes(wanted)) throw new AppError('model_unknown', { model: wanted });
    return Response.json(shape.card(wanted));
  }
  const query = new URLSearchParams(request.url.split('?', 2)[1] ?? '');
  return Response.json(shape.list(names.map(shape.card), query));
}

function nameIn(path: string): string {
  const rest = path.replace(/^\/v1(beta)?\/models\/?/, '').replace(/\/$/, '');
  try {
    return decodeURIComponent(rest);
  } catch {
    return rest;
  }
}
