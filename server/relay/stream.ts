/** Passes an upstream's event stream through untouched while a reader watches it; the terminal frame waits for the bill. */
import type { EndReason, UsageSource } from '../contract/enums.ts';
import type { ChatEvent, Usage } from '../protocols/canonical.ts';
import type { Codec, StreamReader } from '../protocols/codec.ts';
import { createSseSplitter, parseFrame, type RawFrame } from '../protocols/shared/sse.ts';

export interface StreamEnd {
  readonly endReason: EndReason;
  readonly usage: Usage | null;
  readonly usageSource: UsageSource | null;
  /** Text the client received, when no usage came. */
  readonly delivered: readonly string[];
  readonly firstByteMs: number | null;
  readonly failure?: string;
}

export interface StreamOptions {
  readonly codec: Codec;
  readonly upstream: ReadableStream<Uint8Array>;
  /** Drop the usage frame that we asked for and the client did not. */
  readonly dropUsageFrame: boolean;
  readonly pingMs: number | null;
  /** Milliseconds without a byte from the upstream before it counts as broken. */
  readonly idleMs: number;
  /** Milliseconds between notes of what is owed so far. */
  readonly checkpointMs: number;
  readonly now: () => number;
  readonly abort: AbortController;
  /** Settles; the terminal frame is sent when it resolves. */
  readonly finish: (end: StreamEnd) => Promise<void>;
  /** Text of an error frame in the client's dialect. */
  readonly errorFrame: (kind: 'broken' | 'quota') => string;
  /** Asked now and then with the text delivered so far; false cuts the stream for want of quota. */
  readonly affordable: (delivered: readonly string[]) => boolean;
}

/** Frames are kept unread up to this many bytes. */
const unreadLimit = 16 * 1024;

/** The sink of a direct stream. */
interface Sink {
  write(chunk: Uint8Array | string): unknown;
  flush(): unknown;
  end(): unknown;
}

export function relayStream(options: StreamOptions): ReadableStream<Uint8Array> {
  return new ReadableStream({
    type: 'direct',
    pull: (sink: Sink) => pump(options, sink),
    cancel: () => options.abort.abort(),
  } as unknown as UnderlyingDefaultSource<Uint8Array>);
}

/**
 * Watches frames go by. Two readers: one sees only the frames that may carry usage, an end or an error; the other reads
 * the words, and only when somebody asks for them, because most streams report their usage and are never read at all.
 */
function createWatch(codec: Codec) {
  const signals = codec.upstream.reader();
  let words: StreamReader | null = null;
  // As text: a frame object with its byte view is several times the size of its words.
  let unread: string[] = [];
  let unreadBytes = 0;
  const texts: string[] = [];
  let usage: Usage | null = null;
  let finished = false;
  let error: (ChatEvent & { type: 'error' }) | null = null;

  const takeSignals = (events: readonly ChatEvent[]) => {
    for (const event of events) {
      if (event.type === 'usage') usage = event.usage;
      else if (event.type === 'finish') finished = true;
      else if (event.type === 'error') error ??= event;
    }
  };
  const takeWords = (events: readonly ChatEvent[]) => {
    for (const event of events) {
      if (event.type === 'text-delta' || event.type === 'reasoning-delta' || event.type === 'refusal-delta')
        texts.push(event.text);
      else if (event.type === 'tool-call-delta') texts.push(event.arguments);
    }
  };

  return {
    see(frame: RawFrame) {
      const text = frame.text();
      unread.push(text);
      unreadBytes += text.length;
      if (codec.upstream.mayMatter(text)) takeSignals(signals.feed({ event: frame.event(), data: frame.data() }));
    },
    /** Too much is unread: read it now, so that memory stays bounded. */
    overdue: () => unreadBytes > unreadLimit,
    text(): readonly string[] {
      words ??= codec.upstream.reader();
      for (const text of unread) takeWords(words.feed(parseFrame(text)));
      unread = [];
      unreadBytes = 0;
      return texts;
    },
    /** The upstream closed the stream; the reader says how it stands. */
    close: () => takeSignals(signals.end()),
    usage: () => usage,
    finished: () => finished,
    error: () => error,
  };
}

async function pump(options: StreamOptions, sink: Sink): Promise<void> {
  const { codec, abort, now } = options;
  const splitter = createSseSplitter();
  const watch = createWatch(codec);
  const reader = options.upstream.getReader();
  let firstByteMs: number | null = null;
  let lastByteMs = now();
  let lastWriteMs = lastByteMs;
  let checkedMs = lastByteMs;
  let idleCut = false;
  let terminated = false;

  // One timer per stream serves both the keep-alive and the idle limit; frames are written whole, so a ping never breaks one.
  const beat = Math.min(options.pingMs ?? options.idleMs, options.idleMs);
  const timer = setInterval(() => {
    const at = now();
    if (at - lastByteMs >= options.idleMs) {
      idleCut = true;
      abort.abort();
      void reader.cancel().catch(() => undefined);
      return;
    }
    if (options.pingMs !== null && at - lastWriteMs >= options.pingMs) {
      sink.write(codec.client.ping);
      sink.flush();
      lastWriteMs = at;
    }
  }, beat);

  const end = (endReason: EndReason, failure?: string): Promise<void> => {
    const usage = watch.usage();
    return options.finish({
      endReason,
      usage,
      usageSource: usage === null ? null : endReason === 'completed' ? 'reported' : 'partial',
      delivered: usage === null || endReason !== 'completed' ? watch.text() : [],
      firstByteMs,
      ...(failure === undefined ? {} : { failure }),
    });
  };

  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      lastByteMs = now();
      firstByteMs ??= lastByteMs;
      let wrote = false;
      for (const frame of splitter.push(value)) {
        watch.see(frame);
        if (codec.upstream.isTerminal(frame)) {
          await end('completed');
          sink.write(frame.bytes);
          terminated = true;
          wrote = true;
          continue;
        }
        if (options.dropUsageFrame && codec.upstream.isUsageOnly(frame)) continue;
        sink.write(frame.bytes);
        wrote = true;
      }
      if (wrote) {
        const flushed = sink.flush();
        if (flushed instanceof Promise) await flushed;
        lastWriteMs = lastByteMs;
      }
      const due = lastByteMs - checkedMs >= options.checkpointMs;
      if (due) checkedMs = lastByteMs;
      if ((due || watch.overdue()) && !options.affordable(watch.text())) {
        abort.abort();
        await end('quota_cut');
        sink.write(options.errorFrame('quota'));
        sink.end();
        return;
      }
    }
    const rest = splitter.end();
    watch.close();
    // Some upstreams end without their dialect's last frame; what counts is that they said why they stopped.
    if (terminated || watch.finished() || (watch.usage() !== null && watch.error() === null)) {
      await end('completed');
      if (rest.length > 0) sink.write(rest);
    } else {
      await end('upstream_broken', idleCut ? 'idle' : 'truncated');
      sink.write(options.errorFrame('broken'));
    }
    sink.end();
  } catch {
    // Either the upstream broke off or the client left; the abort signal tells which.
    const gone = abort.signal.aborted && !idleCut;
    abort.abort();
    await end(gone ? 'client_gone' : 'upstream_broken', gone ? undefined : 'broken');
    try {
      if (!gone) sink.write(options.errorFrame('broken'));
      sink.end();
    } catch {
      // The client's side is closed; nobody is left to tell.
    }
  } finally {
    clearInterval(timer);
  }
}
