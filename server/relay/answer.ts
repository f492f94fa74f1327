/** Stages 4 to 7: try channels in order, pass the answer on, and close the request's money by how it ended. */
import { AppError } from '../contract/errors.ts';
import type { Usage } from '../protocols/canonical.ts';
import { type Prepared, prepareAttempt } from './attempt.ts';
import type { Charge } from './charge.ts';
import type { TokenCounter } from './counting/counter.ts';
import type { Answer, UpstreamCall } from './dispatch.ts';
import type { Inquiry, Plan } from './exchange.ts';
import { failureError, mayRetry, type UpstreamFailure } from './failure.ts';
import { countMedia } from './prompt.ts';
import { clientError, errorResponse } from './render-error.ts';
import type { RelaySettings } from './settings.ts';
import type { ChannelSnapshot } from './snapshot.ts';
import { relayStream, type StreamEnd } from './stream.ts';

export interface AnswerDeps {
  readonly dispatch: (call: UpstreamCall, abort: AbortController) => Promise<Answer>;
  readonly now: () => number;
  readonly settings: () => RelaySettings;
  readonly counter: TokenCounter;
  readonly idleMs: number;
  readonly checkpointMs: number;
  /** Called once when the request is over, streams included. */
  readonly ended: () => void;
}

export interface AnswerFacts {
  readonly inquiry: Inquiry;
  readonly plan: Plan;
  readonly charge: Charge;
}

/** Whole answers larger than this are refused; streams have no limit. */
const wholeAnswerLimit = 32 * 1024 * 1024;

/** Upstream headers a client may see; the rest tells who the upstream is or how its account stands. */
const shownHeaders = ['content-type', 'openai-version', 'openai-processing-ms', 'x-request-id'] as const;

export async function answer(deps: AnswerDeps, facts: AnswerFacts): Promise<Response> {
  const { inquiry, plan, charge } = facts;
  const abort = new AbortController();
  const leave = () => abort.abort();
  inquiry.request.signal.addEventListener('abort', leave, { once: true });
  const tried: number[] = [];
  const attempts = Math.max(1, deps.settings().retryTimes + 1);
  let failure: UpstreamFailure | null = null;
  let last: ChannelSnapshot | null = null;

  for (const channel of plan.candidates) {
    if (tried.length >= attempts || abort.signal.aborted) break;
    const prepared = prepareAttempt(inquiry, channel);
    if (prepared === null) continue;
    tried.push(channel.id);
    last = channel;
    const result = await deps.dispatch(prepared.call, abort);
    if (result.kind === 'answer') {
      const passed = await passOn(deps, facts, prepared, channel, result.response, abort, tried);
      if (passed instanceof Response) return passed;
      failure = passed;
    } else {
      failure = result.failure;
    }
    if (!mayRetry(failure)) break;
  }
  const gone = inquiry.request.signal.aborted;
  const error = failure === null ? unservable(inquiry, tried) : failureError(failure);
  const shown = clientError(error, inquiry.requestId, failure);
  await charge.finish({
    endReason: gone ? 'client_gone' : 'upstream_failed',
    usage: null,
    usageSource: 'none',
    channel: last,
    upstreamModel: '',
    firstByteMs: null,
    tried,
    content: shown.message,
    failure: failure === null ? error.code : `${failure.reason}${failure.status === null ? '' : ` ${failure.status}`}`,
  });
  deps.ended();
  return errorResponse(inquiry.protocol, shown, failure?.retryAfter ?? null);
}

const unservable = (inquiry: Inquiry, tried: readonly number[]): AppError =>
  tried.length === 0
    ? new AppError('operation_unsupported', { operation: inquiry.operation })
    : new AppError('upstream_unreachable');

async function passOn(
  deps: AnswerDeps,
  facts: AnswerFacts,
  prepared: Prepared,
  channel: ChannelSnapshot,
  response: Response,
  abort: AbortController,
  tried: readonly number[],
): Promise<Response | UpstreamFailure> {
  const type = response.headers.get('content-type') ?? '';
  const headers: Record<string, string> = { 'x-oneapi-request-id': facts.inquiry.requestId };
  for (const name of shownHeaders) {
    const value = response.headers.get(name);
    if (value !== null) headers[name] = value;
  }
  const context = { deps, facts, prepared, channel, tried };
  if (type.includes('text/event-stream') && response.body !== null) {
    headers['cache-control'] = 'no-cache';
    headers['x-accel-buffering'] = 'no';
    return new Response(streamOf(context, response.body, abort), { status: response.status, headers });
  }
  return whole(context, response, headers);
}

interface Context {
  readonly deps: AnswerDeps;
  readonly facts: AnswerFacts;
  readonly prepared: Prepared;
  readonly channel: ChannelSnapshot;
  readonly tried: readonly number[];
}

