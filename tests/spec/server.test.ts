/** The server says and does what each rule wants; one test per rule, named after it. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type OptionKey, optionRow } from '../../server/contract/options.ts';
import { createNotify } from '../../server/domain/notifications/delivery.ts';
import type { Mail } from '../../server/domain/notifications/mailer.ts';
import { sparkEdition } from '../../server/providers/adapters/xunfei.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { sendJson, startUpstream } from '../support/upstream.ts';
import { type Rule, rules, type ServerRule } from './rules.ts';

let api: ApiFixture;
let root: Headers;
let admin: Headers;
let plain: Headers;
let plainId: number;
let rootId: number;
let clock: number;
let letters: Mail[];
let bot: boolean;
const reported: unknown[] = [];

beforeEach(async () => {
  clock = Date.now();
  letters = [];
  bot = false;
  api = await createApiFixture(
    { report: (error) => void reported.push(error) },
    {
      now: () => clock,
      quota: 0,
      sendMail: async (mail) => void letters.push(mail),
      fetch: (async (input: string | URL | Request) => {
        if (String(input).includes('turnstile')) return Response.json({ success: bot });
        throw new TypeError('nothing else may be asked');
      }) as typeof fetch,
    },
  );
  ({ headers: root, id: rootId } = await api.addUser('root', 100));
  ({ headers: admin } = await api.addUser('admin', 10));
  ({ headers: plain, id: plainId } = await api.addUser('plain', 1));
});
afterEach(() => api.close());

const ask = async (method: string, path: string, body?: unknown, as: Headers = root) =>
  (await api.send(method, path, body, { 'accept-language': 'zh', ...as })).body;
const expectMessage = async (message: string, method: string, path: string, body?: unknown, as: Headers = root) =>
  expect(await ask(method, path, body, as)).toMatchObject({ success: false, message });
const works = async (method: string, path: string, body?: unknown, as: Headers = root) => {
  const answer = await ask(method, path, body, as);
  expect([method, path, answer.message ?? '', answer.success]).toEqual([method, path, answer.message ?? '', true]);
  return answer.data;
};
const set = (key: string, value: string) => works('PUT', '/api/option/', { key, value });
const refusesOption = async (key: OptionKey, ...values: readonly string[]) => {
  for (const value of values) expect((await ask('PUT', '/api/option/', { key, value })).code).toBe('option_invalid');
};
const takesOption = async (key: OptionKey, ...values: readonly string[]) => {
  for (const value of values) await set(key, value);
};
const register = (fields: object) => ({
  username: 'newcomer',
  password: 'password1',
  password2: 'password1',
  ...fields,
});
const channel = (fields: object = {}) => ({ type: 1, name: 'up', key: 'sk-upstream', models: 'm', ...fields });
const addChannel = async (fields: object = {}): Promise<Record<string, unknown> & { id: number }> => {
  const [made] = (await works('POST', '/api/channel/', channel(fields))) as { id: number }[];
  return made as Record<string, unknown> & { id: number };
};
const channelOf = (id: number) => works('GET', `/api/channel/${id}`) as Promise<Record<string, unknown>>;
const userOf = (id: number) => works('GET', `/api/user/${id}`) as Promise<Record<string, unknown>>;
const mailOn = async () => set('SMTPServer', 'mail.example');
/** The console's answer to a relay request that fails. */
const relaySays = async (key: string, body: object = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }) => {
  const answer = await api.gateway.chat(key, body, { 'accept-language': 'zh' });
  return { status: answer.status, text: await answer.text() };
};

const jsonKeys = [
  'GroupRatio',
  'UserUsableGroups',
  'ModelPrice',
  'ModelRatio',
  'CacheRatio',
  'CompletionRatio',
  'Chats',
  'gemini.safety_settings',
  'gemini.version_settings',
  'claude.model_headers_settings',
  'claude.default_max_tokens',
  'TopupGroupRatio',
] as const satisfies readonly OptionKey[];
const badJson = async () => {
  for (const key of jsonKeys)
    await expectMessage(`配置项 ${key} 的值无效：不是合法的 JSON 字符串`, 'PUT', '/api/option/', {
      key,
      value: '{"a":',
    });
};
const topupJson = () =>
  expectMessage('配置项 TopupGroupRatio 的值无效：不是合法的 JSON 字符串', 'PUT', '/api/option/', {
    key: 'TopupGroupRatio',
    value: 'vip=1',
  });
