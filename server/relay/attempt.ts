/** Prepares one attempt at one channel: mapped model, edits on the client's own JSON, address and headers. */
import type { Codec } from '../protocols/codec.ts';
import { codecFor } from '../protocols/registry.ts';
import { authHeaders } from '../providers/auth.ts';
import { providerByType } from '../providers/catalogue.ts';
import { endpointFor, type Provider } from '../providers/provider.ts';
import { mapModel } from './choose.ts';
import type { UpstreamCall } from './dispatch.ts';
import type { Inquiry } from './exchange.ts';
import { editMembers } from './json-text.ts';
import type { ChannelSnapshot } from './snapshot.ts';

export interface Prepared {
  readonly call: UpstreamCall;
  readonly upstreamModel: string;
  /** The request carries our own wish for a usage frame. */
  readonly usageAsked: boolean;
}

/** Request headers that carry features of the dialects and pass through. */
const passedHeaders = ['openai-beta', 'anthropic-beta', 'anthropic-version', 'idempotency-key', 'accept'] as const;

/** @returns null when this channel's provider cannot serve the operation. */
export function prepareAttempt(inquiry: Inquiry, channel: ChannelSnapshot): Prepared | null {
  const provider = providerByType(channel.type);
  if (provider === undefined) return null;
  const upstreamModel = mapModel(channel.modelMapping, inquiry.model);
  const endpoint = endpointFor(provider, inquiry.operation, {
    baseUrl: channel.baseUrl,
    model: upstreamModel,
    other: channel.other,
  });
  if (endpoint === null || provider.protocol !== inquiry.protocol) return null;
  const codec: Codec = codecFor(inquiry.protocol);

  const edits = new Map<string, string | undefined>();
  if (upstreamModel !== inquiry.model) edits.set('model', JSON.stringify(upstreamModel));
  const usageAsked = wantsUsageFrame(inquiry);
  if (usageAsked) edits.set('stream_options', JSON.stringify({ ...streamOptionsOf(inquiry), include_usage: true }));
  for (const [key, value] of Object.entries(channel.paramOverride)) edits.set(key, JSON.stringify(value));

  const headers = { ...fixedHeaders(channel, provider) };
  for (const name of passedHeaders) {
    const value = inquiry.request.headers.get(name);
    if (value !== null) headers[name] = value;
  }
  return {
    call: {
      url: endpoint,
      headers,
      body: edits.size === 0 ? inquiry.bytes : editMembers(inquiry.text, inquiry.shape, edits),
      channel,
      codec,
    },
    upstreamModel,
    usageAsked,
  };
}

const prepared = new WeakMap<ChannelSnapshot, Readonly<Record<string, string>>>();

/** Headers that are the same for every request of a channel. */
function fixedHeaders(channel: ChannelSnapshot, provider: Provider): Readonly<Record<string, string>> {
  const known = prepared.get(channel);
  if (known !== undefined) return known;
  const made = {
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    ...authHeaders(provider, channel.keys[0] ?? '', channel.organization),
  };
  prepared.set(channel, made);
  return made;
}

const streamOptionsOf = (inquiry: Inquiry): Record<string, unknown> => {
  const given = inquiry.body.stream_options;
  return typeof given === 'object' && given !== null && !Array.isArray(given) ? (given as Record<string, unknown>) : {};
};

function wantsUsageFrame(inquiry: Inquiry): boolean {
  if (inquiry.protocol !== 'openai-chat' || !inquiry.stream || inquiry.operation !== 'chat') return false;
  return streamOptionsOf(inquiry).include_usage !== true;
}
