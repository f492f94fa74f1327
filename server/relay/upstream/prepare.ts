/** Prepares one attempt at one channel: mapped model, dialect, body, address and headers. */
import { isModelName } from '../../contract/address-part.ts';
import type { ChatEvent, ProtocolId } from '../../protocols/canonical.ts';
import type { Translation, UpstreamHalf } from '../../protocols/codec.ts';
import { allCodecs, codecFor, commonProtocol, isProtocol } from '../../protocols/registry.ts';
import { fitted } from '../../protocols/shared/fit.ts';
import { toolRestorer } from '../../protocols/shared/restore.ts';
import type { ModelWish } from '../../protocols/traits.ts';
import { authHeaders } from '../../providers/auth.ts';
import { providerByType } from '../../providers/catalogue.ts';
import { editsBetween, type Rules, refusesMember, rulesFor, withinRules } from '../../providers/knowledge/apply.ts';
import { sameDemands, takesSuffix, targetFor } from '../../providers/knowledge/target.ts';
import { endpointFor, type Provider } from '../../providers/provider.ts';
import type { ForeignForm, Quirk, Wire } from '../../providers/quirk.ts';
import { quirkOf } from '../../providers/quirk-table.ts';
import { carriedTerms, type SentTerms, termsFor, withoutTerms } from '../admission/terms.ts';
import type { Inquiry } from '../intake/inquiry.ts';
import { mapModel } from '../routing/choose.ts';
import type { KeyChoice } from '../routing/health.ts';
import type { RelaySettings } from '../state/settings.ts';
import type { ChannelSnapshot } from '../state/snapshot.ts';
import { decodedRequest, editedBody, embeddingsBody, streamOptionsOf, type Telling, translatedBody } from './body.ts';
import type { UpstreamCall } from './call.ts';
import { type Foreign, foreignBody } from './custom-operation.ts';
import { mappedEdits } from './mapped.ts';
import { requestChange } from './model-suffix.ts';
import { otherAddress, otherBody, otherHeaders, workReader } from './other-calls.ts';

export interface Prepared {
  readonly call: UpstreamCall;
  readonly channel: ChannelSnapshot;
  readonly keyIndex: number;
  readonly key: string;
  readonly upstreamModel: string;
  /** What the upstream's answers are read with. */
  readonly upstream: UpstreamHalf;
  /** The answer must be told anew in the client's dialect. */
  readonly retold: boolean;
  /** Makes what gives one answer's tool calls back the names the client knows; null where none was changed. */
  readonly restore: (() => (event: ChatEvent) => readonly ChatEvent[]) | null;
  /** Tells a whole answer of another operation than chat anew. */
  readonly retell: ((body: unknown) => unknown) | null;
  /** The request carries our own wish for a usage frame. */
  readonly usageAsked: boolean;
  /** What the translation could not carry over. */
  readonly dropped: readonly string[];
  /** Which of the members that change the price went upstream. */
  readonly terms: SentTerms;
  readonly quirk: Quirk | null;
  /** The upstream speaks none of the dialects. */
  readonly ownWire: boolean;
  /** Set where another operation than chat has a form of the upstream's own. */
  readonly foreign: Foreign | null;
}

/** Request headers that carry features of the dialects and pass through. */
const passedHeaders = ['openai-beta', 'anthropic-beta', 'anthropic-version', 'idempotency-key', 'accept'] as const;

