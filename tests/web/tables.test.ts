// @vitest-environment happy-dom
/** Functions of the console that only reckon or spell: what each makes of its inputs, against tables that a person has read. */
import i18next from 'i18next';
import { afterAll, beforeAll, test, vi } from 'vitest';
import type { Channel, Log, Token } from '../../server/contract/entities.ts';
import type { MoneyDetails } from '../../server/contract/pricing/format.ts';
import * as amount from '../../web/components/amount.ts';
import { channelColor } from '../../web/components/channel-color.ts';
import * as traffic from '../../web/components/channel-traffic.ts';
import * as channelForm from '../../web/features/channels/channel-form.ts';
import * as channelFailure from '../../web/features/channels/failure.ts';
import { hasNote } from '../../web/features/channels/failure.ts';
import { withModels } from '../../web/features/channels/model-list.ts';
import { tagRows } from '../../web/features/channels/tag-rows.ts';
import { curlOf } from '../../web/features/logs/curl.ts';
import { eventText } from '../../web/features/logs/event-text.ts';
import * as filters from '../../web/features/logs/log-filters.ts';
import * as conversation from '../../web/features/playground/conversation.ts';
import { attachmentsOf } from '../../web/features/playground/files.ts';
import { readKept, writeKept } from '../../web/features/playground/keep.ts';
import * as modelRows from '../../web/features/pricing/model-rows.ts';
import { rowsFor } from '../../web/features/pricing/price-rows.ts';
import * as optionMap from '../../web/features/settings/option-map.ts';
import { errorsIn } from '../../web/features/settings/prices/draft-errors.ts';
import * as priceMaps from '../../web/features/settings/prices/price-maps.ts';
import * as typedOption from '../../web/features/settings/typed-option.ts';
import { requestsFor } from '../../web/features/tokens/model-details.ts';
import { sentenceOf } from '../../web/features/tokens/sentence.ts';
import * as tokenForm from '../../web/features/tokens/token-form.ts';
import * as topUp from '../../web/features/wallet/top-up.tsx';
import { ApiError, isAnswered, wordsFor } from '../../web/lib/api.ts';
import * as stream from '../../web/lib/chat-stream.ts';
import * as currency from '../../web/lib/currency.ts';
import * as expiry from '../../web/lib/expiry.ts';
import { failureWords } from '../../web/lib/failure-words.ts';
import * as format from '../../web/lib/format.ts';
import * as keys from '../../web/lib/key-provider.ts';
import { keyUsage, spendOf, spendWindows } from '../../web/lib/key-usage.ts';
import * as details from '../../web/lib/log-details.ts';
import * as range from '../../web/lib/range.ts';
import { shouldRetry } from '../../web/lib/read.ts';
import { storeReturnPath, takeReturnPath } from '../../web/lib/return-to.ts';
import { smallModel } from '../../web/lib/small-model.ts';
import { chatLinks } from '../../web/lib/status.ts';
import * as time from '../../web/lib/time.ts';
import * as overview from '../../web/lib/traffic.ts';
import * as url from '../../web/lib/url.ts';
import { isRequestId, modelsNamed } from '../../web/shell/palette-entries.ts';
import { expectGolden, fixTimeZone } from '../support/golden-file.ts';

/** Thursday, 2026-11-26 09:30 UTC. */
const now = Date.UTC(2026, 10, 26, 9, 30) / 1000;
const [minute, hour, day] = [60, 3600, 86_400];

beforeAll(async () => {
  fixTimeZone();
  localStorage.setItem('i18nextLng', 'en');
  await (await import('../../web/lib/i18n.ts')).startLanguage();
  vi.useFakeTimers({ now: now * 1000, toFake: ['Date'] });
});
afterAll(() => {
  vi.useRealTimers();
  localStorage.clear();
});

const written = (value: unknown): string =>
  typeof value === 'function'
    ? '…'
    : (JSON.stringify(value, (_name, one: unknown) =>
        typeof one === 'number' && !Number.isFinite(one) ? String(one) : one instanceof Map ? [...one] : one,
      ) ?? 'undefined');
const lines: string[] = [];
/** Each input is a list of arguments. @param shown of an argument that is too long to be read. */
function table<Inputs extends readonly unknown[]>(
  name: string,
  make: (...inputs: Inputs) => unknown,
  ...rows: readonly (readonly [...Inputs])[]
): void {
  lines.push(`# ${name}`);
  for (const row of rows) {
    let result: string;
    try {
      result = written(make(...row));
    } catch (error) {
      result = `throws ${error instanceof Error ? error.message : String(error)}`;
    }
    lines.push(`${row.map(written).join(', ')} → ${result}`);
  }
}
const over = <Input>(inputs: readonly Input[]): [Input][] => inputs.map((one) => [one]);
function finish(name: string): void {
  expectGolden(`tests/web/outlines/tables/${name}.txt`, lines.splice(0));
}

const getOf =
  (values: Readonly<Record<string, string>>) =>
  (name: string): string =>
    values[name] ?? '';
const t = i18next.t;

test('times', () => {
  const moments = [0, 1, 59, now, now + 29 * minute, Date.UTC(2026, 0, 5, 18, 30) / 1000];
  table('dateTime', format.dateTime, ...over(moments));
  table('minuteTime', format.minuteTime, ...over(moments));
  table('day', format.day, [now, 'en'], [now, 'zh'], [Date.UTC(2026, 0, 2) / 1000, 'en']);
  const away = [0, 1, 29, 59, 60, 61, 89, 90, hour - 1, hour, 1.5 * hour, day - 1, day, 2 * day, 30 * day - 1, 30 * day]
    .concat([365 * day - 1, 365 * day, 700 * day])
    .flatMap((one) => [now - one, now + one]);
  table('relative', (seconds: number) => format.relative(seconds, 'en', now * 1000), ...over(away));
  table('relative to now', (seconds: number) => format.relative(seconds, 'zh'), [now - 2 * hour], [now + 40 * day]);
  const lengths = [0, 0.04, 0.05, 1, 59, 59.94, 60, 61, 119.9, 120, hour - 1, hour, hour + 59, hour + 60, day - 1, day];
  table('duration', format.duration, ...over([...lengths, day + hour - 1, day + hour, 40 * day + 23.5 * hour]));
  table('grouped', format.grouped, ...over([0, 999, 1000, 1234567.5, -1000]));
  table('percentText', format.percentText, ...over([0, 0.00001, 0.0038, 0.00999, 0.01, 0.9996, 1, -0.0004, -0.1]));
  const typed = [
    '2026-11-26',
    '2026/11/26',
    '2026.1.2',
    ' 2026-11-26 9:05 ',
    '2026-11-26T09:05:07',
    '2026-11-26  23:59',
  ];
  const odd = [
    '',
    'soon',
    '26-11-2026',
    '2026-13-01',
    '2026-02-29',
    '2028-02-29',
    '2026-11-26 24:00',
    '2026-11-26 9:60',
  ];
  const rest = [
    '2026-11-26 09:05:60',
    '２０２６-11-26',
    '2026-11-26 9',
    '2026-00-10',
    '2026-1-0',
    '0099-01-01',
    '2026-11-31',
  ];
  for (const late of [true, false])
    table('parseTime', time.parseTime, ...[...typed, ...odd, ...rest].map((one) => [one, late] as const));
  table('timeOf', time.timeOf, ['2026-11-26', true], ['soon', true]);
  const expiries = [
    '',
    ' ',
    '-1',
    '-2',
    '2026-11-25',
    '2026-11-26',
    '2026-11-26 15:00',
    '2026-11-26 15:01',
    '2026-02-30',
    'x',
  ];
  table('parseExpiry', (one: string) => expiry.parseExpiry(one, now * 1000), ...over(expiries));
  table('expiryText', expiry.expiryText, ...over([-1, 0, 1, now]));
  const past = expiry.expiryText(now - day);
  for (const make of [expiry.expiryOf, expiry.expiryIn])
    table(make.name, make, [past, now - day], [past, 0], ['', now], ['', -1], ['x', now], ['2026-12-01', now], ['', 0]);
  finish('times');
});

