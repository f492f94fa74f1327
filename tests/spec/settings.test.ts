/** Clauses of the second document, each by its number, as callers of the API meet them. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSpecFixture, type Json, type SpecFixture } from './support.ts';

let on: SpecFixture;
beforeAll(async () => {
  on = await createSpecFixture();
  await on.api.gateway.channel(on.upstream.url, { models: 'gpt-4o-mini,unpriced-model' });
});
afterAll(() => on.close());

/** Keys of the catalogue; secrets are there, too, but told by the details alone. */
const catalogue: Readonly<Record<string, string>> = {
  '001.3.11':
    'PasswordLoginEnabled PasswordRegisterEnabled EmailVerificationEnabled RegisterEnabled GitHubOAuthEnabled GitHubClientId GitHubClientSecret oidc.enabled oidc.client_id oidc.client_secret oidc.well_known oidc.authorization_endpoint oidc.token_endpoint oidc.user_info_endpoint WeChatAuthEnabled WeChatServerAddress WeChatServerToken WeChatAccountQRCodeImageURL TelegramOAuthEnabled TelegramBotToken TelegramBotName LinuxDOOAuthEnabled LinuxDOClientId LinuxDOClientSecret TurnstileCheckEnabled TurnstileSiteKey TurnstileSecretKey EmailDomainRestrictionEnabled EmailAliasRestrictionEnabled EmailDomainWhitelist SMTPServer SMTPPort SMTPAccount SMTPFrom SMTPToken SMTPSSLEnabled',
  '001.3.12':
    'ServerAddress WorkerUrl WorkerValidKey EpayId EpayKey Price MinTopUp TopupGroupRatio PayAddress CustomCallbackAddress',
  '001.3.13':
    'Notice SystemName Logo About HomePageContent Footer TopUpLink general_setting.docs_link Chats DefaultCollapseSidebar',
  '001.3.14':
    'QuotaPerUnit RetryTimes DisplayInCurrencyEnabled DisplayTokenStatEnabled DemoSiteEnabled SelfUseModeEnabled',
  '001.3.15':
    'DrawingEnabled MjNotifyEnabled MjAccountFilterEnabled MjForwardUrlEnabled MjModeClearEnabled MjActionCheckSuccessEnabled',
  '001.3.16': 'CheckSensitiveEnabled CheckSensitiveOnPromptEnabled SensitiveWords',
  '001.3.17': 'LogConsumeEnabled DataExportEnabled DataExportInterval DataExportDefaultTime',
  '001.3.19':
    'ChannelDisableThreshold QuotaRemindThreshold AutomaticDisableChannelEnabled AutomaticEnableChannelEnabled AutomaticDisableKeywords',
  '001.3.20': 'QuotaForNewUser PreConsumedQuota QuotaForInviter QuotaForInvitee StreamCacheQueueLength',
  '001.3.21': 'ModelPrice ModelRatio CompletionRatio CacheRatio GroupRatio UserUsableGroups',
  '001.3.22':
    'ModelRequestRateLimitEnabled ModelRequestRateLimitCount ModelRequestRateLimitSuccessCount ModelRequestRateLimitDurationMinutes',
  '001.3.23':
    'gemini.safety_settings gemini.version_settings gemini.supported_imagine_models gemini.thinking_adapter_enabled gemini.thinking_adapter_budget_tokens_percentage',
  '001.3.24':
    'claude.model_headers_settings claude.default_max_tokens claude.thinking_adapter_enabled claude.thinking_adapter_budget_tokens_percentage',
  '001.3.25':
    'global.pass_through_request_enabled general_setting.ping_interval_enabled general_setting.ping_interval_seconds',
};

const defaults: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '001.3.18': { DataExportDefaultTime: 'hour' },
  '001.9.1': { QuotaPerUnit: '500000' },
  '001.9.3': { Price: '7.3' },
  '001.9.4': { MinTopUp: '1' },
  '001.9.6': { DataExportDefaultTime: 'hour' },
  '001.9.7': { DataExportInterval: '5' },
  '001.9.8': { ModelRequestRateLimitEnabled: 'false' },
  '001.9.9': { ModelRequestRateLimitCount: '0' },
  '001.9.10': { ModelRequestRateLimitSuccessCount: '1000' },
  '001.9.11': { ModelRequestRateLimitDurationMinutes: '1' },
  '001.9.12': { 'general_setting.ping_interval_seconds': '60' },
  '001.9.13': {
    'claude.thinking_adapter_budget_tokens_percentage': '0.8',
    'claude.thinking_adapter_enabled': 'true',
  },
  '001.9.14': {
    'gemini.thinking_adapter_budget_tokens_percentage': '0.6',
    'gemini.thinking_adapter_enabled': 'false',
  },
  '001.9.17': { 'claude.default_max_tokens': '{"default":8192}' },
  '001.9.23': { SystemName: 'New API' },
};

