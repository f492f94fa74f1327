/** Makes one call of one channel: the target that was compiled for it, with this request's body and this key. */
import type { AppError } from '../../contract/errors.ts';
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { ProtocolId } from '../../protocols/canonical.ts';
import type { UpstreamHalf } from '../../protocols/codec.ts';
import { convertedTools, withKnownTools } from '../../protocols/openai-responses/known-tools.ts';
import { codecFor } from '../../protocols/registry.ts';
import type { CacheDiagnostics, Compared } from '../../protocols/shared/cache-diagnosis.ts';
import { effortOf } from '../../protocols/shared/effort.ts';
import { hasExactNumbers, parseExact, record } from '../../protocols/shared/json.ts';
import { toolRestorer } from '../../protocols/shared/restore.ts';
import type { Signing } from '../../protocols/shared/signature.ts';
import { taggedThoughts } from '../../protocols/shared/tagged-thoughts.ts';
import type { Target as ModelInfo } from '../../protocols/target.ts';
import type { Adapter } from '../../providers/adapter.ts';
import { editsBetween } from '../../providers/knowledge/apply.ts';
import { betasLeft, leftOut, toolTypesLeft } from '../../providers/knowledge/refused-members.ts';
import type { Removable, Without } from '../../providers/knowledge/removable-members.ts';
import { nothingSigned } from '../../providers/knowledge/signature.ts';
import { bridgeEdits, type EditedBody, editedMembers } from '../../routing/body.ts';
import { applyRules, type ConditionedRequest, type RuleContext } from '../../routing/body-rules.ts';
import { headersOf } from '../../routing/endpoint.ts';
import { noFeatures } from '../../routing/features.ts';
import { type SentModifiers, sentModifiers } from '../../routing/offers.ts';
import { promptedBody } from '../../routing/system-prompt.ts';
import { type Target, Targets } from '../../routing/target.ts';
import { modifierEdits, passedModifiers, requestedOf } from '../admission/modifiers.ts';
import { asSummary } from '../intake/compaction.ts';
import { editMembers, outline } from '../intake/json-text.ts';
import { exactBody, type ParsedRequest } from '../intake/parsed-request.ts';
import type { KeyChoice } from '../routing/health.ts';
import { asAppError } from '../shared/defect.ts';
import type { RelaySettings } from '../state/settings.ts';
import { askingEdits, diagnosticsFor } from './cache-diagnosis.ts';
import type { UpstreamCall } from './call.ts';
import { compactionAddress, condensing } from './compact.ts';
import { type CustomCall, customBody, embeddingsBody, inBase64 } from './custom-operation.ts';
import { foreignEdits } from './foreign-blocks.ts';
import { answerChange, type Change, translatedBody } from './translate.ts';

type Members = Readonly<Record<string, unknown>>;
type Edits = ReadonlyMap<string, string | undefined>;

export interface Prepared {
  readonly call: UpstreamCall;
  readonly channel: ChannelSnapshot;
  readonly keyIndex: number;
  readonly key: string;
  readonly upstreamModel: string;
  /** The dialect in which it was written. */
  readonly dialect: ProtocolId;
  readonly translated: boolean;
  /** Rules of that model. */
  readonly known: ModelInfo;
  /** A suffix of the model's name requests thinking. */
  readonly settings: boolean;
  /** Readers of the upstream's answers. */
  readonly upstream: UpstreamHalf;
  /** The answer must be translated into the client's dialect. */
  readonly needsTranslation: boolean;
  /** How the conversation is compacted, where that was requested. */
  readonly compaction: 'native' | 'summary' | null;
  /** Makes what turns a summary in words into what the client waits for. */
  readonly fromSummary: (() => Change) | null;
  /** Makes the changes of one answer besides its dialect: the names of its tools and the like; null = none. */
  readonly restore: (() => Change) | null;
  /** Translates a whole answer of another operation than chat; null = it is what the client asked for. */
  readonly translateResponse: ((body: unknown) => unknown) | null;
  /** The upstream may keep something that the client can name again. */
  readonly namesKept: boolean;
  /** The request carries our own wish for a usage frame. */
  readonly usageRequested: boolean;
  /** The upstream was asked for a stream. */
  readonly streams: boolean;
  /** Losses of the translation; those of the response are added as they come. */
  readonly dropped: string[];
  /** Which of the members that change the price went upstream. */
  readonly modifiers: SentModifiers;
  readonly auth: Adapter['auth'];
  readonly framing: Adapter['framing'];
  /** The upstream speaks none of the dialects. */
  readonly ownWire: boolean;
  /** Set where another operation than chat has a form of the upstream's own. */
  readonly custom: CustomCall | null;
  /** We asked why a cache was missed, which the client did not; null = we did not. */
  readonly asked: CacheDiagnostics | null;
}

