/** When a trouble is one, at its edges. */
import { expect, test } from 'vitest';
import { type AppError, formatError } from '../../server/contract/errors.ts';
import { healthyStorage } from '../../server/contract/storage.ts';
import { conditions } from '../../server/domain/alerts/conditions.ts';
import { createDefectCount } from '../../server/domain/alerts/defects.ts';
import { createDeliver } from '../../server/domain/alerts/delivery.ts';
import type { AlertInputs } from '../../server/domain/alerts/inputs.ts';

const options: Readonly<Record<string, unknown>> = {
  'alert_setting.spend_limit': 10,
  'alert_setting.spend_factor': 3,
  'alert_setting.cache_requests': 100,
  QuotaPerUnit: 1000,
  DisplayInCurrencyEnabled: true,
};
const details = (more: Partial<AlertInputs>): AlertInputs => ({
  get: ((key: string) => options[key]) as AlertInputs['get'],
  now: 0,
  channels: [],
  ejected: new Set(),
  failing: new Map(),
  unpriced: [],
  failedShares: new Map(),
  otherModels: new Map(),
  cacheUse: new Map(),
  spent: 0,
  baseline: 0,
  expiring: [],
  freeBytes: null,
  storage: healthyStorage,
  isRecent: false,
  defects: null,
  stall: null,
  budgets: [],
  frozen: [],
  unsent: [],
  backupMissing: null,
  ...more,
});

test('more than three times the usual hour is unusual, as much is not', () => {
  expect(conditions.spend_unusual(details({ baseline: 2000, spent: 6000 }))).toEqual([]);
  expect(conditions.spend_unusual(details({ baseline: 2000, spent: 6001 }))).toHaveLength(1);
  // Below a dollar an hour nothing is.
  expect(conditions.spend_unusual(details({ baseline: 10, spent: 1000 }))).toEqual([]);
  expect(conditions.spend_unusual(details({ baseline: 10, spent: 1001 }))).toHaveLength(1);
});

test('a hit rate of a channel that is at most half of the week’s is one, with enough requests in both', () => {
  const use = (requests: number, cached: number) => ({ requests, input_tokens: 1000, cached_tokens: cached });
  const channels = [{ id: 1, name: 'c1' }] as unknown as AlertInputs['channels'];
  const found = (last: ReturnType<typeof use>, before: ReturnType<typeof use>, id = 1) =>
    conditions.cache_halved(details({ channels, cacheUse: new Map([[id, { last, before }]]) }));
  expect(found(use(100, 400), use(100, 800))).toEqual([
    { subject: '1', values: { id: 1, name: 'c1', requests: 100, rate: '40.0', before: '80.0' } },
  ]);
  expect(found(use(100, 401), use(100, 800))).toEqual([]);
  expect(found(use(99, 0), use(100, 800))).toEqual([]);
  expect(found(use(100, 0), use(99, 800))).toEqual([]);
  // Who never used a cache misses none.
  expect(found(use(100, 0), use(100, 99))).toEqual([]);
  expect(found(use(100, 0), use(100, 100))).toHaveLength(1);
  expect(found(use(100, 0), use(100, 800), 2)).toEqual([]);
  expect(conditions.cache_halved(details({ channels }))).toEqual([]);
});

test('an amount over the limit is reported with both amounts', () => {
  expect(conditions.spend_high(details({ spent: 10_000 }))).toEqual([]);
  expect(conditions.spend_high(details({ spent: 10_001 }))[0]?.values.limit).toMatch(/10(\.0+)?$/);
});

test('a channel whose real requests fail is reported with the upstream’s words, unless it is disabled', () => {
  const channel = (id: number, status: number) => ({ id, name: `c${id}`, status, other_info: '' });
  const channels = [channel(1, 1), channel(2, 1), channel(3, 2)] as unknown as AlertInputs['channels'];
  const failing = new Map([
    [2, '401 Incorrect API key'],
    [3, '500 no'],
  ]);
  expect(conditions.channel_failing(details({ channels, failing }))).toEqual([
    { subject: '2', values: { id: 2, name: 'c2', reason: '401 Incorrect API key' } },
  ]);
});

test('others’ words are cut at 300 characters', () => {
  const long = 'x'.repeat(400);
  const storage = { ...healthyStorage, ok: false, reason: long };
  expect(conditions.commits_late(details({ storage }))[0]?.values.reason).toBe('x'.repeat(300));
  expect(conditions.backup_missed(details({ backupMissing: long }))[0]?.values.reason).toBe('x'.repeat(300));
});

/** Pieces of the one answer that Feishu's double gives. */
const deliver = (...chunks: string[]) => {
  const left = [...chunks];
  const body = new ReadableStream({
    async pull(controller) {
      // So that two pieces are never read as one.
      await new Promise((resolve) => setTimeout(resolve, 1));
      const chunk = left.shift();
      if (chunk === undefined) controller.close();
      else controller.enqueue(new TextEncoder().encode(chunk));
    },
  });
  const set: Readonly<Record<string, string>> = { 'alert_setting.feishu_url': 'https://open.feishu.cn/hook/x' };
  const send = createDeliver({
    options: { get: (key: string) => set[key] ?? '' } as never,
    sendMail: async () => undefined,
    fetch: async () => new Response(body),
  });
  return send.to('feishu', { site: 's', kind: 'disk_low', title: 't', text: 't', subject: '', at: 0 } as never).then(
    () => 'taken',
    () => 'refused',
  );
};