/** The dialect to speak with a provider: the channel's choice, else the client's own where it can be, else the provider's. @returns null when there is none. */
export function dialectWith(
  provider: Provider,
  inquiry: Inquiry,
  setting: ChannelSnapshot['setting'],
  upstreamModel: string,
): ProtocolId | null {
  const { operations } = provider;
  if (inquiry.operation === 'embeddings') {
    const ids = [inquiry.protocol, ...allCodecs.map(({ id }) => id)];
    const offers = (id: ProtocolId) => operations.includes(codecFor(id).traits.embeddings?.operation ?? '');
    return ids.find(offers) ?? null;
  }
  if (inquiry.order !== undefined) return inquiry.protocol;
  if (inquiry.operation !== 'chat') return operations.includes(inquiry.operation) ? inquiry.protocol : null;
  const quirk = quirkOf(provider.slug);
  if (quirk?.dialectFor !== undefined) return quirk.dialectFor(upstreamModel);
  const serves = (dialect: ProtocolId) => operations.includes(codecFor(dialect).traits.chatOperation);
  const wished = setting.dialect;
  if (typeof wished === 'string' && isProtocol(wished) && serves(wished)) return wished;
  if (quirk?.wireFor === undefined && serves(inquiry.protocol)) return inquiry.protocol;
  if (quirk?.wireFor !== undefined && serves(commonProtocol)) return commonProtocol;
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
  if (provider === undefined) return null;
  const mapped = mapModel(channel.modelMapping, inquiry.model);
  const first = dialectWith(provider, inquiry, channel.setting, mapped);
  if (first === null) return null;
  const wish =
    inquiry.operation === 'chat' ? codecFor(first).traits.suffix.read(mapped, settings.thinking, takesSuffix) : null;
  const upstreamModel = wish?.model ?? mapped;
  if (!isModelName(upstreamModel)) return null;
  const quirk = quirkOf(provider.slug);
  const chat = inquiry.operation === 'chat';
  const wire = chat ? (quirk?.wireFor?.(upstreamModel, key.key) ?? null) : null;
  const form = chat ? null : (quirk?.formFor?.(inquiry.operation, upstreamModel) ?? null);
  const dialect = wire?.dialect ?? first;
  const codec = codecFor(dialect);
  const translated = dialect !== inquiry.protocol || (wire !== null && wire.dialect === undefined);
  const dropped: string[] = [];
  const terms = termsFor(inquiry, channel, settings, upstreamModel);
  const rules =
    chat && (wire === null || wire.dialect !== undefined) ? rulesFor(provider.slug, dialect, translated) : undefined;
  const asked = codec.traits.asksForUsage === true && wire === null && wantsUsageFrame(inquiry, translated);
  const usageAsked = asked && !refusesMember(rules, upstreamModel, usageMember);
  const attempt: Attempt = {
    inquiry,
    channel,
    provider,
    key,
    settings,
    dialect,
    quirk,
    wire,
    form,
    upstreamModel,
    wish,
    terms,
    usageAsked,
    translated,
    rules,
    mapped: chat && mapped !== inquiry.model,
  };
  const body = bodyOf(attempt, dropped);
  const headers = headersOf(attempt);
  const address = addressed(attempt, body.body);
  if (address === null) return null;
  // Nearly every request has no headers but the fixed ones.
  const own = [quirk?.headersFor?.(inquiry.operation, channel.other), form?.headers, address.headers];
  for (const more of own) if (more !== undefined) Object.assign(headers, more);
  const upstream = wire?.upstream ?? (inquiry.order === undefined ? readerOf(codec.upstream, form) : workReader);
  return {
    call: { url: address.url, headers, body: address.body, channel, upstream },
    channel,
    keyIndex: key.index,
    key: key.key,
    upstreamModel,
    upstream,
    restore: translated && chat ? toolRestorer(decodedRequest(inquiry).tools) : null,
    retell: body.retell,
    retold:
      (translated && body.retell === null) ||
      channel.setting.force_format === true ||
      channel.setting.thinking_to_content === true,
    usageAsked,
    dropped,
    terms: body.terms,
    quirk,
    ownWire: wire !== null,
    foreign: body.foreign,
  };
}

const readerOf = (upstream: UpstreamHalf, form: ForeignForm | null): UpstreamHalf =>
  form?.decodeError === undefined ? upstream : { ...upstream, decodeError: form.decodeError };

/** What is known of one attempt before its request is made. */
interface Attempt {
  readonly inquiry: Inquiry;
  readonly channel: ChannelSnapshot;
  readonly provider: Provider;
  readonly key: KeyChoice;
  readonly settings: RelaySettings;
  readonly dialect: ProtocolId;
  readonly quirk: Quirk | null;
  readonly wire: Wire | null;
  readonly form: ForeignForm | null;
  readonly upstreamModel: string;
  readonly wish: ModelWish | null;
  readonly terms: SentTerms;
  readonly usageAsked: boolean;
  readonly translated: boolean;
  /** What its provider wants otherwise; undefined = nothing. */
  readonly rules: Rules | undefined;
  /** The channel calls the model otherwise. */
  readonly mapped: boolean;
}

interface Body {
  readonly body: UpstreamCall['body'];
  readonly retell: Prepared['retell'];
  readonly foreign: Foreign | null;
  readonly terms: SentTerms;
}

