/** What carrying a stream to a client needs to know, and what it tells when it is over. */
import type { EndReason, UsageSource } from '../../contract/enums.ts';
import type { FinishReason, Usage } from '../../protocols/canonical.ts';
import type { Reshape } from '../../protocols/codec.ts';
import type { DeliveredText } from '../shared/delivered-text.ts';
import type { Departure } from '../upstream/client-disconnect.ts';
import type { OpenStream } from '../upstream/open-stream.ts';
import type { ThoughtTime } from '../upstream/thinking.ts';
import type { Cover } from './cover.ts';
import type { WordWatch } from './stop-words.ts';

export interface StreamEnd {
  readonly endReason: EndReason;
  readonly usage: Usage | null;
  readonly usageSource: UsageSource | null;
  /** Text the client received, when no usage came. */
  readonly delivered: DeliveredText;
  /** Set where the upstream may have thought unseen and never reported it. */
  readonly thought?: ThoughtTime | null;
  readonly firstByteMs: number | null;
  readonly failure?: string;
  /** How the upstream says that it ended, for whoever wants to know. */
  readonly finishReason?: () => FinishReason | null;
}

/** What a stream is ended with. */
export type StreamError = 'broken' | 'quota' | 'failed' | 'stopped' | 'word';

export interface PumpOptions {
  /** The opened stream; a text is the whole answer, null = every attempt failed and an error frame tells so. */
  readonly opening: OpenStream | Promise<OpenStream | string | null>;
  /** Text that keeps an idle stream alive. */
  readonly ping: string;
  readonly pingMs: number | null;
  readonly idleMs: number;
  /** Milliseconds between notes of what is owed so far. */
  readonly checkpointMs: number;
  /** Milliseconds that the end of an answer waits for the upstream to tell what it costs. */
  readonly billMs: number;
  readonly now: () => number;
  readonly departure: Departure;
  /** Settles; the terminal frame is sent when it resolves. */
  readonly finish: (end: StreamEnd) => Promise<void>;
  /** Text of an error frame in the client's dialect. */
  readonly errorFrame: (kind: StreamError) => string;
  /** Behind an error frame the connection breaks off instead of ending. */
  readonly breaksOff: boolean;
  /** Between signs of life while the end waits for its bill. */
  readonly commitPingMs: number;
  /** What the client gets instead of events. */
  readonly reshape: Reshape | null;
  /** Asked before bytes are delivered, where the hold grows with them; false cuts the stream. */
  readonly cover: Cover | null;
  /** Asked after a refusal of `cover` or `affordable`; true = it may be otherwise now. */
  readonly borrow: () => Promise<boolean>;
  /** Asked about what is said before it is delivered; true ends the stream. null = nobody wants to know. */
  readonly watch: WordWatch | null;
  /** Whether the upstream may have thought something that the client does not see. */
  readonly thinks: (opened: OpenStream) => boolean;
  /** Told how many frames went out. */
  readonly delivered: (frames: number) => void;
  /** Asked now and then with the text delivered so far; false cuts the stream for want of quota. @param durably what is owed is written down too. */
  readonly affordable: (delivered: DeliveredText, durably: boolean) => boolean;
}
