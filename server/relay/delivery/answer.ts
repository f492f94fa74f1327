/** Stages 4 to 7: what the channels gave becomes the client's answer, and the request's money is closed by how it ended. */
import { AppError } from '../../contract/errors.ts';
import type { ChatEvent, Usage } from '../../protocols/canonical.ts';
import type { Reshape } from '../../protocols/codec.ts';
import { codecFor } from '../../protocols/registry.ts';
import { emptyUsage } from '../../protocols/shared/usage.ts';
import type { TokenCounter } from '../admission/counting/counter.ts';
import type { Exchange } from '../admission/exchange.ts';
import { reportedUsage } from '../admission/meter.ts';
import { type DeliveredText, deliveredTextOf, nothingDelivered } from '../shared/delivered-text.ts';
import { clientError, errorResponse, retryAfterOf, toldTo } from '../shared/render-error.ts';
import { jsonType } from '../shared/sealed.ts';
import { shortage } from '../shared/shortage.ts';
import { spokenTokens } from '../shared/sound.ts';
import { type Cuttable, createDeparture, type Departure } from '../upstream/client-disconnect.ts';
import { type OpenStream, readToEnd } from '../upstream/open-stream.ts';
import {
  type AttemptsDeps,
  changeFor,
  contextOf,
  type Failed,
  isGathered,
  type Outcome,
  tryChannels,
} from '../upstream/try-channels.ts';
import { wordsOf } from '../upstream/whole.ts';
import { relayBytes } from './bytes.ts';
import { createCover } from './cover.ts';
import { finishFailed, type Refusal, refusalOf } from './finish-request.ts';
import { ownHeaders, shownFrom, streamHeadersOf } from './headers.ts';
import { whenDurable } from './held-back.ts';
import type { ItemKeeping } from './items.ts';
import { judgeEnd } from './judge-end.ts';
import { isKept, keptIn, noteKept } from './kept.ts';
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
  const departure = createDeparture(request.signal, deps.billMs);
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
            judgeEnd(deps, exchange, outcome, end);
            return close(deps, exchange, outcome, end);
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
  return settle(deps.counter, exchange, outcome, end).then(() => deps.ended(exchange.inquiry.request));
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
  const events = retell || usage === null ? upstream.decodeResponse(body) : [];
  const { retell: convert } = prepared;
  const told =
    convert !== null
      ? JSON.stringify(convert(body))
      : retell
        ? retold(exchange, changed(events, changeFor(prepared)), deps.now())
        : null;
  if (isKept(exchange, prepared)) noteKept(deps.affinity, exchange, prepared, keptIn(body));
  const durable = close(deps, exchange, outcome, {
    endReason: inquiry.request.signal.aborted ? 'client_gone' : 'completed',
    usage,
    usageSource: usage === null ? null : 'reported',
    delivered: usage === null ? deliveredTextOf(wordsOf(events)) : nothingDelivered,
    firstByteMs: outcome.firstByteMs,
  });
  const shape = told === null ? null : reshapeFor(exchange);
  const piece = told === null ? bytes : shape === null ? told : shape.push(told) + shape.end();
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
  departure.expecting(() => stream.frameRelay.nearEnd());
  const broken = !(await readToEnd(stream, deps.idleMs()));
  const usage = stream.frameRelay.usage();
  const gone = departure.gone();
  // A call that failed is charged for what the upstream reported and no more: the client gets none of the words.
  const failed = broken && !gone;
  const stopped = departure.cutBy();
  const end: StreamEnd = {
    endReason: gone ? 'client_gone' : !broken ? 'completed' : stopped === null ? 'upstream_broken' : 'stopped',
    usage,
    usageSource: usage === null ? null : broken && !stream.frameRelay.billed() ? 'partial' : 'reported',
    delivered: !failed && (usage === null || broken) ? stream.frameRelay.words() : nothingDelivered,
    firstByteMs: failed && usage === null ? null : stream.firstByteMs,
    ...(failed ? { failure: 'broken' } : {}),
  };
  judgeEnd(deps, exchange, outcome, end);
  const told = broken ? '' : retold(exchange, stream.frameRelay.events(), deps.now());
  const durable = close(deps, exchange, outcome, end);
  departure.upstream.abort();
  if (broken) {
    await durable;
    const error = stopped ?? new AppError('upstream_broken');
    return errorResponse(
      exchange.inquiry.protocol,
      toldTo(exchange.inquiry.request, clientError(error, exchange.inquiry.requestId)),
      retryAfterOf(error),
    );
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

function streamOf(
  deps: AnswerDeps,
  exchange: Exchange,
  outcome: Extract<Outcome, { kind: 'stream' }>,
  departure: Departure,
): ReadableStream<Uint8Array> {
  const { prepared, stream: opening } = outcome;
  if (isKept(exchange, prepared))
    noteKept(deps.affinity, exchange, prepared, { response: opening.frameRelay.responseId(), container: null });
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
      judgeEnd(deps, exchange, outcome, end);
      await close(deps, exchange, outcome, end);
    },
    errorFrame: (kind: StreamError) =>
      client.encodeStreamError(
        toldTo(
          exchange.inquiry.request,
          clientError(
            (kind === 'stopped' ? departure.cutBy() : null) ??
              new AppError(
                kind === 'quota' ? 'user_exhausted' : kind === 'word' ? 'answer_stopped' : 'upstream_broken',
                shortage(0, 1, deps.settings()),
              ),
            exchange.inquiry.requestId,
          ),
        ),
      ),
    cover: createCover(exchange, deps.settings().stake),
    borrow: () => exchange.charge.borrow(),
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