test('ranges', () => {
  const addresses = [
    '',
    'range=15m',
    'range=1h',
    'range=24h',
    'range=7d',
    'range=30d',
    'range=90d',
    'range=all',
    'range=no',
  ]
    .concat([
      'from=1795600000',
      'to=2026-11-26T09:30Z',
      'from=2026-11-20&to=1795600000&range=7d',
      'from=never',
      'from=12345678',
    ])
    .concat(['from=123456789012']);
  for (const initial of ['24h', 'all', '7d', { from: now - day, to: 0 }] as const)
    table(
      `rangeIn ${written(initial)}`,
      (address: string) =>
        range.rangeIn((name) => new URLSearchParams(address).get(name) ?? '', initial, now * 1000 + 61_500),
      ...over(addresses),
    );
  table('rangeIn now', () => range.rangeIn(() => '', '1h'), []);
  table(
    'rangeQuery',
    range.rangeQuery,
    [{ span: 'custom', from: now, to: 0 }],
    [{ span: '7d', from: 1, to: 2 }],
    [{ span: 'all', from: 0, to: 0 }],
  );
  table('zoneName', () => range.zoneName(), []);
  const zones = [0, -60, 90, -345, 600, -840];
  table(
    'zoneName by minutes',
    (offset: number) => range.zoneName({ getTimezoneOffset: () => offset } as Date),
    ...over(zones),
  );
  const ends = [900, hour, 6 * hour, 6 * hour + 1, 24 * hour, 8 * day, 8 * day + 1, 90 * day].map((length) => ({
    from: now - length,
    to: now,
  }));
  const periods = [
    ...ends,
    { from: 0, to: 0 },
    { from: 0, to: now - day },
    { from: now - 100, to: 0 },
    { from: now, to: now },
  ];
  table('periodOf', (one: { from: number; to: number }) => overview.periodOf(one, now + 7), ...over(periods));
  const found = periods.map((one) => overview.periodOf(one, now));
  table('before', overview.before, ...over(found));
  table('queryOf', overview.queryOf, ...over(found));
  table(
    'startsOf',
    (one: overview.Period) => [overview.startsOf(one).length, ...overview.startsOf(one).slice(0, 3)],
    ...over(found),
  );
  table(
    'startsOf nothing',
    overview.startsOf,
    [{ from: 10, to: 10, step: 5 }],
    [{ from: 20, to: 10, step: 5 }],
    [{ from: 0, to: 11, step: 5 }],
  );
  table(
    'pointSeconds',
    overview.pointSeconds,
    ...over(found),
    [{ from: 0, to: 48 * 300, step: 300 }],
    [{ from: 0, to: 49 * 300, step: 300 }],
  );
  const spansOf = [1, 3, 5, 14, 27, 60, 89].flatMap((days) => [
    { from: now - (now % day) - days * day, to: now - (now % day), step: day },
    { from: now - (now % hour) - days * day, to: now - (now % hour), step: hour },
  ]);
  const short = [12, 40, 70].map((count) => ({ from: now - count * 300, to: now, step: 300 }));
  for (const most of [3, 6, 12])
    table(
      `ticksOf, at most ${most}`,
      (one: overview.Period) => overview.ticksOf(one, most).map(({ at, text }) => `${at} ${text}`),
      ...over([...spansOf, ...short]),
    );
  table(
    'ticksOf without room',
    overview.ticksOf,
    [{ from: 0, to: day * 400, step: day }, 1],
    [{ from: 0, to: 300, step: 300 }, 0],
  );
  const labels = [now, now + 45 * minute, Date.UTC(2026, 0, 2, 20) / 1000].flatMap((at) =>
    [300, hour, day].flatMap((step) => [[at, step, true] as const, [at, step, false] as const]),
  );
  table('labelOf', overview.labelOf, ...labels);
  table(
    'logLink',
    overview.logLink,
    [{ from: now, to: now + day }],
    [
      { from: 0, to: now },
      { model: 'a b', user: '' },
    ],
    [{ span: '7d', from: now, to: 0 }],
  );
  finish('ranges');
});

test('traffic', () => {
  const figures = (charge: number, requests: number, errors = 0, p50: number | null = null, p95: number | null = p50) =>
    ({
      charge,
      requests,
      errors,
      tokens_in: charge * 2,
      tokens_out: charge + 1,
      first_token: { mean: null, p50, p95 },
    }) as unknown as overview.Figures;
  const series = (name: string, charges: readonly number[]): overview.TrafficSeries =>
    ({
      id: name.length,
      name,
      username: '',
      total: figures(1, 1),
      points: charges.map((one, at) => ({ at: at * 300, ...figures(one, one / 10) })),
    }) as unknown as overview.TrafficSeries;
  table(
    'metricOf',
    overview.metricOf,
    ['charge', figures(5, 2)],
    ['requests', figures(5, 2)],
    ['tokens', figures(5, 2)],
  );
  const points = [
    { at: 0, value: 3 },
    { at: 600, value: 0 },
    { at: 900, value: null },
  ];
  for (const none of [0, null])
    table(
      'valuesOf',
      (from: typeof points | undefined) => overview.valuesOf(from, [0, 300, 600, 900], ({ value }) => value, none),
      [points],
      [undefined],
    );
  const starts = [0, 300, 600];
  const many = Array.from({ length: 8 }, (_, at) => series(`m${at}`, [at, 2 * at, 1]));
  const brief = (stacks: readonly overview.Stack[]) =>
    stacks.map((one) => [one.series?.name ?? null, one.values, one.total]);
  const all = series('all', [40, 80, 9]);
  for (const metric of overview.metrics) {
    table(
      `stacksOf ${metric}`,
      (by: number) => brief(overview.stacksOf(many.slice(0, by), all, starts, metric)),
      [0],
      [2],
      [6],
      [7],
      [8],
    );
    table(
      `stacksOf ${metric} without a whole`,
      (by: number) => brief(overview.stacksOf(many.slice(0, by), undefined, starts, metric)),
      [1],
      [8],
    );
  }
  const bars = [{ values: [1, null, 3] }, { values: [2, 5, null] }, { values: [0, 1, 1] }];
  table('stacked', overview.stacked, [bars], [[]]);
  table(
    'barAt',
    (index: number, height: number) => overview.barAt(bars, index, height),
    ...[0, 1, 2, 3].flatMap((index) => [-1, 0, 1, 2, 3, 4, 5, 6, 7].map((height) => [index, height] as const)),
  );
  table('changeOf', overview.changeOf, [1, undefined], [1, 0], [3, 2], [0, 4], [-1, 2]);
  table('errorRate', overview.errorRate, [{ errors: 0, requests: 0 }], [{ errors: 1, requests: 4 }]);
  const detailed = [
    { at: 0, ...figures(1, 2, 1, 100, 200) },
    { at: 300, ...figures(2, 6, 0, 300, null) },
    { at: 600, ...figures(4, 0, 0, 900) },
    { at: 900, ...figures(8, 1, 1) },
  ] as unknown as overview.TrafficSeries['points'];
  table(
    'sketchOf',
    (period: overview.Period, shift: number) => overview.sketchOf(detailed, period, shift),
    [{ from: 0, to: 1200, step: 300 }, 0],
    [{ from: 0, to: 300 * 96, step: 300 }, 0],
    [{ from: 1200, to: 2400, step: 300 }, 1200],
  );
  const rows = [series('gpt', []), series('', []), { ...series('key', []), username: 'mira' }];
  for (const by of overview.dimensions)
    table(`filterOf ${by}`, overview.filterOf, ...rows.map((one) => [by, one] as const));
  finish('traffic');
});

