/** A user's own settings: how to be told about the balance, and what may be used without a price. */
import type { Database } from '../../../db/open.ts';
import { createUsersRepository } from '../../../db/repositories/users.ts';
import { AppError } from '../../contract/errors.ts';
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

export function createSettings(deps: { readonly database: Database }) {
  const repository = createUsersRepository(deps.database);
  return {
    /** Fields that are absent stay. @throws AppError notify_type_invalid, threshold_invalid, webhook_*, email_invalid. */
    async change(userId: number, fields: SettingFields): Promise<void> {
      const user = await repository.find(userId);
      if (user === undefined) throw new AppError('user_unknown');
      const before = JSON.parse(user.setting || '{}') as Record<string, unknown>;
      const given = Object.fromEntries(
        Object.entries(fields).filter(
          ([key, value]) => value !== undefined && !(key === 'webhook_secret' && value === ''),
        ),
      );
      const next: SettingFields & Record<string, unknown> = { ...before, ...given };
      check(next, fields);
      await repository.setSetting(userId, JSON.stringify(next));
    },
  };
}

function check(next: SettingFields, fields: SettingFields): void {
  if (next.notify_type !== undefined && next.notify_type !== 'email' && next.notify_type !== 'webhook')
    throw new AppError('notify_type_invalid');
  const { quota_warning_threshold: threshold } = fields;
  if (threshold !== undefined && !(threshold > 0)) throw new AppError('threshold_invalid');
  if (next.notify_type === 'webhook') {
    const url = next.webhook_url ?? '';
    if (url === '') throw new AppError('webhook_missing');
    if (!URL.canParse(url) || new URL(url).protocol !== 'https:') throw new AppError('webhook_invalid');
  }
  const email = fields.notification_email ?? '';
  if (email !== '' && !isEmail(email)) throw new AppError('email_invalid');
}
