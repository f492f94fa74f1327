/** A scripted upstream on node:http: each request is recorded and answered by the script. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  closed: boolean;
}

export type Script = (response: ServerResponse, received: Received) => unknown;

export async function startUpstream(script: Script) {
  const requests: Received[] = [];
  let current = script;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const received: Received = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks),
        closed: false,
      };
      response.on('close', () => {
        received.closed = true;
      });
      requests.push(received);
      void current(response, received);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    script(next: Script) {
      current = next;
    },
    stop: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

export type Upstream = Awaited<ReturnType<typeof startUpstream>>;

export const sendJson = (
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
};

/** Sends a stream in the given pieces, a turn of the event loop apart. */
export async function sendStream(response: ServerResponse, chunks: readonly Uint8Array[]): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const chunk of chunks) {
    response.write(chunk);
    await new Promise((resolve) => setImmediate(resolve));
  }
  response.end();
}

export const completion = (prompt: number, output: number, extra: Record<string, unknown> = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-4o-mini',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello world' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: prompt, completion_tokens: output, total_tokens: prompt + output, ...extra },
});
