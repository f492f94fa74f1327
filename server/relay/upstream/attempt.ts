/** One attempt at an upstream: the call, and what its response is: a stream, a whole response, or bytes. */
import type { ChatEvent, UpstreamError } from '../../protocols/canonical.ts';
import type { ResponseContext, StreamWriter } from '../../protocols/codec.ts';
import { operationEvents } from '../../protocols/openai-chat/operation-events.ts';
import { codecFor, commonProtocol } from '../../protocols/registry.ts';
import { lossesInto } from '../../protocols/shared/answer-losses.ts';
import { record } from '../../protocols/shared/json.ts';
import { type Framing, SseSplitter } from '../../protocols/shared/sse.ts';
import { providerByType } from '../../providers/catalogue.ts';
import { statusOfCode } from '../../providers/knowledge/error-codes.ts';
import { ordered } from '../../routing/multipliers.ts';
import type { Reservation } from '../admission/reservation.ts';
import type { ParsedRequest } from '../intake/parsed-request.ts';
import type { Operation } from '../intake/routes.ts';
import { isOurs } from '../shared/defect.ts';
import { type AttemptSummary, redacted, statusFailure, type UpstreamFailure } from '../shared/failure.ts';
import { isCompacted, missesCompaction, uncompacted } from './compact.ts';
import { finished, inlined } from './custom-operation.ts';
import { type FrameRelay, PassthroughRelay, TranslatingRelay } from './frame-relay.ts';
import { type OpenStream, openStream } from './open-stream.ts';
import { type Prepared, prepare } from './prepare.ts';
import { beginsWithEvent, peeked, typeOf } from './response-body.ts';
import { type Failed, type FailedAttempt, firstByteTimeout, Sender, send } from './send.ts';
import { isThinkingExpected } from './thinking.ts';
import { errorIn, failureIn, isEmpty, parseBody, readWhole, thinkingToContent } from './whole.ts';

interface Reached {
  readonly prepared: Prepared;
  readonly response: Response;
  readonly attempts: readonly AttemptSummary[];
}

export type Outcome =
  | (Reached & { readonly kind: 'stream'; readonly stream: OpenStream })
  | (Reached & {
      readonly kind: 'whole';
      readonly bytes: Uint8Array<ArrayBuffer>;
      readonly body: unknown;
      /** Its text, where that had to be read. */
      readonly events: readonly ChatEvent[] | null;
      readonly firstByteMs: number;
    })
  /** Neither JSON nor events: sound, subtitles. */
  | (Reached & { readonly kind: 'bytes' })
  | Failed;

/** State of the current call. */
interface Call {
  readonly prepared: Prepared;
  readonly abort: AbortController;
  readonly sentMs: number;
  /** When the first byte must have come; Infinity = whenever. */
  readonly firstBy: number;
}

/** Chat, and every other operation that one response answers. */
export class RequestSender extends Sender<Exclude<Outcome, Failed>> {
  protected attempt(prepared: Prepared, abort: AbortController): Promise<Exclude<Outcome, Failed> | FailedAttempt> {
    return prepared.compaction === 'native' ? this.askForCompaction(prepared, abort) : this.ask(prepared, abort);
  }

  private async ask(prepared: Prepared, abort: AbortController): Promise<Exclude<Outcome, Failed> | FailedAttempt> {
    const { core } = this;
    const firstByteMs = firstByteTimeout(core, this.reservation, prepared, this.attempts);
    const sentMs = core.now();
    const result = await send(core, prepared, abort, firstByteMs);
    core.works(this.reservation.parsed.requestId);
    if (result.kind === 'failure') return { failure: result.failure, hasResponse: false };
    const reached = await this.read(result.response, { prepared, abort, sentMs, firstBy: sentMs + firstByteMs });
    return 'kind' in reached ? reached : { failure: reached, hasResponse: true };
  }

