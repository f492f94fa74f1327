/** How long an upstream may take to its first byte: as long as somebody else could be asked instead, not for ever. */
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import { providerByType } from '../../providers/catalogue.ts';
import { targetFor } from '../../providers/knowledge/target.ts';
import type { Candidates } from '../../routing/candidates.ts';
import type { Exchange } from '../admission/exchange.ts';
import type { Health } from '../routing/health.ts';
import type { Tried } from '../shared/failure.ts';
import type { RelaySettings } from '../state/settings.ts';
import type { Prepared } from './prepare.ts';

/** What is answered at once, or hardly ever: pictures, sound and conversations take their time. */
const quick: ReadonlySet<string> = new Set(['chat', 'completions', 'embeddings', 'moderations', 'rerank']);

interface Deps {
  readonly health: Pick<Health, 'condition'>;
  readonly settings: () => RelaySettings;
}

/** @returns milliseconds; Infinity = only the limit of silence holds. */
export function patienceWith(
  { health, settings }: Deps,
  { inquiry, plan }: Exchange,
  { channel, upstreamModel }: Prepared,
  tried: readonly Tried[],
): number {
  // What was said of this channel holds whoever else there is.
  const { first_byte_seconds: own } = channel.setting;
  if (typeof own === 'number' && own > 0) return own * 1000;
  if (plan.candidates.length === 1 || !quick.has(inquiry.operation)) return Number.POSITIVE_INFINITY;
  const { firstEventMs, firstAnswerMs, modelRules } = settings();
  const limit = inquiry.stream ? firstEventMs : firstAnswerMs;
  if (limit === Number.POSITIVE_INFINITY) return limit;
  return isAnotherFree(health, plan.candidates, tried) &&
    !mayThink(inquiry.operation, channel.type, upstreamModel, modelRules)
    ? limit
    : Number.POSITIVE_INFINITY;
}

/** Healthy channels are drawn first: the first one that was not tried yet tells. */
function isAnotherFree(
  health: Deps['health'],
  candidates: Candidates<ChannelSnapshot>,
  tried: readonly Tried[],
): boolean {
  for (let at = 0; at < candidates.length; at++) {
    const other = candidates.at(at);
    if (other === undefined) return false;
    if (!tried.some(({ channelId }) => channelId === other.id)) return health.condition(other) === 'up';
  }
  return false;
}

/** Of what nobody knows it is assumed. */
function mayThink(operation: string, type: number, model: string, rules: RelaySettings['modelRules']): boolean {
  if (operation !== 'chat') return false;
  return targetFor(providerByType(type)?.slug ?? '', model, rules).thinking !== 'none';
}
