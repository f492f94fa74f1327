/** The whole HTTP API, one row per call. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { channelShape, logShape, page, tokenShape, userShape } from '../entities.ts';
import { commaList, id, jsonText, nothing, number, text, toggle } from './fields.ts';

const none = z.object({});
const paging = { p: number, page_size: number };

const channelFields = {
  type: number,
  name: text,
  key: text,
  openai_organization: text,
  test_model: text,
  status: number,
  weight: number,
  priority: number,
  base_url: text,
  other: text,
  models: commaList,
  group: commaList,
  groups: commaList,
  model_mapping: jsonText,
  status_code_mapping: jsonText,
  param_override: jsonText,
  setting: jsonText,
  auto_ban: number,
  tag: text,
  max_input_tokens: number,
};

const tokenFields = {
  name: text,
  remain_quota: number,
  unlimited_quota: toggle,
  expired_time: number,
  model_limits_enabled: toggle,
  model_limits: commaList,
  allow_ips: text,
  group: text,
  status: number,
};

const logFilters = {
  type: number,
  token_name: text,
  model_name: text,
  start_timestamp: number,
  end_timestamp: number,
  group: text,
  request_id: text,
};
const adminLogFilters = { ...logFilters, username: text, channel: number };
const statShape = z.object({ quota: z.int(), rpm: z.int(), tpm: z.int() });

export const endpoints = [
  // site
  endpoint({ id: 'setup.get', method: 'GET', path: '/api/setup', access: 'public', input: none, output: z.object({ status: z.boolean(), root_init: z.boolean(), database_type: z.string(), code_required: z.boolean() }), summary: { zh: '初始化状态', en: 'Set-up state' } }),
  endpoint({ id: 'setup.run', method: 'POST', path: '/api/setup', access: 'public', input: z.object({ username: text, password: text, confirmPassword: text, SelfUseModeEnabled: toggle, DemoSiteEnabled: toggle, code: text }), output: nothing, summary: { zh: '初始化', en: 'Set up' } }),
  endpoint({ id: 'status.get', method: 'GET', path: '/api/status', access: 'public', input: none, output: z.record(z.string(), z.unknown()), summary: { zh: '站点状态', en: 'Site status' } }),
  endpoint({ id: 'status.notice', method: 'GET', path: '/api/notice', access: 'public', input: none, output: z.string(), summary: { zh: '公告', en: 'Announcement' } }),
  endpoint({ id: 'status.about', method: 'GET', path: '/api/about', access: 'public', input: none, output: z.string(), summary: { zh: '关于', en: 'About' } }),
  endpoint({ id: 'status.home', method: 'GET', path: '/api/home_page_content', access: 'public', input: none, output: z.string(), summary: { zh: '首页内容', en: 'Home page' } }),
  endpoint({ id: 'status.overview', method: 'GET', path: '/api/overview', access: 'admin', input: none, output: z.record(z.string(), z.unknown()), summary: { zh: '运行概况', en: 'Operator overview' } }),
  // sessions and users
  endpoint({ id: 'session.login', method: 'POST', path: '/api/user/login', access: 'public', input: z.object({ username: text, password: text, turnstile: text }), output: userShape, summary: { zh: '登录', en: 'Log in' }, demo: true }),
  endpoint({ id: 'session.logout', method: 'GET', path: '/api/user/logout', access: 'public', input: none, output: nothing, summary: { zh: '登出', en: 'Log out' }, mutates: true, demo: true }),
  endpoint({ id: 'session.logout_post', method: 'POST', path: '/api/user/logout', access: 'public', input: none, output: nothing, summary: { zh: '登出', en: 'Log out' }, demo: true }),
  endpoint({ id: 'user.self', method: 'GET', path: '/api/user/self', access: 'user', input: none, output: userShape, summary: { zh: '当前用户', en: 'Own account' } }),
  endpoint({ id: 'user.models', method: 'GET', path: '/api/user/models', access: 'user', input: none, output: z.array(z.string()), summary: { zh: '可用模型', en: 'Usable models' } }),
  endpoint({ id: 'user.groups', method: 'GET', path: '/api/user/self/groups', access: 'user', input: none, output: z.record(z.string(), z.object({ desc: z.string(), ratio: z.number() })), summary: { zh: '可用分组', en: 'Usable groups' } }),
  endpoint({ id: 'user.access_token', method: 'POST', path: '/api/user/token', access: 'user', input: none, output: z.string(), summary: { zh: '生成系统访问令牌', en: 'New management access token' } }),
  // options
  endpoint({ id: 'option.list', method: 'GET', path: '/api/option/', access: 'admin', input: none, output: z.array(z.object({ key: z.string(), value: z.string() })), summary: { zh: '配置项', en: 'Options' } }),
  endpoint({ id: 'option.set', method: 'PUT', path: '/api/option/', access: 'admin', input: z.object({ key: z.string(), value: z.pipe(z.transform((value) => (typeof value === 'boolean' || typeof value === 'number' ? String(value) : value)), z.string()) }), output: nothing, summary: { zh: '修改配置项', en: 'Set an option' } }),
  endpoint({ id: 'option.reset_ratios', method: 'POST', path: '/api/option/rest_model_ratio', access: 'root', input: none, output: z.object({ version: z.int() }), summary: { zh: '重置模型倍率', en: 'Reset model ratios' } }),
  endpoint({ id: 'group.list', method: 'GET', path: '/api/group/', access: 'admin', input: none, output: z.array(z.string()), summary: { zh: '分组列表', en: 'Groups' } }),
  // tokens
  endpoint({ id: 'token.list', method: 'GET', path: '/api/token/', access: 'user', input: z.object({ p: number, size: number }), output: z.array(tokenShape), summary: { zh: '令牌列表', en: 'Tokens' } }),
  endpoint({ id: 'token.search', method: 'GET', path: '/api/token/search', access: 'user', input: z.object({ keyword: text, token: text }), output: z.array(tokenShape), summary: { zh: '搜索令牌', en: 'Search tokens' } }),
  endpoint({ id: 'token.get', method: 'GET', path: '/api/token/:id', access: 'user', input: z.object({ id }), output: tokenShape, summary: { zh: '令牌详情', en: 'One token' } }),
  endpoint({ id: 'token.create', method: 'POST', path: '/api/token/', access: 'user', input: z.object(tokenFields), output: tokenShape, summary: { zh: '创建令牌', en: 'Create a token' } }),
  endpoint({ id: 'token.update', method: 'PUT', path: '/api/token/', access: 'user', input: z.object({ id, status_only: toggle, ...tokenFields }), output: tokenShape, summary: { zh: '修改令牌', en: 'Change a token' } }),
  endpoint({ id: 'token.delete', method: 'DELETE', path: '/api/token/:id', access: 'user', input: z.object({ id }), output: nothing, summary: { zh: '删除令牌', en: 'Delete a token' } }),
  // channels
  endpoint({ id: 'channel.list', method: 'GET', path: '/api/channel/', access: 'admin', input: z.object({ ...paging, id_sort: toggle, tag_mode: toggle }), output: z.array(channelShape), summary: { zh: '渠道列表', en: 'Channels' } }),
  endpoint({ id: 'channel.search', method: 'GET', path: '/api/channel/search', access: 'admin', input: z.object({ keyword: text, group: text, model: text, id_sort: toggle, tag_mode: toggle }), output: z.array(channelShape), summary: { zh: '搜索渠道', en: 'Search channels' } }),
  endpoint({ id: 'channel.models', method: 'GET', path: '/api/channel/models', access: 'admin', input: none, output: z.array(z.object({ id: z.string(), object: z.string(), created: z.int(), owned_by: z.string() })), summary: { zh: '模型目录', en: 'Model catalogue' } }),
  endpoint({ id: 'channel.models_enabled', method: 'GET', path: '/api/channel/models_enabled', access: 'admin', input: none, output: z.array(z.string()), summary: { zh: '已启用模型', en: 'Enabled models' } }),
  endpoint({ id: 'channel.types', method: 'GET', path: '/api/channel/types', access: 'admin', input: none, output: z.array(z.object({ type: z.int(), slug: z.string(), zh: z.string(), en: z.string(), base_url: z.string(), key_hint: z.string(), models: z.array(z.string()) })), summary: { zh: '渠道类型', en: 'Channel types' } }),
  endpoint({ id: 'channel.get', method: 'GET', path: '/api/channel/:id', access: 'admin', input: z.object({ id }), output: channelShape, summary: { zh: '渠道详情', en: 'One channel' } }),
  endpoint({ id: 'channel.create', method: 'POST', path: '/api/channel/', access: 'admin', input: z.object(channelFields), output: z.array(channelShape), summary: { zh: '创建渠道', en: 'Create channels' } }),
  endpoint({ id: 'channel.update', method: 'PUT', path: '/api/channel/', access: 'admin', input: z.object({ id, ...channelFields }), output: channelShape, summary: { zh: '修改渠道', en: 'Change a channel' } }),
  endpoint({ id: 'channel.delete', method: 'DELETE', path: '/api/channel/:id', access: 'admin', input: z.object({ id }), output: nothing, summary: { zh: '删除渠道', en: 'Delete a channel' } }),
  endpoint({ id: 'channel.test', method: 'GET', path: '/api/channel/test/:id', access: 'admin', input: z.object({ id, model: text, stream: toggle }), output: z.object({ success: z.boolean(), message: z.string(), time: z.number() }), summary: { zh: '测试渠道', en: 'Test a channel' }, envelope: 'raw', mutates: true }),
  endpoint({ id: 'model.by_type', method: 'GET', path: '/api/models', access: 'user', input: none, output: z.record(z.string(), z.array(z.string())), summary: { zh: '各类型的模型', en: 'Models by channel type' } }),
  // logs
  endpoint({ id: 'log.list', method: 'GET', path: '/api/log/', access: 'admin', input: z.object({ ...paging, ...adminLogFilters }), output: page(logShape), summary: { zh: '日志', en: 'Logs' } }),
  endpoint({ id: 'log.self', method: 'GET', path: '/api/log/self', access: 'user', input: z.object({ ...paging, ...logFilters }), output: page(logShape), summary: { zh: '自己的日志', en: 'Own logs' } }),
  endpoint({ id: 'log.stat', method: 'GET', path: '/api/log/stat', access: 'admin', input: z.object(adminLogFilters), output: statShape, summary: { zh: '日志统计', en: 'Log statistics' } }),
  endpoint({ id: 'log.self_stat', method: 'GET', path: '/api/log/self/stat', access: 'user', input: z.object(logFilters), output: statShape, summary: { zh: '自己的统计', en: 'Own statistics' } }),
  endpoint({ id: 'log.tail', method: 'GET', path: '/api/log/tail', access: 'admin', input: z.object({ after: number, limit: number, type: number }), output: z.array(logShape), summary: { zh: '新日志', en: 'Logs after an id' } }),
  endpoint({ id: 'log.get', method: 'GET', path: '/api/log/one/:ref', access: 'admin', input: z.object({ ref: z.string() }), output: logShape, summary: { zh: '一条日志', en: 'One log row by id or request id' } }),
  // the owner of the data directory only
  endpoint({ id: 'ledger.verify', method: 'GET', path: '/api/local/ledger/verify', access: 'local', input: none, output: z.array(z.object({ id: z.string(), zh: z.string(), en: z.string(), checked: z.int(), violations: z.int(), examples: z.array(z.string()) })), summary: { zh: '校验账本', en: 'Verify the ledger' } }),
] as const;

export type EndpointRow = (typeof endpoints)[number];
export type EndpointId = EndpointRow['id'];
export type EndpointOf<Id extends EndpointId> = Extract<EndpointRow, { id: Id }>;

const byId = new Map<string, EndpointRow>(endpoints.map((row) => [row.id, row]));
export const endpointById = (wanted: string): EndpointRow | undefined => byId.get(wanted);
