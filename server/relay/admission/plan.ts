/** Stage 3: which channels may serve the request, in which order, and what is held for it. */
import { ChannelStatus } from '../../contract/enums.ts';
import { AppError } from '../../contract/errors.ts';
import type { Prices } from '../../contract/prices.ts';
import { resolvePrices } from '../../contract/pricing-tables.ts';
import { underTerms } from '../../contract/pricing-terms.ts';
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import { text } from '../../protocols/shared/json.ts';
import { looseName } from '../../protocols/shared/member-name.ts';
import { type CandidateList, type LiveState, orderCandidates, traceOf } from '../../routing/candidates.ts';
import type { Inquiry, Principal } from '../intake/inquiry.ts';
import { type Affinity, conversationKey, keptIds, recalledIds } from '../routing/affinity.ts';
import type { Health } from '../routing/health.ts';
import type { Kept } from '../routing/hearsay.ts';
import type { RelayState } from '../state/state.ts';
import { isPaidByHouse } from './gate.ts';
import type { Estimate } from './meter.ts';
import { estimate } from './meter.ts';
import type { Pricing } from './terms.ts';
import { allowedCandidates, largestSurcharges } from './terms.ts';

export interface PlanDeps {
  readonly state: RelayState;
  readonly health: Health;
  readonly affinity: Affinity;
  readonly random: () => number;
}

/** Before it is known whether it can be paid: the whole is held. @param test a disabled channel may be tested. @throws AppError channel_*, model_not_found, model_price_unset. */
export function makePlan(deps: PlanDeps, inquiry: Inquiry, principal: Principal, test = false): Plan {
  const { state } = deps;
  const { group, user } = principal;
  const pinned = principal.pinnedChannel;
  const { kept, unknown } = continuedBy(deps.affinity, inquiry, user.id);
  const list =
    pinned === null ? continuing(kept, state.candidates(group, inquiry.model)) : [[pinnedChannel(state, pinned, test)]];
  // With nobody to choose from, nothing needs to be remembered.
  const conversation = list.some((tier) => tier.length > 1) ? conversationKey(inquiry, principal) : null;
  const live: LiveState<ChannelSnapshot> = {
    random: deps.random,
    condition: deps.health.condition,
    waitMs: deps.health.waitMs,
    preferred: () => deps.affinity.find(conversation),
  };
  const ordered = orderCandidates(list, live);
  if (ordered.length === 0) {
    const known = state.configured(group, inquiry.model);
    throw new AppError(known ? 'channel_unavailable' : 'model_not_found', { group, model: inquiry.model });
  }
  const settings = state.settings();
  // Where one person pays for all, all is theirs.
  const keeping = channelsFor(ordered, inquiry, unknown && !settings.selfUse);
  const candidates = allowedCandidates(inquiry, keeping, settings);
  const acceptUnset = settings.selfUse || user.setting.accept_unset_model_ratio_model === true;
  const pricing = { tables: settings.priceTables, group, userGroup: user.group };
  const ordinary = resolvePrices(pricing.tables, inquiry.model, { ...pricing, acceptUnset });
  if (ordinary === null) throw new AppError('model_price_unset', { model: inquiry.model });
  const prices = underTerms(ordinary, largestSurcharges(inquiry, candidates, settings));
  const size = estimate(inquiry, { prices, candidates }, null);
  return {
    candidates,
    prices,
    pricing,
    promptTokens: size.usual,
    estimate: size,
    hold: size.hold,
    most: size.hold,
    held: size.maxTokens,
    overcommit: 1,
    house: isPaidByHouse(settings, principal),
    ownerId: user.id,
    conversation,
    showCost: settings.showCost,
    trace: settings.showTrace ? traceOf(list, candidates, live) : null,
  };
}

interface Continued {
  /** What the request continues. */
  readonly kept: Kept | null;
  /** It names things whose owner nobody knows. */
  readonly unknown: boolean;
}
const nothingContinued: Continued = { kept: null, unknown: false };

/** The upstream knows our key alone: whose something is only we can tell. @throws AppError previous_response_not_found. */
function continuedBy(affinity: Affinity, inquiry: Inquiry, userId: number): Continued {
  const ids = keptIds(inquiry);
  const recalled = recalledIds(inquiry);
  if (ids.length === 0 && recalled.length === 0) return nothingContinued;
  let first: Kept | null = null;
  let unknown = false;
  const look = (id: string): Kept | null => {
    const kept = affinity.kept(id);
    if (kept !== null && kept.ownerId !== userId) throw new AppError('previous_response_not_found');
    first ??= kept;
    return kept;
  };
  for (const id of ids) if (look(id) === null) unknown = true;
  for (const id of recalled) look(id);
  return { kept: first, unknown };
}

