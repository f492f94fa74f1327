/**
 * The tables of one-api and new-api (old, April 2026, August 2026), column by column: it acts here after the move, or its
 * loss is named with a count. What is in neither list is of a newer version and is named too.
 */
import type { SourceRow } from '../../../db/import-source.ts';
import { isRuleProblem } from '../../contract/channel-rules.ts';
import { channelSettings, hasUnreadRules } from '../../contract/deferred-changes.ts';
import { readHeaderOverride } from '../../contract/header-override.ts';
import { namesAccountInOther, typeOfFamily } from '../../providers/import-names.ts';
import { withHeaderRules } from './header-operations.ts';
import { numberOf, textOf } from './source.ts';

export interface Words {
  readonly zh: string;
  readonly en: string;
}

/** What the operator has to know of a column, where a row has something in it. */
interface Named extends Words {
  /** The value that says nothing, besides nothing itself. */
  readonly unless?: string;
  /** Rows for which it is true; absent = all. */
  readonly when?: (row: SourceRow) => boolean;
}

interface TakenTable {
  readonly table: string;
  /** Columns that the import reads, and those whose work is done here by itself. */
  readonly imported: string;
  readonly named?: Readonly<Record<string, Named>>;
  /** Columns of JSON objects: the same for their members. */
  readonly members?: Readonly<
    Record<string, { readonly imported: string; readonly named?: Readonly<Record<string, Named>> }>
  >;
}

/** A table whose rows stay behind. */
interface LeftTable {
  readonly table: string;
  readonly left: Words;
  /** Quota that is lost with a row. */
  readonly quota?: (row: SourceRow, now: number) => number;
}

/** A table that is not imported because its contents are computed here. */
interface DerivedTable {
  readonly table: string;
  readonly derived: true;
}

type FamilyTable = TakenTable | LeftTable | DerivedTable;

const words = (zh: string, en: string): Words => ({ zh, en });
const history = words('仅为历史记录，不迁入', 'history only; stays behind');
const noEffect = words('此处没有对应功能，不起作用', 'nothing here does this; it has no effect');

const subscriptionLeft = (row: SourceRow): number =>
  Math.max(0, numberOf(row.amount_total) - numberOf(row.amount_used));

