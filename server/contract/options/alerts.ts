/** What operators are alerted about, and where. */

import { alertKindNames } from '../alert-kinds.ts';
import { languageCodes } from '../languages/index.ts';
import { address, choice, decimal, emails, integer, listOf, text } from '../option-kinds.ts';
import { option } from './row.ts';

const panel = { tab: 'operation', panel: 'alerts' } as const;
const targets = { tab: 'operation', panel: 'alertTargets', role: 100, fallback: '' } as const;

/** Traffic is counted in windows of five minutes. */
const failureMinutes = ['5', '10', '15', '30', '60'] as const;

/** Where alerts are sent: anyone who knows the address may write there too. */
const hidden = (zh: string, en: string, help: { readonly zh: string; readonly en: string }) =>
  option({ ...targets, kind: address, secret: true, label: { zh, en }, help });
const secret = (zh: string, en: string, help: { readonly zh: string; readonly en: string }) =>
  option({ ...targets, kind: text, secret: true, label: { zh, en }, help });
const botAddress = (zh: string, en: string) => ({
  zh: `${zh}群机器人的 Webhook 地址；为空则不发送。`,
  en: `Address of the bot of a ${en} group; empty sends nothing.`,
});
const botSecret = { zh: '机器人开启“加签”时填写。', en: 'Fill in if the bot requires signed calls.' };

