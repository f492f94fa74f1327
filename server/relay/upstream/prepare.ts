/** Prepares one attempt at one channel: mapped model, dialect, body, address and headers. */
import { isModelName } from '../../contract/address-part.ts';
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { ChatEvent, ProtocolId } from '../../protocols/canonical.ts';
import type { Translation, UpstreamHalf } from '../../protocols/codec.ts';
import { allCodecs, codecFor, commonProtocol } from '../../protocols/registry.ts';
import { fitted } from '../../protocols/shared/fit.ts';
import { parseExact, record } from '../../protocols/shared/json.ts';
import type { ModelSuffix } from '../../protocols/traits.ts';
import { authHeaders } from '../../providers/auth.ts';
import { providerByType } from '../../providers/catalogue.ts';
import { agentHeaders } from '../../providers/knowledge/agent-headers.ts';
import { editsBetween, type Rules, refusesMember, rulesFor, withinRules } from '../../providers/knowledge/apply.ts';
import { nothingSigned, signingAt } from '../../providers/knowledge/signatures.ts';
import { sameDemands, takesSuffix, targetFor } from '../../providers/knowledge/target.ts';
import { endpointFor, type Provider } from '../../providers/provider.ts';
import type { CustomForm, Quirk, Wire } from '../../providers/quirk.ts';
import { quirkOf } from '../../providers/quirk-table.ts';
import { mapModel } from '../../routing/candidates.ts';
import { carriedTerms, editsOfTerms, type SentTerms, termsFor, withoutTerms } from '../admission/terms.ts';
import { asSummary } from '../intake/compaction.ts';
import { exactBody, type Inquiry } from '../intake/inquiry.ts';
import type { KeyChoice } from '../routing/health.ts';
import type { RelaySettings } from '../state/settings.ts';
import { withoutAgentLines } from './agent-lines.ts';
import { answerChanges } from './answer-changes.ts';
import { editedBody, embeddingsBody, streamOptionsOf, type Telling, translatedBody } from './body.ts';
import type { UpstreamCall } from './call.ts';
import { compactionAddress, condensing } from './condense.ts';
import { type CustomCall, customBody } from './custom-operation.ts';
import { countOf, dialectWith } from './dialect.ts';
import { foreignEdits, withoutForeign } from './foreign-blocks.ts';
import { mappedEdits } from './mapped.ts';
import { requestChange } from './model-suffix.ts';
import { otherAddress, otherBody, otherHeaders, taskReader } from './other-calls.ts';

export interface Prepared {
  readonly call: UpstreamCall;
  readonly channel: ChannelSnapshot;
  readonly keyIndex: number;
  readonly key: string;
  readonly upstreamModel: string;
  /** A suffix of the model's name asks for thoughts. */
  readonly wishes: boolean;
  /** What the upstream's answers are read with. */
  readonly upstream: UpstreamHalf;
  /** The answer must be told anew in the client's dialect. */
  readonly retold: boolean;
  /** How the conversation is made short, where that was asked for. */
  readonly compaction: 'native' | 'summary' | null;
  /** Makes what turns a summary in words into what the client waits for. */
  readonly condense: (() => (event: ChatEvent) => readonly ChatEvent[]) | null;
  /** Makes the changes of one answer besides its dialect: the names of its tools and the like; null = none. */
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
  readonly custom: CustomCall | null;
}

/** Request headers that carry features of the dialects and pass through. */
const passedHeaders = ['openai-beta', 'anthropic-beta', 'anthropic-version', 'idempotency-key', 'accept'] as const;

