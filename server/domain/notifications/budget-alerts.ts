/** Tells people that a budget is being used up: its user, the owner of its key, or the super administrator for groups and the site. */

import type { Database } from '../../../db/open.ts';
import { createAlertsRepository } from '../../../db/repositories/alerts.ts';
import { createTokensRepository } from '../../../db/repositories/tokens.ts';
import { createUsersRepository, type UserRow } from '../../../db/repositories/users.ts';
import { type BudgetWindow, budgetLevels } from '../../contract/budgets.ts';
import { Role, UserStatus } from '../../contract/enum.ts';
import { savedLanguage, textIn } from '../../contract/language.ts';
import { objectIn } from '../../contract/stored-object.ts';
import type { BudgetsService, BudgetView } from '../budgets/service.ts';
import { quotaText } from '../logs/event.ts';
import type { OptionsService } from '../options/service.ts';
import type { Notice, Notify } from './notice.ts';

const type = 'budget_used';

interface Bilingual {
  readonly zh: string;
  readonly en: string;
}

const windows: Readonly<Record<BudgetWindow, Bilingual>> = {
  '5h': { zh: '五小时的预算', en: 'five-hour budget' },
  day: { zh: '按天的预算', en: 'daily budget' },
  week: { zh: '按周的预算', en: 'weekly budget' },
  month: { zh: '按月的预算', en: 'monthly budget' },
  total: { zh: '总预算', en: 'total budget' },
  request: { zh: '单次请求的上限', en: 'limit of a request' },
};

const whose = ({ holder, name }: BudgetView): Bilingual =>
  holder === 'user'
    ? { zh: '您的', en: 'Your ' }
    : holder === 'token'
      ? { zh: `令牌 ${name}：`, en: `Key ${name}: ` }
      : holder === 'group'
        ? { zh: `分组 ${name}：`, en: `Group ${name}: ` }
        : holder === 'label'
          ? { zh: `标签 ${name}：`, en: `Label ${name}: ` }
          : { zh: '全站：', en: 'The whole site: ' };

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
    const amount = (value: number) =>
      budget.unit === 'money' ? quotaText(deps.options, value) : `${value} ${budget.unit}`;
    const amountZh = (value: number) =>
      budget.unit === 'requests' ? `${value} 次请求` : budget.unit === 'tokens' ? `${value} tokens` : amount(value);
    const [owner, window] = [whose(budget), windows[budget.window]];
    const ends = budget.resets === null ? '' : new Date(budget.resets * 1000).toISOString();
    const title = { zh: `预算已用 ${level}%`, en: `${level}% of a budget is used` };
    const reset = ends === '' ? { zh: '', en: '' } : { zh: `${ends} 重置。`, en: ` It resets at ${ends}.` };
    const content = {
      zh: `${owner.zh}${window.zh}已用 ${amountZh(budget.used)}，共 ${amountZh(budget.bound)}。${reset.zh}`,
      en: `${owner.en}${window.en}, ${amount(budget.used)} of ${amount(budget.bound)} used.${reset.en}`,
    };
    const { used, bound } = budget;
    return {
      type,
      title: textIn(title, language),
      content: textIn(content, language),
      values: [level, used, bound, ends],
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
