/** Asks for fewer searches where the quota that is left does not carry the usual ones: the number goes into the limit that the search's own host heeds. */

import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { SearchLimit } from '../../protocols/definition.ts';
import { codecFor } from '../../protocols/registry.ts';
import { record } from '../../protocols/shared/json.ts';
import { looseName } from '../../protocols/shared/member-name.ts';
import { providerByType } from '../../providers/catalogue.ts';
import { hostedByTools } from '../../providers/knowledge/builtin-tools.ts';
import { limitsSearches } from '../../providers/knowledge/own-hosts.ts';
import { keepsLimit } from '../../routing/offers.ts';
import { callDetails } from '../../routing/protocol.ts';
import { editMembers, outline } from '../intake/json-text.ts';
import { exactBody, type ParsedRequest } from '../intake/parsed-request.ts';
import { type Estimate, reserveFor, withLookups } from './meter.ts';
import type { Plan } from './plan.ts';

/** The one search of a request, and all that is read and sold for it. */
interface Search {
  readonly limit: SearchLimit;
  /** Among the tools. */
  readonly at: number;
  readonly tools: readonly unknown[];
  /** Calls that are held for. */
  readonly calls: number;
  /** The limit that the client names; Infinity = it names none. */
  readonly named: number;
}

/** @returns null where anything else is looked up for the request, or its host does not heed a limit. */
function searchIn(parsed: ParsedRequest, { requested, settings }: Plan): Search | null {
  const limit = codecFor(parsed.protocol).definition.searchLimit;
  const { tools } = parsed.body;
  if (limit === undefined || parsed.json === null || !Array.isArray(tools) || requested.again || settings.passThrough)
    return null;
  const [use] = requested.uses;
  if (use === undefined || requested.uses.length > 1) return null;
  if (requested.calls === 0 || requested.reads === Number.POSITIVE_INFINITY) return null;
  const at = tools.findIndex((tool) => hostedByTools([tool]).uses.length > 0);
  const tool = record(tools[at]);
  if (tool === null || typeof tool.type !== 'string' || !limit.type.test(tool.type)) return null;
  // All that is read is this search's, by its one spelling.
  const hosted = hostedByTools([tool]);
  if (hosted.reads / hosted.calls !== requested.reads / requested.calls) return null;
  const place = limit.inTool ? tool : parsed.body;
  const loose = looseName(limit.member);
  if (Object.keys(place).some((name) => name !== limit.member && looseName(name) === loose)) return null;
  const named = place[limit.member] ?? Number.POSITIVE_INFINITY;
  if (typeof named !== 'number' || !(named >= 1)) return null;
  return { limit, at, tools, calls: Math.ceil(use.max / use.units), named };
}

/** Whether the limit reaches the host that heeds it as it is written. */
function heeds(channel: ChannelSnapshot, parsed: ParsedRequest, plan: Plan): boolean {
  const provider = providerByType(channel.type);
  if (
    provider === undefined ||
    !limitsSearches(provider, channel.baseUrl) ||
    !keepsLimit(channel, plan.settings, parsed.model)
  )
    return false;
  if (Object.keys(channel.paramOverride).some((name) => looseName(name) !== 'maxtokens')) return false;
  const request = { ...parsed, session: parsed.route.session === true, ordered: false };
  return callDetails(channel, request, plan.settings, 'secret')?.translated === false;
}

/** The plan and its highest cost with so many searches. */
function planWith(plan: Plan, { calls: before }: Search, calls: number): Plan {
  const { estimate } = plan;
  const reads = Math.ceil((plan.requested.reads / before) * calls);
  const uses = plan.requested.uses.map((use) => ({ ...use, max: use.units * calls }));
  const requested = { ...plan.requested, reads, uses, calls };
  const fewer = withLookups(estimate, requested, plan.route.toolCallsFor(requested));
  const { reserveAmount } = fewer;
  return { ...plan, requested, estimate: fewer, reserveAmount, max: reserveAmount };
}

/** The same request with that limit written into it. */
function written(parsed: ParsedRequest, { limit, at, tools, named }: Search, calls: number): ParsedRequest | null {
  const { json, body } = parsed;
  if (json === null) return null;
  const most = Math.min(named, calls);
  const exact = exactBody(parsed).tools;
  const limited = (Array.isArray(exact) ? exact : tools).map((tool: unknown, index) =>
    index === at ? { ...record(tool), [limit.member]: most } : tool,
  );
  const [name, value] = limit.inTool ? ['tools', JSON.stringify(limited)] : [limit.member, String(most)];
  const text = editMembers(json.text, json.shape, new Map([[name, value]]));
  const shape = outline(text);
  if (!shape.ok) return null;
  return {
    ...parsed,
    body: { ...body, [name]: JSON.parse(value) as unknown },
    json: { text, shape, bytes: new TextEncoder().encode(text) },
  };
}

/** The least of each plan. */
const least = new WeakMap<Plan, Estimate>();

/** Highest cost with as few searches as the request can be limited to. */
export function fewestSearches(parsed: ParsedRequest, plan: Plan): Estimate {
  if (plan.requested.reads === 0) return plan.estimate;
  const known = least.get(plan);
  if (known !== undefined) return known;
  const search = searchIn(parsed, plan);
  const heeding = search !== null && hasHeeding(parsed, plan);
  const found = heeding ? planWith(plan, search, 1).estimate : plan.estimate;
  least.set(plan, found);
  return found;
}

const hasHeeding = (parsed: ParsedRequest, plan: Plan): boolean =>
  plan.candidates.filter((channel) => heeds(channel, parsed, plan)).length > 0;

/** Likely cost with the searches of the request's plan. */
export const withSearchesOf = (likely: Estimate, { requested, estimate: { toolCalls = {} } }: Plan): Estimate =>
  withLookups(likely, requested, toolCalls);

/**
 * The same request with the most searches that leave as much for the rest of it, one at least.
 * @param available quota the request may cost at most. @param held what it is likely to cost, and quota for that; null = all is held.
 * @returns null where their number cannot be limited, or is as small already.
 */
export function withFewerSearches(
  parsed: ParsedRequest,
  plan: Plan,
  available: number,
  held: { readonly estimate: Estimate; readonly available: number } | null = null,
): { readonly parsed: ParsedRequest; readonly plan: Plan } | null {
  const search = searchIn(parsed, plan);
  if (search === null || search.calls < 2) return null;
  const heeding = (channel: ChannelSnapshot): boolean => heeds(channel, parsed, plan);
  const candidates = plan.candidates.filter(heeding);
  if (candidates.length === 0) return null;
  const among = { ...plan, candidates, route: plan.route.filter(heeding) };
  const leavesAsMuch = (fewer: Plan): boolean =>
    reserveFor(fewer.estimate, 0) <= available / 2 &&
    (held === null || reserveFor(withSearchesOf(held.estimate, fewer), 0) <= held.available / 2);
  // Each one more costs more.
  let calls = 1;
  for (let most = search.calls - 1; calls < most; ) {
    const middle = Math.ceil((calls + most) / 2);
    if (leavesAsMuch(planWith(among, search, middle))) calls = middle;
    else most = middle - 1;
  }
  const limited = written(parsed, search, calls);
  return limited === null ? null : { parsed: limited, plan: planWith(among, search, calls) };
}
