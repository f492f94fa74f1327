/** Rows of the log as a gateway in memory gives them: figures stand in their columns, failures speak in their place. */
import i18next from 'i18next';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Log } from '../../server/contract/entities.ts';
import type { Counts } from '../../web/features/logs/use-counts.ts';
import type { Url } from '../../web/lib/url.ts';
import { createTestGateway } from '../support/gateway.ts';
import { aroundPages, linksIn, reader, rendered } from './rendered.tsx';

type Gateway = Awaited<ReturnType<typeof createTestGateway>>;
let gateway: Gateway;
const at = 1_795_000_000;
const price = { model_ratio: 1.25, model_price: -1, completion_ratio: 4, group_ratio: 1, cache_ratio: 0.5 };

beforeAll(async () => {
  await aroundPages(reader(100));
  gateway = await createTestGateway();
  const row = (id: number, more: object) => ({
    id,
    request_id: `2026112300000${id}abcd`,
    created_at: at + id,
    type: 2,
    user_id: 7,
    username: 'Mira',
    token_id: 3,
    token_name: 'ci',
    channel_id: 5,
    group_name: 'default',
    model_name: 'gpt-4o',
    is_stream: 1,
    content: '',
    prompt_tokens: 0,
    completion_tokens: 0,
    quota: 0,
    end_reason: 'completed',
    ...more,
  });
  const attempts = [
    { channel: 4, name: 'west', reason: 'timeout', ms: 400 },
    { channel: 5, name: 'east' },
  ];
  await gateway.database.query
    .insertInto('logs')
    .values([
      row(1, {
        prompt_tokens: 12_000,
        completion_tokens: 300,
        quota: 10_977,
        other: JSON.stringify({
          ...price,
          ...{ input: 9000, output: 300, cache_tokens: 3000, frt: 500, ms: 2500 },
          admin_info: { use_channel: ['5'] },
        }),
      }),
      row(2, {
        type: 5,
        quota: 0,
        content: 'Rate limit reached',
        end_reason: 'upstream_failed',
        other: JSON.stringify({ failure: 'status 429', frt: -1000, ms: 310 }),
      }),
      row(3, {
        type: 5,
        channel_id: 0,
        content: 'The key may not use gpt-5.1',
        model_name: 'gpt-5.1',
        end_reason: 'refused',
        other: JSON.stringify({ refused: 'model_not_allowed', status: 403 }),
      }),
      row(4, {
        completion_tokens: 10,
        other: JSON.stringify({ frt: 600, ms: 1000, admin_info: { use_channel: ['4', '5'], attempts } }),
      }),
    ] as never)
    .execute();
});
afterAll(async () => {
  await gateway?.close();
  vi.unstubAllGlobals();
});

const rowsOf = async (): Promise<readonly Log[]> => (await gateway.services.logs.page({}, 1, 50, true)).items;
const rowOf = async (id: number): Promise<Log> => (await rowsOf()).find((row) => row.id === id) as Log;
const textsOf = (cells: string): string[] =>
  [...cells.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, inner = '']) => inner.replace(/<[^>]*>/g, '').trim());

/** Cells of one row of the table. */
async function cellsOf(id: number, admin = true): Promise<string> {
  const { logColumns } = await import('../../web/features/logs/log-columns.tsx');
  const { DataTable } = await import('../../web/components/table/data-table.tsx');
  const columns = logColumns({ t: i18next.t, money: (quota) => `$${quota}`, reader: { id: 7, admin }, maxMs: 5000 });
  const table = rendered(
    <DataTable
      caption="log"
      rows={await rowsOf()}
      columns={columns}
      list={{ pending: false, failure: null }}
      empty=""
    />,
    { path: '/log' },
  );
  return table.split('<tr').find((part) => part.includes(`data-row="${id}"`)) ?? '';
}

test('a request shows status, model, user and key, duration, first token, speed, input with its cached share, output, cost', async () => {
  expect(textsOf(await cellsOf(1)).slice(1)).toEqual([
    '成功',
    'gpt-4o',
    'Mira ci',
    '2.50 s',
    '0.50',
    '150',
    '12,00025%',
    '300',
    '$10977',
  ]);
});

test('the pale part of the bar is the time to the first token', async () => {
  const widths = [...(await cellsOf(1)).matchAll(/width:(\d+)px/g)].map(([, width]) => Number(width));
  expect(widths).toEqual([10, 38]);
});

test('a failed request says why in the place of its figures', async () => {
  const cells = await cellsOf(2);
  expect(textsOf(cells).slice(1)).toEqual(['429 失败', 'gpt-4o', 'Mira ci', 'Rate limit reached', '$0']);
  expect(cells).toContain('colSpan="5"');
  expect(linksIn(cells)).toEqual([]);
});

test('a refused request leads to the key that refused it', async () => {
  const cells = await cellsOf(3);
  expect(textsOf(cells)[1]).toBe('403 已拒绝');
  expect(textsOf(cells)[4]).toContain('The key may not use gpt-5.1');
  expect(linksIn(cells)).toEqual(['/token?open=3']);
});