/**
 * The channels that may be asked for what the request names. What an answer made has an owner, so that an unknown id is
 * passed on only where the operator allows it; files and vector stores are made by the operator beside this site, so that
 * they are passed on unless the operator forbids it. @throws AppError previous_response_not_found, stored_id_refused.
 */
function channelsFor(
  candidates: readonly ChannelSnapshot[],
  { body }: Inquiry,
  unknown: boolean,
): readonly ChannelSnapshot[] {
  const open = unknown ? candidates.filter(({ setting }) => setting.unknown_ids === 'allow') : candidates;
  if (open.length === 0) throw new AppError('previous_response_not_found');
  if (!open.some(refusesUnknown)) return open;
  const id = firstFileIn(body);
  if (id === null) return open;
  const allowed = open.filter((channel) => !refusesUnknown(channel));
  if (allowed.length === 0) throw new AppError('stored_id_refused', { id });
  return allowed;
}

const refusesUnknown = ({ setting }: ChannelSnapshot): boolean => setting.unknown_ids === 'refuse';

/** Members that name files and the like, by their loose names. */
const fileNames: ReadonlySet<string> = new Set([
  'fileid',
  'fileids',
  'vectorstoreid',
  'vectorstoreids',
  'fileuri',
  'cachedcontent',
]);
/** What a function takes is no request. */
const ofFunctions: ReadonlySet<string> = new Set([
  'parameters',
  'inputschema',
  'arguments',
  'args',
  'properties',
  'schema',
]);

function firstFileIn(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null;
  if (Array.isArray(value)) {
    for (const item of value) {
      const id = firstFileIn(item);
      if (id !== null) return id;
    }
    return null;
  }
  const members = value as Readonly<Record<string, unknown>>;
  for (const name in members) {
    const loose = looseName(name);
    if (ofFunctions.has(loose) || (loose === 'input' && members.type === 'tool_use')) continue;
    const said = members[name];
    const id = fileNames.has(loose) ? text(Array.isArray(said) ? said[0] : said) : firstFileIn(said);
    if (id !== null) return id;
  }
  return null;
}

/** It continues where it was made, as long as that channel still serves the caller. */
function continuing(kept: Kept | null, list: CandidateList<ChannelSnapshot>): CandidateList<ChannelSnapshot> {
  const channel = kept === null ? undefined : list.flat().find((candidate) => candidate.id === kept.channelId);
  return channel === undefined ? list : [[channel]];
}

function pinnedChannel(state: RelayState, id: number, test: boolean): ChannelSnapshot {
  const channel = state.channel(id);
  if (channel === undefined) throw new AppError('channel_pin_unknown');
  if (channel.status !== ChannelStatus.enabled && !test) throw new AppError('channel_pin_disabled');
  return channel;
}

/** After `plan`: where it may go, in order, and what it may cost. */
export interface Plan {
  readonly candidates: readonly ChannelSnapshot[];
  /** Under the dearest terms the request can be served under; the bill follows what the answer reports. */
  readonly prices: Prices;
  readonly pricing: Pricing;
  /** Quota held when it starts. */
  readonly hold: number;
  /** Quota it may cost at most; more than `hold` where a stream's hold grows ahead of what is delivered. */
  readonly most: number;
  /** Of the request as it goes out. */
  readonly estimate: Estimate;
  /** Output tokens that are held for. */
  readonly held: number;
  /** How often all that open requests may cost must fit into the balance; 1 = at least once. */
  readonly overcommit: number;
  /** Paid by the house. */
  readonly house: boolean;
  /** As usual text has them; the bound of the hold is larger. */
  readonly promptTokens: number;
  /** Whose request it is: what the upstream keeps of it is theirs. */
  readonly ownerId: number;
  /** Names the conversation whose prompt an upstream may have cached. */
  readonly conversation: string | null;
  /** How the candidates came about, where the operator wants it shown. */
  readonly trace: string | null;
  /** The client is told what the answer cost. */
  readonly showCost: boolean;
}
