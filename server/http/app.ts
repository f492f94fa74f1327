/** The Express application: every row of the endpoint table mounted, one envelope, one place for errors. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import express, { type Express, type Request, type Response } from 'express';
import type { Services } from '../app/services.ts';
import type { Endpoint } from '../contract/endpoint.ts';
import { endpoints } from '../contract/endpoints/index.ts';
import type { Language } from '../contract/enum.ts';
import { AppError, formatError } from '../contract/errors.ts';
import { languageNamed, textIn } from '../contract/language.ts';
import { asAppError } from '../relay/shared/defect.ts';
import { authenticate, authenticateOwner, basePathOf, bearerOf, keptCookie } from './authenticate.ts';
import { bodyError, rejectDeep } from './body.ts';
import { bodyLimit } from './body-limit.ts';
import type { CallMeta, Download } from './call.ts';
import { newerPage } from './family-pages.ts';
import { invoke, isMutation } from './invoke.ts';
import { mountProgramSignIn, type SignInStep, signInSteps } from './program-sign-in.ts';
import { overProvenTls, overTls, replyTo } from './reply.ts';
import { strictTransport } from './transport-security.ts';
import { rejectUnknown } from './unknown-members.ts';

/** The language that the caller names, else the one that the user saved, else Chinese. */
const languageOf = (request: Request, saved: Language | null = null): Language =>
  languageNamed(request.header('accept-language')) ?? saved ?? 'zh';

export interface AppOptions {
  readonly services: Services;
  /** `network`: callers forwarded by the front door. `local`: the owner of the data directory. */
  readonly listener: 'network' | 'local';
  readonly requestId: () => string;
  /** Unexpected errors, for our own log. */
  readonly report: (error: unknown, requestId: string) => void;
  /** Called for every response. */
  readonly onResponse?: (details: Readonly<Record<string, string | number>>) => void;
  /** Called for every step of a program's sign-in with how it ended: `ok`, or the word of the refusal. */
  readonly onSignIn?: (step: SignInStep, result: string) => void;
  /** Called after a change was made and before it is answered, so that the relay knows it first. */
  readonly changed?: () => Promise<void>;
}

/** Bodies of unauthenticated callers, such as payment callbacks. */
const textLimit = 64 * 1024;

/** Answers are data: nothing in them may run, be framed, or be kept by a cache. */
const everyAnswer = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
};

export function createApp(options: AppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  // Another spelling of a path must not be another way in.
  app.enable('case sensitive routing');
  app.use((request, response, next) => {
    response.setHeader('X-Oneapi-Request-Id', options.requestId());
    if (options.onResponse !== undefined) reportEnd(request, response, options.onResponse);
    for (const [name, value] of Object.entries(everyAnswer)) response.setHeader(name, value);
    if (overProvenTls(request)) response.setHeader(strictTransport.name, strictTransport.value);
    next();
  });
  if (options.onSignIn !== undefined) reportSignIns(app, options.services, options.onSignIn);
  for (const row of endpoints as readonly Endpoint[]) {
    if (row.body === 'text') app.use(row.path, express.text({ limit: textLimit, type: () => true }));
  }
  if (options.listener === 'network')
    mountProgramSignIn(app, { services: options.services, originOf, changed: options.changed });
  const verify = (_request: unknown, _response: unknown, bytes: Uint8Array) => rejectDeep(bytes);
  app.use(express.json({ limit: bodyLimit, type: () => true, strict: false, verify }));
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
  // Express recognises error handlers by their four parameters.
  app.use((error: unknown, request: Request, response: Response, _next: unknown) =>
    fail(request, response, options, bodyError(error, bodyLimit)),
  );
  return app;
}

/** Whoever refuses a step leaves the word in `locals.refusal`. While no program may sign in nothing is counted. */
function reportSignIns(app: Express, { signIns }: Services, onSignIn: NonNullable<AppOptions['onSignIn']>): void {
  for (const [path, step] of Object.entries(signInSteps))
    app.use(path, (_request, response, next) => {
      if (signIns.isOn()) response.once('finish', () => onSignIn(step, String(response.locals.refusal ?? 'ok')));
      next();
    });
}