const log = (more: Partial<Log>): Log =>
  ({
    user_id: 7,
    token_id: 3,
    model_name: 'm/1',
    completion_tokens: 50,
    prompt_tokens: 100,
    use_time: 2,
    is_stream: true,
    other: '',
    content: '',
    ...more,
  }) as Log;

test('rows of the log', () => {
  const others = ['', '{}', '[]', '1', 'null', '{', '{"a":1}'];
  table('detailsOf', (other: string) => details.detailsOf(log({ other })), ...over(others));
  const rows: [Partial<Log>, details.LogDetails][] = [
    [{}, {}],
    [{}, { ms: 1500, frt: 500 }],
    [{ is_stream: false }, { ms: 1500, frt: 500 }],
    [{}, { ms: 500, frt: 0 }],
    [{}, { ms: 500, frt: -1 }],
    [{}, { ms: 500, frt: 500 }],
    [{ completion_tokens: 0 }, { ms: 500 }],
    [{ use_time: 0 }, {}],
  ];
  table(
    'msOf, firstTokenOf, speedOf',
    (more: Partial<Log>, own: details.LogDetails) => [
      details.msOf(log(more), own),
      details.firstTokenOf(log(more), own),
      details.speedOf(log(more), own),
    ],
    ...rows,
  );
  table(
    'cachedShareOf',
    (more: Partial<Log>, own: details.LogDetails) => details.cachedShareOf(log(more), own),
    [{}, {}],
    [{}, { cache_tokens: 50 }],
    [{}, { cache_tokens: 300 }],
    [{}, { cache_tokens: 50, cache_creation_tokens: 50, claude: true }],
    [{ prompt_tokens: 0 }, { cache_tokens: 5 }],
    [{ prompt_tokens: 0 }, { cache_tokens: 5, claude: true }],
    [{}, { cache_tokens: '5' }],
  );
  const failures = [
    {},
    { refused: 'rate_limited' },
    { failure: '502 bad' },
    { refused: 'a', failure: 'b' },
    { status: 401, failure: 'x' },
  ].concat([{ failure: 'code 1502' }, { failure: 'is 599.' }, { failure: '600' }] as never[]);
  table('errorOf', details.errorOf, ...over(failures));
  table('codeOf', details.codeOf, ...over(failures));
  const codes = [
    '',
    'token_expired',
    'ip_not_allowed',
    'model_not_allowed',
    'user_exhausted',
    'balance_elsewhere',
    'user_disabled',
    'model_not_found',
    'channel_unavailable',
    'group_x',
    'model_price_unset',
    'limit_x',
    'rate_limited',
    'other',
  ];
  const readers = [
    { id: 7, admin: false },
    { id: 7, admin: true },
    { id: 8, admin: false },
    { id: 8, admin: true },
  ];
  table(
    'ruleOf',
    (code: string) => readers.map((reader) => details.ruleOf(log({}), { refused: code }, reader)),
    ...over(codes),
  );
  table(
    'ruleOf without a key, without a user',
    (more: Partial<Log>) => details.ruleOf(log(more), { refused: 'token_expired' }, { id: 7, admin: true }),
    [{ token_id: 0 }],
    [{ user_id: 0 }],
  );
  table('ruleOf of a failure', () => details.ruleOf(log({}), { failure: 'token_' }, { id: 7, admin: true }), []);
  const attempts = [{ name: 'east', reason: '502', ms: 300 }, { reason: 'timeout' }, { name: 'west', ms: 900 }];
  table(
    'spansOf',
    (more: Partial<Log>, own: details.LogDetails) => details.spansOf(log(more), own),
    [{}, {}],
    [{}, { ms: 1000, frt: 400 }],
    [{}, { ms: 1000, frt: 1000 }],
    [{}, { ms: 1000, frt: 400, admin_info: { attempts } }],
    [{}, { ms: 200, frt: 100, admin_info: { attempts } }],
    [{ is_stream: false }, { ms: 1000, admin_info: {} }],
  );
  const money = (quota: number | undefined) => `$${quota}`;
  const moves = [{}, { quota_before: 1 }, { quota_after: 2 }, { quota_before: 1, quota_after: 2 }]
    .flatMap((one) => [one, { ...one, reason: 'gift' }, { ...one, reason: '' }, { ...one, reason: 3 }])
    .concat([
      { quota_before: '1', quota_after: 2 },
      { quota_before: 1, quota_after: '2' },
    ] as never[])
    .map((one) => JSON.stringify(one));
  table(
    'eventText',
    (other: string) => eventText(log({ content: 'as stored', other }), t, money),
    ...over([...moves, '', '{', 'null', '5']),
  );
  const paths = [
    undefined,
    '/pg/chat/completions',
    '/v1/responses',
    '/v1/messages',
    '/v1beta/models/{model}:generateContent',
    '/v1beta/models/{model}:countTokens',
    '/v1beta/models/{model}:embedContent',
    '/v1/embeddings',
    '/v1/moderations',
    '/v1/rerank',
    '/v1/images/generations',
    '/v1/audio/speech',
    '/v1/completions',
    '/v1/chat/completions',
    '/v1/responses/x',
  ];
  for (const is_stream of [true, false])
    table(
      'curlOf',
      (path: string | undefined) => curlOf(log({ is_stream }), path, 'https://site').split(' \\\n'),
      ...over(paths),
    );
  finish('log-rows');
});

test('filters of the log', () => {
  const addresses: Record<string, string>[] = (
    [
      {},
      { request: ' 2026 ', range: '7d' },
      { type: '5', status: 'failed,refused,nothing', error: '502', model: ' gpt ' },
    ] as Record<string, string>[]
  )
    .concat([
      { model: '=gpt' },
      { model: 'a%' },
      { token: 'k', group: 'vip', user: 'mira', channel: ' 21 ' },
      { channel: 'east' },
    ] as never[])
    .concat([
      { channel: '1234567890123456', type: 'x' },
      { from: '1795600000', to: '1795500000' },
    ] as never[]);
  for (const admin of [true, false])
    table(
      `filtersIn ${admin}`,
      (values: Record<string, string>) => filters.filtersIn({ get: getOf(values) }, admin),
      ...over(addresses),
    );
  table(
    'isBackwards',
    (from: number, to: number) => filters.isBackwards({ start_timestamp: from, end_timestamp: to } as never),
    [0, 0],
    [2, 1],
    [1, 2],
    [1, 1],
    [2, 0],
    [0, 2],
  );
  for (const by of ['model', 'channel', 'status', 'error', 'user'] as const)
    table(
      `addressOf, nameOf ${by}`,
      (value: string, name: string) => [filters.addressOf(by, value), filters.nameOf(t, by, { value, name })],
      ['failed', ''],
      ['timeout', 'x'],
      ['21', 'east'],
    );
  const counts = {
    facets: [
      { by: 'model', values: [{ value: 'gpt', name: 'gpt', count: 2 }] },
      { by: 'channel', values: [{ value: '21', name: 'east', count: 1 }] },
    ],
  } as never;
  for (const admin of [true, false])
    table(
      `logFilterBar ${admin}`,
      (values: Record<string, string>) => filters.logFilterBar({ t, admin, counts, get: getOf(values) }),
      [{}],
      [{ model: '=gpt', channel: 'x' }],
      [{ model: '=other', status: 'failed,refused', error: '502' }],
      [{ status: 'failed,retried' }],
      [{ status: 'served' }],
    );
  table(
    'logFilterBar without counts',
    () => filters.logFilterBar({ t, admin: true, counts: undefined, get: () => '' }),
    [],
  );
  table(
    'filterOf',
    (query: string) => url.filterOf(new URLSearchParams(query)),
    ...over(['', 'a=1&open=2&p=3&size=4&expired=5&new=6', 'a=&b=2', 'q=x y']),
  );
  for (const sort of ['', 'name', '-name', 'other', '-other', 'Name'])
    table('sortIn', () => [sort, url.sortIn({ get: getOf({ sort }) }, ['name', 'id'])], []);
  finish('filters');
});

