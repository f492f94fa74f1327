/** The console's calls, typed by the endpoint table. */

import i18next from 'i18next';
import type { InputOf, OutputOf } from '../../server/contract/endpoint.ts';
import type { EndpointId, EndpointOf } from '../../server/contract/endpoints/index.ts';
import { endpointById } from '../../server/contract/endpoints/index.ts';
import { basePath } from './base-path.ts';
import { hasChanges } from './dirty-form.ts';
import { currentLanguage } from './i18n.ts';
import { storeReturnPath } from './return-to.ts';
import { askForLogin, endSession, writeUser } from './session.ts';
import { readUser } from './stored-user.ts';

/** The server's own words about what went wrong, or what is known where it has none; status 0 = it was not reached. */
export class ApiError extends Error {
  readonly code: string;
  readonly status: number;
  /** The facts in the message. */
  readonly params: Readonly<Record<string, unknown>>;
  constructor(message: string, code: string, status: number, params: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.code = code;
    this.status = status;
    this.params = params;
  }
}

/** The server itself gave the reason; otherwise there was no response, or one from a proxy in between. */
export const isAnswered = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.code !== 'network' && error.code !== 'http';

const missing: ReadonlySet<string> = new Set(['not_found', 'user_unknown']);

/** What was asked for does not exist: asking again changes nothing. */
export const isMissing = (error: unknown): error is ApiError => error instanceof ApiError && missing.has(error.code);

const worded = new Set([401, 403, 404, 405, 429, 502, 503, 504]);

/** What a status means where the response has no message. */
export function wordsFor(status: number): string {
  const key = worded.has(status) ? `h${status}` : status >= 500 ? 'h500' : 'other';
  return i18next.t(`failure.${key as 'other'}`, { status });
}

/** @param address from the root of the site. @throws ApiError in the reader's language where there is no response. */
export async function send(address: string, request: RequestInit): Promise<Response> {
  try {
    return await fetch(basePath + address, request);
  } catch (cause) {
    throw Object.assign(new ApiError(i18next.t('failure.unreached'), 'network', 0), { cause });
  }
}

export const call = async <Id extends EndpointId>(
  id: Id,
  input: Partial<InputOf<EndpointOf<Id>>> = {},
): Promise<OutputOf<EndpointOf<Id>>> => (await answerOf(id, input)).data;

/** Calls an endpoint that returns a page of a list, and the total in a header. */
export async function callPage<Id extends EndpointId>(
  id: Id,
  input: Partial<InputOf<EndpointOf<Id>>> = {},
): Promise<{ readonly items: OutputOf<EndpointOf<Id>>; readonly total: number }> {
  const { data, headers } = await answerOf(id, input);
  return { items: data, total: Number(headers.get('x-total-count')) };
}

async function answerOf<Id extends EndpointId>(
  id: Id,
  input: Partial<InputOf<EndpointOf<Id>>>,
): Promise<{ readonly data: OutputOf<EndpointOf<Id>>; readonly headers: Headers }> {
  const row = endpointById(id);
  if (row === undefined) throw new Error(id);
  const fields: Record<string, unknown> = { ...input };
  const path = row.path.replace(/:(\w+)/g, (_whole, name: string) => {
    const value = String(fields[name]);
    delete fields[name];
    return encodeURIComponent(value);
  });
  const inQuery = row.method === 'GET' || row.method === 'DELETE';
  const present = Object.entries(fields).filter(([, value]) => value !== undefined && value !== '');
  const query =
    inQuery && present.length > 0 ? `?${new URLSearchParams(present.map(([key, value]) => [key, String(value)]))}` : '';
  const user = readUser();
  const response = await send(path + query, {
    method: row.method,
    headers: {
      'cache-control': 'no-store',
      'accept-language': currentLanguage(),
      ...(user === null ? {} : { 'new-api-user': String(user.id) }),
      ...(inQuery ? {} : { 'content-type': 'application/json' }),
    },
    ...(inQuery ? {} : { body: JSON.stringify(fields) }),
  });
  const body = (await response.json().catch(() => null)) as {
    success?: boolean;
    message?: string;
    code?: string;
    params?: Readonly<Record<string, unknown>>;
    data?: unknown;
  } | null;
  // A ban ends what is open, like a login that ran out.
  if ((response.status === 401 || body?.code === 'user_disabled') && user !== null) {
    // Several calls fail together; the page is left once.
    if (hasChanges()) endSession(true);
    else if (readUser() !== null) {
      storeReturnPath();
      writeUser(null);
      location.assign(`${basePath}/login?expired=true`);
    }
  }
  if (body?.code === 'login_again_needed' && user !== null && (await askForLogin())) return answerOf(id, input);
  if (body === null) throw new ApiError(wordsFor(response.status), 'http', response.status);
  if (row.envelope === 'raw' && response.ok && body.code === undefined && body.success !== false)
    return { data: body as OutputOf<EndpointOf<Id>>, headers: response.headers };
  if (body.success !== true)
    throw new ApiError(body.message || wordsFor(response.status), body.code ?? '', response.status, body.params);
  return { data: body.data as OutputOf<EndpointOf<Id>>, headers: response.headers };
}

/** A file of the site that is JSON, read without a login. @throws ApiError */
export async function readFile<Content>(path: string): Promise<Content> {
  const response = await fetch(basePath + path);
  if (!response.ok) throw new ApiError(wordsFor(response.status), 'http', response.status);
  return (await response.json()) as Content;
}
