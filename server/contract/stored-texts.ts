/** Texts that are stored in the family's words: they are put into English where they are shown. */
import type { Language } from './enum.ts';
import { textIn } from './language.ts';

interface Stored {
  readonly zh: string;
  readonly en: string;
}

/** `{name}` = what varies. The first that fits a text counts. */
export const storedTexts = {
  quotaMovedFor: {
    zh: '管理员将用户额度从 {before} 修改为 {after}，原因：{reason}',
    en: 'An administrator changed the quota from {before} to {after}: {reason}',
  },
  quotaMoved: {
    zh: '管理员将用户额度从 {before} 修改为 {after}',
    en: 'An administrator changed the quota from {before} to {after}',
  },
  redeemed: { zh: '通过兑换码充值 {quota}，兑换码ID {id}', en: 'Redeemed {quota} with code ID {id}' },
  toppedUp: {
    zh: '使用在线充值成功，充值金额: {quota}，支付金额：{paid}',
    en: 'Online top-up of {quota}, paid {paid}',
  },
  orderRefunded: {
    zh: '充值订单退款 {paid}，扣回 {quota}',
    en: 'Refund of {paid} of a top-up, {quota} taken back',
  },
  welcome: { zh: '新用户注册赠送 {quota}', en: 'Welcome bonus of {quota}' },
  invited: { zh: '使用邀请码赠送 {quota}', en: 'Bonus of {quota} for using an invitation' },
  inviter: { zh: '邀请用户赠送 {quota}', en: 'Reward of {quota} for inviting a user' },
  transferred: { zh: '邀请额度划转 {quota}', en: 'Transferred {quota} of invitation earnings' },
  drawingFailed: { zh: '构图失败 {id}，补偿 {quota}', en: 'Image task {id} failed, {quota} refunded' },
  responseFailed: { zh: '响应未能送达，补偿 {quota}', en: 'The response could not be delivered, {quota} refunded' },
  songFailed: { zh: '异步任务执行失败 {id}，补偿 {quota}', en: 'Task {id} failed, {quota} refunded' },
  taskOrdered: { zh: '模型固定价格，操作 {action}', en: 'Fixed price, action {action}' },
  taskLate: { zh: '上游任务超时（超过1小时）', en: 'The upstream task timed out (over 1 hour)' },
  tooSlow: { zh: '响应时间 {time}s 超过阈值 {limit}s', en: 'Response time {time} s exceeds the limit of {limit} s' },
  channelTest: { zh: '模型测试', en: 'Model test' },
  channelUnknown: { zh: '渠道不存在', en: 'The channel does not exist' },
  untestable: { zh: '{model}：无法用一个小请求测试', en: "{model} can't be tested with one small request" },
  nothingCheap: {
    zh: '没有能低成本测试的模型，请指定一个',
    en: 'No model of this channel can be tested at low cost. Name one',
  },
} as const satisfies Record<string, Stored>;

export const storedText = (name: keyof typeof storedTexts, fields: Readonly<Record<string, string>> = {}): string =>
  storedTexts[name].zh.replace(/\{(\w+)\}/g, (whole, field: string) => fields[field] ?? whole);

const patterns = Object.values(storedTexts).map(({ zh, en }) => ({
  en,
  names: [...zh.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? ''),
  fits: new RegExp(
    `^${zh
      .split(/\{\w+\}/)
      .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('(.+?)')}$`,
    'su',
  ),
}));

/** Amounts as the family writes them. */
const amount = (text: string): string =>
  text.replace(/^＄(-?[\d.]+) 额度$/u, '$$$1').replace(/^(-?\d+) 点额度$/u, '$1 quota');

/** An error of ours in both languages: `English / 中文 (request id: ...)`. */
const both = /^([^\p{Script=Han}]+) \/ (\S*\p{Script=Han}.*?)( \(request id: [^()]+\))?$/su;

/** A stored text in the reader's language; what is not ours stays as it is. */
export function storedIn(text: string, language: Language): string {
  const [, english, chinese, id = ''] = both.exec(text) ?? [];
  if (english !== undefined && chinese !== undefined) return `${textIn({ zh: chinese, en: english }, language)}${id}`;
  if (language === 'zh' || !/\p{Script=Han}/u.test(text)) return text;
  for (const { en, names, fits: matches } of patterns) {
    const found = matches.exec(text);
    if (found !== null)
      return textIn({ zh: en, en }, language).replace(/\{(\w+)\}/g, (_, name: string) =>
        amount(found[names.indexOf(name) + 1] ?? ''),
      );
  }
  return text;
}
