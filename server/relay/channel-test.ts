/** Tests a channel with one small real request through the same pipeline. */
import type { ChannelTestResult } from '../domain/channels/service.ts';
import type { Relay } from './relay.ts';
import type { RelayState } from './state.ts';

export interface ChannelTestOrder {
  readonly channelId: number;
  readonly model: string;
  readonly stream: boolean;
}

/** Source of prompt and limit: backend-reference 2.2. */
const testBody = (model: string, stream: boolean): string =>
  JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }], max_tokens: 16, stream });

export async function runChannelTest(
  relay: Relay,
  state: RelayState,
  order: ChannelTestOrder,
  now: () => number,
): Promise<ChannelTestResult> {
  const started = now();
  const result = (ok: boolean, message: string): ChannelTestResult => ({ ok, ms: now() - started, message });
  if (state.channel(order.channelId) === undefined) return result(false, '渠道不存在 / Unknown channel');
  const response = await relay.test({
    channelId: order.channelId,
    path: '/v1/chat/completions',
    body: testBody(order.model, order.stream),
  });
  const text = await response.text();
  if (response.ok) return result(true, '');
  return result(false, errorMessage(text) ?? `HTTP ${response.status}`);
}

function errorMessage(text: string): string | null {
  try {
    const message = (JSON.parse(text) as { error?: { message?: unknown } }).error?.message;
    return typeof message === 'string' ? message : null;
  } catch {
    return null;
  }
}
