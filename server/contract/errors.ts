/** Every error a person or program can receive is a row here; code throws `AppError(code, params)` and the edges render it. */
import type { Language } from './enums.ts';

/** What kind of failure it is. The class alone decides retrying, cooling a key down, ejecting a host, refunding. */
export type FailureClass = 'client' | 'key' | 'host' | 'refusal' | 'ours';

export interface ErrorRow {
  /** HTTP status on relay routes, and on /api routes when `api` is absent. */
  readonly status: number;
  /** HTTP status on /api routes; business failures are 200 with success:false. */
  readonly api?: number;
  readonly zh: string;
  readonly en: string;
  /** `error.type` for OpenAI clients; Anthropic and Gemini types derive from it, see protocols. */
  readonly type: string;
  /** CLI exit code, see `gateway help exit-codes`. */
  readonly exit: number;
  readonly class: FailureClass;
}

const row = (
  status: number,
  type: string,
  exit: number,
  failure: FailureClass,
  zh: string,
  en: string,
  api?: number,
): ErrorRow => ({
  status,
  type,
  exit,
  class: failure,
  zh,
  en,
  ...(api === undefined ? {} : { api }),
});

/** A business failure of the console's API: HTTP 200 {success:false}. */
const business = (zh: string, en: string, exit = 1): ErrorRow =>
  row(400, 'invalid_request_error', exit, 'client', zh, en, 200);

