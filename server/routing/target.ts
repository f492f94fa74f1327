/** Compiles what calls of one channel look like: whatever follows from channel, provider, options and kind of request is decided here, once. */
import type { Operation } from '../contract/channel-rules.ts';
import type { ChannelSnapshot } from '../contract/snapshot.ts';
import type { Codec, UpstreamHalf } from '../protocols/codec.ts';
import { codecFor, commonProtocol } from '../protocols/registry.ts';
import { parseJson, record, text } from '../protocols/shared/json.ts';
import type { Signing } from '../protocols/shared/signature.ts';
import type { BodyForm, KeyKind } from '../providers/adapter.ts';
import { type AgentLine, unreadAgentLines } from '../providers/knowledge/agent-lines.ts';
import { endpointRowFor } from '../providers/knowledge/endpoints.ts';
import { hasAnswerKind } from '../providers/knowledge/responses.ts';
import { signingAt } from '../providers/knowledge/signature.ts';
import { dependsOnTools } from '../providers/knowledge/streams.ts';
import { type BodyEdit, bodyEdits, requestsUsage, type Translate, translateFor } from './body.ts';
import { rulesOf } from './body-rules.ts';
import { type EndpointUrl, endpointFor, type HeaderPlan } from './endpoint.ts';
import { featureOf, noFeatures } from './features.ts';
import { type Offer, offerOf, type SentModifiers, sentModifiers } from './offers.ts';
import { type CallDetails, type CallOptions, type CallRequest, callDetails } from './protocol.ts';
import { type SystemPrompt, systemPromptOf } from './system-prompt.ts';

export interface Target extends CallDetails {
  /** What the upstream's answers are read with. */
  readonly upstream: UpstreamHalf;
  readonly url: EndpointUrl;
  readonly headers: HeaderPlan;
  readonly offer: Offer;
  /** Modifiers that go upstream for a request that sets none. */
  readonly defaultTerms: SentModifiers;
  /** Lines of agents that the host does not read. */
  readonly agentLines: readonly AgentLine[];
  readonly signing: Signing;
  /** Finds blocks of a request that passes which the upstream did not sign; null = nothing is signed. */
  readonly foreignBlocks: NonNullable<Codec['foreignBlocks']> | null;
  /** Features without which there are none; 0 = on every request. */
  readonly foreignFeatures: number;
  /** Edits of a body that passes, in the order in which they are made. */
  readonly edits: readonly BodyEdit[];
  /** The system prompt of the channel, for a body that passes. */
  readonly systemPrompt: SystemPrompt | null;
  /** Rules for the body, those of the channel last; null = there are none, or bodies pass as they are. */
  readonly bodyRules: readonly Operation[] | null;
  /** Usage comes in a stream only on request. */
  readonly requestsUsage: boolean;
  /** A body that passes need not name the model. */
  readonly modelInPath: boolean;
  readonly translate: Translate | null;
  /** The whole body in the provider's own form, last. */
  readonly whole: BodyForm['whole'];
  /** Thoughts stand among the answer's words, between marks. */
  readonly taggedThoughts: boolean;
  /** Answers differ from the upstream's dialect, so that they are translated although it is the client's own. */
  readonly hasOwnForm: boolean;
  /** The operator wants answers in another form than they come. */
  readonly isReshaped: boolean;
  /** What the upstream keeps of a request can be named in the client's dialect. */
  readonly namesKept: boolean;
  /** Where requests with tools go instead; null = to the same endpoint, in the same way. */
  readonly withTools: ToolTarget | null;
}

/** The maker serves the model with tools at another endpoint, or in another way, unless its effort is one of these. */
export interface ToolTarget {
  readonly target: Target;
  readonly unlessEffort: readonly string[];
}

