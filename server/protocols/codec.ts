/** The two halves of a wire dialect. Everything here is synchronous and pure: no I/O, no clock, no provider names. */
import type { Text } from '../contract/enum.ts';
import type { RateUse } from '../contract/snapshot.ts';
import type { ChatEvent, ChatRequest, ProtocolId, Reasoning, UpstreamError, Usage } from './canonical.ts';
import type { ProtocolDefinition } from './definition.ts';
import type { Markers } from './shared/markers.ts';
import type { ForeignBlock, Signing } from './shared/signature.ts';
import type { Framing, SseFrame } from './shared/sse.ts';
import type { Target } from './target.ts';

/** What a frame is besides what it says. */
export type FrameKind =
  | 'plain'
  /** Nothing but the end follows (`[DONE]`, message_stop, response.completed ...). */
  | 'terminal'
  /** It carries usage and nothing else; it is removed again when we asked for it and the client did not. */
  | 'usage-only'
  /** After an end more of the answer follows after all: another candidate goes on. */
  | 'more'
  /** The answer is whole with it: at most an end mark follows, or another part of the order. */
  | 'complete';

/** Turns an upstream's stream into events. A reader may be used only to watch bytes that pass untouched. */
export interface StreamReader {
  feed(frame: SseFrame): ChatEvent[];
  /** What the frame was that was read last. Absent = the wire has plain ones alone. */
  readonly frameKind?: FrameKind;
  /** How near the end is: what was being said is over and more may follow, or the upstream said why it stops. Absent = unknown. */
  readonly progress?: 'going' | 'paused' | 'stopped';
  /** What the stream says of its answer as a whole, where the dialect keeps something of it; null = not yet. */
  answer?(): unknown;
  /** What has come and waits for what it belongs to: the client of the same dialect has it already. Absent = nothing ever waits. */
  held?(): readonly ChatEvent[];
  /** The upstream closed the stream. Emits the terminal event when the stream had none (an `error` when it broke off). */
  end(): ChatEvent[];
}

/** Turns events into the client's stream: complete SSE text, frames ending in a blank line. */
export interface StreamWriter {
  write(event: ChatEvent): string;
}

/** Facts the client's dialect needs in its answer and the upstream may not give. */
export interface ResponseContext {
  /** The model name the client asked for. */
  readonly model: string;
  readonly responseId: string;
  /** Epoch seconds. */
  readonly created: number;
  /** OpenAI chat: the client asked for a usage frame. */
  readonly includeUsage: boolean;
  /** Local count of the prompt, for dialects that report it before the upstream does. */
  readonly promptTokens?: number;
  /** Called once where the items of the answer are needed; what is not over yet ends where it is. */
  readonly made?: (items: () => readonly MadeItem[]) => void;
}

/** A part of an answer that can be named later. */
export interface MadeItem {
  readonly id: string;
  readonly item: unknown;
}

/** What a translation could not carry over, as JSON-pointer-like paths with a reason; shown in the log row. */
export type Dropped = string[];

/** `balance` and `limit` (of the key) never come back by themselves; `day` and `month` are budgets of a calendar period. */
export type RefusalReason = 'balance' | 'limit' | 'day' | 'month' | 'rate' | 'model' | 'key' | 'banned';

export interface ClientError {
  /** HTTP status to answer with. */
  readonly status: number;
  /** The error row's type word, e.g. invalid_request_error. */
  readonly type: string;
  readonly code: string;
  readonly message: string;
  /** The same in each language alone, where the words are ours. */
  readonly words?: Text;
  readonly requestId: string;
  /** A retry cannot succeed. */
  readonly final?: true;
  /** The member of the request that the upstream named. */
  readonly param?: string;
  /** Why this site refuses it, where clients of some dialect act upon that. */
  readonly refused?: {
    readonly reason: RefusalReason;
    /** Epoch seconds; null = not known, or never. */
    readonly resetsAt: number | null;
    readonly seconds: number | null;
    /** The rate limit that was reached. */
    readonly rate?: RateUse;
  };
  /** What the dialect's form of a refusal says besides: when it is over (epoch seconds), or how long to wait (seconds). */
  readonly resetsAt?: number;
  readonly retryIn?: number;
  /** The prompt is longer than the model takes: sizes in tokens, null = not known. */
  readonly overflow?: { readonly tokens: number | null; readonly limit: number | null };
}

