/** Tells people that a budget is being used up: its user, the owner of its key, or the super administrator for groups and the site. */

import type { Database } from '../../../db/open.ts';
import { createAlertsRepository } from '../../../db/repositories/alerts.ts';
import { createTokensRepository } from '../../../db/repositories/tokens.ts';
import { createUsersRepository, type UserRow } from '../../../db/repositories/users.ts';
import { budgetLevels } from '../../contract/budgets.ts';
import { Role, UserStatus } from '../../contract/enum.ts';
import { savedLanguage, textIn } from '../../contract/language.ts';
import { objectIn } from '../../contract/stored-object.ts';
import type { BudgetsService, BudgetView } from '../budgets/service.ts';
import { amountWords, holderWords, windowWords } from '../budgets/words.ts';
import { quotaText } from '../logs/event.ts';
import type { OptionsService } from '../options/service.ts';
import type { Notice, Notify } from './notice.ts';

const type = 'budget_used';

export type BudgetAlerts = ReturnType<typeof createBudgetAlerts>;

export function createBudgetAlerts(deps: {
  readonly database: Database;
  readonly options: OptionsService;
  readonly budgets: Pick<BudgetsService, 'nearlyUsed'>;
  readonly notify: Notify;
  /** A notice that could not be handed over. */
  readonly report: (error: unknown) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}) {
  const alerts = createAlertsRepository(deps.database);
  const users = createUsersRepository(deps.database);
  const tokens = createTokensRepository(deps.database);

  const recipientOf = async ({ holder, subject }: BudgetView): Promise<UserRow | undefined> => {
    if (holder === 'group' || holder === 'label' || holder === 'site') return users.firstWithRole(Role.root);
    const [key] = holder === 'token' || holder === 'end_user' ? await tokens.byIds([Number(subject)]) : [];
    const userId = holder === 'user' ? Number(subject) : key?.user_id;
    return userId === undefined ? undefined : (await users.byIds([userId]))[0];
  };

  const noticeOf = (budget: BudgetView, level: number, setting: string): Notice => {
    const language = savedLanguage(objectIn(setting)) ?? 'zh';
    const [owner, window] = [holderWords(budget), windowWords[budget.window]];
    const [used, most] = [budget.used, budget.bound].map((value) =>
      textIn(
        amountWords(budget, value, (quota) => quotaText(deps.options, quota)),
        language,
      ),
    );
    const ends = budget.resets === null ? '' : new Date(budget.resets * 1000).toISOString();
    const title = { zh: `预算已用 ${level}%`, en: `${level}% of a budget is used` };
    const reset = ends === '' ? { zh: '', en: '' } : { zh: `${ends} 重置。`, en: ` It resets at ${ends}.` };
    const content = {
      zh: `${owner.zh}${window.zh}已用 ${used}，共 ${most}。${reset.zh}`,
      en: `${owner.en}${window.en}, ${used} of ${most} used.${reset.en}`,
    };
    return {
      type,
      title: textIn(title, language),
      content: textIn(content, language),
      values: [level, budget.used, budget.bound, ends],
    };
  };

  return {
    /** Each level is told once in a window; of several that were passed at once the highest. */
    async look(): Promise<void> {
      const now = Math.floor(deps.now() / 1000);
      for (const budget of await deps.budgets.nearlyUsed(budgetLevels[0])) {
        const { id, used, bound, window_at: windowAt } = budget;
        const reached = budgetLevels.filter((level) => used * 100 >= bound * level);
        const user = reached.length === 0 ? undefined : await recipientOf(budget);
        if (user === undefined || user.status !== UserStatus.enabled) continue;
        // The turn is taken before sending: a mail server that hangs or fails is not asked again and again.
        let news = 0;
        for (const level of reached)
          if (await alerts.claim(user.id, `budget ${id} ${level}`, now, now - (windowAt ?? 0) + 1)) news = level;
        if (news > 0) await deps.notify(user, noticeOf(budget, news, user.setting)).catch(deps.report);
      }
    },
  };
}
