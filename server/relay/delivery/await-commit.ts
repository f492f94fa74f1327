/** A response in one piece waits for its bill; where that takes long, all but its last byte is sent, so that no proxy in between times out. */
import type { Deadlines } from '../shared/deadline.ts';

const encoder = new TextEncoder();

interface Sink {
  write(chunk: Uint8Array): unknown;
  flush(): unknown;
  end(): unknown;
}

type Sent = Uint8Array<ArrayBuffer> | string | ReadableStream<Uint8Array>;

/** @param make the body is its own when the bill is durable in time. @param durable resolves with the bill. */
export function whenDurable(
  durable: Promise<void>,
  waitMs: number,
  body: Uint8Array<ArrayBuffer> | string,
  make: (body: Sent) => Response,
  deadlines: Deadlines,
): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Sent>();
  const timeout = deadlines.start(waitMs, () => resolve(allButTheLastByte(durable, body)));
  durable
    .then(() => {
      timeout.end();
      resolve(body);
    })
    .catch((error: unknown) => {
      reject(error);
      timeout.end();
    });
  return promise.then(make);
}

function allButTheLastByte(durable: Promise<void>, body: Uint8Array<ArrayBuffer> | string): ReadableStream<Uint8Array> {
  const bytes = typeof body === 'string' ? encoder.encode(body) : body;
  const sentFirst = Math.max(0, bytes.length - 1);
  return new ReadableStream({
    type: 'direct',
    async pull(sink: Sink) {
      sink.write(bytes.subarray(0, sentFirst));
      sink.flush();
      await durable;
      sink.write(bytes.subarray(sentFirst));
      sink.end();
    },
  } as unknown as UnderlyingDefaultSource<Uint8Array>);
}
