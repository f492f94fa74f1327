/** Where a channel is called, and with which headers: the one place for both. */
import type { When } from '../contract/channel-rules.ts';
import { bothOverrides, type HeaderOverride, headerOverrideOf, keyMark, mayPass } from '../contract/header-override.ts';
import { allCodecs, codecFor } from '../protocols/registry.ts';
import type { Endpoint } from '../providers/adapter.ts';
import { agentHeaders } from '../providers/knowledge/agent-headers.ts';
import { type KeyHeader, keyHeader, endpointFor as rowEndpoint } from '../providers/provider.ts';
import { type ConditionedRequest, headerRuleActs } from './body-rules.ts';
import type { CallDetails } from './protocol.ts';

/** What an address may follow from besides the configuration. */
export interface AddressParts {
  readonly key: string;
  /** The URL of the client's request. */
  readonly url: string;
  /** The path of the work that is ordered. */
  readonly path: string;
}

export type EndpointUrl = string | ((parts: AddressParts) => string);

/** Headers of an upstream request. */
export interface HeaderPlan {
  readonly constant: Readonly<Record<string, string>>;
  /** Headers that show the key. */
  readonly keys: readonly KeyHeader[];
  /** Names of the client's own headers that pass. */
  readonly passed: readonly PassedHeader[];
  /** Wins over the client's own. */
  readonly last: Readonly<Record<string, string>> | null;
  /** The operator's own headers, after all others; null = there are none. */
  readonly override: HeaderOverride | null;
  /** What was made of it, by all that it was made of. */
  readonly made: Map<string, SentHeaders>;
}

/** Shared by requests: to be copied before it is changed. */
export type SentHeaders = Readonly<Record<string, string>>;

interface PassedHeader {
  readonly name: string;
  /** Values that no header may have are left out; the request would fail for them. */
  readonly checked: boolean;
  /** Other values than these are left out. */
  readonly only?: RegExp;
}

/** @returns null = it is not served. @throws AppError what the channel's `other` cannot be. */
export function endpointFor(call: CallDetails): { readonly url: EndpointUrl; readonly headers: HeaderPlan } | null {
  const { adapter, request, place } = call;
  const plain = adapter?.endpoint === undefined || request.ordered || request.operation === 'realtime';
  const own = plain ? {} : (adapter.endpoint?.(place) ?? null);
  const url = own === null ? null : urlFor(call, own);
  return own === null || url === null
    ? null
    : { url, headers: { ...headersFor(call, own), override: overrideFor(call) } };
}

/** Those for all channels act before the channel's own. */
const overrideFor = ({ channel, options, request }: CallDetails): HeaderOverride | null =>
  bothOverrides(options.requestRules?.of(request.model).headers ?? null, headerOverrideOf(channel.setting));

/** The adapter's endpoint, else the provider row's. */
function urlFor(
  { request, channel, options, form, place, bridged }: CallDetails,
  { url: override }: Endpoint,
): EndpointUrl | null {
  if (override !== undefined) return typeof override === 'string' ? override : ({ key }) => override(key);
  const { provider, model, stream, dialect, row, operation, baseUrl } = place;
  const parts = { baseUrl: channel.baseUrl, model, other: channel.other };
  if (request.ordered) {
    // Without a path in the row, the operation is below the base URL.
    if (!provider.operations.includes(operation)) return baseUrl === '' ? null : ({ path }) => baseUrl + path;
    if (rowEndpoint(provider, operation, { ...parts, path: '/' }) === null) return null;
    return ({ path }) => rowEndpoint(provider, operation, { ...parts, path }) ?? '';
  }
  if (operation === 'realtime') {
    const url = rowEndpoint(provider, row, parts);
    if (url === null) return null;
    const socket = `${url.replace(/^http/, 'ws')}${url.includes('?') ? '&' : '?'}`;
    const named = `${socket}model=${encodeURIComponent(model)}`;
    // With a model beside it OpenAI opens a conversation. Sources: openai/openai-python#2652, livekit/agents-js#1756
    return (requested) => (requestsTranscription(requested.url) ? `${socket}intent=transcription` : named);
  }
  const operator = provider.protocol === null ? undefined : codecFor(provider.protocol).definition.operator;
  const other = channel.other || (operator?.version?.(options, model) ?? '');
  const path = form?.path === undefined ? {} : { path: form.path };
  const { passesQuery, streamOperation, embeddings } = codecFor(dialect).definition;
  const chat = operation === 'chat';
  const called = chat && stream ? (streamOperation ?? row) : row;
  const url = rowEndpoint(provider, called, { ...parts, other, ...path });
  const method = operation === 'embeddings' && request.protocol === dialect ? embeddings?.called : undefined;
  if (url !== null && method !== undefined) return (requested) => method(url, requested.url);
  if (url === null || !chat || passesQuery !== true || request.protocol !== dialect) return url;
  return (requested) => withQuery(url, requested.url, bridged);
}

