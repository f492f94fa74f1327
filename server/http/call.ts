/** One call of an endpoint, whichever way it came in: HTTP, local socket, or straight from the CLI. */

import type { Services } from '../app/services.ts';
import type { Language } from '../contract/enum.ts';

/** Who is calling. `local` is the owner of the data directory: root rights without a user row. */
export interface Actor {
  readonly via: 'anonymous' | 'session' | 'access_token' | 'local';
  /** 0 for anonymous and local. */
  readonly userId: number;
  readonly username: string;
  readonly role: number;
  readonly group: string;
  /** What an access token may do, where it may do less than its user; absent = everything. */
  readonly scopes?: readonly string[];
}

export const anonymous: Actor = { via: 'anonymous', userId: 0, username: '', role: 0, group: '' };
export const localOwner: Actor = { via: 'local', userId: 0, username: 'local', role: 100, group: 'default' };

export interface CallMeta {
  readonly ip: string;
  readonly language: Language;
  /** The one that the request itself names; null = none. */
  readonly requestLanguage: Language | null;
  readonly userAgent: string;
  readonly requestId: string;
  /** Scheme and host as the caller wrote them, '' without HTTP. */
  readonly origin: string;
  /** The path under which the site is served, '' = none. */
  readonly basePath: string;
  /** What stands behind `Bearer`: an access token or, where a call is about an API key, that key. '' = nothing. */
  readonly bearer: string;
  /** The browser's copy of the state of a sign-in elsewhere, '' = none. */
  readonly stateCookie: string;
  /** What the browser remembers of accounts it was inside, '' = nothing. */
  readonly deviceCookie: string;
  /** Hash of the session that authenticated the call, if one did. */
  readonly sessionHash: string | null;
  /** A login of a moment ago made that session, or the owner of the data directory calls. */
  readonly fresh: boolean;
}

/** Set by a handler that must touch the HTTP answer; ignored by other transports. */
export interface Reply {
  setSession(id: string, maxAgeSeconds: number): void;
  clearSession(): void;
  /** Remembers that this browser was inside an account. */
  setDevice(cookie: string): void;
  /** Remembers the state of a sign-in elsewhere in this browser. */
  setState(state: string): void;
  /** Becomes `message` of a successful answer. */
  message(message: string): void;
  header(name: string, value: string): void;
  /** Nothing was changed: the call leaves no row in the audit trail. */
  unchanged(): void;
}

/** What a handler of a `file` endpoint returns. */
export interface Download {
  readonly name: string;
  readonly type: string;
  readonly chunks: AsyncIterable<string>;
}

export interface Call<Input = unknown> {
  readonly input: Input;
  readonly actor: Actor;
  readonly meta: CallMeta;
  readonly services: Services;
  readonly reply: Reply;
}
