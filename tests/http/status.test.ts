import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';

let api: ApiFixture;
beforeEach(async () => {
  api = await createApiFixture();
});
afterEach(() => api.close());

/** Specification 000 section 3.4, and what servers of the family add. */
const fields =
  `system_name logo footer_html quota_per_unit display_in_currency enable_drawing enable_task enable_data_export
  chats data_export_default_time default_collapse_sidebar mj_notify_enabled chat_link chat_link2 docs_link version start_time
  email_verification turnstile_check turnstile_site_key github_oauth github_client_id oidc_enabled oidc_authorization_endpoint
  oidc_client_id wechat_login wechat_qrcode telegram_oauth telegram_bot_name linuxdo_oauth linuxdo_client_id setup
  telegram_bot_id register_enabled password_login_enabled password_register_enabled checklist_enabled self_use_mode_enabled demo_site_enabled server_address price min_topup top_up_link enable_batch_update enable_online_topup
  enable_stripe_topup home_text invitation_required`.split(/\s+/);

const status = async () => (await api.send('GET', '/api/status')).body.data as Record<string, unknown>;

test('every field is there, none is null: consoles keep them as text', async () => {
  const payload = await status();
  expect(
    Object.keys(payload).filter((name) => !fields.includes(name)),
    'everybody may read these: add them to `fields` above, and to `Status` in web/lib/status.ts',
  ).toEqual([]);
  expect(
    fields.filter((name) => !Object.hasOwn(payload, name)),
    'consoles read these, and nobody sends them any more',
  ).toEqual([]);
  expect(Object.entries(payload).filter(([, value]) => value === null || value === undefined)).toEqual([]);
  expect(payload).toMatchObject({
    system_name: 'New API',
    quota_per_unit: 500_000,
    price: 7.3,
    min_topup: 1,
    chats: [],
    data_export_default_time: 'hour',
    email_verification: false,
    enable_online_topup: false,
    setup: false,
  });
});

test('the state of the storage is shown to administrators only', async () => {
  const admin = await api.addUser('admin', 10);
  const user = await api.addUser('plain', 1);
  const storageFor = async (headers: Headers) =>
    (await api.send('GET', '/api/status', undefined, headers)).body.data as Record<string, unknown>;
  expect(await storageFor(admin.headers)).toMatchObject({ storage: { ok: true, reason: '', late: 0, refused: 0 } });
  expect(Object.keys(await storageFor(user.headers))).not.toContain('storage');
});

test('it follows the options, and keeps secrets', async () => {
  for (const [key, value] of [
    ['SystemName', '网关'],
    ['PayAddress', 'https://pay.example'],
    ['EpayId', '1001'],
    ['EpayKey', 'canary-pay'],
    ['ServerAddress', 'https://gateway.example'],
    ['TurnstileSecretKey', 'canary-bot'],
    ['oidc.client_secret', 'canary-oidc'],
  ] as const)
    await api.gateway.services.options.set(key, value, 100);
  const payload = await status();
  expect(payload).toMatchObject({ system_name: '网关', enable_online_topup: true });
  expect(JSON.stringify(payload)).not.toMatch(/canary|1001/);
});

test('notice, about and home page are plain texts', async () => {
  for (const [key, path] of [
    ['Notice', '/api/notice'],
    ['About', '/api/about'],
    ['HomePageContent', '/api/home_page_content'],
  ] as const) {
    expect((await api.send('GET', path)).body).toEqual({ success: true, message: '', data: '' });
    await api.gateway.services.options.set(key, `# ${key}`, 100);
    expect((await api.send('GET', path)).body.data).toBe(`# ${key}`);
  }
});

test('the option list has every key that is no secret, the details have all', async () => {
  const { headers } = await api.addUser('admin', 10);
  const list = (await api.send('GET', '/api/option/', undefined, headers)).body.data as {
    key: string;
    value: string;
  }[];
  const details = (await api.send('GET', '/api/option/details', undefined, headers)).body.data as {
    key: string;
    value: string;
    secret: boolean;
  }[];
  expect(list.every(({ value }) => typeof value === 'string')).toBe(true);
  expect(list.map(({ key }) => key)).toEqual(details.filter(({ secret }) => !secret).map(({ key }) => key));
  expect(details.filter(({ secret }) => secret).map(({ value }) => value)).toEqual(
    details.filter(({ secret }) => secret).map(() => ''),
  );
});

test('the right to edit the model ratios includes resetting them, and nothing else is reset', async () => {
  const { headers } = await api.addUser('admin', 10);
  const text = (key: string) => api.gateway.services.options.list().find((row) => row.key === key)?.value;
  for (const [key, value] of [
    ['ModelRatio', '{"own":3}'],
    ['ModelPrice', '{"own":0.5}'],
    ['CompletionRatio', '{"own":2}'],
  ])
    expect((await api.send('PUT', '/api/option/', { key, value }, headers)).body.success).toBe(true);
  const { body } = await api.send('POST', '/api/option/rest_model_ratio', {}, headers);
  expect(body).toMatchObject({ success: true, message: '重置模型倍率成功' });
  expect(text('ModelRatio')).toBe(api.gateway.services.options.fallback('ModelRatio'));
  expect([text('ModelPrice'), text('CompletionRatio')]).toEqual(['{"own":0.5}', '{"own":2}']);
  const { headers: noop } = await api.addUser('person', 1);
  expect((await api.send('POST', '/api/option/rest_model_ratio', {}, noop)).body.code).toBe('role_too_low');
});

test('of a Telegram bot’s key only the number in front is shown', async () => {
  expect(await status()).toMatchObject({ telegram_bot_id: '' });
  await api.gateway.option('TelegramBotToken', '4711:secret');
  expect(await status()).toMatchObject({ telegram_bot_id: '4711' });
});
