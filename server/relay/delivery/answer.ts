/** Stages 4 to 7: what the channels gave becomes the client's answer, and the request's money is closed by how it ended. */
import { AppError } from '../../contract/errors.ts';
import type { ChatEvent, Usage } from '../../protocols/canonical.ts';
import type { ClientError, Reshape } from '../../protocols/codec.ts';
import { codecFor } from '../../protocols/registry.ts';
import { emptyUsage } from '../../protocols/shared/usage.ts';
import type { TokenCounter } from '../admission/counting/counter.ts';
import type { Exchange } from '../admission/exchange.ts';
import { reportedUsage } from '../admission/meter.ts';
import { type DeliveredText, nothingDelivered, textOfEvents } from '../shared/delivered-text.ts';
import { failureError, isLasting } from '../shared/failure.ts';
import { clientError, errorResponse, retryAfterOf, toldTo } from '../shared/render-error.ts';
import { jsonType } from '../shared/sealed.ts';
import { shortage } from '../shared/shortage.ts';
import { spokenTokens } from '../shared/sound.ts';
import { type Cuttable, createDeparture, type Departure, type Drains } from '../upstream/client-disconnect.ts';
import { isWholeBill, type OpenStream, readToEnd } from '../upstream/open-stream.ts';
import { thinksUnseen, thoughtTime } from '../upstream/thinking.ts';
import {
  type AttemptsDeps,
  changeFor,
  contextOf,
  type Failed,
  isGathered,
  type Outcome,
  tryChannels,
} from '../upstream/try-channels.ts';
import { relayBytes } from './bytes.ts';
import { createCover } from './cover.ts';
import { finishFailed, type Refusal, refusalOf } from './finish-request.ts';
import { ownHeaders, shownFrom, streamHeadersOf } from './headers.ts';
import { whenDurable } from './held-back.ts';
import type { ItemKeeping } from './items.ts';
import { judgeEnd, reportedIn } from './judge-end.ts';
import { isKept, noteKept } from './kept.ts';
import { relayStream } from './pump.ts';
import { settle } from './settle.ts';
import { createWordWatch } from './stop-words.ts';
import type { StreamEnd, StreamError } from './stream-options.ts';

export interface AnswerDeps extends AttemptsDeps {
  readonly counter: TokenCounter;
  readonly items: ItemKeeping;
  readonly checkpointMs: number;
  readonly billMs: number;
  /** Between signs of life while an end waits for its bill. */
  readonly commitPingMs: number;
  /** What can be ended from outside; `ended` takes it out. */
  readonly running: Map<Request, Cuttable>;
  /** Upstreams that are read on for clients that left. */
  readonly drains: Drains;
  /** The answer to this request goes on after it was handed over. */
  readonly lasting: (request: Request) => void;
  /** Called once when the request is over, streams included. */
  readonly ended: (request: Request) => void;
}

const reshapeFor = ({ inquiry }: Exchange): Reshape | null =>
  inquiry.stream ? (codecFor(inquiry.protocol).client.reshape?.(inquiry.request.url) ?? null) : null;

export type Reached = Exclude<Outcome, { kind: 'failed' }>;

export async function answer(deps: AnswerDeps, exchange: Exchange): Promise<Response> {
  const { inquiry } = exchange;
  const { request } = inquiry;
  const departure = createDeparture(request.signal, deps.billMs, deps.drains);
  deps.running.set(request, departure);
  try {
    const trying = tryChannels(deps, exchange, departure);
    const { pingMs } = deps.settings();
    // With keep-alive on, a client that waits for a stream hears from us even before the upstream says anything.
    if (pingMs !== null && inquiry.stream) {
      const outcome = await Promise.race([trying, Bun.sleep(pingMs).then(() => null)]);
      if (outcome === null) return waitingStream(deps, exchange, trying, departure);
      return await respond(deps, exchange, outcome, departure);
    }
    return await respond(deps, exchange, await trying, departure);
  } catch (error) {
    departure.over();
    deps.running.delete(request);
    throw error;
  }
}

