/** Lists or describes the models a key may use, in the caller's protocol. */
import { ChannelStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { mayUseGroup } from '../../contract/key-groups.ts';
import { atFactor, channelFactorIn } from '../../contract/pricing/channel-factor.ts';
import { completionPriceOf, priceOfRatio } from '../../contract/pricing/format.ts';
import { resolvePrices } from '../../contract/pricing/tables.ts';
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { ProtocolId } from '../../protocols/canonical.ts';
import type { ModelOffer } from '../../protocols/definition.ts';
import { allCodecs, commonProtocol } from '../../protocols/registry.ts';
import { parseJson, record } from '../../protocols/shared/json.ts';
import type { Target } from '../../protocols/target.ts';
import { providerByType } from '../../providers/catalogue.ts';
import { targetFor } from '../../providers/knowledge/target.ts';
import { type CandidateList, idsOf, mapModel } from '../../routing/candidates.ts';
import { barrierTo, type Chain, type Leaf, throughGroups } from '../../routing/chains.ts';
import type { PlanKey } from '../../routing/plan.ts';
import type { Authorize } from '../intake/authorize.ts';
import { readBody } from '../intake/compressed-body.ts';
import { inServingGroup, type Peer, type Principal } from '../intake/parsed-request.ts';
import type { RelayState } from '../state/state.ts';

export interface ListModelsDeps {
  readonly state: RelayState;
  readonly authorize: Authorize;
}

const lists = allCodecs.flatMap(({ id, definition: { models } }) => (models === undefined ? [] : [{ id, models }]));
/** The protocol of callers that identify themselves by nothing comes last. */
const ordered = [
  ...lists.filter(({ id }) => id !== commonProtocol),
  ...lists.filter(({ id }) => id === commonProtocol),
];

/** A list of models, or one of them by name. */
export const isModelsPath = (path: string): boolean => lists.some(({ models }) => models.named(path) !== null);

const fixed = new Map(allCodecs.flatMap(({ definition }) => Object.entries(definition.fixed ?? {})));
const descriptions = new Map(
  allCodecs.flatMap(({ definition: { modelDetails } }) =>
    modelDetails === undefined ? [] : [[modelDetails.path, modelDetails] as const],
  ),
);

/** Whether the path is a client's own address of models or of their descriptions. */
export const isModelListPath = (path: string): boolean => fixed.has(path) || descriptions.has(path);

/** Bytes of a question for one model: it is free, and names nothing else. */
const detailsLimit = 64 * 1024;

/** @throws AppError as `identify` and `readBody` do; model_unknown. */
export async function answerModelList(
  deps: ListModelsDeps,
  { request, path, peer, bodyLimit }: ModelListRequest,
): Promise<Response> {
  const describes = descriptions.get(path);
  if (request.method !== (describes === undefined ? 'GET' : 'POST'))
    throw new AppError('method_not_allowed', { method: request.method });
  if (describes === undefined) return Response.json(fixed.get(path));
  const principal = deps.authorize.identify(request, peer);
  const body = record(
    parseJson(new TextDecoder().decode(await readBody(request, { limit: Math.min(bodyLimit, detailsLimit) }))),
  );
  if (body === null) throw new AppError('body_not_json');
  const model = describes.modelIn(body);
  if (typeof model !== 'string' || model === '') throw new AppError('model_missing');
  if (!namesFor(deps, principal).includes(model)) throw new AppError('model_unknown', { model });
  const first = firstOf(deps.state, principal, model);
  return Response.json(describes.card(knownOf(deps.state, { ...principal, group: first.group }, first.model)));
}

interface ModelListRequest {
  readonly request: Request;
  readonly path: string;
  readonly peer: Peer;
  readonly bodyLimit: number;
}

export function namesFor({ state }: Pick<ListModelsDeps, 'state'>, principal: ListReader): readonly string[] {
  const limits = principal.token?.modelLimits ?? null;
  const names = servedTo(state, principal).filter((name) => limits === null || limits.includes(name));
  for (const chain of state.chains().values())
    if (isOffered(state, chain, principal) && !names.includes(chain.name)) names.push(chain.name);
  return names.sort();
}

/** Models that are served in any of the key's groups. */
function servedTo(state: RelayState, { group, groups = [group], token }: ListReader): readonly string[] {
  const bound = token?.channels;
  // A key has few channels, and a site many models.
  const channels = bound === undefined ? null : idsOf(bound).map((id) => state.channel(id));
  const served = (one: string): readonly string[] => (channels === null ? state.models(one) : modelsOf(channels, one));
  return groups.length === 1 ? served(groups[0] ?? '') : [...new Set(groups.flatMap(served))];
}

/** Models that these channels serve to the group, each once. */
const modelsOf = (channels: readonly (ChannelSnapshot | undefined)[], group: string): readonly string[] => [
  ...new Set(
    channels.flatMap((channel) =>
      channel?.status === ChannelStatus.enabled && channel.groups.includes(group) ? channel.models : [],
    ),
  ),
];

type ListReader = Pick<Principal, 'group' | 'groups' | 'token' | 'user'> & Partial<Pick<Principal, 'pinnedChannel'>>;

/** Targets of a virtual model that the caller may reach, in order. */
function reachable(
  state: RelayState,
  chain: Chain,
  { group, groups, user, pinnedChannel = null }: ListReader,
): readonly Leaf[] {
  const { leaves } = groups === undefined ? chain : throughGroups(chain, groups);
  const caller = { group, pinnedChannel, mayUse: (other: string) => mayUseGroup(state.settings, user.group, other) };
  return leaves.filter((leaf) => barrierTo(leaf, caller) === null);
}

/** Some target is served, and the key's list has all that can be reached. */
function isOffered(state: RelayState, chain: Chain, principal: ListReader): boolean {
  const limits = principal.token?.modelLimits ?? null;
  const leaves = reachable(state, chain, principal);
  if (limits !== null && ![chain.name, ...leaves.map(({ model }) => model)].every((name) => limits.includes(name)))
    return false;
  const bound = principal.token?.channels;
  return leaves.some(({ model, group }) => state.candidates(group ?? principal.group, model, bound).length > 0);
}

/** Where a request for a name goes first: itself, or the first target of a virtual model. */
function firstOf(state: RelayState, principal: Principal, name: string): Pick<PlanKey, 'model' | 'group'> {
  const chain = state.chain(name);
  const leaf = chain === null ? undefined : reachable(state, chain, principal)[0];
  const model = leaf?.model ?? name;
  return { model, group: leaf?.group ?? inServingGroup(state, principal, model).group };
}

/** In whose form models are listed. */
const requesterFor = (path: string, { headers, url }: Request) => {
  const query = url.split('?', 2)[1] ?? '';
  return ordered.find(({ models }) => models.named(path) !== null && models.isRequested(path, headers, query));
};

export const requesterOf = (request: Request, path: string): ProtocolId =>
  requesterFor(path, request)?.id ?? commonProtocol;

/** @throws AppError as `identify` does; model_unknown. */
export function listModels(deps: ListModelsDeps, request: Request, path: string, peer: Peer): Response {
  const requester = requesterFor(path, request);
  if (requester === undefined) throw new AppError('route_unknown', { method: request.method, path });
  if (request.method !== 'GET' && request.method !== 'HEAD')
    throw new AppError('method_not_allowed', { method: request.method });
  const principal = deps.authorize.identify(request, peer);
  const names = namesFor(deps, principal);
  const shape = requester.models;
  const describes = shape.describes === true && deps.state.settings.agentSignIn;
  const cardOf = (name: string) => {
    const { model, group } = firstOf(deps.state, principal, name);
    const offer = describes ? offerOf(deps.state, { ...principal, group }, model) : undefined;
    const card = shape.card(
      name,
      knownOf(deps.state, { ...principal, group }, model),
      offer,
      deps.state.settings.responsesSockets,
    );
    const chain = deps.state.chain(name);
    // A catalogue that its client keeps has no members of ours.
    if (chain === null || shape.isKept === true) return card;
    return { ...card, targets: targetsOf(deps.state, chain, principal) };
  };
  const modelName = shape.named(path);
  if (modelName !== null && modelName !== '') {
    if (!names.includes(modelName)) throw new AppError('model_unknown', { model: modelName });
    return Response.json(cardOf(modelName));
  }
  const query = new URLSearchParams(request.url.split('?', 2)[1] ?? '');
  const list = shape.list(names.map(cardOf), query);
  if (shape.isKept !== true) return Response.json(list);
  const text = JSON.stringify(list);
  return answerKept(request, text, tagOf(text));
}

/** Price of each target: a request for the name is charged at that of the one that serves it. */
const targetsOf = (state: RelayState, chain: Chain, principal: Principal) =>
  reachable(state, chain, principal).map(({ model, group: own }) => {
    const group = own ?? principal.group;
    return { model, group, price: offerOf(state, { ...principal, group }, model).price };
  });

const tagOf = (text: string): string => `"${Bun.hash(text).toString(16)}"`;

/** To a client that keeps what it got, and asks whether it is still the same. */
export function answerKept({ headers }: Request, text: string, etag: string): Response {
  // A proxy that compresses makes a tag a weak one.
  const known = (headers.get('if-none-match') ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  if (known.includes(etag)) return new Response(null, { status: 304, headers: { etag } });
  return new Response(text, { headers: { 'content-type': 'application/json', etag } });
}

/** Facts about a model at the channel where a request for it would go first. */
function knownOf(state: RelayState, { group, token }: Pick<Principal, 'group' | 'token'>, name: string): Target {
  const channel = state.candidates(group, name, token?.channels)[0]?.[0];
  const slug = channel === undefined ? '' : (providerByType(channel.type)?.slug ?? '');
  return targetFor(slug, mapModel(channel?.modelMapping ?? {}, name), state.settings.modelRules);
}

/** Price that the key pays for a model where a request for it would go first. */
function offerOf(state: RelayState, { group, token, user }: Principal, name: string): ModelOffer {
  const serving = state.candidates(group, name, token?.channels);
  const channel = serving[0]?.[0];
  const { en = '' } = (channel === undefined ? undefined : providerByType(channel.type))?.label ?? {};
  const ordinary = resolvePrices(state.settings.priceTables, name, { group, userGroup: user.group });
  if (ordinary === null) return { price: null, provider: en };
  const { least, most } = factorsOf(serving);
  const range = least === most ? {} : { least: least / most };
  const { modelRatio, completionRatio, modelPrice, groupRatio } = atFactor(ordinary, most);
  if (modelPrice !== null) return { price: { call: modelPrice * groupRatio, ...range }, provider: en };
  const input = priceOfRatio(modelRatio, groupRatio);
  const output = completionPriceOf(modelRatio, completionRatio, groupRatio);
  return { price: { input, output, ...range }, provider: en };
}

/** Of the cheapest channel and the dearest. */
function factorsOf(list: CandidateList<ChannelSnapshot>): { readonly least: number; readonly most: number } {
  let [least, most] = [Number.POSITIVE_INFINITY, 0];
  for (const tier of list)
    for (const { setting } of tier) {
      const factor = channelFactorIn(setting);
      least = Math.min(least, factor);
      most = Math.max(most, factor);
    }
  return most === 0 ? { least: 1, most: 1 } : { least, most };
}
