/** From the upstream's response to the client's: whole responses, bytes and streams; the last piece waits until the bill is durable. */
import { modelIn } from '../../contract/answered-model.ts';
import { formatUsd } from '../../contract/pricing/charge.ts';
import type { TokenLimits } from '../../contract/snapshot.ts';
import type { ChatEvent } from '../../protocols/canonical.ts';
import type { ClientError, StreamTransform } from '../../protocols/codec.ts';
import type { BudgetRules } from '../../protocols/definition.ts';
import { rateHeaders } from '../../protocols/rate-headers.ts';
import { codecFor } from '../../protocols/registry.ts';
import { lossesInto } from '../../protocols/shared/answer-losses.ts';
import { record } from '../../protocols/shared/json.ts';
import { isBarrier } from '../../routing/chains.ts';
import { reportedUsage } from '../admission/meter.ts';
import type { RequestChain, Reservation } from '../admission/reservation.ts';
import type { Deadline } from '../shared/deadline.ts';
import { type DeliveredText, nothingDelivered, textOfEvents } from '../shared/delivered-text.ts';
import type { AttemptSummary } from '../shared/failure.ts';
import { clientError, errorResponse, localizedError, retryAfterOf } from '../shared/render-error.ts';
import { jsonType, safeType } from '../shared/safe-headers.ts';
import { withoutAbsurd } from '../upstream/absurd-usage.ts';
import { changeFor, contextOf, isCollected, type Outcome, soundForm } from '../upstream/attempt.ts';
import { withoutDiagnosis } from '../upstream/cache-diagnosis.ts';
import type { ClientDisconnect } from '../upstream/client-disconnect.ts';
import { isWholeBill, readToEnd } from '../upstream/open-stream.ts';
import type { Prepared } from '../upstream/prepare.ts';
import type { Failed } from '../upstream/send.ts';
import { hasHiddenThinking, thoughtTime } from '../upstream/thinking.ts';
import { whenDurable } from './await-commit.ts';
import { relayBytes } from './bytes.ts';
import { CountSoFar } from './count-so-far.ts';
import { noteKept } from './response-items.ts';
import {
  closeRequest,
  closeUnfinished,
  endOf,
  finishFailed,
  type Refusal,
  refusalOf,
  reportOutcome,
  type StreamEnd,
  type StreamedOutcome,
} from './settle.ts';
import { brokenError, type Opened, ResponseStream, type StreamDeps, type Streamed, transformFor } from './stream.ts';

/** Delivers an attempt's outcome, once it is known. */
export function deliver(
  core: StreamDeps,
  reservation: Reservation,
  sending: Promise<Outcome>,
  disconnect: ClientDisconnect,
): Promise<Response> {
  const { pingMs, ownPings } = reservation.plan.settings;
  const { stream, operation } = reservation.parsed;
  // Known by the time at which the upstream answers.
  if (budgetRules(reservation) !== null) core.keyBudgets.prefetch(reservation.principal);
  // A client that waits for a stream gets signs of life even before the upstream sends anything.
  if (pingMs === null || !stream || (ownPings && operation !== 'chat'))
    return sending.then((outcome) => respond(core, reservation, outcome, disconnect));
  return new AwaitedStream(core, reservation, sending, disconnect).begin(pingMs);
}

/** A stream of which nothing has come yet: its client gets the answer, or a first sign of life, whichever is first. One promise for both, because most answers come long before. */
class AwaitedStream {
  private isOver = false;
  private resolve: (response: Response | Promise<Response>) => void = nothing;
  private reject: (error: unknown) => void = nothing;
  private deadline: Deadline | null = null;

  constructor(
    private readonly core: StreamDeps,
    private readonly reservation: Reservation,
    private readonly sending: Promise<Outcome>,
    private readonly disconnect: ClientDisconnect,
  ) {}