function respond(
  deps: AnswerDeps,
  exchange: Exchange,
  outcome: Outcome,
  departure: Departure,
): Promise<Response> | Response {
  switch (outcome.kind) {
    case 'failed':
      return refuse(deps, exchange, outcome, departure);
    case 'stream':
      return isGathered(exchange.inquiry)
        ? gathered(deps, exchange, outcome, departure)
        : new Response(streamOf(deps, exchange, outcome, departure), {
            status: outcome.response.status,
            headers: {
              ...shownFrom(outcome.response),
              ...ownHeaders(exchange, outcome),
              ...streamHeadersOf(reshapeFor(exchange)),
            },
          });
    case 'whole':
      return whole(deps, exchange, outcome);
    case 'bytes':
      deps.lasting(exchange.inquiry.request);
      exchange.charge.delivered(1, outcome.prepared.channel);
      return new Response(
        relayBytes(outcome.response, {
          now: deps.now,
          abort: departure.upstream,
          stopped: () => departure.cutBy() !== null,
          idleMs: deps.idleMs(),
          finish: (end) => {
            const tried = judgeEnd(deps, exchange, outcome, end);
            return close(deps, exchange, { prepared: outcome.prepared, tried }, end);
          },
        }),
        {
          status: outcome.response.status,
          headers: { ...shownFrom(outcome.response), ...ownHeaders(exchange, outcome) },
        },
      );
  }
}

const close = (
  deps: AnswerDeps,
  exchange: Exchange,
  outcome: Pick<Reached, 'prepared' | 'tried'> & { readonly body?: unknown },
  end: StreamEnd,
): Promise<void> => {
  deps.items.keep(exchange);
  return settle(deps, exchange, outcome, end).then(() => deps.ended(exchange.inquiry.request));
};

async function refuse(deps: AnswerDeps, exchange: Exchange, outcome: Failed, departure: Departure): Promise<Response> {
  const { inquiry } = exchange;
  const { shown, retryAfter } = await closeFailed(deps, exchange, outcome, departure);
  const response = errorResponse(inquiry.protocol, toldTo(inquiry.request, shown), retryAfter);
  for (const [name, value] of Object.entries(ownHeaders(exchange, outcome))) response.headers.set(name, value);
  return response;
}

/** Gives the hold back and writes the error row. @returns what to tell the client. */
async function closeFailed(
  deps: AnswerDeps,
  exchange: Exchange,
  outcome: Failed,
  departure: Departure,
): Promise<Refusal> {
  const { inquiry } = exchange;
  const { tried, left } = outcome;
  const circumstances = { gone: inquiry.request.signal.aborted, stopped: departure.cutBy() };
  if (left !== null) {
    const { prepared, usage } = left;
    // What the upstream read is paid for.
    await close(
      deps,
      exchange,
      { prepared, tried },
      {
        endReason: 'client_gone',
        usage,
        usageSource: usage === null ? null : 'partial',
        delivered: nothingDelivered,
        firstByteMs: deps.now(),
      },
    );
    return refusalOf(exchange, outcome, circumstances);
  }
  const refusal = await finishFailed(exchange, outcome, circumstances);
  deps.ended(inquiry.request);
  return refusal;
}

function whole(deps: AnswerDeps, exchange: Exchange, outcome: Extract<Outcome, { kind: 'whole' }>): Promise<Response> {
  const { inquiry } = exchange;
  const { prepared, body, bytes, response } = outcome;
  const { upstream } = prepared;
  const usage = reportedUsage(inquiry, upstream, body);
  const retell = prepared.retold || (inquiry.stream && inquiry.operation === 'chat');
  const events = outcome.events ?? (retell || usage === null ? upstream.decodeResponse(body) : []);
  const { retell: convert } = prepared;
  const told =
    convert !== null
      ? JSON.stringify(convert(body))
      : retell
        ? retold(exchange, changed(events, changeFor(prepared)), deps.now())
        : null;
  if (isKept(exchange, prepared)) noteKept(deps.affinity, exchange, prepared, body);
  const durable = close(deps, exchange, outcome, {
    endReason: inquiry.request.signal.aborted ? 'client_gone' : 'completed',
    usage,
    usageSource: usage === null ? null : 'reported',
    delivered: usage === null ? textOfEvents(events) : nothingDelivered,
    firstByteMs: outcome.firstByteMs,
  });
  const shape = told === null ? null : reshapeFor(exchange);
  const piece = inForm(exchange, told === null ? bytes : shape === null ? told : shape.push(told) + shape.end());
  const shown = shownFrom(response);
  const headers = {
    ...shown,
    ...ownHeaders(exchange, outcome),
    'content-type': jsonType(shown['content-type']),
    ...(told === null
      ? {}
      : inquiry.stream
        ? streamHeadersOf(shape)
        : { 'content-type': 'application/json; charset=utf-8' }),
  };
  return whenDurable(
    durable,
    deps.commitPingMs,
    piece,
    (sent) => new Response(sent, { status: response.status, headers }),
  );
}