/** @returns null when this channel's provider cannot serve the operation. @throws AppError body_invalid when the body cannot be translated. */
export function prepareAttempt(
  given: Inquiry,
  channel: ChannelSnapshot,
  key: KeyChoice,
  settings: RelaySettings,
): Prepared | null {
  const provider = providerByType(channel.type);
  if (provider === undefined) return null;
  const mapped = mapModel(channel.modelMapping, given.model);
  const first = dialectWith(provider, given, channel, mapped);
  if (first === null) return null;
  const suffix =
    given.operation === 'chat' ? codecFor(first).traits.suffix.read(mapped, settings.thinking, takesSuffix) : null;
  const upstreamModel = suffix?.model ?? mapped;
  if (!isModelName(upstreamModel)) return null;
  const quirk = quirkOf(provider.slug);
  const chat = given.operation === 'chat';
  const wire = chat ? (quirk?.wireFor?.(upstreamModel, key.key) ?? null) : null;
  const form = chat ? null : (quirk?.formFor?.(given.operation, upstreamModel) ?? null);
  const dialect = wire?.dialect ?? first;
  const codec = codecFor(dialect);
  const translated = dialect !== given.protocol || (wire !== null && wire.dialect === undefined);
  const compaction = compactionAt(given, translated);
  const dropped: string[] = [];
  const asked = compaction === 'summary' ? asSummary(given) : given;
  const inquiry = chat ? withoutAgentLines(asked, channel.baseUrl || provider.baseUrl, dropped) : asked;
  const terms = termsFor(inquiry, channel, settings, upstreamModel);
  const rules =
    chat && (wire === null || wire.dialect !== undefined) ? rulesFor(provider.slug, dialect, translated) : undefined;
  const wantsUsage = codec.traits.asksForUsage === true && wire === null && wantsUsageFrame(inquiry, translated);
  const usageAsked = wantsUsage && !refusesMember(rules, upstreamModel, usageMember);
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
    suffix,
    terms,
    usageAsked,
    translated,
    rules,
    mapped: chat && mapped !== inquiry.model,
  };
  const body = bodyOf(attempt, dropped);
  const address = addressed(attempt, body.body, dropped);
  if (address === null) return null;
  const url = compaction === 'native' ? compactionAddress(inquiry, address.url) : address.url;
  const changes = answerChanges(attempt, dropped);
  const headers = allHeaders(attempt, address);
  const upstream = wire?.upstream ?? (inquiry.order === undefined ? readerOf(codec.upstream, form) : taskReader);
  return {
    call: { url, headers, body: address.body, channel, upstream, once: inquiry.order !== undefined },
    channel,
    keyIndex: key.index,
    key: key.key,
    upstreamModel,
    wishes: suffix !== null,
    upstream,
    restore: changes.restore,
    retell: body.retell,
    compaction,
    condense: compaction === 'summary' ? () => condensing(inquiry) : null,
    retold: compaction === 'summary' || changes.retold || (translated && body.retell === null) || isReshaped(channel),
    usageAsked,
    dropped,
    terms: body.terms,
    quirk,
    ownWire: wire !== null,
    custom: body.custom,
  };
}

/** The operator wants its answers in another form than they come. */
const isReshaped = ({ setting }: ChannelSnapshot): boolean =>
  setting.force_format === true || setting.thinking_to_content === true;

/** Only an upstream of the client's own dialect can know how. */
const compactionAt = ({ compaction }: Inquiry, translated: boolean): Prepared['compaction'] =>
  compaction === undefined ? null : translated || compaction.plain === true ? 'summary' : 'native';

const readerOf = (upstream: UpstreamHalf, form: CustomForm | null): UpstreamHalf =>
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
  readonly form: CustomForm | null;
  readonly upstreamModel: string;
  readonly suffix: ModelSuffix | null;
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
  readonly custom: CustomCall | null;
  readonly terms: SentTerms;
}

