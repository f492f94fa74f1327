/** A user's own settings: how balance alerts are sent, and whether models without a price may be used. */
import type { Database } from '../../../db/open.ts';
import { createUsersRepository } from '../../../db/repositories/users.ts';
import { createWebhookSecretsRepository } from '../../../db/repositories/webhook-secrets.ts';
import { Role } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { objectIn } from '../../contract/stored-object.ts';
import type { Vault } from '../secrets/vault.ts';
import { isEmail } from './email.ts';

export interface SettingFields {
  readonly notify_type?: string | undefined;
  readonly quota_warning_threshold?: number | undefined;
  readonly webhook_url?: string | undefined;
  /** '' keeps the one that is stored. */
  readonly webhook_secret?: string | undefined;
  readonly notification_email?: string | undefined;
  readonly accept_unset_model_ratio_model?: boolean | undefined;
  readonly language?: string | undefined;
}

export type SettingsService = ReturnType<typeof createSettings>;

const purpose = 'webhook-secret';

export function createSettings(deps: { readonly database: Database; readonly vault: Vault }) {
  const repository = createUsersRepository(deps.database);
  const secrets = createWebhookSecretsRepository(deps.database);
  const keep = async (userId: number, secret: string, rest: object): Promise<void> => {
    await secrets.set(userId, deps.vault.encrypt(purpose, secret));
    await repository.setSetting(userId, JSON.stringify({ ...rest, webhook_secret_set: true }));
  };
  return {
    /** The secret of a user's webhook, '' = none. */
    async webhookSecret(userId: number): Promise<string> {
      const sealed = await secrets.find(userId);
      return sealed === null ? '' : deps.vault.open(purpose, sealed);
    },
    /** Settings that were moved in from elsewhere carry the secret as it was. */
    async sealReadable(): Promise<void> {
      for (const { id, setting } of await secrets.readable()) {
        const { webhook_secret: secret, ...rest } = objectIn(setting);
        if (typeof secret === 'string' && secret !== '') await keep(id, secret, rest);
        else await repository.setSetting(id, JSON.stringify(rest));
      }
    },
    /**
     * Fields that are absent stay.
     * @param prove whether the user reads what is mailed to an address: the site's mail goes to no stranger. An administrator names any.
     * @throws AppError notify_type_invalid, threshold_invalid, webhook_*, email_invalid; what `prove` throws.
     */
    async change(userId: number, fields: SettingFields, prove: (email: string) => Promise<void>): Promise<void> {
      const user = await repository.find(userId);
      if (user === undefined) throw new AppError('user_unknown');
      const { webhook_secret: secret = '', ...others } = fields;
      const given = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== undefined));
      const stored = objectIn(user.setting);
      const next: SettingFields & Record<string, unknown> = { ...stored, ...given };
      check(next, fields, stored.webhook_url);
      const address = fields.notification_email ?? '';
      const known = [stored.notification_email, user.email].map((one) => String(one).toLowerCase());
      if (address !== '' && user.role < Role.admin && !known.includes(address.toLowerCase())) await prove(address);
      if (secret === '') await repository.setSetting(userId, JSON.stringify(next));
      else await keep(userId, secret, next);
    },
  };
}

/**
 * What is stored and not sent is not judged: it may have been moved in from elsewhere, and stands in nobody's way.
 * @param storedUrl one that was moved in and is sent back as it was stays, as long as it is not used.
 */
function check(next: SettingFields, fields: SettingFields, storedUrl: unknown): void {
  if (fields.notify_type !== undefined && fields.notify_type !== 'email' && fields.notify_type !== 'webhook')
    throw new AppError('notify_type_invalid');
  const { quota_warning_threshold: threshold } = fields;
  if (threshold !== undefined && !(threshold > 0)) throw new AppError('threshold_invalid');
  const url = next.webhook_url ?? '';
  const isSent = fields.notify_type !== undefined || fields.webhook_url !== undefined;
  const used = isSent && next.notify_type === 'webhook';
  if (used && url === '') throw new AppError('webhook_missing');
  const isNew = url !== '' && url !== storedUrl;
  if ((used || isNew) && (!URL.canParse(url) || new URL(url).protocol !== 'https:'))
    throw new AppError('webhook_invalid');
  const email = fields.notification_email ?? '';
  if (email !== '' && !isEmail(email)) throw new AppError('email_invalid');
}