async function whole(
  context: Context,
  response: Response,
  headers: Record<string, string>,
): Promise<Response | UpstreamFailure> {
  const { deps, facts, prepared } = context;
  const { codec } = prepared.call;
  const bytes = await readWhole(response);
  if (bytes === null) {
    return { class: 'host', status: response.status, error: null, retryAfter: null, reason: 'broken' };
  }
  const firstByteMs = deps.now();
  const body = parseBody(bytes);
  if (body === undefined)
    return { class: 'host', status: response.status, error: null, retryAfter: null, reason: 'invalid' };
  const usage = codec.upstream.readUsage(body);
  const gone = facts.inquiry.request.signal.aborted;
  await close(context, {
    endReason: gone ? 'client_gone' : 'completed',
    usage,
    usageSource: usage === null ? null : 'reported',
    delivered: usage === null ? wordsOf(codec.upstream.decodeResponse(body)) : [],
    firstByteMs,
  });
  deps.ended();
  return new Response(bytes, { status: response.status, headers });
}

/** @returns null when the upstream broke off or sent too much. */
async function readWhole(response: Response): Promise<Uint8Array<ArrayBuffer> | null> {
  const declared = Number(response.headers.get('content-length') ?? Number.NaN);
  try {
    if (declared <= wholeAnswerLimit) return await response.bytes();
    if (response.body === null) return null;
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > wholeAnswerLimit) return null;
      chunks.push(chunk);
    }
    return new Uint8Array(Buffer.concat(chunks));
  } catch {
    return null;
  }
}

const lenient = new TextDecoder();

function parseBody(bytes: Uint8Array<ArrayBuffer>): unknown {
  try {
    return JSON.parse(lenient.decode(bytes));
  } catch {
    return undefined;
  }
}

function wordsOf(events: ReturnType<Prepared['call']['codec']['upstream']['decodeResponse']>): string[] {
  return events.flatMap((event) => {
    if (event.type === 'text-delta' || event.type === 'reasoning-delta' || event.type === 'refusal-delta')
      return [event.text];
    return event.type === 'tool-call-delta' ? [event.arguments] : [];
  });
}

function streamOf(
  context: Context,
  upstream: ReadableStream<Uint8Array>,
  abort: AbortController,
): ReadableStream<Uint8Array> {
  const { deps, facts, prepared } = context;
  const settings = deps.settings();
  return relayStream({
    codec: prepared.call.codec,
    upstream,
    dropUsageFrame: prepared.usageAsked,
    pingMs: settings.pingMs,
    idleMs: deps.idleMs,
    checkpointMs: deps.checkpointMs,
    now: deps.now,
    abort,
    finish: async (end) => {
      await close(context, end);
      deps.ended();
    },
    errorFrame: (kind) =>
      prepared.call.codec.client.encodeStreamError(
        clientError(
          new AppError(kind === 'quota' ? 'user_exhausted' : 'upstream_broken', { remain: 0, need: 1 }),
          facts.inquiry.requestId,
        ),
      ),
    affordable: (delivered) => {
      const guess = estimatedUsage(facts.plan.promptTokens, delivered.reduce((sum, text) => sum + text.length, 0) / 2);
      facts.charge.checkpoint(guess, context.channel);
      return facts.charge.extendTo(guess);
    },
  });
}

/** Settles by the printed policy: reported usage, else a local count of what went in and came out. */
async function close(context: Context, end: StreamEnd): Promise<void> {
  const { facts, prepared } = context;
  const nothing = end.endReason !== 'completed' && end.firstByteMs === null;
  const counted =
    end.usage !== null && end.endReason === 'completed' ? end.usage : nothing ? null : await localCount(context, end);
  await facts.charge.finish({
    endReason: end.endReason,
    usage: counted,
    usageSource: nothing ? 'none' : (end.usageSource ?? 'estimated'),
    channel: context.channel,
    upstreamModel: prepared.upstreamModel,
    firstByteMs: end.firstByteMs,
    tried: context.tried,
    ...(end.failure === undefined ? {} : { failure: end.failure }),
  });
}

async function localCount(context: Context, end: StreamEnd): Promise<Usage> {
  const { prompt } = context.facts.inquiry;
  const [promptTokens = 0, outputTokens = 0] = await context.deps.counter.count(context.facts.inquiry.model, [
    prompt.texts.join('\n'),
    end.delivered.join(''),
  ]);
  const reported = end.usage;
  if (reported !== null) return { ...reported, output: Math.max(reported.output, outputTokens) };
  // 3 tokens of framing per message and 3 for the reply; source: backend-reference 3.13.
  return estimatedUsage(promptTokens + countMedia(prompt) + 6, outputTokens);
}

const estimatedUsage = (input: number, output: number): Usage => ({
  input: Math.ceil(input),
  cacheRead: 0,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  audioInput: 0,
  imageInput: 0,
  output: Math.ceil(output),
  reasoning: 0,
  audioOutput: 0,
  toolCalls: {},
  raw: null,
});