const channel = (more: Partial<Channel>): Channel =>
  ({
    id: 1,
    name: 'east',
    status: 1,
    tag: '',
    other_info: '',
    models: 'a',
    group: 'default',
    priority: 1,
    weight: 0,
    used_quota: 5,
    response_time: 0,
    auto_ban: 1,
    ...more,
  }) as Channel;
const sent = (more: object): traffic.ChannelTraffic =>
  ({ state: 'serving', words: '', period: { attempts: 4, failed: 1 }, ...more }) as never;

test('channels', () => {
  const form = channelForm.formOf(null);
  table('formOf', channelForm.formOf, [null], [channel({ type: 14, weight: 3, auto_ban: 0, tag: 'x', setting: '{}' })]);
  const forms: Partial<channelForm.ChannelForm>[] = [
    {},
    { name: ' a ', key: ' ', base_url: ' https://a.example/ ' },
    { name: 'a', key: 'k', models: ' a, b ,a,' },
  ]
    .concat([
      { name: 'a', key: 'k', models: 'a', base_url: 'nothing' },
      { name: 'a', key: 'k', models: 'a', model_mapping: '[]' },
    ] as never[])
    .concat([
      { name: 'a', key: 'k', models: 'a', setting: '{' },
      { name: 'a', key: 'k', models: 'a', param_override: '1' },
    ] as never[])
    .concat([
      {
        name: 'a',
        key: 'k',
        models: 'a',
        status_code_mapping: 'x',
        other: ' o ',
        auto_ban: false,
        priority: '-5',
        weight: '7',
      },
    ] as never[]);
  table(
    'issueOf',
    (more: Partial<channelForm.ChannelForm>) => [
      channelForm.issueOf({ ...form, ...more }, true),
      channelForm.issueOf({ ...form, ...more }, false),
      channelForm.badJsonIn({ ...form, ...more }),
    ],
    ...over(forms),
  );
  table(
    'fieldsOf',
    (more: Partial<channelForm.ChannelForm>) => channelForm.fieldsOf({ ...form, ...more }),
    ...over(forms),
  );
  table(
    'fieldsOf',
    (more: Partial<channelForm.ChannelForm>) => channelForm.fieldsOf({ ...form, ...more }),
    [{ priority: 'x' }],
    [{ weight: '-1' }],
    [{ priority: '1000000000' }],
    [{ weight: '1.5' }],
  );
  table('settingIn', channelForm.settingIn, ...over(['', ' ', '{}', '{"a":1}', '[]', '{']));
  table(
    'withSetting',
    channelForm.withSetting,
    ['', 'a', true],
    ['{"a":true,"b":1}', 'a', false],
    ['{"a":true}', 'a', undefined],
    ['{"a":"x"}', 'a', ''],
    ['[', 'a', 'y'],
  );
  table(
    'endsInVersion',
    channelForm.endsInVersion,
    ...over(['https://a/v1', ' https://a/v1/ ', 'https://a/v1/x', 'https://a/v2']),
  );
  table('withModels', withModels, ['', ''], ['a,b', 'b,c'], [' a , ', 'd, ,e'], ['a', '']);
  const infos = ['', '{', '{}', '{"status_reason":"401"}', '{"status_reason":"401","status_time":5,"test_error":"no"}'];
  for (const status of [1, 2, 3])
    table(
      `failureOf, testErrorOf ${status}`,
      (other_info: string) => [
        channelFailure.failureOf(channel({ status, other_info })),
        channelFailure.testErrorOf(channel({ status, other_info })),
      ],
      ...over(infos),
    );
  const tagged = [
    channel({ tag: 'b', response_time: 300 }),
    channel({ id: 2, tag: '', status: 2 }),
    channel({ id: 3, tag: 'a', priority: 2, group: 'vip,default,art' }),
  ];
  table(
    'tagRows',
    (list: Channel[]) => tagRows(list).map((row) => ({ ...row, channels: row.channels.map(({ id }) => id) })),
    [[]],
    [tagged],
    [[...tagged, channel({ id: 4, tag: 'b', response_time: 401, weight: 2, status: 3 })]],
  );
  const states = [
    undefined,
    ...['failing', 'slow', 'serving', 'standby', 'idle', 'disabled'].map((state) => sent({ state })),
  ];
  for (const status of [1, 2, 3])
    table(
      `stateOf, isFailing, hasNote ${status}`,
      (one: traffic.ChannelTraffic | undefined) => [
        traffic.stateOf(channel({ status }), one),
        traffic.isFailing(channel({ status }), one),
        hasNote(channel({ status }), one),
        hasNote(channel({ status, other_info: '{"test_error":"x"}' }), one),
      ],
      ...over(states),
    );
  table('stateClasses', () => traffic.stateClasses, []);
  table('secondsText', traffic.secondsText, ...over([null, undefined, 0, 4, 994, 995, 1000, 12_345]));
  table(
    'successOf, isQuiet',
    (one: traffic.ChannelTraffic | undefined) => [traffic.successOf(one), traffic.isQuiet(one)],
    [undefined],
    [sent({ period: null })],
    [sent({ period: { attempts: 0, failed: 0 } })],
    [sent({})],
    [sent({ period: { attempts: 1, failed: 0 } })],
  );
  table(
    'successText, successClass',
    (share: number) => [traffic.successText(share), traffic.successClass(share)],
    ...over([0, 0.5, 0.799, 0.8, 0.949, 0.95, 0.9996, 1]),
  );
  const failing = (id: number, words: string) => [channel({ id }), sent({ state: 'failing', words })] as const;
  const shared = (...list: (readonly [Channel, traffic.ChannelTraffic])[]) =>
    traffic.sharedFailure(
      list.map(([one]) => one),
      new Map(list.map(([one, own]) => [one.id, own])),
    );
  table(
    'sharedFailure',
    () => [
      shared(failing(1, 'a'), failing(2, 'a')),
      shared(failing(1, 'a'), failing(2, 'a'), failing(3, 'a'), failing(4, 'b')),
      shared(failing(1, ''), failing(2, ''), failing(3, '')),
      shared(failing(1, 'a'), failing(2, 'a'), failing(3, 'a'), failing(4, 'b'), failing(5, 'b'), failing(6, 'b')),
      shared(failing(1, 'a'), failing(2, 'a'), [channel({ id: 3 }), sent({ words: 'a' })]),
      traffic.sharedFailure([channel({})], new Map()),
    ],
    [],
  );
  table(
    'failingFirst',
    () =>
      traffic
        .failingFirst(
          [channel({}), channel({ id: 2, status: 3 }), channel({ id: 3 }), channel({ id: 4 })],
          new Map([[4, sent({ state: 'failing' })]]),
        )
        .map(({ id }) => id),
    [],
  );
  table('channelColor', channelColor, ...over([0, 1, 14, 15, 16, -3, 2.9]));
  finish('channels');
});

