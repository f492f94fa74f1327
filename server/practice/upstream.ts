/** The practice upstream: answers like a provider, with knobs for everything that can go wrong. For trying out, demos, tests and measurements. */

import { dialectAt, embeddings, type Requested, type ResponseContent } from './dialects.ts';
import { mediaAnswer } from './media.ts';
import type { SimulatedProvider } from './provider.ts';
import { specialAnswer } from './special.ts';

export interface PracticeOptions {
  readonly port: number;
  readonly host?: string;
  /** Others may listen there too: the next process of one server does, before the last one has ended. */
  readonly shared?: boolean;
  /** Milliseconds before the first byte. */
  readonly latencyMs?: number;
  /** Chunks of a streamed answer. */
  readonly chunks?: number;
  /** Milliseconds between chunks. */
  readonly chunkMs?: number;
  /** Share of requests that fail with `errorStatus`, 0 to 1. */
  readonly errorRate?: number;
  readonly errorStatus?: number;
  /** Leave usage out. */
  readonly noUsage?: boolean;
  /** Break off after this many chunks. */
  readonly cutAfter?: number;
  /** Plays this provider instead of speaking every dialect to everybody. */
  readonly provider?: SimulatedProvider;
  /** One line for each request. */
  readonly log?: (line: string) => void;
}

export interface PracticeUpstream {
  readonly url: string;
  readonly port: number;
  /** Requests answered so far. */
  requestCount(): number;
  stop(): Promise<void>;
}

interface Settings {
  readonly latencyMs: number;
  readonly chunks: number;
  readonly chunkMs: number;
  readonly errorRate: number;
  readonly errorStatus: number;
  readonly noUsage: boolean;
  readonly cutAfter: number | null;
}

const encoder = new TextEncoder();
const flushMs = 20;
/** Answers are made whole before they are sent. */
const maxChunks = 100_000;
const statusOf = (requested: number): number =>
  Number.isInteger(requested) && requested >= 400 && requested <= 599 ? requested : 500;

const errorBody = (status: number) =>
  JSON.stringify({ error: { message: `practice error ${status}`, type: 'server_error', param: null, code: null } });
const json = (text: string, status = 200) =>
  new Response(text, { status, headers: { 'content-type': 'application/json' } });

/** What the model's name asks for behind an `@`: `practice-small@latency=200,chunks=4`. Names travel through gateways, headers may not. */
function requestSettingsOf(model: string): ReadonlyMap<string, string> {
  const at = model.indexOf('@');
  if (at < 0) return none;
  return new Map(
    model
      .slice(at + 1)
      .split(',')
      .map((requested) => {
        const [name = '', value = '1'] = requested.split('=', 2);
        return [name.trim(), value] as const;
      }),
  );
}

const none: ReadonlyMap<string, string> = new Map();

/**
 * Knobs of one request: latency, chunks, chunk-ms, tokens-per-second, error-rate, error-status, no-usage, cut-after.
 * A header `x-practice-<name>` wins over the query, the query over the model's name, that over the server's options.
 */
function settingsOf(request: Request, query: URLSearchParams, model: string, options: PracticeOptions): Settings {
  const settings = requestSettingsOf(model);
  const number = (name: string, fallback: number): number => {
    const setting = request.headers.get(`x-practice-${name}`) ?? query.get(name) ?? settings.get(name);
    const value = setting === undefined || setting === '' ? Number.NaN : Number(setting);
    return Number.isFinite(value) && value >= 0 ? value : fallback;
  };
  const speed = number('tokens-per-second', 0);
  const cut = number('cut-after', options.cutAfter ?? -1);
  return {
    latencyMs: number('latency', options.latencyMs ?? 0),
    chunks: Math.min(maxChunks, Math.max(1, Math.floor(number('chunks', options.chunks ?? 8)))),
    chunkMs: speed > 0 ? 1000 / speed : number('chunk-ms', options.chunkMs ?? 0),
    errorRate: number('error-rate', options.errorRate ?? 0),
    errorStatus: statusOf(number('error-status', options.errorStatus ?? 500)),
    noUsage: number('no-usage', options.noUsage ? 1 : 0) === 1,
    cutAfter: cut < 0 ? null : cut,
  };
}

