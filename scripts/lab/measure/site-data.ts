/** A site as it looks after a week of use: channels, keys, people, requests with bills that can be recomputed, and the traffic that follows from them. The same for the same seed, but for the time of day. */
import { openDatabase } from '../../../db/open.ts';
import { recompute } from '../../../server/contract/pricing/charge.ts';
import { counterAt, type TrafficCounter, trafficBounds, trafficCounters } from '../../../server/contract/traffic.ts';
import { TrafficRecorder } from '../../../server/domain/traffic/recorder.ts';
import type { Stage } from '../../../tests/browser/support.ts';
import { randomOf } from '../../../tests/support/random.ts';

export interface SiteSize {
  readonly logs: number;
  readonly channels: number;
  readonly keys: number;
  readonly users: number;
  /** Share of the channels in use that fail. */
  readonly failing: number;
}

type Ask = (method: string, path: string, body?: unknown) => Promise<unknown>;

/** Name, ratios of input, output and cache, output tokens per second, milliseconds to the first. */
const models = [
  ['gpt-4o-mini', 0.075, 4, 0.5, 110, 410],
  ['claude-sonnet-4-5', 1.5, 5, 0.1, 78, 870],
  ['gpt-4o', 1.25, 4, 0.5, 84, 650],
  ['gemini-2.5-pro', 0.625, 8, 0.25, 104, 520],
  ['gpt-5.1', 0.625, 8, 0.1, 118, 430],
  ['deepseek-chat', 0.14, 1.5, 0.1, 46, 1900],
  ['gemini-2.5-flash', 0.15, 8.333333333333334, 0.25, 160, 320],
  ['kimi-k2-0905-preview', 0.3, 4.166666666666667, 0.25, 92, 560],
] as const;
/** Of those who use it now and then. */
const firstNames = ['ada', 'björn', 'chidi', 'dana', 'elif', 'farid', 'grace', 'haruto', 'ines', 'jun', 'kofi', 'lea'];
const lastNames = [
  'alvarez',
  'brandt',
  'costa',
  'diallo',
  'evans',
  'fischer',
  'gao',
  'haddad',
  'ito',
  'jansen',
  'kaur',
];
const people = ['lin.chen', 'ops-bot', 'tanaka', 'alice', 'mika', 'wei.zhao', 'josé', '王小明', 'müller', 'hana'];
const keyNames = ['claude-code', 'prod-api', 'notebook', 'alerting', 'ci', 'mobile app', '客服机器人', 'evaluation'];
/** Provider's type, name, what it serves. */
const inUse = [
  [1, 'OpenAI primary', 'gpt-4o,gpt-4o-mini,gpt-5.1'],
  [1, 'OpenAI EU (Frankfurt)', 'gpt-4o,gpt-4o-mini,gpt-5.1'],
  [1, 'OpenAI batch key', 'gpt-4o-mini'],
  [14, 'Anthropic', 'claude-sonnet-4-5'],
  [43, 'DeepSeek (slow)', 'deepseek-chat'],
  [24, 'Google AI Studio', 'gemini-2.5-pro,gemini-2.5-flash'],
  [25, 'Moonshot Kimi', 'kimi-k2-0905-preview'],
  [14, '备用 Anthropic 渠道', 'claude-sonnet-4-5'],
] as const;
/** Name of the codes, quota of each, how many, days until they expire; 0 = never. */
const batches = [
  ['launch gift', 2_500_000, 20, 0],
  ['合作伙伴', 25_000_000, 5, 90],
  ['thanks, Ada', 1_000_000, 1, 0],
  ['conference', 5_000_000, 8, 30],
  ['bug bounty', 50_000_000, 2, 0],
] as const;
const prompts = [
  'A lighthouse in fog, watercolour, wide angle',
  '水墨山水，远处有一座亭子',
  'Isometric city at night, neon signs, rain on the streets, long exposure',
  'Logo for a bakery, flat, two colours',
  'Portrait of an astronaut reading a newspaper in a café, 35 mm film',
];
const titles = ['Harbour lights', '山间的雨', 'Slow train to Lyon', 'Glass and neon'];
/** A small landscape, each in its own colours. */
const pictureOf = (n: number): string => {
  const hue = (n * 47) % 360;
  const color = (turn: number, light: number) => `hsl(${(hue + turn) % 360} 45% ${light}%)`;
  return `data:image/svg+xml,${encodeURIComponent(`<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 64 64'><rect width='64' height='64' fill='${color(0, 78)}'/><circle cx='${16 + (n % 5) * 8}' cy='18' r='8' fill='${color(40, 92)}'/><path d='M0 46 18 26 34 42 48 30 64 44V64H0Z' fill='${color(20, 42)}'/><path d='M0 54Q32 44 64 54V64H0Z' fill='${color(30, 26)}'/></svg>`)}`;
};
const upstreamWords = [
  '401 Incorrect API key provided: sk-…1234. You can find your API key at https://platform.openai.com/account/api-keys.',
  '429 Rate limit reached for requests per min. Limit: 500 / min.',
  '503 The engine is currently overloaded, please try again later',
];
const daySeconds = 86_400;