const cash: MoneyDetails = { inCurrency: true, quotaPerUnit: 500_000 } as MoneyDetails;
const plain: MoneyDetails = { inCurrency: false, quotaPerUnit: 500_000 } as MoneyDetails;

test('amounts', () => {
  const typed = [
    '',
    ' ',
    '0',
    '1',
    '1.5',
    '$2',
    '-1',
    '1,000',
    '1.234567',
    'x',
    '¥3',
    '1e3',
    '2 usd',
    '0.0000001',
    '99999999999',
  ];
  for (const [name, own] of [
    ['money', cash],
    ['quota', plain],
    ['unknown', null],
  ] as const) {
    table(`moneyOf ${name}`, (text: string) => amount.moneyOf(text, own), ...over(typed));
    table(
      `normalizeMoney ${name}`,
      (text: string) => amount.normalizeMoney(text, own, { min: 0, max: 500_000_000 }),
      ...over(typed),
    );
  }
  const stored = [0, 1, 499_999, 500_000, 750_000, -500_000, 617_283_500_000, 5];
  for (const own of [cash, plain])
    table(`moneyIn ${own.inCurrency}`, (quota: number) => amount.moneyIn(quota, own), ...over(stored));
  table('numberIn', amount.numberIn, ...over([0, 1000, -1234.5, 0.000001, 1e21, 1.1234567890123]));
  table(
    'normalizeNumber',
    (text: string) => amount.normalizeNumber(text, { integer: true, min: 0, max: 5000 }),
    ...over(typed),
  );
  for (const empty of [undefined, 0, 7])
    table(
      `valueIn ${empty}`,
      (text: string) => amount.valueIn(amount.moneyOf(text, cash), empty),
      ...over(['', '2', 'x']),
    );
  table('dollarText', currency.dollarText, ...over([null, 0, 1, 1.5, 0.123456789, 1234.5678, 0.0000001, 2.1, 1e-11]));
  table(
    'sizeText',
    currency.sizeText,
    ...over([null, 0, 999, 1000, 1499, 128_000, 999_499, 999_500, 999_999, 1_000_000, 1_048_576, 2_500_000]),
  );
  table('topUpBounds', topUp.topUpBounds, [5, true], [1, false]);
  table(
    'paymentPage',
    topUp.paymentPage,
    [{}],
    [{ data: 'x', url: 'u' }],
    [{ data: { pay_link: 'l' } }],
    [{ data: { pid: '1' }, url: 'u' }],
    [{ data: { pid: '1' } }],
  );
  table(
    'refusalIn',
    topUp.refusalIn,
    [{ message: 'success', data: 'x' }, 'no'],
    [{ message: 'error', data: 'why' }, 'no'],
    [{ message: 'error' }, 'no'],
    [{}, 'no'],
  );
  for (const option of ['QuotaForNewUser', 'RetryTimes', 'Price', 'SystemName'] as const) {
    table(
      `displayedValue ${option}`,
      (text: string) => [
        typedOption.displayedValue(option, text, cash),
        typedOption.displayedValue(option, text, plain),
        typedOption.displayedValue(option, text, null),
      ],
      ...over(['', ' ', '0', '500000', '1234567', '7.3', 'x']),
    );
    table(
      `storedValue ${option}`,
      (text: string) => [
        typedOption.storedValue(option, text, cash),
        typedOption.storedValue(option, text, null),
        typedOption.shapeOf(option),
        typedOption.numberBounds(option),
      ],
      ...over(['', '1', '1.5', '-2', 'x', '1,000', '9999999']),
    );
  }
  finish('amounts');
});

test('keys', () => {
  const token = (more: Partial<Token>): Token =>
    ({
      name: 'ci',
      unlimited_quota: true,
      remain_quota: 0,
      used_quota: 3,
      day_budget: 0,
      month_budget: 0,
      day_used: 1,
      month_used: 2,
      expired_time: -1,
      model_limits_enabled: false,
      model_limits: 'a,b',
      allow_ips: '10.0.0.0/8',
      group: 'vip',
      rpm_limit: 0,
      tpm_limit: 0,
      concurrency_limit: 0,
      ...more,
    }) as Token;
  const tokens = [
    token({}),
    token({ unlimited_quota: false, remain_quota: 1_000_000, day_budget: 5 }),
    token({ unlimited_quota: false, remain_quota: -500_000 }),
    token({ day_budget: 500_000, month_budget: 2_000_000, rpm_limit: 60 }),
    token({
      month_budget: 2_000_000,
      tpm_limit: 1000,
      concurrency_limit: 1,
      model_limits_enabled: true,
      expired_time: now + day,
    }),
  ];
  table('spendOf', spendOf, [null], ...over(tokens));
  table('keyUsage', keyUsage, ...over(tokens));
  table(
    'formOf',
    (one: Token | null) => [tokenForm.formOf(one, cash), tokenForm.formOf(one, null)],
    [null],
    ...over(tokens),
  );
  for (const spend of spendWindows) {
    table(
      `amountBounds ${spend}`,
      tokenForm.amountBounds,
      [null, spend],
      ...tokens.map((one) => [one, spend] as const),
    );
    table(
      `fieldsOf ${spend}`,
      (one: Token | null) => tokenForm.fieldsOf({ ...tokenForm.formOf(one, cash), spend }, one, cash),
      [null],
      ...over(tokens),
    );
  }
  table(
    'fieldsOf what was typed',
    (more: Partial<tokenForm.TokenForm>) =>
      tokenForm.fieldsOf({ ...tokenForm.formOf(null, cash), ...more }, null, cash),
    [{ amount: '2', expires: '2026-12-01', models: ['x'] }],
    [{ amount: '0' }],
    [{ amount: '-1' }],
    [{ spend: 'day', amount: '0' }],
    [{ limits: { day_budget: '1', month_budget: '', rpm_limit: '5', tpm_limit: '', concurrency_limit: '' } }],
    [{ limits: { day_budget: '', month_budget: '', rpm_limit: '0', tpm_limit: '', concurrency_limit: '' } }],
  );
  const summary = {
    name: 'ci',
    total: null,
    day: null,
    month: null,
    models: [],
    until: null,
    networks: 0,
    rpm: 0,
    requests: null,
  };
  const summaries = [
    {},
    { name: '' },
    { total: '$1' },
    { day: '$1', month: '$2' },
    { total: '$1', day: '$2', month: '$3' },
    { models: ['a'] },
    { models: ['a', 'b', 'c'] },
    { models: ['a', 'b', 'c', 'd'] },
    { until: 'Monday' },
    { networks: 1 },
    { networks: 2, rpm: 1 },
    { requests: 0 },
    { requests: 1200, rpm: 60 },
  ];
  table('sentenceOf', (more: object) => sentenceOf({ ...summary, ...more }, t, 'en'), ...over<object>(summaries));
  const used = [
    { name: 'a', price: '', ms: null, requests: 10, charge: 100 },
    { name: 'b', price: '', ms: null, requests: 5, charge: 10 },
    { name: 'c', price: '', ms: null, requests: 0, charge: 0 },
  ];
  table(
    'requestsFor',
    (quota: number, some: string[]) => requestsFor(quota, used, some),
    [99, []],
    [99, ['a']],
    [99, ['b', 'c']],
    [99, ['c']],
    [0, []],
  );
  const types = [{ key_starts: ['sk-ant-'] }, { key_starts: [] }, { key_starts: ['AIza', 'sk-'] }];
  table(
    'providerOf',
    (key: string) => keys.providerOf(key, types),
    ...over(['', ' sk-ant-1', 'AIzaX', 'sk-1', 'other']),
  );
  table(
    'isApiKey',
    keys.isApiKey,
    ...over(['', 'a'.repeat(19), 'a'.repeat(20), ` ${'a'.repeat(20)} `, `${'a'.repeat(20)} b`]),
  );
  table(
    'smallModel',
    smallModel,
    ...over([[], ['gpt-4o', 'gpt-4o-mini'], ['text-embedding-3-small'], ['tts-1', 'gpt-5'], ['whisper-1', 'dall-e-3']]),
  );
  table(
    'failureWords',
    (words: string) => failureWords(words, t),
    ...over(['502 bad', 'timeout', 'timeout 30 s', 'empty\n', 'broken a\nb', 'timeouts', 'invalid ']),
  );
  table(
    'isRequestId',
    isRequestId,
    ...over([
      '',
      '20261126093000abcd',
      ' 20261126093000ABcd1 ',
      '2026112609300abcd',
      '20261126093000abc',
      '20261126093000ab_d',
    ]),
  );
  const models = Array.from({ length: 12 }, (_, at) => `GPT-${at}`);
  table('modelsNamed', (needle: string) => modelsNamed(models, needle), ...over(['', 'gpt', ' gpt-1 ', 'x']));
  finish('keys');
});

