/** The console says and checks what each rule wants; one test per rule, named after it. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { type OptionKey, optionRow } from '../../server/contract/options.ts';
import { withModels } from '../../web/features/channels/model-list.ts';
import { dateTime, parseDateTime } from '../../web/lib/format.ts';
import { en } from '../../web/locales/en.ts';
import { zh } from '../../web/locales/zh.ts';
import { type Rule, rules, type SilentConsoleRule } from './rules.ts';

const root = resolve(import.meta.dirname, '../../web');
const flat = (value: unknown, path = ''): [string, string][] =>
  typeof value === 'string'
    ? [[path, value]]
    : Object.entries(value as Record<string, unknown>).flatMap(([key, item]) =>
        flat(item, path === '' ? key : `${path}.${key}`),
      );
const chinese = new Map(flat(zh));
const english = new Map(flat(en));
const sources = new Map(
  [...new Bun.Glob('**/*.{ts,tsx}').scanSync({ cwd: root })].map((path) => [
    path,
    readFileSync(join(root, path), 'utf8'),
  ]),
);
const source = (path: string): string => sources.get(path) ?? '';

const own: readonly Rule[] = (rules as readonly Rule[]).filter(({ at }) => at !== 'server');
const spoken = own.filter(({ message }) => message !== undefined);
const silent = own.filter(({ message }) => message === undefined);

/** Keys whose text is the message, blanks of the document and of the dictionary aside. */
function keysOf(message: string): string[] {
  const bare = (text: string) => text.replace(/\.\.\.|\{\{?\w+\}?\}$/g, '').toLowerCase();
  const dictionary = /\p{Script=Han}/u.test(message) ? chinese : english;
  return [...dictionary].filter(([, text]) => bare(text) === bare(message)).map(([key]) => key);
}
/** Messages that the option's own row words for the server and for the console. */
const ofOptions: Readonly<Record<string, readonly OptionKey[]>> = {
  '不是合法的 JSON 字符串': ['GroupRatio', 'UserUsableGroups', 'Chats', 'claude.default_max_tokens', 'TopupGroupRatio'],
};

test.each(spoken)('$id: $message', ({ message = '' }) => {
  const options = ofOptions[message];
  if (options !== undefined) {
    for (const key of options) expect([key, optionRow(key).kind.check('{"a":')?.zh]).toEqual([key, message]);
    expect(source('features/settings/panel.tsx')).toMatch(/kind\.check\(.*\)[\s\S]{0,80}wrong\[language\]/);
    return;
  }
  const keys = keysOf(message);
  expect(keys).not.toEqual([]);
  const used = keys.filter((key) => [...sources.values()].some((text) => text.includes(`'${key}'`)));
  expect(used).toEqual(keys);
  // Said in the other language as well.
  for (const key of keys) expect(english.get(key)).not.toBe(chinese.get(key));
});