export const alertOptions = {
  'alert_setting.muted': option({
    ...panel,
    kind: listOf(alertKindNames),
    fallback: '',
    label: { zh: '不通知的种类', en: 'Muted kinds' },
    help: {
      zh: '逗号分隔的名称；未知的名称会被拒绝并列出全部名称。',
      en: 'Comma separated names; an unknown one is refused with the list of them.',
    },
  }),
  'alert_setting.language': option({
    ...panel,
    kind: choice(...languageCodes),
    fallback: 'zh',
    label: { zh: '告警语言', en: 'Language of alerts' },
    help: { zh: '告警以此语言书写。', en: 'What alerts are written in.' },
  }),
  'alert_setting.repeat_hours': option({
    ...panel,
    kind: integer(1, 8760),
    fallback: '24',
    label: { zh: '重复提醒间隔（小时）', en: 'Hours between reminders' },
    help: {
      zh: '同一问题持续存在时，每隔这么久再提醒一次；恢复后再次发生会立即提醒。',
      en: 'Time before the same alert is repeated. After a recovery it is sent at once.',
    },
  }),
  'alert_setting.failed_percent': option({
    ...panel,
    kind: decimal(0, 100),
    fallback: '20',
    label: { zh: '渠道失败率阈值（%）', en: "Share of a channel's failed attempts (%)" },
    help: {
      zh: '在下列分钟数内失败的尝试超过该比例时提醒，0 为不提醒。',
      en: 'Alerts when a larger share fails within the minutes below. 0 = off.',
    },
  }),
  'alert_setting.failed_minutes': option({
    ...panel,
    kind: choice(...failureMinutes),
    fallback: '5',
    label: { zh: '失败率统计时长（分钟）', en: 'Minutes of that share' },
    help: { zh: '统计失败率的时间段。', en: 'How long attempts are counted together.' },
  }),
  'alert_setting.failed_attempts': option({
    ...panel,
    kind: integer(1),
    fallback: '20',
    label: { zh: '失败率告警的最少尝试次数', en: 'Attempts before that share counts' },
    help: { zh: '尝试较少时不提醒。', en: 'Of fewer attempts nothing is said.' },
  }),
  'alert_setting.spend_limit': option({
    ...panel,
    kind: decimal(0),
    fallback: '0',
    label: { zh: '每小时费用阈值（美元）', en: 'Spend of an hour (dollars)' },
    help: { zh: '一小时内超过该金额时提醒，0 为不提醒。', en: 'Alerts when more is spent within an hour. 0 = off.' },
  }),
  'alert_setting.spend_factor': option({
    ...panel,
    kind: decimal(0),
    fallback: '5',
    label: { zh: '费用异常倍数', en: 'Times its usual' },
    help: {
      zh: '一小时费用超过过去七天平均值的这么多倍（且超过 1 美元）时提醒，0 为不提醒。',
      en: 'Alerts when an hour costs this many times the 7-day mean (and more than a dollar). 0 = off.',
    },
  }),
  'alert_setting.cache_requests': option({
    ...panel,
    kind: integer(0),
    fallback: '200',
    label: { zh: '缓存命中率告警的最少请求数', en: 'Requests before a cache alert' },
    help: {
      zh: '渠道过去 24 小时的缓存命中率降到此前七天的一半及以下，且两段时间都至少有这么多请求时提醒，0 为不提醒。',
      en: "Alerts when a channel's hit rate of a day is half that of the week before, if both have as many requests. 0 = off.",
    },
  }),
  'alert_setting.balance_limit': option({
    ...panel,
    kind: decimal(0),
    fallback: '5',
    label: { zh: '上游余额下限', en: 'Least balance of upstreams' },
    help: {
      zh: '已查询余额的渠道低于此值时提醒，0 为不提醒。',
      en: 'Alerts when the known balance of a channel is below. 0 = off.',
    },
  }),
  'alert_setting.disk_gb': option({
    ...panel,
    kind: decimal(0),
    fallback: '1',
    label: { zh: '磁盘剩余下限（GB）', en: 'Least free disk (GB)' },
    help: {
      zh: '数据目录所在磁盘低于此值时提醒，0 为不提醒。',
      en: "Alerts when the data directory's disk has less. 0 = off.",
    },
  }),
  'alert_setting.expiry_days': option({
    ...panel,
    kind: integer(0, 365),
    fallback: '14',
    label: { zh: '到期提前提醒（天）', en: 'Days before something expires' },
    help: {
      zh: '站点证书、管理员的访问令牌和 API 密钥到期前这么多天提醒，0 为不提醒。',
      en: "For the site's certificate and administrators' access tokens and API keys. 0 = off.",
    },
  }),
  'alert_setting.mail_to': option({
    ...targets,
    kind: emails,
    label: { zh: '告警邮箱', en: 'Email addresses' },
    help: { zh: '逗号分隔；经由 SMTP 设置发送。', en: 'Comma separated; sent over the SMTP server.' },
  }),
  'alert_setting.webhook_url': hidden('Webhook 地址', 'Webhook address', {
    zh: '以 JSON 接收告警的 https 地址；为空则不发送。',
    en: 'An https address that takes alerts as JSON; empty sends nothing.',
  }),
  'alert_setting.webhook_secret': secret('Webhook 签名密钥', 'Webhook signing secret', {
    zh: '请求体的 HMAC-SHA256（十六进制）放在 X-Webhook-Signature。',
    en: "X-Webhook-Signature carries the body's HMAC-SHA256 under it, in hex.",
  }),
  'alert_setting.slack_url': hidden('Slack 地址', 'Slack address', {
    zh: 'Slack Webhook 地址；为空则不发送。',
    en: 'An incoming webhook of Slack; empty sends nothing.',
  }),
  'alert_setting.discord_url': hidden('Discord 地址', 'Discord address', {
    zh: 'Discord 频道 Webhook 地址；为空则不发送。',
    en: "A channel's webhook of Discord; empty sends nothing.",
  }),
  'alert_setting.feishu_url': hidden('飞书地址', 'Feishu address', botAddress('飞书', 'Feishu')),
  'alert_setting.feishu_secret': secret('飞书签名密钥', 'Feishu signing secret', botSecret),
  'alert_setting.dingtalk_url': hidden('钉钉地址', 'DingTalk address', botAddress('钉钉', 'DingTalk')),
  'alert_setting.dingtalk_secret': secret('钉钉签名密钥', 'DingTalk signing secret', botSecret),
  'alert_setting.wecom_url': hidden('企业微信地址', 'WeCom address', botAddress('企业微信', 'WeCom')),
  'alert_setting.telegram_token': secret('Telegram 机器人令牌', 'Telegram bot token', {
    zh: '与会话编号一起使用；为空则不发送。',
    en: 'Used with the chat ID. Leave empty to send nothing.',
  }),
  'alert_setting.telegram_chat': option({
    ...targets,
    kind: text,
    label: { zh: 'Telegram 会话编号', en: 'Telegram chat id' },
    help: { zh: '接收告警的用户、群组或频道。', en: 'The person, group or channel that receives alerts.' },
  }),
  'alert_setting.bark_url': hidden('Bark 地址', 'Bark address', {
    zh: '应用中显示的地址，例如 https://api.day.app/密钥；为空则不发送。',
    en: 'The address that the app shows, such as https://api.day.app/KEY. Leave empty to send nothing.',
  }),
  'alert_setting.ntfy_url': hidden('ntfy 主题地址', 'ntfy topic address', {
    zh: '例如 https://ntfy.sh/主题；为空则不发送。',
    en: 'Such as https://ntfy.sh/TOPIC; empty sends nothing.',
  }),
  'alert_setting.ntfy_token': secret('ntfy 令牌', 'ntfy token', {
    zh: '主题需要登录时填写。',
    en: 'Where the topic wants one.',
  }),
} as const;