test('prices', () => {
  const item = (model_name: string, more: object) => ({
    model_name,
    quota_type: 0,
    model_ratio: 1.25,
    model_price: 0,
    completion_ratio: 4,
    cache_ratio: 1,
    enable_groups: ['default'],
    maker: null,
    context: null,
    longest: null,
    takes: [],
    ...more,
  });
  const list = {
    group_ratio: { default: 1, vip: 0.5 },
    data: [
      item('o3', {}),
      item('gpt-5', {
        cache_ratio: 0.1,
        enable_groups: ['vip', 'default'],
        context: 400_000,
        takes: ['text', 'image'],
        maker: { zh: '甲', en: 'OpenAI' },
      }),
      item('art', { quota_type: 1, model_price: 0.04 }),
      item('claude', { enable_groups: ['vip'] }),
      item('gpt-call', { quota_type: 1, model_price: 1 / 3 }),
      item('Zed', { model_ratio: 1 / 3 }),
    ],
  } as never;
  for (const group of ['default', 'vip', 'none']) {
    table(`viewsOf ${group}`, () => modelRows.viewsOf(list, group), []);
    table(
      `rowsFor ${group}`,
      (search: string) =>
        rowsFor(list, group, search).map(({ id, model_name, available, price, input, output }) => [
          id,
          model_name,
          available,
          price,
          input,
          output,
        ]),
      ...over(['', ' GT ', 'gg', '5']),
    );
  }
  const admin = (more: object) =>
    ({
      model: 'm',
      maker: null,
      context: null,
      longest: null,
      takes: [],
      groups: ['default'],
      input: 2,
      output: 8,
      cached: null,
      per_call: null,
      cost_input: 1,
      cost_output: 2,
      tokens_in: 0,
      tokens_out: 0,
      ...more,
    }) as never;
  const admins = [
    admin({}),
    admin({ tokens_in: 9, tokens_out: 1 }),
    admin({ tokens_in: 1 }),
    admin({ cost_input: null }),
    admin({ cost_output: null }),
    admin({ output: null }),
    admin({ input: null, output: null }),
    admin({ input: null, output: null, per_call: 0.5 }),
    admin({ input: 0, output: 0, cached: 0.25 }),
  ];
  for (const ratio of [1, 0.1])
    table(
      `adminViewsOf, marginOf ${ratio}`,
      (one: never) =>
        modelRows
          .adminViewsOf([one], 'default', ratio)
          .map(({ admin: _, ...view }) => [view, modelRows.marginOf({ ...view, admin: one })]),
      ...over(admins),
    );
  table('marginOf for others', () => modelRows.viewsOf(list, 'vip').map(modelRows.marginOf), []);
  table(
    'matches',
    modelRows.matches,
    ['gpt-4o', ''],
    ['gpt-4o', 'g4'],
    ['gpt-4o', '4g'],
    ['gpt-4o', ' GPT '],
    ['gpt-4o', 'oo'],
  );
  table(
    'filtered',
    (values: Record<string, string>) =>
      modelRows.filtered(modelRows.viewsOf(list, 'default'), { get: getOf(values) }).map(({ model }) => model),
    [{}],
    [{ q: 'open' }],
    [{ q: 'gpt' }],
    [{ takes: 'image' }],
    [{ maker: 'OpenAI' }],
    [{ out: '10' }],
    [{ out: '9' }],
    [{ context: '400000' }],
    [{ context: '400001' }],
  );
  const texts = {
    ModelPrice: '{"art":0.04}',
    ModelRatio: '{"gpt-4o":1.25,"o3":1}',
    CompletionRatio: '{"gpt-4o":4,"gone":2}',
  };
  const bad = { ModelPrice: '', ModelRatio: '{', CompletionRatio: '{}' };
  table('rowsOf', priceMaps.rowsOf, [texts], [bad]);
  const row = (more: Partial<priceMaps.ModelRow>): priceMaps.ModelRow => ({
    name: 'o3',
    price: null,
    ratio: null,
    completion: null,
    ...more,
  });
  table(
    'withModel',
    (one: priceMaps.ModelRow, before: string | null) => priceMaps.withModel(texts, one, before),
    [row({ price: 2 }), null],
    [row({ ratio: 2, completion: 3 }), 'gpt-4o'],
    [row({ name: 'gpt-4o' }), 'gpt-4o'],
    [row({ name: 'new', ratio: 1 }), null],
  );
  table(
    'withoutModel',
    (name: string) => priceMaps.withoutModel(texts, name),
    ...over(['art', 'gpt-4o', 'gone', 'none']),
  );
  const rows = [
    row({ ratio: 1 }),
    row({ ratio: 1, completion: 3 }),
    row({ name: 'gpt-4o', ratio: 1.25 }),
    row({ name: 'own', ratio: 0.1 }),
    row({ name: 'own', ratio: 0.3, completion: 3 }),
    row({ name: 'own' }),
  ];
  table(
    'inputPrice, outputPrice, followsFamily',
    (one: priceMaps.ModelRow) => [
      priceMaps.inputPrice(one.ratio ?? 0),
      priceMaps.outputPrice(one),
      priceMaps.followsFamily(one),
      priceMaps.completionOf(one),
    ],
    ...over(rows),
  );
  table(
    'ratioOf, completionFor',
    (price: number) => [priceMaps.ratioOf(price), priceMaps.completionFor(price, 3)],
    ...over([1, 2, 0.3]),
  );
  const drafts = [
    row({ name: '' }),
    row({}),
    row({ ratio: 1 }),
    row({ ratio: Number.NaN, completion: Number.NaN }),
    row({ name: 'taken', ratio: 0, completion: 1 }),
    row({ price: 0 }),
    row({ price: 1 }),
    row({ price: Number.NaN }),
  ];
  for (const mode of ['token', 'request'] as const)
    table(
      `errorsIn ${mode}`,
      (drafted: priceMaps.ModelRow) => [
        errorsIn({ drafted, mode } as never, undefined, { names: new Set(['taken']), t }),
        errorsIn({ drafted, mode } as never, 'taken', { names: new Set(['taken']), t }),
      ],
      ...over(drafts),
    );
  finish('prices');
});