/** Placeholders are {name}; texts in Chinese are the specification's own wording. */
export const errors = {
  // relay: credentials and admission
  token_missing: row(401, 'authentication_error', 4, 'client', '未提供令牌', 'No API key was provided'),
  token_invalid: row(401, 'authentication_error', 4, 'client', '无效的令牌', 'Invalid API key'),
  token_expired: row(401, 'authentication_error', 4, 'client', '该令牌已过期', 'This API key has expired'),
  token_disabled: row(401, 'authentication_error', 4, 'client', '该令牌状态不可用', 'This API key is not active'),
  token_exhausted: row(
    403,
    'insufficient_quota',
    4,
    'client',
    '该令牌额度已用尽：剩余 {remain}，本次需要 {need}',
    'This API key has run out of quota: {remain} left, {need} needed',
  ),
  user_exhausted: row(
    403,
    'insufficient_quota',
    4,
    'client',
    '用户额度不足：剩余 {remain}，本次需要 {need}',
    'The account balance is insufficient: {remain} left, {need} needed',
  ),
  user_disabled: row(403, 'permission_error', 4, 'client', '用户已被封禁', 'This account is disabled', 200),
  ip_not_allowed: row(
    403,
    'permission_error',
    4,
    'client',
    '您的 IP 不在令牌允许访问的列表中',
    'Your IP address is not on the list this API key allows',
  ),
  group_disabled: row(
    403,
    'permission_error',
    4,
    'client',
    '令牌分组 {group} 已被禁用',
    'Group {group} of this API key is not available to the account',
  ),
  group_deprecated: row(
    403,
    'permission_error',
    4,
    'client',
    '分组 {group} 已被弃用',
    'Group {group} no longer exists',
  ),
  model_not_allowed: row(
    403,
    'permission_error',
    4,
    'client',
    '该令牌无权访问模型 {model}',
    'This API key may not use model {model}',
  ),
  model_unknown: row(
    404,
    'invalid_request_error',
    5,
    'client',
    '模型 {model} 不存在',
    'The model {model} does not exist',
  ),
  playground_access_token: row(
    400,
    'invalid_request_error',
    4,
    'client',
    '暂不支持使用 access token',
    'Access tokens are not supported here',
  ),
  playground_group: row(403, 'permission_error', 4, 'client', '无权访问该分组', 'This group is not open to you'),
  previous_response_not_found: row(
    400,
    'invalid_request_error',
    5,
    'client',
    '找不到前一个响应：它保存在生成它的上游，请发送完整的对话',
    'The previous response is not kept here: it lives at the upstream that made it. Send the whole conversation',
  ),
  model_missing: row(
    400,
    'invalid_request_error',
    2,
    'client',
    '未指定模型名称，模型名称不能为空',
    'The request names no model',
  ),
  model_price_unset: row(
    400,
    'invalid_request_error',
    2,
    'client',
    '模型 {model} 倍率或价格未配置，请联系管理员设置',
    'The ratio or price of model {model} is not configured; please contact the administrator',
  ),
  channel_unavailable: row(
    503,
    'api_error',
    7,
    'ours',
    '当前分组 {group} 下对于模型 {model} 无可用渠道',
    'No channel is available for model {model} in group {group}',
  ),
  channel_pin_forbidden: row(
    403,
    'permission_error',
    4,
    'client',
    '普通用户不支持指定渠道',
    'Only administrators may choose a channel',
  ),
  channel_pin_unknown: row(400, 'invalid_request_error', 5, 'client', '无效的渠道 Id', 'Unknown channel id'),
  channel_pin_disabled: row(403, 'permission_error', 6, 'client', '该渠道已被禁用', 'This channel is disabled'),
  sensitive_words: row(400, 'invalid_request_error', 2, 'refusal', '检测到敏感词', 'The prompt contains blocked words'),
  rate_limited: row(
    429,
    'rate_limit_error',
    7,
    'client',
    '请求过于频繁，请在 {seconds} 秒后重试',
    'Too many requests; retry in {seconds} seconds',
  ),
  limit_requests: row(
    429,
    'rate_limit_error',
    7,
    'client',
    '您已达到总请求数限制：{minutes}分钟内最多请求{limit}次，包括失败次数，请在 {seconds} 秒后重试',
    'The account may send {limit} requests in {minutes} minutes, failed ones included; retry in {seconds} seconds',
  ),
  limit_successes: row(
    429,
    'rate_limit_error',
    7,
    'client',
    '您已达到请求数限制：{minutes}分钟内最多请求{limit}次，请在 {seconds} 秒后重试',
    'The account may complete {limit} requests in {minutes} minutes; retry in {seconds} seconds',
  ),
  limit_rpm: row(
    429,
    'rate_limit_error',
    7,
    'client',
    '{who} 已达到每分钟 {limit} 次请求的限制，请在 {seconds} 秒后重试',
    '{who} has reached its limit of {limit} requests per minute; retry in {seconds} seconds',
  ),
  limit_tpm: row(
    429,
    'rate_limit_error',
    7,
    'client',
    '{who} 已达到每分钟 {limit} tokens 的限制，请在 {seconds} 秒后重试',
    '{who} has reached its limit of {limit} tokens per minute; retry in {seconds} seconds',
  ),
  limit_concurrency: row(
    429,
    'rate_limit_error',
    7,
    'client',
    '{who} 同时进行的请求已达上限 {limit}，请稍后重试',
    '{who} has {limit} requests under way, its limit; retry when one has ended',
  ),
  token_budget_day: row(
    429,
    'insufficient_quota',
    4,
    'client',
    '该令牌今日额度已用尽：剩余 {remain}，本次需要 {need}，{seconds} 秒后重置',
    'The daily budget of this API key is used up: {remain} left, {need} needed; it resets in {seconds} seconds',
  ),
  token_budget_month: row(
    429,
    'insufficient_quota',
    4,
    'client',
    '该令牌本月额度已用尽：剩余 {remain}，本次需要 {need}，{seconds} 秒后重置',
    'The monthly budget of this API key is used up: {remain} left, {need} needed; it resets in {seconds} seconds',
  ),
  // relay: bodies
  body_too_large: row(
    413,
    'invalid_request_error',
    2,
    'client',
    '请求体过大，上限 {limit} 字节',
    'The request body is larger than {limit} bytes',
  ),
  body_not_utf8: row(
    400,
    'invalid_request_error',
    2,
    'client',
    '请求体不是合法的 UTF-8',
    'The request body is not valid UTF-8',
  ),
  body_not_json: row(
    400,
    'invalid_request_error',
    2,
    'client',
    '请求体不是合法的 JSON',
    'The request body is not valid JSON',
  ),
  body_too_deep: row(
    400,
    'invalid_request_error',
    2,
    'client',
    '请求体嵌套过深或过宽',
    'The request body is nested too deep or too wide',
  ),
  body_invalid: row(400, 'invalid_request_error', 2, 'client', '无效的请求：{detail}', 'Invalid request: {detail}'),
  route_unknown: row(
    404,
    'invalid_request_error',
    5,
    'client',
    '无效的请求地址 ({method} {path})',
    'Invalid URL ({method} {path})',
  ),
  not_implemented: row(501, 'invalid_request_error', 5, 'client', '{path} 尚未实现', '{path} is not implemented here'),
  upgrade_refused: row(
    426,
    'invalid_request_error',
    2,
    'client',
    '此路径不支持 WebSocket，请使用 HTTP',
    'This path does not speak WebSocket; use plain HTTP',
  ),
  method_not_allowed: row(
    405,
    'invalid_request_error',
    2,
    'client',
    '不支持的请求方法 {method}',
    'Method {method} is not allowed here',
  ),
  operation_unsupported: row(
    501,
    'invalid_request_error',
    2,
    'client',
    '渠道不支持该操作 {operation}',
    'No channel supports the operation {operation}',
  ),
  // relay: upstream
  upstream_unreachable: row(502, 'api_error', 7, 'host', '请求上游地址失败', 'The upstream could not be reached'),
  upstream_timeout: row(504, 'api_error', 7, 'host', '上游响应超时', 'The upstream did not answer in time'),
  upstream_broken: row(502, 'api_error', 7, 'host', '上游响应中断', 'The upstream broke off its answer'),
  upstream_invalid: row(502, 'api_error', 7, 'host', '上游返回了无效的响应', 'The upstream gave an invalid answer'),
  upstream_status: row(
    502,
    'api_error',
    7,
    'host',
    '上游返回错误（状态码 {status}）',
    'The upstream answered with status {status}',
  ),
  upstream_busy: row(
    429,
    'rate_limit_error',
    7,
    'key',
    '当前分组上游负载已饱和，请稍后再试',
    'The upstreams of this group are saturated; please retry later',
  ),
  upstream_key: row(502, 'api_error', 7, 'key', '上游鉴权失败', 'The upstream refused our credentials'),
  // ours
  storage_unavailable: row(
    503,
    'api_error',
    7,
    'ours',
    '存储暂不可用，计费请求已暂停：{reason}',
    'Storage is unavailable, paid requests are paused: {reason}',
  ),
  shutting_down: row(503, 'api_error', 7, 'ours', '服务正在关闭', 'The server is shutting down'),
  internal: row(
    500,
    'api_error',
    1,
    'ours',
    '服务器内部错误，请联系管理员',
    'Internal server error; please contact the administrator',
    500,
  ),
  // console API: login and rights
  login_required: row(
    401,
    'authentication_error',
    4,
    'client',
    '无权进行此操作，未登录且未提供 access token',
    'Not logged in and no access token given',
    401,
  ),
  access_token_invalid: row(
    401,
    'authentication_error',
    4,
    'client',
    '无权进行此操作，access token 无效',
    'The access token is invalid',
    401,
  ),
  user_header_missing: row(
    401,
    'authentication_error',
    4,
    'client',
    '无权进行此操作，未提供 New-Api-User',
    'The New-Api-User header is missing',
    401,
  ),
  user_header_malformed: row(
    401,
    'authentication_error',
    4,
    'client',
    '无权进行此操作，New-Api-User 格式错误',
    'The New-Api-User header is not a number',
    401,
  ),
  user_header_mismatch: row(
    401,
    'authentication_error',
    4,
    'client',
    '无权进行此操作，New-Api-User 与登录用户不匹配',
    'The New-Api-User header names another user',
    401,
  ),
  role_too_low: row(
    403,
    'permission_error',
    4,
    'client',
    '无权进行此操作，权限不足',
    'You do not have permission to do this',
    403,
  ),
  cross_site: row(
    403,
    'permission_error',
    4,
    'client',
    '无权进行此操作，请求来源不可信',
    'The request does not come from this site',
    403,
  ),
  setup_code_required: row(
    403,
    'permission_error',
    4,
    'client',
    '需要初始化验证码，请查看服务启动时打印的信息',
    'The one-time setup code printed at start is required',
    403,
  ),
  demo_readonly: row(
    405,
    'permission_error',
    6,
    'client',
    '演示站点，无法进行修改',
    'This is a demo site; changes are refused',
    405,
  ),
  too_many_attempts: row(
    429,
    'rate_limit_error',
    7,
    'client',
    '请求次数过多，请稍后再试',
    'Too many requests, please retry later',
    429,
  ),
  not_found: row(404, 'invalid_request_error', 5, 'client', '{what} 不存在', '{what} does not exist', 200),
  name_ambiguous: row(
    409,
    'invalid_request_error',
    5,
    'client',
    '{what} 有多个匹配：{candidates}',
    '{what} is ambiguous: {candidates}',
    200,
  ),
  conflict: row(409, 'invalid_request_error', 6, 'client', '{what} 已存在', '{what} already exists', 200),
  params_invalid: business('无效的参数：{detail}', 'Invalid parameters: {detail}', 2),
  // console API: setup, sessions, users
  setup_done: business('系统已经初始化完成', 'The system is already set up', 6),
  setup_needed: business(
    '系统尚未初始化，请先运行 gateway setup',
    'The system is not set up yet; run gateway setup first',
    6,
  ),
  setup_username: business('请输入管理员用户名', 'Please enter the administrator username', 2),
  setup_password_short: business('密码长度至少为8个字符', 'The password must have at least 8 characters', 2),
  setup_password_mismatch: business('两次输入的密码不一致', 'The two passwords do not match', 2),
  password_login_disabled: business('管理员关闭了密码登录', 'Password login is disabled by the administrator', 4),
  credentials_empty: business('用户名或密码为空', 'Username or password is empty', 2),
  credentials_wrong: business(
    '用户名或密码错误，或用户已被封禁',
    'Wrong username or password, or the user is banned',
    4,
  ),
  input_invalid: business('输入不合法：{zh}', 'Invalid input: {en}', 2),
  user_unknown: business('用户不存在', 'The user does not exist', 5),
  username_taken: business('用户名已存在，或已注销', 'The username exists already or was closed', 6),
  user_password_wrong: business('原密码错误', 'The present password is wrong', 4),
  user_rank_read: business(
    '无权获取同级或更高等级用户的信息',
    'You may not read users of your own or a higher level',
    4,
  ),
  user_rank_update: business(
    '无权更新同权限等级或更高权限等级的用户信息',
    'You may not change users of your own or a higher level',
    4,
  ),
  user_rank_delete: business(
    '无权删除同权限等级或更高权限等级的用户',
    'You may not delete users of your own or a higher level',
    4,
  ),
  user_root_disable: business('无法禁用超级管理员用户', 'The super administrator cannot be disabled', 4),
  user_root_delete: business('无法删除超级管理员用户', 'The super administrator cannot be deleted', 4),
  user_root_demote: business('无法降级超级管理员用户', 'The super administrator cannot be demoted', 4),
  user_root_close: business('不能删除超级管理员账户', 'The super administrator account cannot be closed', 4),
  user_promote_root_only: business(
    '普通管理员用户无法提升其他用户为管理员',
    'Only the super administrator may make administrators',
    4,
  ),
  user_is_admin: business('该用户已经是管理员', 'The user is an administrator already', 6),
  user_is_plain: business('该用户已经是普通用户', 'The user is an ordinary user already', 6),
  user_changed_meanwhile: business(
    '用户的权限刚刚被修改，请重试',
    'The rights of the user were changed just now; please retry',
    6,
  ),
  // console API: options, channels, tokens
  option_unknown: business('未知的配置项 {key}', 'Unknown option {key}', 2),
  option_invalid: business('配置项 {key} 的值无效：{zh}', 'Option {key} has an invalid value: {en}', 2),
  option_needs: business('无法启用 {key}，请先填入 {needs}！', 'Cannot enable {key}: fill in {needs} first', 2),
  option_root_only: row(
    403,
    'permission_error',
    4,
    'client',
    '只有超级管理员可以修改配置项 {key}',
    'Only the super administrator may change option {key}',
    200,
  ),
  channel_required: business('请填写渠道名称和渠道密钥！', 'Please enter the channel name and key!', 2),
  channel_models_required: business('请至少选择一个模型！', 'Please choose at least one model!', 2),
  channel_mapping_json: business('模型映射必须是合法的 JSON 格式！', 'The model mapping must be valid JSON!', 2),
  channel_type_unknown: business('未知的渠道类型 {type}', 'Unknown channel type {type}', 2),
  channel_tests_running: business('测试已在运行中', 'The tests are running already', 6),
  upstream_lookup: business('上游查询失败：{detail}', 'The upstream could not be asked: {detail}', 7),
  balance_unsupported: business('尚未实现', 'This provider tells no balance', 2),
  fetch_models_key: business('请填写密钥', 'Please enter the key', 2),
  tag_required: business('tag不能为空', 'The tag must not be empty', 2),
  nothing_changed: business('没有任何修改！', 'Nothing was changed!', 2),
  channel_test_failed: row(502, 'api_error', 8, 'host', '测试失败：{detail}', 'Test failed: {detail}', 200),
  token_name_required: business('请输入名称', 'A name is required', 2),
  token_name_long: business('令牌名称过长', 'The token name is too long', 2),
  token_expiry_invalid: business('过期时间格式错误！', 'The expiry time is malformed!', 2),
  token_expired_enable: business(
    '令牌已过期，无法启用，请先修改令牌过期时间，或者设置为永不过期',
    'The token has expired; change its expiry first',
    6,
  ),
  update_unset: business('未设置版本发布地址，无法检查更新', 'No release address is set, so there is nothing to ask'),
  update_unreachable: business(
    '检查更新失败，请稍后再试',
    'The release address could not be read; please try again later',
    5,
  ),
  chat_links_unset: business('请联系管理员配置聊天链接', 'Please ask the administrator to set up chat links'),
  chat_link_invalid: business(
    '聊天链接配置错误，请联系管理员',
    'The chat link is set up wrongly; please ask the administrator',
  ),
  chat_token_none: business(
    '当前没有可用的启用令牌，请确认是否有令牌处于启用状态！',
    'No enabled token is available; please see whether one of your tokens is enabled!',
  ),
  token_exhausted_enable: business(
    '令牌可用额度已用尽，无法启用，请先修改令牌剩余额度，或者设置为无限额度',
    'The token has no quota left; change its quota first',
    6,
  ),
  // console API: redemption codes, wallet, invitations
  redemption_name_length: business('兑换码名称长度必须在1-20之间', 'The name of a code needs 1 to 20 characters', 2),
  redemption_count_low: business('兑换码个数必须大于0', 'The number of codes must be above 0', 2),
  redemption_count_high: business('一次兑换码批量生成的个数不能大于 100', 'At most 100 codes can be made at once', 2),
  redemption_quota: business('兑换码额度必须大于0', 'The quota of a code must be above 0', 2),
  redemption_used_edit: business('已使用的兑换码不能修改', 'A used code cannot be changed', 6),
  redemption_key_missing: business('未提供兑换码', 'No redemption code was given', 2),
  redemption_invalid: business('兑换失败，无效的兑换码', 'The redemption code is not valid', 5),
  redemption_used: business('兑换失败，该兑换码已被使用', 'The redemption code has been used already', 6),
  topup_minimum: business('充值数量不能小于{min}', 'The top-up must be at least {min}', 2),
  topup_money_low: business('充值金额过低', 'The amount to pay is too small', 2),
  topup_unconfigured: business('管理员未开启在线充值！', 'Online top-up is not enabled by the administrator!', 6),
  topup_pay_failed: row(502, 'api_error', 7, 'host', '拉起支付失败', 'The payment could not be started', 200),
  topup_paid: business('订单已支付', 'The order has been paid already', 6),
  affiliate_minimum: business('划转失败 转移额度最小为{min}！', 'Transfer failed: at least {min}!', 2),
  affiliate_insufficient: business('划转失败 邀请额度不足！', 'Transfer failed: not enough invitation quota!', 6),
  log_time_required: business('请选择日志清理的截止时间', 'target timestamp is required', 2),
  secret_unreadable: row(
    500,
    'api_error',
    1,
    'ours',
    '无法解密（{purpose}）：密钥文件与数据库不匹配',
    'Cannot decrypt ({purpose}): the key file does not belong to this database',
    500,
  ),
  user_insufficient: business('用户额度不足', 'The account does not hold that much', 6),
  // terminal
  usage: business('用法错误：{detail}', 'Usage error: {detail}', 2),
  cancelled: business('已取消', 'Cancelled', 3),
  input_needed: business('缺少必要参数：{flags}', 'Input needed: {flags}', 9),
  server_unreachable: row(502, 'api_error', 7, 'host', '无法连接服务器：{detail}', 'Cannot reach the server: {detail}'),
  port_taken: business('端口 {port} 已被占用', 'Port {port} is already in use', 6),
  data_dir_locked: business('数据目录 {dir} 正被进程 {pid} 使用', 'Data directory {dir} is in use by process {pid}', 6),
  data_dir_unreadable: business('无法读写数据目录 {dir}：{detail}', 'Data directory {dir} cannot be used: {detail}', 1),
  database_corrupt: business(
    '数据库文件已损坏：{detail}。请用 gateway backup restore 恢复',
    'The database file is damaged: {detail}. Restore a backup with gateway backup restore',
    1,
  ),
  backup_damaged: business('备份文件已损坏：{detail}', 'The backup is damaged: {detail}', 1),
  backup_newer: business('备份来自更新的版本（{schema}）', 'The backup comes from a newer version ({schema})', 6),
  backup_unwritable: business('无法写入备份 {file}：{detail}', 'Backup {file} cannot be written: {detail}', 1),
  chat_refused: row(
    502,
    'api_error',
    7,
    'host',
    '网关拒绝了请求（状态码 {status}）：{detail}',
    'The gateway refused (status {status}): {detail}',
  ),
  document_invalid: business('文件无效：{detail}', 'The file is not valid: {detail}', 2),
  differences: business('存在 {count} 处差异', '{count} differences', 10),
  import_failed: business('导入失败：{detail}', 'The import failed: {detail}', 1),
  import_not_empty: business(
    '只能导入到空的数据目录，请换用 --data-dir',
    'Imports need an empty data directory; use another --data-dir',
    6,
  ),
  check_failed: business('检查未通过：{detail}', 'Check failed: {detail}', 8),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof errors;
export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(errors, code);

export type ErrorParams = Readonly<Record<string, string | number>>;

/** The one error that is thrown on purpose. `cause` is for our own log only and never reaches a client. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly params: ErrorParams;
  constructor(code: ErrorCode, params: ErrorParams = {}, cause?: unknown) {
    super(formatError(code, params, 'en'), cause === undefined ? undefined : { cause });
    this.name = 'AppError';
    this.code = code;
    this.params = params;
  }
  get row(): ErrorRow {
    return errors[this.code];
  }
}

/** Text of an error in one language, placeholders filled in. */
export function formatError(code: ErrorCode, params: ErrorParams, language: Language): string {
  return errors[code][language].replace(/\{(\w+)\}/g, (whole, name: string) => String(params[name] ?? whole));
}