export const familyTables: readonly FamilyTable[] = [
  {
    table: 'users',
    imported:
      'id username password display_name role status email github_id oidc_id wechat_id telegram_id linux_do_id access_token quota used_quota request_count group aff_code aff_count aff_quota inviter_id created_at deleted_at setting auth_version',
    named: {
      discord_id: words(
        '此处没有 Discord 登录，这些用户须用密码或邮件登录',
        'there is no sign-in with Discord here: they need password or mail',
      ),
      lark_id: words(
        '此处没有飞书登录，这些用户须用密码或邮件登录',
        'there is no sign-in with Lark here: they need password or mail',
      ),
      aff_history: words(
        '历史邀请收益从 0 重新累计（余额不受影响）',
        'earnings by invitation count from 0 again; balances are not touched',
      ),
      remark: words('此处用户没有备注，内容不迁入', 'users have no remark here; the texts stay behind'),
      stripe_customer: words('再次用 Stripe 付款时会新建客户', 'the next Stripe payment makes a new customer'),
      last_login_at: words('最近登录时间不迁入', 'times of the last login stay behind'),
      invite_rebate_eligible: words('此处没有充值返利', 'there is no rebate on top-ups here'),
    },
    members: {
      setting: {
        imported:
          'notify_type quota_warning_threshold webhook_url webhook_secret webhook_secret_set notification_email accept_unset_model_ratio_model language',
        named: {
          bark_url: words(
            '此处没有 Bark 通知，请改用邮件或 Webhook',
            'no notices by Bark here: choose mail or webhook',
          ),
          gotify_url: words(
            '此处没有 Gotify 通知，请改用邮件或 Webhook',
            'no notices by Gotify here: choose mail or webhook',
          ),
          gotify_token: noEffect,
          gotify_priority: noEffect,
          record_ip_log: words('此处日志不按用户记录 IP', 'logs here record no addresses per user'),
          sidebar_modules: words('侧边栏配置不迁入', 'the choice of side bar entries stays behind'),
          billing_preference: words(
            '此处没有订阅，一律从余额扣费',
            'there are no plans here: everything is charged to the balance',
          ),
          upstream_model_update_notify_enabled: noEffect,
          disable_topup: words('此处不能按用户禁止充值', 'top-ups cannot be forbidden to single users here'),
        },
      },
    },
  },
  {
    table: 'two_fas',
    imported: 'id user_id secret is_enabled created_at deleted_at',
    named: {
      failed_attempts: words('错误次数从 0 重新累计', 'wrong codes count from 0 again'),
      locked_until: words('源站的临时锁定不迁入', 'locks after wrong codes stay behind'),
      last_used_at: words('最近使用时间不迁入', 'times of the last use stay behind'),
      updated_at: history,
    },
  },
  {
    table: 'two_fa_backup_codes',
    imported: 'id user_id code_hash is_used deleted_at',
    named: { used_at: history, created_at: history },
  },
  {
    table: 'passkey_credentials',
    imported:
      'id user_id credential_id public_key sign_count transports last_used_at created_at deleted_at user_present user_verified',
    named: {
      attestation_type: { ...words('此处不使用', 'not used here'), unless: 'none' },
      aaguid: words('此处不使用', 'not used here'),
      aa_guid: words('此处不使用', 'not used here'),
      clone_warning: words(
        '源站曾怀疑被复制，请让用户重新登记',
        'the source suspected a copy: have it registered once more',
      ),
      backup_eligible: words('此处不使用', 'not used here'),
      backup_state: words('此处不使用', 'not used here'),
      attachment: words('此处不使用', 'not used here'),
      updated_at: history,
    },
  },
  {
    table: 'tokens',
    imported:
      'id user_id key status name created_time accessed_time expired_time remain_quota unlimited_quota model_limits_enabled model_limits allow_ips used_quota group deleted_at models subnet cross_group_retry',
    named: {
      billing_type: words(
        '此处没有订阅，一律从余额扣费',
        'there are no plans here: everything is charged to the balance',
      ),
    },
  },
  {
    table: 'channels',
    imported:
      'id type key open_ai_organization test_model status name weight created_time test_time response_time base_url other balance balance_updated_time models group used_quota model_mapping status_code_mapping priority auto_ban other_info tag setting param_override channel_info max_input_tokens',
    named: {
      header_override: {
        ...words(
          '其中有此处不能设置的请求头，因此都不起作用（已保存，不会发送）',
          'some of these headers may not be set here, so none of them acts (kept, not sent)',
        ),
        when: ({ header_override: text }) => {
          const headers = membersOf(text);
          return Object.keys(headers).length === 0 || isRuleProblem(readHeaderOverride(headers));
        },
      },
      remark: words('此处渠道没有备注，内容不迁入', 'channels have no remark here; the texts stay behind'),
      system_prompt: words(
        '原站会用它替换客户端自己的系统提示词，此处不会；内容不迁入，可写入渠道设置的 system_prompt',
        "it took the place of the client's own system prompt, which nothing here does; it stays behind, and may be written into system_prompt of the channel's setting",
      ),
      need_reconcile: words('此处没有按小时对账', 'there is no reconciliation by the hour here'),
      allow_streaming: noEffect,
      allow_non_streaming: noEffect,
    },
    members: {
      setting: {
        imported: `${[...channelSettings].join(' ')} pass_through_body_enabled`,
        named: {
          force_stream: words('不会强制流式请求上游', 'requests are not forced to stream'),
        },
      },
      param_override: {
        imported: '*',
        named: {
          operations: {
            ...words(
              '其中有此处不支持的规则，因此都不起作用（已保存，不会发送）',
              'some of these rules cannot be read here, so none of them acts (kept, not sent)',
            ),
            when: (row) => hasUnreadRules(textOf(withHeaderRules(row).param_override)),
          },
        },
      },
      channel_info: {
        imported: 'is_multi_key multi_key_size multi_key_status_list multi_key_mode multi_key_polling_index',
        named: {
          multi_key_disabled_reason: words('密钥的禁用原因不迁入', 'reasons why keys were disabled stay behind'),
          multi_key_disabled_time: words('密钥的禁用时间不迁入', 'times when keys were disabled stay behind'),
        },
      },
      config: {
        imported: 'region api_version library_id plugin ak sk vertex_ai_adc',
        named: {
          user_id: {
            ...words(
              '固定的用户编号不迁入：上游收到的是请求中的用户',
              'a fixed user id stays behind: the provider gets the user of the request',
            ),
            when: (row) => !namesAccountInOther(typeOfFamily('one-api', numberOf(row.type)) ?? 0),
          },
          vertex_ai_project_id: words(
            '项目编号不迁入：使用服务账户 JSON 中的项目',
            'the project stays behind: that of the service account is used',
          ),
        },
      },
      settings: {
        imported: '',
        named: {
          allow_service_tier: words(
            '请在渠道额外设置中写 {"allow_tiers":true}',
            'write {"allow_tiers":true} into the extra settings',
          ),
          azure_responses_version: words('请把版本填在渠道的“其他”一栏', "put the version into the channel's `other`"),
          vertex_key_type: {
            ...words(
              'API 密钥方式的 Vertex 渠道此处不能用，请改用服务账户',
              'Vertex with an API key does not work here: use a service account',
            ),
            unless: 'json',
          },
          aws_key_type: {
            ...words(
              '请确认密钥格式：此处为 AccessKey|SecretKey|Region',
              'check the key: here it is AccessKey|SecretKey|Region',
            ),
            unless: 'ak_sk',
          },
        },
      },
    },
  },
  {
    table: 'redemptions',
    imported: 'id user_id key status name quota created_time used_user_id deleted_at expired_time redeemed_time',
  },
  { table: 'options', imported: 'key value' },
  {
    table: 'logs',
    imported:
      'id user_id created_at type content username token_name model_name quota prompt_tokens completion_tokens use_time is_stream channel_id token_id group other elapsed_time',
    named: {
      channel_name: words('渠道名按编号重新取得', "the channel's name is looked up by its number"),
      ip: words('日志中的 IP 不迁入', 'addresses in logs stay behind'),
      request_id: words(
        '请求 ID 不迁入，旧日志不能按它查找',
        'request ids stay behind: old rows are not found by them',
      ),
      upstream_request_id: words('上游请求 ID 不迁入', "the upstream's request ids stay behind"),
      system_prompt_reset: noEffect,
    },
  },
  { table: 'abilities', derived: true },
  { table: 'setups', derived: true },
  { table: 'system_instances', derived: true },
  { table: 'system_tasks', derived: true },
  { table: 'system_task_locks', derived: true },
  { table: 'auth_flows', derived: true },
  { table: 'external_identity_claims', derived: true },
  {
    table: 'user_subscriptions',
    left: words(
      '此处没有订阅套餐：已购套餐不再有效，请用额度补偿',
      'there are no plans here: what was bought ends; make up for it with quota',
    ),
    quota: (row, now) => (textOf(row.status) === 'active' && numberOf(row.end_time) > now ? subscriptionLeft(row) : 0),
  },
  {
    table: 'user_subscription_items',
    left: words(
      '此处没有订阅套餐：已购套餐不再有效，请用额度补偿',
      'there are no plans here: what was bought ends; make up for it with quota',
    ),
    quota: (row) => (numberOf(row.quota_type) === 0 ? subscriptionLeft(row) : 0),
  },
  {
    table: 'subscription_plans',
    left: words('此处没有订阅套餐，不再出售', 'there are no plans here: they are no longer sold'),
  },
  { table: 'subscription_plan_items', left: words('此处没有订阅套餐', 'there are no plans here') },
  {
    table: 'subscription_orders',
    left: words('套餐订单不迁入；未完成的付款须人工处理', 'orders of plans stay behind: settle open payments by hand'),
  },
  { table: 'subscription_pre_consume_records', left: history },
  {
    table: 'user_oauth_bindings',
    left: words(
      '此处没有自定义 OAuth：这些用户须用密码或邮件登录',
      'there is no custom OAuth here: these people need password or mail',
    ),
  },
  {
    table: 'custom_oauth_providers',
    left: words('此处没有自定义 OAuth；可改用 OIDC', 'there is no custom OAuth here; OIDC may do instead'),
  },
  {
    table: 'checkins',
    left: words('此处没有签到；已得额度在余额中', 'there are no check-ins here; what they earned is in the balances'),
  },
  {
    table: 'invite_rebates',
    left: words(
      '此处没有充值返利；已得额度在余额中',
      'there is no rebate on top-ups here; what it earned is in the balances',
    ),
  },
  {
    table: 'top_ups',
    left: words(
      '充值订单不迁入；已到账的在余额中，未完成的须人工处理',
      'orders stay behind: what was credited is in the balances, settle open ones by hand',
    ),
  },
  {
    table: 'midjourneys',
    left: words(
      '绘图任务不迁入；未完成的不会再有结果或退款',
      'drawings stay behind: open ones get neither result nor refund',
    ),
  },
  {
    table: 'tasks',
    left: words(
      '异步任务不迁入；未完成的不会再有结果或退款',
      'tasks stay behind: open ones get neither result nor refund',
    ),
  },
  { table: 'quota_data', left: words('数据看板从迁入时起重新统计', 'the usage charts start at the move') },
  { table: 'models', left: words('模型说明不迁入', 'descriptions of models stay behind') },
  { table: 'vendors', left: words('供应商列表不迁入', 'the list of vendors stays behind') },
  { table: 'prefill_groups', left: words('预填组不迁入', 'prefill groups stay behind') },
  { table: 'perf_metrics', left: history },
  { table: 'user_sessions', left: words('所有人须重新登录', 'everybody has to log in again') },
  {
    table: 'casbin_rule',
    left: words(
      '细分的管理员权限不迁入：管理员拥有此处管理员的全部权限',
      'single permissions stay behind: administrators may do all that they may here',
    ),
  },
  { table: 'authz_roles', left: words('自定义角色不迁入', 'own roles stay behind') },
];

