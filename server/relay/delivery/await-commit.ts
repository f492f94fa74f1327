/** A response in one piece waits for its bill; where that takes long, all but its last byte is sent, so that no proxy in between times out. */
import type { Deadlines } from '../shared/deadline.ts';
import { directStream, type Sink } from './stream.ts';

const encoder = new TextEncoder();

type Sent = Uint8Array<ArrayBuffer> | string | ReadableStream<Uint8Array>;

/** @param make the body is its own when the bill is durable in time. @param durable resolves with the bill. */
export function whenDurable(
  durable: Promise<void>,
  waitMs: number,
  body: Uint8Array<ArrayBuffer> | string,
  make: (body: Sent) => Response,
  deadlines: Deadlines,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    let isMade = false;
    const answer = (sent: Sent) => {
      if (isMade) return;
      isMade = true;
      try {
        resolve(make(sent));
      } catch (error) {
        reject(error);
      }
    };
    const timeout = deadlines.start(waitMs, () => answer(allButTheLastByte(durable, body)));
    durable.then(
      () => {
        timeout.end();
        answer(body);
      },
      (error: unknown) => {
        timeout.end();
        reject(error);
      },
    );
  });
}

function allButTheLastByte(durable: Promise<void>, body: Uint8Array<ArrayBuffer> | string): ReadableStream<Uint8Array> {
  const bytes = typeof body === 'string' ? encoder.encode(body) : body;
  const sentFirst = Math.max(0, bytes.length - 1);
  return directStream({
    type: 'direct',
    async pull(sink: Sink) {
      sink.write(bytes.subarray(0, sentFirst));
      sink.flush();
      await durable;
      sink.write(bytes.subarray(sentFirst));
      sink.end();
    },
  });
}