test('a retried request says so, and its user cannot see it', async () => {
  expect(textsOf(await cellsOf(4))[1]).toBe('重试后成功');
  const { statusOf } = await import('../../server/contract/log-status.ts');
  const own = (await gateway.services.logs.page({ userId: 7 }, 1, 50, false)).items.find(({ id }) => id === 4);
  expect(statusOf(own as Log)).toBe('succeeded');
});

test('time is spent on failed attempts, on waiting and on the stream, and nothing is counted twice', async () => {
  const { detailsOf, spansOf } = await import('../../web/lib/log-details.ts');
  const spans = async (id: number) => {
    const row = await rowOf(id);
    return spansOf(row, detailsOf(row)).map(({ kind, ms, name }) => [kind, ms, name]);
  };
  expect(await spans(4)).toEqual([
    ['failed', 400, 'west'],
    ['wait', 200, ''],
    ['stream', 400, ''],
  ]);
  expect(await spans(1)).toEqual([
    ['wait', 500, ''],
    ['stream', 2000, ''],
  ]);
  expect(await spans(2)).toEqual([['wait', 310, '']]);
});

test('an attempt does not repeat the error that the request ended with, and says every other one', async () => {
  const { Attempts } = await import('../../web/features/logs/attempts.tsx');
  const info = (message: string) => ({
    attempts: [{ channel: 4, name: 'west', reason: 'status', status: 429, ms: 400, message }],
  });
  const shown = async (id: number, message: string) => {
    const row = await rowOf(id);
    return rendered(<Attempts log={row} info={info(message)} />);
  };
  expect((await rowOf(2)).content).toBe('Rate limit reached');
  expect(await shown(2, '429 Rate limit reached')).not.toContain('Rate limit reached');
  expect(await shown(2, 'Rate limit reached')).not.toContain('Rate limit reached');
  expect(await shown(2, '429 Rate limit reached for today')).toContain('Rate limit reached for today');
  // What was answered after all has no error above its attempts.
  expect(await shown(4, '429 Rate limit reached')).toContain('429 Rate limit reached');
});

test('each line of the bill has its tokens, its price and its amount', async () => {
  const { CostBreakdown } = await import('../../web/components/cost-breakdown.tsx');
  const { detailsOf } = await import('../../web/lib/log-details.ts');
  const html = rendered(<CostBreakdown details={detailsOf(await rowOf(1))} />, {
    answers: { status: { quota_per_unit: 500_000, display_in_currency: true } },
  });
  const lines = html.split(/<tr[^>]*>/).map((line) => textsOf(line));
  expect(lines).toContainEqual(['输入', '9,000', '× 1$2.50 / 1M', '$0.022500']);
  expect(lines).toContainEqual(['输出', '300', '× 4$10.00 / 1M', '$0.003000']);
});

test('the lines of a bill add up to its total where each has a fraction', async () => {
  const { CostBreakdown } = await import('../../web/components/cost-breakdown.tsx');
  const details = { ...price, model_ratio: 0.075, input: 802, cache_tokens: 3700, output: 638 };
  const html = rendered(<CostBreakdown details={details} />, {
    answers: { status: { quota_per_unit: 500_000, display_in_currency: true } },
  });
  const amounts = [...html.matchAll(/\$(0\.\d{6})</g)].map(([, amount]) => amount);
  expect(amounts).toEqual(['0.000120', '0.000278', '0.000382', '0.000780']);
});

test('a bill names what earlier requests left of a unit, and its lines add up with it', async () => {
  const { CostBreakdown } = await import('../../web/components/cost-breakdown.tsx');
  const billed = (more: object) => {
    const details = { ...price, model_ratio: 0.075, input: 802, cache_tokens: 3700, output: 638, ...more };
    const html = rendered(<CostBreakdown details={details} />, {
      answers: { status: { quota_per_unit: 500_000, display_in_currency: true } },
    });
    return [html.includes('余数'), ...[...html.matchAll(/\$(0\.\d{6})</g)].map(([, amount]) => amount)];
  };
  // 60.15, 138.75 and 191.4 units: 390.3.
  expect(billed({ carried: 0.7 })).toEqual([true, '0.000120', '0.000278', '0.000384', '0.000782']);
  expect(billed({ carried: 0 })).toEqual([false, '0.000120', '0.000276', '0.000384', '0.000780']);
});

