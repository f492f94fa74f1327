/** The settings page: five tabs, and on each the options the specification puts there. */
import i18next from 'i18next';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { optionKeys, optionRow } from '../../server/contract/options.ts';
import { aroundPages, reader, rendered } from './rendered.tsx';

beforeAll(() => aroundPages(reader(100)));
afterAll(() => vi.unstubAllGlobals());

const details = optionKeys.map((key) => {
  const { secret, fallback } = optionRow(key);
  return { key, value: secret ? '' : fallback, secret, is_set: false };
});
const page = async (query: string) => {
  const { SettingsPage } = await import('../../web/features/settings/settings-page.tsx');
  return rendered(<SettingsPage />, { path: `/setting${query}`, answers: { options: details } });
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
  const shown = await page(`?tab=${tab}`);
  for (const key of keys.split(' ')) {
    const { label } = optionRow(key as (typeof optionKeys)[number]);
    expect([key, shown.includes(label.zh.replaceAll('&', '&amp;'))]).toEqual([key, true]);
  }
});

test('what can be chosen has a name in the reader’s language', async () => {
  const shown = await page('?tab=operation');
  expect(shown).toMatch(/aria-label="[^":]+: 小时"/);
  for (const key of optionKeys)
    for (const choice of optionRow(key).kind.choices ?? [])
      expect([choice, i18next.exists(`settings.choice.${choice}`)]).toEqual([choice, true]);
});

const chosen = (shown: string) => /aria-current="page"[^>]*>([^<]*)</.exec(shown)?.[1];

test('five tabs, and operation where none is named', async () => {
  const shown = await page('');
  for (const name of ['运营设置', '速率限制设置', '模型相关设置', '系统设置', '其他设置'])
    expect(shown).toContain(name);
  expect(chosen(shown)).toBe('运营设置');
});

test('the tab is the one the address names', async () => {
  expect(chosen(await page('?tab=ratelimit'))).toBe('速率限制设置');
});