/** How an attempt differs from the first one. */
export interface Variant {
  /** An upstream rejected the history's signatures. */
  readonly unsigned: boolean;
  /** A compaction is requested as a plain summary. */
  readonly summary: boolean;
  /** Members that the upstream refuses; null = none is known. */
  readonly without: Without | null;
  /** The answer with which the provider compares this request, to say why its cache was missed; absent = it is not asked. */
  readonly compared?: Compared;
}

export const plainVariant: Variant = { unsigned: false, summary: false, without: null };

const targets = new Targets();

/**
 * The calls are compiled for the options that `settings` are. What a client's request lacks for a translation is the client's
 * mistake, said before any upstream is called.
 * @returns null when this channel's provider cannot serve the operation.
 */
export function prepare(
  original: ParsedRequest,
  channel: ChannelSnapshot,
  choice: KeyChoice,
  settings: RelaySettings,
  variant: Variant = plainVariant,
): Prepared | AppError | null {
  try {
    const target = targets.find(channel, original, settings, choice.key);
    return target === null ? null : prepared(endpointFor(target, original), original, choice, variant);
  } catch (error) {
    return asAppError(error);
  }
}

/** Some models are served with tools at another endpoint than without. */
function endpointFor(target: Target, { body, protocol }: ParsedRequest): Target {
  if (target.withTools === null || !(isFilled(body.tools) || isFilled(body.functions))) return target;
  const { unlessEffort, target: other } = target.withTools;
  const { reasoning } = codecFor(protocol).translation;
  if (reasoning === undefined) return other;
  return unlessEffort.includes(effortOf(reasoning(body)) ?? target.suffix?.effort ?? '') ? target : other;
}

const isFilled = (list: unknown): boolean => Array.isArray(list) && list.length > 0;

/** @throws AppError body_invalid when the body cannot be translated. */
function prepared(
  target: Target,
  original: ParsedRequest,
  { key, index }: KeyChoice,
  variant: Variant,
): Prepared | null {
  const { channel, translated, bridged } = target;
  // Only an upstream of the client's own dialect can know how, and what it answers must pass.
  const isPlain = translated || bridged || variant.summary;
  const compaction = original.compaction === undefined ? null : isPlain ? 'summary' : 'native';
  const dropped: string[] = [];
  const requested = compaction === 'summary' ? asSummary(original) : original;
  const parsed = target.agentLines.length === 0 ? requested : withoutAgentLines(requested, target, dropped);
  if (bridged && parsed.stream) dropped.push(inOnePiece);
  const settings = requestedOf(parsed);
  const modifiers =
    settings === noFeatures ? target.defaultTerms : sentModifiers(settings, target.offer, parsed, target.options);
  const signing = variant.unsigned ? nothingSigned : target.signing;
  const removed = variant.without === null ? nothingRemoved : removedAt(target, variant.without);
  const { compared = null } = variant;
  const asked = compared === null ? null : diagnosticsFor(target, parsed.body, compared);
  const sent = bodyOf(target, { parsed, modifiers, key, signing, removed, dropped, asked, compared });
  if (sent === null) return null;
  const { request, order, form } = parsed;
  const url =
    typeof target.url === 'string' ? target.url : target.url({ key, url: request.url, path: order?.path ?? '' });
  const headers = withoutBetas(
    headersOf(target.headers, key, parsed.clientHeaders, form?.contentType, conditionedBy(target, parsed, sent)),
    removed,
    dropped,
  );
  const taken = takenTypes(target, removed);
  // Only a single answer can be translated, and a client that requested JSON expects nothing in front of it.
  const restore =
    target.translate !== null
      ? answerChange(target, parsed, dropped)
      : target.taggedThoughts && parsed.body.response_format != null && !requestsSeveral(parsed)
        ? taggedThoughts
        : taken !== null
          ? toolRestorer(convertedTools(parsed.body, taken))
          : null;
  const needsTranslation =
    compaction === 'summary' ||
    (translated
      ? sent.translateResponse === undefined
      : restore !== null || (target.hasOwnForm && !requestsSeveral(parsed))) ||
    target.isReshaped ||
    bridged;
  return {
    call: {
      url: compaction === 'native' ? compactionAddress(parsed, url) : url,
      headers: sent.headers === undefined ? headers : { ...headers, ...sent.headers },
      body: sent.body,
      channel,
      upstream: target.upstream,
      once: order !== undefined,
    },
    channel,
    keyIndex: index,
    key,
    upstreamModel: target.place.model,
    dialect: target.place.dialect,
    translated,
    known: target.known,
    settings: target.suffix !== null,
    upstream: target.upstream,
    restore,
    translateResponse: sent.translateResponse ?? null,
    compaction,
    fromSummary: compaction === 'summary' ? condensingOf(parsed) : null,
    needsTranslation,
    namesKept: target.namesKept && !needsTranslation,
    usageRequested: target.requestsUsage && !requestsUsage(parsed),
    streams: target.place.stream,
    dropped,
    modifiers: sent.modifiers,
    auth: target.adapter?.auth,
    framing: target.adapter?.framing,
    ownWire: target.wire !== null,
    custom: sent.custom ?? null,
    asked,
  };
}