function bodyOf(attempt: Attempt, dropped: string[]): Body {
  const { inquiry, channel, settings, dialect, upstreamModel, wish, terms, usageAsked } = attempt;
  const other = otherBody(inquiry, channel);
  if (other !== undefined) return { body: other, retell: null, foreign: null, terms: carriedTerms(terms, null) };
  const { traits, translation } = codecFor(dialect);
  if (attempt.form !== null)
    return {
      ...foreignBody(attempt, attempt.form, dropped),
      terms: carriedTerms(terms, null),
    };
  if (attempt.translated && inquiry.operation === 'embeddings')
    return { ...embeddingsBody(inquiry, dialect, upstreamModel), foreign: null, terms: carriedTerms(terms, null) };
  const edited = (body: Readonly<Record<string, unknown>>) =>
    inquiry.operation === 'chat' ? attempt.quirk?.editsFor?.(body, upstreamModel, inquiry.stream) : undefined;
  if (attempt.translated) {
    const body = translatedBody(inquiry, tellingOf(attempt, translation.encodeRequest), dropped);
    // A usage frame is ours to ask for: the client's dialect reports usage without being asked.
    if (traits.asksForUsage && attempt.wire === null && inquiry.stream) body.stream_options = { include_usage: true };
    dropped.push(...withoutTerms(body, terms));
    const within = withinRules({ ...body, ...edited(body) }, attempt.rules, { model: upstreamModel, dropped });
    const told = { ...within, ...channel.paramOverride };
    return { body: JSON.stringify(told), retell: null, foreign: null, terms: carriedTerms(terms, told) };
  }
  dropped.push(...terms.dropped);
  // Nearly every request passes with one edit or none.
  const edits = new Map<string, string | undefined>();
  for (const name of terms.removed) edits.set(name, undefined);
  if (!(settings.passThrough || channel.setting.pass_through === true)) {
    const within = withinRules(inquiry.body, attempt.rules, { model: upstreamModel, dropped });
    for (const [name, value] of editsOfMapping(attempt, dropped)) edits.set(name, value);
    for (const [name, value] of editsBetween(inquiry.body, within)) edits.set(name, value);
    if (usageAsked) edits.set('stream_options', JSON.stringify({ ...streamOptionsOf(inquiry), include_usage: true }));
    if (wish !== null)
      for (const [name, value] of traits.suffix.edits(
        inquiry.body,
        wish,
        traits.operator?.maxTokens?.(settings, upstreamModel) ?? null,
      ))
        edits.set(name, value);
    const own = edited(inquiry.body);
    for (const name in own) edits.set(name, JSON.stringify(own[name]));
    for (const name in channel.paramOverride) edits.set(name, JSON.stringify(channel.paramOverride[name]));
  }
  return { body: editedBody(inquiry, upstreamModel, edits), retell: null, foreign: null, terms };
}

/** How a request is told anew; a wire without a dialect knows nothing of models. */
function tellingOf(attempt: Attempt, usual: Translation['encodeRequest']): Telling {
  const { inquiry, provider, upstreamModel, settings, wire } = attempt;
  const target = targetFor(provider.slug, upstreamModel, settings.modelRules);
  const change = requestChange(attempt, inquiry.ceiling);
  if (wire === null || wire.dialect !== undefined) return { encode: wire?.encodeRequest ?? usual, change, target };
  return {
    encode: (request, dropped) => wire.encodeRequest(fitted(request, target, dropped), dropped),
    change,
    target,
  };
}

const noEdits: ReadonlyMap<string, string | undefined> = new Map();

/** Another model than the client meant may take less. */
function editsOfMapping(attempt: Attempt, dropped: string[]): ReadonlyMap<string, string | undefined> {
  const { inquiry, provider, dialect, upstreamModel: model, settings, mapped } = attempt;
  if (!mapped) return noEdits;
  const target = targetFor(provider.slug, model, settings.modelRules);
  if (sameDemands(target, targetFor(provider.slug, inquiry.model, settings.modelRules))) return noEdits;
  return mappedEdits(codecFor(dialect), inquiry.body, { model, target }, dropped);
}

function headersOf(attempt: Attempt): Record<string, string> {
  const { inquiry, dialect, translated, settings } = attempt;
  const headers = { ...fixedHeaders(attempt) };
  if (otherHeaders(attempt, headers)) return headers;
  if (inquiry.form !== null) headers['content-type'] = inquiry.form.contentType;
  for (const name of passedHeaders) {
    const value = inquiry.request.headers.get(name);
    if (value !== null && !(translated && isOfOneDialect(name))) headers[name] = value;
  }
  const { headers: usual, operator } = codecFor(dialect).traits;
  for (const name in usual) headers[name] ??= usual[name] ?? '';
  const more = operator?.headers?.(settings, inquiry.model);
  if (more !== undefined) Object.assign(headers, more);
  return headers;
}