  begin(pingMs: number): Promise<Response> {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    this.resolve = resolve;
    this.reject = reject;
    this.deadline = this.core.deadlines.start(pingMs, () => this.end(null));
    // Of what is made of the outcome too: else nobody would ever answer.
    this.sending.then((outcome) => this.answered(outcome)).catch((error: unknown) => this.broken(error));
    return promise;
  }

  private answered(outcome: Outcome): void {
    this.deadline?.end();
    this.end(outcome);
  }

  private broken(error: unknown): void {
    this.deadline?.end();
    this.isOver = true;
    this.reject(error);
  }

  /** @param outcome null = there is none yet. */
  private end(outcome: Outcome | null): void {
    try {
      if (this.isOver) return;
      this.isOver = true;
      const { core, reservation, sending, disconnect } = this;
      this.resolve(
        outcome === null
          ? waitingStream(core, reservation, sending, disconnect)
          : respond(core, reservation, outcome, disconnect),
      );
    } catch (error) {
      this.reject(error);
    }
  }
}

const nothing = () => undefined;

function respond(
  core: StreamDeps,
  reservation: Reservation,
  outcome: Outcome,
  disconnect: ClientDisconnect,
): Promise<Response> | Response {
  switch (outcome.kind) {
    case 'failed':
      return reject(core, reservation, outcome, disconnect);
    case 'whole':
      return whole(core, reservation, outcome);
    default:
      return begun(core, reservation, outcome, disconnect);
  }
}

/** An error before the response was handed over says nothing about the channel. */
async function begun(
  core: StreamDeps,
  reservation: Reservation,
  outcome: StreamedOutcome,
  disconnect: ClientDisconnect,
): Promise<Response> {
  try {
    if (outcome.kind === 'bytes') return bytes(core, reservation, outcome, disconnect);
    return isCollected(reservation.parsed)
      ? await collected(core, reservation, outcome, disconnect)
      : streamed(core, reservation, outcome, disconnect);
  } catch (error) {
    core.health.released(outcome.prepared.channel, reservation.parsed.model);
    throw error;
  }
}

async function reject(
  core: StreamDeps,
  reservation: Reservation,
  outcome: Failed,
  disconnect: ClientDisconnect,
): Promise<Response> {
  const { clientError: error, retryAfter } = await closeFailed(core, reservation, outcome, disconnect);
  const response = errorFor(reservation, error, retryAfter);
  const headers = ownHeaders(core, reservation, outcome.attempts);
  for (const name in headers) response.headers.set(name, headers[name] ?? '');
  return response;
}

function errorFor(reservation: Reservation, error: ClientError, retryAfter: number | null): Response {
  const { parsed, plan } = reservation;
  const localized = localizedError(error, reservation.language());
  return errorResponse(parsed.protocol, localized, retryAfter, plan.settings.agentSignIn);
}

/** Gives the hold back and writes the error row. @returns what the client is sent. */
async function closeFailed(
  core: StreamDeps,
  reservation: Reservation,
  outcome: Failed,
  disconnect: ClientDisconnect,
): Promise<Refusal> {
  const { attempts, left } = outcome;
  const circumstances = { clientGone: reservation.parsed.request.signal.aborted, stopped: disconnect.cutBy() };
  if (left !== null) {
    const { prepared, usage, answered } = left;
    // The client left; what the upstream has read is paid.
    await closeRequest(
      core,
      reservation,
      { prepared, attempts },
      {
        endReason: 'client_gone',
        usage,
        usageSource: usage === null ? null : 'partial',
        delivered: nothingDelivered,
        firstByteMs: answered ? core.now() : null,
        sent: true,
      },
    );
    return refusalOf(reservation, outcome, circumstances);
  }
  const refusal = await finishFailed(reservation, outcome, circumstances);
  endOf(core, reservation);
  return refusal;
}

