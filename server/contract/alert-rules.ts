/** What each kind of alert waits for, as one sentence whose values are options, and what its past is read from. */
import type { AlertKindName } from './alert-kinds.ts';
import { optionRow } from './options.ts';

/** `{name}` is the value of `alert_setting.name`. */
interface Sentence {
  readonly zh: string;
  readonly en: string;
}

/**
 * `stored`: the last seven days are computed anew from what is stored, with any values.
 * `now`: what it looks at is not kept; it can say only what it would say at this moment.
 */
export type AlertPast = 'stored' | 'now';

export interface AlertRule {
  readonly sentence: Sentence;
  readonly past: AlertPast;
  /** The past is read from the log, which takes its time: only when it is asked for. */
  readonly readsLog?: true;
}

const stored = (zh: string, en: string): AlertRule => ({ sentence: { zh, en }, past: 'stored' });
const current = (zh: string, en: string): AlertRule => ({ sentence: { zh, en }, past: 'now' });

const alertRules = {
  channel_disabled: current('当渠道被自动禁用时', 'When a channel is disabled automatically'),
  channel_failing: stored('当渠道的请求持续失败时', 'When a channel keeps failing'),
  errors_high: stored(
    '当一个渠道在 {failed_minutes} 分钟内超过 {failed_percent}% 的尝试失败（至少 {failed_attempts} 次尝试）时',
    'When more than {failed_percent}% of the attempts of a channel fail within {failed_minutes} minutes (of at least {failed_attempts})',
  ),
  spend_high: stored('当一小时费用超过 {spend_limit} 美元时', 'When an hour costs more than {spend_limit} USD'),
  spend_unusual: stored(
    '当一小时费用超过此前七天平均值的 {spend_factor} 倍（且超过 1 美元）时',
    'When an hour costs more than {spend_factor}× the mean of the seven days before, and more than a dollar',
  ),
  model_unpriced: current('当已启用渠道的模型没有价格时', 'When a model of an enabled channel has no price'),
  balance_low: current(
    '当渠道的上游余额低于 {balance_limit} 时',
    'When the known upstream balance of a channel is below {balance_limit}',
  ),
  expiring: stored(
    '当站点证书、管理员的访问令牌或 API 密钥将在 {expiry_days} 天内到期时',
    "When the site's certificate, or an access token or API key of an administrator, expires within {expiry_days} days",
  ),
  disk_low: current(
    '当数据目录所在磁盘剩余不足 {disk_gb} GB 时',
    'When the disk of the data directory has less than {disk_gb} GB left',
  ),
  commits_late: current('当记账受阻或延迟时', 'When bills are written late or not at all'),
  defect: current('当请求遇到程序内部错误时', 'When a request meets a defect of the program'),
  relay_stalled: current('当转发线程停滞时', 'When a relay thread stands still'),
  other_model: stored('当上游以其他模型应答时', 'When an upstream answers with another model than it was sent'),
  cache_halved: {
    ...stored(
      '当渠道过去 24 小时的缓存命中率降到此前七天的一半及以下（两段时间各至少 {cache_requests} 个请求）时',
      'When the cache hit rate of a channel within 24 hours is half that of the seven days before or less (of at least {cache_requests} requests in each)',
    ),
    readsLog: true,
  },
  budget_used: current(
    '当分组、标签或全站的预算将尽时',
    'When a budget of a group, a label or the site is nearly used',
  ),
  key_frozen: stored('当密钥疑似泄露而被停用时', 'When a key is stopped because it may have leaked'),
  statement_unsent: stored('当账单邮件未能送达时', 'When a statement could not be mailed'),
  backup_missed: current('当定时备份未完成时', 'When a scheduled backup is missing'),
} as const satisfies Record<AlertKindName, AlertRule>;

export const alertRule = (kind: AlertKindName): AlertRule => alertRules[kind];

/** What every rule ends with. `{targets}` are the recipients. */
export const ruleEnd: Sentence = {
  zh: '，通知 {targets}；持续存在时每隔 {repeat_hours} 小时再次提醒。',
  en: ', notify {targets}, and again after {repeat_hours} hours while it lasts.',
};
export const repeatName = 'repeat_hours';

/** The options of `{name}`s, which share this prefix. */
export const ruleOptions = [
  'failed_percent',
  'failed_minutes',
  'failed_attempts',
  'spend_limit',
  'spend_factor',
  'balance_limit',
  'expiry_days',
  'disk_gb',
  'cache_requests',
  repeatName,
] as const;
export type RuleOption = (typeof ruleOptions)[number];
export const optionOfRule = (name: RuleOption): `alert_setting.${RuleOption}` => `alert_setting.${name}`;

const isRuleOption = (name: string): name is RuleOption => (ruleOptions as readonly string[]).includes(name);

/** A sentence in the order in which it is read: words, and the options or recipients between them. */
export type SentencePart = { readonly text: string } | { readonly option: RuleOption } | { readonly targets: true };

export function sentenceParts(text: string): readonly SentencePart[] {
  return text
    .split(/(\{\w+\})/)
    .filter((part) => part !== '')
    .map((part): SentencePart => {
      const name = /^\{(\w+)\}$/.exec(part)?.[1];
      if (name === 'targets') return { targets: true };
      return name !== undefined && isRuleOption(name) ? { option: name } : { text: part };
    });
}

/** Those that a rule's sentence shows, without the one that all of them end with. */
export const optionsOfRule = (kind: AlertKindName): readonly RuleOption[] =>
  sentenceParts(alertRule(kind).sentence.en).flatMap((part) => ('option' in part ? [part.option] : []));

/** Whose zero switches a rule off. */
const offAtZero: ReadonlySet<RuleOption> = new Set([
  'failed_percent',
  'spend_limit',
  'spend_factor',
  'balance_limit',
  'expiry_days',
  'disk_gb',
  'cache_requests',
]);

/** @returns whether these values let a rule say anything. */
export const isRuleOn = (kind: AlertKindName, ruleValue: (name: RuleOption) => string): boolean =>
  optionsOfRule(kind).every((name) => !offAtZero.has(name) || Number(ruleValue(name)) !== 0);

/** @returns what is wrong with a value that is tried, or null. */
export const ruleValueIssue = (name: RuleOption, text: string) => optionRow(optionOfRule(name)).kind.check(text);
