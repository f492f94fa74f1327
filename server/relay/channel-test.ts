/** Tests a channel with one small real request through the same pipeline: what it asks for follows from the model's kind. */
import { AppError } from '../contract/errors.ts';
import { storedText } from '../contract/stored-texts.ts';
import type { ChannelTestResult, PreviewedRequest } from '../domain/channels/service.ts';
import { parseJson, record } from '../protocols/shared/json.ts';
import { providerByType } from '../providers/catalogue.ts';
import { probeFor } from '../providers/probe.ts';
import { mapModel } from '../routing/candidates.ts';
import type { Relay } from './relay.ts';
import { clientError } from './shared/render-error.ts';
import type { RelayState } from './state/state.ts';

export interface ChannelTestOrder {
  readonly channelId: number;
  readonly model: string;
  readonly stream: boolean;
  /** Instead of the question that suits the model; its answer is given back. */
  readonly request?: { readonly path: string; readonly body: Readonly<Record<string, unknown>> };
  /** Nothing is sent: how this would go out is given back. */
  readonly preview?: PreviewedRequest;
}

/** Characters of an answer that are given back. */
const maxAnswer = 64 * 1024;

/** Operations of works that take minutes and cost money for each try. */
const untestable = new Set(['drawing', 'music']);

/** Never rejects. */
export async function runChannelTest(
  relay: Relay,
  state: RelayState,
  order: ChannelTestOrder,
  now: () => number,
): Promise<ChannelTestResult> {
  try {
    return await runTest(relay, state, order, now);
  } catch (error) {
    // The request has reported its own defects; this one met the test before or behind it.
    relay.report(error, '');
    return { ok: false, ms: 0, message: clientError(new AppError('internal'), '').message };
  }
}

async function runTest(
  relay: Relay,
  state: RelayState,
  order: ChannelTestOrder,
  now: () => number,
): Promise<ChannelTestResult> {
  const started = now();
  let firstTokenMs: number | null = null;
  const result = (ok: boolean, message: string): ChannelTestResult => ({
    ok,
    ms: now() - started,
    message,
    firstTokenMs,
  });
  const channel = state.channel(order.channelId);
  if (order.preview !== undefined)
    return { ...result(true, ''), previewed: await previewOf(relay, order, order.preview) };
  if (channel === undefined) return result(false, storedText('channelUnknown'));
  const provider = providerByType(channel.type);
  if (provider === undefined || provider.operations.some((operation) => untestable.has(operation)))
    return result(false, `${provider?.label.en ?? channel.type} channel test is not supported`);
  const { model, stream } = order;
  const probe = order.request ?? probeFor(provider, { model, stream, upstream: mapModel(channel.modelMapping, model) });
  if (probe === null) return result(false, storedText('untestable', { model }));
  const { path, body } = probe;
  const response = await relay.test({ channelId: order.channelId, path, body: JSON.stringify(body) });
  const reader = response.body?.getReader() ?? null;
  const chunks: Uint8Array[] = [];
  for (let read = await nextOf(reader); !read.done; read = await nextOf(reader)) {
    firstTokenMs ??= now() - started;
    chunks.push(read.value);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  const given = order.request === undefined ? {} : { status: response.status, answer: text.slice(0, maxAnswer) };
  if (response.ok) return { ...result(true, ''), ...given };
  const message = errorMessage(text) ?? `HTTP ${response.status}`;
  return { ...result(false, withHost(message, channel.baseUrl || provider.baseUrl)), ...given };
}

/** @returns what the request would be refused with, where it would. */
async function previewOf(
  relay: Relay,
  { channelId, model }: ChannelTestOrder,
  request: PreviewedRequest,
): Promise<NonNullable<ChannelTestResult['previewed']>> {
  try {
    return await relay.preview({ channelId, model, ...request });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { code: error.code, params: error.params };
  }
}

/** The system's words of a connection, such as `ENOTFOUND: getaddrinfo ENOTFOUND ***`. */
const ofConnection = /^E[A-Z_]+: /;

/** Who tests a channel has written its address: in the words of a connection that failed its host is what he needs. */
function withHost(message: string, baseUrl: string): string {
  if (!ofConnection.test(message) || !URL.canParse(baseUrl)) return message;
  return message.replaceAll('***', new URL(baseUrl).hostname);
}

const over = { done: true } as const;

/** A response that breaks off has ended, too: what came of it is in its row. */
async function nextOf(reader: ReadableStreamDefaultReader<Uint8Array> | null) {
  try {
    return reader === null ? over : await reader.read();
  } catch {
    return over;
  }
}

function errorMessage(text: string): string | null {
  const message = record(record(parseJson(text))?.error)?.message;
  return typeof message === 'string' ? message : null;
}