/** A socket for what is said alone: nobody answers, and the model is named once it is open. @param url of the client's request. */
export const requestsTranscription = (url: string): boolean =>
  url.includes('intent=') && new URLSearchParams(url.split('?', 2)[1] ?? '').get('intent') === 'transcription';

/** @param bridged the form of the answer that the client's query names is not that of the upstream's. */
function withQuery(url: string, requested: string, bridged: boolean): string {
  const query = new URLSearchParams(requested.split('?', 2)[1] ?? '');
  query.delete('key');
  if (bridged) query.delete('alt');
  const remaining = query.toString();
  return remaining === '' ? url : `${url}${url.includes('?') ? '&' : '?'}${remaining}`;
}

/**
 * Request headers that carry features of the dialects and pass through. Idempotency keys do not: the
 * upstream takes all callers for one and would give one of them another's response.
 */
const dialectHeaders = ['openai-beta', 'anthropic-beta', 'anthropic-version', 'accept'];
const prefixes = allCodecs.flatMap(({ definition }) => definition.headerPrefix ?? []);
/** Forms of a response that can be read here. Another form would be lost, and its upstream would look broken. */
const readable =
  /^(?:(?:\*\/\*|application\/(?:json|\*|x-ndjson|octet-stream)|text\/(?:event-stream|plain|vtt|\*)|audio\/[\w.*+-]+)\s*(?:;[^,]*)?(?:,\s*|$))+$/i;
const restricted: Readonly<Record<string, { readonly only: RegExp }>> = { accept: { only: readable } };

/** It means nothing to an upstream of another dialect. */
const isOfOneDialect = (name: string): boolean => prefixes.some((prefix) => name.startsWith(prefix));

function headersFor(
  { request, channel, provider, codec, translated, form, options }: CallDetails,
  own: Endpoint,
): Omit<HeaderPlan, 'override'> {
  const header = keyHeader(provider);
  const keys = header === null ? [] : [header];
  // Where the client has none of its own: the network library must not send its name.
  const agent: Record<string, string> = { 'user-agent': 'gateway' };
  if (channel.organization !== '') agent['openai-organization'] = channel.organization;
  if (request.operation === 'realtime')
    return { constant: agent, keys, passed: [{ name: 'openai-beta', checked: false }], last: null, made: new Map() };
  const json = { 'content-type': 'application/json', 'accept-encoding': 'identity', ...agent };
  if (request.ordered) {
    // Another gateway takes orders as well, in the form of the programs that make them.
    const others = request.operation === 'drawing' && !provider.operations.includes('drawing');
    const more = others ? [{ name: 'mj-api-secret', before: '' }] : [];
    return { constant: json, keys: [...keys, ...more], passed: [], last: null, made: new Map() };
  }
  const { headers: fallback, operator } = codec.definition;
  const ownHeaders = own.ownHeaders === true;
  const features = dialectHeaders.filter((name) => !((translated || ownHeaders) && isOfOneDialect(name)));
  const agents = request.session ? [] : agentHeaders.filter((header) => !(translated && header.own));
  const last = { ...operator?.headers?.(options, request.model), ...own.headers, ...form?.headers };
  return {
    constant: { ...json, ...(ownHeaders ? {} : fallback) },
    keys,
    passed: [
      ...features.map((name) => ({ name, checked: false, ...restricted[name] })),
      ...agents.map(({ name }) => ({ name, checked: true })),
    ],
    last: Object.keys(last).length === 0 ? null : last,
    made: new Map(),
  };
}

const printable = /^[\x20-\x7e]*$/;

/** Clients of one kind send the same; some name each request. */
const maxBuilt = 100;
const maxBuiltLength = 1024;