/** Neither JSON nor events: sound, subtitles. */
function bytes(
  core: StreamDeps,
  reservation: Reservation,
  outcome: Extract<Outcome, { kind: 'bytes' }>,
  disconnect: ClientDisconnect,
): Response {
  const { prepared, response } = outcome;
  core.watch?.onStreaming(reservation.parsed.request);
  reservation.delivered(1, prepared.channel);
  reservation.answeredBy(response.headers, null);
  const soFar = new CountSoFar(core.counter, reservation);
  const noteSoFar = async (delivered: DeliveredText): Promise<void> => {
    try {
      const usage = await soFar.of(delivered, null);
      if (usage !== null) reservation.checkpoint(usage, prepared.channel);
    } catch (error) {
      core.report(error, reservation.parsed.requestId);
    }
  };
  const body = relayBytes(response, {
    now: core.now,
    deadlines: core.deadlines,
    abort: disconnect.upstream,
    stopped: () => disconnect.cutBy() !== null,
    idleMs: core.idleMs(prepared.channel),
    report: (error) => core.report(error, reservation.parsed.requestId),
    checkpointMs: core.checkpointMs,
    checkpoint: (delivered) => void noteSoFar(delivered),
    async abandon() {
      core.health.released(prepared.channel, reservation.parsed.model);
      await closeUnfinished(core, reservation);
    },
    async finish(end) {
      try {
        const attempts = reportOutcome(core, reservation, outcome, end);
        await closeRequest(core, reservation, { prepared, attempts }, end);
      } catch (error) {
        core.report(error, reservation.parsed.requestId);
        core.health.released(prepared.channel, reservation.parsed.model);
        await closeUnfinished(core, reservation);
      }
    },
  });
  return new Response(body, { status: served, headers: headersOf(core, reservation, outcome.attempts, response) });
}

/** Whatever 2xx the upstream chose: a client is served all of it, and a 206 or 226 would mean a part to caches on the way. */
const served = 200;

function whole(
  core: StreamDeps,
  reservation: Reservation,
  outcome: Extract<Outcome, { kind: 'whole' }>,
): Promise<Response> {
  const { parsed } = reservation;
  const { prepared, body, bytes, response } = outcome;
  const { upstream } = prepared;
  const usage = reportedUsage(parsed, upstream, body);
  reservation.received(bytes.length);
  reservation.answeredBy(response.headers, modelIn(body));
  const translateResponse = prepared.needsTranslation || (parsed.stream && parsed.operation === 'chat');
  const events = outcome.events ?? (translateResponse || usage === null ? upstream.decodeResponse(body) : []);
  const { translateResponse: convert } = prepared;
  const converted = convert === null ? null : convert(body);
  const text =
    converted !== null
      ? JSON.stringify(converted)
      : translateResponse
        ? translatedBody(reservation, changed(events, changeFor(prepared)), core.now(), prepared.dropped)
        : null;
  if (prepared.namesKept) noteKept(core.affinity, reservation, prepared, body);
  // All that can go wrong with the response comes before its bill.
  const shape = text === null ? null : transformFor(reservation);
  const { asked } = prepared;
  const unasked = asked === null ? bytes : Buffer.from(withoutDiagnosis(Buffer.from(bytes).toString(), asked));
  const passed = text === null ? withoutAbsurd(unasked, body) : unasked;
  const chunk = inForm(reservation, text === null ? passed : shape === null ? text : shape.push(text) + shape.end());
  const headers = headersOf(core, reservation, outcome.attempts, response);
  if (text === null) headers['content-type'] = jsonType(headers['content-type']);
  else if (parsed.stream) addStreamHeaders(headers, shape);
  else headers['content-type'] = 'application/json; charset=utf-8';
  const durable = closeRequest(core, reservation, outcome, {
    endReason: parsed.request.signal.aborted ? 'client_gone' : 'completed',
    usage,
    usageSource: usage === null ? null : 'reported',
    delivered:
      usage === null
        ? // What the client's dialect has no place for does not reach it.
          textOfEvents(translateResponse ? events.filter(({ type }) => type !== 'omitted') : events, soundForm(parsed))
        : nothingDelivered,
    firstByteMs: outcome.firstByteMs,
    ...explanationIn(prepared, body),
  });
  return billed(core, reservation, durable, chunk, { status: served, headers });
}