test('options', () => {
  const shapes = [
    'GroupRatio',
    'GroupGroupRatio',
    'UserUsableGroups',
    'Chats',
    'gemini.safety_settings',
    'claude.default_max_tokens',
    'claude.model_headers_settings',
    'TierRatio',
    'gemini.version_settings',
    'RetryTimes',
    'EmailDomainWhitelist',
    'gemini.supported_imagine_models',
  ] as const;
  const texts = [
    '',
    ' ',
    '{}',
    '[]',
    '{"a":1}',
    '{"a":"b"}',
    '{"a":{"b":1}}',
    '{"a":{"b":"c"},"d":{}}',
    '[{"a":"b"}]',
    '[{"a":"b","c":"d"}]',
    '[{"a":1}]',
    '["a"]',
    '{"a":null}',
    '{"a":[1]}',
    '1',
    '{',
    'null',
  ];
  for (const option of shapes) {
    const shape = optionMap.mapShapeOf(option);
    lines.push(`# ${option} ${written(shape)}`);
    if (shape !== undefined)
      table(
        'rowsIn',
        (text: string) => [optionMap.rowsIn(text, shape), optionMap.textOf(optionMap.rowsIn(text, shape) ?? [], shape)],
        ...over(texts),
      );
    const list = optionMap.listOf(option);
    if (list !== undefined)
      table(
        'entriesIn',
        (text: string) => [list.entriesIn(text), list.textOf(list.entriesIn(text) ?? [])],
        ...over([...texts, 'a.example, b.example ,,', '["a",1]']),
      );
  }
  const row = (value: string, ...names: string[]): optionMap.MapRow => ({ names, value });
  const rows = [
    row('', ''),
    row('1', ''),
    row('1', 'a'),
    row('', 'a'),
    row('-1.5', 'b'),
    row(' 2e3 ', 'c'),
    row('1.', 'd'),
    row('x', 'e'),
    row('1', 'f', ''),
    row('1', 'f', 'g'),
    row('', '', ''),
    row('1E-2', 'f', 'h'),
  ];
  for (const shape of [
    { depth: 1, value: 'number' },
    { depth: 2, value: 'text' },
    { depth: 1, value: 'text', list: true },
  ] as const) {
    table(
      `issueOf ${written(shape)}`,
      (one: optionMap.MapRow) => [optionMap.issueOf(one, rows, shape), optionMap.issueOf({ ...one }, rows, shape)],
      ...over(rows),
    );
    table(
      `textOf ${written(shape)}`,
      (some: optionMap.MapRow[]) => optionMap.textOf(some, shape),
      ...over([rows, [row('1', 'a'), row('2', 'a', 'b')], [row('1', '__proto__')], []]),
    );
  }
  const links = ['', '[]', '{', '[{"A":"https://a"}]', '[{"A":1}]', '[1]', '{"A":"b"}', '[{"A":"a","B":"b"}]', '[{}]'];
  table('chatLinks', (chats: string) => chatLinks({ chats } as never), ...over(links));
  table(
    'chatLinks as sent',
    (chats: unknown) => chatLinks({ chats } as never),
    [undefined],
    [[{ A: 'https://a' }]],
    [null],
  );
  table('chatLinks unknown', () => chatLinks(undefined), []);
  finish('options');
});

test('conversations', async () => {
  const { defaultSettings, noAnswer, bodyOf, codeOf, invalidSetting, speedOf } = conversation;
  const typed: Partial<conversation.Settings>[] = [
    {},
    { temperature: '2', top_p: '1', presence_penalty: '-2', frequency_penalty: '2' },
    { temperature: '2.1' },
    { top_p: '1.1' },
    { presence_penalty: '-2.1' },
    { frequency_penalty: 'x' },
  ]
    .concat([
      { max_tokens: '1.5' },
      { max_tokens: '100000000', seed: '2147483647' },
      { max_tokens: '100000001' },
      { seed: '2147483648' },
      { seed: '-1' },
      { tools: '{}' },
      { tools: '[]' },
      { tools: '[{"type":"function"}]' },
      { tools: '[' },
    ] as never[])
    .concat([
      { extra: '[]' },
      { extra: '{"stream":false}' },
      { extra: '{' },
      { extra: 'null' },
      { stop: 'a\n\nb', effort: 'high', json: true, stream: false, group: 'vip' },
    ] as never[]);
  table(
    'invalidSetting',
    (more: Partial<conversation.Settings>) => invalidSetting({ ...defaultSettings, ...more }),
    ...over(typed),
  );
  const takes = [
    undefined,
    { refuses: ['temperature', 'topP', 'stop'], efforts: ['low'] },
    { refuses: ['presencePenalty', 'frequencyPenalty'], efforts: null },
  ] as never[];
  for (const support of takes)
    table(
      'bodyOf',
      (more: Partial<conversation.Settings>) => bodyOf({ ...defaultSettings, ...more }, 'm', [], support),
      ...over(typed),
    );
  const said = (more: object) => ({ ...noAnswer, state: 'complete', ...more }) as never;
  const call = (id: string) => ({ id, name: 'f', arguments: '{}' });
  const turn = (id: number, more: object) => ({ id, text: `q${id}`, files: [], answers: [], ...more }) as never;
  const turns = [
    turn(1, { answers: [[said({ text: 'a1' })], [said({ text: 'b1' })]] }),
    turn(2, {
      files: [
        { name: 'x.png', kind: 'image', data: 'data:x' },
        { name: 'a.txt', kind: 'text', data: 'words' },
        { name: 'b.pdf', kind: 'file', data: 'data:y' },
        { name: 'c', kind: 'file', data: '' },
      ],
      answers: [[said({ text: '', calls: [call('1'), call('2')], results: { 1: 'r' } }), said({ text: 'then' })], []],
    }),
    turn(3, {
      answers: [
        [said({ text: '', state: 'loading' })],
        [said({ text: '', state: 'error' }), said({ text: 'w', calls: [call('3')], results: {} })],
      ],
    }),
  ];
  for (const place of [0, 1])
    table(
      `messages ${place}`,
      (system: string, count: number) => conversation.messagesOf(turns.slice(0, count), place, system),
      ['', 0],
      ['', 1],
      ['be kind', 2],
      [' ', 3],
    );
  table(
    'speedOf',
    (tokensOut: number | null, firstMs: number | null, ms: number) => speedOf(said({ tokensOut, firstMs, ms })),
    [null, 1, 100],
    [10, null, 100],
    [10, 51, 100],
    [10, 50, 100],
    [10, 0, 1000],
  );
  table(
    'codeOf',
    (asked: Record<string, unknown>) => codeOf('https://site', asked),
    [{ group: 'g', max_tokens: 0, stream: true, messages: [{ role: 'user', content: "it's" }] }],
    [{ max_tokens: 5, json: null, stream: false }],
  );
  const empty = {
    text: '',
    thinking: '',
    calls: [],
    tokensIn: null,
    tokensOut: null,
    firstMs: null,
    ms: 0,
    requestId: 'r',
  } as stream.ChatAnswer;
  const chunks = [
    {},
    { choices: [] },
    { choices: [{ delta: { content: 'a' } }] },
    { choices: [{ delta: { content: '' } }] },
    { choices: [{ message: { content: null, reasoning_content: 'hm' } }] },
  ]
    .concat([
      {
        choices: [
          {
            delta: {
              tool_calls: [
                { id: '1', function: { name: 'f', arguments: '{' } },
                { index: 2, function: {} },
              ],
            },
          },
        ],
      },
      { choices: [{ delta: { tool_calls: [] } }] },
      { usage: { prompt_tokens: 3 } },
      { usage: null },
    ] as never[])
    .concat([{ usage: { completion_tokens: 4 } }] as never[]);
  const full = {
    ...empty,
    text: 'x',
    thinking: 'y',
    firstMs: 5,
    tokensIn: 1,
    tokensOut: 2,
    calls: [{ id: '0', name: 'g', arguments: '[' }],
  };
  for (const before of [empty, full])
    table(
      `withChunk ${before.text}`,
      (chunk: never) => stream.withChunk(before, chunk, 70),
      ...over(chunks as never[]),
    );
  const files = [
    new File(['png'], 'a.png', { type: 'image/png' }),
    new File(['{}'], 'a.json', { type: 'application/json' }),
    new File(['code'], 'a.TSX', { type: '' }),
    new File(['%PDF'], 'a.pdf', { type: 'application/pdf' }),
    new File(['x'], 'note', { type: 'text/plain' }),
  ];
  const large = Object.defineProperty(new File(['x'], 'large.txt'), 'size', { value: 20 * 1024 * 1024 + 1 });
  const largest = Object.defineProperty(new File(['x'], 'largest.txt'), 'size', { value: 20 * 1024 * 1024 });
  lines.push('# attachmentsOf', ...(await attachmentsOf([...files, large, largest])).map(written));
  const kept = [
    '',
    '{',
    '{}',
    '{"models":[]}',
    '{"models":["a","b","c","d"],"settings":{"seed":"1"}}',
    '{"turns":[{"id":1,"text":"q","answers":[[{"calls":[null,{"id":"1","name":"f","arguments":"{}"}]}]]}]}',
    '{"turns":[{"id":1,"text":"q","answers":[[{"state":"loading","text":"a"},{"state":"complete"}]]}]}',
  ];
  table(
    'readKept',
    (text: string) => {
      localStorage.setItem('playground', text);
      return readKept();
    },
    ...over(kept),
  );
  const whole = {
    models: ['a'],
    settings: defaultSettings,
    turns: [turn(1, { files: [{ name: 'x', kind: 'text', data: 'long' }] })],
  };
  for (const failing of [0, 1, 2, 3]) {
    localStorage.setItem('playground', '"before"');
    let left = failing;
    const real = localStorage;
    vi.stubGlobal('localStorage', {
      setItem(name: string, value: string) {
        if (left-- > 0) throw new Error('full');
        real.setItem(name, value);
      },
    });
    writeKept(whole);
    vi.unstubAllGlobals();
    lines.push(`# writeKept where ${failing} do not fit`, localStorage.getItem('playground') ?? '');
  }
  finish('conversations');
});

