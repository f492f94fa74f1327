/** The way to another service and back: what is remembered lies sealed in the browser that left, and serves once. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { AppError } from '../../contract/errors.ts';
import type { OptionsService } from '../options/service.ts';
import { createOneTimeTokens, type OneTimeTokenDeps } from '../sessions/one-time-tokens.ts';
import { type CodeExchange, type CodeProviderId, codeProviders } from './providers.ts';

const stateMs = 10 * 60_000;

export type LoginService = CodeProviderId | 'telegram';

/** Who leaves. */
export interface LoginState {
  /** 0 = not logged in. */
  readonly userId: number;
  /** The session was opened a moment ago. */
  readonly fresh: boolean;
  /** Invitation code, '' = none. */
  readonly affCode: string;
}

export interface LoginFlow extends LoginState {
  readonly state: string;
  /** '' = the console builds the address itself, for any service. */
  readonly service: LoginService | '';
  readonly verifier: string;
  readonly nonce: string;
}

export interface LoginStart {
  readonly state: string;
  /** For the browser that leaves, and no other. */
  readonly cookie: string;
}

const made = (): string => randomBytes(24).toString('base64url');

export function createLoginFlows(options: OptionsService, deps: OneTimeTokenDeps) {
  const oneTimeTokens = createOneTimeTokens<LoginFlow>('oauth-state', stateMs, deps);
  const leave = (
    loginState: LoginState,
    service: LoginFlow['service'],
    verifier: string,
    nonce: string,
  ): LoginStart => {
    const state = made();
    return { state, cookie: oneTimeTokens.issue({ ...loginState, state, service, verifier, nonce }) };
  };
  return {
    /** For consoles that build the address themselves: no PKCE, no nonce. */
    state: (loginState: LoginState): LoginStart => leave(loginState, '', '', ''),
    /** @returns where the browser goes. @throws AppError oauth_off, server_address_unset. */
    begin(service: LoginService, loginState: LoginState): LoginStart & { readonly url: string } {
      if (service === 'telegram') {
        const start = leave(loginState, service, '', '');
        return { ...start, url: telegramUrl(options, start.state) };
      }
      const { name, enabled, exchange } = codeProviders[service];
      if (!options.get(enabled)) throw new AppError('oauth_off', { name, en: name });
      const target = exchange(options);
      if (!URL.canParse(target.authorizeUrl)) throw new AppError('oauth_unreachable', { name });
      if (target.redirectUri !== '' && options.get('ServerAddress') === '') throw new AppError('server_address_unset');
      const [verifier, nonce] = [made() + made(), target.issuer === null ? '' : made()];
      const start = leave(loginState, service, verifier, nonce);
      return { ...start, url: addressOf(target, start.state, verifier, nonce) };
    },
    /** What was remembered, once. @throws AppError oauth_state when this browser did not leave for this service, or long ago. */
    async arrive(service: LoginService, state: string, cookie: string): Promise<LoginFlow> {
      const journey = await oneTimeTokens.take(cookie);
      if (journey === null || !same(journey.state, state)) throw new AppError('oauth_state');
      if (journey.service !== service && journey.service !== '') throw new AppError('oauth_state');
      return journey;
    },
  };
}

/** RFC 7636 4.3: only the hash of the verifier travels through the browser. */
function addressOf(target: CodeExchange, state: string, verifier: string, nonce: string): string {
  const url = new URL(target.authorizeUrl);
  const fields = {
    client_id: target.clientId,
    redirect_uri: target.redirectUri,
    response_type: 'code',
    scope: target.scope,
    state,
    nonce,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  };
  for (const [field, value] of Object.entries(fields)) if (value !== '') url.searchParams.set(field, value);
  return url.href;
}

/** Telegram signs the person's data and puts it behind the #. */
function telegramUrl(options: OptionsService, state: string): string {
  if (!options.get('TelegramOAuthEnabled')) throw new AppError('oauth_off', { name: 'Telegram', en: 'Telegram' });
  const site = options.get('ServerAddress');
  if (site === '') throw new AppError('server_address_unset');
  return `https://oauth.telegram.org/auth?${new URLSearchParams({
    bot_id: options.get('TelegramBotToken').split(':')[0] ?? '',
    origin: new URL(site).origin,
    return_to: `${site}/oauth/telegram?${new URLSearchParams({ state })}`,
  })}`;
}

const same = (one: string, other: string): boolean => {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length > 0 && left.length === right.length && timingSafeEqual(left, right);
};
