/** Traces over OTLP: a span for each sampled request, with one child for each upstream call. Loaded only where tracing is configured. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { trace as api, type Context, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { AlwaysOnSampler, BatchSpanProcessor, ParentBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace';
import type { EndedRequest, RequestObserver } from '../../relay/admission/observer.ts';
import type { AttemptSummary } from '../../relay/shared/failure.ts';
import type { UpstreamCall } from '../../relay/upstream/call.ts';
import type { Dispatch } from '../../relay/upstream/http.ts';
import type { TraceSettings } from './settings.ts';
import { contentOf, finishReasons, operationOf } from './words.ts';

export interface Traces {
  readonly observer: RequestObserver;
  /** @param run answers the request. @param billed the observer will be called with its end, once an upstream was called. */
  handle(request: Request, path: string, run: () => Promise<Response>, billed: boolean): Promise<Response>;
  wrap(dispatch: Dispatch): Dispatch;
  /** Sends what is left. */
  stop(): Promise<void>;
}

export interface TracesDeps {
  readonly version: string;
  /** What a channel's type is called. */
  readonly providerOf: (type: number) => string;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

interface Attempt {
  readonly span: Span;
  readonly channelId: number;
  /** When it was known how it went; null = it answered and goes on. */
  endedMs: number | null;
  /** Status or reason of a failure that the call itself showed. */
  failure: string | null;
}

interface Trace {
  readonly span: Span;
  readonly context: Context;
  readonly attempts: Attempt[];
  /** Its response is there. */
  responded: boolean;
  /** Its bill is there, or it needs none. */
  ended: boolean;
}

const propagator = new W3CTraceContextPropagator();
const getter = {
  get: (headers: Headers, name: string) => headers.get(name) ?? undefined,
  keys: (headers: Headers) => [...headers.keys()],
};
const setter = {
  set: (headers: Record<string, string>, name: string, value: string) => {
    headers[name] = value;
  },
};
const exportMs = 10_000;

export function startTraces(settings: TraceSettings, deps: TracesDeps): Traces {
  const exporter = new OTLPTraceExporter({ url: settings.url, timeoutMillis: exportMs });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'gateway', 'service.version': deps.version }),
    // Which requests begin a trace is decided before anything is made for one: the others cost nothing.
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer('gateway', deps.version);
  const current = new AsyncLocalStorage<Trace>();
  const byRequest = new WeakMap<Request, Trace>();

  const close = (trace: Trace) => {
    if (trace.responded && trace.ended) trace.span.end();
  };
  const begin = (call: UpstreamCall, trace: Trace): Attempt => {
    const { hostname, port } = new URL(call.url);
    const attributes = {
      'server.address': hostname,
      ...(port === '' ? {} : { 'server.port': Number(port) }),
      'gen_ai.provider.name': deps.providerOf(call.channel.type),
      'gateway.channel.id': call.channel.id,
      'gateway.attempt': trace.attempts.length + 1,
    };
    const span = tracer.startSpan('call', { kind: SpanKind.CLIENT, attributes }, trace.context);
    const attempt: Attempt = { span, channelId: call.channel.id, endedMs: null, failure: null };
    trace.attempts.push(attempt);
    return attempt;
  };

  return {
    observer: {
      ended(request) {
        const trace = byRequest.get(request.parsed.request);
        if (trace === undefined || trace.ended) return;
        trace.ended = true;
        reportEnd(trace, request, settings.content);
        close(trace);
      },
      rejected({ request, requestId, code, status }) {
        const trace = byRequest.get(request);
        if (trace === undefined) return;
        trace.ended = true;
        trace.span.setAttributes({ 'gateway.request_id': requestId, 'error.type': code });
        if (status >= 500) trace.span.setStatus({ code: SpanStatusCode.ERROR, message: code });
      },
    },
    async handle(request, path, run, billed) {
      const { headers } = request;
      const parent = headers.has('traceparent') ? propagator.extract(ROOT_CONTEXT, headers, getter) : ROOT_CONTEXT;
      // A request that is not sampled by its caller is not sampled further on either: the flags say so.
      if (api.getSpanContext(parent) === undefined && Math.random() >= settings.share) return run();
      const attributes = { 'http.request.method': request.method, 'url.path': path, 'http.route': path };
      const span = tracer.startSpan(`${request.method} ${path}`, { kind: SpanKind.SERVER, attributes }, parent);
      const trace: Trace = { span, context: api.setSpan(parent, span), attempts: [], responded: false, ended: !billed };
      if (span.isRecording()) byRequest.set(request, trace);
      const response = await current.run(trace, run);
      trace.responded = true;
      // No upstream was called: nothing more follows.
      if (trace.attempts.length === 0) trace.ended = true;
      span.setAttribute('http.response.status_code', response.status);
      close(trace);
      return response;
    },
    wrap:
      (dispatch) =>
      async (call, ...rest) => {
        const trace = current.getStore();
        if (trace === undefined) return dispatch(call, ...rest);
        const attempt = trace.span.isRecording() ? begin(call, trace) : null;
        const headers = { ...call.headers };
        propagator.inject(attempt === null ? trace.context : api.setSpan(trace.context, attempt.span), headers, setter);
        const answer = await dispatch({ ...call, headers }, ...rest);
        if (attempt === null) return answer;
        if (answer.kind === 'answer') {
          attempt.span.setAttribute('http.response.status_code', answer.response.status);
          return answer;
        }
        const { status, reason } = answer.failure;
        attempt.failure = status === null ? reason : String(status);
        attempt.endedMs = deps.now();
        if (status !== null) attempt.span.setAttribute('http.response.status_code', status);
        return answer;
      },
    stop: () => provider.shutdown().catch(() => undefined),
  };
}

