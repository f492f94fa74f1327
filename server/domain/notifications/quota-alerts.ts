/** Notifies users when their balance is running out. */

import type { Database } from '../../../db/open.ts';
import { createAlertsRepository } from '../../../db/repositories/alerts.ts';
import { savedLanguage, textIn } from '../../contract/language.ts';
import { objectIn } from '../../contract/stored-object.ts';
import { quotaText, quotaWords } from '../logs/event.ts';
import type { OptionsService } from '../options/service.ts';
import type { Notice, Notify } from './notice.ts';

const minIntervalSeconds = 2 * 3600;
const kind = 'quota_exceed';

export type QuotaAlerts = ReturnType<typeof createQuotaAlerts>;

export function createQuotaAlerts(deps: {
  readonly database: Database;
  readonly options: OptionsService;
  readonly notify: Notify;
  /** A notice that could not be handed over. */
  readonly report: (error: unknown) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}) {
  const { options } = deps;
  const repository = createAlertsRepository(deps.database);

  const notice = (setting: Readonly<Record<string, unknown>>, balance: number): Notice => {
    const site = options.get('ServerAddress');
    const link = site === '' ? options.get('TopUpLink') : `${site}/topup`;
    const language = savedLanguage(setting) ?? 'zh';
    const left = language === 'zh' ? quotaWords(options, balance) : quotaText(options, balance);
    const title = { zh: '您的余额即将用尽', en: 'Low balance' };
    const content = {
      zh: `您的余额即将用尽，剩余 ${left}，请及时充值。${link}`,
      en: `Low balance: ${left} left.${link === '' ? '' : ` Top up: ${link}`}`,
    };
    return { type: kind, title: textIn(title, language), content: textIn(content, language), values: [left, link] };
  };

  return {
    /** Checks every user who spent lately; each gets at most one message in two hours. */
    async look(): Promise<void> {
      const now = Math.floor(deps.now() / 1000);
      const lastHour = now - (now % 3600) - 3600;
      for (const user of await repository.spenders(lastHour)) {
        const setting = objectIn(user.setting);
        if (user.balance >= lowBalance(user.setting, options)) continue;
        // The turn is taken before sending: a mail server that hangs or fails is not asked again and again.
        if (!(await repository.claim(user.id, kind, now, minIntervalSeconds))) continue;
        await deps.notify(user, notice(setting, user.balance)).catch(deps.report);
      }
    },
  };
}

/** A balance below it is low. @param setting as it is stored. */
export function lowBalance(setting: string, options: Pick<OptionsService, 'get'>): number {
  const own = objectIn(setting).quota_warning_threshold;
  return typeof own === 'number' && own > 0 ? own : options.get('QuotaRemindThreshold');
}
