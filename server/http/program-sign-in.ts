/** The addresses where programs sign in: RFC 8414 (metadata), 8628 (device authorization), 6749 and 7636 (code and token), 7009 (revocation). Forms come in, the standard's own errors go out. */
import express, { type Express, type Request, type Response } from 'express';
import type { Services } from '../app/services.ts';
import {
  type CodeRequest,
  codeRefusal,
  codeSeconds,
  isKnownClient,
  pollSeconds,
  type SignInRefusal,
} from '../domain/sign-ins/service.ts';
import { basePathOf } from './authenticate.ts';

const formLimit = 16 * 1024;
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
const loopback = /^(127\.\d+\.\d+\.\d+|::1)$/;

/** 429 where a program shall come later, 401 where it is signed out. Programs read the word, not the number. */
const statuses: Readonly<Partial<Record<SignInRefusal, number>>> = { slow_down: 429, invalid_client: 401 };

/** For whoever sets the site up. RFC 6749 5.2 takes ASCII. */
const unsafe = 'https is needed: set ServerAddress to it, or name the proxy in general_setting.trusted_proxies';

/** For people who write clients, and for programs that look at what they found. */
const protocolText = (at: string): string => `# Sign-in and budgets for programs

All addresses lie below ${at}. It is a gateway for models: requests go to \`/v1/messages\`, \`/v1/responses\`, \`/v1/chat/completions\` and \`/v1beta/models\` with \`Authorization: Bearer TOKEN\`.

- \`GET /.well-known/oauth-authorization-server\` (RFC 8414), \`POST /oauth/device_authorization\` (RFC 8628; form \`surface=claude_code\` or \`client_id\`), \`POST /oauth/token\`, \`POST /oauth/revoke\` (RFC 7009). Refresh tokens are good for one exchange.
- \`GET /v1/models\`: models of the token's key; with \`anthropic-version\` each has its price in \`description\`.
- \`GET /managed/settings\`: \`availableModels\` of the key, with a checksum as \`ETag\`.
- \`GET /api/oauth/usage\`: budgets in cents. Answers of \`/v1/messages\` carry the tightest in \`anthropic-ratelimit-unified-*\`, those of \`/v1/responses\` in \`x-codex-*\`.
- \`POST /v1/metrics\`, \`/v1/logs\`, \`/v1/traces\`: taken and dropped.
- A token that works no longer: 401. Money used up: 429 \`billing_error\`, with the time of the reset where there is one.
`;

/** Where a sign-in is begun, looked at, decided, exchanged for tokens and ended, as monitors count it. */
export const signInSteps = {
  '/oauth/device_authorization': 'begin',
  '/oauth/authorize': 'browser',
  '/oauth/token': 'token',
  '/oauth/revoke': 'revoke',
  '/api/device/look': 'look',
  '/api/device/decide': 'decide',
  '/api/device/authorize': 'decide_browser',
} as const;
export type SignInStep = (typeof signInSteps)[keyof typeof signInSteps];

interface Site {
  readonly services: Services;
  /** Scheme and host by which a request came. */
  readonly originOf: (request: Request) => string;
  /** As in `AppOptions`. */
  readonly changed: (() => Promise<void>) | undefined;
}

/** Over TLS by the word of a proxy that is believed or by the site's own address, else on this machine itself and not behind a proxy that nobody declared. */
const isSafe = (request: Request): boolean =>
  request.header('x-gateway-tls') === '1' ||
  (loopback.test(ipOf(request)) && request.header('x-gateway-undeclared-proxy') === undefined);

const ipOf = (request: Request): string => request.header('x-gateway-client-ip') ?? '';

function refuse(response: Response, error: string, status = 400, description?: string): void {
  response.locals.refusal = error;
  response.status(status).json({ error, ...(description === undefined ? {} : { error_description: description }) });
}

/** @returns null where a member is there twice (RFC 6749 3.1). */
function codeRequestOf(sent: URLSearchParams): CodeRequest | null {
  const members = [...sent.keys()];
  if (new Set(members).size < members.length) return null;
  const member = (name: keyof CodeRequest): string => sent.get(name) ?? '';
  return {
    client_id: member('client_id'),
    redirect_uri: member('redirect_uri'),
    response_type: member('response_type'),
    code_challenge: member('code_challenge'),
    code_challenge_method: member('code_challenge_method'),
    state: member('state'),
  };
}

