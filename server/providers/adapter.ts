/** What a provider with ways of its own does differently, in five pure parts: protocol, endpoint, body, auth, framing. */
import type { ProtocolId, UpstreamError } from '../protocols/canonical.ts';
import type { Dropped, Wire } from '../protocols/codec.ts';
import type { Framing } from '../protocols/shared/sse.ts';
import type { Provider } from './provider.ts';

export type { Framing, Wire };

type Members = Readonly<Record<string, unknown>>;

/** Whether a key has the named parts of its provider's keys, or is one secret. */
export type KeyKind = 'parts' | 'secret';

/** What an adapter may decide the protocol by. */
export interface Serving {
  /** chat, embeddings, images … */
  readonly operation: string;
  /** The model as the upstream calls it. */
  readonly model: string;
  readonly keyKind: KeyKind;
}

/** In what the provider is spoken to; what is absent is as its row says. */
export interface AdapterProtocol {
  /** Where it hosts several families of models. */
  readonly dialect?: ProtocolId;
  /** A wire of its own. */
  readonly wire?: Wire;
  /** A form of its own, for an operation other than chat. */
  readonly form?: CustomForm;
}

/** What the address and the form of a body follow from. */
export interface Place {
  readonly provider: Provider;
  /** chat, embeddings, images …; a count of tokens as its dialect calls it. */
  readonly operation: string;
  /** The operation as the provider's row names it. */
  readonly row: string;
  readonly dialect: ProtocolId;
  readonly model: string;
  /** The client calls the model otherwise. */
  readonly mapped: boolean;
  readonly stream: boolean;
  /** The channel's address, or the provider's own. No trailing slash. */
  readonly baseUrl: string;
  readonly other: string;
}

export interface Endpoint {
  /** Absent = as the provider's row says. */
  readonly url?: string | ((key: string) => string);
  readonly headers?: Readonly<Record<string, string>>;
  /** Headers of the dialect are not sent: what they say stands elsewhere. */
  readonly ownHeaders?: true;
}

/** What the provider wants otherwise in a body. */
export interface BodyForm {
  /** Members of a chat in OpenAI's form; what the channel overrides wins. */
  readonly members?: (body: Members) => Members;
  /** The whole body, after everything else; null = nothing of the kind is served. */
  readonly whole?: (body: Members, details: BodyInput) => Whole | null;
}

export interface BodyInput {
  readonly key: string;
  /** The client's own header, '' when it sent none. */
  readonly betas: string;
  readonly dropped: Dropped;
}

export interface Whole {
  readonly body: Members;
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

export interface AuthInput {
  readonly key: string;
  /** Epoch milliseconds. */
  readonly nowMs: number;
  /** @throws AppError upstream_key when it cannot be had. */
  readonly token: (order: TokenOrder) => Promise<string>;
}

/** What the client of an operation other than chat asked, in OpenAI's form. */
export interface Requested {
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
  encode(requested: Requested, model: string, dropped: Dropped): Record<string, unknown>;
  /** @returns OpenAI's form; what went wrong as its `error`. */
  decode(answer: unknown, requested: Requested): unknown;
  readonly decodeError?: (status: number, body: string) => UpstreamError;
  /** Where to ask after work that is not done yet; null = the answer is whole. @param url where the work was ordered. */
  readonly pending?: (answer: unknown, url: string) => { readonly url: string; readonly waitMs: number } | null;
}

export interface Adapter {
  readonly protocol?: (serving: Serving) => AdapterProtocol | null;
  /** null = the operation is not served. @throws AppError what the channel's `other` cannot be. */
  readonly endpoint?: (place: Place) => Endpoint | null;
  readonly body?: (place: Place) => BodyForm | null;
  /** Last of all: it sees address, headers and body. */
  readonly auth?: (call: Outgoing, details: AuthInput) => Outgoing | Promise<Outgoing>;
  /** Streams that are no server-sent events, by the answer's content type. */
  readonly framing?: (contentType: string) => Framing | null;
}

/** What a request must not say at a provider is moved to the nearest that it may. @returns undefined when nothing needs to move. */
export const within = (value: unknown, min: number, max: number): number | undefined =>
  typeof value !== 'number' || (value >= min && value <= max) ? undefined : Math.min(max, Math.max(min, value));
