/** The practice upstream: answers like a provider, with knobs for everything that can go wrong. For trying out, demos, tests and measurements. */

import { type Asked, dialectAt, embeddings } from './dialects.ts';

export interface PracticeOptions {
  readonly port: number;
  readonly host?: string;
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
}

export interface PracticeUpstream {
  readonly url: string;
  readonly port: number;
  /** Requests answered so far. */
  served(): number;
  stop(): Promise<void>;
}

interface Knobs {
  readonly latencyMs: number;
  readonly chunks: number;
  readonly chunkMs: number;
  readonly errorRate: number;
  readonly errorStatus: number;
  readonly noUsage: boolean;
  readonly cutAfter: number | null;
}

const encoder = new TextEncoder();

const errorBody = (status: number) =>
  JSON.stringify({ error: { message: `practice error ${status}`, type: 'server_error', param: null, code: null } });
const json = (text: string, status = 200) =>
  new Response(text, { status, headers: { 'content-type': 'application/json' } });

/** Knobs of one request: `x-practice-<name>` headers win over the options the server was started with. */
function knobsOf(request: Request, options: PracticeOptions): Knobs {
  const number = (name: string, fallback: number): number => {
    const given = request.headers.get(`x-practice-${name}`);
    return given === null || !Number.isFinite(Number(given)) ? fallback : Number(given);
  };
  const cut = number('cut-after', options.cutAfter ?? -1);
  return {
    latencyMs: number('latency', options.latencyMs ?? 0),
    chunks: Math.max(1, number('chunks', options.chunks ?? 8)),
    chunkMs: number('chunk-ms', options.chunkMs ?? 0),
    errorRate: number('error-rate', options.errorRate ?? 0),
    errorStatus: number('error-status', options.errorStatus ?? 500),
    noUsage: number('no-usage', options.noUsage ? 1 : 0) === 1,
    cutAfter: cut < 0 ? null : cut,
  };
}

/** @throws the listener's error when the port is taken. */
export function startPracticeUpstream(options: PracticeOptions): PracticeUpstream {
  let served = 0;
  let failures = 0;
  const server = Bun.serve({
    hostname: options.host ?? '127.0.0.1',
    port: options.port,
    idleTimeout: 0,
    async fetch(request) {
      const path = new URL(request.url).pathname;
      if (path === '/v1/models')
        return json(
          JSON.stringify({
            object: 'list',
            data: ['practice-small', 'practice-large'].map((id) => ({ id, object: 'model' })),
          }),
        );
      const asked = dialectAt(path);
      if ((asked === null && path !== '/v1/embeddings') || request.method !== 'POST') return json(errorBody(404), 404);
      const text = await request.text();
      const knobs = knobsOf(request, options);
      served++;
      if (knobs.latencyMs > 0) await Bun.sleep(knobs.latencyMs);
      // A share, not a chance: the same run fails the same requests.
      failures += knobs.errorRate;
      if (failures >= 1) {
        failures -= 1;
        return json(errorBody(knobs.errorStatus), knobs.errorStatus);
      }
      return speak(asked, text, knobs);
    },
  });
  return {
    url: `http://${server.hostname}:${server.port}`,
    port: server.port ?? options.port,
    served: () => served,
    stop: () => server.stop(true),
  };
}

interface Body {
  readonly model?: unknown;
  readonly stream?: unknown;
  readonly input?: unknown;
  readonly stream_options?: { readonly include_usage?: unknown };
}

function speak(asked: Asked | null, text: string, knobs: Knobs): Response {
  let body: Body;
  try {
    body = JSON.parse(text) as Body;
  } catch {
    return json(errorBody(400), 400);
  }
  const model = asked?.model ?? String(body.model ?? 'practice-small');
  if (asked === null) return json(JSON.stringify(embeddings(model, body.input, text.length)));
  const saying = {
    model,
    size: text.length,
    chunks: knobs.chunks,
    noUsage: knobs.noUsage,
    includeUsage: body.stream_options?.include_usage === true,
  };
  if (!(asked.stream ?? body.stream === true)) return json(JSON.stringify(asked.dialect.whole(saying)));
  return new Response(streamOf(asked.dialect.frames(saying), knobs), {
    headers: { 'content-type': 'text/event-stream' },
  });
}

function streamOf(frames: readonly string[], knobs: Knobs): ReadableStream<Uint8Array> | string {
  if (knobs.chunkMs === 0 && knobs.cutAfter === null) return frames.join('');
  let at = 0;
  return new ReadableStream({
    async pull(controller) {
      const frame = frames[at];
      if (frame === undefined) return controller.close();
      if (knobs.cutAfter !== null && at > knobs.cutAfter) return controller.error(new Error('cut'));
      if (at > 0 && knobs.chunkMs > 0) await Bun.sleep(knobs.chunkMs);
      at++;
      controller.enqueue(encoder.encode(frame));
    },
  });
}
