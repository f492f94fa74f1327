/** Tests a channel with one small real request through the same pipeline: what it asks for follows from the model's kind. */
import type { ChannelTestResult } from '../domain/channels/service.ts';
import { providerByType } from '../providers/catalogue.ts';
import type { Relay } from './relay.ts';
import type { RelayState } from './state/state.ts';

export interface ChannelTestOrder {
  readonly channelId: number;
  readonly model: string;
  readonly stream: boolean;
}

interface Probe {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Prompts, limits and names are those of new-api. */
const probes: readonly (readonly [pattern: RegExp, (model: string) => Probe])[] = [
  [/rerank/i, (model) => ({ path: '/v1/rerank', body: { model, query: 'hi', documents: ['hi', 'bye'], top_n: 1 } })],
  [/embed|bge-|^m3e/i, (model) => ({ path: '/v1/embeddings', body: { model, input: 'hi' } })],
  [
    /dall-e|gpt-image|imagen|flux|stable-diffusion|seedream|wanx|^wan\d.*t2i|qwen-image|z-image/i,
    (model) => ({ path: '/v1/images/generations', body: { model, prompt: 'a dot', n: 1 } }),
  ],
  [/(^|-)tts(-|$)/i, (model) => ({ path: '/v1/audio/speech', body: { model, input: 'hi', voice: 'alloy' } })],
  [/moderation/i, (model) => ({ path: '/v1/moderations', body: { model, input: 'hi' } })],
];

function probeFor(model: string, stream: boolean): Probe {
  const found = probes.find(([pattern]) => pattern.test(model));
  if (found !== undefined) return found[1](model);
  const limit = /thinking|gemini/.test(model) ? 300 : 16;
  const messages = [{ role: 'user', content: 'hi' }];
  return { path: '/v1/chat/completions', body: { model, messages, max_tokens: limit, stream } };
}

/** Operations of works that take minutes and cost money for each try. */
const untestable = new Set(['drawing', 'music']);

export async function runChannelTest(
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
  if (channel === undefined) return result(false, '渠道不存在 / Unknown channel');
  const provider = providerByType(channel.type);
  if (provider?.operations.some((operation) => untestable.has(operation)))
    return result(false, `${provider.label.en} channel test is not supported`);
  const { path, body } = probeFor(order.model, order.stream);
  const response = await relay.test({ channelId: order.channelId, path, body: JSON.stringify(body) });
  const reader = response.body?.getReader();
  const chunks: Uint8Array[] = [];
  for (let read = await reader?.read(); read !== undefined && !read.done; read = await reader?.read()) {
    firstTokenMs ??= now() - started;
    chunks.push(read.value);
  }
  if (response.ok) return result(true, '');
  return result(false, errorMessage(Buffer.concat(chunks).toString('utf8')) ?? `HTTP ${response.status}`);
}

function errorMessage(text: string): string | null {
  try {
    const message = (JSON.parse(text) as { error?: { message?: unknown } }).error?.message;
    return typeof message === 'string' ? message : null;
  } catch {
    return null;
  }
}
