import { expect, test } from 'vitest';
import { stat } from '../../cli/commands/logs/report.ts';
import type { Context } from '../../cli/context.ts';
import { withProgress } from '../../cli/parts/progress.ts';
import { ago, pastEdge, pastTime } from '../../cli/parts/when.ts';
import { edgesOf } from '../../server/contract/counted.ts';

const now = Date.parse('2026-03-10T12:00:00Z');

test.each([
  ['2026-03-10T11:59:18Z', '42s ago', '42 秒前'],
  ['2026-03-10T11:15:00.000Z', '45m ago', '45 分钟前'],
  ['2026-03-10T01:00:00Z', '11h ago', '11 小时前'],
  ['2026-02-20T12:00:00Z', '18d ago', '18 天前'],
  ['2026-03-10T12:00:00Z', '0s ago', '0 秒前'],
  ['2026-03-10T11:59:01Z', '59s ago', '59 秒前'],
  ['2026-03-10T11:59:00Z', '1m ago', '1 分钟前'],
  ['2026-03-10T11:00:01Z', '59m ago', '59 分钟前'],
  ['2026-03-10T11:00:00Z', '1h ago', '1 小时前'],
  ['2026-03-09T12:00:01Z', '23h ago', '23 小时前'],
  ['2026-03-09T12:00:00Z', '1d ago', '1 天前'],
  ['2026-02-09T12:00:00Z', '29d ago', '29 天前'],
  ['2026-02-08T12:00:00Z', '2026-02-08', '2026-02-08'],
  ['2025-12-31T23:59:59Z', '2025-12-31', '2025-12-31'],
  ['2026-03-11T08:30:00Z', '2026-03-11 08:30', '2026-03-11 08:30'],
  ['gpt-4o-2024-08-06', 'gpt-4o-2024-08-06', 'gpt-4o-2024-08-06'],
])('%s reads as %s', (text, en, zh) => {
  expect(ago(text, now, 'en')).toBe(en);
  expect(ago(text, now, 'zh')).toBe(zh);
});

const said = async (ms: number, isTty: boolean, silent = false): Promise<string> => {
  let text = '';
  const write = (more: string) => {
    text += more;
  };
  expect(
    await withProgress(
      Bun.sleep(ms).then(() => 7),
      { write, isTty, silent, word: () => 'working' },
    ),
  ).toBe(7);
  return text;
};

test('long work shows that it goes on and leaves a clean line; short, silent or piped work says nothing', async () => {
  const [long, short, silent, piped] = await Promise.all([
    said(700, true),
    said(50, true),
    said(700, true, true),
    said(700, false),
  ]);
  expect(long).toContain('working 0 s');
  expect(long.endsWith('\r\u001b[K')).toBe(true);
  expect([short, silent, piped]).toEqual(['', '', '']);
});

test.each([
  [undefined, undefined],
  ['90s', 90],
  ['2m', 120],
  ['3h', 10_800],
  ['7d', 604_800],
  ['2w', 1_209_600],
  ['2026-03-10T11:00:00.900Z', 3599 + 1],
])('%s is so many seconds ago: %s', (text, seconds) =>
  expect(pastTime(text, '--since', now)).toBe(seconds === undefined ? undefined : now / 1000 - seconds),
);

test.each(['soon', '7', '1234567d', '7y'])('%s is no time', (text) => {
  if (Number.isNaN(Date.parse(text)))
    expect(() => pastTime(text, '--since', now)).toThrow(
      expect.objectContaining({ code: 'usage', params: { detail: `--since ${text}: 24h, 7d, 2026-01-31` } }),
    );
  else expect(pastTime(text, '--since', now)).toBe(Date.parse(text) / 1000);
});

test.each(['15m', '2h', '24h', '7d', '30d'])(
  'sums of the last %s begin at the edge that the console begins at, those since a date at that date',
  (span) => {
    const later = 1_790_000_123_456;
    const begins = pastTime(span, '--since', later) ?? 0;
    const { from } = edgesOf(begins, Math.floor(later / 1000));
    expect(pastEdge(span, '--since', later)).toBe(from);
    expect(from).toBeLessThan(begins);
    expect(pastEdge('2026-01-31T10:11:12Z', '--since', later)).toBe(Date.parse('2026-01-31T10:11:12Z') / 1000);
    expect(pastEdge(undefined, '--since', later)).toBeUndefined();
  },
);

test('a total of the log reads the range of the console', async () => {
  const asked: unknown[] = [];
  const call = (id: string, input: unknown) => {
    asked.push(id === 'status.get' ? null : input);
    return Promise.resolve({ quota: 0, requests: 0, errors: 0, refused: 0, rpm: 0, tpm: 0, overrun: 0 });
  };
  const context = {
    ...{ say: (_zh: string, en: string) => en, language: 'en', client: () => Promise.resolve({ call }) },
    output: { object: () => undefined, format: 'json' },
  } as unknown as Context;
  await stat(context, { since: '24h' }, '', []);
  const range = asked.find((one) => one !== null && typeof one === 'object' && 'start_timestamp' in one) as {
    start_timestamp: number;
  };
  expect(range.start_timestamp % 3600).toBe(0);
});
