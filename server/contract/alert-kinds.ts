/** What operators are alerted about, one row each: its words, with places to fill in. */
interface Words {
  readonly zh: string;
  readonly en: string;
}

export interface AlertKind {
  readonly label: Words;
  readonly text: Words;
  /** Sent when it is over; absent = its end is not reported. */
  readonly over?: Words;
}

const alertKinds = {
  channel_disabled: {
    label: { zh: '渠道被自动禁用', en: 'Channel disabled' },
    text: { zh: '渠道 {name}（#{id}）已被自动禁用：{reason}', en: 'Channel {name} (#{id}) was disabled: {reason}' },
  },
  channel_failing: {
    label: { zh: '渠道持续失败', en: 'Channel failing' },
    text: { zh: '渠道 {name}（#{id}）持续失败：{reason}', en: 'Channel {name} (#{id}) keeps failing: {reason}' },
  },
  errors_high: {
    label: { zh: '渠道失败率过高', en: 'Channel fails too often' },
    text: {
      zh: '渠道 {name}（#{id}）在 {minutes} 分钟内的 {attempts} 次尝试有 {percent}% 失败，超过 {limit}%',
      en: 'Channel {name} (#{id}): {percent}% of {attempts} attempts within {minutes} minutes failed, more than {limit}%',
    },
  },
  spend_high: {
    label: { zh: '费用超过阈值', en: 'Spend above the limit' },
    text: {
      zh: '过去一小时费用 {spent}，超过阈值 {limit}',
      en: 'The last hour cost {spent}, more than the limit of {limit}',
    },
  },
  spend_unusual: {
    label: { zh: '费用远高于平时', en: 'Spend far above its usual' },
    text: {
      zh: '过去一小时费用 {spent}，平时每小时 {usual}',
      en: 'The last hour cost {spent}; its usual is {usual} an hour',
    },
  },
  model_unpriced: {
    label: { zh: '模型没有价格', en: 'Model without a price' },
    text: {
      zh: '已启用渠道的模型 {model} 没有价格，请求会被拒绝',
      en: 'Model {model} of an enabled channel has no price: requests for it are refused',
    },
  },
  balance_low: {
    label: { zh: '上游余额不足', en: 'Upstream balance low' },
    text: {
      zh: '渠道 {name}（#{id}）的上游余额为 {balance}，低于 {limit}',
      en: 'The upstream balance of channel {name} (#{id}) is {balance}, below {limit}',
    },
  },
  expiring: {
    label: { zh: '证书或密钥即将到期', en: 'Certificate or key about to expire' },
    text: { zh: '{what} 将在 {days} 天后到期', en: '{what} expires in {days} days' },
  },
  disk_low: {
    label: { zh: '磁盘空间不足', en: 'Disk space low' },
    text: { zh: '数据目录所在磁盘仅剩 {free} GB', en: 'The disk of the data directory has {free} GB left' },
  },
  commits_late: {
    label: { zh: '记账受阻或延迟', en: 'Bills late or not written' },
    text: {
      zh: '记账受阻或延迟：{reason}（迟到 {late}，等待 {waiting}）',
      en: 'Bills are late or not written: {reason} (late {late}, waiting {waiting})',
    },
  },
  defect: {
    label: { zh: '程序内部错误', en: 'Internal errors' },
    text: {
      zh: '过去一小时有 {count} 个请求遇到程序内部错误：{reason}（最近的请求 {request}，堆栈在日志中）',
      en: '{count} requests met a defect of the program within the last hour: {reason} (the latest is request {request}; its stack is in the log)',
    },
  },
  relay_stalled: {
    label: { zh: '转发线程停滞', en: 'Relay thread stands still' },
    text: {
      zh: '转发线程 {thread} 停滞了 {seconds} 秒，当时正在处理请求 {request}',
      en: 'Relay thread {thread} stood still for {seconds} s while it worked on request {request}',
    },
  },
  other_model: {
    label: { zh: '上游以其他模型应答', en: 'Upstream answers with another model' },
    text: {
      zh: '渠道 {name}（#{id}）在过去一小时有 {count} 个请求由其他模型应答：{models}',
      en: 'Channel {name} (#{id}) answered {count} requests within the last hour with another model: {models}',
    },
  },
  cache_halved: {
    label: { zh: '缓存命中率减半', en: 'Cache hit rate halved' },
    text: {
      zh: '渠道 {name}（#{id}）过去 24 小时 {requests} 个请求的缓存命中率为 {rate}%，此前七天为 {before}%',
      en: 'Channel {name} (#{id}): {rate}% of the prompts of {requests} requests came from the cache in the last 24 hours, {before}% in the seven days before',
    },
  },
  budget_used: {
    label: { zh: '预算将尽', en: 'Budget nearly used' },
    text: {
      zh: '{whose}{window}已用到 {percent}%：{used}，共 {most}',
      en: '{whose}{window}, used to {percent}%: {used} of {most}',
    },
  },
  key_frozen: {
    label: { zh: '令牌疑似泄露', en: 'Key may have leaked' },
    text: {
      zh: '用户 {username} 的令牌 {name}（#{id}）费用远高于平时，已被停用',
      en: 'Key {name} (#{id}) of {username} spent far more than usual and was stopped',
    },
  },
  statement_unsent: {
    label: { zh: '账单邮件未送达', en: 'Statement not mailed' },
    text: {
      zh: '{period} 的账单邮件（#{id}）未能送达：{reason}',
      en: 'The statement of {period} (#{id}) could not be mailed: {reason}',
    },
  },
  backup_missed: {
    label: { zh: '错过备份', en: 'Backup missed' },
    text: { zh: '定时备份未完成：{reason}', en: 'A scheduled backup is missing: {reason}' },
  },
} as const satisfies Record<string, AlertKind>;

export type AlertKindName = keyof typeof alertKinds;
export const alertKindNames = Object.keys(alertKinds) as AlertKindName[];
export const alertKind = (name: AlertKindName): AlertKind => alertKinds[name];

/** Recipients, in the order of the settings page. */
export const alertTargetNames = [
  'mail',
  'webhook',
  'slack',
  'discord',
  'feishu',
  'dingtalk',
  'wecom',
  'telegram',
  'bark',
  'ntfy',
] as const;
export type AlertTargetName = (typeof alertTargetNames)[number];

/** Places are written `{name}`. */
export const filledIn = (text: string, values: Readonly<Record<string, string | number>>): string =>
  text.replace(/\{(\w+)\}/g, (place, name: string) => String(values[name] ?? place));
