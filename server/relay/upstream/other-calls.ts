/** How calls look that carry no body of a dialect: sockets of conversations, and work that is ordered and fetched later. */

import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { UpstreamHalf } from '../../protocols/codec.ts';
import { codecFor } from '../../protocols/registry.ts';
import { parseJson, record, text } from '../../protocols/shared/json.ts';
import { endpointFor, type Provider } from '../../providers/provider.ts';
import type { Inquiry } from '../intake/inquiry.ts';
import type { KeyChoice } from '../routing/health.ts';
import type { UpstreamCall } from './call.ts';

/** @returns undefined = an ordinary call. */
export function otherBody(inquiry: Inquiry, channel: ChannelSnapshot): UpstreamCall['body'] | undefined {
  if (inquiry.operation === 'realtime') return null;
  const body = inquiry.order?.bodyFor(channel);
  return body === undefined || body === null ? body : JSON.stringify({ ...body, ...channel.paramOverride });
}

interface Facts {
  readonly inquiry: Inquiry;
  readonly channel: ChannelSnapshot;
  readonly provider: Provider;
  readonly key: KeyChoice;
  readonly upstreamModel: string;
}

/** @param headers changed in place. @returns false = an ordinary call. */
export function otherHeaders({ inquiry, provider, key }: Facts, headers: Record<string, string>): boolean {
  if (inquiry.operation === 'realtime') {
    delete headers['content-type'];
    delete headers['accept-encoding'];
    const beta = inquiry.request.headers.get('openai-beta');
    if (beta !== null) headers['openai-beta'] = beta;
    return true;
  }
  // Another gateway takes orders as well, in the form of the programs that make them.
  if (inquiry.operation === 'drawing' && !provider.operations.includes('drawing')) headers['mj-api-secret'] = key.key;
  return inquiry.order !== undefined;
}

/** @returns null = it has none, undefined = an ordinary call. */
export function otherAddress({ inquiry, channel, provider, upstreamModel: model }: Facts): string | null | undefined {
  const { order, operation } = inquiry;
  const facts = { baseUrl: channel.baseUrl, model, other: channel.other };
  if (operation === 'realtime') {
    const address = endpointFor(provider, operation, facts);
    if (address === null) return null;
    return `${address.replace(/^http/, 'ws')}${address.includes('?') ? '&' : '?'}model=${encodeURIComponent(model)}`;
  }
  if (order === undefined) return undefined;
  if (provider.operations.includes(operation)) return endpointFor(provider, operation, { ...facts, path: order.path });
  const base = (channel.baseUrl || provider.baseUrl).replace(/\/+$/, '');
  return base === '' ? null : base + order.path;
}

/** What goes wrong with an order is told in a form of its own. */
export const taskReader: UpstreamHalf = {
  ...codecFor('openai-chat').upstream,
  decodeError(status, body) {
    const told = record(parseJson(body));
    const words = text(told?.description) ?? text(told?.message);
    if (words === null) return codecFor('openai-chat').upstream.decodeError(status, body);
    const code = told?.code;
    return { status, type: null, code: code === undefined || code === null ? null : String(code), message: words };
  },
};
