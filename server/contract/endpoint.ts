/** One row per call of the HTTP API. HTTP routes, the CLI's three transports, the OpenAPI document and the console's client are loops over these rows. */
import type * as z from 'zod/mini';

/** Who may call. `local` = only the owner of the data directory (0600 socket or direct), never over the network. */
export type Access = 'public' | 'user' | 'admin' | 'root' | 'local';

export interface Endpoint<Input extends z.ZodMiniType = z.ZodMiniType, Output extends z.ZodMiniType = z.ZodMiniType> {
  /** Stable name, `noun.verb`; the CLI and the console call endpoints by it. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Express path; `:id` parts land in the input under their name. */
  readonly path: string;
  readonly access: Access;
  /** Path parameters, query and JSON body merged (path wins, then body, then query). */
  readonly input: Input;
  /** Shape of `data` (or of the whole body when `envelope` is 'raw'). */
  readonly output: Output;
  readonly summary: { readonly zh: string; readonly en: string };
  /** 'data' wraps in {success,message,data}; 'raw' sends the handler's object as it is, 'text' its text; 'redirect' sends the browser to its address; 'file' sends its pieces one after the other as a download. */
  readonly envelope?: 'data' | 'raw' | 'text' | 'redirect' | 'file';
  /** 'text': the body is left unread and becomes the input {body, signature}, because a signature covers its bytes. */
  readonly body?: 'text';
  /** Changes state: needs the user-id header and a same-origin proof, refused in demo mode, audited. Default: method is not GET. */
  readonly mutation?: boolean;
  /** Said on success where the specification words it. */
  readonly done?: { readonly zh: string; readonly en: string };
  /** A form that needs no login: a bot check comes first when the site has one; its token is the field `turnstile`. */
  readonly botCheck?: boolean;
  /** Allowed although it mutates while the site is in demo mode: to everybody (login, logout), or to the super administrator, who must be able to end it. */
  readonly demo?: boolean | 'root';
}

/** Declares one row; exists for the inference of `input` and `output`. */
export function endpoint<const Id extends string, I extends z.ZodMiniType, O extends z.ZodMiniType>(
  row: Endpoint<I, O> & { readonly id: Id },
): Endpoint<I, O> & { readonly id: Id } {
  return row;
}

export type InputOf<E> = E extends Endpoint<infer I, z.ZodMiniType> ? z.infer<I> : never;
export type OutputOf<E> = E extends Endpoint<z.ZodMiniType, infer O> ? z.infer<O> : never;