/** Some addresses take an answer in one piece in another form than the dialect's chat. */
function inForm<T extends string | Uint8Array<ArrayBuffer>>({ inquiry }: Exchange, piece: T): T | string {
  const form = inquiry.stream ? undefined : codecFor(inquiry.protocol).client.wholeForm?.(inquiry.request.url);
  if (form == null) return piece;
  return form(typeof piece === 'string' ? piece : Buffer.from(piece).toString('utf8'));
}

const changed = (events: readonly ChatEvent[], change: ReturnType<typeof changeFor>): readonly ChatEvent[] =>
  change === undefined ? events : events.flatMap(change);

/** Events in the client's dialect: one JSON text, or a whole event stream where the client asked for one. */
export function retold(exchange: Exchange, events: readonly ChatEvent[], nowMs: number): string {
  const { inquiry } = exchange;
  const { translation, traits } = codecFor(inquiry.protocol);
  const context = contextOf(exchange, nowMs);
  if (!inquiry.stream) {
    const told = translation.encodeResponse(events, context);
    const called = inquiry.compaction?.form === 'call' ? traits.compaction?.asCall(told, inquiry.body) : undefined;
    return JSON.stringify(called ?? told);
  }
  const writer = translation.writer(context);
  return events.map((event) => writer.write(event)).join('');
}

/** The upstream streams although the client asked for one piece. */
async function gathered(
  deps: AnswerDeps,
  exchange: Exchange,
  outcome: Extract<Outcome, { kind: 'stream' }>,
  departure: Departure,
): Promise<Response> {
  const { stream } = outcome;
  const { prepared } = outcome;
  const thinks = () => thinksUnseen(exchange, prepared, deps.settings(), stream.frameRelay.thinking());
  departure.expecting(() => stream.frameRelay.nearEnd() || thinks());
  const broken = !(await readToEnd(stream, deps.idleMs()));
  const usage = stream.frameRelay.usage();
  const gone = departure.gone();
  // A call that failed is charged for what the upstream reported and no more: the client gets none of the words.
  const failed = broken && !gone;
  const stopped = departure.cutBy();
  const whole = isWholeBill(stream.frameRelay, !broken);
  const end: StreamEnd = {
    endReason: gone ? 'client_gone' : !broken ? 'completed' : stopped === null ? 'upstream_broken' : 'stopped',
    usage,
    usageSource: usage === null ? null : whole ? 'reported' : 'partial',
    delivered: failed || whole ? nothingDelivered : stream.frameRelay.words(),
    thought: broken && gone && !whole && thinks() ? thoughtTime(stream, deps.now()) : null,
    firstByteMs: failed && usage === null ? null : stream.firstByteMs,
    ...(failed ? { failure: 'broken' } : {}),
  };
  const tried = judgeEnd(deps, exchange, outcome, end);
  const told = broken ? '' : inForm(exchange, retold(exchange, stream.frameRelay.events(), deps.now()));
  const durable = close(deps, exchange, { prepared: outcome.prepared, tried }, end);
  departure.upstream.abort();
  if (broken) {
    await durable;
    const { inquiry } = exchange;
    const error = stopped === null ? brokenError(exchange, outcome) : clientError(stopped, inquiry.requestId);
    return errorResponse(inquiry.protocol, toldTo(inquiry.request, error), retryAfterOf(stopped));
  }
  return whenDurable(
    durable,
    deps.commitPingMs,
    told,
    (sent) =>
      new Response(sent, {
        status: 200,
        headers: { ...ownHeaders(exchange, outcome), 'content-type': 'application/json; charset=utf-8' },
      }),
  );
}

type Streamed = Extract<Outcome, { kind: 'stream' }>;

/** A stream that broke, in the upstream's words where it said why. */
function brokenError({ inquiry }: Exchange, outcome: Streamed | null): ClientError {
  const failure = outcome === null ? null : reportedIn(outcome);
  const error = failure === null ? new AppError('upstream_broken') : failureError(failure, isLasting(failure));
  return clientError(error, inquiry.requestId, failure);
}

