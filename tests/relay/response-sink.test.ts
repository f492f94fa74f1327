/** The sink of a response sends by itself what it was given at the end of a tick: the last frame needs no flush of its own. */
import { expect, test } from 'vitest';
import { passingStream, responseStream } from '../support/response-stream.ts';

const frame = (content: string, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`;
const usage = `data: ${JSON.stringify({ id: 'c', choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } })}\n\n`;
const done = 'data: [DONE]\n\n';

test.each([
  ['frame by frame', [frame('b'), frame('', 'stop'), usage, done]],
  ['in one chunk', [[frame('b'), frame('', 'stop'), usage, done].join('')]],
])(
  'an upstream that stays open behind its last frame, %s: the client has the frame all the same',
  async (_how, chunks) => {
    const stream = responseStream(await passingStream(frame('a'), chunks));
    // How the request is settled is not part of it.
    (stream as unknown as { end: () => Promise<void> }).end = async () => undefined;
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      idleTimeout: 0,
      fetch: () =>
        new Response(
          new ReadableStream({
            type: 'direct',
            pull: (sink: never) => stream.pipeTo(sink),
          } as unknown as UnderlyingDefaultSource<Uint8Array>),
        ),
    });
    try {
      const { body } = await fetch(server.url);
      const decoder = new TextDecoder();
      let received = '';
      for await (const bytes of body as unknown as AsyncIterable<Uint8Array>) {
        received += decoder.decode(bytes, { stream: true });
        if (received.includes('[DONE]')) break;
      }
      expect(received).toBe([frame('a'), frame('b'), frame('', 'stop'), usage, done].join(''));
    } finally {
      await server.stop(true);
    }
  },
);
