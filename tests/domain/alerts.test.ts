/** Operators are told of every kind of trouble, by every way there is, once: against doubles that want what the services' documents say. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createChannelsRepository } from '../../db/repositories/channels.ts';
import { alertKindNames, alertTargetNames } from '../../server/contract/alert-kinds.ts';
import { Role } from '../../server/contract/enum.ts';
import { AppError } from '../../server/contract/errors.ts';
import { healthyStorage, type RelayStall } from '../../server/contract/storage.ts';
import type { RecentDefects } from '../../server/domain/alerts/defects.ts';
import { quietInputs } from '../../server/domain/alerts/past.ts';
import { createAlerts } from '../../server/domain/alerts/service.ts';
import { addHour } from '../support/engines.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

interface SentAlert {
  readonly target: string;
  readonly text: string;
  readonly raw: string;
}

const secrets = {
  'alert_setting.webhook_url': 'https://hooks.example.com/in/hush-webhook',
  'alert_setting.webhook_secret': 'hush-webhook-secret',
  'alert_setting.slack_url': 'https://hooks.slack.com/services/T0/B0/hush-slack',
  'alert_setting.discord_url': 'https://discord.com/api/webhooks/1/hush-discord',
  'alert_setting.feishu_url': 'https://open.feishu.cn/open-apis/bot/v2/hook/hush-feishu',
  'alert_setting.feishu_secret': 'hush-feishu-secret',
  'alert_setting.dingtalk_url': 'https://oapi.dingtalk.com/robot/send?access_token=hush-dingtalk',
  'alert_setting.dingtalk_secret': 'SEChush-dingtalk-secret',
  'alert_setting.wecom_url': 'https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=hush-wecom',
  'alert_setting.telegram_token': '123:hush-telegram',
  'alert_setting.bark_url': 'https://api.day.app/hush-bark',
  'alert_setting.ntfy_url': 'https://ntfy.sh/hush-ntfy',
  'alert_setting.ntfy_token': 'tk_hush-ntfy-token',
} as const;

/** By another implementation than the one that signs. */
async function hmac(key: string, text: string): Promise<Buffer> {
  const bytes = new TextEncoder();
  // Web cryptography knows no empty text under some runtimes, but every key.
  const imported = await crypto.subtle.importKey('raw', bytes.encode(key), { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
  ]);
  return Buffer.from(await crypto.subtle.sign('HMAC', imported, bytes.encode(text)));
}

let gateway: TestGateway;
let sent: SentAlert[];
let complaints: string[];
let answers: Record<string, { status?: number; body?: unknown; hang?: boolean }>;
let now: number;
let storage = healthyStorage;
let defects: RecentDefects | null;
let stall: RelayStall | null = null;
const dayMs = 86_400_000;
const double = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', async () => {
    const raw = Buffer.concat(chunks).toString();
    const { target, text, good } = await take(request, raw);
    const answer = answers[target] ?? {};
    if (answer.hang === true) return;
    if (answer.status === undefined && answer.body === undefined) sent.push({ target, text, raw });
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer.body ?? good));
  });
});

const want = (holds: boolean, what: string) => {
  if (!holds) complaints.push(what);
};

