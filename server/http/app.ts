/** The Express application: every row of the endpoint table mounted, one envelope, one place for errors. */
import express, { type Express, type Request, type Response } from 'express';
import type { Endpoint } from '../contract/endpoint.ts';
import { endpoints } from '../contract/endpoints/index.ts';
import type { Language } from '../contract/enums.ts';
import { AppError, formatError } from '../contract/errors.ts';
import type { Services } from '../services.ts';
import { authenticate, sessionCookie } from './authenticate.ts';
import { type CallMeta, localOwner, type Reply } from './call.ts';
import { invoke, mutates } from './invoke.ts';

export interface AppOptions {
  readonly services: Services;
  /** `network`: callers forwarded by the front door. `local`: the owner of the data directory. */
  readonly listener: 'network' | 'local';
  readonly requestId: () => string;
  /** Unexpected errors, for our own log. */
  readonly report: (error: unknown, requestId: string) => void;
}

const bodyLimit = '1mb';

export function createApp(options: AppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.use(express.json({ limit: bodyLimit, type: () => true, strict: false }));
  for (const row of endpoints as readonly Endpoint[]) {
    const method = row.method.toLowerCase() as 'get' | 'post' | 'put' | 'delete';
    app[method](row.path, (request, response) => answer(row, request, response, options));
  }
  app.use((request: Request, response: Response) => {
    const known = (endpoints as readonly Endpoint[]).some((row) => sameShape(row.path, request.path));
    fail(
      request,
      response,
      options,
      known
        ? new AppError('method_not_allowed', { method: request.method })
        : new AppError('route_unknown', { method: request.method, path: request.path }),
    );
  });
  // Express tells error handlers by their four parameters.
  app.use((error: unknown, request: Request, response: Response, _next: unknown) =>
    fail(request, response, options, bodyError(error)),
  );
  return app;
}

const sameShape = (pattern: string, path: string): boolean =>
  new RegExp(`^${pattern.replace(/\/$/, '').replace(/:\w+/g, '[^/]+')}/?$`).test(path);

async function answer(row: Endpoint, request: Request, response: Response, options: AppOptions): Promise<void> {
  const requestId = options.requestId();
  response.setHeader('X-Oneapi-Request-Id', requestId);
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('X-Content-Type-Options', 'nosniff');
  try {
    const identity =
      options.listener === 'local'
        ? { actor: localOwner, sessionHash: null }
        : await authenticate(request, options.services, row.access !== 'public', mutates(row));
    const meta = metaOf(request, requestId, identity.sessionHash, options.listener === 'local');
    const input = { ...request.query, ...(isObject(request.body) ? request.body : {}), ...request.params };
    const data = await invoke(row.id, input, {
      actor: identity.actor,
      meta,
      services: options.services,
      reply: replyTo(response),
    });
    response.json(
      row.envelope === 'raw' ? data : { success: true, message: '', ...(data === undefined ? {} : { data }) },
    );
  } catch (error) {
    fail(request, response, options, error);
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const replyTo = (response: Response): Reply => ({
  setSession: (id, maxAgeSeconds) =>
    void response.cookie(sessionCookie, id, {
      httpOnly: true,
      sameSite: 'lax',
      path: '/',
      maxAge: maxAgeSeconds * 1000,
    }),
  clearSession: () => void response.clearCookie(sessionCookie, { httpOnly: true, sameSite: 'lax', path: '/' }),
  header: (name, value) => void response.setHeader(name, value),
});

function metaOf(request: Request, requestId: string, sessionHash: string | null, local: boolean): CallMeta {
  return {
    ip: local ? 'local' : (request.header('x-gateway-client-ip') ?? ''),
    language: languageOf(request),
    userAgent: request.header('user-agent') ?? '',
    requestId,
    sessionHash,
    loopback: local || request.header('x-gateway-loopback') === '1',
  };
}

const languageOf = (request: Request): Language =>
  /^\s*en\b/i.test(request.header('accept-language') ?? '') ? 'en' : 'zh';

function bodyError(error: unknown): unknown {
  const { type, status } = (error ?? {}) as { type?: unknown; status?: unknown };
  if (type === 'entity.too.large') return new AppError('body_too_large', { limit: 1024 * 1024 }, error);
  if (status === 400) return new AppError('body_not_json', {}, error);
  return error;
}

function fail(request: Request, response: Response, options: AppOptions, error: unknown): void {
  const known = error instanceof AppError ? error : new AppError('internal', {}, error);
  const requestId = String(response.getHeader('X-Oneapi-Request-Id') ?? '');
  if (known.code === 'internal' || known.row.class === 'ours') options.report(error, requestId);
  if (response.headersSent) return;
  response.status(known.row.api ?? known.row.status).json({
    success: false,
    message: formatError(known.code, known.params, languageOf(request)),
    code: known.code,
    ...(options.listener === 'local' ? { params: known.params } : {}),
  });
}
