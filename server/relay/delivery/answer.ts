import type { ChatEvent } from '../../protocols/canonical.ts';
import { codecFor } from '../../protocols/registry.ts';
import type { Exchange } from '../admission/exchange.ts';
import { reportedUsage } from '../admission/meter.ts';
import { nothingDelivered, textOfEvents } from '../shared/delivered-text.ts';
import { clientError, errorResponse, retryAfterOf, toldTo } from '../shared/render-error.ts';
import { jsonType } from '../shared/sealed.ts';
import { type Cuttable, createDeparture, type Departure, type Drains } from '../upstream/client-disconnect.ts';
import { isWholeBill, readToEnd } from '../upstream/open-stream.ts';
import { thinksUnseen, thoughtTime } from '../upstream/thinking.ts';
import { changeFor, contextOf, type Failed, isGathered, type Outcome, tryChannels } from '../upstream/try-channels.ts';
import { relayBytes } from './bytes.ts';
import { finishFailed, type Refusal, refusalOf } from './finish-request.ts';
import { ownHeaders, shownFrom, streamHeadersOf } from './headers.ts';
import { whenDurable } from './held-back.ts';
import { judgeEnd } from './judge-end.ts';
import { isKept, noteKept } from './kept.ts';
import { closeRequest, type StreamEnd } from './settle.ts';
import { brokenError, type Opened, ResponseStream, reshapeFor, type StreamDeps, type Streamed } from './stream.ts';

export interface AnswerDeps extends StreamDeps {
  /** What can be ended from outside; `ended` takes it out. */
  readonly running: Map<Request, Cuttable>;
  /** Upstreams that are read on for clients that left. */
  readonly drains: Drains;
}

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
        : streamed(deps, exchange, outcome, departure);
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
            return closeRequest(deps, exchange, { prepared: outcome.prepared, tried }, end);
          },
        }),
        {
          status: outcome.response.status,
          headers: { ...shownFrom(outcome.response), ...ownHeaders(exchange, outcome) },
        },
      );
  }
}

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
    await closeRequest(
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
  const durable = closeRequest(deps, exchange, outcome, {
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
  const durable = closeRequest(deps, exchange, { prepared: outcome.prepared, tried }, end);
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

function streamed(deps: AnswerDeps, exchange: Exchange, outcome: Streamed, departure: Departure): Response {
  const { prepared, stream, response } = outcome;
  if (isKept(exchange, prepared)) noteKept(deps.affinity, exchange, prepared, { id: stream.frameRelay.responseId() });
  const relay = new ResponseStream(deps, exchange, departure, outcome);
  return new Response(relay.readable(), {
    status: response.status,
    headers: { ...shownFrom(response), ...ownHeaders(exchange, outcome), ...streamHeadersOf(relay.reshape) },
  });
}

/** The status is given away for a ping; all that follows is said inside of the stream. */
function waitingStream(deps: AnswerDeps, exchange: Exchange, trying: Promise<Outcome>, departure: Departure): Response {
  const opening = trying.then(async (outcome): Promise<Opened> => {
    if (outcome.kind === 'stream') return outcome;
    if (outcome.kind === 'failed') return (await closeFailed(deps, exchange, outcome, departure)).shown;
    return (await respond(deps, exchange, outcome, departure)).text();
  });
  const relay = new ResponseStream(deps, exchange, departure, opening);
  return new Response(relay.readable(), {
    status: 200,
    headers: { ...streamHeadersOf(relay.reshape), 'x-oneapi-request-id': exchange.inquiry.requestId },
  });
}
