/** Carries an answer that is neither JSON nor events, such as sound, as it comes; its last byte waits for the bill. */
import type { Deadline, Deadlines } from '../shared/deadline.ts';
import { readChunk } from '../shared/defect.ts';
import { type DeliveredText, deliveredTextOf, nothingDelivered } from '../shared/delivered-text.ts';
import type { UpstreamSide } from '../upstream/client-disconnect.ts';
import type { StreamEnd } from './settle.ts';

export interface BytesOptions {
  readonly now: () => number;
  readonly deadlines: Deadlines;
  readonly abort: UpstreamSide;
  /** We end the request ourselves. */
  readonly stopped: () => boolean;
  readonly idleMs: number;
  readonly finish: (end: StreamEnd) => Promise<void>;
  /** Milliseconds between notes of what is owed so far; the first is made with the first byte. */
  readonly checkpointMs: number;
  readonly checkpoint: (delivered: DeliveredText) => void;
  /** Ends the request where `finish` cannot. */
  readonly abandon: () => Promise<void>;
  /** Writes down what is a defect of ours. @returns whether it is. */
  readonly report: (error: unknown) => boolean;
}

/** Subtitles are short; their timestamps show how long the recording was. */
const textLimit = 1024 * 1024;

export function relayBytes(response: Response, options: BytesOptions): ReadableStream<Uint8Array> | null {
  const bytes = new ResponseBytes(response, options);
  if (response.body !== null) return new ReadableStream(bytes);
  void bytes.end('completed');
  return null;
}

/** The source of the client's stream. */
class ResponseBytes implements UnderlyingDefaultSource<Uint8Array> {
  private readonly reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  private readonly isText: boolean;
  private readonly decoder = new TextDecoder();
  private words = '';
  private firstByteMs: number | null = null;
  /** The last byte so far. */
  private held: Uint8Array | null = null;
  private silence: Deadline | null = null;
  private isIdle = false;
  private over: Promise<void> | null = null;
  private isCancelled = false;
  private checkedMs = Number.NEGATIVE_INFINITY;
  /** The client has got a part of it. */
  private hasDelivered = false;
  /** All of it is paid for: the last chunk goes out. */
  private isPaid = false;

  constructor(
    response: Response,
    private readonly options: BytesOptions,
  ) {
    this.reader = response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array> | undefined;
    this.isText = (response.headers.get('content-type') ?? '').startsWith('text/');
    // A client that left before the answer began never reads a byte of it, nor ends it.
    if (this.reader !== undefined) options.abort.onAbort(() => this.isIdle || void this.end('client_gone'));
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      const { options, reader } = this;
      for (;;) {
        this.listen();
        const read = reader === undefined ? undefined : await readChunk(reader);
        if (this.isCancelled) return;
        if (read === undefined || read.done) {
          await this.end('completed');
          this.isPaid = true;
          if (this.isCancelled) return;
          if (this.held !== null) controller.enqueue(this.held);
          controller.close();
          return;
        }
        this.firstByteMs ??= options.now();
        if (this.isText && this.words.length < textLimit)
          this.words += this.decoder.decode(read.value, { stream: true });
        const { value } = read;
        if (value.length === 0) continue;
        const before = this.held;
        this.held = value.subarray(-1);
        if (before !== null) controller.enqueue(before);
        if (value.length > 1) controller.enqueue(value.subarray(0, -1));
        if (before === null && value.length === 1) continue;
        this.hasDelivered = true;
        this.check();
        return;
      }
    } catch (error) {
      const { options } = this;
      const isDefect = options.report(error);
      const left = options.abort.aborted && !this.isIdle;
      const reason = options.stopped() ? 'stopped' : left ? 'client_gone' : 'upstream_broken';
      try {
        await (isDefect ? this.end('internal') : this.end(reason, this.isIdle ? 'idle' : 'broken'));
      } catch (another) {
        options.report(another);
        await options.abandon();
      }
      if (isDefect) options.abort.abort();
      if (this.isCancelled) return;
      if (!this.isPaid) return controller.error(error);
      if (this.held !== null) controller.enqueue(this.held);
      controller.close();
    }
  }

  async cancel(): Promise<void> {
    this.isCancelled = true;
    this.options.abort.abort();
    void this.reader?.cancel().catch(() => undefined);
    await this.end('client_gone');
  }

  /** Settles, once. */
  end(endReason: StreamEnd['endReason'], failure?: string): Promise<void> {
    this.silence?.end();
    // It was made and is paid for, whether anybody waited for it or not.
    if (endReason === 'client_gone') this.firstByteMs ??= this.options.now();
    this.over ??= this.options.finish({
      endReason,
      usage: null,
      usageSource: null,
      delivered: this.delivered(),
      firstByteMs: endReason === 'internal' && !this.hasDelivered ? null : this.firstByteMs,
      ...(failure === undefined ? {} : { failure }),
    });
    return this.over;
  }

  private delivered(): DeliveredText {
    return this.words === '' ? nothingDelivered : deliveredTextOf([this.words]);
  }

  private check(): void {
    const { now, checkpointMs, checkpoint } = this.options;
    const at = now();
    if (at - this.checkedMs < checkpointMs) return;
    this.checkedMs = at;
    checkpoint(this.delivered());
  }

  private listen(): void {
    const { abort, deadlines, idleMs } = this.options;
    this.silence?.restart(idleMs);
    this.silence ??= deadlines.start(idleMs, () => {
      this.isIdle = true;
      abort.abort();
    });
  }
}