function bodyOf(attempt: Attempt, dropped: string[]): Body {
  const { inquiry, channel, settings, dialect, upstreamModel, suffix, terms, usageAsked } = attempt;
  const other = otherBody(inquiry, channel);
  if (other !== undefined)
    return { body: other, retell: null, custom: null, terms: carriedTerms(terms, null, dialect) };
  const { traits, translation } = codecFor(dialect);
  if (attempt.form !== null)
    return {
      ...customBody(attempt, attempt.form, dropped),
      terms: carriedTerms(terms, null, dialect),
    };
  if (attempt.translated && inquiry.operation === 'embeddings')
    return {
      ...embeddingsBody(inquiry, dialect, upstreamModel),
      custom: null,
      terms: carriedTerms(terms, null, dialect),
    };
  const edited = (body: Readonly<Record<string, unknown>>) =>
    inquiry.operation === 'chat' && dialect === commonProtocol
      ? attempt.quirk?.editsFor?.(body, upstreamModel, inquiry.stream)
      : undefined;
  if (attempt.translated) {
    const body = translatedBody(inquiry, tellingOf(attempt, translation.encodeRequest), dropped);
    // A usage frame is ours to ask for: the client's dialect reports usage without being asked.
    if (traits.asksForUsage && attempt.wire === null && inquiry.stream) body.stream_options = { include_usage: true };
    dropped.push(...withoutTerms(body, terms));
    const signed = attempt.wire === null ? withoutForeign(body, dialect, signingOf(attempt), dropped) : body;
    const told = { ...signed, ...edited(signed) };
    const within = withinRules(told, attempt.rules, { model: upstreamModel, dropped });
    const sent = { ...within, ...channel.paramOverride };
    return { body: JSON.stringify(sent), retell: null, custom: null, terms: carriedTerms(terms, sent, dialect) };
  }
  dropped.push(...terms.dropped);
  // Nearly every request passes with one edit or none.
  const edits = new Map<string, string | undefined>();
  if (terms.removed.length > 0) for (const [name, value] of editsOfTerms(inquiry.body, terms)) edits.set(name, value);
  const asksModel = inquiry.operation === 'chat' || inquiry.operation === 'count_tokens';
  const foreign = asksModel ? foreignEdits(inquiry, signingOf(attempt), dropped) : noEdits;
  for (const [name, value] of foreign) edits.set(name, value);
  if (!(settings.passThrough || channel.setting.pass_through === true)) {
    const ruled = editsOfRules(attempt, foreign, dropped);
    for (const [name, value] of editsOfMapping(attempt, dropped)) edits.set(name, value);
    for (const [name, value] of ruled) edits.set(name, value);
    if (usageAsked) edits.set('stream_options', JSON.stringify({ ...streamOptionsOf(inquiry), include_usage: true }));
    if (suffix !== null)
      for (const [name, value] of traits.suffix.edits(
        exactBody(inquiry),
        suffix,
        traits.operator?.maxTokens?.(settings, upstreamModel, inquiry.model) ?? null,
      ))
        edits.set(name, value);
    const own = edited(inquiry.body);
    for (const name in own) edits.set(name, JSON.stringify(own[name]));
    for (const name in channel.paramOverride) edits.set(name, JSON.stringify(channel.paramOverride[name]));
  }
  return { body: editedBody(inquiry, upstreamModel, edits), retell: null, custom: null, terms };
}

/** How a request is told anew; a wire without a dialect knows nothing of models. */
function tellingOf(attempt: Attempt, usual: Translation['encodeRequest']): Telling {
  const { inquiry, channel, provider, upstreamModel, settings, wire } = attempt;
  const known = targetFor(provider.slug, upstreamModel, settings.modelRules);
  // Behind an address of its own only the operator knows.
  const target = channel.setting.cache_marks === true ? { ...known, cacheMarks: true as const } : known;
  const change = requestChange(attempt, inquiry.ceiling);
  if (wire === null || wire.dialect !== undefined) return { encode: wire?.encodeRequest ?? usual, change, target };
  return {
    encode: (request, dropped) => wire.encodeRequest(fitted(request, target, dropped), dropped),
    change,
    target,
  };
}

const noEdits: ReadonlyMap<string, string | undefined> = new Map();

/** @param foreign edits that are made anyway. */
function editsOfRules(
  { inquiry, rules, upstreamModel: model }: Attempt,
  foreign: ReadonlyMap<string, string | undefined>,
  dropped: string[],
): ReadonlyMap<string, string | undefined> {
  const signed = withEdits(inquiry.body, foreign);
  const edits = editsBetween(signed, withinRules(signed, rules, { model, dropped }));
  const exact = edits.size === 0 ? inquiry.body : exactBody(inquiry);
  if (exact === inquiry.body) return edits;
  const whole = withEdits(exact, foreign);
  return editsBetween(whole, withinRules(whole, rules, { model, dropped: [] }));
}

/** The body as it reads once they are made. */
function withEdits(
  body: Readonly<Record<string, unknown>>,
  edits: ReadonlyMap<string, string | undefined>,
): Readonly<Record<string, unknown>> {
  if (edits.size === 0) return body;
  const changed = { ...body };
  for (const [name, value] of edits) {
    if (value === undefined) delete changed[name];
    else changed[name] = parseExact(value);
  }
  return changed;
}

