/** Operations other than chat whose upstream has its own format: translated both ways, and polled where the work takes time. */

import type { Timers } from '../../contract/timers.ts';
import type { ProtocolId } from '../../protocols/canonical.ts';
import { codecFor, commonProtocol } from '../../protocols/registry.ts';
import { record, records } from '../../protocols/shared/json.ts';
import { packedNumbers } from '../../protocols/shared/media.ts';
import type { CustomForm, Requested } from '../../providers/adapter.ts';
import type { Target } from '../../routing/target.ts';
import type { ParsedRequest } from '../intake/parsed-request.ts';
import type { Deadlines } from '../shared/deadline.ts';
import { mayRetry, type UpstreamFailure } from '../shared/failure.ts';
import type { UpstreamCall } from './call.ts';
import { ownAbort } from './client-disconnect.ts';
import type { UpstreamAnswer } from './http.ts';
import { parseBody, readWhole } from './whole.ts';

type Members = Readonly<Record<string, unknown>>;

export interface CustomCall {
  readonly form: CustomForm;
  readonly requested: Requested;
}

interface OperationBody {
  readonly body: Members;
  /** Translates the whole answer. */
  readonly translateResponse: (answer: unknown) => unknown;
}

/** Embeddings in the other dialect's form, one of the two being the common one. */
export function embeddingsBody(parsed: ParsedRequest, dialect: ProtocolId, model: string): OperationBody {
  const { body } = parsed;
  const own = codecFor(parsed.protocol).definition.embeddings?.common ?? null;
  const other = codecFor(dialect).definition.embeddings?.common?.upstream;
  const common = own === null ? body : own.toRequest(body, model);
  return {
    body: other === undefined ? common : other.fromRequest(common, model),
    translateResponse: (answer) => {
      const plain = other === undefined ? answer : other.toAnswer(answer, parsed.model, body.encoding_format);
      return own === null ? plain : own.fromAnswer(plain, body, parsed.model);
    },
  };
}

/** Many hosts of OpenAI's dialect answer numbers whatever was asked for. @returns null = nothing had to be changed. */
export function inBase64(answer: unknown): unknown {
  const body = record(answer);
  const entries = records(body?.data);
  if (!entries.some(({ embedding }) => Array.isArray(embedding))) return null;
  const data = entries.map((entry) =>
    Array.isArray(entry.embedding) ? { ...entry, embedding: packedNumbers(entry.embedding) } : entry,
  );
  return { ...body, data };
}

/** @throws AppError body_invalid. */
export function customBody(
  { place, channel, translated }: Target,
  form: CustomForm,
  parsed: ParsedRequest,
  dropped: string[],
): OperationBody & { readonly custom: CustomCall } {
  const common = translated ? embeddingsBody(parsed, commonProtocol, place.model) : null;
  const { model: name, route, startedMs } = parsed;
  const body = common?.body ?? parsed.body;
  const requested: Requested = { model: name, path: route.path, body, created: Math.floor(startedMs / 1000) };
  return {
    custom: { form, requested },
    body: { ...form.encode(requested, place.model, dropped), ...channel.paramOverride },
    translateResponse: common?.translateResponse ?? ((answer) => answer),
  };
}

/** An order that was placed, and how its end is waited for. */
export interface PollRequest {
  readonly dispatch: (call: UpstreamCall, abort: AbortController) => Promise<UpstreamAnswer>;
  readonly timers: Timers;
  readonly deadlines: Deadlines;
  /** Milliseconds the work may take. */
  readonly limitMs: number;
  /** The call that placed the order. */
  readonly call: UpstreamCall;
  readonly abort: AbortController;
}

/** @param first what the order was answered with. @returns the last answer, as the upstream sent it. */
export async function finished(
  errand: PollRequest,
  { form }: CustomCall,
  first: unknown,
): Promise<{ readonly answer: unknown } | UpstreamFailure> {
  const { call, abort, timers } = errand;
  const deadline = timers.now() + errand.limitMs;
  let answer = first;
  for (;;) {
    const next = form.pending?.(answer, call.url) ?? null;
    if (next === null) return { answer };
    if (abort.signal.aborted || timers.now() >= deadline) return broken(null, 'timeout');
    await pause(timers, next.waitMs, abort.signal);
    const response = await askAfter(errand, next.url);
    // The work continues although one poll failed.
    if ('answer' in response) answer = response.answer;
    else if (!mayRetry(response) || response.class === 'key') return response;
  }
}

/** Downloads pictures that the upstream returned as addresses, where the client requested the bytes. */
export async function inlined(
  { dispatch, deadlines, limitMs, call, abort }: PollRequest,
  { requested }: CustomCall,
  answer: unknown,
): Promise<unknown> {
  const body = record(answer);
  if (body === null || requested.body.response_format !== 'b64_json') return answer;
  const data = records(body.data).map(async (image) => {
    const { url, ...rest } = image;
    if (typeof url !== 'string') return image;
    // The address holds all that is needed; the key is for the upstream alone.
    const own = ownAbort(abort);
    const result = await dispatch({ ...call, url, headers: {}, body: null }, own);
    const bytes = result.kind === 'answer' ? await readWhole(result.response, limitMs, own, deadlines) : null;
    return bytes === null ? image : { ...rest, b64_json: Buffer.from(bytes).toString('base64') };
  });
  return { ...body, data: await Promise.all(data) };
}

async function askAfter(
  { dispatch, deadlines, limitMs, call, abort }: PollRequest,
  url: string,
): Promise<{ readonly answer: unknown } | UpstreamFailure> {
  const { 'content-type': _, ...headers } = call.headers;
  const own = ownAbort(abort);
  const result = await dispatch({ ...call, url, headers, body: null }, own);
  const bytes = result.kind === 'answer' ? await readWhole(result.response, limitMs, own, deadlines) : null;
  if (result.kind === 'failure') return result.failure;
  const answer = bytes === null ? undefined : parseBody(bytes);
  return answer === undefined ? broken(result.response.status, 'invalid') : { answer };
}

const pause = (timers: Timers, ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = timers.set(resolve, ms);
    signal.addEventListener('abort', () => {
      timer.close();
      resolve();
    });
  });

const broken = (status: number | null, reason: UpstreamFailure['reason']): UpstreamFailure => ({
  class: 'host',
  status,
  error: null,
  retryAfter: null,
  reason,
});
