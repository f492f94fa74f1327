/** The one form all chat dialects translate through. Names follow the field: noun, then start/delta/end. */
import type { Buckets } from '../contract/pricing/bucket.ts';
import type { CacheDiagnosis } from './shared/cache-diagnosis.ts';
import type { Unread } from './shared/unread.ts';

export type ProtocolId =
  | 'openai-chat'
  | 'openai-responses'
  | 'anthropic-messages'
  | 'gemini-generate'
  | 'cohere-chat'
  | 'ollama-chat';

export type { Buckets };

/** One of several calls of a model that a single answer took. */
export interface UsagePart extends Buckets {
  /** In the upstream's word: `message`, `compaction`, `image_generation`. */
  readonly kind: string;
  /** Whose prices hold; null = those of the model that was asked for. */
  readonly model: string | null;
}

export interface Usage extends Buckets {
  /** Calls of tools the provider bills per call, by tool name (`web_search`, `file_search`). */
  readonly toolCalls: Readonly<Record<string, number>>;
  /** Set where one answer took several calls: the buckets above are their sum. */
  readonly parts?: readonly UsagePart[];
  /** Terms the answer says it was served under, by member (`service_tier`, `speed`, `inference_geo`). */
  readonly modifiers?: Readonly<Record<string, string>>;
  /** The dialect counts the cache beside the prompt, not in it. */
  readonly cacheBeside?: true;
  /** The last report of the answer lowered what an earlier one had stated. */
  readonly corrected?: true;
  /** The provider's own members: untouched where it stated them once, else merged. */
  readonly raw: unknown;
}

export type UnifiedFinish = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'refusal' | 'error' | 'other';
export interface FinishReason {
  readonly unified: UnifiedFinish;
  readonly raw: string | null;
  /** Where the model failed: what the upstream says of it. */
  readonly message?: string;
}

export type Media =
  | { readonly kind: 'url'; readonly url: string; readonly mimeType: string | null }
  | { readonly kind: 'base64'; readonly data: string; readonly mimeType: string };

/** What a text rests on. A source without an address is passed on in its own dialect alone. */
export interface Citation {
  readonly url: string | null;
  readonly title: string | null;
  /** The cited words. */
  readonly quote: string | null;
  /** Where in the text, in UTF-16 units; null = all of it. */
  readonly start: number | null;
  readonly end: number | null;
  readonly dialect: ProtocolId;
  /** What the upstream wrote. */
  readonly raw: unknown;
}

/** One piece of a message. `cache` is the lifetime a cache mark asks for on this piece. */
export type Part = (
  | { readonly type: 'text'; readonly text: string; readonly citations?: readonly Citation[] }
  | { readonly type: 'image'; readonly source: Media; readonly detail?: string }
  | { readonly type: 'audio'; readonly source: Media; readonly format: string }
  | {
      readonly type: 'file';
      readonly source: Media | { readonly kind: 'id'; readonly id: string };
      readonly name: string | null;
    }
  | {
      readonly type: 'reasoning';
      readonly text: string;
      readonly signature: string | null;
      readonly redacted: string | null;
      readonly id?: string;
      /** The dialect whose upstream signed it; only that dialect may be shown the signature again. */
      readonly origin?: ProtocolId;
    }
  | {
      readonly type: 'tool-call';
      readonly id: string;
      readonly name: string;
      /** JSON text; free text for a custom tool. */
      readonly arguments: string;
      readonly signature?: string;
      readonly origin?: ProtocolId;
      readonly custom?: boolean;
      /** Set on the way back to a client that offered the tool in a bundle; `name` is the tool's own then. */
      readonly namespace?: string;
    }
  | {
      readonly type: 'tool-result';
      readonly id: string;
      readonly name: string | null;
      readonly content: readonly Part[];
      readonly isError: boolean;
    }
  | { readonly type: 'refusal'; readonly text: string }
  /** A block this build does not know: kept for same-dialect targets, reported in `dropped` elsewhere. */
  | { readonly type: 'unknown'; readonly dialect: ProtocolId; readonly raw: unknown }
) & { readonly cache?: '5m' | '1h' };

/** What an answer delivers besides words and calls. */
export type DeliveredPart = Extract<Part, { readonly type: 'image' | 'audio' | 'file' }>;

export interface Message {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  readonly parts: readonly Part[];
  readonly name?: string;
}

export interface Tool {
  /** A custom tool takes free text instead of JSON; a provider's own runs at the provider. */
  readonly kind: 'function' | 'custom' | 'provider';
  readonly name: string;
  /** Bundle the client offered it in; `name` begins with it then. */
  readonly namespace?: string;
  readonly description: string | null;
  /** JSON schema of the arguments. */
  readonly schema: unknown;
  readonly strict: boolean | null;
  readonly cache?: '5m' | '1h';
  /** Provider-run tools (web search ...) as the client wrote them. */
  readonly raw?: unknown;
  /** What a search on the web is held to. */
  readonly search?: SearchLimits;
}

