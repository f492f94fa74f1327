// @vitest-environment happy-dom
/** The settings page: five tabs and the prices, and on each tab the options the specification puts there. */
import i18next from 'i18next';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { optionKeys, optionRow } from '../../server/contract/options.ts';
import { act, mounted, unmounted } from './mounted.tsx';
import { reader } from './rendered.tsx';

afterEach(unmounted);
afterAll(() => vi.unstubAllGlobals());

const details = optionKeys.map((key) => {
  const { secret, fallback } = optionRow(key);
  return { key, value: secret ? '' : fallback, secret, is_set: false };
});
const open = async (query: string) => {
  const { SettingsPage } = await import('../../web/features/settings/settings-page.tsx');
  return mounted(() => <SettingsPage />, {
    path: `/setting${query}`,
    user: reader(100),
    answers: { 'option.details': details, 'option.set': null },
  });
};
const panelsOf = (tab: string) =>
  new Set(optionKeys.filter((key) => optionRow(key).tab === tab).map((key) => optionRow(key).panel)).size;
/** Panels below the window come one after the other. */
const whole = async (tab: string) => {
  const page = await open(`?tab=${tab}`);
  // The prices have a place of their own.
  const expected = panelsOf(tab) - (tab === 'operation' ? 1 : 0);
  await page.until(() => expect(document.querySelectorAll('form')).toHaveLength(expected));
  return page;
};

/** By clause: the tab, and the keys of the controls on it. */
const panels: Readonly<Record<string, readonly [tab: string, keys: string]>> = {
  '001.2.12': ['system', 'ServerAddress'],
  '001.2.14': ['system', 'PayAddress EpayId EpayKey Price MinTopUp TopupGroupRatio CustomCallbackAddress'],
  '001.2.15': [
    'system',
    'PasswordLoginEnabled PasswordRegisterEnabled EmailVerificationEnabled RegisterEnabled GitHubOAuthEnabled WeChatAuthEnabled TelegramOAuthEnabled LinuxDOOAuthEnabled oidc.enabled TurnstileCheckEnabled',
  ],
  '001.2.19': ['system', 'SMTPServer SMTPPort SMTPAccount SMTPFrom SMTPToken SMTPSSLEnabled'],
  '001.2.22': ['system', 'GitHubClientId GitHubClientSecret'],
  '001.2.23': ['system', 'LinuxDOClientId LinuxDOClientSecret'],
  '001.2.24': ['system', 'WeChatServerAddress WeChatServerToken WeChatAccountQRCodeImageURL'],
  '001.2.25': ['system', 'TelegramBotToken TelegramBotName'],
  '001.2.26': ['system', 'TurnstileSiteKey TurnstileSecretKey'],
  '001.2.29': ['other', 'Notice'],
  '001.2.30': ['other', 'SystemName Logo HomePageContent About Footer'],
  '001.2.31': ['operation', 'TopUpLink general_setting.docs_link'],
  '001.2.35': [
    'operation',
    'DrawingEnabled MjNotifyEnabled MjAccountFilterEnabled MjForwardUrlEnabled MjModeClearEnabled MjActionCheckSuccessEnabled',
  ],
  '001.2.36': ['operation', 'CheckSensitiveEnabled CheckSensitiveOnPromptEnabled SensitiveWords'],
  '001.2.39': [
    'operation',
    'ChannelDisableThreshold QuotaRemindThreshold AutomaticDisableChannelEnabled AutomaticEnableChannelEnabled AutomaticDisableKeywords',
  ],
  '001.2.51': [
    'models',
    'global.pass_through_request_enabled gemini.safety_settings gemini.thinking_adapter_enabled claude.model_headers_settings claude.default_max_tokens',
  ],
  '001.2.52': [
    'ratelimit',
    'ModelRequestRateLimitEnabled ModelRequestRateLimitDurationMinutes ModelRequestRateLimitCount ModelRequestRateLimitSuccessCount',
  ],
};

test.each(Object.entries(panels))('%s: its controls are on the page', async (_id, [tab, keys]) => {
  const shown = (await whole(tab)).text();
  for (const key of keys.split(' ')) {
    const { label } = optionRow(key as (typeof optionKeys)[number]);
    expect([key, shown.includes(label.zh)]).toEqual([key, true]);
  }
});

test('every choice has a name in the reader’s language', async () => {
  await whole('operation');
  const names = [...document.querySelectorAll('form [aria-label]')].map((one) => one.getAttribute('aria-label') ?? '');
  expect(names.filter((name) => /^[^:]+: 小时$/.test(name))).toHaveLength(1);
  // A number is its own name.
  for (const key of optionKeys)
    for (const choice of optionRow(key).kind.choices ?? [])
      if (Number.isNaN(Number(choice)))
        expect([choice, i18next.exists(`settings.choice.${choice}`)]).toEqual([choice, true]);
});