/** Addresses without their queries: codes and keys may stand in these. */
function reportEnd(request: Request, response: Response, onResponse: NonNullable<AppOptions['onResponse']>): void {
  const started = performance.now();
  response.once('close', () =>
    onResponse({
      request_id: requestIdOf(response),
      method: request.method,
      path: request.path,
      status: response.statusCode,
      ms: Math.round(performance.now() - started),
      ip: request.header('x-gateway-client-ip') ?? 'local',
    }),
  );
}

const sameShape = (pattern: string, path: string): boolean =>
  new RegExp(`^${pattern.replace(/\/$/, '').replace(/:\w+/g, '[^/]+')}/?$`).test(path);

async function answer(row: Endpoint, request: Request, response: Response, options: AppOptions): Promise<void> {
  const local = options.listener === 'local';
  try {
    const proxy = request.header('x-gateway-undeclared-proxy');
    if (proxy !== undefined) options.services.unknownProxy.saw(proxy);
    const identity = local
      ? await authenticateOwner(request, options.services)
      : await authenticate(request, options.services, row.access !== 'public', isMutation(row));
    const language = languageOf(request, identity.language);
    response.locals.language = language;
    const meta: CallMeta = {
      ip: local ? 'local' : (request.header('x-gateway-client-ip') ?? ''),
      language,
      requestLanguage: languageNamed(request.header('accept-language')),
      userAgent: request.header('user-agent') ?? '',
      requestId: requestIdOf(response),
      origin: originOf(request),
      basePath: basePathOf(request),
      bearer: bearerOf(request),
      stateCookie: keptCookie(request, 'oauth_state'),
      deviceCookie: keptCookie(request, 'device'),
      sessionHash: identity.sessionHash,
      fresh: identity.fresh,
    };
    const body: unknown = request.body;
    const sent =
      row.body === 'text'
        ? { body: typeof body === 'string' ? body : '', signature: request.header('stripe-signature') ?? '' }
        : isObject(body)
          ? body
          : {};
    rejectUnknown(row, sent);
    const newer = newerPage(row.id, request.query);
    const input = { ...request.query, ...newer?.query, ...sent, ...request.params };
    const data = await invoke(row.id, input, {
      actor: identity.actor,
      meta,
      services: options.services,
      reply: replyTo(request, response),
    });
    if (isMutation(row)) await options.changed?.();
    send(response, row, newer === null ? data : newer.answer(data, response.getHeader('X-Total-Count')), language);
  } catch (error) {
    fail(request, response, options, error);
  }
}

function send(response: Response, row: Endpoint, data: unknown, language: Language): void {
  switch (row.envelope ?? 'data') {
    case 'text':
      response.type('text/plain').send(data);
      return;
    case 'redirect':
      response.redirect(303, String(data));
      return;
    case 'file': {
      const { name, type, chunks } = data as Download;
      response.type(type).attachment(name);
      // A reader that stalls or leaves ends the walk through the rows.
      pipeline(Readable.from(chunks), response).catch(() => undefined);
      return;
    }
    case 'raw':
      response.json(data);
      return;
    case 'data':
      response.json({
        success: true,
        message:
          (response.locals.message as string | undefined) ?? (row.done === undefined ? '' : textIn(row.done, language)),
        ...(data === undefined ? {} : { data }),
      });
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const requestIdOf = (response: Response): string => String(response.getHeader('X-Oneapi-Request-Id') ?? '');

const originOf = (request: Request): string =>
  `${overTls(request) ? 'https' : 'http'}://${request.header('host') ?? ''}`;

function fail(request: Request, response: Response, options: AppOptions, error: unknown): void {
  const known = asAppError(error);
  if (known.code === 'internal' || known.row.class === 'ours') options.report(error, requestIdOf(response));
  if (response.headersSent) return;
  response.locals.refusal = known.code;
  if (known.code === 'overloaded') response.setHeader('Retry-After', String(known.params.seconds ?? 1));
  response.status(known.row.api ?? known.row.status).json({
    success: false,
    message: formatError(
      known.code,
      known.params,
      (response.locals.language as Language | undefined) ?? languageOf(request),
    ),
    code: known.code,
    // The same facts as in the message, for callers who word it themselves.
    ...(Object.keys(known.params).length > 0 ? { params: known.params } : {}),
  });
}
