/** The whole HTTP API, one row per call. */

import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { tokenShape, userShape } from '../entities.ts';
import { languageCodes } from '../languages/index.ts';
import { tokenSorts } from '../sort.ts';
import { periodLevels } from '../traffic.ts';
import { accessTokenEndpoints } from './access-token.ts';
import { accountEndpoints } from './account.ts';
import { alertEndpoints } from './alert.ts';
import { auditEndpoints } from './audit.ts';
import { backupEndpoints } from './backup.ts';
import { budgetEndpoints } from './budget.ts';
import { channelEndpoints } from './channel.ts';
import { chatEndpoints } from './chat.ts';
import { familyEndpoints } from './family.ts';
import { commaList, id, nothing, number, sortBy, text, toggle } from './fields.ts';
import { invoiceEndpoints } from './invoice.ts';
import { linkEndpoints } from './link.ts';
import { localEndpoints } from './local.ts';
import { logEndpoints } from './log.ts';
import { modelEndpoints } from './model.ts';
import { nodeEndpoints } from './node.ts';
import { optionEndpoints } from './option.ts';
import { provisionEndpoints } from './provision.ts';
import { ratioEndpoints } from './ratio.ts';
import { redemptionEndpoints } from './redemption.ts';
import { sessionEndpoints } from './session.ts';
import { entranceShape, signInEndpoints } from './sign-in.ts';
import { signInCodeEndpoints } from './sign-in-code.ts';
import { statementEndpoints } from './statement.ts';
import { taskEndpoints } from './tasks.ts';
import { trafficEndpoints } from './traffic.ts';
import { usageEndpoints } from './usage.ts';
import { userEndpoints } from './user.ts';
import { virtualModelEndpoints } from './virtual-model.ts';
import { walletEndpoints } from './wallet.ts';

const none = z.object({});

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
  day_budget: number,
  month_budget: number,
  rpm_limit: number,
  tpm_limit: number,
  concurrency_limit: number,
  labels: text,
  /** Ids of channels, comma separated; administrators set them. '' = every channel of its groups. */
  channels: text,
};

