/** A gateway with one channel of a provider whose upstream is scripted: what was sent, what came back. */
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach } from 'vitest';
import { providerBySlug } from '../../server/providers/catalogue.ts';
import { createTestGateway, type TestGateway, type TestGatewayOptions } from '../support/gateway.ts';
import { type Script, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

export function providerBench(options: TestGatewayOptions = {}) {
  let gateway: TestGateway;
  let upstream: Upstream;
  beforeEach(async () => {
    gateway = await createTestGateway(options);
    upstream = await startUpstream((response) => sendJson(response, { error: { message: 'nothing scripted' } }, 500));
    await gateway.option('SelfUseModeEnabled', 'true');
  });
  afterEach(async () => {
    await gateway.close();
    await upstream.stop();
  });
  return {
    get gateway() {
      return gateway;
    },
    get upstream() {
      return upstream;
    },
    script: (script: Script) => upstream.script(script),
    /** @returns a user's key. */
    async channel(slug: string, model: string, fields: Record<string, unknown> = {}): Promise<string> {
      await gateway.channel(upstream.url, { type: providerBySlug(slug)?.type, models: model, ...fields });
      return (await gateway.token()).key;
    },
    post: (path: string, key: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
      gateway.relay.handle(
        new Request(`http://gateway${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json', ...headers },
          body: JSON.stringify(body),
        }),
        path.split('?')[0] ?? '',
        { ip: () => '127.0.0.1' },
      ),
    sent(index = 0) {
      const request = upstream.requests[index];
      return {
        method: request?.method,
        path: request?.path,
        headers: request?.headers ?? {},
        body: JSON.parse(request?.body.toString() || 'null'),
      };
    },
    /** The newest log row. */
    async log() {
      const row = (await gateway.logs())[0];
      return { ...row, other: JSON.parse(String(row?.other ?? '{}')) as Record<string, unknown> };
    },
  };
}

export const hi = [{ role: 'user', content: 'hi' }];

export interface ChatAnswer {
  readonly choices: readonly [
    {
      readonly message: Readonly<Record<string, unknown>> & { readonly content: string | null };
      readonly finish_reason: string;
    },
  ];
  readonly usage: Readonly<Record<string, unknown>>;
}

/** Whole answer of a chat. */
export const chatOf = async (response: Response): Promise<ChatAnswer> => (await response.json()) as ChatAnswer;

export interface Chunk {
  readonly choices: readonly {
    readonly delta: Readonly<Record<string, unknown>>;
    readonly finish_reason: string | null;
  }[];
  readonly usage?: Readonly<Record<string, unknown>> | null;
}

/** The chunks of a streamed chat. @throws when it does not end with `[DONE]`. */
export async function chunksOf(response: Response): Promise<Chunk[]> {
  const frames = (await response.text()).trim().split('\n\n');
  if (frames.pop() !== 'data: [DONE]') throw new Error('the stream has no end');
  return frames.map((frame) => JSON.parse(frame.replace(/^data: /, '')) as Chunk);
}

/** One member of all deltas, joined. */
export const textOfMember = (chunks: readonly Chunk[], member: string): string =>
  chunks.map(({ choices }) => choices[0]?.delta[member] ?? '').join('');

/** Server-sent events, one for each value. */
export function sendEvents(response: ServerResponse, events: readonly unknown[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
}