test('the rail counts what there is, and marks what is chosen', async () => {
  const { FilterSidebar } = await import('../../web/features/logs/filter-sidebar.tsx');
  const counts = (await gateway.services.logs.facets({ from: at, to: at + 60, retries: true }, 10, true)) as Counts;
  const chosen = new URLSearchParams('status=failed&model==gpt-5.1');
  const changed: [string, string][] = [];
  const url: Url = {
    get: (name) => chosen.get(name) ?? '',
    page: 1,
    set: (name, value) => changed.push([name, value]),
    put: () => {},
    show: () => {},
    close: () => {},
  };
  const rail = rendered(<FilterSidebar counts={counts} url={url} />);
  const buttons = [...rail.matchAll(/<button[^>]*aria-pressed="(\w+)"[^>]*>(.*?)<\/button>/gs)].map(
    ([, on, inner = '']) => [
      inner
        .replace(/<[^>]*>/g, ' ')
        .replace(/\s+/g, ' ')
        .trim(),
      on,
    ],
  );
  expect(buttons).toEqual([
    ['失败 1', 'true'],
    ['已拒绝 1', 'false'],
    ['重试后成功 1', 'false'],
    ['成功 1', 'false'],
    ['令牌不可用该模型 1', 'false'],
    ['上游出错（429） 1', 'false'],
    ['gpt-4o 3', 'false'],
    ['gpt-5.1 1', 'true'],
    ['Mira 4', 'false'],
    ['#5 3', 'false'],
    ['ci 4', 'false'],
    ['default 4', 'false'],
  ]);
});

test('the rail shows so many values of each kind, and sums up the others', async () => {
  const { FilterSidebar } = await import('../../web/features/logs/filter-sidebar.tsx');
  const kinds = { status: 7, error: 4, model: 6, user: 4, channel: 4, token: 4, group: 3 } as const;
  const names = ['failed', 'refused', 'retried', 'ok', 'event', 'a', 'b', 'c', 'd'];
  const facets = Object.keys(kinds).map((by) => ({
    by,
    values: names.map((value) => ({ value, name: value, count: 2 })),
    more: { values: 1, count: 10 },
  }));
  const url = { get: () => '', set: () => undefined } as unknown as Url;
  const rail = rendered(<FilterSidebar counts={{ facets, sampled: false } as unknown as Counts} url={url} />);
  const sections = rail.split('<section').slice(1);
  expect(sections.map((section) => section.match(/<button/g)?.length)).toEqual(Object.values(kinds));
  for (const [at, most] of Object.values(kinds).entries())
    expect(sections[at]).toContain(i18next.t('logs.more', { count: names.length - most + 1 }));
});

test('a failed row speaks in the place of its figures: the columns right behind the duration', async () => {
  const { logColumns } = await import('../../web/features/logs/log-columns.tsx');
  const options = { t: i18next.t, money: String, reader: { admin: true }, maxMs: 1 } as unknown;
  const columns = logColumns(options as Parameters<typeof logColumns>[0]);
  const at = columns.findIndex(({ over }) => over !== undefined);
  const behind = columns[at]?.over?.({ type: 5 } as Log) ?? [];
  expect(behind).toHaveLength(4);
  expect(columns.slice(at + 1, at + 5).map(({ id }) => id)).toEqual(behind);
  expect(columns[at]?.over?.({ type: 2 } as Log)).toEqual([]);
});

test.each([
  [1000, 95, '9.5'],
  [1000, 99, '9.9'],
  [1000, 100, '10'],
  [1000, 126, '13'],
  [3, 1, '33'],
])('of %d rows %d failed: %s percent', async (total, errors, share) => {
  const { LogTotals } = await import('../../web/features/logs/log-head.tsx');
  const counts = { total, errors, sampled: false } as unknown as Counts;
  expect(rendered(<LogTotals counts={counts} stat={undefined} />)).toContain(i18next.t('logs.failedShare', { share }));
});

test('a minute without requests is said in words, not as zeros beside a light that is on', async () => {
  const { LogTotals } = await import('../../web/features/logs/log-head.tsx');
  const counts = { total: 5, errors: 0, sampled: false } as unknown as Counts;
  const head = (rpm: number) =>
    rendered(<LogTotals counts={counts} stat={{ quota: 0, requests: 5, errors: 0, refused: 0, rpm, tpm: 3 * rpm }} />);
  expect(head(0)).toMatch(new RegExp(`RPM · TPM<.*${i18next.t('logs.noneNow')}`));
  expect(head(7)).toMatch(/RPM<.*>7<.*TPM<.*>21</);
});

test('a few long requests do not flatten the bars of the others', async () => {
  const { maxDurationOf } = await import('../../web/features/logs/log-columns.tsx');
  const row = (ms: number, type = 2) => ({ type, other: JSON.stringify({ ms }) }) as Log;
  const short = Array.from({ length: 19 }, () => row(1800));
  expect(maxDurationOf([...short, row(90_000)])).toBe(2000);
  expect(maxDurationOf([row(1800), row(90_000)])).toBe(100_000);
  expect(maxDurationOf([row(90_000, 5)])).toBe(1000);
});

test.each([
  ['type=0', false],
  ['model=none', true],
])('of /log?%s the words "no row matches" are said: %s', async (search, narrowed) => {
  const { NoLogs } = await import('../../web/features/logs/no-logs.tsx');
  const url = { get: (name: string) => new URLSearchParams(search).get(name) ?? '' } as Url;
  const html = rendered(<NoLogs filtered narrowed={narrowed} url={url} backwards={false} />);
  expect(html.includes(i18next.t('app.clearFilters'))).toBe(narrowed);
  expect(html.includes(i18next.t('logs.noneInTime'))).toBe(!narrowed);
});