/** What each service would say to the request, by its own documents. */
async function take(request: IncomingMessage, raw: string): Promise<{ target: string; text: string; good: unknown }> {
  const url = new URL(`https://${request.headers['x-host']}${request.url}`);
  const body = JSON.parse(raw) as Record<string, unknown>;
  const nowSeconds = now / 1000;
  want(
    request.method === 'POST' && /^application\/json/.test(String(request.headers['content-type'])),
    'JSON is posted',
  );
  switch (url.host) {
    case 'hooks.example.com': {
      want(url.pathname === '/in/hush-webhook', 'webhook path');
      const sign = (await hmac('hush-webhook-secret', raw)).toString('hex');
      want(request.headers['x-webhook-signature'] === sign, 'webhook signature');
      want(request.headers.authorization === undefined, 'the secret stays');
      want(Math.abs(Number(body.timestamp) - nowSeconds) < 5, 'webhook time');
      return { target: 'webhook', text: String(body.content), good: {} };
    }
    case 'hooks.slack.com':
      want(!/<(?!!)|<!/.test(String(body.text)), 'Slack: no control sequences');
      return { target: 'slack', text: String(body.text), good: 'ok' };
    case 'discord.com':
      want(String(body.content).length <= 2000, 'Discord length');
      want(JSON.stringify(body.allowed_mentions) === '{"parse":[]}', 'Discord mentions nobody');
      return { target: 'discord', text: String(body.content), good: {} };
    case 'open.feishu.cn': {
      const key = `${body.timestamp}\nhush-feishu-secret`;
      want(body.sign === (await hmac(key, '')).toString('base64'), 'Feishu signature');
      want(body.msg_type === 'text', 'Feishu type');
      return { target: 'feishu', text: (body.content as { text: string }).text, good: { code: 0, msg: 'success' } };
    }
    case 'oapi.dingtalk.com': {
      const timestamp = url.searchParams.get('timestamp') ?? '';
      const sign = await hmac('SEChush-dingtalk-secret', `${timestamp}\nSEChush-dingtalk-secret`);
      want(url.searchParams.get('sign') === sign.toString('base64'), 'DingTalk signature');
      want(url.searchParams.get('access_token') === 'hush-dingtalk', 'DingTalk token');
      want(Math.abs(Number(timestamp) - now) < 3_600_000, 'DingTalk time');
      return { target: 'dingtalk', text: (body.text as { content: string }).content, good: { errcode: 0 } };
    }
    case 'qyapi.weixin.qq.com': {
      const { content } = body.text as { content: string };
      want(Buffer.byteLength(content) <= 2048 && !content.includes('\ufffd'), 'WeCom length');
      return { target: 'wecom', text: content, good: { errcode: 0, errmsg: 'ok' } };
    }
    case 'api.telegram.org':
      want(url.pathname === '/bot123:hush-telegram/sendMessage', `Telegram path ${url.pathname}`);
      want(body.chat_id === '-100' && String(body.text).length <= 4096, 'Telegram chat');
      return { target: 'telegram', text: String(body.text), good: { ok: true, result: {} } };
    case 'api.day.app':
      want(url.pathname === '/push' && body.device_key === 'hush-bark', 'Bark key');
      return { target: 'bark', text: `${body.title}\n${body.body}`, good: { code: 200, message: 'success' } };
    case 'ntfy.sh':
      want(url.pathname === '/' && body.topic === 'hush-ntfy', 'ntfy topic');
      want(request.headers.authorization === 'Bearer tk_hush-ntfy-token', 'ntfy token');
      return { target: 'ntfy', text: `${body.title}\n${body.message}`, good: { id: 'x' } };
    default:
      want(false, `nobody is at ${url.host}`);
      return { target: '', text: '', good: {} };
  }
}

const reports: unknown[] = [];
beforeEach(async () => {
  await new Promise<void>((resolve) => double.listen(0, '127.0.0.1', resolve));
  sent = [];
  complaints = [];
  answers = {};
  reports.length = 0;
  storage = healthyStorage;
  defects = null;
  stall = null;
  now = Date.now();
  const { port } = double.address() as AddressInfo;
  gateway = await createTestGateway({
    now: () => now,
    sendMail: async ({ to, subject, html }) => {
      if (answers.mail?.status !== undefined) throw new Error(`${to} hush-mail`);
      sent.push({ target: 'mail', text: `${subject}\n${html}`, raw: to });
    },
    guardedFetch: (address, init) => {
      const url = new URL(address);
      const headers = { ...(init?.headers as Record<string, string>), 'x-host': url.host };
      return fetch(`http://127.0.0.1:${port}${url.pathname}${url.search}`, { ...init, headers });
    },
    more: {
      storage: () => storage,
      defects: () => defects,
      stall: () => stall,
      report: (error) => reports.push(error),
      verifiedBackup: async () => {
        throw new Error('no room');
      },
    },
  });
});
afterEach(async () => {
  await gateway.close();
  double.closeAllConnections();
  await new Promise((resolve) => double.close(resolve));
});

