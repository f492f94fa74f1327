/** What a strange provider does differently, as pure functions: addresses, bodies, signatures, framing, or a wire of its own. */
import type { ProtocolId, UpstreamError } from '../protocols/canonical.ts';
import type { Dropped, Framing, Wire } from '../protocols/codec.ts';

export type { Framing, Wire };

/** A call before it is signed. */
export interface PlainCall {
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
  /** What the shape cannot carry over. */
  readonly dropped: Dropped;
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

/** What the client of an operation other than chat asked, in OpenAI's form. */
export interface Asked {
  /** The model as the client calls it. */
  readonly model: string;
  /** The client's path: it decides between forms of one operation. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** When, in epoch seconds. */
  readonly created: number;
}

/** An operation other than chat in a form of the provider's own. */
export interface CustomForm {
  /** Instead of the path in the row. */
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** @param model as the upstream calls it. @throws AppError body_invalid. */
  encode(asked: Asked, model: string, dropped: Dropped): Record<string, unknown>;
  /** @returns OpenAI's form; what went wrong as its `error`. */
  decode(answer: unknown, asked: Asked): unknown;
  readonly decodeError?: (status: number, body: string) => UpstreamError;
  /** Where to ask after work that is not done yet; null = the answer is whole. @param url where the work was ordered. */
  readonly pending?: (answer: unknown, url: string) => { readonly url: string; readonly waitMs: number } | null;
}

export interface Quirk {
  /** Where one provider hosts several families of models. */
  readonly dialectFor?: (model: string) => ProtocolId;
  /** Set for models that speak a wire of their own, some only with keys of one kind; null = the row's dialect. */
  readonly wireFor?: (model: string, key: string) => Wire | null;
  /** Set for operations other than chat whose form is not OpenAI's; null = it is. */
  readonly formFor?: (operation: string, model: string) => CustomForm | null;
  /** Members of a chat request that the provider wants otherwise. @param body OpenAI's form. */
  readonly editsFor?: (
    body: Readonly<Record<string, unknown>>,
    model: string,
    stream: boolean,
  ) => Readonly<Record<string, unknown>>;
  /** Headers that follow from what is asked and from the channel's `other`. */
  readonly headersFor?: (operation: string, other: string) => Readonly<Record<string, string>>;
  /** What a model is usually called here, where the channel's mapping says nothing of it. */
  readonly usualName?: (model: string) => string;
  /** Address alone, where a template in the row is not enough; null = the operation is not served. */
  readonly addressFor?: (operation: string, baseUrl: string, model: string, other: string) => string | null;
  /** Headers of the dialect are not sent: what they say stands elsewhere. */
  readonly ownHeaders?: true;
  /** Address and body; null = the operation is not served. */
  readonly shape?: (call: PlainCall) => Shaped | null;
  readonly sign?: (request: Outgoing, facts: SignFacts) => Outgoing | Promise<Outgoing>;
  /** Streams that are no server-sent events, by the answer's content type. */
  readonly framing?: (contentType: string) => Framing | null;
}
