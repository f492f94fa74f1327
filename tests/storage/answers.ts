/** What the upstream of these tests returns: one response at once, or a stream that goes on until a test ends it. */
import type { ServerResponse } from 'node:http';
import { completion, type Script, sendJson } from '../support/upstream.ts';

const frame = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`;
const words = (content: string) => frame({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });

export interface Streams {
  readonly script: Script;
  /** Streams that have begun and not ended. */
  open(): number;
  /** Ends them well. */
  finish(): void;
}

export function streams(): Streams {
  const open = new Set<ServerResponse>();
  return {
    open: () => open.size,
    script(response, { body }) {
      if (!body.toString().includes('"stream":true')) return sendJson(response, completion(1000, 500));
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(words('one two three '));
      open.add(response);
      response.on('close', () => open.delete(response));
    },
    finish() {
      for (const response of open) {
        response.write(frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
        response.write(frame({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 } }));
        response.end('data: [DONE]\n\n');
      }
    },
  };
}