async function everyTarget() {
  for (const [key, value] of Object.entries(secrets)) await gateway.option(key, value);
  await gateway.option('alert_setting.telegram_chat', '-100');
  await gateway.option('alert_setting.mail_to', 'ops@example.com, night@example.com');
  await gateway.option('alert_setting.language', 'en');
}

const hourOf = (seconds: number) => Math.floor(seconds) - (Math.floor(seconds) % 3600);
const use = (hourAt: number, quota: number) =>
  addHour(gateway.database, {
    hour_at: hourAt,
    user_id: 1,
    username: 'u',
    model_name: 'm',
    channel_id: 1,
    count: 1,
    tokens: 1,
    quota,
  });
const setChannel = (id: number, change: object) =>
  gateway.database.query.updateTable('channels').set(change).where('id', '=', id).execute();

async function everyTrouble() {
  defects = { count: 1, requestId: 'r1', message: 'undefined is not an object' };
  const hour = hourOf(now / 1000);
  const disabled = await gateway.channel('http://127.0.0.1:1', { name: '<!channel> broken' });
  await setChannel(disabled, { status: 3, other_info: JSON.stringify({ status_reason: 'HTTP 401', status_time: 1 }) });
  const failing = await gateway.channel('http://127.0.0.1:1', { name: 'failing' });
  await setChannel(failing, { other_info: JSON.stringify({ test_error: 'no answer' }) });
  const poor = await gateway.channel('http://127.0.0.1:1', { name: 'poor' });
  await setChannel(poor, { balance: 1.5, balance_updated_at: 1 });
  await gateway.channel('http://127.0.0.1:1', { name: 'odd', models: 'never-priced' });
  for (let back = 2; back < 50; back++) await use(hour - back * 3600, 500_000);
  await use(hour, 50_000_000);
  await gateway.option('alert_setting.spend_limit', '20');
  await gateway.option('alert_setting.disk_gb', '999999999');
  await gateway.token({ name: 'old key', expired_time: Math.floor(now / 1000) + 3 * 86_400 });
  storage = { ...healthyStorage, ok: false, reason: 'the disk is full' };
  stall = { thread: 1, requestId: 'r', ms: 2000, at: Math.floor(now / 1000) };
  await gateway.option('backup_setting.every_hours', '24');
  await gateway.services.backups.tick();
  const at = Math.floor(now / 1000);
  const { budget } = await gateway.services.budgets.set({ holder: 'site', window: 'day', unit: 'money', amount: 1000 });
  await gateway.ledger.execute({
    type: 'budget',
    ref: 'x',
    budgetId: budget.id,
    windowAt: at - (at % 86_400),
    delta: 800,
  });
  const leaked = await gateway.token({ name: 'leaked' });
  await gateway.database.query
    .updateTable('tokens')
    .set({ status: 2, frozen_at: at })
    .where('id', '=', leaked.id)
    .execute();
  await gateway.option('alert_setting.cache_requests', '1');
  for (const [hoursAgo, cached] of [
    [60, 900],
    [3, 100],
  ] as const)
    await gateway.rows(
      `INSERT INTO logs (created_at, type, user_id, model_name, channel_id, quota, prompt_tokens, completion_tokens, other)
       VALUES (?, 2, 1, 'm', ?, 1, 1000, 0, ?)`,
      hour - hoursAgo * 3600,
      poor,
      JSON.stringify({ input: 1000 - cached, cache_tokens: cached }),
    );
  await gateway.rows(
    "INSERT INTO statement_mails (schedule_id, period, state, tries, tried_at, error) VALUES (1, '2026-10', 'failed', 8, ?, 'away')",
    at,
  );
  await gateway.database.query
    .insertInto('traffic')
    .values({
      span: 300,
      kind: 'channel',
      at: at - (at % 300),
      subject_id: poor,
      user_id: 0,
      part: '',
      attempts: 40,
      failed_upstream: 10,
      answered: 1,
    } as never)
    .execute();
  const others = [[poor, 'gpt-4o → gpt-4o-mini', 3]] as const;
  const nothing = { routes: [], callers: [], streaks: [], saves: [], places: [] };
  gateway.services.trafficRecorder.add([{ at: at - (at % 300), ...nothing, others }]);
  await gateway.services.trafficRecorder.flush();
}