/** What the calls did not show themselves: an answer that came to nothing, and how the last one ended. */
function reportEnd(trace: Trace, request: EndedRequest, content: boolean): void {
  const { parsed, finish, charged, endedMs, principal } = request;
  const model = finish.upstreamModel || parsed.model;
  const operation = operationOf(parsed);
  trace.span.setAttributes({
    'gateway.request_id': parsed.requestId,
    'gateway.end_reason': finish.endReason,
    'gateway.quota': charged,
    'gateway.user_id': principal.user.id,
    'gateway.attempts': finish.attempts.length,
    'gen_ai.operation.name': operation,
    'gen_ai.request.model': parsed.model,
  });
  const served = finish.usage !== null;
  if (!served) trace.span.setStatus({ code: SpanStatusCode.ERROR, message: finish.failure ?? finish.endReason });
  const last = trace.attempts.at(-1);
  const failures: AttemptSummary[] = [...finish.attempts];
  for (const attempt of trace.attempts) {
    const { span, channelId } = attempt;
    span.updateName(`${operation} ${model}`);
    span.setAttributes({ 'gen_ai.operation.name': operation, 'gen_ai.request.model': model });
    const at = failures.findIndex((attempts) => attempts.channelId === channelId);
    const [attempts] = at < 0 ? [] : failures.splice(at, 1);
    const failed =
      attempt.failure ?? (attempts?.failed == null ? null : String(attempts.failed.status ?? attempts.failed.reason));
    const broken = failed ?? (attempt === last && finish.endReason !== 'completed' ? finish.endReason : null);
    if (broken !== null) {
      span.setAttribute('error.type', broken);
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    if (attempt === last && failed === null) recordResponse(span, request, content);
    span.end(attempt.endedMs ?? endedMs);
  }
}

function recordResponse(span: Span, { parsed, finish, tokens }: EndedRequest, content: boolean): void {
  const reasons = finishReasons(finish);
  span.setAttributes({
    'gen_ai.usage.input_tokens': tokens.input,
    'gen_ai.usage.output_tokens': tokens.output,
    ...(reasons.length > 0 ? { 'gen_ai.response.finish_reasons': reasons } : {}),
    ...(content ? { 'gen_ai.input.messages': contentOf(parsed) } : {}),
  });
  if (finish.firstByteMs === null) return;
  span.setAttribute('gateway.time_to_first_token_ms', Math.round(finish.firstByteMs - parsed.startedMs));
  span.addEvent('gen_ai.first_token', finish.firstByteMs);
}
