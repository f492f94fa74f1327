/** The console's dictionary says what each rule wants, and options refuse what they must; how pages behave is proven where they do: `tests/spec/clauses`. */
import { expect, test } from 'vitest';
import { type OptionKey, optionRow } from '../../server/contract/options.ts';
import { withModels } from '../../web/features/channels/model-list.ts';
import { parseExpiry } from '../../web/lib/expiry.ts';
import { dateTime } from '../../web/lib/format.ts';
import { en } from '../../web/locales/en.ts';
import { zh } from '../../web/locales/zh.ts';
import { type Rule, rules, type SilentConsoleRule } from './rules.ts';

const flat = (value: unknown, path = ''): [string, string][] =>
  typeof value === 'string'
    ? [[path, value]]
    : Object.entries(value as Record<string, unknown>).flatMap(([key, item]) =>
        flat(item, path === '' ? key : `${path}.${key}`),
      );
const chinese = new Map(flat(zh));
const english = new Map(flat(en));
const own: readonly Rule[] = (rules as readonly Rule[]).filter(({ at }) => at !== 'server');
const spoken = own.filter(({ message }) => message !== undefined);

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
    return;
  }
  const keys = keysOf(message);
  expect(keys).not.toEqual([]);
  // Said in the other language as well.
  for (const key of keys) expect(english.get(key)).not.toBe(chinese.get(key));
});

const reads = (key: string, text: string) => expect(chinese.get(key)).toBe(text);
const complains = (key: OptionKey, text: string, about: string) =>
  expect(optionRow(key).kind.check(text)?.zh).toContain(about);

const proofs: Readonly<Partial<Record<SilentConsoleRule, () => unknown>>> = {
  'user.add': () => {
    reads('users.needBoth', '用户名和密码不能为空！');
  },
  'register.password_short': () => {
    reads('account.passwordShort', '密码长度至少为 8 个字符');
  },
  'register.match': () => {
    reads('account.passwordsDiffer', '两次输入的密码不一致');
  },
  'register.password_long': () => reads('account.passwordHelp', '8 到 20 个字符'),
  'register.username_long': () => {
    reads('account.usernameHelp', '最多 12 个字符');
  },
  'bot_check.wait': () => {
    reads('account.botWait', '正在进行人机验证，请稍后重试');
  },
  'login.needs_both': () => {
    reads('login.empty', '请输入用户名和密码！');
  },
  'user.edit_password': () => reads('users.passwordHelp', '留空则不修改，最短 8 位'),
  'user.edit_negative': () => {
    expect(chinese.get('users.addQuotaHint')).toContain('可为负数');
  },
  'self.close_name': () => {
    reads('personal.typeName', '请输入账户名以确认');
  },
  'login.default_password': () => {
    reads('account.defaultTitle', '您正在使用默认密码！');
    reads('account.defaultText', '请立刻修改默认密码！');
  },
  'option.topup_json': () => complains('TopupGroupRatio', 'x', '不是合法的 JSON 字符串'),
  'payment.ratio': () => complains('TopupGroupRatio', '{', '不是合法的 JSON 字符串'),
  'payment.address': () => {
    reads('settings.addressFirst', '请先填写服务器地址');
  },
  'domain.pattern': () => complains('EmailDomainWhitelist', 'nodot', '邮箱域名格式不正确'),
  'domain.separate': () => complains('EmailDomainWhitelist', 'a.example,a.example', '该域名已存在'),
  'oidc.address': () => {
    reads('settings.oidcAddress', 'Well-Known URL 必须以 http:// 或 https:// 开头');
  },
  'price.zero': () => {
    reads('prices.zeroPrice', '模型价格不能为 0');
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
  },
  'number.maxima': () => complains('QuotaForNewUser', '9'.repeat(16), '整数'),
  'option.json_again': () => complains('ModelRatio', '{', '不是合法的 JSON 字符串'),
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
    expect(chinese.get('channels.v1')).toContain('/v1');
  },
  'channel.own_models': () => {
    expect(withModels('a,b', ' c , d,, ')).toEqual({ models: 'a,b,c,d', hadSome: false });
    expect(withModels('', 'x,x')).toEqual({ models: 'x', hadSome: false });
    expect(withModels('a', 'b, a')).toEqual({ models: 'a,b', hadSome: true });
  },
  'tag.dissolve': () => {
    reads('channels.dissolve', '留空将删除该标签');
  },
  'token.expiry_format': () => {
    const now = new Date('2026-11-19T00:00:00').getTime();
    const seconds = Math.floor(new Date('2026-11-19T15:47:12').getTime() / 1000);
    expect(parseExpiry('-1', now)).toEqual({ kind: 'at', seconds: -1 });
    expect(parseExpiry('2026-11-19 15:47:12', now)).toEqual({ kind: 'at', seconds });
    expect(dateTime(seconds)).toBe('2026-11-19 15:47:12');
    for (const wrong of ['tomorrow', '2026-11', '2026-13-01 00:00:00'])
      expect([wrong, parseExpiry(wrong, now).kind]).toEqual([wrong, 'wrong']);
    expect(chinese.get('tokens.expiry.unreadable')).toContain('过期时间格式错误！');
  },
  'redemption.copy_choose': () => {
    reads('redemption.pickOne', '请至少选择一个兑换码！');
  },
  'playground.session': () => {
    reads('login.expired', '未登录或登录已过期，请重新登录！');
  },
};
const silent = own.filter(({ id }) => Object.hasOwn(proofs, id));

test.each(silent)('$id: $says', ({ id }) => {
  proofs[id as SilentConsoleRule]?.();
});