function streamOf(
  deps: AnswerDeps,
  exchange: Exchange,
  outcome: Extract<Outcome, { kind: 'stream' }>,
  departure: Departure,
): ReadableStream<Uint8Array> {
  const { prepared, stream: opening } = outcome;
  if (isKept(exchange, prepared)) noteKept(deps.affinity, exchange, prepared, { id: opening.frameRelay.responseId() });
  return relayStream({ ...pumpOptions(deps, exchange, departure, () => outcome), opening });
}

/** The status is given away for a sign of life; all that follows is told inside of the stream. */
function waitingStream(deps: AnswerDeps, exchange: Exchange, trying: Promise<Outcome>, departure: Departure): Response {
  let reached: Streamed | null = null;
  let refusal: ReturnType<typeof clientError> | null = null;
  const opening = trying.then(async (outcome): Promise<OpenStream | string | null> => {
    if (outcome.kind === 'stream') {
      reached = outcome;
      return outcome.stream;
    }
    if (outcome.kind === 'failed') {
      refusal = (await closeFailed(deps, exchange, outcome, departure)).shown;
      return null;
    }
    return (await respond(deps, exchange, outcome, departure)).text();
  });
  const options = pumpOptions(deps, exchange, departure, () => reached);
  return new Response(
    relayStream({
      ...options,
      opening,
      errorFrame: (kind) =>
        refusal === null ? options.errorFrame(kind) : codecOf(exchange).client.encodeStreamError(refusal),
    }),
    {
      status: 200,
      headers: { ...streamHeadersOf(options.reshape), 'x-oneapi-request-id': exchange.inquiry.requestId },
    },
  );
}

const codecOf = ({ inquiry }: Exchange) => codecFor(inquiry.protocol);

/** Players of this family take a comment of its own for an event without data; one that leads the next event's lines is part of that. */
const playgroundPing = ': PING\n';

function pumpOptions(deps: AnswerDeps, exchange: Exchange, departure: Departure, reached: () => Streamed | null) {
  const { client } = codecOf(exchange);
  const reshape = reshapeFor(exchange);
  deps.lasting(exchange.inquiry.request);
  return {
    ping: exchange.inquiry.route.session === true ? playgroundPing : client.ping,
    // In a list the error is an item, which no reader takes for an answer.
    breaksOff: client.breaksOff === true && reshape === null,
    reshape,
    pingMs: deps.settings().pingMs,
    idleMs: deps.idleMs(),
    checkpointMs: deps.checkpointMs,
    billMs: deps.billMs,
    commitPingMs: deps.commitPingMs,
    now: deps.now,
    departure,
    finish: async (end: StreamEnd) => {
      const outcome = reached();
      if (outcome === null) return;
      const tried = judgeEnd(deps, exchange, outcome, end);
      if (isKept(exchange, outcome.prepared)) {
        const whole = outcome.stream.frameRelay.answer();
        if (whole !== null) noteKept(deps.affinity, exchange, outcome.prepared, whole);
      }
      await close(deps, exchange, { prepared: outcome.prepared, tried }, end);
    },
    errorFrame: (kind: StreamError) => {
      const { request, requestId } = exchange.inquiry;
      const own =
        kind === 'stopped'
          ? departure.cutBy()
          : kind === 'quota' || kind === 'word'
            ? new AppError(kind === 'quota' ? 'user_exhausted' : 'answer_stopped', shortage(0, 1, deps.settings()))
            : null;
      const error = own === null ? brokenError(exchange, reached()) : clientError(own, requestId);
      return client.encodeStreamError(toldTo(request, error));
    },
    cover: createCover(exchange, deps.settings().stake),
    borrow: () => exchange.charge.borrow(),
    thinks: ({ frameRelay }: OpenStream) => {
      const prepared = reached()?.prepared;
      return prepared !== undefined && thinksUnseen(exchange, prepared, deps.settings(), frameRelay.thinking());
    },
    watch: createWordWatch(deps.settings().stopWords),
    delivered: (frames: number) => {
      const channel = reached()?.prepared.channel;
      if (channel !== undefined) exchange.charge.delivered(frames, channel);
    },
    affordable: ({ units, spokenSeconds }: DeliveredText, durably: boolean) => {
      const channel = reached()?.prepared.channel;
      if (channel === undefined) return true;
      const guess: Usage = {
        ...emptyUsage,
        input: Math.ceil(exchange.plan.promptTokens),
        output: Math.ceil(units / 2),
        audioOutput: spokenTokens(spokenSeconds),
      };
      if (durably) exchange.charge.checkpoint(guess, channel);
      return exchange.charge.extendTo(guess);
    },
  };
}
