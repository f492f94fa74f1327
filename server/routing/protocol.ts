/** In what a channel is spoken to for a kind of request: dialect or wire, the model's name there, and what is known of that model. */
import { isModelName } from '../contract/address-part.ts';
import type { ChannelSnapshot } from '../contract/snapshot.ts';
import type { ProtocolId } from '../protocols/canonical.ts';
import type { Codec, Wire } from '../protocols/codec.ts';
import type { ModelSuffix, OperatorSettings, ThinkingSettings } from '../protocols/definition.ts';
import { allCodecs, codecFor, commonProtocol, isProtocol } from '../protocols/registry.ts';
import type { Target as ModelInfo } from '../protocols/target.ts';
import type { Adapter, CustomForm, KeyKind, Place } from '../providers/adapter.ts';
import { adapterOf } from '../providers/adapter-registry.ts';
import { providerByType } from '../providers/catalogue.ts';
import { type Rules, rulesFor } from '../providers/knowledge/apply.ts';
import { endpointRowFor } from '../providers/knowledge/endpoints.ts';
import { systemOrderAt } from '../providers/knowledge/message-order.ts';
import type { ModelRow } from '../providers/knowledge/row.ts';
import { streamingAt } from '../providers/knowledge/streams.ts';
import { hasEffortSuffix, targetFor } from '../providers/knowledge/target.ts';
import { toolTypesAt } from '../providers/knowledge/tool-types.ts';
import { type Provider, supportsOperation } from '../providers/provider.ts';
import { mapModel } from './candidates.ts';
import type { OfferOptions } from './offers.ts';

/** The options that calls follow from. */
export interface CallOptions extends OperatorSettings, OfferOptions {
  readonly thinking: ThinkingSettings;
  readonly modelRules: readonly ModelRow[];
}

/** What of a request the calls of a channel depend on. */
export interface CallRequest {
  readonly operation: string;
  readonly protocol: ProtocolId;
  readonly stream: boolean;
  /** The model as the client calls it. */
  readonly model: string;
  /** From the console's playground. */
  readonly session: boolean;
  /** Work is ordered that is fetched later. */
  readonly ordered: boolean;
  /** It offers tools to a model that may think. */
  readonly tools?: true;
}

/** Facts about calls, once the channel's protocol is known. */
export interface CallDetails {
  readonly channel: ChannelSnapshot;
  /** It streams where the upstream does. */
  readonly request: CallRequest;
  readonly options: CallOptions;
  readonly provider: Provider;
  readonly adapter: Adapter | null;
  readonly codec: Codec;
  readonly place: Place;
  /** What the channel calls the client's model. */
  readonly mapped: string;
  /** The suffix of that name, which is not part of the model's own. */
  readonly suffix: ModelSuffix | null;
  /** The request is not in the upstream's dialect. */
  readonly translated: boolean;
  /** The client asked for a stream and the upstream has none, or the reverse. */
  readonly bridged: boolean;
  readonly wire: Wire | null;
  /** The form of another operation than chat, where it is the upstream's own. */
  readonly form: CustomForm | null;
  /** What the provider wants otherwise; undefined = nothing. */
  readonly rules: Rules | undefined;
  /** Rules of the upstream's model. */
  readonly known: ModelInfo;
  /** Types of tools that the upstream takes from clients of its own dialect; null = all. */
  readonly toolTypes: RegExp | null;
}

