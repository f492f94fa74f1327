/** In which dialect a channel is spoken to. */

import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { ProtocolId } from '../../protocols/canonical.ts';
import { allCodecs, codecFor, commonProtocol, isProtocol } from '../../protocols/registry.ts';
import { type Provider, servesAt } from '../../providers/provider.ts';
import { quirkOf } from '../../providers/quirk-table.ts';
import type { Inquiry } from '../intake/inquiry.ts';

/** The dialect to speak with a provider: the channel's choice, else the client's own where it can be, else the provider's. @returns null when there is none. */
export function dialectWith(
  provider: Provider,
  inquiry: Inquiry,
  { setting, baseUrl }: Pick<ChannelSnapshot, 'setting' | 'baseUrl'>,
  upstreamModel: string,
): ProtocolId | null {
  const offered = (operation: string) => servesAt(provider, operation, { baseUrl, model: upstreamModel });
  if (inquiry.operation === 'embeddings') {
    const ids = [inquiry.protocol, ...allCodecs.map(({ id }) => id)];
    const offers = (id: ProtocolId) => offered(codecFor(id).traits.embeddings?.operation ?? '');
    return ids.find(offers) ?? null;
  }
  if (inquiry.operation === 'count_tokens') return offered(countOf(inquiry.protocol)) ? inquiry.protocol : null;
  if (inquiry.order !== undefined) return inquiry.protocol;
  if (inquiry.operation !== 'chat') return offered(inquiry.operation) ? inquiry.protocol : null;
  const quirk = quirkOf(provider.slug);
  if (quirk?.dialectFor !== undefined) return quirk.dialectFor(upstreamModel);
  const serves = (dialect: ProtocolId) => offered(codecFor(dialect).traits.chatOperation);
  const wished = setting.dialect;
  if (typeof wished === 'string' && isProtocol(wished) && serves(wished)) return wished;
  if (quirk?.wireFor === undefined && serves(inquiry.protocol)) return inquiry.protocol;
  if (quirk?.wireFor !== undefined && serves(commonProtocol)) return commonProtocol;
  return provider.protocol !== null && serves(provider.protocol) ? provider.protocol : null;
}

/** By which the upstream counts tokens. */
export const countOf = (protocol: ProtocolId): string => codecFor(protocol).traits.countOperation ?? '';
