/** GET /v1/models and /v1/models/{model}: what this key may use. */
import { AppError } from '../contract/errors.ts';
import type { Authorise } from './authorise.ts';
import type { Peer } from './exchange.ts';
import { clientError, errorResponse } from './render-error.ts';
import type { RelayState } from './state.ts';

export interface ListModelsDeps {
  readonly state: RelayState;
  readonly authorise: Authorise;
  readonly requestId: string;
}

/** Fixed, as in the family: clients only look at the id. */
const createdAt = 1_626_777_600;

const card = (id: string) => ({ id, object: 'model', created: createdAt, owned_by: 'gateway' });

export function listModels(deps: ListModelsDeps, request: Request, path: string, peer: Peer): Response {
  try {
    if (request.method !== 'GET') throw new AppError('method_not_allowed', { method: request.method });
    const principal = deps.authorise.identify(request, peer);
    const served = deps.state.models(principal.group);
    const limits = principal.token?.modelLimits ?? null;
    const names = (limits === null ? [...served] : served.filter((name) => limits.includes(name))).sort();
    const wanted = decodeURIComponent(path.slice('/v1/models/'.length)).replace(/\/$/, '');
    if (path.startsWith('/v1/models/') && wanted !== '') {
      if (!names.includes(wanted)) throw new AppError('not_found', { what: wanted });
      return Response.json(card(wanted));
    }
    return Response.json({ object: 'list', success: true, data: names.map(card) });
  } catch (error) {
    return errorResponse('openai-chat', clientError(error, deps.requestId));
  }
}