/** One name of `--only` may mean several tables: users come with their second factors. */
export const relatedTables: Readonly<Record<string, readonly string[]>> = {
  users: ['two_fas', 'two_fa_backup_codes', 'passkey_credentials', 'user_oauth_bindings', 'user_subscriptions'],
};

const set = (names: string): ReadonlySet<string> => new Set(names.split(' '));

const empty = /^(|0|0\.0+|false|f|null|\{\}|\[\]|0001-01-01.*)$/i;
const isEmpty = (value: unknown): boolean =>
  value === null || value === undefined || (typeof value !== 'object' && empty.test(textOf(value).trim()));

/** Number of rows by the name of a column, or of a member as `column.member`, that does not act here. */
type Counts = Map<string, number>;

const increment = (counts: Counts, name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(textOf(value));
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? { ...parsed } : {};
  } catch {
    return {};
  }
}

const isEmptyValue = (value: unknown): boolean =>
  isEmpty(value) ||
  (typeof value === 'object' && value !== null && !(value instanceof Uint8Array) && Object.keys(value).length === 0);

const unknownColumn = words(
  '未知的列（源站版本较新），内容不迁入',
  'unknown column (of a newer version); what it holds stays behind',
);
const unknownTable = words('未知的表（源站版本较新），不迁入', 'unknown table (of a newer version); it stays behind');