interface Row {
  readonly at: number;
  readonly model: (typeof models)[number];
  readonly user: number;
  readonly key: number;
  readonly channel: number;
  /** Channels that failed before. */
  readonly before: readonly number[];
  readonly ended: 'completed' | 'upstream_failed' | 'refused' | 'client_gone';
  readonly prompt: number;
  readonly cached: number;
  readonly output: number;
  readonly ms: number;
  readonly first: number;
  readonly words: string;
}

function rowsOf(random: () => number, now: number, size: SiteSize): Row[] {
  const among = <T>(list: readonly T[]): T => list[Math.floor(random() ** 1.6 * list.length)] as T;
  const failing = new Set(inUse.map((_, at) => at + 1).filter((id) => id === 3 || random() < size.failing));
  return Array.from({ length: size.logs }, (): Row => {
    // Half of it lies in the last day, more of it by day than by night.
    const shareOf = (days: number): number => 0.6 + 0.4 * Math.sin((now / daySeconds - days) * 2 * Math.PI - 2);
    let back = 0;
    do back = random() < 0.4 ? random() : random() * 7;
    while (random() > shareOf(back));
    const at = Math.floor(now - 20 - back * daySeconds);
    const model = among(models);
    const serving = inUse.flatMap(([, , names], index) => (names.split(',').includes(model[0]) ? [index + 1] : []));
    // What fails today did well a week ago.
    const bad = (id: number): boolean => failing.has(id) && now - at < 9 * 3600;
    const well = serving.filter((id) => !bad(id));
    const first = among(serving);
    const value = random();
    const saved = well.find((id) => id !== first);
    const isFailed = bad(first);
    const ended =
      isFailed && saved === undefined
        ? 'upstream_failed'
        : value < 0.012
          ? 'upstream_failed'
          : value < 0.03
            ? 'refused'
            : value < 0.035
              ? 'client_gone'
              : 'completed';
    const retried = isFailed || (value > 0.985 && ended === 'completed');
    const before = ended === 'completed' && retried && saved !== undefined ? [first] : [];
    const prompt = Math.round(200 + 9000 * random() ** 3);
    const cached = random() < 0.4 ? Math.round(prompt * 0.9 * random()) : 0;
    const output = Math.round(40 + 900 * random() ** 2);
    const firstMs = Math.round(
      model[5] * (0.6 + 0.9 * random()) * (model[0] === 'deepseek-chat' && back < 0.1 ? 3 : 1),
    );
    return {
      ...{ at, model, ended, before, prompt, cached, output },
      user: 1 + Math.floor(random() ** 2 * (people.length + 1)),
      key: Math.floor(random() ** 1.5 * keyNames.length),
      channel: before.length > 0 ? (saved ?? first) : first,
      first: firstMs,
      ms: firstMs + Math.round((output * 1000) / model[4]) + (before.length > 0 ? 310 : 0),
      words: isFailed ? (upstreamWords[0] ?? '') : (upstreamWords[1 + Math.floor(random() * 2)] ?? ''),
    };
  }).sort((a, b) => a.at - b.at);
}

