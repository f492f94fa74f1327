/** Lists the models a key may use, in the shape of whoever asks. */
import { AppError } from '../../contract/errors.ts';
import type { ProtocolId } from '../../protocols/canonical.ts';
import { allCodecs, commonProtocol } from '../../protocols/registry.ts';
import type { Target } from '../../protocols/target.ts';
import { providerByType } from '../../providers/catalogue.ts';
import { targetFor } from '../../providers/knowledge/target.ts';
import type { Authorise } from '../intake/authorise.ts';
import type { Peer } from '../intake/inquiry.ts';
import { mapModel } from '../routing/choose.ts';
import type { RelayState } from '../state/state.ts';

export interface ListModelsDeps {
  readonly state: RelayState;
  readonly authorise: Authorise;
}

const lists = allCodecs.flatMap(({ id, traits: { models } }) => (models === undefined ? [] : [{ id, models }]));
/** Whoever says nothing of himself is asked last. */
const asked = [...lists.filter(({ id }) => id !== commonProtocol), ...lists.filter(({ id }) => id === commonProtocol)];

/** A list of models, or one of them by name. */
export const isModelsPath = (path: string): boolean => lists.some(({ models }) => models.named(path) !== null);

/** In whose form models are listed. */
const askerFor = (path: string, headers: Headers) =>
  asked.find(({ models }) => models.named(path) !== null && models.asks(path, headers));

export const askerOf = ({ headers }: Request, path: string): ProtocolId =>
  askerFor(path, headers)?.id ?? commonProtocol;

/** @throws AppError as `identify` does; model_unknown. */
export function listModels(deps: ListModelsDeps, request: Request, path: string, peer: Peer): Response {
  const asker = askerFor(path, request.headers);
  if (asker === undefined) throw new AppError('route_unknown', { method: request.method, path });
  if (request.method !== 'GET') throw new AppError('method_not_allowed', { method: request.method });
  const principal = deps.authorise.identify(request, peer);
  const served = deps.state.models(principal.group);
  const limits = principal.token?.modelLimits ?? null;
  const names = (limits === null ? [...served] : served.filter((name) => limits.includes(name))).sort();
  const shape = asker.models;
  const cardOf = (name: string) => shape.card(name, knownOf(deps.state, principal.group, name));
  const wanted = shape.named(path);
  if (wanted !== null && wanted !== '') {
    if (!names.includes(wanted)) throw new AppError('model_unknown', { model: wanted });
    return Response.json(cardOf(wanted));
  }
  const query = new URLSearchParams(request.url.split('?', 2)[1] ?? '');
  return Response.json(shape.list(names.map(cardOf), query));
}

/** What is known of a model where a request for it would go first. */
function knownOf(state: RelayState, group: string, name: string): Target {
  const channel = state.route(group, name)[0]?.[0];
  const slug = channel === undefined ? '' : (providerByType(channel.type)?.slug ?? '');
  return targetFor(slug, mapModel(channel?.modelMapping ?? {}, name), state.settings().modelRules);
}