  /** Where the upstream turns out not to support it, a summary is requested as a plain chat. */
  private async askForCompaction(
    prepared: Prepared,
    abort: AbortController,
  ): Promise<Exclude<Outcome, Failed> | FailedAttempt> {
    const { core } = this;
    const first = await this.ask(prepared, abort);
    if ('kind' in first || !missesCompaction(first.failure)) return first;
    const key = { key: prepared.key, index: prepared.keyIndex };
    const variant = { unsigned: false, summary: true, without: null };
    const plain = prepare(this.reservation.parsed, prepared.channel, key, this.reservation.plan.settings, variant);
    if (plain === null || plain instanceof Error) return first;
    const second = await this.ask(plain, abort);
    // A mistake of the caller's fails as a plain chat as well, and is no evidence against the upstream.
    if ('kind' in second) core.compactions.noteMissing(prepared.channel);
    return second;
  }

  /** What the response is, from its headers or its first bytes. */
  private async read(original: Response, call: Call): Promise<Exclude<Outcome, Failed> | UpstreamFailure> {
    const { prepared } = call;
    const { operation, stream } = this.reservation.parsed;
    // 204 and 205 say that there is none, and come over a connection that is well.
    if (original.body === null) return hostFailure(original, 'empty');
    let response = original;
    const type = response.headers.get('content-type') ?? '';
    const isStreaming = prepared.streams && operation === 'chat';
    const isExpected = isStreaming || (stream && hasEvents(operation));
    let framing =
      prepared.framing?.(type) ??
      prepared.upstream.framing?.(type, isStreaming) ??
      (type.includes('text/event-stream') ? new SseSplitter() : null);
    // Some relays stream under another content type, or under none.
    if (framing === null && response.body !== null && (isExpected || (operation === 'chat' && !isJson(type)))) {
      const seen = await this.peek(response, response.body, call);
      if ('class' in seen) return seen;
      response = seen.response;
      if (beginsWithEvent(seen.first)) framing = new SseSplitter();
    }
    if (framing !== null && response.body !== null) return this.readStream(response, response.body, framing, call);
    if (operation === 'speech' || (isRecording(operation) && !isJson(type)))
      return { kind: 'bytes', prepared, response, attempts: this.attempts };
    return this.readWhole(response, call);
  }

  /** The same response with its first bytes. */
  private async peek(
    response: Response,
    upstream: ReadableStream<Uint8Array>,
    call: Call,
  ): Promise<{ readonly response: Response; readonly first: Uint8Array } | UpstreamFailure> {
    const { abort } = call;
    const silence = this.core.deadlines.start(this.firstByteMs(call), () => abort.abort());
    try {
      const { first, body } = await peeked(upstream);
      return { response: new Response(body, response), first };
    } catch (error) {
      if (isOurs(error)) throw error;
      return hostFailure(response, abort.signal.aborted ? 'timeout' : 'broken');
    } finally {
      silence.end();
    }
  }

  private firstByteMs({ firstBy }: Call): number {
    const { core } = this;
    return Math.min(this.idleMs, Math.max(1, firstBy - core.now()));
  }

  /** As far as its first content: until then another channel can be tried. */
  private async readStream(
    response: Response,
    upstream: ReadableStream<Uint8Array>,
    framing: Framing,
    call: Call,
  ): Promise<Exclude<Outcome, Failed> | UpstreamFailure> {
    const { core, reservation } = this;
    const { prepared, sentMs } = call;
    // Thoughts before its first word are reported a little later.
    if (reservation.plan.estimate.answer?.model.thinking === true && isThinkingExpected(reservation, prepared))
      this.disconnect.expecting(always);
    const opening = await openStream({
      upstream,
      framing,
      frameRelay: frameRelayFor(reservation, prepared, core.now),
      firstMs: this.firstByteMs(call),
      idleMs: this.idleMs,
      now: core.now,
      deadlines: core.deadlines,
      sentMs,
    });
    if (opening.ok && prepared.compaction === 'native' && !opening.stream.frameRelay.hasContent()) {
      void opening.stream.reader.cancel().catch(() => undefined);
      return uncompacted(response.status);
    }
    if (opening.ok) return { kind: 'stream', prepared, response, attempts: this.attempts, stream: opening.stream };
    if (opening.error !== null) return inBodyFailure(opening.error, prepared);
    const { reason, usage } = opening;
    return { ...hostFailure(response, reason === 'error' ? 'broken' : reason), usage };
  }

