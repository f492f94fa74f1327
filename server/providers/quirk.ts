/** What a strange provider does differently, as pure functions: addresses, bodies, signatures, framing, or a wire of its own. */
import type { ChatRequest, ProtocolId } from '../protocols/canonical.ts';
import type { Dropped, UpstreamHalf } from '../protocols/codec.ts';
import type { RawFrame } from '../protocols/shared/sse.ts';

/** A call before it is signed. */
export interface Call {
  readonly operation: string;
  readonly dialect: ProtocolId;
  readonly model: string;
  readonly stream: boolean;
  /** The channel's address, or the provider's own. No trailing slash. */
  readonly baseUrl: string;
  readonly other: string;
  readonly key: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** The client's own header, '' when it sent none. */
  readonly betas: string;
}

export interface Shaped {
  readonly url: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Outgoing {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A token that the key buys. The relay fetches it, keeps it until it expires, and shares it between requests. */
export interface TokenOrder {
  /** Names the token among all others. */
  readonly id: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** @returns null when the answer holds none. Lifetime in seconds. */
  read(answer: unknown): { readonly token: string; readonly seconds: number } | null;
}

export interface SignFacts {
  readonly key: string;
  /** Epoch milliseconds. */
  readonly nowMs: number;
  /** @throws AppError upstream_key when it cannot be had. */
  readonly token: (order: TokenOrder) => Promise<string>;
}

/** Upstream bytes as frames of the dialect that is spoken. */
export interface Framing {
  push(chunk: Uint8Array): RawFrame[];
  end(): Uint8Array;
}

/** A wire that is none of the four dialects. */
export interface Wire {
  readonly upstream: UpstreamHalf;
  encodeRequest(request: ChatRequest, dropped: Dropped): Record<string, unknown>;
}

export interface Quirk {
  /** Where one provider hosts several families of models. */
  readonly dialectFor?: (model: string) => ProtocolId;
  /** Set for models that speak a wire of their own; null = the row's dialect. */
  readonly wireFor?: (model: string) => Wire | null;
  /** Address alone, where a template in the row is not enough; null = the operation is not served. */
  readonly addressFor?: (operation: string, baseUrl: string, model: string, other: string) => string | null;
  /** Address and body; null = the operation is not served. */
  readonly shape?: (call: Call) => Shaped | null;
  readonly sign?: (request: Outgoing, facts: SignFacts) => Outgoing | Promise<Outgoing>;
  /** Streams that are no server-sent events, by the answer's content type. */
  readonly framing?: (contentType: string) => Framing | null;
}