test('failures of reads', () => {
  const failures = [new Error('x'), ...[0, 400, 404, 499, 500, 503].map((status) => new ApiError('x', '', status))];
  table('shouldRetry', (count: number) => failures.map((failure) => shouldRetry(count, failure)), ...over([0, 1, 2]));
  const codes = ['network', 'http', '', 'refused'].map((code) => new ApiError('x', code, 400));
  table('isAnswered', () => [...codes, new Error('x')].map((failure) => isAnswered(failure)), []);
  const statuses = [0, 400, 401, 403, 404, 405, 418, 429, 499, 500, 501, 502, 503, 504];
  table('wordsFor', wordsFor, ...over(statuses));
  finish('failures');
});

test('calls', async () => {
  const { call, callPage } = await import('../../web/lib/api.ts');
  const { writeUser } = await import('../../web/lib/session.ts');
  const leaves = vi.spyOn(location, 'assign').mockImplementation((to) => void lines.push(`  leaves for ${String(to)}`));
  let answer: () => Response = () => Response.json({ success: true, data: [1] });
  vi.stubGlobal('fetch', async (address: string, init: RequestInit) => {
    lines.push(`  ${init.method} ${address} ${written(init.headers)} ${String(init.body ?? '')}`);
    return answer();
  });
  const tried = async (name: string, work: () => Promise<unknown>): Promise<void> => {
    lines.push(`# ${name}`);
    await work().then(
      (data) => lines.push(`→ ${written(data)}`),
      (failure: ApiError) =>
        lines.push(`throws ${failure.message} | ${failure.code} | ${failure.status} | ${written(failure.params)}`),
    );
  };
  const user = { id: 7, username: 'mira' } as never;
  const asked: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['reads', () => call('token.get', { id: 3 })],
    ['reads with fields', () => call('log.list', { p: 2, model_name: 'a b&c', token_name: '', group: undefined })],
    ['reads without fields', () => call('status.get')],
    ['changes', () => call('token.update', { id: 3, name: '', status_only: true } as never)],
    ['deletes', () => call('token.delete', { id: 3 })],
    ['reads a page', () => callPage('token.list', { p: 0 })],
  ];
  for (const who of [null, user]) {
    writeUser(who);
    for (const [name, work] of asked) await tried(`${who === null ? 'a guest' : 'a user'} ${name}`, work);
  }
  const answers: Readonly<Record<string, () => Response>> = {
    'a total': () => Response.json({ success: true, data: [] }, { headers: { 'x-total-count': '12' } }),
    'no JSON': () => new Response('<html>', { status: 502 }),
    'no JSON, and well': () => new Response('<html>'),
    refused: () =>
      Response.json({ success: false, message: 'no', code: 'c', params: { field: 'name' } }, { status: 400 }),
    'refused without words': () => Response.json({ success: false }, { status: 429 }),
    'neither one nor the other': () => Response.json({ data: 1 }),
    'not logged in': () => Response.json({ success: false, message: 'who?' }, { status: 401 }),
    banned: () => Response.json({ success: false, message: 'banned', code: 'user_disabled' }, { status: 403 }),
  };
  for (const [name, response] of Object.entries(answers))
    for (const who of [null, user]) {
      writeUser(who);
      answer = response;
      await tried(`${name}, ${who === null ? 'a guest' : 'a user'}`, () => callPage('token.list'));
      lines.push(`  ${localStorage.getItem('user') === null ? 'nobody' : 'somebody'} is logged in`);
    }
  const raw: Readonly<Record<string, () => Response>> = {
    plain: () => Response.json({ data: [], group_ratio: {} }),
    'with success': () => Response.json({ success: true, data: [] }),
    'without success': () => Response.json({ success: false, message: 'no' }),
    'with a code': () => Response.json({ code: 'c', message: 'no' }),
    'with a status': () => Response.json({ data: [] }, { status: 500 }),
  };
  writeUser(null);
  for (const [name, response] of Object.entries(raw)) {
    answer = response;
    await tried(`a list of prices, ${name}`, () => call('pricing.get'));
  }
  vi.stubGlobal('fetch', async () => {
    throw new TypeError('offline');
  });
  await tried('offline', () => call('status.get'));
  leaves.mockRestore();
  vi.unstubAllGlobals();
  sessionStorage.clear();
  finish('calls');
});

test('ways back', () => {
  const addresses = [
    '/',
    '/log?x=1#y',
    '/login',
    '/login/x',
    '/loginx',
    '/register',
    '/reset?a',
    '/setup',
    '/oauth/github',
    '/token',
  ];
  table(
    'storeReturnPath, takeReturnPath',
    (address: string) => {
      sessionStorage.clear();
      history.replaceState(null, '', address);
      storeReturnPath();
      return [takeReturnPath('/detail'), takeReturnPath('/detail')];
    },
    ...over(addresses),
  );
  table(
    'takeReturnPath of another site',
    (address: string) => {
      sessionStorage.setItem('return-to', address);
      return takeReturnPath('/detail');
    },
    ...over(['//evil.example', 'https://evil.example', '', '/x']),
  );
  history.replaceState(null, '', '/');
  finish('ways-back');
});