  private async readWhole(response: Response, call: Call): Promise<Exclude<Outcome, Failed> | UpstreamFailure> {
    const { core, reservation, attempts } = this;
    const { prepared, abort } = call;
    const { parsed } = reservation;
    const isChat = parsed.operation === 'chat';
    // It is made already: a client that leaves now pays for it.
    this.disconnect.expecting(always);
    const bytes = await readWhole(response, this.idleMs, abort, core.deadlines);
    core.works(parsed.requestId);
    if (bytes === null) return hostFailure(response, abort.signal.aborted ? 'timeout' : 'broken');
    const firstByteMs = core.now();
    const translated = isChat && (prepared.needsTranslation || parsed.stream);
    const json = parseBody(bytes, translated);
    if (json === undefined) return hostFailure(response, 'invalid');
    const { upstream, custom } = prepared;
    let body: unknown = json;
    if (custom !== null) {
      const pollRequest = {
        dispatch: core.dispatch,
        timers: core.timers,
        deadlines: core.deadlines,
        limitMs: this.idleMs,
        call: prepared.call,
        abort,
      };
      const last = await finished(pollRequest, custom, json);
      if ('class' in last) return last;
      const plain = custom.form.decode(last.answer, custom.requested);
      body = await inlined(pollRequest, custom, plain);
    }
    const error = errorIn(custom === null ? upstream : openAi, body, prepared.ownWire);
    if (error !== null) return inBodyFailure(error, prepared);
    // Work that may have started without us must not be ordered from another channel.
    const { status } = record(body) ?? {};
    if (isChat && (status === 'queued' || status === 'in_progress')) {
      return { ...hostFailure(response, 'invalid'), class: 'client' };
    }
    if (prepared.compaction === 'native' && !isCompacted(parsed, JSON.stringify(body)))
      return uncompacted(response.status);
    const usage = upstream.readUsage(body);
    const silent = isChat && (usage === null || usage.output + usage.reasoning === 0);
    const failed = isChat && upstream.isFailed?.(body) === true;
    const events = translated || silent || failed ? upstream.decodeResponse(body) : null;
    if (silent && events !== null && isEmpty(events, usage)) return hostFailure(response, 'empty');
    if ((translated || failed) && events !== null) {
      for (const event of events) {
        const failure = failureIn(event);
        if (failure === null) continue;
        return failure.code === null ? { ...hostFailure(response, 'broken'), usage } : inBodyFailure(failure, prepared);
      }
    }
    return { kind: 'whole', prepared, response, attempts, bytes, body, events, firstByteMs };
  }
}

const always = () => true;
const isJson = (type: string): boolean => type.includes('json');

/** The dialect that answers of custom forms become. */
const openAi = codecFor(commonProtocol).upstream;

/** Operations whose streams are no chats. */
const hasEvents = (operation: Operation): boolean =>
  operation === 'speech' || isPicture(operation) || isRecording(operation);
const isPicture = (operation: Operation): boolean => operation.startsWith('image');
const isRecording = (operation: Operation): boolean => operation === 'transcriptions' || operation === 'translations';

/** The content type goes into the log: it is often the reason why a response cannot be read. */
const hostFailure = (response: Response, reason: UpstreamFailure['reason']): UpstreamFailure => ({
  class: 'host',
  status: response.status,
  error:
    reason === 'invalid' || reason === 'broken'
      ? { status: null, type: null, code: null, message: typeOf(response) }
      : null,
  retryAfter: null,
  reason,
});

/** An error that came inside of a 200: its words decide the class. */
export function inBodyFailure(error: UpstreamError, prepared: Prepared): UpstreamFailure {
  const { channel } = prepared;
  // The status 200 it came with means nothing.
  const status = error.status !== null && error.status >= 400 ? error.status : statusOf(error, channel.type);
  return { ...statusFailure(status, redacted(error, channel), null), inBody: true };
}

