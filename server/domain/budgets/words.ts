/** Budgets in words, for messages to people and alerts of operators. */
import type { BudgetWindow } from '../../contract/budgets.ts';
import type { Text } from '../../contract/enum.ts';
import type { BudgetView } from './service.ts';

export const windowWords: Readonly<Record<BudgetWindow, Text>> = {
  '5h': { zh: '五小时的预算', en: 'five-hour budget' },
  day: { zh: '按天的预算', en: 'daily budget' },
  week: { zh: '按周的预算', en: 'weekly budget' },
  month: { zh: '按月的预算', en: 'monthly budget' },
  total: { zh: '总预算', en: 'total budget' },
  request: { zh: '单次请求的上限', en: 'limit of a request' },
};

/** Goes before the words of the window. */
export function holderWords({ holder, name }: Pick<BudgetView, 'holder' | 'name'>): Text {
  switch (holder) {
    case 'user':
      return { zh: '您的', en: 'Your ' };
    case 'token':
      return { zh: `令牌 ${name}：`, en: `Key ${name}: ` };
    case 'end_user':
      return { zh: `令牌 ${name} 的终端用户：`, en: `End users of key ${name}: ` };
    case 'group':
      return { zh: `分组 ${name}：`, en: `Group ${name}: ` };
    case 'label':
      return { zh: `标签 ${name}：`, en: `Label ${name}: ` };
    case 'site':
      return { zh: '全站：', en: 'The whole site: ' };
  }
}

/** @param money quota in words. */
export function amountWords({ unit }: Pick<BudgetView, 'unit'>, value: number, money: (quota: number) => string): Text {
  if (unit === 'money') return { zh: money(value), en: money(value) };
  return { zh: unit === 'requests' ? `${value} 次请求` : `${value} tokens`, en: `${value} ${unit}` };
}