/** @returns null when the provider does not serve the request. */
export function callDetails(
  channel: ChannelSnapshot,
  requested: CallRequest,
  options: CallOptions,
  keyKind: KeyKind,
): CallDetails | null {
  const provider = providerByType(channel.type);
  if (provider === undefined) return null;
  const { operation } = requested;
  const chat = operation === 'chat';
  const adapter = adapterOf(provider.slug);
  const mapped = mapModel(channel.modelMapping, requested.model);
  const first = dialectWith({ channel, request: requested, provider, adapter }, mapped, keyKind);
  if (first === null) return null;
  const suffix = chat ? codecFor(first).definition.suffix.read(mapped, options.thinking, hasEffortSuffix) : null;
  const model = suffix?.model ?? mapped;
  if (!isModelName(model)) return null;
  const stream = streamsAt(channel, requested, { options, provider, model });
  const bridged = stream !== requested.stream;
  const request = bridged ? { ...requested, stream } : requested;
  const spoken = adapter?.protocol?.({ operation, model, keyKind }) ?? null;
  const wire = chat ? (spoken?.wire ?? null) : null;
  const dialect = wire?.dialect ?? first;
  const ownWire = wire !== null && wire.dialect === undefined;
  const translated = dialect !== request.protocol || ownWire;
  const place: Place = {
    provider,
    operation: operation === 'count_tokens' ? countOf(dialect) : operation,
    row: rowOf(operation, dialect, wire),
    dialect,
    model,
    mapped: model !== request.model,
    stream,
    baseUrl: (channel.baseUrl || provider.baseUrl).replace(/\/+$/, ''),
    other: channel.other,
  };
  const order = systemOrderAt(provider.slug, dialect, place.baseUrl, channel.setting.system_messages);
  return {
    channel,
    request,
    options,
    provider,
    adapter,
    codec: codecFor(dialect),
    place,
    mapped,
    suffix,
    translated,
    bridged,
    wire,
    form: chat ? null : (spoken?.form ?? null),
    rules: chat && !ownWire ? rulesFor(provider.slug, dialect, translated, model, order) : undefined,
    known: targetFor(provider.slug, model, options.modelRules),
    toolTypes: chat && !translated ? toolTypesAt(provider.slug, dialect, model) : null,
  };
}

/** Whether the upstream is asked for a stream. */
function streamsAt(
  { setting }: ChannelSnapshot,
  { operation, stream, tools }: CallRequest,
  { options, provider, model }: Pick<CallDetails, 'options' | 'provider'> & { readonly model: string },
): boolean {
  // Bodies that pass as they are say it themselves.
  if (operation !== 'chat' || options.passThrough || setting.pass_through === true) return stream;
  const streams = streamingAt(provider.slug, model, tools === true, setting.upstream_streams);
  return streams === null ? stream : streams === 'always';
}

/** The dialect to speak with a provider: the channel's choice, else that of the model's only endpoint, else the client's own where it can be, else the provider's. @returns null when there is none. */
function dialectWith(
  { channel, request, provider, adapter }: Pick<CallDetails, 'channel' | 'request' | 'provider' | 'adapter'>,
  model: string,
  keyKind: KeyKind,
): ProtocolId | null {
  const { operation, protocol, ordered } = request;
  const offered = (name: string) => supportsOperation(provider, name, { baseUrl: channel.baseUrl, model });
  if (operation === 'embeddings') {
    const ids = [protocol, ...allCodecs.map(({ id }) => id)];
    return ids.find((id) => offered(codecFor(id).definition.embeddings?.operation ?? '')) ?? null;
  }
  if (operation === 'count_tokens') return offered(countOf(protocol)) ? protocol : null;
  if (ordered) return protocol;
  if (operation !== 'chat') return offered(operation) ? protocol : null;
  const spoken = adapter?.protocol?.({ operation, model, keyKind });
  if (spoken?.dialect !== undefined) return spoken.dialect;
  const supports = (dialect: ProtocolId) => offered(codecFor(dialect).definition.chatOperation);
  const configured = channel.setting.dialect;
  if (typeof configured === 'string' && isProtocol(configured) && supports(configured)) return configured;
  const row = endpointRowFor(provider.slug, model);
  if (row !== undefined && (row.unlessEffort === undefined || request.tools) && supports(row.dialect))
    return row.dialect;
  const fallback = spoken?.wire === undefined ? protocol : commonProtocol;
  if (supports(fallback)) return fallback;
  return provider.protocol !== null && supports(provider.protocol) ? provider.protocol : null;
}

/** By which the upstream counts tokens. */
const countOf = (protocol: ProtocolId): string => codecFor(protocol).definition.countOperation ?? '';

function rowOf(operation: string, dialect: ProtocolId, wire: Wire | null): string {
  if (operation === 'embeddings') return codecFor(dialect).definition.embeddings?.operation ?? operation;
  if (operation === 'count_tokens') return countOf(dialect);
  // Where a wire of its own is spoken, it is the provider's chat.
  return operation === 'chat' ? codecFor(wire === null ? dialect : commonProtocol).definition.chatOperation : operation;
}