export interface SearchLimits {
  /** Searches in one answer. */
  readonly maxUses?: number;
  readonly allowedDomains?: readonly string[];
  readonly blockedDomains?: readonly string[];
  /** Where the reader is: city, region, country, timezone. */
  readonly location?: Readonly<Record<string, string>>;
  /** How much of what is found the model reads: low, medium, high. */
  readonly contextSize?: string;
}

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

export interface Reasoning {
  readonly effort: string | null;
  /** Tokens; 0 = off, -1 = the provider decides. */
  readonly budget: number | null;
  readonly includeThoughts: boolean | null;
}

export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice | null;
  readonly parallelToolCalls: boolean | null;
  readonly stream: boolean;
  readonly maxTokens: number | null;
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly topK: number | null;
  readonly stop: readonly string[];
  readonly seed: number | null;
  readonly presencePenalty: number | null;
  readonly frequencyPenalty: number | null;
  readonly responseFormat:
    | null
    | { readonly type: 'json' }
    | {
        readonly type: 'schema';
        readonly name: string;
        readonly description?: string;
        readonly schema: unknown;
        readonly strict: boolean | null;
      };
  readonly reasoning: Reasoning | null;
  /** The longest answer, thoughts included, that no translation may raise; absent = a thought that is asked for gets its room beside the answer. */
  readonly ceiling?: number;
  readonly user: string | null;
  /** Sources that the client gives beside the conversation: words, or members with a name each. */
  readonly documents?: readonly (string | Readonly<Record<string, unknown>>)[];
  readonly candidates: number;
  /** Kinds of answer that are wanted besides text: audio, image. */
  readonly modalities?: readonly string[];
  readonly dialect: ProtocolId;
  /** Top-level fields this form has no name for, as the client wrote them. */
  readonly extra: Readonly<Record<string, unknown>>;
  /** Members below the top that this form has no place for. */
  readonly unread?: readonly Unread[];
}

/** What a response consists of, whole or streamed. Exactly one `finish` or `error` ends it; nothing but `usage` may come behind it. */
export type ChatEvent =
  | {
      readonly type: 'response-start';
      readonly id: string | null;
      readonly model: string | null;
      readonly created: number | null;
      /** Why the upstream says that its cache was missed. */
      readonly diagnosis?: CacheDiagnosis;
    }
  | { readonly type: 'text-start'; readonly index: number }
  | { readonly type: 'text-delta'; readonly index: number; readonly text: string }
  | { readonly type: 'text-end'; readonly index: number; readonly citations?: readonly Citation[] }
  | { readonly type: 'reasoning-start'; readonly index: number; readonly id?: string }
  | { readonly type: 'reasoning-delta'; readonly index: number; readonly text: string }
  | {
      readonly type: 'reasoning-end';
      readonly index: number;
      readonly signature: string | null;
      readonly redacted: string | null;
      readonly origin?: ProtocolId;
    }
  | {
      readonly type: 'tool-call-start';
      readonly index: number;
      readonly id: string;
      readonly name: string;
      readonly custom?: boolean;
      readonly namespace?: string;
      /** Where it is known at once; the end has it too. */
      readonly signature?: string;
      readonly origin?: ProtocolId;
    }
  | { readonly type: 'tool-call-delta'; readonly index: number; readonly arguments: string }
  | {
      readonly type: 'tool-call-end';
      readonly index: number;
      readonly signature?: string;
      readonly origin?: ProtocolId;
    }
  | { readonly type: 'refusal-delta'; readonly text: string }
  /** `hosted`: the tool of the provider's that made it, where that is paid by the call. */
  | { readonly type: 'media'; readonly part: DeliveredPart; readonly hosted?: string | null }
  /** An unfinished state of the media that follow. */
  | { readonly type: 'media-draft'; readonly part: DeliveredPart }
  | {
      readonly type: 'usage';
      readonly usage: Usage;
      /** The counts of an earlier report, with what became known beside them since. */
      readonly repeated?: true;
    }
  | { readonly type: 'unknown'; readonly dialect: ProtocolId; readonly raw: unknown }
  /** A piece that no part of this form can be made of, by its name in the upstream's dialect; `words` are what a client of that dialect reads in it. */
  | { readonly type: 'omitted'; readonly what: string; readonly words?: string }
  /** A piece of another choice than the first: it is counted and searched, and no translation delivers it. */
  | { readonly type: 'other-choice'; readonly choice: number; readonly event: ChatEvent }
  | { readonly type: 'finish'; readonly reason: FinishReason; readonly diagnosis?: CacheDiagnosis }
  | { readonly type: 'error'; readonly error: UpstreamError };

/** The events of one type. */
export type EventOf<Type extends ChatEvent['type']> = Extract<ChatEvent, { readonly type: Type }>;

/** An upstream's complaint in one form; `message` may quote the upstream and must be redacted before a client sees it. */
export interface UpstreamError {
  readonly status: number | null;
  readonly type: string | null;
  readonly code: string | null;
  readonly message: string;
  /** The member of the request that it names, in the words of the upstream's dialect. */
  readonly param?: string;
  /** What it says besides, for the log alone. */
  readonly detail?: string;
  /** Seconds after which it allows a retry. */
  readonly retryAfter?: number;
}