const laterName = (at: number): string => {
  const round = Math.floor(at / (firstNames.length * lastNames.length));
  return `${firstNames[at % firstNames.length]}.${lastNames[(at * 5) % lastNames.length]}${round === 0 ? '' : round + 1}`;
};
const titled = (name: string): string =>
  name
    .replace(/\d/, '')
    .split('.')
    .map((part) => `${part.slice(0, 1).toUpperCase()}${part.slice(1)}`)
    .join(' ');
const nameOf = (channel: number): string => inUse[channel - 1]?.[1] ?? '';
const hexOf = (random: () => number): string =>
  Array.from({ length: 4 }, () =>
    Math.floor(random() * 0xffff_ffff)
      .toString(16)
      .padStart(8, '0'),
  ).join('');

function otherOf(row: Row): { readonly other: string; readonly quota: number } {
  const [, modelRatio, completionRatio, cacheRatio] = row.model;
  const attempts = row.before.map((id) => ({
    channel: id,
    name: nameOf(id),
    reason: 'status',
    status: 401,
    ms: 310,
    message: row.words,
  }));
  const info = {
    ip: '203.0.113.7',
    use_channel: [...row.before, row.channel].map(String),
    ...(attempts.length === 0 ? {} : { attempts: [...attempts, { channel: row.channel, name: nameOf(row.channel) }] }),
  };
  if (row.ended === 'refused')
    return {
      other: JSON.stringify({
        refused: 'model_not_allowed',
        status: 403,
        request_path: '/v1/chat/completions',
        admin_info: info,
      }),
      quota: 0,
    };
  if (row.ended === 'upstream_failed')
    return {
      other: JSON.stringify({
        failure: `status ${row.words.slice(0, 3)}`,
        ms: 420,
        request_path: '/v1/chat/completions',
        admin_info: {
          ...info,
          attempts: [
            {
              channel: row.channel,
              name: nameOf(row.channel),
              reason: 'status',
              status: Number(row.words.slice(0, 3)),
              ms: 420,
              message: row.words,
            },
          ],
        },
      }),
      quota: 0,
    };
  const facts = {
    ...{ model_ratio: modelRatio, model_price: -1, completion_ratio: completionRatio, group_ratio: 1 },
    ...{ cache_tokens: row.cached, cache_ratio: cacheRatio, input: row.prompt - row.cached, output: row.output },
    ...{ frt: row.first, ms: row.ms, request_path: '/v1/chat/completions', admin_info: info },
  };
  return { other: JSON.stringify(facts), quota: recompute(facts)?.quota ?? 0 };
}

function countsOf(row: Row, quota: number, failedHere: boolean): number[] {
  const counts = trafficCounters.map(() => 0);
  const add = (name: TrafficCounter, by: number) => {
    counts[counterAt(name)] = (counts[counterAt(name)] ?? 0) + by;
  };
  const bucketOf = (ms: number): number => {
    const at = trafficBounds.findIndex((bound) => ms <= bound);
    return at < 0 ? trafficBounds.length : at;
  };
  if (row.ended === 'refused') {
    add('refused', 1);
    add('error_refused', 1);
    return counts;
  }
  add('attempts', 1);
  if (failedHere) {
    add('failed_auth', 1);
    add('saved', 1);
    return counts;
  }
  add('requests', 1);
  if (row.before.length > 0) add('retried', 1);
  if (row.ended === 'upstream_failed') {
    add('error_upstream', 1);
    add('failed_upstream', 1);
    return counts;
  }
  if (row.ended === 'client_gone') add('error_client_left', 1);
  add('tokens_in', row.prompt);
  add('tokens_out', row.output);
  add('tokens_cached', row.cached);
  add('charge', quota);
  add('stream_tokens', row.output);
  add('stream_ms', row.ms - row.first);
  add('latency_ms', row.ms);
  add('first_ms', row.first);
  add(`latency_${bucketOf(row.ms)}` as TrafficCounter, 1);
  add(`first_${bucketOf(row.first)}` as TrafficCounter, 1);
  return counts;
}