/** Of a chat in one piece: its id, and what its provider says of its cache. */
function explanationIn({ dialect }: Prepared, body: unknown): Pick<StreamEnd, 'responseId' | 'diagnosis'> {
  const diagnostics = codecFor(dialect).definition.cache?.diagnostics;
  const answer = diagnostics === undefined ? null : record(body);
  if (diagnostics === undefined || answer === null) return nothingSaid;
  return {
    responseId: typeof answer.id === 'string' ? answer.id : null,
    diagnosis: diagnostics.read(answer[diagnostics.says]),
  };
}
const nothingSaid: Pick<StreamEnd, 'responseId' | 'diagnosis'> = {};

/** The response is paid for by now: it goes out, whatever goes wrong with waiting for its bill. */
function billed(
  core: StreamDeps,
  reservation: Reservation,
  durable: Promise<void>,
  chunk: Uint8Array<ArrayBuffer> | string,
  init: { readonly status: number; readonly headers: Record<string, string> },
): Promise<Response> {
  // The cost of an estimate is known only now.
  const make = (sent: ConstructorParameters<typeof Response>[0]) => {
    addCost(init.headers, reservation);
    return new Response(sent, init);
  };
  return whenDurable(durable, core.commitPingMs, chunk, make, core.deadlines).catch(async (error: unknown) => {
    core.report(error, reservation.parsed.requestId);
    await durable;
    return new Response(chunk, init);
  });
}

