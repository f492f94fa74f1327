/** The family's settings: those that are called otherwise here, and what is lost with those that this gateway does not have. */
import { Role } from '../../contract/enum.ts';
import { AppError, formatError } from '../../contract/errors.ts';
import { isOptionKey, type OptionKey, optionRow } from '../../contract/options.ts';
import type { OptionsService } from '../options/service.ts';
import type { Reporter } from './report.ts';
import type { Words } from './schema.ts';
import { type Source, textOf } from './source.ts';

interface Setting {
  readonly key: string;
  readonly value: string;
}

/** Later versions of new-api write these maps under a second name, which is loaded last and wins. */
const renamed: Readonly<Record<string, OptionKey>> = {
  'group_ratio_setting.group_ratio': 'GroupRatio',
  'group_ratio_setting.group_group_ratio': 'GroupGroupRatio',
};

/** Tokens, dollars, yuan or a currency of the operator's: here amounts are units or dollars. */
const displayType = 'general_setting.quota_display_type';

const expression: Words = {
  zh: '按表达式计费的模型此处按倍率计费：请在启用前设置其价格',
  en: 'models billed by an expression are billed by their ratios here: set their prices before serving',
};
const byClass: Words = {
  zh: '此处按错误的类别决定重试与禁用，不按状态码列表',
  en: 'retries and disabling follow the class of an error here, not lists of status codes',
};
const lost: Readonly<Record<string, Words>> = {
  'billing_setting.billing_mode': expression,
  'billing_setting.billing_expr': expression,
  'tool_price_setting.prices': {
    zh: '工具按此处的 ToolPrices 收费：请核对价格',
    en: 'tools cost what ToolPrices says here: check the prices',
  },
  'group_ratio_setting.group_special_usable_group': {
    zh: '按用户分组增减的可用分组不迁入：请核对 UserUsableGroups',
    en: 'groups that are added to or taken from the choice of single user groups stay behind: check UserUsableGroups',
  },
  ModelRequestRateLimitGroup: {
    zh: '按分组的请求次数限制不迁入：请用 GroupLimits 设置',
    en: 'limits of requests by group stay behind: set GroupLimits',
  },
  AutomaticDisableStatusCodes: byClass,
  AutomaticRetryStatusCodes: byClass,
  PayMethods: {
    zh: '付款方式固定为支付宝、微信与 Stripe',
    en: 'the ways to pay are Alipay, WeChat and Stripe here',
  },
  [displayType]: {
    zh: '此处金额以美元显示',
    en: 'amounts are shown in dollars here',
  },
};

const unknown: Words = { zh: '此处没有该设置', en: 'there is no such option here' };

function hereOf({ key, value }: Setting): { readonly key: OptionKey; readonly value: string } | null {
  if (key === displayType && (value === 'USD' || value === 'TOKENS'))
    return { key: 'DisplayInCurrencyEnabled', value: String(value === 'USD') };
  const name = renamed[key] ?? key;
  return isOptionKey(name) ? { key: name, value } : null;
}

export const importSettings = async (source: Source, options: OptionsService, reporter: Reporter): Promise<void> => {
  const settings = [...source.rows('options')].map((row) => ({ key: textOf(row.key), value: textOf(row.value) }));
  const isSecondName = ({ key }: Setting): boolean => Object.hasOwn(renamed, key) || key === displayType;
  const rejected = (error: AppError): Words => ({
    zh: formatError(error.code, error.params, 'zh'),
    en: formatError(error.code, error.params, 'en'),
  });
  for (const setting of settings.toSorted((a, b) => Number(isSecondName(a)) - Number(isSecondName(b)))) {
    const here = hereOf(setting);
    if (here === null) {
      reporter.skipped(
        'options',
        setting.key,
        Object.hasOwn(lost, setting.key) ? (lost[setting.key] ?? unknown) : unknown,
      );
      continue;
    }
    try {
      await options.set(here.key, here.value, Role.root, 'import');
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      reporter.skipped('options', setting.key, rejected(error));
      continue;
    }
    reporter.taken('options');
    const { tab, publicAs, fallback, help } = optionRow(here.key);
    if (tab === 'legacy' && publicAs === null && here.value !== fallback)
      reporter.note(`options ${here.key}: ${help.zh}`, `options ${here.key}: ${help.en}`);
  }
};