const chosen = () => document.querySelector('[aria-current=page]')?.textContent;

test('five tabs, and operation where none is named', async () => {
  const shown = (await open('')).text();
  for (const name of ['运营设置', '速率限制设置', '模型相关设置', '系统设置', '其他设置'])
    expect(shown).toContain(name);
  expect(chosen()).toBe('运营设置');
});

test('the tab is the one the address names', async () => {
  await open('?tab=ratelimit');
  expect(chosen()).toBe('速率限制设置');
});

test('the prices are a place of their own beside the tabs, and what is typed elsewhere waits in sight', async () => {
  const page = await open('?tab=other');
  await page.until(() => page.field('系统名称'));
  await page.type('系统名称', 'Acme');
  await page.press('价格设置');
  expect(location.search).toBe('?tab=operation&block=visual');
  expect(chosen()).toBe('价格设置');
  expect(page.text()).toContain('1 项修改: 系统名称');
  await page.until(() => expect(document.querySelector('section[aria-label="价格设置"]')).not.toBeNull());
});

test('a way to log in is set up where it is switched on, and its switch is stored after what it needs', async () => {
  const page = await open('?tab=system');
  const title = i18next.t('settings.panel.github');
  await page.until(() => expect(page.text()).toContain(title));
  await page.press(i18next.t('settings.setUpNamed', { name: title }));
  const form = page.field(optionRow('GitHubClientId').label.zh).closest('form');
  const box = form?.querySelector<HTMLInputElement>('[data-option=GitHubOAuthEnabled]');
  await act(async () => box?.click());
  await page.type(optionRow('GitHubClientId').label.zh, 'abc');
  await act(async () => form?.requestSubmit());
  const stored = () => page.calls.filter(([id]) => id === 'option.set').map(([, { key }]) => key);
  await page.until(() => expect(stored()).toEqual(['GitHubClientId', 'GitHubOAuthEnabled']));
});

test('a search finds options of every tab, and a new word starts over', async () => {
  const page = await open('?tab=other');
  await page.until(() => page.field('系统名称'));
  await page.type('搜索所有配置项', 'smtpport');
  await page.until(() => expect(document.querySelectorAll('form [data-option]')).toHaveLength(1));
  expect(page.text()).toContain('SMTPPort = ');
  await page.type('搜索所有配置项', 'oidc');
  await page.until(() => expect(document.querySelectorAll('form [data-option]').length).toBeGreaterThan(7));
  await page.type('搜索所有配置项', 'no such option');
  await page.until(() => expect(page.text()).toContain('没有符合条件的配置项'));
});

test('the address of an OIDC provider fills the three endpoints', async () => {
  const stored = new Map(details.map((one) => [one.key as string, one]));
  const endpoints = {
    authorization_endpoint: 'https://id.example/authorize',
    token_endpoint: 'https://id.example/token',
    user_info_endpoint: 'https://id.example/me',
  };
  const { SettingsPage } = await import('../../web/features/settings/settings-page.tsx');
  const page = await mounted(() => <SettingsPage />, {
    path: '/setting?tab=system',
    user: reader(100),
    answers: {
      'option.details': () => [...stored.values()],
      'option.oidc_discovery': endpoints,
      'option.set': ({ key, value }: Record<string, unknown>) => {
        const before = stored.get(String(key));
        if (before !== undefined) stored.set(String(key), { ...before, value: String(value), is_set: true });
        return null;
      },
    },
  });
  await page.press(i18next.t('settings.setUpNamed', { name: 'OIDC' }));
  const wellKnown = 'https://id.example/.well-known/openid-configuration';
  await page.type(i18next.t('settings.oidc'), wellKnown);
  await page.press(i18next.t('settings.oidcRead'));
  const fields = () => [...document.querySelectorAll('input')].map(({ value }) => value);
  await page.until(() => expect(fields()).toEqual(expect.arrayContaining(Object.values(endpoints))));
  expect(page.calls).toContainEqual(['option.oidc_discovery', { url: wellKnown }]);
  expect(stored.get('oidc.well_known')?.value).toBe(wellKnown);
});

test('a newer release is shown with its notes as Markdown', async () => {
  const { SystemInfo } = await import('../../web/features/settings/extras/system-info.tsx');
  const update = { current: '0.1.0', latest: '9.9.9', newer: true, notes: 'Changed:\n\n- one *thing*' };
  const answers = { status: { version: '0.1.0', start_time: 1 }, 'update.check': update };
  const page = await mounted(() => <SystemInfo />, { path: '/setting?tab=other', user: reader(100), answers });
  await page.press(i18next.t('settings.checkUpdate'));
  const notes = () => document.querySelector('iframe')?.getAttribute('srcdoc') ?? '';
  await page.until(() => expect(notes()).toMatch(/<li>one <em>thing<\/em><\/li>/));
  expect(page.text()).toContain('9.9.9');
});
