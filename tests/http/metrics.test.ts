/** Figures for monitors: read by another's parser, compared with what was asked and charged. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import v8 from 'node:v8';
import parsePrometheus from 'parse-prometheus-text-format';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { metricsAddress, serveMetrics } from '../../server/observability/metrics/listener.ts';
import { createExposition, metricNames } from '../../server/observability/metrics/text-format.ts';
import { createStats, durationBounds } from '../../server/relay/shared/stats.ts';
import type { ChainStep, TargetOutcome } from '../../server/routing/chains.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
beforeEach(async () => {
  gateway = await createTestGateway({ quota: 5_000_000 });
  upstream = await startUpstream((response) =>
    sendJson(response, {
      choices: [{ message: { content: 'hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010 },
    }),
  );
  await gateway.channel(upstream.url);
  await gateway.option('ModelRatio', '{"gpt-4o-mini":250}');
  await gateway.option('CompletionRatio', '{"gpt-4o-mini":4}');
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

const quiet = { late: 0, rejected: 0, pending: 0, failure: '' };
const exposed = (status = quiet) =>
  createExposition(async () => ({
    relayThreads: [
      {
        thread: 1,
        stats: {
          ...gateway.relay.stats(),
          withoutMember: { tried: 3, answered: 2 },
          loop: { median: 0, p99: 3, max: 12 },
          channels: [{ id: 1, name: 'a "quoted"\\ name\nof two lines', condition: 'up' }],
        },
      },
    ],
    status,
    stalls: 3,
    oldestPendingMs: 1500,
    version: 'v1',
    quotaPerUnit: 500_000,
    leaseSeconds: 30,
    signIns: [{ step: 'look', result: 'sign_in_code', count: 7 }],
  }));

interface Metric {
  readonly value?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly buckets?: Readonly<Record<string, string>>;
}
const families = async (text: Promise<string>) =>
  new Map<string, readonly Metric[]>(parsePrometheus(await text).map(({ name, metrics }) => [name, metrics]));

test('a reading has the heap’s size, and collects no heap for spaces that the runtime does not have', async () => {
  const exposition = exposed();
  const spaces = vi.spyOn(v8, 'getHeapSpaceStatistics');
  const text = await exposition.text();
  expect(spaces).not.toHaveBeenCalled();
  spaces.mockRestore();
  expect(text).toMatch(/^nodejs_heap_size_used_bytes \d+$/m);
  expect(text).not.toContain('nodejs_heap_space_size');
});

test('targets of virtual models are counted by what became of them, and nothing else is', async () => {
  const failing = await startUpstream((response) => sendJson(response, { error: { message: 'no' } }, 500));
  await gateway.channel(failing.url, { models: 'first' });
  await gateway.channel(upstream.url, { models: 'last,dearer,spare' });
  await gateway.option('ModelRatio', '{"first":1,"last":1,"dearer":1000000,"spare":1}');
  await gateway.option('RetryTimes', '0');
  await gateway.services.virtualModels.create({
    name: 'coder',
    targets: [{ model: 'first' }, { model: 'dearer' }, { model: 'spare', images: true }, { model: 'last' }],
  });
  await gateway.sync();
  const { key } = await gateway.token();
  for (const model of ['coder', 'coder', 'last'])
    expect((await gateway.chat(key, { model, messages: [{ role: 'user', content: 'hi' }] })).status).toBe(200);
  const of = (model: string, result: string) => ({
    value: '2',
    labels: { virtual_model: 'coder', model, result, relay: '1' },
  });
  expect((await families(exposed().text())).get('gateway_chain_targets_total')).toEqual([
    of('first', 'unavailable'),
    of('dearer', 'uncovered'),
    of('last', 'served'),
  ]);
  await failing.stop();
});

test('a target that was passed over counts by why, and one that was not meant does not', () => {
  const stats = createStats();
  const outcomes: readonly TargetOutcome[] = ['limits', 'uncovered', 'no_price', 'served', 'conditions', 'group'];
  const step = (outcome: TargetOutcome) => ({ leaf: { model: 'm' }, group: 'default', outcome });
  stats.chainEnded('coder', outcomes.map(step) as unknown as readonly ChainStep[]);
  expect(stats.read().targets.map(({ result }) => result)).toEqual(['limits', 'uncovered', 'no_price', 'served']);
});

test('at most 2000 series of targets are kept, and what is beyond counts as one', () => {
  const stats = createStats();
  const step = (model: string) => ({ leaf: { model }, group: 'default', outcome: 'served' }) as unknown as ChainStep;
  for (let n = 0; n < 2500; n++) stats.chainEnded('coder', [step(`m${n}`), step('m0')]);
  const { targets } = stats.read();
  expect(targets).toHaveLength(2001);
  expect(targets.find(({ model }) => model === 'm0')?.count).toBe(2501);
  expect(targets.at(-1)).toEqual({ virtualModel: 'other', model: 'other', result: 'served', count: 500 });
});

test('what monitors read is what was asked, what it used and what it cost', async () => {
  const { key } = await gateway.token();
  for (let n = 0; n < 3; n++)
    expect(
      (await gateway.chat(key, { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] })).status,
    ).toBe(200);
  await gateway.chat('nobody', { model: 'gpt-4o-mini', messages: [] });
  const charged = 3 * (1000 + 10 * 4) * 250;

  const found = await families(exposed().text());
  const labels = { model: 'gpt-4o-mini', channel: '1', operation: 'chat', relay: '1' };
  expect(found.get('gateway_requests_total')).toEqual([{ value: '3', labels: { ...labels, end: 'completed' } }]);
  expect(found.get('gateway_tokens_total')).toEqual([
    { value: '3000', labels: { ...labels, direction: 'input' } },
    { value: '30', labels: { ...labels, direction: 'output' } },
  ]);
  expect(found.get('gateway_charged_dollars_total')).toEqual([{ value: String(charged / 500_000), labels }]);
  expect(found.get('gateway_upstream_calls_total')).toEqual([{ value: '3', labels }]);
  expect(found.get('gateway_refusals_total')).toEqual([{ value: '1', labels: { code: 'token_invalid', relay: '1' } }]);
  expect(found.get('gateway_refused_member_attempts_total')).toEqual([
    { value: '3', labels: { result: 'tried', relay: '1' } },
    { value: '2', labels: { result: 'answered', relay: '1' } },
  ]);
  expect(found.get('gateway_open_requests')).toEqual([{ value: '0', labels: { relay: '1' } }]);
  expect(found.get('gateway_channel_up')?.[0]?.labels?.channel).toBe('1');
  expect(found.get('gateway_sign_in_steps_total')).toEqual([
    { value: '7', labels: { step: 'look', result: 'sign_in_code' } },
  ]);
  expect(found.get('gateway_storage_up')?.[0]?.value).toBe('1');
  expect(found.get('gateway_lease_seconds')?.[0]?.value).toBe('30');
  expect(found.get('gateway_settlement_oldest_seconds')?.[0]?.value).toBe('1.5');
  expect([...found.keys()].filter((name) => name.startsWith('gateway_')).sort()).toEqual([...metricNames].sort());
  expect(found.has('process_resident_memory_bytes')).toBe(true);
  expect((await families(exposed({ ...quiet, failure: 'disk' }).text())).get('gateway_storage_up')?.[0]?.value).toBe(
    '0',
  );
});

test('buckets hold all that lies below their bound, and the last one everything', async () => {
  const { key } = await gateway.token();
  for (let n = 0; n < 3; n++)
    await gateway.chat(key, { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] });
  const text = await exposed().text();
  const found = await families(Promise.resolve(text));
  for (const name of ['gateway_request_duration_seconds', 'gateway_first_byte_seconds', 'gateway_commit_seconds']) {
    const [one] = found.get(name) ?? [];
    const counts = Object.entries(one?.buckets ?? {})
      .sort(([a], [b]) => Number(a.replace('+', '')) - Number(b.replace('+', '')))
      .map(([, count]) => Number(count));
    expect([name, counts]).toEqual([name, counts.toSorted((a, b) => a - b)]);
    // The parser keeps no counts of distributions with labels.
    const count = new RegExp(`^${name}_count\\{[^}]*\\} (\\d+)$`, 'm').exec(text)?.[1];
    expect([name, counts.at(-1), count]).toEqual([name, 3, '3']);
  }
});

const sample = {
  channelId: 1,
  operation: 'chat',
  endReason: 'completed',
  inputTokens: 0,
  outputTokens: 0,
  charged: 0,
  userId: 1,
  tokenId: 1,
  own: false,
  cachedTokens: 0,
  streamed: false,
  tried: [],
  endedMs: 0,
  firstByteMs: null,
  sentModel: 'm',
  otherModel: null,
} as const;

test('a time lies in the first bucket that is not below it', () => {
  const stats = createStats();
  for (const bound of [0, ...durationBounds]) stats.ended({ ...sample, model: 'm', ms: bound });
  stats.ended({ ...sample, model: 'm', ms: 300_001 });
  expect(stats.read().series[0]?.duration.counts).toEqual([2, ...durationBounds.slice(1).map(() => 1), 1]);
  expect(stats.read().series[0]?.firstByte.counts.every((count) => count === 0)).toBe(true);
});

test('names that clients make up do not fill the memory', () => {
  const stats = createStats();
  for (let n = 0; n < 5000; n++) stats.ended({ ...sample, model: `m${n}`, ms: 1 });
  const { series } = stats.read();
  expect(series.length).toBeLessThan(2010);
  expect(series.reduce((total, one) => total + (one.ends.completed ?? 0), 0)).toBe(5000);
});

test('names and labels say what kind of figure it is, as promtool wants them', async () => {
  const text = await exposed().text();
  const kinds = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', kind = '']) => [name, kind]));
  expect(kinds.size).toBeGreaterThan(20);
  for (const [name, kind] of kinds) expect([name, name.endsWith('_total')]).toEqual([name, kind === 'counter']);
  const quantiles = [...text.matchAll(/^(\w+)\{[^}]*quantile="/gm)].map(([, name = '']) => kinds.get(name));
  expect(quantiles.filter((kind) => kind !== 'summary')).toEqual([]);
});

test('an address that others reach wants a token', () => {
  expect(metricsAddress('', '')).toBeNull();
  expect(metricsAddress('9464', '')).toEqual({ host: '127.0.0.1', port: 9464 });
  expect(metricsAddress('[::1]:9464', '')).toEqual({ host: '::1', port: 9464 });
  expect(metricsAddress('0.0.0.0:9464', 'secret')).toEqual({ host: '0.0.0.0', port: 9464 });
  for (const [given, token] of [
    ['0.0.0.0:9464', ''],
    [':9464', ''],
    ['x', ''],
    ['127.0.0.1:99999', ''],
    ['127.0.0.1', 'secret'],
  ] as const)
    expect(() => metricsAddress(given, token), given).toThrow('--metrics');
});

test('with a token set, requests without it are refused', async () => {
  const { text, contentType } = exposed();
  const open = serveMetrics({ host: '127.0.0.1', port: 0 }, { token: 'secret', text, contentType });
  const ask = (path: string, authorization?: string) =>
    fetch(`http://127.0.0.1:${open.port}${path}`, { headers: authorization === undefined ? {} : { authorization } });
  try {
    expect((await ask('/metrics')).status).toBe(401);
    expect((await ask('/metrics', 'Bearer wrong')).status).toBe(401);
    expect((await ask('/other', 'Bearer secret')).status).toBe(404);
    const allowed = await ask('/metrics', 'Bearer secret');
    expect([allowed.status, allowed.headers.get('content-type')]).toEqual([200, contentType]);
    expect(await allowed.text()).toContain('gateway_build_info{version="v1"} 1');
  } finally {
    open.stop();
  }
});

const monitoring = (file: string) =>
  readFileSync(resolve(import.meta.dirname, '../../scripts/monitoring', file), 'utf8');
const metricsIn = (text: string): string[] => [
  ...new Set([...text.matchAll(/gateway_[a-z_]+/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, ''))),
];

test('dashboard and alerts ask for figures that exist', () => {
  const dashboard = JSON.parse(monitoring('dashboard.json')) as {
    panels: { title: string; gridPos: unknown; targets: { expr: string }[] }[];
  };
  const { groups } = parseYaml(monitoring('alerts.yaml')) as {
    groups: { rules: { alert: string; expr: string; labels: unknown; annotations: { summary: string } }[] }[];
  };
  const expressions = [
    ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ...groups.flatMap(({ rules }) => rules.map(({ expr }) => expr)),
  ];
  expect(expressions.length).toBeGreaterThan(15);
  for (const expression of expressions) {
    const names = metricsIn(expression.replaceAll(/\{[^}]*\}/g, '').replaceAll(/by \([^)]*\)/g, ''));
    expect([expression, names.length > 0 || expression.includes('process_')]).toEqual([expression, true]);
    expect([expression, names.filter((name) => !(metricNames as readonly string[]).includes(name))]).toEqual([
      expression,
      [],
    ]);
    const open = [...expression].filter((sign) => sign === '(').length;
    expect([expression, open]).toEqual([expression, [...expression].filter((sign) => sign === ')').length]);
  }
  // Nothing is measured that nobody looks at.
  const looked = new Set(expressions.flatMap(metricsIn));
  expect(metricNames.filter((name) => !looked.has(name))).toEqual([]);
});