export const endpoints = [
  // site
  endpoint({
    id: 'setup.get',
    method: 'GET',
    path: '/api/setup',
    access: 'public',
    input: none,
    output: z.object({
      status: z.boolean(),
      root_init: z.boolean(),
      database_type: z.string(),
      code_required: z.boolean(),
    }),
    summary: { zh: '初始化状态', en: 'Setup state' },
  }),
  endpoint({
    id: 'setup.run',
    method: 'POST',
    path: '/api/setup',
    access: 'public',
    input: z.object({
      username: text,
      password: text,
      confirmPassword: text,
      SelfUseModeEnabled: toggle,
      DemoSiteEnabled: toggle,
      code: text,
    }),
    output: nothing,
    summary: { zh: '初始化', en: 'Set up' },
    done: { zh: '系统初始化成功', en: 'The system is set up' },
  }),
  endpoint({
    id: 'status.get',
    method: 'GET',
    path: '/api/status',
    access: 'public',
    input: none,
    output: z.record(z.string(), z.unknown()),
    summary: { zh: '站点状态', en: 'Site status' },
  }),
  endpoint({
    id: 'status.openapi',
    method: 'GET',
    path: '/api/openapi.json',
    access: 'public',
    /** Absent = the language of Accept-Language, English without one. */
    input: z.object({ lang: z.optional(z.enum(languageCodes)) }),
    output: z.record(z.string(), z.unknown()),
    envelope: 'raw',
    summary: { zh: '接口文档（OpenAPI）', en: 'This API as an OpenAPI document' },
  }),
  endpoint({
    id: 'status.notice',
    method: 'GET',
    path: '/api/notice',
    access: 'public',
    input: none,
    output: z.string(),
    summary: { zh: '公告', en: 'Announcement' },
  }),
  endpoint({
    id: 'status.about',
    method: 'GET',
    path: '/api/about',
    access: 'public',
    input: none,
    output: z.string(),
    summary: { zh: '关于', en: 'About' },
  }),
  endpoint({
    id: 'status.home',
    method: 'GET',
    path: '/api/home_page_content',
    access: 'public',
    input: none,
    output: z.string(),
    summary: { zh: '首页内容', en: 'Home page' },
  }),
  endpoint({
    id: 'status.models',
    method: 'GET',
    path: '/api/status/models',
    access: 'public',
    input: none,
    /** By model of the price list; `none` = no request asked for it lately. */
    output: z.record(z.string(), z.enum(periodLevels)),
    summary: { zh: '各模型近两小时的状态', en: 'How each model of the price list did in the last two hours' },
  }),
  endpoint({
    id: 'status.overview',
    method: 'GET',
    path: '/api/overview',
    access: 'admin',
    input: none,
    output: z.record(z.string(), z.unknown()),
    summary: { zh: '运行概况', en: 'Operator overview' },
  }),
  endpoint({
    id: 'update.check',
    method: 'GET',
    path: '/api/update',
    access: 'admin',
    input: none,
    output: z.object({ current: z.string(), latest: z.string(), newer: z.boolean(), notes: z.string() }),
    summary: { zh: '检查更新', en: 'Is there a newer release?' },
  }),
  endpoint({
    id: 'status.test',
    method: 'GET',
    path: '/api/status/test',
    access: 'admin',
    input: none,
    output: nothing,
    summary: { zh: '服务自检', en: 'Is the database answering?' },
    done: { zh: 'Server is running', en: 'Server is running' },
  }),
  // sessions and users
  endpoint({
    id: 'session.login',
    method: 'POST',
    path: '/api/user/login',
    access: 'public',
    input: z.object({ username: text, password: text, turnstile: text }),
    output: entranceShape,
    summary: { zh: '登录', en: 'Log in' },
    botCheck: true,
    demo: true,
  }),
  endpoint({
    id: 'session.logout',
    method: 'GET',
    path: '/api/user/logout',
    access: 'public',
    input: none,
    output: nothing,
    summary: { zh: '退出登录', en: 'Log out' },
    mutation: true,
    demo: true,
  }),
  endpoint({
    id: 'session.logout_post',
    method: 'POST',
    path: '/api/user/logout',
    access: 'public',
    input: none,
    output: nothing,
    summary: { zh: '退出登录', en: 'Log out' },
    demo: true,
  }),
  endpoint({
    id: 'user.self',
    method: 'GET',
    path: '/api/user/self',
    access: 'user',
    input: none,
    output: userShape,
    summary: { zh: '当前用户', en: 'Own account' },
  }),
  endpoint({
    id: 'user.models',
    method: 'GET',
    path: '/api/user/models',
    access: 'user',
    input: none,
    output: z.array(z.string()),
    summary: { zh: '可用模型', en: 'Usable models' },
  }),
  endpoint({
    id: 'user.groups',
    method: 'GET',
    path: '/api/user/self/groups',
    access: 'user',
    input: none,
    output: z.record(z.string(), z.object({ desc: z.string(), ratio: z.number() })),
    summary: { zh: '可用分组', en: 'Usable groups' },
  }),
  endpoint({
    id: 'group.usable',
    method: 'GET',
    path: '/api/user/groups',
    access: 'public',
    input: none,
    output: z.record(z.string(), z.object({ desc: z.string(), ratio: z.number() })),
    summary: { zh: '可用分组及倍率', en: 'Groups one may use, with their ratios' },
  }),
  endpoint({
    id: 'user.access_token',
    method: 'POST',
    path: '/api/user/token',
    access: 'user',
    input: none,
    output: z.string(),
    summary: { zh: '生成系统访问令牌', en: 'New full-access token' },
  }),
  ...walletEndpoints,
  ...invoiceEndpoints,
  ...linkEndpoints,
  ...redemptionEndpoints,
  ...accountEndpoints,
  ...signInEndpoints,
  ...signInCodeEndpoints,
  ...accessTokenEndpoints,
  ...sessionEndpoints,
  ...userEndpoints,
  ...alertEndpoints,
  ...backupEndpoints,
  ...auditEndpoints,
  // options
  ...optionEndpoints,
  ...provisionEndpoints,
  ...ratioEndpoints,
  endpoint({
    id: 'group.list',
    method: 'GET',
    path: '/api/group/',
    access: 'admin',
    input: none,
    output: z.array(z.string()),
    summary: { zh: '分组列表', en: 'Groups' },
  }),
  // tokens
  endpoint({
    id: 'token.list',
    method: 'GET',
    path: '/api/token/',
    access: 'user',
    /** `status`: 1 enabled, 2 disabled, 3 expired, 4 exhausted; `X-Total-Count` says how many match. `owner`: `self` or a user's id; another user's only for commands on the machine, which list everybody's without it. */
    input: z.object({ p: number, size: number, sort: sortBy(tokenSorts), owner: text, status: number }),
    output: z.array(tokenShape),
    summary: { zh: '令牌列表', en: 'Tokens' },
  }),
  endpoint({
    id: 'token.search',
    method: 'GET',
    path: '/api/token/search',
    access: 'user',
    /** The first hundred without `size`. `p` is 0-based. */
    input: z.object({ keyword: text, token: text, p: number, size: number, sort: sortBy(tokenSorts), status: number }),
    output: z.array(tokenShape),
    summary: { zh: '搜索令牌', en: 'Search tokens' },
  }),
  endpoint({
    id: 'token.bound',
    method: 'GET',
    path: '/api/token/bound',
    access: 'admin',
    /** Ids, comma separated; or all channels that are disabled. `all`: every key in use that is limited to channels, whichever these are. */
    input: z.object({ channels: commaList, disabled: toggle, all: toggle }),
    output: z.array(
      z.object({
        id: z.int(),
        name: z.string(),
        user_id: z.int(),
        /** Ids of its other channels that there are: without one it serves nothing once these are deleted. */
        others: z.array(z.int()),
        /** Ids of its channels that are enabled: without one it serves nothing now. */
        enabled: z.array(z.int()),
      }),
    ),
    summary: { zh: '绑定到这些渠道的令牌', en: 'Tokens that are limited to these channels' },
  }),
  endpoint({
    id: 'token.get',
    method: 'GET',
    path: '/api/token/:id',
    access: 'user',
    input: z.object({ id }),
    output: tokenShape,
    summary: { zh: '令牌详情', en: 'One token' },
  }),
  endpoint({
    id: 'token.create',
    method: 'POST',
    path: '/api/token/',
    access: 'user',
    /** `key` brings one's own key, for administrators moving in. `owner` as in `token.list`, `self` without it. */
    input: z.object({ ...tokenFields, key: text, owner: text }),
    output: tokenShape,
    summary: { zh: '创建令牌', en: 'Create a token' },
  }),
  endpoint({
    id: 'token.update',
    method: 'PUT',
    path: '/api/token/',
    access: 'user',
    input: z.object({ id, status_only: toggle, ...tokenFields }),
    output: tokenShape,
    summary: { zh: '修改令牌', en: 'Change a token' },
  }),
  endpoint({
    id: 'token.key',
    method: 'POST',
    path: '/api/token/:id/key',
    access: 'user',
    input: z.object({ id }),
    output: z.object({ key: z.string() }),
    summary: { zh: '查看令牌密钥', en: 'The full key of a token' },
  }),
  endpoint({
    id: 'token.rotate',
    method: 'POST',
    path: '/api/token/:id/rotate',
    access: 'user',
    /** How long the old key still works; at most 720. At once without it. */
    input: z.object({ id, grace_hours: number }),
    output: tokenShape,
    summary: { zh: '更换令牌密钥', en: 'Give a token a new key' },
  }),
  endpoint({
    id: 'token.retire',
    method: 'POST',
    path: '/api/token/:id/retire',
    access: 'user',
    input: z.object({ id }),
    output: tokenShape,
    summary: { zh: '立即停用更换前的旧密钥', en: 'End the old key of a rotated token now' },
  }),
  endpoint({
    id: 'token.share',
    method: 'POST',
    path: '/api/token/:id/share',
    access: 'user',
    /** Hours for which the link can be opened, 1 to 336; 24 without it. */
    input: z.object({ id, hours: number }),
    output: z.object({ path: z.string(), until: z.int() }),
    summary: { zh: '生成一次性链接，打开者可查看密钥', en: 'A link that shows the key once' },
  }),
  endpoint({
    id: 'token.unshare',
    method: 'DELETE',
    path: '/api/token/:id/share',
    access: 'user',
    input: z.object({ id }),
    output: tokenShape,
    summary: { zh: '撤回一次性链接', en: 'Withdraw the link' },
  }),
  endpoint({
    id: 'token.open_shared',
    method: 'POST',
    path: '/api/token-link',
    access: 'public',
    input: z.object({ secret: z.string() }),
    output: z.object({
      name: z.string(),
      key: z.string(),
      expired_time: z.int(),
      remain_quota: z.int(),
      unlimited_quota: z.boolean(),
      day_budget: z.int(),
      month_budget: z.int(),
      model_limits_enabled: z.boolean(),
      model_limits: z.string(),
      allow_ips: z.string(),
    }),
    summary: { zh: '打开一次性链接，链接随即失效', en: 'Open a link that shows a key; it shows it once' },
  }),
  endpoint({
    id: 'token.delete',
    method: 'DELETE',
    path: '/api/token/:id',
    access: 'user',
    input: z.object({ id }),
    output: nothing,
    summary: { zh: '删除令牌', en: 'Delete a token' },
  }),
  ...chatEndpoints,
  endpoint({
    id: 'token.delete_many',
    method: 'POST',
    path: '/api/token/batch',
    access: 'user',
    input: z.object({ ids: z.array(id) }),
    output: z.int(),
    summary: { zh: '批量删除令牌', en: 'Delete several tokens' },
  }),
  // usage
  ...usageEndpoints,
  ...familyEndpoints,
  ...taskEndpoints,
  // channels
  ...channelEndpoints,
  ...virtualModelEndpoints,
  ...budgetEndpoints,
  endpoint({
    id: 'model.by_type',
    method: 'GET',
    path: '/api/models',
    access: 'user',
    input: none,
    output: z.record(z.string(), z.array(z.string())),
    summary: { zh: '各类型的模型', en: 'Models by channel type' },
  }),
  ...modelEndpoints,
  ...logEndpoints,
  ...statementEndpoints,
  ...trafficEndpoints,
  ...nodeEndpoints,
  // the owner of the data directory only
  ...localEndpoints,
  endpoint({
    id: 'ledger.verify',
    method: 'GET',
    path: '/api/local/ledger/verify',
    access: 'local',
    input: none,
    output: z.array(
      z.object({
        id: z.string(),
        zh: z.string(),
        en: z.string(),
        checked: z.int(),
        violations: z.int(),
        examples: z.array(z.string()),
        note: z.optional(z.object({ zh: z.string(), en: z.string() })),
      }),
    ),
    summary: { zh: '校验账本', en: 'Verify the ledger' },
  }),
] as const;

export type EndpointRow = (typeof endpoints)[number];
export type EndpointId = EndpointRow['id'];
export type EndpointOf<Id extends EndpointId> = Extract<EndpointRow, { id: Id }>;

const byId = new Map<string, EndpointRow>(endpoints.map((row) => [row.id, row]));
export const endpointById = (name: string): EndpointRow | undefined => byId.get(name);
