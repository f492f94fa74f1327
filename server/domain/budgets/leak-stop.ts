/**
 * Stops keys that seem to have leaked: one with which at least five dollars, and ten times what it usually spends in an hour,
 * were spent within five minutes is disabled, and its owner is told. The log says what was spent, so the log has to be kept.
 */
import type { Database } from '../../../db/open.ts';
import { createKeySpendRepository, type KeySpend } from '../../../db/repositories/key-spend.ts';
import { createUsersRepository } from '../../../db/repositories/users.ts';
import { UserStatus } from '../../contract/enum.ts';
import { savedLanguage, textIn } from '../../contract/language.ts';
import { objectIn } from '../../contract/stored-object.ts';
import type { AuditService } from '../audit/service.ts';
import { quotaText, quotaWords } from '../logs/event.ts';
import type { Notice, Notify } from '../notifications/notice.ts';
import type { OptionsService } from '../options/service.ts';

const windowSeconds = 300;
const hourSeconds = 3600;
const usualDays = 14;
/** Dollars, below which nothing is a leak. */
const minDollars = 5;
const times = 10;
const type = 'key_frozen';

export type LeakStop = ReturnType<typeof createLeakStop>;

export function createLeakStop(deps: {
  readonly database: Database;
  readonly options: OptionsService;
  readonly audit: Pick<AuditService, 'record'>;
  readonly notify: Notify;
  /** A notice that could not be handed over. */
  readonly report: (error: unknown) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}) {
  const { options } = deps;
  const repository = createKeySpendRepository(deps.database);
  const users = createUsersRepository(deps.database);

  const noticeOf = ({ name, spent }: KeySpend, usual: number, setting: string): Notice => {
    const language = savedLanguage(objectIn(setting)) ?? 'zh';
    const amount = (quota: number) => (language === 'zh' ? quotaWords(options, quota) : quotaText(options, quota));
    const title = { zh: `令牌 ${name} 已被停用`, en: `Key ${name} was stopped` };
    const content = {
      zh: `令牌 ${name} 五分钟内的费用为 ${amount(spent)}，平时每小时 ${amount(usual)}，可能已泄露，因此被停用。如果是您自己的请求，可在令牌页面重新启用；否则请更换密钥。`,
      en: `Key ${name} spent ${amount(spent)} within five minutes; its usual is ${amount(usual)} an hour. It may have leaked, so it was stopped. If the requests are yours, enable it again on the page of keys; if not, rotate it.`,
    };
    return {
      type,
      title: textIn(title, language),
      content: textIn(content, language),
      values: [name, spent, usual],
    };
  };

  return {
    /** Looks at what keys spent in the last five minutes. @returns how many were stopped. */
    async look(): Promise<number> {
      if (!options.get('budgets.leak_stop') || !options.get('LogConsumeEnabled')) return 0;
      const at = Math.floor(deps.now() / 1000);
      const least = minDollars * options.get('QuotaPerUnit');
      const from = at - windowSeconds;
      let stopped = 0;
      for (const key of await repository.spenders(from, least)) {
        const hour = from - (from % hourSeconds);
        const usual = medianOf(await repository.hours(key, hour - usualDays * 24 * hourSeconds, hour));
        if (key.spent < times * usual || !(await repository.freeze(key.id, at))) continue;
        stopped++;
        const { id, name, spent } = key;
        await deps.audit.record({
          ...{ action: 'token.freeze', actorId: 0, actor: '', ip: '' },
          input: { id, name, spent, usual },
        });
        const user = await users.find(key.userId);
        if (user?.status === UserStatus.enabled)
          await deps.notify(user, noticeOf(key, usual, user.setting)).catch(deps.report);
      }
      return stopped;
    },
    /** Names of keys that were stopped since, with their owners. */
    stoppedSince: repository.frozenSince,
  };
}

/** 0 = there was no hour. */
function medianOf(hours: readonly number[]): number {
  const sorted = hours.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}
