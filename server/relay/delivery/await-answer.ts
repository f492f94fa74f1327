/** A client that waits long for an answer in one piece gets blanks before its JSON where an option lets them come, so that no proxy in between times out. */
import type { Deadline, Deadlines } from '../shared/deadline.ts';
import { directStream, type Sink } from './stream.ts';

const blank = new Uint8Array([0x20]);

/** The status is sent with the first blank: an error that comes later is the body of a 200. @param answer never rejects. @param headers of the answer that begins with blanks. */
export function withBlanks(
  answer: Promise<Response>,
  everyMs: number,
  deadlines: Deadlines,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const { promise, resolve } = Promise.withResolvers<Response>();
  const timeout = deadlines.start(everyMs, () =>
    resolve(new Response(blanksUntil(answer, everyMs, deadlines), { headers })),
  );
  void answer.then((response) => {
    timeout.end();
    resolve(response);
  });
  return promise;
}

function blanksUntil(answer: Promise<Response>, everyMs: number, deadlines: Deadlines): ReadableStream<Uint8Array> {
  let next: Deadline | null = null;
  let isGone = false;
  return directStream({
    type: 'direct',
    async pull(sink: Sink) {
      const send = () => {
        sink.write(blank);
        sink.flush();
        next?.restart(everyMs);
      };
      next = deadlines.start(everyMs, send);
      let body: Uint8Array;
      try {
        send();
        const response = await answer;
        body = new Uint8Array(await response.arrayBuffer());
      } finally {
        // Else blanks went on for ever to whoever waits for an answer that broke.
        next.end();
      }
      // Who left is charged as ever, and is sent nothing.
      if (isGone) return;
      sink.write(body);
      sink.end();
    },
    cancel() {
      isGone = true;
      next?.end();
    },
  });
}