const statusByWord: readonly (readonly [RegExp, number])[] = [
  [/rate_?limit|too_?many|exhausted|throttl/i, 429],
  [/overloaded|unavailable/i, 529],
  [/authentication|invalid_api_key|unauthori/i, 401],
  [/permission|forbidden/i, 403],
  [/invalid_request|invalid_argument|context_length|content_filter|content_policy/i, 400],
];

function statusOf({ type, code }: UpstreamError, channelType: number): number {
  const known = statusOfCode(providerByType(channelType)?.slug ?? '', type, code);
  if (known !== null) return known;
  // A status may be told as the code.
  if (/^[45]\d\d$/.test(code ?? '')) return Number(code);
  const words = `${type ?? ''} ${code ?? ''}`;
  return statusByWord.find(([pattern]) => pattern.test(words))?.[1] ?? 502;
}

/** How this upstream's frames reach this client. */
function frameRelayFor(reservation: Reservation, prepared: Prepared, now: () => number): FrameRelay {
  const { parsed } = reservation;
  const { operation, body } = parsed;
  const upstream = hasEvents(operation)
    ? operationEvents(prepared.upstream, ordered(operation, 'pictures', body))
    : prepared.upstream;
  if (isCollected(parsed)) return new TranslatingRelay(upstream, null, now, changeFor(prepared), soundForm(parsed));
  // Nothing is sent to the client before this upstream is known to support compaction.
  const proves = prepared.compaction === 'native' ? provesCompaction(parsed) : null;
  if (proves !== null || !prepared.needsTranslation)
    return new PassthroughRelay(upstream, prepared.usageRequested, now, proves, soundForm(parsed), prepared.asked);
  const { writer } = codecFor(parsed.protocol).translation;
  return new TranslatingRelay(
    upstream,
    noting(writer(contextOf(reservation, now())), lossesInto(prepared.dropped, parsed.protocol)),
    now,
    changeFor(prepared),
    soundForm(parsed),
  );
}

const provesCompaction = (parsed: ParsedRequest) => (frame: string) => isCompacted(parsed, frame);

/** @param note sees each event before it is written. */
const noting = (writer: StreamWriter, note: (event: ChatEvent) => void): StreamWriter => ({
  write(event) {
    note(event);
    return writer.write(event);
  },
});

/** Streamed speech does not say what it is: the request does. @returns null = it names no form. */
export function soundForm({ body }: Pick<ParsedRequest, 'body'>): string | null {
  if (body.audio === undefined) return null;
  const format = record(body.audio)?.format;
  return typeof format === 'string' && format !== '' ? format.slice(0, 32) : null;
}

/** Some upstreams stream although a single response was requested. */
export const isCollected = ({ operation, stream }: ParsedRequest): boolean =>
  !stream && (operation === 'chat' || isPicture(operation) || isRecording(operation));

/** What happens to an answer's events between the two dialects. */
export function changeFor(prepared: Prepared): ((event: ChatEvent) => readonly ChatEvent[]) | undefined {
  if (prepared.fromSummary !== null) return prepared.fromSummary();
  const restore = prepared.restore?.();
  if (prepared.channel.setting.thinking_to_content !== true) return restore;
  const convert = thinkingToContent();
  return restore === undefined ? convert : (event) => restore(event).flatMap(convert);
}

/** Facts about a response besides its events. */
export function contextOf(reservation: Reservation, nowMs: number): ResponseContext {
  const { parsed, plan } = reservation;
  const options = parsed.body.stream_options as { include_usage?: unknown } | null | undefined;
  const names =
    parsed.compaction === undefined && codecFor(parsed.protocol).definition.references?.isStored(parsed.body) === true;
  return {
    model: parsed.model,
    responseId: parsed.requestId,
    created: Math.floor(nowMs / 1000),
    includeUsage: options?.include_usage === true,
    // The plan's count is a bound: twice what ordinary text takes.
    promptTokens: Math.ceil(plan.promptTokens / 2),
    ...(names ? { made: (items) => reservation.canName(items) } : {}),
  };
}
