/** What the tail shows of a row, in a narrow terminal and in a wide one. */
import { expect, test, vi } from 'vitest';
import { columns } from '../../cli/commands/logs/filters.ts';
import { tail } from '../../cli/commands/logs/logs.ts';
import { tailHeading, tailLine } from '../../cli/commands/logs/tail-line.ts';
import type { Context } from '../../cli/context.ts';
import { columnsOf } from '../../cli/parts/list-output.ts';
import type { Log } from '../../server/contract/entities.ts';

const row = {
  id: 7,
  type: 2,
  created_at: 1_795_305_600,
  model_name: 'gpt-4o-mini',
  username: 'carol',
  token_name: 'laptop',
  channel: 3,
  use_time: 2,
  other: '',
  prompt_tokens: 8200,
  completion_tokens: 411,
  quota: 13_499,
  content: '',
} as unknown as Log;
const money = { of: (quota: number) => `$${(quota / 500_000).toFixed(6)}` } as unknown as Parameters<
  typeof tailLine
>[1];

test.each([80, 100, 140])('U.D: heading and row stand below each other in %i cells', (room) => {
  const check = { maxWidth: room, color: false, language: 'en' } as const;
  const [head, line] = [tailHeading(check), tailLine(row, money, check)];
  expect(Bun.stringWidth(line)).toBeLessThanOrEqual(room);
  expect(line.indexOf('gpt-4o-mini')).toBe(head.indexOf('MODEL'));
  expect(line).toContain('$0.026998');
  expect(line).not.toContain('.000Z');
  expect(line).toContain('carol/laptop');
});

test('a failure says why where tokens and cost would stand, in a line of its own where it is too long for that', () => {
  const failed = { ...row, type: 5, quota: 0, prompt_tokens: 0, completion_tokens: 0, use_time: 0 };
  const lines = (content: string, more: Partial<Log> = {}, maxWidth = 80): readonly string[] =>
    tailLine({ ...failed, content, ...more }, money, { maxWidth, color: false, language: 'en' }).split('\n');
  const short = lines('Rate limit reached');
  expect(short).toEqual([expect.stringMatching(/^\S+ {2}failed .* carol\/laptop +Rate limit reached$/)]);
  // Below the heading of what took no time, wherever that stands.
  const head = tailHeading({ maxWidth: 80, color: false, language: 'en' });
  expect(short[0]?.indexOf('Rate')).toBe(head.indexOf('TOOK') + 'TOOK  '.length);
  const long = 'Rate limit reached for requests per min. Limit: 500';
  const [line = '', reason = ''] = lines(long);
  expect(line).toMatch(/failed .* carol\/laptop$/);
  expect(reason.trim()).toBe(long);
  // Nor does it hide what was charged.
  expect(lines('Cut', { quota: 500 })).toEqual([expect.stringContaining('$0.001000'), `${' '.repeat(10)}Cut`]);
});

test('results and counts read as they do on the board', () => {
  const ended = (more: Partial<Log>) =>
    tailLine({ ...row, ...more }, money, { maxWidth: 100, color: false, language: 'en' })
      .slice(10, 17)
      .trim();
  expect([
    ...[ended({ end_reason: 'completed' }), ended({ end_reason: '' }), ended({ end_reason: 'imported' })],
    ...[ended({ end_reason: 'client_gone' }), ended({ end_reason: 'stopped' }), ended({ end_reason: 'quota_cut' })],
    ...[ended({ end_reason: 'word_cut' }), ended({ end_reason: 'refused', type: 5 }), ended({ type: 5 })],
    ...[ended({ type: 1 }), ended({ type: 3 }), ended({ type: 4 }), ended({ other: '{"attempts":[' })],
  ]).toEqual([
    ...['ok', 'ok', 'ok', 'left', 'stopped', 'cut off', 'cut off', 'refused', 'failed'],
    ...['top-up', 'manage', 'system', 'retried'],
  ]);
  expect(tailLine(row, money, { maxWidth: 100, color: false, language: 'en' })).toMatch(/ 8,200 +411 /);
});

test.each([
  ['en', 'Model test'],
  ['zh', '模型测试'],
] as const)('the test of a channel is named in the language of the terminal: %s', (language, name) => {
  const tested = { ...row, token_name: '模型测试' };
  expect(tailLine(tested, money, { maxWidth: 140, color: false, language })).toContain(`carol/${name} `);
  const shown = { ...money, column: () => ({ name: 'cost', value: () => '' }) } as never;
  const token = columnsOf('log.list', columns(shown, language), shown).find((column) => column.name === 'token');
  expect(token?.value(tested, [tested])).toBe(name);
});

test('a row says milliseconds, whose key it was at 80 cells, and nothing wider than 60 cells there', () => {
  const quick = { ...row, use_time: 0, other: '{"ms":340}' };
  const at = (maxWidth: number) => tailLine(quick, money, { maxWidth, color: false, language: 'en' });
  expect(at(80)).toMatch(/gpt-4o-mini +carol\/laptop +340ms +411 +\$0\.026998$/);
  expect(at(60)).toContain('340ms');
  expect(Bun.stringWidth(at(60))).toBeLessThanOrEqual(60);
});

test('headings and results are in the language of the terminal', () => {
  const look = { maxWidth: 80, color: false, language: 'zh' } as const;
  expect(tailHeading(look)).toMatch(/^时间 +结果 +模型 +用户\/令牌 +用时 +输出 +费用$/);
  expect(tailLine({ ...row, type: 5, quota: 0 }, money, look)).toContain('失败');
});

test('after rows of a clock that was ahead no row is asked for twice', async () => {
  const asked: unknown[] = [];
  const pages = [
    [9, 12, 7],
    [14, 13],
  ].map((ids) => ids.map((id) => ({ ...row, id })));
  const call = async (id: string, input?: { readonly after: number }) => {
    if (id !== 'log.tail') return {};
    asked.push(input?.after);
    const page = pages.shift();
    if (page === undefined) throw new Error('the end');
    return page;
  };
  const layout = { maxWidth: 80, color: false };
  const output = { isTty: false, format: 'table', layout, line: () => undefined };
  const context = { output, url: 'https://site.example', language: 'en', client: async () => ({ call }) };
  vi.spyOn(Bun, 'sleep').mockResolvedValue(undefined);
  await expect(tail(context as unknown as Context, { follow: true }, '', [])).rejects.toThrow('the end');
  expect(asked).toEqual([-1, 12, 14]);
  vi.restoreAllMocks();
});
