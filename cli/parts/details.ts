/** One thing as people read it: names of its fields, amounts, times and states in words. JSON keeps what the wire has. */

import type { Language } from '../../server/contract/enum.ts';
import { textIn } from '../../server/contract/language.ts';
import { safeLine } from '../../server/contract/safe-text.ts';
import { isoTime } from '../output.ts';
import type { Money } from './money.ts';
import { unlimited } from './numbers.ts';

const chinese: Readonly<Record<string, string>> = {
  id: '编号',
  name: '名称',
  username: '用户名',
  display_name: '显示名称',
  role: '角色',
  status: '状态',
  email: '邮箱',
  quota: '余额',
  used_quota: '已用',
  remain_quota: '剩余',
  request_count: '请求数',
  group: '分组',
  aff_code: '邀请码',
  aff_count: '邀请人数',
  aff_quota: '邀请奖励',
  aff_history_quota: '累计邀请奖励',
  inviter_id: '邀请人',
  setting: '设置',
  user_id: '用户编号',
  key: '密钥',
  created_time: '创建时间',
  accessed_time: '最近使用',
  expired_time: '过期时间',
  model_limits: '可用模型',
  allow_ips: '允许的地址',
  day_budget: '每日限额',
  month_budget: '每月限额',
  rpm_limit: '每分钟请求数',
  tpm_limit: '每分钟 Tokens',
  concurrency_limit: '同时请求数',
  day_used: '今日已用',
  month_used: '本月已用',
  old_key_hint: '旧密钥',
  old_key_until: '旧密钥有效至',
  link_until: '链接有效至',
  last_ip: '最近使用地址',
  labels: '标签',
  frozen_time: '因费用异常停用',
  type: '类型',
  test_model: '测试模型',
  weight: '权重',
  priority: '优先级',
  test_time: '测试时间',
  response_time: '响应时间',
  base_url: '上游地址',
  balance: '上游余额',
  balance_updated_time: '余额更新时间',
  models: '模型',
  model_mapping: '模型映射',
  status_code_mapping: '状态码映射',
  auto_ban: '自动禁用',
  tag: '标签',
  other: '其他',
  other_info: '其他信息',
  param_override: '参数覆盖',
  max_input_tokens: '最多输入 Tokens',
  version: '版本',
  url: '地址',
  data_dir: '数据目录',
  setup: '已初始化',
  rpm: '每分钟请求数',
  tpm: '每分钟 Tokens',
  setup_link: '初始化链接',
  users: '用户',
  tokens: '令牌',
  channels: '渠道',
  channels_disabled: '禁用的渠道',
  requests: '请求数',
  relays: '转发线程',
  storage: '存储',
  settlements_waiting: '等待结算',
  settlements_refused: '被拒绝的结算',
  late_ends: '迟到的结束',
  database: '数据库',
  uptime: '运行时间',
};

const chineseStates: Readonly<Record<string, string>> = {
  enabled: '已启用',
  disabled: '已禁用',
  'auto-disabled': '自动禁用',
  expired: '已过期',
  exhausted: '已耗尽',
  closed: '已注销',
  root: '超级管理员',
  admin: '管理员',
  user: '普通用户',
  [unlimited]: '不限',
  never: '永不',
  yes: '是',
  no: '否',
};

const amounts = /^(quota|used_quota|remain_quota|aff_quota|aff_history_quota|day_used|month_used)$/;
export const isAmount = (field: string): boolean => amounts.test(field);
const budgets = /^(day|month)_budget$/;
const limits = /^(rpm|tpm|concurrency)_limit$/;
const counts = /^(rpm|tpm|users|tokens|channels|requests|request_count|aff_count|max_input_tokens|settlements_\w+)$/;
const times = /_(time|at|until)$/;
const wordFields = /^(role|status)$/;

export const chineseName = (field: string): string => chinese[field] ?? field;

interface Reader {
  readonly language: Language;
  readonly money: Money | null;
  /** Counts with separators, as people read them. */
  readonly grouped?: true;
}

/** @returns '' = nothing worth a line. */
export function reading(name: string, value: unknown, { language, money, grouped }: Reader): string {
  const word = (text: string): string => textIn({ zh: chineseStates[text] ?? text, en: text }, language);
  if (value === null || value === undefined || value === '') return '';
  if (typeof value === 'boolean') return word(value ? 'yes' : 'no');
  if (typeof value === 'object') return JSON.stringify(value);
  if (typeof value === 'number') {
    if (name === 'expired_time' && value <= 0) return word('never');
    if (name === 'response_time') return value === 0 ? '' : `${value} ms`;
    if (times.test(name)) return isoTime(value);
    if ((budgets.test(name) || limits.test(name)) && value === 0) return word(unlimited);
    if ((amounts.test(name) || budgets.test(name)) && money !== null) return money.of(value, 'short');
    return grouped === true && (counts.test(name) || limits.test(name)) ? value.toLocaleString('en-US') : String(value);
  }
  return wordFields.test(name) || value === unlimited ? word(String(value)) : String(value);
}

/** @param money null = there are no amounts. */
export function readable(value: object, reader: Reader): string[] {
  const rows = Object.entries(value).flatMap(([name, item]) => {
    const text = reading(name, item, reader);
    return text === ''
      ? []
      : [[textIn({ zh: chinese[name] ?? name, en: name }, reader.language), safeLine(text)] as const];
  });
  const cells = Math.max(22, ...rows.map(([name]) => Bun.stringWidth(name)));
  return rows.map(([name, text]) => `${name}${' '.repeat(cells - Bun.stringWidth(name))} ${text}`);
}

/** Of a token: what it may spend is one line. */
export const tokenParts = <Token extends { readonly unlimited_quota: boolean; readonly remain_quota: number }>({
  unlimited_quota: without,
  ...token
}: Token): object => {
  const { model_limits_enabled: _enabled, ...rest } = token as typeof token & { model_limits_enabled?: boolean };
  return without ? { ...rest, remain_quota: unlimited } : rest;
};
