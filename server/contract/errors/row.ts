/** One error: everything that relay, console, commands and documents say about it. */

/** What kind of failure it is. The class alone decides retrying, cooling a key down, ejecting a host, refunding. */
export type FailureClass = 'client' | 'key' | 'host' | 'refusal' | 'ours';

export interface ErrorRow {
  /** HTTP status on relay routes, and on /api routes when `api` is absent. */
  readonly status: number;
  /** HTTP status on /api routes; business failures are 200 with success:false. */
  readonly api?: number;
  readonly zh: string;
  readonly en: string;
  /** `error.type` for OpenAI clients; Anthropic and Gemini types derive from it, see protocols. */
  readonly type: string;
  /** CLI exit code, see `gateway help exit-codes`. */
  readonly exit: number;
  readonly class: FailureClass;
}

export const row = (
  status: number,
  type: string,
  exit: number,
  failure: FailureClass,
  zh: string,
  en: string,
  api?: number,
): ErrorRow => ({
  status,
  type,
  exit,
  class: failure,
  zh,
  en,
  ...(api === undefined ? {} : { api }),
});

/** A business failure of the console's API: HTTP 200 {success:false}. */
export const business = (zh: string, en: string, exit = 1): ErrorRow =>
  row(400, 'invalid_request_error', exit, 'client', zh, en, 200);