/** Another model than the client meant may take less. */
function editsOfMapping(attempt: Attempt, dropped: string[]): ReadonlyMap<string, string | undefined> {
  const { inquiry, provider, dialect, upstreamModel: model, settings, mapped } = attempt;
  if (!mapped) return noEdits;
  const target = targetFor(provider.slug, model, settings.modelRules);
  if (sameDemands(target, targetFor(provider.slug, inquiry.model, settings.modelRules))) return noEdits;
  return mappedEdits(codecFor(dialect), exactBody(inquiry), { model, target }, dropped);
}

const signingOf = ({ inquiry, provider, channel, dialect }: Attempt) =>
  inquiry.unsigned === true
    ? nothingSigned
    : signingAt(provider.slug, dialect, channel.baseUrl === '' ? provider.baseUrl : channel.baseUrl);

function headersOf(attempt: Attempt): Record<string, string> {
  const { inquiry, dialect, translated, settings, quirk } = attempt;
  const headers = { ...fixedHeaders(attempt) };
  if (otherHeaders(attempt, headers)) return headers;
  if (inquiry.form !== null) headers['content-type'] = inquiry.form.contentType;
  for (const name of passedHeaders) {
    const value = inquiry.request.headers.get(name);
    if (value !== null && !((translated || quirk?.ownHeaders === true) && isOfOneDialect(name))) headers[name] = value;
  }
  if (inquiry.route.session !== true) passAgentHeaders(inquiry.request.headers, translated, headers);
  const { headers: usual, operator } = codecFor(dialect).traits;
  if (quirk?.ownHeaders !== true) for (const name in usual) headers[name] ??= usual[name] ?? '';
  const more = operator?.headers?.(settings, inquiry.model);
  if (more !== undefined) Object.assign(headers, more);
  return headers;
}

/** Values that no header may have are left out; the request would fail for them. */
const isHeaderValue = (value: string): boolean => value.length <= 4096 && printable.test(value);
const printable = /^[\x20-\x7e]*$/;

function passAgentHeaders(given: Headers, translated: boolean, headers: Record<string, string>): void {
  for (const { name, own } of agentHeaders) {
    const value = given.get(name);
    if (value !== null && !(translated && own === true) && isHeaderValue(value)) headers[name] = value;
  }
}

/** Nearly every request has no headers but the fixed ones. */
function allHeaders(attempt: Attempt, address: Address): Record<string, string> {
  const { quirk, form, inquiry, channel } = attempt;
  const headers = headersOf(attempt);
  const own = [quirk?.headersFor?.(inquiry.operation, channel.other), form?.headers, address.headers];
  for (const more of own) if (more !== undefined) Object.assign(headers, more);
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

function addressed(attempt: Attempt, body: UpstreamCall['body'], dropped: string[]): Address | null {
  const { inquiry, channel, provider, quirk, dialect, upstreamModel: model, key } = attempt;
  const other = otherAddress(attempt);
  if (other !== undefined) return other === null ? null : { url: other, body };
  const baseUrl = (channel.baseUrl === '' ? provider.baseUrl : channel.baseUrl).replace(/\/+$/, '');
  const operation = inquiry.operation === 'chat' ? chatOperationOf(attempt) : inquiry.operation;
  if (quirk?.addressFor !== undefined) {
    const called = model === inquiry.model ? (quirk.usualName?.(model) ?? model) : model;
    const url = quirk.addressFor(operation, baseUrl, called, channel.other);
    return url === null ? null : { url, body };
  }
  if (quirk?.shape !== undefined) {
    const shaped = quirk.shape({
      operation: inquiry.operation === 'count_tokens' ? countOf(dialect) : inquiry.operation,
      dialect,
      model,
      stream: inquiry.stream,
      baseUrl,
      other: channel.other,
      key: key.key,
      body: record(parseExact(textOf(body))) ?? {},
      betas: inquiry.request.headers.get('anthropic-beta') ?? '',
      dropped,
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
  if (inquiry.operation === 'count_tokens') return endpointFor(provider, countOf(dialect), facts);
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
    // Where the client has none of its own: the network library must not tell its name.
    'user-agent': 'gateway',
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
