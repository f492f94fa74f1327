/** Other services that vouch for people: one row each. */
import type { IdentityColumn } from '../../../db/repositories/users.ts';
import type { OptionKey } from '../../contract/options.ts';
import type { OptionsService } from '../options/service.ts';
import type { Claims } from './id-token.ts';

export interface Profile {
  /** The service's own, unchangeable id. */
  readonly id: string;
  /** Who vouches for the id where a service can be any of many, '' elsewhere. */
  readonly issuer: string;
  readonly username: string;
  readonly displayName: string;
  /** '' unless the service has verified it. */
  readonly email: string;
}

export interface CodeProvider {
  /** As messages name it. */
  readonly name: string;
  readonly column: IdentityColumn;
  readonly enabled: OptionKey;
  /** Start of the username when the wanted one is taken. */
  readonly prefix: string;
  readonly exchange: (options: OptionsService) => CodeExchange;
}

export interface CodeExchange {
  /** Where the browser goes, with the parameters of this service alone. */
  readonly authorizeUrl: string;
  readonly scope: string;
  readonly tokenUrl: string;
  readonly profileUrl: string;
  /** Where the person's addresses are listed when the profile has none that is verified, '' = nowhere. */
  readonly emailsUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** How the client names itself at the token endpoint. */
  readonly auth: 'basic' | 'body';
  /** The one address the service may send people back to, '' = the one registered there. */
  readonly redirectUri: string;
  /** The token response carries an ID token, from this issuer; '' = from any; null = it carries none. */
  readonly issuer: string | null;
  /** @param claims of the ID token, {} without one. */
  readonly profile: (answer: Claims, claims: Claims) => Profile | null;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const idOf = (value: unknown): string =>
  typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : text(value);
const verified = (claims: Claims): string => (claims.email_verified === true ? text(claims.email) : '');

export const codeProviders = {
  github: {
    name: 'GitHub',
    column: 'github_id',
    enabled: 'GitHubOAuthEnabled',
    prefix: 'github_',
    exchange: (options) => ({
      authorizeUrl: 'https://github.com/login/oauth/authorize',
      scope: 'user:email',
      tokenUrl: 'https://github.com/login/oauth/access_token',
      profileUrl: 'https://api.github.com/user',
      emailsUrl: 'https://api.github.com/user/emails',
      clientId: options.get('GitHubClientId'),
      clientSecret: options.get('GitHubClientSecret'),
      auth: 'body',
      redirectUri: '',
      issuer: null,
      profile: (answer) => {
        const id = idOf(answer.id);
        const login = text(answer.login);
        const displayName = text(answer.name) || login;
        // The address in the profile is what its owner chose to show, which proves nothing.
        return id === '' ? null : { id, issuer: '', username: login, displayName, email: '' };
      },
    }),
  },
  oidc: {
    name: 'OIDC',
    column: 'oidc_id',
    enabled: 'oidc.enabled',
    prefix: 'oidc_',
    exchange: (options) => ({
      authorizeUrl: options.get('oidc.authorization_endpoint'),
      scope: 'openid profile email',
      tokenUrl: options.get('oidc.token_endpoint'),
      profileUrl: options.get('oidc.user_info_endpoint'),
      emailsUrl: '',
      clientId: options.get('oidc.client_id'),
      clientSecret: options.get('oidc.client_secret'),
      auth: 'body',
      redirectUri: `${options.get('ServerAddress')}/oauth/oidc`,
      issuer: options.get('oidc.issuer'),
      profile: (answer, claims) => {
        const id = idOf(answer.sub);
        // Another person's profile under this person's token.
        if (id === '' || id !== idOf(claims.sub)) return null;
        const username = text(answer.preferred_username) || text(claims.preferred_username);
        return {
          id,
          issuer: text(claims.iss),
          username,
          displayName: text(answer.name) || text(claims.name) || username,
          email: verified(answer) || verified(claims),
        };
      },
    }),
  },
  linuxdo: {
    name: 'Linux DO',
    column: 'linux_do_id',
    enabled: 'LinuxDOOAuthEnabled',
    prefix: 'linuxdo_',
    exchange: (options) => ({
      authorizeUrl: 'https://connect.linux.do/oauth2/authorize',
      scope: '',
      tokenUrl: 'https://connect.linux.do/oauth2/token',
      profileUrl: 'https://connect.linux.do/api/user',
      emailsUrl: '',
      clientId: options.get('LinuxDOClientId'),
      clientSecret: options.get('LinuxDOClientSecret'),
      auth: 'basic',
      redirectUri: `${options.get('ServerAddress')}/oauth/linuxdo`,
      issuer: null,
      profile: (answer) => {
        const id = idOf(answer.id);
        const username = text(answer.username);
        return id === '' ? null : { id, issuer: '', username, displayName: text(answer.name) || username, email: '' };
      },
    }),
  },
} as const satisfies Readonly<Record<string, CodeProvider>>;

export type CodeProviderId = keyof typeof codeProviders;
