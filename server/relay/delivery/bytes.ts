/** Carries an answer that is neither JSON nor events, such as sound; the last chunk waits for the bill. */

import { deliveredTextOf, nothingDelivered } from '../shared/delivered-text.ts';
import type { UpstreamSide } from '../upstream/client-disconnect.ts';
import type { StreamEnd } from './settle.ts';

export interface BytesOptions {
  readonly now: () => number;
  readonly abort: UpstreamSide;
  /** We end the request ourselves. */
  readonly stopped: () => boolean;
  readonly idleMs: number;
  readonly finish: (end: StreamEnd) => Promise<void>;
}

/** Subtitles are short; their words tell how long the recording was. */
const textLimit = 1024 * 1024;

export function relayBytes(response: Response, options: BytesOptions): ReadableStream<Uint8Array> | null {
  const { abort, now } = options;
  const reader = response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array> | undefined;
  const isText = (response.headers.get('content-type') ?? '').startsWith('text/');
  const decoder = new TextDecoder();
  let words = '';
  let firstByteMs: number | null = null;
  let held: Uint8Array | null = null;
  let idle: ReturnType<typeof setTimeout> | undefined;
  let idled = false;
  let over: Promise<void> | null = null;

  const end = (endReason: StreamEnd['endReason'], failure?: string): Promise<void> => {
    clearTimeout(idle);
    // It was made and is paid for, whether anybody waited for it or not.
    if (endReason === 'client_gone') firstByteMs ??= now();
    over ??= options.finish({
      endReason,
      usage: null,
      usageSource: null,
      delivered: words === '' ? nothingDelivered : deliveredTextOf([words]),
      firstByteMs,
      ...(failure === undefined ? {} : { failure }),
    });
    return over;
  };
  const wait = () => {
    clearTimeout(idle);
    idle = setTimeout(() => {
      idled = true;
      abort.abort();
    }, options.idleMs);
  };
  if (reader === undefined) {
    void end('completed');
    return null;
  }

  // Whoever left before the answer began never reads a byte of it, nor ends it.
  abort.onAbort(() => idled || void end('client_gone'));
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        for (;;) {
          wait();
          const { done, value } = await reader.read();
          if (done) {
            await end('completed');
            if (held !== null) controller.enqueue(held);
            controller.close();
            return;
          }
          firstByteMs ??= now();
          if (isText && words.length < textLimit) words += decoder.decode(value, { stream: true });
          const ready: Uint8Array | null = held;
          held = value;
          if (ready === null) continue;
          controller.enqueue(ready);
          return;
        }
      } catch (error) {
        const left = abort.aborted && !idled;
        await end(options.stopped() ? 'stopped' : left ? 'client_gone' : 'upstream_broken', idled ? 'idle' : 'broken');
        controller.error(error);
      }
    },
    async cancel() {
      abort.abort();
      void reader.cancel().catch(() => undefined);
      await end('client_gone');
    },
  });
}
