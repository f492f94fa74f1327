/** A double at work: lets callers in, applies its rules, says its plan, and remembers what passed. */

import type { rowRules } from '../../server/practice/row-rules.ts';
import { type Json, parseJson, record } from '../../server/protocols/shared/json.ts';
import { withAskedSchema } from './asked-schema.ts';
import type { Caller, Door, Double } from './double.ts';
import { type Heard, type Plan, planFor } from './plan.ts';
import { firstRefusal, type Refusal } from './rule.ts';
import { sealsOf } from './seal.ts';
import type { ReplyContext } from './wire.ts';

/** One request as the double saw it. */
export interface Exchange {
  readonly path: string;
  readonly model: string;
  readonly body: Json;
  readonly text: string;
  readonly stream: boolean;
  /** null = it was answered. */
  readonly rejected: { readonly rule: string; readonly refusal: Refusal } | null;
  readonly received: Heard | null;
  readonly said: Plan | null;
}

export interface DoubleOptions {
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** More rules for a door: those of the shared rows. */
  readonly rulesFor?: ReturnType<typeof rowRules>;
  /** What is said instead of a sample of everything. */
  readonly plan?: (heard: Heard, body: Json, text: string, callId: (seed: string, name: string) => string) => Plan;
  readonly onExchange?: (exchange: Exchange) => void;
}

/** What a model's name asks for behind an `@`: names travel through gateways. */
const settings = /@((?:error-in-stream|over-cached)(?:,(?:error-in-stream|over-cached))*)$/;

interface Found {
  readonly door: Door;
  readonly model: string | undefined;
}

const patterns = new Map<string, RegExp>();

function patternOf(path: string): RegExp {
  const known = patterns.get(path);
  if (known !== undefined) return known;
  const escaped = path.replace(/[.*+?^$|()[\]\\]/g, '\\$&').replace(/\{(\w+)\}/g, '(?<$1>[^/]+?)');
  const made = new RegExp(`^${escaped}$`);
  patterns.set(path, made);
  return made;
}

function doorAt(double: Double, path: string): Found | null {
  for (const door of double.doors) {
    const match = patternOf(door.path).exec(path);
    const model = match?.groups?.model;
    if (match !== null) return { door, model: model === undefined ? undefined : decodeURIComponent(model) };
  }
  return null;
}

const json = (value: unknown, status: number): Response =>
  new Response(JSON.stringify(value), { status, headers: { 'content-type': 'application/json' } });

const bytesOf = (chunk: string | Uint8Array): Uint8Array =>
  typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk;

/** One piece at a time, so that readers meet every border. */
function streamOf(chunks: readonly (string | Uint8Array)[]): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      const chunk = chunks[at++];
      if (chunk === undefined) return controller.close();
      controller.enqueue(bytesOf(chunk));
    },
  });
}

export function createDouble(double: Double, options: DoubleOptions) {
  const seals = sealsOf(double.maker);
  const rules = new Map(
    double.doors.map(
      (door) => [door, [...door.rules, ...(options.rulesFor?.(double.slug, door.wire.id) ?? [])]] as const,
    ),
  );
  const reject = (refusal: Refusal) => json(double.complain(refusal), refusal.status);

  function answer({ door, model: inPath }: Found, caller: Caller): Response {
    const body = record(parseJson(caller.body));
    if (body === null) return reject({ status: 400, message: 'We could not parse the JSON body of your request.' });
    const requested = inPath ?? String(body.model ?? '');
    const wished = settings.exec(requested)?.[1]?.split(',') ?? [];
    const model = requested.replace(settings, '');
    const stream = door.stream ?? (typeof body.stream === 'boolean' ? body.stream : door.streamsByDefault === true);
    const seen = { model, body, headers: caller.headers, stream, seals };
    const unknown = door.unknown?.(model) ?? null;
    const rejected =
      unknown === null ? firstRefusal(rules.get(door) ?? [], seen) : { rule: 'unknown-model', refusal: unknown };
    const common = { path: caller.url.pathname, model, body, text: caller.body, stream };
    if (rejected !== null) {
      options.onExchange?.({ ...common, rejected, received: null, said: null });
      return reject(rejected.refusal);
    }
    const received = withAskedSchema(door.wire.receive(body, stream, model), body);
    const said =
      options.plan?.(received, body, caller.body, door.wire.callId) ?? planFor(received, caller.body, door.wire.callId);
    options.onExchange?.({ ...common, rejected: null, received, said });
    const context: ReplyContext = {
      model,
      seals,
      received,
      body,
      breaks: wished.includes('error-in-stream') && stream,
      overCached: wished.includes('over-cached'),
    };
    if (!stream) return json(door.wire.whole(said, context), 200);
    return new Response(streamOf(door.wire.frames(said, context)), {
      headers: { 'content-type': door.wire.contentType },
    });
  }

  return {
    double,
    async handle(request: Request): Promise<Response> {
      const url = new URL(request.url);
      const caller: Caller = {
        headers: request.headers,
        query: url.searchParams,
        method: request.method,
        url,
        body: await request.text(),
        nowMs: options.now(),
      };
      const other = await double.other?.(caller);
      if (other != null) return other;
      const refusal = await double.admit(caller);
      if (refusal !== null) return reject(refusal);
      const found = request.method === 'POST' ? doorAt(double, url.pathname) : null;
      return found === null
        ? reject({ status: 404, message: `Invalid URL (${request.method} ${url.pathname})`, code: 'not_found' })
        : answer(found, caller);
    },
  };
}

export type RunningDouble = ReturnType<typeof createDouble>;