const check = async (times = 1) => {
  for (let n = 0; n < times; n++) {
    await gateway.services.alerts.check();
    now += 60_000;
  }
};
const count = (list: readonly SentAlert[]) => {
  const counts = new Map<string, number>();
  for (const { target, text, raw } of list) {
    const key = `${target} ${target === 'mail' ? `${raw} ` : ''}${text}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
};

test('every kind reaches every target once, not twice', async () => {
  await everyTarget();
  await everyTrouble();
  await check(4);
  expect(complaints).toEqual([]);
  expect(reports).toEqual([]);
  const { alerts, targets } = await gateway.services.alerts.list();
  expect(targets).toEqual([...alertTargetNames]);
  const found = new Set(alerts.map(({ kind }) => kind));
  expect(
    alertKindNames.filter((kind) => !found.has(kind)),
    'these kinds do not happen: add their trouble to `everyTrouble` above, where all happen at once',
  ).toEqual([]);
  for (const target of alertTargetNames) {
    const texts = sent.filter((one) => one.target === target);
    // Two people have mail.
    expect(texts, target).toHaveLength(alerts.length * (target === 'mail' ? 2 : 1));
    for (const { title } of alerts)
      expect(texts.some(({ text }) => text.includes(title) || target === 'webhook')).toBe(true);
  }
  expect([...count(sent).values()].every((times) => times === 1)).toBe(true);
});

test.each([
  ['zh', '全站：按天的预算已用到 75%：400 次请求，共 500 次请求'],
  ['en', 'The whole site: daily budget, used to 75%: 400 requests of 500 requests'],
])('a budget that is nearly used is told in the language of the alerts: %s', async (language, text) => {
  await gateway.option('alert_setting.language', language);
  const site = { holder: 'site', window: 'day', unit: 'requests', amount: 500 } as const;
  const { budget } = await gateway.services.budgets.set(site);
  const at = Math.floor(now / 1000);
  const windowAt = at - (at % 86_400);
  await gateway.ledger.execute({ type: 'budget', ref: 'x', budgetId: budget.id, windowAt, delta: 400 });
  const { alerts } = await gateway.services.alerts.list();
  expect(alerts.filter(({ kind }) => kind === 'budget_used').map((one) => one.text)).toEqual([text]);
});

test('alerts hold no secret, and none is stored readable', async () => {
  await everyTarget();
  await everyTrouble();
  await check(2);
  const words = ['hush-', 'SEChush', 'sk-upstream-secret-key'];
  for (const { target, raw, text } of sent) {
    const own = { bark: 'hush-bark', ntfy: 'hush-ntfy' }[target] ?? '';
    const seen = own === '' ? raw : raw.replace(own, '');
    for (const word of words) expect(`${seen} ${text}`, target).not.toContain(word);
  }
  const stored = await gateway.database.query.selectFrom('options').selectAll().execute();
  expect(JSON.stringify(stored)).not.toContain('hush-');
  expect(JSON.stringify(await gateway.call('option.details', {}))).not.toContain('hush-');
  expect(JSON.stringify(await gateway.services.alerts.list())).not.toContain('hush-');
});

test.each([
  ['zh', '记账受阻或延迟：账本线程已终止', '超过阈值'],
  ['en', 'Bills are late or not written: the ledger is gone', 'exceeds the limit'],
])('reasons are written in the language of the alerts: %s', async (language, stopped, slow) => {
  await everyTarget();
  await gateway.option('alert_setting.language', language);
  storage = { ...healthyStorage, ok: false, reason: 'the ledger is gone' };
  const id = await gateway.channel('http://127.0.0.1:1', { name: 'slow' });
  const reason = '响应时间 9.00s 超过阈值 5s';
  await setChannel(id, { status: 3, other_info: JSON.stringify({ status_reason: reason, status_time: 1 }) });
  await check(2);
  const texts = (await gateway.services.alerts.list()).alerts.map(({ text }) => text);
  expect(texts.filter((text) => text.includes(stopped))).toHaveLength(1);
  expect(texts.filter((text) => text.includes(slow))).toHaveLength(1);
  // Somebody who reads them in the console has a language of their own.
  const read = (await gateway.services.alerts.list(language === 'zh' ? 'en' : 'zh')).alerts.map(({ text }) => text);
  expect(read).toHaveLength(texts.length);
  expect(read.filter((text) => text.includes(stopped) || text.includes(slow))).toEqual([]);
});

test('a problem is alerted again only after it was over, or after its window', async () => {
  await gateway.option('alert_setting.slack_url', secrets['alert_setting.slack_url']);
  storage = { ...healthyStorage, ok: false, reason: 'disk' };
  await check(5);
  expect(sent).toHaveLength(1);
  storage = healthyStorage;
  await check(3);
  storage = { ...healthyStorage, ok: false, reason: 'disk' };
  await check(3);
  expect(sent).toHaveLength(2);
  now += dayMs;
  await check(3);
  expect(sent).toHaveLength(3);
});

test('a failure of a moment raises no alert, a problem that comes and goes raises one', async () => {
  await gateway.option('alert_setting.slack_url', secrets['alert_setting.slack_url']);
  const id = await gateway.channel('http://127.0.0.1:1');
  const fail = (error: string | null) =>
    setChannel(id, { other_info: error === null ? '' : JSON.stringify({ test_error: error }) });
  await fail('once');
  await check();
  await fail(null);
  await check();
  expect(sent).toEqual([]);
  await fail('again');
  await check(2);
  await fail(null);
  await check();
  await fail('and again');
  await check(2);
  expect(sent).toHaveLength(1);
});

test('a share of failures that swings about its limit is alerted about once, and again after an hour without', async () => {
  await gateway.option('alert_setting.slack_url', secrets['alert_setting.slack_url']);
  const id = await gateway.channel('http://127.0.0.1:1');
  const fail = async (failed: number) => {
    const at = Math.floor(now / 300_000) * 300;
    await gateway.database.query.deleteFrom('traffic').execute();
    await gateway.database.query
      .insertInto('traffic')
      .values({
        ...{ kind: 'channel', span: 300, at, user_id: 0, subject_id: id, part: '' },
        ...{ attempts: 20, failed_upstream: failed, answered: 20 - failed },
      } as never)
      .execute();
    await check(3);
  };
  for (const failed of [5, 3, 6, 2, 7]) await fail(failed);
  expect(sent).toHaveLength(1);
  await fail(0);
  now += 3_599_000 - 3 * 60_000 - 60_000;
  await check();
  await fail(5);
  expect(sent).toHaveLength(1);
  await fail(0);
  now += 3_600_000;
  await check();
  await fail(5);
  expect(sent).toHaveLength(2);
});

test('a share that swings is not over because the server begins anew', async () => {
  await gateway.option('alert_setting.slack_url', secrets['alert_setting.slack_url']);
  const id = await gateway.channel('http://127.0.0.1:1', { name: 'shaky' });
  const channels = await createChannelsRepository(gateway.database).all();
  const told: string[] = [];
  const begun = () => {
    const { database, services } = gateway;
    const { options } = services;
    let failed = 0;
    const alerts = createAlerts({
      ...{ database, options, leakStop: services.leakStop, schedules: services.schedules },
      inputs: async () => ({
        ...{ ...quietInputs, get: options.get, now: now / 1000, channels },
        failedShares: new Map([[id, { failed, attempts: 20 }]]),
      }),
      deliver: { targets: () => ['slack'], to: async (_, { subject }) => void told.push(subject) },
      sendMail: async () => undefined,
      report: (error) => reports.push(error),
      now: () => now,
    });
    return async (share: number) => {
      failed = share;
      await alerts.check();
      now += 60_000;
    };
  };
  await begun()(10);
  const fail = begun();
  for (const share of [0, 0, 10]) await fail(share);
  expect(told).toEqual([String(id)]);
  await fail(0);
  now += 3_600_000;
  for (const share of [0, 10]) await fail(share);
  expect(told).toEqual([String(id), String(id)]);
});

test('off by default; kinds can be muted; without targets nothing is checked', async () => {
  await everyTrouble();
  await check(2);
  expect(sent).toEqual([]);
  await gateway.option('alert_setting.slack_url', secrets['alert_setting.slack_url']);
  await gateway.option('alert_setting.muted', alertKindNames.filter((kind) => kind !== 'disk_low').join(','));
  await check(2);
  expect(sent).toHaveLength(1);
  await expect(gateway.option('alert_setting.muted', 'nonsense')).rejects.toThrow();
  await expect(gateway.option('alert_setting.mail_to', 'a@b.c\r\nBcc: x@y.z')).rejects.toThrow();
});

test.each(['slack', 'feishu', 'telegram', 'mail'])(
  '%s refuses: reported without its address, tried again later, the other targets get one alert',
  async (target) => {
    await everyTarget();
    storage = { ...healthyStorage, ok: false, reason: 'disk' };
    answers[target] = { status: target === 'slack' ? 500 : 200, body: { code: 19021, ok: false } };
    await check(2);
    expect(sent.map((one) => one.target)).not.toContain(target);
    const others = sent.length;
    expect(reports).toHaveLength(1);
    expect(`${reports[0]} ${JSON.stringify(reports[0])} ${String((reports[0] as Error).cause ?? '')}`).not.toContain(
      'hush',
    );
    delete answers[target];
    now += 600_000;
    await check(2);
    expect(sent).toHaveLength(others + (target === 'mail' ? 2 : 1));
    expect([...count(sent).values()].every((times) => times === 1)).toBe(true);
  },
);

test('a failed delivery is tried again after ten minutes, and no sooner', async () => {
  await gateway.option('alert_setting.slack_url', secrets['alert_setting.slack_url']);
  storage = { ...healthyStorage, ok: false, reason: 'disk' };
  answers.slack = { status: 500 };
  const failed = now;
  await check();
  delete answers.slack;
  now = failed + 599_000;
  await check();
  expect(sent).toEqual([]);
  now = failed + 600_000;
  await check();
  expect(sent).toHaveLength(1);
});

test('a test alerts every target and reports the result of each', async () => {
  await expect(gateway.call('alert.test', {})).rejects.toMatchObject({ code: 'alert_targets_unset' });
  await everyTarget();
  answers.bark = { status: 400, body: { code: 400, message: 'hush-bark' } };
  const results = (await gateway.call('alert.test', {})) as { target: string; ok: boolean; message: string }[];
  expect(results.map(({ target, ok }) => [target, ok])).toEqual(
    alertTargetNames.map((name) => [name, name !== 'bark']),
  );
  expect(JSON.stringify(results)).not.toContain('hush-');
  expect(results.find(({ target }) => target === 'bark')?.message).toContain('HTTP 400');
  expect(complaints).toEqual([]);
});

test('a test email goes to whoever asks, and what the mail server says is shown without the password', async () => {
  const mails: string[] = [];
  let refusal: Error | null = null;
  const site = await createTestGateway({
    sendMail: ({ to }) => {
      mails.push(to);
      return refusal === null ? Promise.resolve() : Promise.reject(new AppError('mail_failed', {}, refusal));
    },
  });
  try {
    await site.rows("UPDATE users SET email = 'root@example.com' WHERE id = 1");
    await site.services.options.set('SMTPFrom', 'site@example.com', Role.root);
    await site.services.options.set('SMTPToken', 'hush-smtp', Role.root);
    const test = (userId: number) =>
      site.services.users.find(userId).then((user) => site.services.alerts.testMail(user?.email ?? '', 'en'));
    expect(await test(1)).toEqual({ to: 'root@example.com', ok: true, message: '' });
    // The owner of the machine has no address of his own.
    expect(await test(0)).toEqual({ to: 'site@example.com', ok: true, message: '' });
    refusal = new Error('535 5.7.8 Authentication failed for hush-smtp');
    expect(await test(1)).toEqual({
      ...{ to: 'root@example.com', ok: false },
      message: '535 5.7.8 Authentication failed for ***',
    });
    expect(mails).toEqual(['root@example.com', 'site@example.com', 'root@example.com']);
  } finally {
    await site.close();
  }
});