const sellerOptions: Readonly<Record<string, string>> = {
  'invoice.seller_name': 'Example AI Services Ltd.',
  'invoice.seller_details': '12 Harbour Road\n20457 Hamburg\nGermany',
  'invoice.seller_tax_id': 'DE123456789',
  'invoice.tax_name': 'VAT',
  'invoice.tax_rate': '19',
};
const chains: readonly (readonly [name: string, description: string, targets: readonly object[]])[] = [
  [
    'coder',
    'For agents that write code',
    [{ model: 'claude-sonnet-4-5' }, { model: 'gpt-5.1' }, { model: 'deepseek-chat' }],
  ],
  ['fast', 'Short answers at once', [{ model: 'gemini-2.5-flash' }, { model: 'gpt-4o-mini' }]],
  [
    'long-context',
    'Whole repositories and books',
    [
      { model: 'gpt-4o', prompt_up_to: 100_000 },
      { model: 'gemini-2.5-pro', after: ['context_too_long'] },
    ],
  ],
];
/** Whose, of which window and unit, how much, and the share of it that is used. */
const budgetRows: readonly (readonly [
  holder: string,
  subject: string,
  window: string,
  unit: string,
  amount: number,
  share: number,
])[] = [
  ['site', '', 'month', 'money', 500_000_000, 0.42],
  ['group', 'vip', 'month', 'money', 125_000_000, 0.78],
  ['user', '2', 'day', 'money', 2_500_000, 0.96],
  ['user', '3', 'week', 'requests', 5000, 0.31],
  ['user', '4', 'month', 'tokens', 50_000_000, 0.12],
  ['site', '', 'request', 'tokens', 200_000, 0],
];

/** Budgets, virtual models, and orders of root with their invoices: what the ledger and the site make of them themselves. */
async function fillShop(file: string, ask: Ask, now: number): Promise<void> {
  for (const [name, value] of Object.entries(sellerOptions)) await ask('PUT', '/api/option/', { key: name, value });
  await ask('PUT', '/api/invoice/buyer', {
    name: 'Northwind Research GmbH',
    address: 'Lindenallee 4\n50667 Köln',
    tax_id: 'DE987654321',
  });
  for (const [name, description, targets] of chains)
    await ask('POST', '/api/virtual_model/', { name, description, enabled: true, targets });
  const { Database } = await import('bun:sqlite');
  const raw = new Database(file);
  raw.run('PRAGMA busy_timeout = 10000');
  const numbers = Array.from(
    { length: 9 },
    (_, at) => `T${(0x2f6e2b1 * (now % 99_991) * (at + 7)).toString(16).padEnd(18, '3').slice(0, 18)}`,
  );
  for (const [at, tradeNo] of numbers.entries())
    raw.run(
      "INSERT INTO top_ups (user_id, trade_no, method, amount, quota, money, currency, status, created_at) VALUES (1, ?, ?, ?, ?, ?, ?, 'pending', ?)",
      [
        tradeNo,
        at % 3 === 0 ? 'stripe' : 'zfb',
        10 * (1 + (at % 3)),
        5_000_000 * (1 + (at % 3)),
        (at % 3 === 0 ? 1000 : 7300) * (1 + (at % 3)),
        at % 3 === 0 ? 'usd' : 'cny',
        now - (9 - at) * 400,
      ],
    );
  for (const tradeNo of numbers) await ask('POST', '/api/user/topup/complete', { trade_no: tradeNo });
  await ask('POST', '/api/user/topup/refund', { trade_no: numbers[1], money: '46.00' });
  for (const [holder, subject, window, unit, amount] of budgetRows)
    await ask('PUT', '/api/budget/', { holder, subject, window, unit, amount });
  const midnight = now - (now % daySeconds);
  const starts: Readonly<Record<string, number>> = {
    day: midnight,
    week: midnight - ((new Date(now * 1000).getUTCDay() + 6) % 7) * daySeconds,
    month: midnight - (new Date(now * 1000).getUTCDate() - 1) * daySeconds,
  };
  for (const [holder, subject, window, unit, amount, share] of budgetRows)
    if (share > 0)
      raw.run(
        'INSERT OR REPLACE INTO budget_use (budget_id, window_at, used) SELECT id, ?, ? FROM budgets WHERE holder = ? AND subject = ? AND period = ? AND unit = ?',
        [starts[window] ?? 0, Math.round(amount * share), holder, subject, window, unit],
      );
  raw.close();
}

