/** Tests a channel with one small real request through the same pipeline: what it asks for follows from the model's kind. */
import { storedText } from '../contract/stored-texts.ts';
import type { ChannelTestResult } from '../domain/channels/service.ts';
import { providerByType } from '../providers/catalogue.ts';
import { probeFor } from '../providers/probe.ts';
import { mapModel } from '../routing/candidates.ts';
import type { Relay } from './relay.ts';
import type { RelayState } from './state/state.ts';

export interface ChannelTestOrder {
  readonly channelId: number;
  readonly model: string;
  readonly stream: boolean;
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
  if (channel === undefined) return result(false, storedText('channelUnknown'));
  const provider = providerByType(channel.type);
  if (provider === undefined || provider.operations.some((operation) => untestable.has(operation)))
    return result(false, `${provider?.label.en ?? channel.type} channel test is not supported`);
  const { model, stream } = order;
  const probe = probeFor(provider, { model, stream, upstream: mapModel(channel.modelMapping, model) });
  if (probe === null) return result(false, storedText('untestable', { model }));
  const { path, body } = probe;
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
