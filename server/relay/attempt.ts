/** Prepares one attempt at one channel: mapped model, dialect, edits on the client's own JSON or a translation, address and headers. */
import type { ChatRequest, ProtocolId } from '../protocols/canonical.ts';
import type { Codec } from '../protocols/codec.ts';
import {
  embedAnswerFromOpenAi,
  embedAnswerToOpenAi,
  embedRequestFromOpenAi,
  embedRequestToOpenAi,
} from '../protocols/gemini-generate/embeddings.ts';
import { codecFor } from '../protocols/registry.ts';
import { authHeaders } from '../providers/auth.ts';
import { providerByType } from '../providers/catalogue.ts';
import { endpointFor, type Provider } from '../providers/provider.ts';
import { mapModel } from './choose.ts';
import type { UpstreamCall } from './dispatch.ts';
import type { Inquiry } from './exchange.ts';
import type { KeyChoice } from './health.ts';
import { editMembers } from './json-text.ts';
import type { RelaySettings } from './settings.ts';
import type { ChannelSnapshot } from './snapshot.ts';

export interface Prepared {
  readonly call: UpstreamCall;
  readonly channel: ChannelSnapshot;
  readonly keyIndex: number;
  readonly upstreamModel: string;
  /** The dialect spoken with the upstream. */
  readonly codec: Codec;
  /** The answer must be told anew in the client's dialect. */
  readonly retold: boolean;
  /** Tells a whole answer of another operation than chat anew. */
  readonly retell: ((body: unknown) => unknown) | null;
  /** The request carries our own wish for a usage frame. */
  readonly usageAsked: boolean;
  /** What the translation could not carry over. */
  readonly dropped: readonly string[];
}

/** Request headers that carry features of the dialects and pass through. */
const passedHeaders = ['openai-beta', 'anthropic-beta', 'anthropic-version', 'idempotency-key', 'accept'] as const;

/** What a provider calls the chat operation of each dialect. */
const chatOperation: Readonly<Record<ProtocolId, string>> = {
  'openai-chat': 'chat',
  'openai-responses': 'responses',
  'anthropic-messages': 'messages',
  'gemini-generate': 'generate',
};

/** The dialect to speak with a provider: the channel's choice, else the client's own where it can be, else the provider's. @returns null when there is none. */
export function dialectWith(
  provider: Provider,
  inquiry: Inquiry,
  setting: ChannelSnapshot['setting'],
): ProtocolId | null {
  if (inquiry.operation === 'embeddings') {
    const wanted =
      inquiry.protocol === 'gemini-generate' ? ['embed_contents', 'embeddings'] : ['embeddings', 'embed_contents'];
    const found = wanted.find((name) => provider.operations.includes(name));
    return found === undefined ? null : found === 'embeddings' ? 'openai-chat' : 'gemini-generate';
  }
  if (inquiry.operation !== 'chat') return provider.operations.includes(inquiry.operation) ? inquiry.protocol : null;
  const serves = (dialect: ProtocolId) => provider.operations.includes(chatOperation[dialect]);
  const wished = Object.keys(chatOperation).find((dialect) => dialect === setting.dialect) as ProtocolId | undefined;
  if (wished !== undefined && serves(wished)) return wished;
  if (serves(inquiry.protocol)) return inquiry.protocol;
  return provider.protocol !== null && serves(provider.protocol) ? provider.protocol : null;
}

/** @returns null when this channel's provider cannot serve the operation. @throws AppError body_invalid when the body cannot be translated. */
export function prepareAttempt(
  inquiry: Inquiry,
  channel: ChannelSnapshot,
  key: KeyChoice,
  settings: RelaySettings,
): Prepared | null {
  const provider = providerByType(channel.type);
  const dialect = provider === undefined ? null : dialectWith(provider, inquiry, channel.setting);
  if (provider === undefined || dialect === null) return null;
  const upstreamModel = mapModel(channel.modelMapping, inquiry.model);
  const url = addressOf(provider, inquiry, channel, dialect, upstreamModel);
  if (url === null) return null;
  const codec = codecFor(dialect);
  const translated = dialect !== inquiry.protocol;
  const dropped: string[] = [];
  const usageAsked = dialect === 'openai-chat' && wantsUsageFrame(inquiry, translated);
  const passThrough = settings.passThrough || channel.setting.pass_through === true;
  const embedded = translated && inquiry.operation === 'embeddings' ? embeddingTold(inquiry, upstreamModel) : null;
  const body = translated
    ? (embedded?.body ?? translatedBody(inquiry, codec, upstreamModel, channel, dropped, settings))
    : editedBody(inquiry, upstreamModel, passThrough ? {} : channel.paramOverride, usageAsked && !passThrough);

  const headers = { ...fixedHeaders(channel, provider, key) };
  if (inquiry.form !== null) headers['content-type'] = inquiry.form.contentType;
  for (const name of passedHeaders) {
    const value = inquiry.request.headers.get(name);
    if (value !== null && !(translated && name.startsWith('anthropic'))) headers[name] = value;
  }
  if (dialect === 'anthropic-messages') headers['anthropic-version'] ??= '2023-06-01';
  return {
    call: { url, headers, body, channel, codec },
    channel,
    keyIndex: key.index,
    upstreamModel,
    codec,
    retell: embedded?.retell ?? null,
    retold:
      (translated && embedded === null) ||
      channel.setting.force_format === true ||
      channel.setting.thinking_to_content === true,
    usageAsked,
    dropped,
  };
}