const condensingOf = (parsed: ParsedRequest) => () => condensing(parsed);

const inOnePiece = '/stream: the upstream answers in one piece';

const requestsUsage = ({ body: { stream_options: options } }: ParsedRequest): boolean =>
  options !== undefined && record(options)?.include_usage === true;

const requestsSeveral = ({ body: { n } }: ParsedRequest): boolean => Number(n ?? 1) > 1;

interface Asking {
  readonly parsed: ParsedRequest;
  readonly modifiers: SentModifiers;
  readonly key: string;
  /** Result of the signature check, where the upstream is trusted. */
  readonly signing: Signing;
  /** Members that the upstream refuses. */
  readonly removed: readonly Removable[];
  readonly dropped: string[];
  readonly asked: CacheDiagnostics | null;
  readonly compared: Compared | null;
}

const nothingRemoved: readonly Removable[] = [];
/** A count is of what the chat would send. */
const asksForChat: ReadonlySet<string> = new Set(['chat', 'count_tokens']);

/** Members that the operator writes into each body stay there. */
function removedAt({ channel, options, place, translated, request }: Target, without: Without): readonly Removable[] {
  const known = without.get(place.model);
  if (known === undefined || !asksForChat.has(request.operation)) return nothingRemoved;
  if (!translated && (options.passThrough || channel.setting.pass_through === true)) return nothingRemoved;
  return known.filter(
    ({ row }) =>
      row.dialect === place.dialect && !Object.hasOwn(channel.paramOverride, row.member.split(/[.[]/, 1)[0] ?? ''),
  );
}

const betaHeader = 'anthropic-beta';

function withoutBetas<Of extends Readonly<Record<string, string>>>(
  headers: Of,
  removed: readonly Removable[],
  dropped: string[],
): Of | Readonly<Record<string, string>> {
  const all = removed.length === 0 ? undefined : headers[betaHeader];
  const left = all === undefined ? all : betasLeft(all, removed, dropped);
  if (left === all || left === undefined) return headers;
  const { [betaHeader]: _, ...others } = headers;
  return left === '' ? others : { ...others, [betaHeader]: left };
}

/** Types of tools that pass as they are; null = all. */
function takenTypes({ toolTypes, edits, translated }: Target, removed: readonly Removable[]): RegExp | null {
  const known = edits.length > 0 ? toolTypes : null;
  return removed.length === 0 || translated ? known : toolTypesLeft(removed, known);
}

/** Edits that take refused members out of an edited body. */
function removedEdits({ parsed, removed, dropped }: Asking, edits: Edits): Edits {
  const before = editedMembers(exactBody(parsed), edits);
  const taken = toolTypesLeft(removed, null);
  const tools = taken === null ? noEdits : withKnownTools(before, taken, dropped);
  const converted = editedMembers(before, tools);
  return mergeEdits(tools, editsBetween(converted, leftOut(converted, removed, dropped)));
}

interface Sent {
  readonly body: UpstreamCall['body'];
  /** The body as the rules for bodies left it, in the upstream's dialect; null = there is none, or nobody reads it. */
  readonly members: Members | null;
  readonly modifiers: SentModifiers;
  readonly headers?: Readonly<Record<string, string>>;
  readonly translateResponse?: (answer: unknown) => unknown;
  readonly custom?: CustomCall;
}

/** The one place where a body is made. @returns null where the provider does not serve it. */
function bodyOf(target: Target, asking: Asking): Sent | null {
  const { parsed, modifiers, dropped } = asking;
  const { channel, form, translate } = target;
  const { dialect, model } = target.place;
  if (translate !== null) {
    const whole = ruledBody(target, parsed, translatedBody(target, translate, asking));
    const body = asking.removed.length === 0 ? whole : leftOut(whole, asking.removed, dropped);
    return written(target, asking, body, passedModifiers(modifiers, body, dialect));
  }
  const { operation, order } = parsed;
  if (operation === 'realtime')
    return { body: null, members: null, modifiers: passedModifiers(modifiers, null, dialect) };
  if (order !== undefined) {
    const body = order.bodyFor(channel);
    const members = body === null ? null : ruledBody(target, parsed, { ...body, ...channel.paramOverride });
    return {
      body: members === null ? null : JSON.stringify(members),
      members,
      modifiers: passedModifiers(modifiers, null, dialect),
    };
  }
  if (form !== null) {
    const { body, custom, translateResponse } = customBody(target, form, parsed, dropped);
    const members = ruledBody(target, parsed, body);
    return {
      body: JSON.stringify(members),
      members,
      modifiers: passedModifiers(modifiers, null, dialect),
      translateResponse,
      custom,
    };
  }
  if (target.translated) {
    const { body, translateResponse } = embeddingsBody(parsed, dialect, model);
    const members = ruledBody(target, parsed, body);
    return {
      body: JSON.stringify(members),
      members,
      modifiers: passedModifiers(modifiers, null, dialect),
      translateResponse,
    };
  }
  const edits = editsOf(target, asking);
  if (target.whole !== undefined)
    return written(target, asking, editedMembers(bodyWithDigits(parsed), edits), modifiers);
  const { json } = parsed;
  const isRead = target.headers.override?.isConditional === true;
  if (json === null)
    return { body: formBody(parsed, model), members: isRead ? { ...parsed.body, model } : null, modifiers };
  const body = edits.size === 0 ? json.bytes : editMembers(json.text, json.shape, edits);
  const members = isRead ? editedMembers(exactBody(parsed), edits) : null;
  return operation === 'embeddings' && parsed.body.encoding_format === 'base64'
    ? { body, members, modifiers, translateResponse: inBase64 }
    : { body, members, modifiers };
}

/** A body as it goes out, after the rules of the channel. @throws AppError of a rule. */
function ruledBody<Of extends Members>(target: Target, parsed: ParsedRequest, body: Of): Of | Members {
  const { bodyRules: rules, channel } = target;
  if (rules === null) return body;
  return applyRules(rules, body, ruleContext(target, parsed), { channel, operation: parsed.operation });
}

const ruleContext = ({ place }: Target, { model, route }: ParsedRequest): RuleContext => ({
  model: place.model,
  upstream_model: place.model,
  original_model: model,
  request_path: route.path,
});

/** @returns what conditions of rules for headers read; null = the target has none. */
const conditionedBy = (target: Target, parsed: ParsedRequest, { members }: Sent): ConditionedRequest | null =>
  target.headers.override?.isConditional === true
    ? { body: members ?? {}, context: ruleContext(target, parsed), channel: target.channel }
    : null;

/** In the provider's own form, where it has one. */
function written(
  { whole }: Target,
  { parsed, key, removed, dropped }: Asking,
  body: Members,
  modifiers: SentModifiers,
): Sent | null {
  if (whole === undefined) return { body: JSON.stringify(body), members: body, modifiers };
  const all = parsed.request.headers.get(betaHeader) ?? '';
  const betas = removed.length === 0 ? all : betasLeft(all, removed, dropped);
  const made = whole(body, { key, betas, dropped });
  if (made === null) return null;
  const { headers } = made;
  const text = JSON.stringify(made.body);
  return headers === undefined
    ? { body: text, members: body, modifiers }
    : { body: text, members: body, modifiers, headers };
}

function formBody({ form }: ParsedRequest, model: string): UpstreamCall['body'] {
  return form === null ? '' : form.body(model === form.fields.get('model') ? null : model);
}

const noEdits: Edits = new Map();

/** Edits of the client's own JSON; every byte that no edit is about stays as it is. */
function editsOf(target: Target, asking: Asking): Edits {
  const { parsed, modifiers, signing, dropped } = asking;
  const { body, json, route } = parsed;
  dropped.push(...modifiers.dropped);
  if (json === null) return noEdits;
  let edits = modifiers.removed.length > 0 ? modifierEdits(body, modifiers) : noEdits;
  let foreign = noEdits;
  const { foreignBlocks, foreignFeatures } = target;
  const { features } = parsed.prompt;
  if (foreignBlocks !== null && (foreignFeatures === 0 || (features & foreignFeatures) !== 0)) {
    const blocks = foreignBlocks(body, signing);
    if (blocks.length > 0) {
      foreign = foreignEdits(json, blocks, dropped);
      edits = mergeEdits(edits, foreign);
    }
  }
  if (target.edits.length > 0) {
    const source = editedBody(parsed, foreign);
    for (const edit of target.edits)
      if (
        (edit.features === undefined || (features & edit.features) !== 0) &&
        (edit.reads === null || hasAny(body, edit.reads))
      )
        edits = mergeEdits(edits, edit.run(source, dropped));
  }
  if (target.bridged) edits = mergeEdits(edits, bridgeEdits(target, editedBody(parsed, noEdits), edits, dropped));
  const { model } = target.place;
  if (model !== body.model && (body.model !== undefined || !target.modelInPath))
    edits = mergeEdits(edits, new Map([['model', JSON.stringify(model)]]));
  // The playground's own word for whose prices hold.
  if (route.session === true && 'group' in body) edits = mergeEdits(edits, withoutGroup);
  const { systemPrompt } = target;
  if (systemPrompt !== null || target.bodyRules !== null) {
    const before = editedMembers(exactBody(parsed), edits);
    const prompted =
      systemPrompt === null ? before : promptedBody(before, target.codec.definition.systemPlace, systemPrompt);
    edits = mergeEdits(edits, editsBetween(before, ruledBody(target, parsed, prompted)));
  }
  if (asking.removed.length > 0) edits = mergeEdits(edits, removedEdits(asking, edits));
  const { asked, compared } = asking;
  if (asked === null || compared === null) return edits;
  const edited = edits.has(asked.asks[0]) ? editedMembers(exactBody(parsed), edits) : body;
  return mergeEdits(edits, askingEdits(asked, edits, edited, compared));
}

const editedBody = (parsed: ParsedRequest, foreign: Edits): EditedBody => ({
  members: parsed.body,
  exact: () => exactBody(parsed),
  foreign,
});

const withoutGroup: Edits = new Map([['group', undefined]]);

/** The edits of two; the latter wins. Most requests have one. */
function mergeEdits(edits: Edits, more: Edits): Edits {
  if (edits.size === 0) return more;
  return more.size === 0 ? edits : new Map([...edits, ...more]);
}

function hasAny(body: Members, names: readonly string[]): boolean {
  for (const name of names) if (Object.hasOwn(body, name)) return true;
  return false;
}

/** Every number of it, those of its own members too. */
function bodyWithDigits({ json, body }: ParsedRequest): Members {
  if (json === null) return {};
  return hasExactNumbers(json.text) ? (record(parseExact(json.text)) ?? {}) : body;
}

const cleaned = new WeakMap<ParsedRequest, ParsedRequest>();
const encoder = new TextEncoder();

/** Takes out of a prompt what an agent wrote into it for its maker's own hosts. @param dropped receives what was taken out. */
function withoutAgentLines(parsed: ParsedRequest, { agentLines }: Target, dropped: string[]): ParsedRequest {
  const { protocol, body, json } = parsed;
  if (json === null) return parsed;
  for (const { line, reason } of agentLines) {
    const edits = codecFor(protocol).definition.withoutLine?.(body, line) ?? null;
    if (edits === null) continue;
    dropped.push(`/system: ${reason}`);
    const known = cleaned.get(parsed);
    if (known !== undefined) return known;
    const text = editMembers(json.text, json.shape, edits);
    const shape = outline(text);
    if (!shape.ok) return parsed;
    const clean: ParsedRequest = {
      ...parsed,
      body: JSON.parse(text) as Record<string, unknown>,
      json: { bytes: encoder.encode(text), text, shape },
    };
    cleaned.set(parsed, clean);
    return clean;
  }
  return parsed;
}