export interface Loss extends Words {
  /** `table`, `table.column` or `table.column.member`. */
  readonly what: string;
  readonly rows: number;
  /** Quota that is lost with them. */
  readonly quota: number;
}

const droppedColumns = (table: TakenTable, rows: Iterable<SourceRow>): Loss[] => {
  const imported = set(table.imported);
  const inner = Object.entries(table.members ?? {}).map(([column, row]) => ({
    column,
    row,
    imported: set(row.imported),
  }));
  const parsed = new Set(inner.map(({ column }) => column));
  const counts: Counts = new Map();
  const words = new Map<string, Named>();
  for (const row of rows) {
    for (const [column, value] of Object.entries(row)) {
      if (imported.has(column) || parsed.has(column) || isEmptyValue(value)) continue;
      const named: Named = table.named?.[column] ?? unknownColumn;
      if (named.unless === textOf(value) || named.when?.(row) === false) continue;
      words.set(column, named);
      increment(counts, column);
    }
    for (const { column, row: spec, imported: ofMember } of inner) {
      for (const [member, value] of Object.entries(membersOf(row[column]))) {
        const named: Named | undefined = spec.named?.[member] ?? (ofMember.has('*') ? undefined : noEffect);
        if (named === undefined || ofMember.has(member) || isEmptyValue(value)) continue;
        if (named.unless === textOf(value) || named.when?.(row) === false) continue;
        words.set(`${column}.${member}`, named);
        increment(counts, `${column}.${member}`);
      }
    }
  }
  return [...counts].map(([name, count]) => {
    const { zh, en } = words.get(name) ?? unknownColumn;
    return { what: `${table.table}.${name}`, rows: count, quota: 0, zh, en };
  });
};

/** Everything of a source that will not act after the move. @param now epoch seconds. */
export function losses(
  source: { tables(): readonly string[]; rows(table: string): Iterable<SourceRow> },
  now: number,
): Loss[] {
  const known = new Map(familyTables.map((table) => [table.table, table]));
  return source.tables().flatMap((name): Loss[] => {
    const table = known.get(name) ?? { table: name, left: unknownTable };
    if ('derived' in table) return [];
    if ('imported' in table) return droppedColumns(table, source.rows(name));
    let [rows, quota] = [0, 0];
    for (const row of source.rows(name)) {
      rows++;
      quota += table.quota?.(row, now) ?? 0;
    }
    return rows === 0 ? [] : [{ what: name, rows, quota, zh: table.left.zh, en: table.left.en }];
  });
}