const webhook = async () => {
  const setting = (webhook_url: string) => ({ notify_type: 'webhook', quota_warning_threshold: 1, webhook_url });
  await expectMessage('无效的Webhook地址', 'PUT', '/api/user/setting', setting('http://hooks.example/'), plain);
  await expectMessage('无效的Webhook地址', 'PUT', '/api/user/setting', setting('ftp://hooks.example/'), plain);
  await works('PUT', '/api/user/setting', setting('https://hooks.example/'), plain);
};
const tooMany = async () => {
  let last = await api.send('GET', '/api/status');
  for (let guess = 0; guess < 12; guess++)
    last = await api.send('POST', '/api/user/login', { username: 'plain', password: 'wrong' });
  expect([last.status, last.body.message]).toEqual([429, '请求次数过多，请稍后再试']);
};
const ownError = async () => {
  await api.gateway.database.query.schema.dropTable('redemptions').execute();
  const answer = await api.send('GET', '/api/redemption/', undefined, root);
  expect([answer.status, answer.body.message]).toEqual([500, '服务器内部错误，请联系管理员']);
  expect(reported.length).toBeGreaterThan(0);
};
const demo = async () => {
  await set('DemoSiteEnabled', 'true');
  await api.gateway.call('setup.run', { DemoSiteEnabled: true });
  const answer = await api.send('POST', '/api/token/', { name: 'x' }, plain);
  expect([answer.status, answer.body.message]).toEqual([405, '本站仅作演示之用，无服务端！']);
};

/** Every message the dictionaries list, each brought about. */
const dictionary = async () => {
  const token = (await works('POST', '/api/token/', { name: 'a', remain_quota: 1000 }, plain)) as {
    id: number;
    key: string;
  };
  await addChannel({ models: 'gpt-4o-mini', base_url: 'http://127.0.0.1:1' });
  await api.gateway.sync();
  const bare = token.key;
  const requested = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] };
  expect((await relaySays(bare, requested)).text).toContain('用户余额不足');
  expect((await relaySays('x'.repeat(48), requested)).text).toContain('无效的令牌');
  await works('PUT', '/api/user/', { id: plainId, add_quota: 5_000_000 });
  await works('PUT', '/api/token/', { id: token.id, expired_time: 1000 }, plain);
  await api.gateway.sync();
  expect((await relaySays(bare, requested)).text).toContain('该令牌已过期');
  await works('PUT', '/api/token/', { id: token.id, expired_time: -1, remain_quota: 0 }, plain);
  await api.gateway.sync();
  expect((await relaySays(bare, requested)).text).toContain('该令牌额度不足：剩余 $0.00，本次需要 $');
  await works('PUT', '/api/token/', { id: token.id, unlimited_quota: true }, plain);
  await works('PUT', '/api/channel/', { id: 1, status: 2 });
  const owner = (await works('POST', '/api/token/', { name: 'b', unlimited_quota: true }, root)) as { key: string };
  await works('PUT', '/api/user/', { id: rootId, add_quota: 5_000_000 });
  await api.gateway.sync();
  expect((await relaySays(`${owner.key}-1`, requested)).text).toContain('该渠道已被禁用');
  await works('PUT', '/api/channel/', { id: 1, status: 1 });
  await set('ModelRequestRateLimitEnabled', 'true');
  await set('ModelRequestRateLimitCount', '1');
  await api.gateway.sync();
  await relaySays(bare, requested);
  expect(await relaySays(bare, requested)).toMatchObject({
    status: 429,
    text: expect.stringContaining('您已达到总请求数限制'),
  });
  const [code = ''] = (await works('POST', '/api/redemption/', { name: 'c', quota: 5, count: 1 })) as string[];
  await expectMessage('兑换失败，无效的兑换码', 'POST', '/api/user/topup', { key: 'nothing' }, plain);
  await works('POST', '/api/user/topup', { key: code }, plain);
  await expectMessage('兑换失败，该兑换码已被使用', 'POST', '/api/user/topup', { key: code }, plain);
  await expectMessage(
    '验证码错误或已过期',
    'GET',
    '/api/oauth/email/bind?email=a@b.example&code=000000',
    undefined,
    plain,
  );
  await expectMessage('重置链接非法或已过期', 'POST', '/api/user/reset', { email: 'a@b.example', token: 'no' }, {});
  await expectMessage(
    '用户名或密码错误，或用户已被封禁',
    'POST',
    '/api/user/login',
    { username: 'plain', password: 'no' },
    {},
  );
  await set('RegisterEnabled', 'false');
  await expectMessage('管理员关闭了新用户注册', 'POST', '/api/user/register', register({}), {});
  await set('PasswordLoginEnabled', 'false');
  await expectMessage(
    '管理员关闭了密码登录',
    'POST',
    '/api/user/login',
    { username: 'plain', password: 'password1' },
    {},
  );
};