function addressOf(
  provider: Provider,
  inquiry: Inquiry,
  channel: ChannelSnapshot,
  dialect: ProtocolId,
  model: string,
): string | null {
  const facts = { baseUrl: channel.baseUrl, model, other: channel.other };
  if (inquiry.operation === 'embeddings' && dialect === 'gemini-generate')
    return endpointFor(provider, 'embed_contents', facts);
  if (inquiry.operation !== 'chat') return endpointFor(provider, inquiry.operation, facts);
  const streamed = dialect === 'gemini-generate' && inquiry.stream ? 'stream' : chatOperation[dialect];
  const url = endpointFor(provider, streamed, facts);
  // `?beta=true` and the like are part of the client's request where the dialect is its own.
  const query = dialect === 'anthropic-messages' && inquiry.protocol === dialect ? queryOf(inquiry.request.url) : '';
  return url === null || query === '' ? url : `${url}${url.includes('?') ? '&' : '?'}${query}`;
}

function queryOf(url: string): string {
  const query = new URLSearchParams(url.split('?', 2)[1] ?? '');
  query.delete('key');
  return query.toString();
}

function editedBody(
  inquiry: Inquiry,
  model: string,
  override: Readonly<Record<string, unknown>>,
  usageAsked: boolean,
): UpstreamCall['body'] {
  const { json, form } = inquiry;
  if (json === null) return form === null ? '' : form.body(model === inquiry.model ? null : model);
  const edits = new Map<string, string | undefined>();
  // Where the path names the model the body need not.
  if (model !== inquiry.body.model && inquiry.body.model !== undefined) edits.set('model', JSON.stringify(model));
  if (usageAsked) edits.set('stream_options', JSON.stringify({ ...streamOptionsOf(inquiry), include_usage: true }));
  // The playground's own word for whose prices hold.
  if (inquiry.route.session && 'group' in inquiry.body) edits.set('group', undefined);
  for (const [key, value] of Object.entries(override)) edits.set(key, JSON.stringify(value));
  return edits.size === 0 ? json.bytes : editMembers(json.text, json.shape, edits);
}

/** Embeddings in the other dialect's form. Gemini's own calls are told in the batch form, whichever the client used. */
function embeddingTold(inquiry: Inquiry, model: string): Pick<Prepared, 'retell'> & { readonly body: string } {
  const { body } = inquiry;
  if (inquiry.protocol === 'gemini-generate') {
    const batch = Array.isArray(body.requests);
    return {
      body: JSON.stringify(embedRequestToOpenAi(body, model)),
      retell: (answer) => embedAnswerFromOpenAi(answer, batch),
    };
  }
  return {
    body: JSON.stringify(embedRequestFromOpenAi(body, model)),
    retell: (answer) => embedAnswerToOpenAi(answer, inquiry.model, body.encoding_format),
  };
}

const decodedRequests = new WeakMap<Inquiry, ChatRequest>();

/** @throws AppError body_invalid. */
export function decodedRequest(inquiry: Inquiry): ChatRequest {
  const known = decodedRequests.get(inquiry);
  if (known !== undefined) return known;
  const decoded = codecFor(inquiry.protocol).translation.decodeRequest(inquiry.body, {
    model: inquiry.model,
    stream: inquiry.stream,
  });
  decodedRequests.set(inquiry, decoded);
  return decoded;
}

function translatedBody(
  inquiry: Inquiry,
  codec: Codec,
  model: string,
  channel: ChannelSnapshot,
  dropped: string[],
  settings: RelaySettings,
): string {
  const request = { ...decodedRequest(inquiry), model };
  const maxTokens =
    codec.id === 'anthropic-messages' ? (request.maxTokens ?? settings.claudeMaxTokens(model)) : request.maxTokens;
  const body = codec.translation.encodeRequest({ ...request, maxTokens }, dropped);
  // A usage frame is ours to ask for: the client's dialect reports usage without being asked.
  if (codec.id === 'openai-chat' && inquiry.stream) body.stream_options = { include_usage: true };
  return JSON.stringify({ ...body, ...channel.paramOverride });
}

const prepared = new WeakMap<ChannelSnapshot, Map<string, Readonly<Record<string, string>>>>();

/** Headers that are the same for every request of a channel's key. */
function fixedHeaders(
  channel: ChannelSnapshot,
  provider: Provider,
  { key }: KeyChoice,
): Readonly<Record<string, string>> {
  const ofChannel = prepared.get(channel) ?? new Map<string, Readonly<Record<string, string>>>();
  prepared.set(channel, ofChannel);
  const known = ofChannel.get(key);
  if (known !== undefined) return known;
  const made = {
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    ...authHeaders(provider, key, channel.organization),
  };
  ofChannel.set(key, made);
  return made;
}

const streamOptionsOf = (inquiry: Inquiry): Record<string, unknown> => {
  const given = inquiry.body.stream_options;
  return typeof given === 'object' && given !== null && !Array.isArray(given) ? (given as Record<string, unknown>) : {};
};

function wantsUsageFrame(inquiry: Inquiry, translated: boolean): boolean {
  if (!inquiry.stream || translated || (inquiry.operation !== 'chat' && inquiry.operation !== 'completions'))
    return false;
  return streamOptionsOf(inquiry).include_usage !== true;
}