test.each(Object.entries(catalogue))('%s: the keys are there', async (_id, keys) => {
  const rows = await on.list('/api/option/details');
  expect(rows.map(({ key }) => key)).toEqual(expect.arrayContaining(keys.split(' ')));
});

test.each(Object.entries(defaults))('%s: what holds while nothing is stored', async (_id, expected) => {
  for (const [key, value] of Object.entries(expected)) {
    await on.works('POST', '/api/option/reset', { key });
    expect([key, await on.optionOf(key)]).toEqual([key, value]);
  }
});

const refuses = async (key: string, value: string) =>
  expect([key, value, (await on.ask('PUT', '/api/option/', { key, value })).success]).toEqual([key, value, false]);
const takes = async (key: string, value: string) => {
  await on.set(key, value);
  expect([key, await on.optionOf(key)]).toEqual([key, value]);
};
const ratios = async () => (await on.ask('GET', '/api/pricing', undefined, {})).data as Json[];

const proofs: Readonly<Record<string, () => Promise<unknown>>> = {
  '001.1.1': async () => {
    await on.works('GET', '/api/option/', undefined, on.admin.headers);
    expect(await on.ask('GET', '/api/option/', undefined, on.plain.headers)).toMatchObject({ success: false });
  },
  '001.1.2': async () => {
    await on.set('DrawingEnabled', 'true');
    expect((await on.list('/api/option/')).every(({ value }) => typeof value === 'string')).toBe(true);
    expect(await on.optionOf('DrawingEnabled')).toBe('true');
  },
  '001.1.4': async () => {
    const covered = {
      ...{ 'server address': ['ServerAddress'], 'proxy worker': ['WorkerUrl', 'WorkerValidKey'] },
      'online payment': ['PayAddress', 'EpayId', 'EpayKey', 'Price', 'MinTopUp'],
      'login and registration methods': ['PasswordLoginEnabled', 'PasswordRegisterEnabled', 'RegisterEnabled'],
      'e-mail rules': ['EmailVerificationEnabled', 'EmailDomainRestrictionEnabled', 'EmailAliasRestrictionEnabled'],
      'mail sending': ['SMTPServer', 'SMTPPort', 'SMTPAccount', 'SMTPFrom', 'SMTPToken', 'SMTPSSLEnabled'],
      'third-party login providers': [
        ...['oidc.enabled', 'GitHubOAuthEnabled', 'LinuxDOOAuthEnabled', 'WeChatAuthEnabled', 'TelegramOAuthEnabled'],
      ],
      'bot check': ['TurnstileCheckEnabled'],
      'announcement and site appearance': ['Notice', 'SystemName', 'Logo', 'Footer', 'About', 'HomePageContent'],
      'drawing and sensitive-word behaviour': ['DrawingEnabled', 'CheckSensitiveEnabled', 'SensitiveWords'],
      'logging and the data dashboard': ['LogConsumeEnabled', 'DataExportEnabled', 'DataExportInterval'],
      'channel monitoring': ['ChannelDisableThreshold', 'AutomaticDisableChannelEnabled', 'AutomaticDisableKeywords'],
      'default quotas': ['QuotaForNewUser', 'PreConsumedQuota', 'QuotaForInviter', 'QuotaForInvitee'],
      'model pricing ratios': ['ModelPrice', 'ModelRatio', 'CompletionRatio', 'CacheRatio'],
      'group ratios': ['GroupRatio', 'UserUsableGroups', 'TopupGroupRatio'],
      'rate limits': ['ModelRequestRateLimitEnabled', 'ModelRequestRateLimitCount'],
      'provider-specific model behaviour for Gemini and Claude': [
        ...['gemini.safety_settings', 'gemini.thinking_adapter_enabled'],
        ...['claude.model_headers_settings', 'claude.thinking_adapter_enabled'],
      ],
    };
    const keys = new Set((await on.list('/api/option/')).map(({ key }) => String(key)));
    const secret = new Set((await on.list('/api/option/details')).map(({ key }) => String(key)));
    for (const [part, wanted] of Object.entries(covered))
      expect([part, wanted.filter((key) => !keys.has(key) && !secret.has(key))]).toEqual([part, []]);
  },
  '001.1.5': async () =>
    expect(await on.works('GET', '/api/status', undefined, {})).toMatchObject({ system_name: 'New API' }),
  '001.1.6': async () => expect((await on.api.send('GET', '/api/option/', undefined, {})).status).toBe(401),
  '001.3.1': async () =>
    expect((await on.list('/api/option/'))[0]).toEqual({ key: expect.any(String), value: expect.any(String) }),
  '001.3.2': async () => expect((await on.list('/api/option/')).length).toBeGreaterThan(100),
  '001.3.8': async () => {
    for (const key of ['ModelPrice', 'ModelRatio', 'CompletionRatio']) {
      await takes(key, '{"some-model":2}');
      await refuses(key, '{"some-model":"two"}');
      await on.works('POST', '/api/option/reset', { key });
    }
  },
  '001.3.9': async () => {
    await takes('CacheRatio', '{"some-model":0.5}');
    for (const wrong of ['{"some-model":"half"}', '[0.5]', '0.5']) await refuses('CacheRatio', wrong);
    await on.works('POST', '/api/option/reset', { key: 'CacheRatio' });
  },
  '001.4.8': async () => {
    await on.set('GitHubClientSecret', 'kept');
    await on.set('GitHubClientSecret', '');
    expect(on.api.gateway.services.options.get('GitHubClientSecret')).toBe('kept');
    expect(JSON.stringify(await on.list('/api/option/details'))).not.toContain('kept');
  },
  '001.4.9': async () => {
    for (const key of ['ServerAddress', 'WorkerUrl', 'PayAddress']) {
      await on.set(key, 'https://one.example/');
      expect([key, await on.optionOf(key)]).toEqual([key, 'https://one.example']);
    }
  },
  '001.4.20': async () => {
    const priced = async () => (await ratios()).some(({ model_name }) => model_name === 'unpriced-model');
    expect(await priced()).toBe(false);
    await on.set('ModelRatio', '{"gpt-4o-mini":0.075,"unpriced-model":3}');
    expect(await priced()).toBe(true);
    await on.works('POST', '/api/option/reset', { key: 'ModelRatio' });
  },
  '001.4.26': async () => expect(await on.works('DELETE', '/api/log/?target_timestamp=1000')).toBe(0),
  '001.6.5': async () => {
    const text = JSON.stringify(await on.works('GET', '/api/status', undefined, {}));
    expect(text).not.toMatch(/SMTP|secret|RetryTimes/i);
  },
  '001.7.4': async () => expect((await on.list('/api/option/')).map(({ key }) => key)).toContain('QuotaPerUnit'),
  '001.7.5': async () => takes('RetryTimes', '3'),
  '001.7.6': async () => {
    await on.set('ModelRatio', '{"x":1}');
    expect(await on.ask('POST', '/api/option/rest_model_ratio', {})).toMatchObject({ success: true });
    expect(await on.optionOf('ModelRatio')).not.toBe('{"x":1}');
  },
  '001.7.7': async () =>
    expect(await on.list('/api/channel/models_enabled')).toEqual(['gpt-4o-mini', 'unpriced-model']),
  '001.7.8': async () => expect((await on.list('/api/channel/models'))[0]).toMatchObject({ id: expect.any(String) }),
  '001.7.9': async () =>
    expect(await on.works('GET', '/api/models')).toMatchObject({ 1: expect.arrayContaining(['gpt-4o']) }),
  '001.7.10': async () => expect(await on.list('/api/group/')).toContain('default'),
  '001.7.11': async () =>
    expect(await on.works('DELETE', '/api/log/?target_timestamp=1000')).toEqual(expect.any(Number)),
  '001.9.5': async () => {
    for (const value of ['day', 'week', 'hour']) await takes('DataExportDefaultTime', value);
    await refuses('DataExportDefaultTime', 'year');
  },
  '001.9.15': async () => {
    for (const dialect of ['claude', 'gemini']) {
      const key = `${dialect}.thinking_adapter_budget_tokens_percentage`;
      await refuses(key, '0.09');
      await refuses(key, '1.1');
      await takes(key, '0.1');
      await takes(key, '1');
    }
  },
  '001.9.18': async () => {
    await on.set('ModelRatio', '{"gpt-4o-mini":1.5}');
    expect((await ratios()).find(({ model_name }) => model_name === 'gpt-4o-mini')).toMatchObject({ model_ratio: 1.5 });
    const before = (await on.api.gateway.services.users.find(on.api.gateway.userId))?.balance ?? 0;
    const { key } = await on.api.gateway.token();
    await on.api.gateway.sync();
    await on.api.gateway.chat(key, { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] });
    await on.api.gateway.ledger.drain();
    const after = (await on.api.gateway.services.users.find(on.api.gateway.userId))?.balance ?? 0;
    // 100 tokens in at $3 and 10 out at $12 a million.
    expect(before - after).toBe(Math.round((100 * 3 + 10 * 12) / 2));
    await on.works('POST', '/api/option/reset', { key: 'ModelRatio' });
  },
  '001.9.25': async () => {
    await on.set('SensitiveWords', 'one\ntwo');
    await on.set('AutomaticDisableKeywords', 'one\ntwo');
    expect(on.api.gateway.services.options.get('SensitiveWords')).toEqual(['one', 'two']);
    expect(on.api.gateway.services.options.get('AutomaticDisableKeywords')).toEqual(['one', 'two']);
  },
  '001.9.26': async () => {
    await on.set('EmailDomainWhitelist', 'a.example,b.example');
    expect(on.api.gateway.services.options.get('EmailDomainWhitelist')).toEqual(['a.example', 'b.example']);
  },
};

test.each(Object.keys(proofs))('%s', async (id) => void (await proofs[id]?.()));