/** @param ask as root. */
export async function fillSite(stage: Stage, ask: Ask, size: SiteSize, seed: number): Promise<void> {
  const random = randomOf(seed);
  const now = Math.floor(Date.now() / 1000);
  const file = `${stage.sandbox.dataDir}/gateway.db`;
  for (const [name, value] of Object.entries({
    ServerAddress: 'https://ai.example.com',
    DrawingEnabled: 'true',
    TaskEnabled: 'true',
    // Its pictures come from no upstream.
    MjForwardUrlEnabled: 'false',
    TopUpLink: 'https://shop.example.com/codes',
    QuotaRemindThreshold: '500000',
    Announcement: '',
    model_rules: '[{"models":"^llama3-","outputCap":8192,"refuses":["temperature","seed"]}]',
  }))
    await ask('PUT', '/api/option/', { key: name, value }).catch(() => undefined);
  // A price that went up and came back: its page shows both.
  for (const price of [
    { input: 3, output: 12, cached: 1.5 },
    { input: 2.5, output: 10, cached: 1.25 },
  ])
    await ask('PUT', '/api/ratio/models', { models: { 'gpt-4o': price } });
  for (const [type, name, served] of inUse)
    await ask('POST', '/api/channel/', {
      type,
      name,
      models: served,
      key: `sk-${hexOf(random)}1234`,
      group: 'default',
      base_url: '',
    });
  await ask('POST', '/api/channel/', {
    type: 1,
    name: 'GPU box',
    models: 'llama3-7b,practice-model',
    key: 'none',
    base_url: 'http://10.0.0.7:8000',
    tag: 'spare',
    priority: -1,
  });
  const more = size.channels - inUse.length - 1;
  if (more > 0) {
    const key = Array.from({ length: more }, () => `sk-${hexOf(random)}`).join('\n');
    await ask('POST', '/api/channel/', {
      type: 1,
      name: 'pool',
      models: 'gpt-4o,gpt-4o-mini',
      key,
      priority: -5,
      tag: 'pool',
    });
  }
  for (const name of keyNames.slice(0, size.keys))
    await ask('POST', '/api/token/', {
      name,
      unlimited_quota: name !== 'prod-api' && name !== 'ci',
      remain_quota: 25_000_000,
    });
  for (const name of size.users > 0 ? keyNames.slice(0, 3) : [])
    await ask('POST', '/api/token/', { name, remain_quota: 2_500_000, allow_ips: '203.0.113.0/24' });
  for (let n = keyNames.length; n < size.keys; n++)
    await ask('POST', '/api/token/', { name: `customer ${String(n).padStart(3, '0')}`, remain_quota: 5_000_000 });
  for (const [name, quota, count, days] of size.keys > 10 ? batches : [])
    await ask('POST', '/api/redemption/', {
      name,
      quota,
      count,
      expired_time: days === 0 ? 0 : Math.floor(Date.now() / 1000) + days * daySeconds,
    });

  const { Database } = await import('bun:sqlite');
  const raw = new Database(file);
  raw.run('PRAGMA busy_timeout = 10000');
  const userNames = Array.from({ length: size.users }, (_, at) => people[at] ?? laterName(at));
  const rows = rowsOf(random, now, size);
  const rowsWithPrice = rows.map((row) => ({ row, ...otherOf(row), id: hexOf(random) }));
  raw.transaction(() => {
    const user = raw.prepare(
      'INSERT INTO users (id, username, password_hash, display_name, role, status, group_name, email, created_at) VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?)',
    );
    const account = raw.prepare('INSERT INTO accounts (id) VALUES (?)');
    for (const [at, name] of userNames.entries()) {
      user.run(
        at + 2,
        name,
        'x',
        at % 4 === 3 ? '' : titled(name),
        at % 17 === 16 ? 2 : 1,
        at % 5 === 4 ? 'vip' : 'default',
        at % 3 === 0 ? `${name.normalize('NFD').replace(/[^a-z0-9.]/g, '')}@example.com` : '',
        now - 30 * daySeconds + at,
      );
      account.run(at + 2);
    }
    const log =
      raw.prepare(`INSERT INTO logs (request_id, created_at, type, user_id, username, token_id, token_name, channel_id, group_name, model_name,
      is_stream, use_time, prompt_tokens, completion_tokens, quota, content, other, usage_source, end_reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'default', ?, 1, ?, ?, ?, ?, ?, ?, ?, ?)`);
    const hour =
      raw.prepare(`INSERT INTO usage_hours (hour_at, user_id, username, model_name, channel_id, count, tokens, quota) VALUES (?, ?, ?, ?, ?, 1, ?, ?)
      ON CONFLICT (hour_at, user_id, model_name, channel_id) DO UPDATE SET count = count + 1, tokens = tokens + excluded.tokens, quota = quota + excluded.quota`);
    for (const { row, other, quota, id } of rowsWithPrice) {
      const username = row.user === 1 ? 'root' : (userNames[row.user - 2] ?? 'root');
      const failed = row.ended === 'upstream_failed' || row.ended === 'refused';
      const content =
        row.ended === 'refused' ? `This key may not use ${row.model[0]}` : failed ? row.words.slice(4) : '';
      const counted = failed ? [0, 0] : [row.prompt, row.output];
      log.run(
        id,
        row.at,
        failed ? 5 : 2,
        row.user,
        username,
        row.key + 1,
        keyNames[row.key] ?? '',
        row.ended === 'refused' ? 0 : row.channel,
        row.model[0],
        Math.round(row.ms / 1000),
        counted[0] ?? 0,
        counted[1] ?? 0,
        quota,
        content,
        other,
        failed ? 'none' : 'reported',
        row.ended,
      );
      if (!failed)
        hour.run(
          row.at - (row.at % 3600),
          row.user,
          username,
          row.model[0],
          row.channel,
          row.prompt + row.output,
          quota,
        );
    }
    const spent = new Map<number, number>();
    const byKey = new Map<number, number>();
    const byChannel = new Map<number, number>();
    for (const { row, quota } of rowsWithPrice) {
      spent.set(row.user, (spent.get(row.user) ?? 0) + quota);
      byKey.set(row.key + 1, (byKey.get(row.key + 1) ?? 0) + quota);
      byChannel.set(row.channel, (byChannel.get(row.channel) ?? 0) + quota);
    }
    for (const [id, sum] of spent)
      raw.run('UPDATE accounts SET used_quota = ?, request_count = ? WHERE id = ?', [
        sum,
        rows.filter(({ user: one }) => one === id).length,
        id,
      ]);
    raw.run(
      'UPDATE accounts SET used_quota = CASE id % 6 WHEN 5 THEN 0 ELSE id * 7919 % 2600000 END, request_count = CASE id % 6 WHEN 5 THEN 0 ELSE id * 37 % 900 END WHERE id > ?',
      [people.length + 1],
    );
    raw.run('UPDATE accounts SET balance = CASE id % 9 WHEN 4 THEN 0 ELSE id * 104729 % 9000000 END WHERE id > 1');
    raw.run('UPDATE users SET aff_count = 2, aff_history_quota = 1500000 WHERE id % 8 = 3');
    raw.run('UPDATE users SET inviter_id = 3 + 8 * (id % 3) WHERE id % 8 = 5');
    for (const [id, sum] of byKey)
      raw.run(
        'UPDATE tokens SET used_quota = ?, accessed_at = ?, last_ip = ?, month_at = ?, month_used = ? WHERE id = ?',
        [sum, now - id * 700, '203.0.113.7', now - (now % daySeconds), sum, id],
      );
    raw.run(
      'UPDATE tokens SET used_quota = (id * 7919 % 5000000), accessed_at = ? - id * 600 WHERE id > ? AND id % 3 > 0',
      [now, keyNames.length],
    );
    // One person's page is photographed: with keys of their own and a login.
    raw.run(
      "UPDATE tokens SET user_id = 2, created_at = ?, accessed_at = ? - id % 3 * 900, used_quota = 400000 + id % 3 * 250000, last_ip = '203.0.113.7' WHERE allow_ips = '203.0.113.0/24'",
      [now - 20 * daySeconds, now - 40],
    );
    raw.run(
      'INSERT INTO sessions (id_hash, user_id, created_at, last_seen_at, expires_at, ip, user_agent) VALUES (?, 2, ?, ?, ?, ?, ?)',
      [
        hexOf(random),
        now - 3 * 3600,
        now - 1200,
        now + 6 * daySeconds,
        '203.0.113.7',
        'Mozilla/5.0 (X11; Linux x86_64) Firefox/144.0',
      ],
    );
    for (const [id, sum] of byChannel) raw.run('UPDATE channels SET used_quota = ? WHERE id = ?', [sum, id]);
    raw.run('UPDATE channels SET balance = 40 + id * 13.25, balance_updated_at = ? WHERE id IN (1, 2, 4, 5)', [
      now - 3600,
    ]);
    raw.run(
      'UPDATE redemptions SET created_at = created_at - (SELECT COUNT(DISTINCT name) FROM redemptions later WHERE later.id > redemptions.id AND later.name <> redemptions.name) * ?',
      [5 * daySeconds + 4211],
    );
    raw.run(
      'UPDATE redemptions SET status = 3, used_user_id = 1 + id % 9, redeemed_at = created_at + 3600 WHERE id % 3 = 1 AND id < 35',
    );
    raw.run('UPDATE redemptions SET status = 2 WHERE id IN (22, 30)');
    raw.run('UPDATE channels SET response_time_ms = 300 + id * 37 % 900, test_at = ? WHERE id <= 40', [now - 7200]);
    raw.run('UPDATE channels SET status = 2 WHERE id % 23 = 22');
    raw.run("UPDATE channels SET name = name || ' ' || id WHERE id > ? AND name = 'pool'", [inUse.length + 1]);
    if (size.logs > 5000) {
      const drawing = raw.prepare(
        'INSERT INTO drawing_tasks (user_id, action, mj_id, prompt, submit_ms, start_ms, finish_ms, status, progress, fail_reason, image_url, code, channel_id, quota) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 1, 50000)',
      );
      const task = raw.prepare(
        'INSERT INTO tasks (created_at, updated_at, task_id, platform, user_id, channel_id, quota, action, status, fail_reason, submit_at, start_at, finish_at, progress, data) VALUES (?, ?, ?, ?, ?, 1, 250000, ?, ?, ?, ?, ?, ?, ?, ?)',
      );
      const order = raw.prepare(
        'INSERT INTO top_ups (user_id, trade_no, method, amount, quota, money, currency, status, created_at, paid_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      );
      for (let n = 0; n < 60; n++) {
        const at = now - (60 - n) * 4100;
        const [status, reason, progress] =
          n % 9 === 4
            ? ['FAILURE', 'The prompt was refused by the upstream', '40%']
            : n % 7 === 0
              ? ['IN_PROGRESS', '', '35%']
              : ['SUCCESS', '', '100%'];
        const ended = status === 'IN_PROGRESS' ? 0 : at + 34;
        drawing.run(
          1 + (n % 3),
          n % 4 === 0 ? 'UPSCALE' : 'IMAGINE',
          hexOf(random).slice(0, 16),
          prompts[n % prompts.length] ?? '',
          at * 1000,
          (at + 2) * 1000,
          ended * 1000,
          status ?? '',
          progress ?? '',
          reason ?? '',
          status === 'SUCCESS' ? pictureOf(n) : '',
        );
        task.run(
          at,
          at,
          hexOf(random),
          'suno',
          1 + (n % 3),
          n % 3 === 0 ? 'LYRICS' : 'MUSIC',
          status ?? '',
          reason ?? '',
          at,
          at + 2,
          ended,
          progress ?? '',
          status === 'SUCCESS' ? JSON.stringify([{ title: titles[n % titles.length] }]) : '',
        );
        order.run(
          1 + (n % 5),
          `T${hexOf(random).slice(0, 18)}`,
          n % 3 === 0 ? 'stripe' : 'zfb',
          10 * (1 + (n % 5)),
          5_000_000 * (1 + (n % 5)),
          // Stripe takes dollars, Alipay yuan: both for the same credit.
          (n % 3 === 0 ? 1000 : 7300) * (1 + (n % 5)),
          n % 3 === 0 ? 'usd' : 'cny',
          n % 8 === 3 ? 'expired' : n === 0 ? 'pending' : 'success',
          at,
          n % 8 === 3 || n === 0 ? 0 : at + 60,
        );
      }
    }
  })();
  raw.close();

  const database = openDatabase(file);
  const options = { get: () => 0 } as never;
  const recorder = new TrafficRecorder({ database, options, node: '', now: () => Date.now() });
  for (const [at, inWindow] of Map.groupBy(rowsWithPrice, ({ row }) => row.at - (row.at % 300))) {
    const failureRuns = [
      ...Map.groupBy(inWindow, ({ row }) => row.before[0] ?? (row.ended === 'upstream_failed' ? row.channel : 0)),
    ]
      .filter(([id]) => id !== 0)
      .map(([channelId, own]) => ({
        channelId,
        succeeded: inWindow.some(({ row }) => row.channel === channelId && row.ended === 'completed'),
        failures: own.length,
        since: own[0]?.row.at ?? at,
        lastAt: own.at(-1)?.row.at ?? at,
        words: own[0]?.row.words ?? '',
      }));
    const answering = inUse.flatMap((_, index) =>
      !failureRuns.some(({ channelId }) => channelId === index + 1) &&
      inWindow.some(({ row }) => row.channel === index + 1 && row.ended === 'completed')
        ? [{ channelId: index + 1, succeeded: true, failures: 0, since: 0, lastAt: 0, words: '' }]
        : [],
    );
    recorder.add([
      {
        at,
        routes: inWindow.flatMap(({ row, quota }) =>
          row.ended === 'refused'
            ? []
            : [
                ...row.before.map((id) => [id, row.model[0], countsOf(row, 0, true)] as const),
                [row.channel, row.model[0], countsOf(row, quota, false)] as const,
              ],
        ),
        callers: inWindow.map(
          ({ row, quota }) => [row.user, row.key + 1, row.model[0], countsOf(row, quota, false)] as const,
        ),
        streaks: [...failureRuns, ...answering],
        saves: inWindow.flatMap(({ row }) => row.before.map((id) => [id, row.channel, 1] as const)),
        places: [],
      },
    ]);
  }
  await recorder.flush();
  await database.close();
  if (size.logs > 5000) await fillShop(file, ask, now);
}
