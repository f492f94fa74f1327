/** Upstreams and clients of the measurements in plain bytes, so that what is measured is the gateway. */
import type { Socket } from 'bun';

export const frame = (content: string): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;
export const lastFrames = `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\ndata: ${JSON.stringify(
  { choices: [], usage: { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 } },
)}\n\ndata: [DONE]\n\n`;
export const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
export const streamHead = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
const answer = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 },
});
export const wholeAnswer = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${answer.length}\r\n\r\n${answer}`;

/** What was asked over one connection. */
export interface Requested {
  text: string;
  /** Requests before this one. */
  before: number;
}

export interface Double {
  readonly url: string;
  /** Requests so far. */
  requested(): number;
  stop(): void;
}

/** @param reply called once for each whole request. */
export function double(reply: (socket: Socket<Requested>, body: string) => unknown): Double {
  let requested = 0;
  const listener = Bun.listen<Requested>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        socket.data = { text: '', before: 0 };
      },
      data(socket, bytes) {
        const { data } = socket;
        data.text += bytes.toString('latin1');
        for (;;) {
          const end = data.text.indexOf('\r\n\r\n');
          if (end < 0) return;
          const length = Number(/content-length: *(\d+)/i.exec(data.text.slice(0, end))?.[1] ?? 0);
          if (data.text.length < end + 4 + length) return;
          const body = data.text.slice(end + 4, end + 4 + length);
          data.text = data.text.slice(end + 4 + length);
          requested++;
          reply(socket, body);
          data.before++;
        }
      },
      error: () => undefined,
    },
  });
  return { url: `http://127.0.0.1:${listener.port}`, requested: () => requested, stop: () => listener.stop(true) };
}

export const requestOf = (token: string, model: string, content: string, stream: boolean): string => {
  const body = JSON.stringify({ model, stream, messages: [{ role: 'user', content }] });
  return `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
};

export interface SiteAccess {
  readonly url: string;
  readonly token: string;
}

export const ask = async ({ url, token }: SiteAccess, model: string, content: string, stream: boolean) => {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream, messages: [{ role: 'user', content }] }),
  });
  const text = await response.text();
  return { status: response.status, whole: !text.includes('"error"') && (!stream || text.includes('[DONE]')) };
};