export function mountProgramSignIn(app: Express, { services, originOf, changed }: Site): void {
  const { signIns, options } = services;
  const site = (request: Request): string =>
    options.get('ServerAddress').replace(/\/+$/, '') || originOf(request) + basePathOf(request);
  type Step = (request: Request, response: Response, form: URLSearchParams) => Promise<void> | void;
  /** While the option is off there is nothing here. */
  const mounted =
    (step: Step) =>
    async (request: Request, response: Response, next: (error?: unknown) => void): Promise<void> => {
      if (!signIns.isOn()) return next();
      if (!isSafe(request)) return refuse(response, 'invalid_request', 400, unsafe);
      const origin = request.header('origin');
      // Programs send none; a page of another site has no business here.
      if (origin !== undefined && origin !== originOf(request) && origin !== URL.parse(site(request))?.origin)
        return refuse(response, 'invalid_request', 403);
      try {
        await step(request, response, new URLSearchParams(typeof request.body === 'string' ? request.body : ''));
      } catch (error) {
        next(error);
      }
    };
  const form = express.text({ limit: formLimit, type: () => true });

  app.get(
    '/.well-known/oauth-authorization-server',
    mounted((request, response) => {
      const at = site(request);
      response.json({
        issuer: at,
        authorization_endpoint: `${at}/oauth/authorize`,
        device_authorization_endpoint: `${at}/oauth/device_authorization`,
        token_endpoint: `${at}/oauth/token`,
        revocation_endpoint: `${at}/oauth/revoke`,
        grant_types_supported: [deviceGrant, 'authorization_code', 'refresh_token'],
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
        scopes_supported: [],
        // Claude Code looks for it: what it asks besides is answered by the relay.
        gateway_protocol_version: 1,
      });
    }),
  );
  app.get(
    '/protocol',
    mounted((request, response) => {
      response.type('text/markdown').send(protocolText(site(request)));
    }),
  );
  // opencode's own login: it runs the command once, keeps what it printed, and reads the models with it at each start.
  app.get(
    '/.well-known/opencode',
    mounted((request, response) => {
      const at = site(request);
      const variable = 'GATEWAY_TOKEN_OF_OPENCODE';
      response.json({
        auth: { command: ['gateway', 'token', 'print', '--kept', '--url', at], env: variable },
        config: {
          provider: {
            gateway: {
              npm: '@ai-sdk/openai-compatible',
              name: 'gateway',
              options: { baseURL: `${at}/v1`, apiKey: `{env:${variable}}` },
            },
          },
        },
        remote_config: {
          url: `${at}/v1/models?for=opencode`,
          headers: { authorization: `Bearer {env:${variable}}` },
        },
      });
    }),
  );
  // The browser comes from a program and goes to the console, which asks its user; nothing is kept before that.
  app.get(
    '/oauth/authorize',
    mounted((request, response) => {
      const { searchParams } = new URL(request.originalUrl, 'http://localhost');
      const asked = codeRequestOf(searchParams);
      response.set('cache-control', 'no-store');
      if (asked === null || !isKnownClient(asked)) return refuse(response, 'invalid_request');
      const page = `${site(request)}/device?${new URLSearchParams({ ...asked })}`;
      const refused = codeRefusal(asked);
      if (refused !== null) response.locals.refusal = 'invalid_request';
      response.redirect(302, refused ?? page);
    }),
  );
  app.post(
    '/oauth/device_authorization',
    form,
    mounted(async (request, response, sent) => {
      const client = sent.get('client_id') ?? sent.get('surface') ?? '';
      const begun = await signIns.begin(client, sent.get('host') ?? '', ipOf(request));
      if (typeof begun === 'string') return refuse(response, begun, statuses[begun]);
      const page = `${site(request)}/device`;
      response.json({
        device_code: begun.deviceCode,
        user_code: begun.userCode,
        verification_uri: page,
        verification_uri_complete: `${page}?user_code=${begun.userCode}`,
        expires_in: codeSeconds,
        interval: pollSeconds,
      });
    }),
  );
  app.post(
    '/oauth/token',
    form,
    mounted(async (request, response, sent) => {
      const grant = sent.get('grant_type') ?? '';
      const isCode = grant === 'authorization_code';
      if (grant !== deviceGrant && grant !== 'refresh_token' && !isCode)
        return refuse(response, 'unsupported_grant_type');
      const codeIn = () => ({
        code: sent.get('code') ?? '',
        client: sent.get('client_id') ?? '',
        redirect: sent.get('redirect_uri') ?? '',
        verifier: sent.get('code_verifier') ?? '',
      });
      const issued = isCode
        ? await signIns.exchange(codeIn(), ipOf(request))
        : grant === deviceGrant
          ? await signIns.redeem(sent.get('device_code') ?? '', sent.get('client_id') ?? '', ipOf(request))
          : await signIns.refresh(sent.get('refresh_token') ?? '', ipOf(request), sent.get('kept') === 'true');
      // A new row has to be known to the relay before its token is used, and a sign-in whose tokens were used twice ends.
      if (typeof issued !== 'string' || issued === 'invalid_grant') await changed?.();
      if (typeof issued === 'string') return refuse(response, issued, statuses[issued]);
      response.json(issued);
    }),
  );
  app.post(
    '/oauth/revoke',
    form,
    mounted(async (request, response, sent) => {
      const revoked = await signIns.revoke(sent.get('token') ?? '', ipOf(request));
      if (revoked === 'slow_down') return refuse(response, revoked, statuses[revoked]);
      await changed?.();
      response.json({});
    }),
  );
}