const proofs: Readonly<Record<ServerRule, () => Promise<unknown>>> = {
  'user.add': async () => {
    await expectMessage('用户名或密码为空', 'POST', '/api/user/', { username: '', password: 'password1' });
    await expectMessage('用户名或密码为空', 'POST', '/api/user/', { username: 'new', password: '' });
  },
  'register.password_short': () =>
    expectMessage(
      '输入不合法：密码长度须为 8 到 20 个字符',
      'POST',
      '/api/user/register',
      register({ password: 'seven77' }),
      {},
    ),
  'register.match': () =>
    expectMessage('两次输入的密码不一致', 'POST', '/api/user/register', register({ password2: 'password2' }), {}),
  'register.needs_both': async () => {
    await expectMessage(
      '输入不合法：用户名长度须为 1 到 12 个字符',
      'POST',
      '/api/user/register',
      register({ username: '' }),
      {},
    );
    await expectMessage(
      '输入不合法：密码长度须为 8 到 20 个字符',
      'POST',
      '/api/user/register',
      register({ password: '' }),
      {},
    );
  },
  'register.password_long': async () => {
    const of = (length: number) => register({ password: 'x'.repeat(length), password2: 'x'.repeat(length) });
    await expectMessage('输入不合法：密码长度须为 8 到 20 个字符', 'POST', '/api/user/register', of(21), {});
    await works('POST', '/api/user/register', of(20), {});
  },
  'register.username_long': async () => {
    const of = (length: number) => register({ username: 'x'.repeat(length) });
    await expectMessage('输入不合法：用户名长度须为 1 到 12 个字符', 'POST', '/api/user/register', of(13), {});
    await works('POST', '/api/user/register', of(12), {});
  },
  'register.code': async () => {
    await mailOn();
    await set('EmailVerificationEnabled', 'true');
    await expectMessage('管理员开启了邮箱验证，请输入邮箱地址和验证码', 'POST', '/api/user/register', register({}), {});
    const email = { email: 'a@b.example', verification_code: '123456' };
    await expectMessage('验证码错误或已过期', 'POST', '/api/user/register', register(email), {});
    await set('EmailVerificationEnabled', 'false');
    await works('POST', '/api/user/register', register({}), {});
  },
  'register.bot_check': async () => {
    await set('TurnstileSiteKey', 'site');
    await set('TurnstileSecretKey', 'secret');
    await set('TurnstileCheckEnabled', 'true');
    await expectMessage('请先完成人机验证', 'POST', '/api/user/register', register({}), {});
    await expectMessage('Turnstile 校验失败，请刷新重试！', 'POST', '/api/user/register?turnstile=t', register({}), {});
    bot = true;
    await works('POST', '/api/user/register?turnstile=t', register({}), {});
  },
  'login.needs_both': async () => {
    await expectMessage('用户名或密码为空', 'POST', '/api/user/login', { username: '', password: 'password1' }, {});
    await expectMessage('用户名或密码为空', 'POST', '/api/user/login', { username: 'plain', password: '' }, {});
  },
  'user.edit_password': async () => {
    await expectMessage('输入不合法：密码长度须为 8 到 20 个字符', 'PUT', '/api/user/', {
      id: plainId,
      password: 'seven77',
    });
    await works('PUT', '/api/user/', { id: plainId, password: '' });
    await api.login('plain', 'password1');
  },
  'user.edit_quota': async () => {
    await works('PUT', '/api/user/', { id: plainId, quota: '700' });
    expect(await userOf(plainId)).toMatchObject({ quota: 700 });
    expect((await ask('PUT', '/api/user/', { id: plainId, quota: '7.5' })).code).toBe('params_invalid');
    expect((await ask('PUT', '/api/user/', { id: plainId, quota: 'many' })).success).toBe(false);
    expect(await userOf(plainId)).toMatchObject({ quota: 700 });
  },
  'user.edit_negative': async () => {
    await works('PUT', '/api/user/', { id: plainId, add_quota: 700 });
    await works('PUT', '/api/user/', { id: plainId, add_quota: -200 });
    expect(await userOf(plainId)).toMatchObject({ quota: 500 });
  },
  'user.edit_readonly': async () => {
    const ids = {
      github_id: 'g',
      oidc_id: 'o',
      wechat_id: 'w',
      telegram_id: 't',
      linux_do_id: 'l',
      email: 'e@x.example',
    };
    await works('PUT', '/api/user/', { id: plainId, display_name: 'Plain', ...ids });
    const nothing = Object.fromEntries(Object.keys(ids).map((key) => [key, '']));
    expect(await userOf(plainId)).toMatchObject({ display_name: 'Plain', ...nothing });
  },
  'email.needs_both': async () => {
    await expectMessage('无效的邮箱地址', 'GET', '/api/oauth/email/bind?email=&code=123456', undefined, plain);
    await expectMessage('验证码错误或已过期', 'GET', '/api/oauth/email/bind?email=a@b.example&code=', undefined, plain);
  },
  'affiliate.minimum': () =>
    expectMessage(
      '划转失败：最低划转额度为 ＄1.000000 额度',
      'POST',
      '/api/user/aff_transfer',
      { quota: 499_999 },
      plain,
    ),
  'webhook.https': webhook,
  'webhook.https_again': webhook,
  'webhook.bearer': async () => {
    const calls: { url: string; authorization: string | null }[] = [];
    const notify = createNotify({
      sendMail: async () => undefined,
      fetch: async (url, init) => {
        calls.push({ url: String(url), authorization: new Headers(init?.headers as never).get('authorization') });
        return new Response(null, { status: 204 });
      },
      secretOf: api.gateway.services.settings.webhookSecret,
      now: () => clock,
    });
    const setting = { notify_type: 'webhook', webhook_url: 'https://hooks.example/q' };
    await works('PUT', '/api/user/setting', { ...setting, webhook_secret: 's3cret' }, plain);
    const told = { type: 'quota_exceed', title: 'a', content: 'b', values: [] };
    await notify({ id: plainId, username: 'me', email: '', setting: JSON.stringify(setting) }, told);
    expect(calls).toEqual([{ url: 'https://hooks.example/q', authorization: 'Bearer s3cret' }]);
  },
  'setup.username': () => setUp('请输入管理员用户名', { username: '  ' }),
  'setup.password': () => setUp('密码长度至少为8个字符', { password: 'seven77', confirmPassword: 'seven77' }),
  'setup.match': () => setUp('两次输入的密码不一致', { confirmPassword: 'password2' }),
  'error.429': tooMany,
  'error.429_settings': tooMany,
  'error.500': ownError,
  'error.500_settings': ownError,
  'error.405': demo,
  'error.405_settings': demo,
  'server.messages': dictionary,
  'server.messages_again': dictionary,
  'server.triggers': dictionary,
  'role.peer': async () => {
    const { id: peer } = await api.addUser('peer', 10);
    await expectMessage('无权获取同级或更高等级用户的信息', 'GET', `/api/user/${peer}`, undefined, admin);
    await expectMessage(
      '无权更新同权限等级或更高权限等级的用户信息',
      'PUT',
      '/api/user/',
      { id: peer, quota: 1 },
      admin,
    );
    await expectMessage(
      '无权更新同权限等级或更高权限等级的用户信息',
      'PUT',
      '/api/user/',
      { id: rootId, quota: 1 },
      admin,
    );
  },
  'role.promote': () =>
    expectMessage(
      '普通管理员用户无法提升其他用户为管理员',
      'POST',
      '/api/user/manage',
      { id: plainId, action: 'promote' },
      admin,
    ),
  'role.root': async () => {
    const { id } = await api.addUser('root2', 100);
    await expectMessage('无法禁用超级管理员用户', 'POST', '/api/user/manage', { id, action: 'disable' });
    await expectMessage('无法删除超级管理员用户', 'POST', '/api/user/manage', { id, action: 'delete' });
    await expectMessage('无法降级超级管理员用户', 'POST', '/api/user/manage', { id, action: 'demote' });
  },
  'code.three_minutes': async () => {
    await mailOn();
    const path = (code: string) => `/api/oauth/email/bind?email=a@b.example&code=${code}`;
    const fresh = async () => {
      await works('GET', '/api/verification?email=a@b.example', undefined, {});
      return /<strong>(\w{6})<\/strong>/.exec(letters.at(-1)?.html ?? '')?.[1] ?? '';
    };
    const expired = await fresh();
    clock += 180_000;
    await expectMessage('验证码错误或已过期', 'GET', path(expired), undefined, plain);
    const timely = await fresh();
    clock += 179_000;
    await works('GET', path(timely), undefined, plain);
  },
  'option.json': badJson,
  'option.json_again': badJson,
  'option.topup_json': topupJson,
  'payment.ratio': topupJson,
  'domain.pattern': async () => {
    await refusesOption('EmailDomainWhitelist', 'nodot', 'a..example', '@a.example');
    await takesOption('EmailDomainWhitelist', 'a.example,b.co.uk');
  },
  'domain.separate': async () => {
    const key = 'EmailDomainWhitelist';
    const place = `配置项 ${key} 的值无效：`;
    await expectMessage(`${place}邮箱域名格式不正确：nodot`, 'PUT', '/api/option/', { key, value: 'nodot' });
    await expectMessage(`${place}该域名已存在：A.example`, 'PUT', '/api/option/', {
      key,
      value: 'a.example,A.example',
    });
  },
  'oidc.address': async () => {
    const key = 'oidc.well_known';
    await expectMessage(`配置项 ${key} 的值无效：必须以 http:// 或 https:// 开头`, 'PUT', '/api/option/', {
      key,
      value: 'id.example',
    });
    await takesOption(key, 'http://id.example/x', 'https://id.example/x');
  },
  'limit.period': async () => {
    await refusesOption('ModelRequestRateLimitDurationMinutes', '-1', '1.5');
    await takesOption('ModelRequestRateLimitDurationMinutes', '0', '5');
  },
  'limit.requests': async () => {
    await refusesOption('ModelRequestRateLimitCount', '-1', 'x');
    await takesOption('ModelRequestRateLimitCount', '0', '5');
  },
  'limit.failed_count': async () => {
    const upstream = await startUpstream((response) => sendJson(response, { error: { message: 'no' } }, 400));
    await api.gateway.channel(upstream.url);
    await works('PUT', '/api/user/', { id: api.gateway.userId, add_quota: 5_000_000 });
    const { key } = await api.gateway.token();
    await set('ModelRequestRateLimitEnabled', 'true');
    await set('ModelRequestRateLimitCount', '2');
    await api.gateway.sync();
    const requested = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] };
    const statuses = [];
    for (let sent = 0; sent < 3; sent++) statuses.push((await relaySays(key, requested)).status);
    await upstream.stop();
    expect(statuses).toEqual([400, 400, 429]);
  },
  'limit.successes': async () => {
    await refusesOption('ModelRequestRateLimitSuccessCount', '0', '-1');
    await takesOption('ModelRequestRateLimitSuccessCount', '1');
  },
  'thinking.budget': async () => {
    for (const key of [
      'gemini.thinking_adapter_budget_tokens_percentage',
      'claude.thinking_adapter_budget_tokens_percentage',
    ] as const) {
      await refusesOption(key, '0.09', '1.01', 'x');
      await takesOption(key, '0.1', '1');
    }
  },
  'ping.seconds': async () => {
    await refusesOption('general_setting.ping_interval_seconds', '0', '-1');
    await takesOption('general_setting.ping_interval_seconds', '1');
  },
  'dashboard.interval': async () => {
    await refusesOption('DataExportInterval', '0', '0.5');
    await takesOption('DataExportInterval', '1');
  },
  'monitoring.thresholds': async () => {
    for (const key of ['ChannelDisableThreshold', 'QuotaRemindThreshold'] as const) {
      await refusesOption(key, '-1');
      await takesOption(key, '0');
    }
  },
  'log.cutoff': () => expectMessage('请选择日志清理的截止时间', 'DELETE', '/api/log/'),
  'log.clear_failed': () => expectMessage('请选择日志清理的截止时间', 'DELETE', '/api/log/?target_timestamp=0'),
  'number.maxima': async () => {
    await refusesOption('QuotaForNewUser', '1000000000000000');
    await takesOption('QuotaForNewUser', '999999999999999');
    await refusesOption('ModelRatio', '{"m":1e999}');
  },
  'oidc.unreachable': () =>
    expectMessage(
      '获取 OIDC 配置失败，请检查网络状况和 Well-Known URL 是否正确',
      'POST',
      '/api/option/oidc_discovery',
      {
        url: 'https://id.example/.well-known/openid-configuration',
      },
    ),
  'update.failed': async () => {
    await expectMessage('未设置版本发布地址，无法检查更新', 'GET', '/api/update');
    await set('general_setting.release_url', 'https://releases.example/latest');
    await expectMessage('检查更新失败，请稍后再试', 'GET', '/api/update');
  },
  'channel.copy_name': async () => {
    const { id } = await addChannel({ name: 'first' });
    expect(await works('POST', `/api/channel/copy/${id}`)).toMatchObject({ name: 'first_复制' });
  },
  'channel.slash': async () => {
    expect(await addChannel({ base_url: 'https://up.example/' })).toMatchObject({ base_url: 'https://up.example' });
  },
  'channel.required': async () => {
    await expectMessage('请填写渠道名称和渠道密钥！', 'POST', '/api/channel/', channel({ name: ' ' }));
    await expectMessage('请填写渠道名称和渠道密钥！', 'POST', '/api/channel/', channel({ key: ' \n ' }));
  },
  'channel.models': async () => {
    for (const models of ['', ' , ', []])
      await expectMessage('请至少选择一个模型！', 'POST', '/api/channel/', channel({ models }));
  },
  'channel.mapping': async () => {
    for (const model_mapping of ['{', '[]', '"a"', 'a=b'])
      await expectMessage('模型映射必须是合法的 JSON 格式！', 'POST', '/api/channel/', channel({ model_mapping }));
    await addChannel({ model_mapping: '{"a":"b"}' });
  },
  'channel.spark_version': async () => {
    expect(sparkEdition('SparkDesk', '')).toBe(sparkEdition('SparkDesk', 'v2.1'));
    const types = (await works('GET', '/api/channel/types')) as { type: number; other: { fallback: string } | null }[];
    expect(types.find(({ type }) => type === 18)?.other?.fallback).toBe('v2.1');
    expect(await addChannel({ type: 18, key: 'app|secret|key', other: '' })).toMatchObject({ other: 'v2.1' });
  },
  'channel.integers': async () => {
    expect(await addChannel({ priority: '7', weight: '3' })).toMatchObject({ priority: 7, weight: 3 });
    expect((await ask('POST', '/api/channel/', channel({ priority: '1.5' }))).code).toBe('params_invalid');
  },
  'channel.own_models': async () => {
    expect(await addChannel({ models: ' a, b ,,c,a ' })).toMatchObject({ models: 'a,b,c' });
  },
  'channel.fetch_key': () =>
    expectMessage('请填写密钥', 'POST', '/api/channel/fetch_models', { type: 1, base_url: '', key: ' ' }),
  'channel.inline_weight': async () => {
    const { id } = await addChannel();
    expect(await works('PUT', '/api/channel/', { id, weight: -5 })).toMatchObject({ weight: 0 });
  },
  'tag.unchanged': () => expectMessage('没有任何修改！', 'PUT', '/api/channel/tag', { tag: 'blue', new_tag: 'blue' }),
  'tag.mapping': () =>
    expectMessage('模型映射必须是合法的 JSON 格式！', 'PUT', '/api/channel/tag', { tag: 'blue', model_mapping: '{' }),
  'tag.blank': async () => {
    const { id } = await addChannel({ tag: 'blue', models: 'a,b', model_mapping: '{"a":"b"}', group: 'default,vip' });
    const blank = { models: '', groups: '', model_mapping: '' };
    await works('PUT', '/api/channel/tag', { tag: 'blue', new_tag: 'green', ...blank });
    expect(await channelOf(id)).toMatchObject({
      tag: 'green',
      models: 'a,b',
      model_mapping: '{"a":"b"}',
      group: 'default,vip',
    });
  },
  'tag.dissolve': async () => {
    const { id } = await addChannel({ tag: 'blue' });
    await works('PUT', '/api/channel/tag', { tag: 'blue', new_tag: '' });
    expect(await channelOf(id)).toMatchObject({ tag: '' });
  },
  'batch.tag_choose': () =>
    expectMessage('请先选择要设置标签的渠道！', 'POST', '/api/channel/batch/tag', { ids: [], tag: 'blue' }),
  'batch.delete_choose': () => expectMessage('请先选择要删除的通道！', 'POST', '/api/channel/batch', { ids: [] }),
  'token.name': () => expectMessage('请输入名称', 'POST', '/api/token/', { name: ' ' }, plain),
  'token.expiry': async () => {
    for (const expired_time of [0, -2])
      await expectMessage('过期时间格式错误！', 'POST', '/api/token/', { name: 'a', expired_time }, plain);
  },
  'token.expiry_format': async () => {
    expect(await works('POST', '/api/token/', { name: 'a', expired_time: -1 }, plain)).toMatchObject({
      expired_time: -1,
      status: 1,
    });
  },
  'token.quota_integer': async () => {
    expect((await ask('POST', '/api/token/', { name: 'a', remain_quota: 1.5 }, plain)).code).toBe('params_invalid');
    expect(await works('POST', '/api/token/', { name: 'a', remain_quota: '7' }, plain)).toMatchObject({
      remain_quota: 7,
    });
  },
  'redemption.name': async () => {
    const [key] = (await works('POST', '/api/redemption/', { name: ' ', quota: 500_000, count: 1 })) as string[];
    expect(await works('GET', '/api/redemption/?p=0')).toMatchObject({ items: [{ key, name: '$1.00' }] });
  },
  'redemption.default_name': async () => {
    await works('POST', '/api/redemption/', { quota: 1_000_000 });
    expect(await works('GET', '/api/redemption/?p=0')).toMatchObject({ items: [{ name: '$2.00' }] });
  },
  'redemption.name_length': async () => {
    const of = (length: number) => ({ name: '码'.repeat(length), quota: 1, count: 1 });
    await expectMessage('兑换码名称长度必须在1-20之间', 'POST', '/api/redemption/', of(21));
    await works('POST', '/api/redemption/', of(20));
  },
  'redemption.integers': async () => {
    expect((await ask('POST', '/api/redemption/', { name: 'a', quota: 1.5, count: 1 })).code).toBe('params_invalid');
    expect((await ask('POST', '/api/redemption/', { name: 'a', quota: 1, count: 1.5 })).code).toBe('params_invalid');
  },
  'redemption.count': async () => {
    const of = (count: number) => ({ name: 'a', quota: 1, count });
    await expectMessage('兑换码个数必须大于0', 'POST', '/api/redemption/', of(0));
    await expectMessage('一次兑换码批量生成的个数不能大于 100', 'POST', '/api/redemption/', of(101));
    expect(await works('POST', '/api/redemption/', of(100))).toHaveLength(100);
  },
  'wallet.minimum': async () => {
    await payable();
    await set('MinTopUp', '3');
    const answer = await ask('POST', '/api/user/amount', { amount: 2 }, plain);
    expect(answer).toMatchObject({ message: 'error', data: '充值数量不能小于3' });
  },
  'wallet.least': async () => {
    await payable();
    await refusesOption('MinTopUp', '0');
    expect(await ask('POST', '/api/user/amount', { amount: 0 }, plain)).toMatchObject({ data: '充值数量不能小于1' });
    expect(await ask('POST', '/api/user/amount', { amount: 1 }, plain)).toMatchObject({ message: 'success' });
  },
  'wallet.offline': async () => {
    const answer = await ask('POST', '/api/user/pay', { amount: 5, payment_method: 'zfb' }, plain);
    expect(answer).toMatchObject({ message: 'error', data: '管理员未开启在线充值！' });
  },
  'channel.pin': async () => {
    await addChannel({ models: 'gpt-4o-mini' });
    const { key } = (await works('POST', '/api/token/', { name: 'a', unlimited_quota: true }, plain)) as {
      key: string;
    };
    await works('PUT', '/api/user/', { id: plainId, add_quota: 5_000_000 });
    await api.gateway.sync();
    const requested = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] };
    expect(await relaySays(`${key}-1`, requested)).toMatchObject({
      status: 403,
      text: expect.stringContaining('普通用户不支持指定渠道'),
    });
  },
  'chat.link_invalid': async () => {
    await set('Chats', '[{"Lobe":"nowhere"}]');
    await expectMessage('聊天链接配置错误，请联系管理员', 'POST', '/api/chat/0', {}, plain);
  },
  'chat.links_unset': () => expectMessage('请联系管理员配置聊天链接', 'POST', '/api/chat/0', {}, plain),
  'chat.no_token': async () => {
    await set('Chats', '[{"Lobe":"https://chat.example/?key={key}"}]');
    await expectMessage('当前没有可用的启用令牌，请确认是否有令牌处于启用状态！', 'POST', '/api/chat/0', {}, plain);
  },
};

async function setUp(message: string, wrong: object) {
  await api.gateway.database.query.deleteFrom('users').execute();
  const details = { username: 'root', password: 'password1', confirmPassword: 'password1', code: 'code', ...wrong };
  await expectMessage(message, 'POST', '/api/setup', details, {});
}

async function payable() {
  await set('ServerAddress', 'https://site.example');
  await set('PayAddress', 'https://pay.example');
  await set('EpayId', '1000');
  await set('EpayKey', 'key');
}

const serverRules: readonly Rule[] = (rules as readonly Rule[]).filter(({ at }) => at !== 'console');

test.each(serverRules)('$id: $says', async ({ id }) => {
  await proofs[id as ServerRule]();
});

test('what the console checks itself is checked with the same words of the option’s own row', () => {
  expect(optionRow('TopupGroupRatio').kind.check('{')?.zh).toBe('不是合法的 JSON 字符串');
});