/** It means nothing to an upstream of another dialect. */
const isOfOneDialect = (name: string): boolean => headerPrefixes.some((prefix) => name.startsWith(prefix));
const headerPrefixes = allCodecs.flatMap(({ traits }) => traits.headerPrefix ?? []);

interface Address {
  readonly url: string;
  readonly body: UpstreamCall['body'];
  readonly headers?: Readonly<Record<string, string>>;
}

function addressed(attempt: Attempt, body: UpstreamCall['body']): Address | null {
  const { inquiry, channel, provider, quirk, dialect, upstreamModel: model, key } = attempt;
  const other = otherAddress(attempt);
  if (other !== undefined) return other === null ? null : { url: other, body };
  const baseUrl = (channel.baseUrl === '' ? provider.baseUrl : channel.baseUrl).replace(/\/+$/, '');
  const operation = inquiry.operation === 'chat' ? chatOperationOf(attempt) : inquiry.operation;
  if (quirk?.addressFor !== undefined) {
    const url = quirk.addressFor(operation, baseUrl, model, channel.other);
    return url === null ? null : { url, body };
  }
  if (quirk?.shape !== undefined) {
    const shaped = quirk.shape({
      operation: inquiry.operation,
      dialect,
      model,
      stream: inquiry.stream,
      baseUrl,
      other: channel.other,
      key: key.key,
      body: JSON.parse(textOf(body)) as Record<string, unknown>,
      betas: inquiry.request.headers.get('anthropic-beta') ?? '',
    });
    return shaped === null ? null : { ...shaped, body: JSON.stringify(shaped.body) };
  }
  const url = plainAddress(attempt);
  return url === null ? null : { url, body };
}

/** Where a wire of its own is spoken, it is the provider's chat. */
const chatOperationOf = ({ dialect, wire }: Pick<Attempt, 'dialect' | 'wire'>): string =>
  codecFor(wire === null ? dialect : commonProtocol).traits.chatOperation;

const textOf = (body: UpstreamCall['body']): string =>
  typeof body === 'string' ? body : body instanceof Uint8Array ? Buffer.from(body).toString('utf8') : '{}';

function plainAddress(attempt: Attempt): string | null {
  const { provider, inquiry, channel, dialect, upstreamModel: model, settings, form } = attempt;
  const own = provider.protocol === null ? undefined : codecFor(provider.protocol).traits.operator;
  const version = own?.version?.(settings, model) ?? '';
  const path = form?.path === undefined ? {} : { path: form.path };
  const facts = { baseUrl: channel.baseUrl, model, other: channel.other || version, ...path };
  const { embeddings, passesQuery, streamOperation } = codecFor(dialect).traits;
  if (inquiry.operation === 'embeddings' && embeddings !== undefined)
    return endpointFor(provider, embeddings.operation, facts);
  if (inquiry.operation !== 'chat') return endpointFor(provider, inquiry.operation, facts);
  const operation = chatOperationOf(attempt);
  const url = endpointFor(provider, inquiry.stream ? (streamOperation ?? operation) : operation, facts);
  const query = passesQuery && inquiry.protocol === dialect ? queryOf(inquiry.request.url) : '';
  return url === null || query === '' ? url : `${url}${url.includes('?') ? '&' : '?'}${query}`;
}

function queryOf(url: string): string {
  const query = new URLSearchParams(url.split('?', 2)[1] ?? '');
  query.delete('key');
  return query.toString();
}

const prepared = new WeakMap<ChannelSnapshot, Map<string, Readonly<Record<string, string>>>>();

/** Headers that are the same for every request of a channel's key. */
function fixedHeaders({ channel, provider, key: { key } }: Attempt): Readonly<Record<string, string>> {
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

/** By which a usage frame is asked for. */
const usageMember = 'stream_options';

function wantsUsageFrame(inquiry: Inquiry, translated: boolean): boolean {
  if (!inquiry.stream || translated || (inquiry.operation !== 'chat' && inquiry.operation !== 'completions'))
    return false;
  return streamOptionsOf(inquiry).include_usage !== true;
}