/** Some addresses take an answer in one piece in another form than the dialect's chat. */
function inForm<T extends string | Uint8Array<ArrayBuffer>>({ parsed }: Reservation, chunk: T): T | string {
  const form = parsed.stream ? undefined : codecFor(parsed.protocol).client.wholeForm?.(parsed.request.url);
  if (form == null) return chunk;
  return form(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8'));
}

const changed = (events: readonly ChatEvent[], change: ReturnType<typeof changeFor>): readonly ChatEvent[] =>
  change === undefined ? events : events.flatMap(change);

/**
 * Events in the client's dialect: one JSON text, or a whole event stream where the client asked for one.
 * @param dropped receives what has no place there.
 */
function translatedBody(
  reservation: Reservation,
  events: readonly ChatEvent[],
  nowMs: number,
  dropped: string[],
): string {
  const { parsed } = reservation;
  const note = lossesInto(dropped, parsed.protocol);
  for (const event of events) note(event);
  const { translation, definition } = codecFor(parsed.protocol);
  const context = contextOf(reservation, nowMs);
  if (!parsed.stream) {
    const text = translation.encodeResponse(events, context);
    const called = parsed.compaction?.form === 'call' ? definition.compaction?.asCall(text, parsed.body) : undefined;
    return JSON.stringify(called ?? text);
  }
  const writer = translation.writer(context);
  return events.map((event) => writer.write(event)).join('');
}

/** The upstream streams although the client asked for one piece. */
async function collected(
  core: StreamDeps,
  reservation: Reservation,
  outcome: Extract<Outcome, { kind: 'stream' }>,
  disconnect: ClientDisconnect,
): Promise<Response> {
  const { stream } = outcome;
  const { prepared } = outcome;
  const isThinking = () => hasHiddenThinking(reservation, prepared, stream.frameRelay);
  disconnect.expecting(() => stream.frameRelay.nearEnd() || isThinking() || stream.frameRelay.deliversMedia());
  const broken = !(await readToEnd(stream, core.idleMs(prepared.channel)));
  const usage = stream.frameRelay.usage;
  reservation.received(stream.frameRelay.receivedBytes);
  reservation.answeredBy(outcome.response.headers, stream.frameRelay.answeredModel);
  const gone = disconnect.isDisconnected;
  // A call that failed is charged for what the upstream reported and no more: the client gets none of the words.
  const failed = broken && !gone;
  const stopped = disconnect.cutBy();
  const whole = isWholeBill(stream.frameRelay, !broken);
  const end: StreamEnd = {
    endReason: gone ? 'client_gone' : !broken ? 'completed' : stopped === null ? 'upstream_broken' : 'stopped',
    usage,
    usageSource: usage === null ? null : whole ? 'reported' : 'partial',
    delivered: failed || whole ? nothingDelivered : stream.frameRelay.owed(true),
    thought: broken && gone && !whole && isThinking() ? thoughtTime(stream, core.now()) : null,
    firstByteMs: failed && usage === null ? null : stream.firstByteMs,
    ...(failed ? { failure: 'broken' } : {}),
    responseId: stream.frameRelay.responseId,
    diagnosis: stream.frameRelay.diagnosis,
  };
  const attempts = reportOutcome(core, reservation, outcome, end);
  const { operation } = reservation.parsed;
  const body = operation === 'chat' ? undefined : stream.frameRelay.answer();
  const text = broken
    ? ''
    : body !== undefined
      ? JSON.stringify(body)
      : inForm(
          reservation,
          translatedBody(reservation, stream.frameRelay.events(), core.now(), outcome.prepared.dropped),
        );
  const headers = broken ? null : ownHeaders(core, reservation, outcome.attempts);
  const durable = closeRequest(core, reservation, { prepared: outcome.prepared, attempts, body }, end);
  disconnect.upstream.abort();
  if (headers === null) {
    await durable;
    const { parsed } = reservation;
    const error = stopped === null ? brokenError(reservation, outcome) : clientError(stopped, parsed.requestId);
    return errorFor(reservation, error, retryAfterOf(stopped));
  }
  headers['content-type'] = 'application/json; charset=utf-8';
  return billed(core, reservation, durable, text, { status: served, headers });
}

function streamed(
  core: StreamDeps,
  reservation: Reservation,
  outcome: Streamed,
  disconnect: ClientDisconnect,
): Response {
  const { prepared, stream, response } = outcome;
  reservation.answeredBy(outcome.response.headers, stream.frameRelay.answeredModel);
  if (prepared.namesKept) noteKept(core.affinity, reservation, prepared, { id: stream.frameRelay.responseId });
  const relay = new ResponseStream(core, reservation, disconnect, outcome);
  const headers = ownHeaders(core, reservation, outcome.attempts);
  addPassedHeaders(headers, response);
  addStreamHeaders(headers, relay.transform);
  return new Response(relay.readable(), { status: served, headers });
}

/** The status is already sent with a ping; an error can only be part of the stream. */
function waitingStream(
  core: StreamDeps,
  reservation: Reservation,
  sending: Promise<Outcome>,
  disconnect: ClientDisconnect,
): Response {
  const opening = sending.then(async (outcome): Promise<Opened> => {
    if (outcome.kind === 'stream') return outcome;
    if (outcome.kind === 'failed') return (await closeFailed(core, reservation, outcome, disconnect)).clientError;
    return (await respond(core, reservation, outcome, disconnect)).text();
  });
  const relay = new ResponseStream(core, reservation, disconnect, opening);
  const headers: Record<string, string> = { 'x-oneapi-request-id': reservation.parsed.requestId };
  addLimits(core, headers, reservation);
  addStreamHeaders(headers, relay.transform);
  return new Response(relay.readable(), { status: served, headers });
}

// --- headers: what a client may see of the upstream's, and our own

/** The other headers reveal who the upstream is or the state of its account. */
const passedHeaders = ['openai-version', 'openai-processing-ms', 'x-request-id'] as const;

/** @param attempts attempts, for the trace. */
function headersOf(
  core: StreamDeps,
  reservation: Reservation,
  attempts: readonly AttemptSummary[],
  response: Response,
): Record<string, string> {
  const headers = ownHeaders(core, reservation, attempts);
  const type = response.headers.get('content-type');
  if (type !== null) headers['content-type'] = safeType(type);
  addPassedHeaders(headers, response);
  return headers;
}

function addPassedHeaders(headers: Record<string, string>, response: Response): void {
  for (const name of passedHeaders) {
    const value = response.headers.get(name);
    if (value !== null) headers[name] = value;
  }
}

function addStreamHeaders(headers: Record<string, string>, shape: StreamTransform | null): void {
  headers['content-type'] = shape === null ? 'text/event-stream; charset=utf-8' : shape.contentType;
  headers['x-accel-buffering'] = 'no';
}

function ownHeaders(
  core: StreamDeps,
  reservation: Reservation,
  attempts: readonly AttemptSummary[],
): Record<string, string> {
  const { parsed, plan, chain } = reservation;
  const headers: Record<string, string> = { 'x-oneapi-request-id': parsed.requestId };
  addCost(headers, reservation);
  addLimits(core, headers, reservation);
  if (plan.trace !== null) {
    const tried = attempts.map(({ channelId }) => channelId);
    const skipped = reservation.skipped?.map(({ channelId, error }) => `${channelId} ${error.code}`) ?? [];
    const rest = skipped.length === 0 ? '' : `; skipped=${skipped.join(',')}`;
    const way = chain === null ? '' : `; ${chain.isVirtual ? 'chain' : 'groups'}=${chainTrace(chain)}`;
    headers['x-gateway-trace'] = `${plan.trace}; tried=${tried.join(',')}${rest}${way}`;
  }
  return headers;
}

/** Adds the caller's remaining rates and budgets. */
function addLimits(core: StreamDeps, headers: Record<string, string>, reservation: Reservation): void {
  const rates = reservation.admission.rates();
  if (rates.length > 0) Object.assign(headers, rateHeaders(reservation.parsed.protocol, rates, core.now()));
  addBudgets(headers, core, reservation);
}

/** How the dialect's clients are told of what bounds this key; null = they are not. */
function budgetRules({ principal: { token }, parsed, plan, budgetHolders }: Reservation): BudgetRules | null {
  const { budgets } = codecFor(parsed.protocol).definition;
  if (budgets === undefined || token === null) return null;
  return (budgets.kinds === 'periods' ? budgetHolders !== null || hasPeriods(token.limits) : plan.settings.agentSignIn)
    ? budgets
    : null;
}

const hasPeriods = (limits: TokenLimits | null): boolean =>
  limits !== null && (limits.dayBudget > 0 || limits.monthBudget > 0);

/** Outcome of each target that the caller may reach; names of models may be written in any letters, header lines may not. */
const chainTrace = (chain: RequestChain): string =>
  chain
    .steps()
    .filter(({ outcome }) => !isBarrier(outcome))
    .map(
      ({ leaf, group, outcome, failure }) =>
        `${encodeURI(chain.isVirtual ? leaf.model : group)} ${outcome}${failure === undefined ? '' : `:${failure}`}`,
    )
    .join(' > ');

/** As the bills before this one left them. */
function addBudgets(headers: Record<string, string>, { keyBudgets }: StreamDeps, reservation: Reservation): void {
  const rules = budgetRules(reservation);
  const funds = rules === null ? null : keyBudgets.at(reservation.account);
  if (rules === null || funds === null) return;
  const limits = reservation.principal.token?.limits ?? null;
  const { plan, budgetHolders: holders } = reservation;
  Object.assign(headers, rules.headers(keyBudgets.of(funds, rules.kinds, { limits, isFree: plan.selfUse, holders })));
}

/** Known once the bill is made. */
function addCost(headers: Record<string, string>, { plan, charged: quota }: Reservation): void {
  if (!plan.showCost || quota === null) return;
  headers['x-gateway-quota'] = String(quota);
  headers['x-gateway-cost-usd'] = formatUsd(quota, 6, plan.prices.quotaPerUnit);
}