test('an answer of 16,384 characters is read to its end, one that is longer is not', async () => {
  const taken = '{"code":0,"msg":"ok"';
  expect(await deliver('{"code":19024,"msg":"no"}')).toBe('refused');
  expect(await deliver(`${taken}}`)).toBe('taken');
  expect(await deliver(taken.padEnd(16_384), '}')).toBe('taken');
  // What it says then is not known.
  expect(await deliver(taken.padEnd(16_385), '}')).toBe('refused');
});

test('a target that is not set up gets no alert, and the reason is reported', async () => {
  const send = createDeliver({
    options: { get: () => '' } as never,
    sendMail: async () => undefined,
    fetch: async () => new Response('{}'),
  });
  const alert = { site: 's', kind: 'test', title: 't', text: 't', subject: '', at: 0 } as const;
  await expect(send.to('slack', alert)).rejects.toMatchObject({
    code: 'alert_undelivered',
    params: { target: 'slack', reason: 'unset' },
  });
});

test('a target that cannot be reached is named with the reason in words, never with its address', async () => {
  const cause = Object.assign(new Error('getaddrinfo ENOTFOUND hooks.example'), { code: 'ENOTFOUND' });
  const send = createDeliver({
    options: { get: () => 'https://hooks.example/hush' } as never,
    sendMail: async () => undefined,
    fetch: () => Promise.reject(new TypeError('fetch failed', { cause })),
  });
  const alert = { site: 's', kind: 'test', title: 't', text: 't', subject: '', at: 0 } as const;
  const error = (await send.to('slack', alert).catch((thrown: unknown) => thrown)) as AppError;
  expect(formatError(error.code, error.params, 'en')).toBe(
    'The alert did not reach slack: the host name could not be resolved',
  );
  expect(formatError(error.code, error.params, 'zh')).toBe('告警未能送达 slack：无法解析主机名');
});

test('requests that met a defect of the program are alerted about for an hour, with the latest', () => {
  let now = 0;
  const { note, recent } = createDefectCount(() => now);
  expect(conditions.defect(details({ defects: recent() }))).toEqual([]);
  note('r1', 'first');
  now = 1000;
  note('r2', 'second');
  expect(conditions.defect(details({ defects: recent() }))).toEqual([
    { subject: '', values: { count: 2, reason: 'second', request: 'r2' } },
  ]);
  now = 3_600_500;
  expect(recent()).toEqual({ count: 1, requestId: 'r2', message: 'second' });
  now = 3_601_000;
  expect(conditions.defect(details({ defects: recent() }))).toEqual([]);
});

test('a relay thread that stood still is reported with its request, one that works on none without', () => {
  const stall = { thread: 2, requestId: '20261128221455123abcdefgh', ms: 2250, at: 0 };
  expect(conditions.relay_stalled(details({}))).toEqual([]);
  expect(conditions.relay_stalled(details({ stall }))).toEqual([
    { subject: '2', values: { thread: 2, seconds: 2, request: '20261128221455123abcdefgh' } },
  ]);
  expect(conditions.relay_stalled(details({ stall: { ...stall, requestId: '' } }))[0]?.values.request).toBe('—');
});

test('the highest warning that a budget of a group, a label or the site has passed is one alert, each anew', () => {
  const budget = (used: number) => ({
    ...{ id: 3, holder: 'label', subject: 'team-a', name: 'team-a', window: 'day', unit: 'money', amount: 10_000 },
    ...{
      zone: '',
      raise: 0,
      raise_until: 0,
      bound: 10_000,
      used,
      window_at: 7,
      resets: 9,
      created_time: 1,
      updated_time: 1,
    },
  });
  const found = (used: number) =>
    conditions
      .budget_used(details({ budgets: [budget(used)] as AlertInputs['budgets'] }))
      .map(({ subject }) => subject);
  expect(found(7499)).toEqual([]);
  expect(found(7500)).toEqual(['3 7 75']);
  expect(found(8500)).toEqual(['3 7 85']);
  expect(found(9999)).toEqual(['3 7 95']);
  expect(found(10_000)).toEqual(['3 7 100']);
  const [{ values } = { values: {} }] = conditions.budget_used(
    details({ budgets: [budget(9500)] as AlertInputs['budgets'] }),
  );
  expect(values).toMatchObject({
    whose: { zh: '标签 team-a：', en: 'Label team-a: ' },
    window: { zh: '按天的预算', en: 'daily budget' },
    percent: 95,
  });
});

test('a key that was stopped is named with its owner', () => {
  const frozen = [{ id: 4, name: 'ci', username: 'mira' }];
  expect(conditions.key_frozen(details({ frozen }))).toEqual([{ subject: '4', values: frozen[0] }]);
});