/** @throws the listener's error when the port is taken. */
export function startPracticeUpstream(options: PracticeOptions): PracticeUpstream {
  let requestCount = 0;
  let failures = 0;
  const { provider } = options;
  const models = provider?.models ?? ['practice-small', 'practice-large'];
  const server = Bun.serve({
    hostname: options.host ?? '127.0.0.1',
    port: options.port,
    ...(options.shared === true ? { reusePort: true } : {}),
    idleTimeout: 0,
    // Breaking off is a service here, not something to report.
    development: false,
    async fetch(request) {
      const { pathname: path, searchParams: query } = new URL(request.url);
      if (path === '/v1/models')
        return json(
          JSON.stringify({
            object: 'list',
            data: models.map((id) => ({ id, object: 'model' })),
          }),
        );
      const requested = provider === undefined ? dialectAt(path) : provider.chatAt(path);
      const media = request.method === 'POST' ? await mediaAnswer(path, request) : null;
      if (media !== null) return media;
      if ((requested === null && path !== '/v1/embeddings') || request.method !== 'POST')
        return json(errorBody(404), 404);
      const text = await request.text();
      const body = bodyOf(text);
      if (body === null) return json(errorBody(400), 400);
      const model = requested?.model ?? String(body.model ?? 'practice-small');
      const refusal = provider?.refusal(request, requested, text) ?? null;
      options.log?.(
        `${path} ${model} ${refusal === null ? 200 : `${refusal.status} ${refusal.rule}: ${refusal.message}`}`,
      );
      if (refusal !== null) return json(provider?.errorBody(refusal, requested) ?? '', refusal.status);
      const settings = settingsOf(request, query, model, options);
      requestCount++;
      if (settings.latencyMs > 0) await Bun.sleep(settings.latencyMs);
      // A share, not a chance: the same run fails the same requests.
      failures += settings.errorRate;
      if (failures >= 1) {
        failures -= 1;
        return json(errorBody(settings.errorStatus), settings.errorStatus);
      }
      return speak({ requested, model, body, text }, settings);
    },
  });
  // It lives as long as what it is part of.
  if (options.shared === true) server.unref();
  return {
    url: `http://${server.hostname}:${server.port}`,
    port: server.port ?? options.port,
    requestCount: () => requestCount,
    stop: () => server.stop(true),
  };
}

interface Body {
  readonly model?: unknown;
  readonly stream?: unknown;
  readonly input?: unknown;
  readonly stream_options?: { readonly include_usage?: unknown };
}

function bodyOf(text: string): Body | null {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null ? body : null;
  } catch {
    return null;
  }
}

/** Words without which no request asks for tools or a schema. */
const special = /"(?:tools|response_format|format|output_config|responseMimeType|response_mime_type)"/;

interface SpeechRequest {
  /** null = embeddings are asked for. */
  readonly requested: Requested | null;
  readonly model: string;
  readonly body: Body;
  readonly text: string;
}

function speak({ requested, model, body, text }: SpeechRequest, settings: Settings): Response {
  const size = text.length;
  if (requested === null) return json(JSON.stringify(embeddings(model, body.input, size)));
  const { chunks, noUsage } = settings;
  const content = { model, size, chunks, noUsage, includeUsage: body.stream_options?.include_usage === true };
  const stream = requested.stream ?? (typeof body.stream === 'boolean' ? body.stream : requested.streamsByDefault);
  const headers = { 'content-type': requested.dialect.contentType ?? 'text/event-stream' };
  if (special.test(text)) {
    const answer = specialAnswer(requested.dialect.id, body as Record<string, unknown>, content, stream);
    if (answer !== null && !stream) return json(answer);
    if (answer !== null) return new Response(answer, { headers });
  }
  if (!stream) {
    const whole = prepared(requested, content, 'whole', () => [JSON.stringify(requested.dialect.whole(content))]);
    return json(joinedOf(whole));
  }
  const frames = prepared(requested, content, 'frames', () => requested.dialect.frames(content));
  return new Response(streamOf(frames, settings), { headers });
}

/** Equal requests get equal answers, so that measuring others costs as little as possible here. */
const cache = new Map<string, readonly string[]>();

function prepared(
  requested: Requested,
  content: ResponseContent,
  form: string,
  make: () => readonly string[],
): readonly string[] {
  const { model, size, chunks, noUsage, includeUsage } = content;
  const key = `${requested.dialect.id} ${form} ${size} ${chunks} ${noUsage} ${includeUsage} ${model}`;
  const known = cache.get(key);
  if (known !== undefined) return known;
  const made = make();
  if (chunks > 256) return made;
  if (cache.size >= 256) cache.clear();
  cache.set(key, made);
  return made;
}

const joined = new WeakMap<readonly string[], string>();

function joinedOf(frames: readonly string[]): string {
  const known = joined.get(frames);
  if (known !== undefined) return known;
  const text = frames.join('');
  joined.set(frames, text);
  return text;
}

function streamOf(frames: readonly string[], settings: Settings): ReadableStream<Uint8Array> | string {
  if (settings.chunkMs === 0 && settings.cutAfter === null) return joinedOf(frames);
  let at = 0;
  return new ReadableStream({
    async pull(controller) {
      const frame = frames[at];
      if (frame === undefined) return controller.close();
      if (settings.cutAfter !== null && at > settings.cutAfter) {
        // What was said must be on its way before the connection is reset.
        await Bun.sleep(flushMs);
        return controller.error(new Error('cut on demand'));
      }
      if (at > 0 && settings.chunkMs > 0) await Bun.sleep(settings.chunkMs);
      at++;
      controller.enqueue(encoder.encode(frame));
    },
  });
}
