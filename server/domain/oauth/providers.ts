/** Other services that vouch for people: one row each. Source: backend-reference 7.5. */
import type { IdentityColumn } from '../../../db/repositories/users.ts';
import type { OptionKey } from '../../contract/options.ts';
import type { OptionsService } from '../options/service.ts';

export interface Profile {
  /** The service's own, unchangeable id. */
  readonly id: string;
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
  readonly exchange: (options: OptionsService) => Exchange;
}

export interface Exchange {
  readonly tokenUrl: string;
  readonly profileUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** How the client names itself at the token endpoint. */
  readonly auth: 'basic' | 'body';
  readonly redirectUri: string;
  readonly profile: (answer: Readonly<Record<string, unknown>>) => Profile | null;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const idOf = (value: unknown): string =>
  typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : text(value);

export const codeProviders = {
  github: {
    name: 'GitHub',
    column: 'github_id',
    enabled: 'GitHubOAuthEnabled',
    prefix: 'github_',
    exchange: (options) => ({
      tokenUrl: 'https://github.com/login/oauth/access_token',
      profileUrl: 'https://api.github.com/user',
      clientId: options.get('GitHubClientId'),
      clientSecret: options.get('GitHubClientSecret'),
      auth: 'body',
      redirectUri: '',
      profile: (answer) => {
        const id = idOf(answer.id);
        const login = text(answer.login);
        // The address in the profile is what its owner chose to show, which proves nothing.
        return id === '' ? null : { id, username: login, displayName: text(answer.name) || login, email: '' };
      },
    }),
  },
  oidc: {
    name: 'OIDC',
    column: 'oidc_id',
    enabled: 'oidc.enabled',
    prefix: 'oidc_',
    exchange: (options) => ({
      tokenUrl: options.get('oidc.token_endpoint'),
      profileUrl: options.get('oidc.user_info_endpoint'),
      clientId: options.get('oidc.client_id'),
      clientSecret: options.get('oidc.client_secret'),
      auth: 'body',
      redirectUri: `${options.get('ServerAddress')}/oauth/oidc`,
      profile: (answer) => {
        const id = idOf(answer.sub);
        const username = text(answer.preferred_username);
        const email = answer.email_verified === true ? text(answer.email) : '';
        return id === '' ? null : { id, username, displayName: text(answer.name) || username, email };
      },
    }),
  },
  linuxdo: {
    name: 'Linux DO',
    column: 'linux_do_id',
    enabled: 'LinuxDOOAuthEnabled',
    prefix: 'linuxdo_',
    exchange: (options) => ({
      tokenUrl: 'https://connect.linux.do/oauth2/token',
      profileUrl: 'https://connect.linux.do/api/user',
      clientId: options.get('LinuxDOClientId'),
      clientSecret: options.get('LinuxDOClientSecret'),
      auth: 'basic',
      redirectUri: `${options.get('ServerAddress')}/oauth/linuxdo`,
      profile: (answer) => {
        const id = idOf(answer.id);
        const username = text(answer.username);
        return id === '' ? null : { id, username, displayName: text(answer.name) || username, email: '' };
      },
    }),
  },
} as const satisfies Readonly<Record<string, CodeProvider>>;

export type CodeProviderId = keyof typeof codeProviders;