/** The network library's own form of headers that are shared: making one costs more than all else that is done here. */
const nativeForms = new WeakMap<SentHeaders, Headers | null>();

/** @throws TypeError where a key is no value of a header. */
export function nativeForm(headers: SentHeaders): Headers | SentHeaders {
  const known = nativeForms.get(headers);
  if (known !== null) return known ?? headers;
  const made = new Headers(headers);
  nativeForms.set(headers, made);
  return made;
}

/** Headers of a client by their names in lower case. */
export type ClientHeaders = Readonly<Record<string, string>>;

/**
 * @param contentType of a form.
 * @param conditioned what conditions of the override read; null = it has none.
 * @throws AppError channel_rule_failed
 */
export function headersOf(
  plan: HeaderPlan,
  key: string,
  values: ClientHeaders,
  contentType: string | undefined,
  conditioned: ConditionedRequest | null = null,
): SentHeaders {
  // What passes, or who, is not known before.
  if (plan.override !== null)
    return overridden(plan.override, key, values, madeHeaders(plan, key, values, contentType), conditioned);
  let id = contentType === undefined ? key : `${key}\n${contentType}`;
  for (const { name } of plan.passed) {
    const value = values[name];
    if (value !== undefined) id += `\n${name}\n${value}`;
  }
  const known = plan.made.get(id);
  if (known !== undefined) return known;
  const headers = madeHeaders(plan, key, values, contentType);
  if (id.length > maxBuiltLength) return headers;
  if (plan.made.size >= maxBuilt) plan.made.clear();
  plan.made.set(id, headers);
  nativeForms.set(headers, null);
  return headers;
}

function madeHeaders(
  { constant, keys, passed, last }: HeaderPlan,
  key: string,
  clientHeaders: ClientHeaders,
  contentType: string | undefined,
): SentHeaders {
  const headers: Record<string, string> = { ...constant };
  for (const { name, before } of keys) headers[name] = before + key;
  if (contentType !== undefined) headers['content-type'] = contentType;
  for (const { name, checked, only: allowed } of passed) {
    const value = clientHeaders[name];
    if (value !== undefined && allowed?.test(value) === false) continue;
    if (value !== undefined && !(checked && (value.length > 4096 || !printable.test(value)))) headers[name] = value;
  }
  return last === null ? headers : Object.assign(headers, last);
}

/** Longer names are no names that a pattern is asked about. */
const maxPassedName = 128;

/** The channel's own headers win over all others; what passes of the client's does not win over them. */
function overridden(
  { own, passes }: HeaderOverride,
  key: string,
  clientHeaders: ClientHeaders,
  headers: SentHeaders,
  conditioned: ConditionedRequest | null,
): SentHeaders {
  // Headers may be called like a member of every object: `constructor`.
  const all: Record<string, string> = Object.assign(Object.create(null), headers);
  const passing = conditioned === null ? passes : (passes?.filter(({ when }) => acts('*', when, conditioned)) ?? null);
  if (passing !== null)
    for (const [name, value] of Object.entries(clientHeaders))
      if (
        name.length <= maxPassedName &&
        mayPass(name) &&
        isSendable(value) &&
        passing.some(({ pattern }) => found(pattern, name))
      )
        all[name] = value;
  for (const header of own) {
    const { name } = header;
    if (!acts(name, header.when, conditioned)) continue;
    if (header.mode === 'remove') delete all[name];
    else if (header.mode === 'copy') {
      const value = Object.hasOwn(clientHeaders, header.client) ? clientHeaders[header.client] : undefined;
      if (value !== undefined && isSendable(value)) all[name] = value;
    } else {
      const { mode, hasKey } = header;
      const value = hasKey ? header.value.replaceAll(keyMark, () => key) : header.value;
      const there = all[name];
      if (there === undefined || mode === 'set') all[name] = value;
      else if (mode === 'add') all[name] = `${there}, ${value}`;
    }
  }
  return all;
}

const acts = (name: string, when: When | null, conditioned: ConditionedRequest | null): boolean =>
  when === null || (conditioned !== null && headerRuleActs(name, when, conditioned));

const isSendable = (value: string): boolean => value.trim() !== '' && value.length <= 4096 && printable.test(value);

/** The pattern is shared, and knows where it left off. */
function found(pattern: RegExp, name: string): boolean {
  pattern.lastIndex = 0;
  return pattern.test(name);
}