const shows = (path: string, ...patterns: readonly RegExp[]) => {
  for (const pattern of patterns) expect(source(path)).toMatch(pattern);
};
const reads = (key: string, text: string) => expect(chinese.get(key)).toBe(text);
const complains = (key: OptionKey, text: string, about: string) => {
  expect(optionRow(key).kind.check(text)?.zh).toContain(about);
  shows('features/settings/panel.tsx', /setErrors\(complaints\)/);
};
const toLogin = () => shows('lib/api.ts', /response\.status === 401[\s\S]{0,300}\/login\?expired=true/);
const toast = () => {
  shows('lib/attempt.ts', /toast\.error\(messageOf\(error\)\)/);
  shows('lib/api.ts', /throw new ApiError\(\s*body\.message \|\| wordsFor/);
};
const byHand = () => {
  shows('lib/copy.ts', /else showByHand\(text\)/);
  shows('shell/copy-by-hand.tsx', /value=\{text\}/, /app\.copyFailed\.title/);
  shows('shell/shell.tsx', /<CopyByHand \/>/);
  const quiet = [...sources].filter(([path, text]) => text.includes("toast.error(t('app.copyFailed") && path !== '');
  expect(quiet.map(([path]) => path)).toEqual([]);
};

const proofs: Readonly<Record<SilentConsoleRule, () => unknown>> = {
  'user.add': () => {
    reads('users.needBoth', '用户名和密码不能为空！');
    shows(
      'features/users/user-drawer.tsx',
      /username\.trim\(\) === '' \|\| password === ''\)\) return setError\(t\('users\.needBoth/,
    );
  },
  'register.password_short': () => {
    reads('account.passwordShort', '密码长度不得小于 8 位！');
    shows(
      'features/account/register-page.tsx',
      /shortestPassword = 8/,
      /length < shortestPassword\) return setError\(t\('account\.passwordShort/,
    );
  },
  'register.match': () => {
    reads('account.passwordsDiffer', '两次输入的密码不一致');
    shows(
      'features/account/register-page.tsx',
      /password !== password2\) return setError\(t\('account\.passwordsDiffer/,
    );
  },
  'register.needs_both': () =>
    shows(
      'features/account/register-page.tsx',
      /username === '' \|\| password === ''\) return setError\(t\('login\.empty/,
    ),
  'register.password_long': () => reads('account.passwordHelp', '8 到 20 个字符'),
  'register.username_long': () => {
    reads('account.usernameHelp', '最多 12 个字符');
    shows('features/account/register-page.tsx', /name="username".*maxLength=\{12\}/);
  },
  'register.code': () =>
    shows('features/account/register-page.tsx', /status\?\.email_verification \? \([\s\S]{0,900}name="code"/),
  'register.bot_check': () =>
    shows(
      'features/account/register-page.tsx',
      /if \(!ready\(\)\) return;\n\s+setBusy/,
      /setError\(t\('account\.botWait/,
    ),
  'bot_check.wait': () => {
    reads('account.botWait', '请稍后几秒重试，Turnstile 正在检查用户环境！');
    shows('features/account/login-form.tsx', /!bot\.isReady\(\)\) return setError\(t\('account\.botWait/);
  },
  'login.needs_both': () => {
    reads('login.empty', '请输入用户名和密码！');
    shows(
      'features/account/login-form.tsx',
      /username === '' \|\| password === ''\) return setError\(t\('login\.empty/,
    );
  },
  'user.edit_password': () => reads('users.passwordHelp', '留空则不修改，最短 8 位'),
  'user.edit_quota': () => shows('features/users/user-drawer.tsx', /Number\.parseInt\(added, 10\)/),
  'user.edit_negative': () => {
    expect(chinese.get('users.addQuotaHelp')).toContain('可为负数');
    shows('features/users/user-drawer.tsx', /more === 0 \? \{\} : \{ add_quota: more \}/);
  },
  'user.edit_readonly': () => {
    const drawer = source('features/users/user-drawer.tsx');
    const list = drawer.slice(drawer.indexOf('bindings.map'));
    expect(list.length).toBeLessThan(drawer.length);
    expect(list.slice(0, list.indexOf('</dl>') > 0 ? list.indexOf('</dl>') : 600)).not.toContain('<input');
    expect(drawer.slice(drawer.indexOf("call('user.update'"), drawer.indexOf('toast.success'))).not.toMatch(
      /_id\b|email/,
    );
  },
  'self.close_name': () => {
    reads('personal.typeName', '请输入你的账户名以确认删除！');
    shows('features/personal/security.tsx', /typed !== self\.username\) return toast\.error\(t\('personal\.typeName/);
  },
  'self.password_match': () =>
    shows(
      'features/personal/security.tsx',
      /text\('password'\) !== text\('password2'\)\) return setError\(t\('account\.passwordsDiffer/,
    ),
  'email.needs_both': () =>
    expect(
      source('features/personal/bindings.tsx')
        .split('function UnbindDrawer')[0]
        ?.match(/\brequired\n/g),
    ).toHaveLength(2),
  'setup.form': () => shows('features/setup/setup-page.tsx', /new FormData\(event\.currentTarget\)/),
  'error.shown': toast,
  'error.shown_again': toast,
  'option.refused': () =>
    shows('features/settings/panel.tsx', /failures\[key\] = messageOf\(error\)/, /setErrors\(failures\)/),
  'error.401': toLogin,
  'error.401_settings': toLogin,
  'error.401_again': toLogin,
  'error.http': () => shows('lib/api.ts', /new ApiError\(wordsFor\(response\.status\)/),
  'copy.failed': byHand,
  'copy.failed_settings': byHand,
  'copy.done': () => shows('lib/copy.ts', /toast\.success\(i18next\.t\('app\.copied'\)\)/),
  'login.default_password': () => {
    reads('account.defaultTitle', '您正在使用默认密码！');
    reads('account.defaultText', '请立刻修改默认密码！');
    shows('features/account/login-form.tsx', /username: 'root', password: '123456'/);
    shows('features/account/login-page.tsx', /if \(isDefault\) setWarn\(true\)/);
  },
  'oauth.failed': () =>
    shows(
      'features/account/callback-page.tsx',
      /account\.failed'\)\} \$\{messageOf\(error\)/,
      /'\/login' : isAdmin\(user\) \? '\/setting'/,
    ),
  'option.topup_json': () => complains('TopupGroupRatio', 'x', '不是合法的 JSON 字符串'),
  'payment.ratio': () => complains('TopupGroupRatio', '{', '不是合法的 JSON 字符串'),
  'payment.address': () => {
    reads('settings.addressFirst', '请先填写服务器地址');
    shows('features/settings/panel.tsx', /panel === 'payment'\)[\s\S]{0,120}toast\.error\(t\('settings\.addressFirst/);
    for (const key of ['PayAddress', 'EpayId', 'EpayKey', 'Price', 'MinTopUp', 'TopupGroupRatio'] as const)
      expect(optionRow(key).panel).toBe('payment');
  },
  'domain.pattern': () => complains('EmailDomainWhitelist', 'nodot', '邮箱域名格式不正确'),
  'domain.separate': () => complains('EmailDomainWhitelist', 'a.example,a.example', '该域名已存在'),
  'oidc.address': () => {
    reads('settings.oidcAddress', 'Well-Known URL 必须以 http:// 或 https:// 开头');
    shows(
      'features/settings/extras/oidc-discovery.tsx',
      /\^https\?:[^)]*\)\) return toast\.error\(t\('settings\.oidcAddress|\.test\(url\)\) return toast\.error\(t\('settings\.oidcAddress/,
    );
  },
  'price.zero': () => {
    reads('prices.zeroPrice', '模型价格不能为 0');
    shows('features/settings/prices/draft-faults.ts', /drafted\.price === 0\) wrong\.price = t\('prices\.zeroPrice/);
  },
  'limit.period': () => complains('ModelRequestRateLimitDurationMinutes', '-1', '不小于 0'),
  'limit.requests': () => complains('ModelRequestRateLimitCount', '-1', '不小于 0'),
  'limit.successes': () => complains('ModelRequestRateLimitSuccessCount', '0', '不小于 1'),
  'thinking.budget': () => {
    complains('gemini.thinking_adapter_budget_tokens_percentage', '0', '0.1 到 1');
    complains('claude.thinking_adapter_budget_tokens_percentage', '1.1', '0.1 到 1');
  },
  'ping.seconds': () => complains('general_setting.ping_interval_seconds', '0', '不小于 1'),
  'dashboard.interval': () => complains('DataExportInterval', '0', '不小于 1'),
  'monitoring.thresholds': () => {
    complains('QuotaRemindThreshold', '-1', '不小于 0');
    complains('ChannelDisableThreshold', '-1', '0 到');
  },
  'quota_per_unit.warning': () => {
    reads('settings.unitWarning', '为保证额度计算精确到小数点后六位而设，不建议修改');
    shows('features/settings/option-field.tsx', /option === 'QuotaPerUnit'\s+\? t\('settings\.unitWarning/);
  },
  'log.cutoff': () =>
    shows(
      'features/settings/extras/clear-logs.tsx',
      /Number\.isNaN\(seconds\) \? toast\.error\(t\('settings\.timeNeeded/,
    ),
  'number.maxima': () => complains('QuotaForNewUser', '9'.repeat(16), '整数'),
  'option.unchanged_again': () =>
    shows('features/settings/panel.tsx', /changed\.length === 0\) return toast\.warning\(t\('settings\.unchanged/),
  'option.json_again': () => complains('ModelRatio', '{', '不是合法的 JSON 字符串'),
  'option.check_again': () =>
    shows('features/settings/panel.tsx', /length > 0\) return toast\.error\(t\('settings\.check/),
  'option.client_failure': () =>
    shows(
      'features/settings/panel.tsx',
      /thrown \|\|= !isAnswered\(error\)/,
      /failed < order\.length\) toast\.error\(t\('settings\.partly/,
    ),
  'option.failures_again': () => {
    for (const message of [
      '保存失败',
      '部分保存失败，请重试',
      '保存失败，请重试',
      '刷新失败',
      '获取启用模型失败',
      '获取模型列表失败',
    ])
      expect([message, keysOf(message).length > 0]).toEqual([message, true]);
  },
  'channel.v1': () => {
    shows(
      'features/channels/channel-drawer.tsx',
      /endsInVersion\(form\.base_url\).*return setAsking\(true\)/,
      /title=\{t\('channels\.v1'\)\}/,
    );
    expect(chinese.get('channels.v1')).toContain('/v1');
  },
  'channel.slash': () =>
    shows('features/channels/channel-form.ts', /base_url: form\.base_url\.trim\(\)\.replace\(\/\\\/\$\/, ''\)/),
  'channel.spark_version': () => shows('features/channels/channel-form.ts', /provider\?\.other\?\.fallback/),
  'channel.integers': () =>
    shows(
      'features/channels/channel-form.ts',
      /priority: Number\.parseInt\(form\.priority, 10\)/,
      /weight: .*Number\.parseInt\(form\.weight, 10\)/,
    ),
  'channel.own_models': () => {
    expect(withModels('a,b', ' c , d,, ')).toEqual({ models: 'a,b,c,d', hadSome: false });
    expect(withModels('', 'x,x')).toEqual({ models: 'x', hadSome: false });
    expect(withModels('a', 'b, a')).toEqual({ models: 'a,b', hadSome: true });
  },
  'channel.inline_priority': () =>
    shows('features/channels/channel-columns.tsx', /leastPriority = -999/, /min=\{leastPriority\}/),
  'channel.inline_weight': () => {
    shows('features/channels/channel-columns.tsx', /value=\{row\.weight\}\s+min=\{0\}/);
    shows('features/channels/inline-number.tsx', /Math\.max\(min, /);
  },
  'tag.mapping': () =>
    shows('features/channels/tag-drawer.tsx', /!isJsonObject\(mapping\)\) return setError\(t\('channels\.badMapping/),
  'tag.blank': () => shows('features/channels/tag-drawer.tsx', /value === '' \? undefined : value/),
  'tag.dissolve': () => {
    reads('channels.dissolve', '留空则解散标签');
    shows('features/channels/tag-drawer.tsx', /new_tag: renamed \? form\.new_tag : undefined/);
  },
  'token.expiry_format': () => {
    expect(parseDateTime('-1')).toBe(-1);
    expect(parseDateTime('2026-11-19 15:47:12')).toBe(Math.floor(new Date('2026-11-19T15:47:12').getTime() / 1000));
    expect(dateTime(parseDateTime('2026-11-19 15:47:12') ?? 0)).toBe('2026-11-19 15:47:12');
    for (const wrong of ['tomorrow', '2026-11-19', '2026-13-01 00:00:00', '2026/11/19 15:47:12'])
      expect([wrong, parseDateTime(wrong)]).toEqual([wrong, null]);
  },
  'token.quota_integer': () => shows('features/tokens/token-form.ts', /remain_quota: Number\.parseInt\(quota, 10\)/),
  'token.count': () => shows('features/tokens/token-fields.tsx', /batches = \[1, 10, 20, 30, 100\]/),
  'token.quick_expiry': () =>
    shows(
      'features/tokens/token-fields.tsx',
      /\['never', null\]/,
      /\['oneHour', 3600\]/,
      /\['oneDay', 86_400\]/,
      /\['oneMonth', 30 \* 86_400\]/,
    ),
  'redemption.default_name': () =>
    shows('features/redemption/redemption-drawer.tsx', /name\.trim\(\) === '' \? money\(worth\)/),
  'redemption.name_length': () => shows('features/redemption/redemption-drawer.tsx', /maxLength=\{20\}/),
  'redemption.integers': () =>
    shows(
      'features/redemption/redemption-drawer.tsx',
      /Number\.parseInt\(quota, 10\)/,
      /Number\.parseInt\(count, 10\)/,
    ),
  'redemption.count': () => shows('features/redemption/redemption-drawer.tsx', /mostCodes = 100/),
  'redemption.copy_choose': () => {
    reads('redemption.pickOne', '请至少选择一个兑换码！');
    shows(
      'features/redemption/redemption-page.tsx',
      /keys\.length === 0\) return toast\.error\(t\('redemption\.pickOne/,
    );
  },
  'wallet.least': () =>
    shows('features/wallet/top-up.tsx', /Math\.max\(1, status\?\.min_topup \?\? 1\)/, /wanted < least/),
  'playground.temperature': () =>
    shows('features/playground/settings-form.tsx', /min=\{0\.1\}\s+max=\{1\}\s+step=\{0\.1\}/),
  'playground.max_tokens': () => shows('features/playground/use-conversation.ts', /Number\.parseInt\(maxTokens, 10\)/),
  'playground.session': () => {
    reads('login.expired', '未登录或登录已过期，请重新登录！');
    shows('features/playground/playground-page.tsx', /expired'\) === 'true'\) toast\.error\(t\('login\.expired/);
  },
  'playground.error': () =>
    shows(
      'features/playground/use-conversation.ts',
      /\$\{line\.content\}.*\$\{messageOf\(error\)\}/,
      /state: gone \? 'complete' : 'error'/,
    ),
};

test.each(silent)('$id: $says', ({ id }) => {
  proofs[id as SilentConsoleRule]();
});
