/** The ways to log in to an account as the site is set up now, so that the last one is never removed. */
import type { Database } from '../../../db/open.ts';
import { createPasskeysRepository } from '../../../db/repositories/passkeys.ts';
import type { UserRow } from '../../../db/repositories/users.ts';
import type { OptionsService } from '../options/service.ts';

export const boundServices = {
  github: { column: 'github_id', name: 'GitHub', enabled: 'GitHubOAuthEnabled' },
  oidc: { column: 'oidc_id', name: 'OIDC', enabled: 'oidc.enabled' },
  linuxdo: { column: 'linux_do_id', name: 'Linux DO', enabled: 'LinuxDOOAuthEnabled' },
  wechat: { column: 'wechat_id', name: '微信', enabled: 'WeChatAuthEnabled' },
  telegram: { column: 'telegram_id', name: 'Telegram', enabled: 'TelegramOAuthEnabled' },
} as const;

export type BoundService = keyof typeof boundServices;
/** What is about to go. */
export type RemovedLogin = { readonly service: BoundService } | { readonly passkey: number };

export type LoginMethods = ReturnType<typeof createLoginMethods>;

export function createLoginMethods(deps: { readonly database: Database; readonly options: OptionsService }) {
  const { options } = deps;
  const passkeys = createPasskeysRepository(deps.database);
  const letters = (): boolean => options.get('SMTPServer') !== '' && options.get('ServerAddress') !== '';
  return {
    /** Whether a password opens an account here at all. */
    byPassword: (): boolean => options.get('PasswordLoginEnabled'),
    /** Whether a way to log in remains that does not ask for the password. */
    async besides(user: UserRow, removed: RemovedLogin): Promise<boolean> {
      if (user.email !== '' && letters() && options.get('PasswordLoginEnabled')) return true;
      const services = Object.entries(boundServices).some(
        ([service, { column, enabled }]) =>
          !('service' in removed && removed.service === service) && user[column] !== '' && options.get(enabled),
      );
      if (services) return true;
      return (await passkeys.list(user.id)).some(({ id }) => !('passkey' in removed && removed.passkey === id));
    },
  };
}