/** A stream in another form than events. */
export interface StreamTransform {
  readonly contentType: string;
  /** An error before the first byte is a list of one too. */
  readonly listsErrors?: true;
  /** @param events whole events as text. */
  push(events: string): string;
  end(): string;
}

/** What a dialect needs for answering its own clients, translated or not. */
export interface ClientHalf {
  /** JSON body of an error before the first byte. */
  encodeError(error: ClientError): unknown;
  /** SSE text of an error in the middle of a stream, including whatever ends the stream in this dialect. */
  encodeStreamError(error: ClientError): string;
  /** Statuses that only clients of this dialect know. */
  readonly statuses?: readonly number[];
  /** Set where no frame of this dialect means that an answer failed, so that clients overlook ours: they notice a connection that breaks off. */
  readonly closesOnError?: true;
  /** SSE text that keeps an idle stream alive without meaning anything. */
  readonly ping: string;
  /** The form that the dialect has for it within an answer; absent = none, and `ping` is as good. */
  readonly pingWithin?: string;
  /** Set where a request's address can ask for another form of stream; null = events. */
  readonly transform?: (url: string) => StreamTransform | null;
  /** The same for answers in one piece; null = as the dialect has them. */
  readonly wholeForm?: (url: string) => ((text: string) => string) | null;
}

/** What a dialect needs for watching an upstream that speaks it. */
export interface UpstreamHalf {
  decodeResponse(body: unknown): ChatEvent[];
  reader(): StreamReader;
  decodeError(status: number, body: string): UpstreamError;
  /** Whether a whole answer's finish reason says that the upstream failed; absent = none says so. */
  readonly isFailed?: (body: unknown) => boolean;
  /** Usage of a whole JSON answer, null when it reports none or nonsense. */
  readUsage(body: unknown): Usage | null;
  /** A frame without one of them surely carries neither usage, finish reason nor error, and is not terminal: a watcher need not read it. null = each may. */
  readonly markers: Markers | null;
  /** Members of a usage that may stand in a frame without a marker and in no other; absent = every usage has a marker. */
  readonly usageMembers?: readonly string[];
  /** Streams that are no server-sent events, by the answer's content type; absent = all are. @param requested a stream was asked for. */
  readonly framing?: (contentType: string, requested: boolean) => Framing | null;
}

/** A wire as far as an upstream is asked in it. */
export interface Wire {
  /** Set where clients speak it too: their bytes pass untouched then. */
  readonly dialect?: ProtocolId;
  readonly upstream: UpstreamHalf;
  /** @param target what is known of the model; absent = nothing. */
  encodeRequest(request: ChatRequest, dropped: Dropped, target?: Target): Record<string, unknown>;
}

/** What a dialect adds when it is translated to or from another one. */
export interface Translation {
  /** @throws AppError body_invalid naming the field. */
  decodeRequest(
    body: Readonly<Record<string, unknown>>,
    path: { readonly model: string | null; readonly stream: boolean },
  ): ChatRequest;
  /** How much is to be thought, as `decodeRequest` reads it; absent = no translation raises the limit that the request names. */
  readonly reasoning?: (body: Readonly<Record<string, unknown>>) => Reasoning | null;
  /** @param target what is known of the model; absent = nothing. */
  encodeRequest(request: ChatRequest, dropped: Dropped, target?: Target): Record<string, unknown>;
  encodeResponse(events: readonly ChatEvent[], context: ResponseContext): unknown;
  writer(context: ResponseContext): StreamWriter;
}

export interface Codec {
  readonly id: ProtocolId;
  readonly definition: ProtocolDefinition;
  /** Blocks of a request in this dialect that were signed elsewhere; absent = it knows no signatures. */
  readonly foreignBlocks?: (body: Readonly<Record<string, unknown>>, signing: Signing) => readonly ForeignBlock[];
  /** The member without which a request has no such block. */
  readonly foreignMember?: string;
  readonly client: ClientHalf;
  readonly upstream: UpstreamHalf;
  readonly translation: Translation;
}