/** @returns null when the provider does not serve the request. @throws AppError what the channel's `other` cannot be. */
export function compileTarget(
  channel: ChannelSnapshot,
  request: CallRequest,
  options: CallOptions,
  keyKind: KeyKind,
): Target | null {
  const call = callDetails(channel, request, options, keyKind);
  const endpoint = call === null ? null : endpointFor(call);
  if (call === null || endpoint === null) return null;
  const { provider, adapter, codec, place, translated } = call;
  const { operation, protocol } = request;
  const { setting } = channel;
  const chat = operation === 'chat';
  const own = codecFor(protocol).definition;
  const baseUrl = channel.baseUrl || provider.baseUrl;
  const form = adapter?.body?.(place) ?? null;
  const offer = offerOf(channel, request.model, place.model, options);
  const speaker = { provider: provider.slug, dialect: place.dialect, model: place.model };
  return {
    ...call,
    ...endpoint,
    upstream: readerOf(call),
    offer,
    defaultTerms: sentModifiers(noFeatures, offer, request, options),
    agentLines: chat && own.withoutLine !== undefined ? unreadAgentLines(protocol, baseUrl) : [],
    signing: signingAt(provider.slug, place.dialect, baseUrl),
    foreignBlocks: translated || !(chat || operation === 'count_tokens') ? null : (codec.foreignBlocks ?? null),
    foreignFeatures: codec.foreignMember === undefined ? 0 : featureOf(codec.foreignMember),
    edits: bodyEdits(call, form),
    systemPrompt:
      translated || !(chat || operation === 'count_tokens') || options.passThrough || setting.pass_through === true
        ? null
        : systemPromptOf(channel),
    bodyRules:
      !translated && (options.passThrough || setting.pass_through === true)
        ? null
        : rulesOf(channel, options, request.model),
    requestsUsage: requestsUsage(call),
    // Where neither body nor path named it the upstream must not choose one of its own, but for
    // moderation, whose default only means whatever the upstream has.
    modelInPath: own.modelInPath === true || operation === 'moderations',
    translate: translated && chat ? translateFor(call, form) : null,
    whole: form?.whole,
    taggedThoughts: chat && hasAnswerKind(speaker, 'tagged thoughts'),
    hasOwnForm: chat && hasAnswerKind(speaker, 'form'),
    isReshaped: setting.force_format === true || setting.thinking_to_content === true,
    namesKept: own.kept !== undefined,
    withTools: chat && request.tools === undefined ? toolTargetOf(call, request, keyKind) : null,
  };
}

/** @returns null where tools change nothing, or the channel chose the endpoint. */
function toolTargetOf(
  { channel, options, provider, mapped, place, bridged }: CallDetails,
  asked: CallRequest,
  keyKind: KeyKind,
): ToolTarget | null {
  const unlessEffort =
    endpointRowFor(provider.slug, mapped)?.unlessEffort ??
    (dependsOnTools(provider.slug, place.model, channel.setting.upstream_streams) ? [] : undefined);
  if (unlessEffort === undefined) return null;
  const target = compileTarget(channel, { ...asked, tools: true }, options, keyKind);
  const isSame = target?.place.dialect === place.dialect && target.bridged === bridged;
  return target === null || isSame ? null : { target, unlessEffort };
}

const common = codecFor(commonProtocol);

function readerOf({ wire, request, codec: { upstream }, form }: CallDetails): UpstreamHalf {
  if (wire !== null) return wire.upstream;
  if (request.ordered) return orderReader;
  return form?.decodeError === undefined ? upstream : { ...upstream, decodeError: form.decodeError };
}

/** Errors of orders have a form of their own. */
const orderReader: UpstreamHalf = {
  ...common.upstream,
  decodeError(status, body) {
    const fields = record(parseJson(body));
    const message = text(fields?.description) ?? text(fields?.message);
    if (message === null) return common.upstream.decodeError(status, body);
    const code = fields?.code;
    return { status, type: null, code: code === undefined || code === null ? null : String(code), message };
  },
};

/** A request as far as it decides which target is meant. */
interface RequestKind extends Pick<CallRequest, 'operation' | 'protocol' | 'stream' | 'model'> {
  readonly route: { readonly session?: true };
  readonly order?: object;
}

/** Targets of one relay thread. */
export class Targets {
  private readonly known = new Map<string, Target>();

  constructor(private readonly max = 20_000) {}

  /** A changed channel is a new object, changed options are, too: what was compiled from the former ones is replaced. */
  find(channel: ChannelSnapshot, parsed: RequestKind, options: CallOptions, key: string): Target | null {
    const { operation, protocol, stream, model, route, order } = parsed;
    const session = route.session === true;
    const ordered = order !== undefined;
    const keyKind = key.includes('|') ? 'parts' : 'secret';
    const how = `${stream ? 's' : ''}${session ? 'c' : ''}${ordered ? 'o' : ''}`;
    const id = `${channel.id} ${operation} ${protocol} ${how} ${keyKind} ${model}`;
    const found = this.known.get(id);
    this.known.delete(id);
    const isCurrent = found !== undefined && found.channel === channel && found.options === options;
    const target = isCurrent
      ? found
      : // Of the request nothing else may be kept.
        compileTarget(channel, { operation, protocol, stream, model, session, ordered }, options, keyKind);
    if (target === null) return null;
    // The least recently used one is first.
    if (this.known.size >= this.max) for (const oldest of this.known.keys()) if (this.known.delete(oldest)) break;
    this.known.set(id, target);
    return target;
  }
}
