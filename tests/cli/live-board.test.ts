/** The board of `gateway` alone: what its lines say at each size, and what keys do. */
import { expect, test } from 'vitest';
import type { Context } from '../../cli/context.ts';
import {
  type BoardData,
  type BoardState,
  boardLines,
  boardViews,
  firstState,
  itemsOf,
  sparkline,
} from '../../cli/parts/board.ts';
import { changeOf } from '../../cli/parts/board-change.ts';
import { BoardSource } from '../../cli/parts/board-source.ts';
import type { Money } from '../../cli/parts/money.ts';
import { drawsUnicode } from '../../cli/parts/state-marks.ts';
import { namesNoCommand } from '../../cli/program.ts';
import { pressed } from '../../cli/screens/board.tsx';
import type { Log } from '../../server/contract/entities.ts';
import { logs } from '../support/answers.ts';

const context = (language: 'zh' | 'en') =>
  ({ language, say: (zh: string, en: string) => (language === 'zh' ? zh : en) }) as Pick<Context, 'say' | 'language'>;
const money = {
  of: (quota: number) => `$${(quota / 500_000).toFixed(2)}`,
  column: (name: string, amount: (row: object) => number) => ({
    name,
    value: (row: object) => `$${(amount(row) / 500_000).toFixed(2)}`,
  }),
} as unknown as Money;

const minute = { requests: 12, success: 91.7, first_token: 300, p95: 1900, tokens_per_second: 80 };
const hour = { requests_per_minute: 9.5, success: 99.1, first_token: 310, p95: 2400, tokens_per_second: 82 };
const channel = (id: number, name: string, state: 'serving' | 'failing' | 'idle') => ({
  ...{ id, name, state, minute, ...hour, since: 1_790_000_000, failed: 7, saved: 0, saved_by: [] },
  ...{ words: state === 'failing' ? '401 Incorrect API key' : '', charged_today: 2_500_000, balance_lasts_days: 12 },
});
const data: BoardData = {
  ...{ site: 'Ours', place: 'https://ai.example.com', served: true, at: Date.UTC(2026, 10, 29, 10, 0, 0) },
  top: {
    channels: [
      channel(3, 'a channel with a name that is far too long for a terminal of eighty cells', 'failing'),
      channel(1, '主要渠道', 'serving'),
      ...Array.from({ length: 40 }, (_, at) => channel(10 + at, `spare ${at}`, 'idle')),
    ],
    models: [{ name: 'gpt-4o', minute, ...hour, charged: 500_000 }],
  },
  keys: [{ id: 31, name: 'laptop', user: 'mira', charged: 15_850, minute, ...hour }],
  recent: {
    ...{ seconds: 60, refused: 3, channels: [], models: [], keys: [] },
    total: { count: 120, failed: 6, p95: 1900, first_token: 300, tokens_per_second: 80, charge: 600_000 },
  },
  history: { requests: [0, 1, 2, 4], errors: [0, 0, 1, 0], p95: [0, 100, 200, 100], charge: [0, 5, 5, 10] },
  log: logs as readonly Log[],
};
const lines = (state: Partial<BoardState> = {}, columns = 80, rows = 24, language: 'zh' | 'en' = 'en', of = data) =>
  boardLines({
    ...{ data: of, state: { ...firstState, ...state }, room: { columns, rows, unicode: true } },
    ...{ context: context(language), money },
  });
const texts = (...args: Parameters<typeof lines>) => lines(...args).map(({ text }) => text);

test.each([
  [80, 20],
  [80, 24],
  [100, 28],
  [140, 40],
])(
  'at %d x %d no line is wider than the window and the last line stays free, in every view and both languages',
  (columns, rows) => {
    for (const view of boardViews)
      for (const language of ['zh', 'en'] as const)
        for (const opened of [false, true]) {
          const drawn = texts({ view, opened }, columns, rows, language);
          expect(drawn).toHaveLength(rows - 1);
          for (const text of drawn) expect(Bun.stringWidth(text), text).toBeLessThanOrEqual(columns);
        }
  },
);

test('the minute stands above: requests, errors with what was refused, latency, spend, each with its curve', () => {
  const [title = '', figures = '', curves = ''] = texts();
  expect(title).toMatch(/^gateway {2}Ours {2}https:\/\/ai\.example\.com +live {2}\d\d:\d\d:00$/);
  // Also in 80 columns.
  expect(figures).toMatch(/Requests 120\/min +Errors 5%, 3 refused +P95 1\.90s +Spend \$1\.20\/min/);
  expect(curves).toMatch(/^▁▃▅█ +▁▁█▁ +▁▅█▅ +▁▅▅█/);
});

test('a curve shows the newest values that fit, and plain characters where blocks cannot be drawn', () => {
  expect(sparkline([9, 0, 1, 2, 4], 4, true)).toBe('▁▃▅█');
  expect(sparkline([0, 4], 10, false)).toBe('_@');
  expect(sparkline([0, 0], 10, true)).toBe('▁▁');
  expect(sparkline([], 10, true)).toBe('');
  expect([drawsUnicode({ LANG: 'C.UTF-8' }), drawsUnicode({ LANG: 'C' }), drawsUnicode({})]).toEqual([
    true,
    false,
    false,
  ]);
});

test('the selected channel stays in sight, and a failing one says what its upstream said', () => {
  expect(texts().some((text) => text.includes('401 Incorrect'))).toBe(false);
  const wide = texts({}, 160);
  expect(wide.find((text) => text.includes('401 Incorrect API key'))).toBeDefined();
  const opened = texts({ opened: true });
  expect(opened.join(' ').replaceAll(/ +/g, ' ')).toContain('no other channel served them: 401 Incorrect API key');
  const far = texts({ selected: '45' });
  expect(far.find((text) => text.startsWith('▸'))).toContain('spare 35');
  expect(far.some((text) => text.includes('401'))).toBe(false);
});

test('a short list leaves its room to the newest requests, an opened row to its own', () => {
  const short = { ...data, top: { ...data.top, channels: data.top.channels.slice(0, 2) } };
  const found = texts({}, 100, 28, 'en', short);
  expect(found.some((text) => /TIME +RESULT +MODEL/.test(text))).toBe(true);
  const [first] = data.log;
  if (first === undefined) throw new Error('no log');
  const row = { ...first, channel: 1, channel_name: 'main', model_name: 'own-model' };
  const log = [row, { ...row, id: row.id + 1, channel: 3, model_name: 'other-model' }];
  const opened = texts({ opened: true, selected: '1' }, 100, 28, 'en', { ...short, log }).join('\n');
  expect(opened).toMatch(/TIME +RESULT +MODEL/);
  expect(opened).toContain('own-model');
  expect(opened).not.toContain('other-model');
  expect(texts({ opened: true, selected: '1' }, 100, 28, 'en', { ...short, log: [] }).join('\n')).not.toMatch(
    /TIME +RESULT/,
  );
});

test('the foot names the keys that the selected row has', () => {
  const foot = (state: Partial<BoardState>, of = data) => texts(state, 100, 28, 'en', of).at(-1) ?? '';
  const off = { ...data.top, channels: [{ ...channel(5, 'off', 'idle'), state: 'disabled' as const }] };
  expect(foot({})).toContain('t test  d disable  c change  o link  /');
  expect(foot({}, { ...data, top: off })).toContain('t test  e enable  c change  o link  /');
  expect(foot({ view: 'keys' })).toContain('Enter open  d disable  c change  o link  /');
  for (const view of ['models', 'log'] as const) expect(foot({ view })).toContain('Enter open  o link  / filter');
  expect(foot({ opened: true })).toContain('Esc back  t test  d disable  c change  o link  q quit');
  expect(texts({}).at(-1)).toMatch(/q quit$/);
  // In a narrow window the last of them give way.
  expect([60, 50].map((columns) => texts({}, columns).at(-1))).toEqual([
    '↑↓  Enter open  t test  d disable  / filter  ? help  q quit',
    '↑↓  Enter open  t test  / filter  ? help  q quit',
  ]);
  expect(foot({ typing: true, filter: 'a' })).toContain('Esc clears');
  expect(foot({ change: 'x' })).toContain('Esc cancels');
});

test('columns stand where they were while one filters, and a row of another day has its date', () => {
  const headOf = (state: Partial<BoardState>) =>
    texts({ view: 'log', ...state }).find((text) => text.includes('RESULT'));
  const all = headOf({});
  expect(all).toMatch(/TIME +RESULT +MODEL/);
  for (const filter of ['gpt-5', 'claude', 'refused']) expect(headOf({ filter, typing: true })).toBe(all);
  const [first] = data.log;
  if (first === undefined) throw new Error('no log');
  const at = data.at / 1000;
  const log = [0, 86_400].map((ago, place) => ({ ...first, id: place + 1, created_at: at - ago }));
  const rows = texts({ view: 'log' }, 100, 24, 'en', { ...data, log }).filter((text) => text.includes('gpt-4o'));
  expect(rows.map((text) => text.slice(2, 13).trim())).toEqual([
    expect.stringMatching(/^\d\d:\d\d:00$/),
    expect.stringMatching(/^11-28 \d\d:\d\d$/),
  ]);
});

test('the newest rows of the log stand first, whatever came last', async () => {
  const [first] = data.log;
  if (first === undefined) throw new Error('no log');
  const at = (id: number, created_at: number) => ({ ...first, id, created_at });
  const pages = [[at(5, 100), at(9, 50)], [at(10, 75), at(11, 120)], []];
  const asked: number[] = [];
  const total = { count: 0, failed: 0, p95: null, first_token: null, tokens_per_second: null, charge: 0 };
  const answers: Readonly<Record<string, unknown>> = {
    'traffic.now': { seconds: 60, refused: 0, total, channels: [], models: [], keys: [] },
    ...{ 'traffic.all': { series: [], from: 0, to: 0, step: 300 }, 'traffic.channels': [], 'status.get': {} },
  };
  const call = async (id: string, input: { readonly after: number }) => {
    if (id !== 'log.tail') return answers[id];
    asked.push(input.after);
    return pages.shift();
  };
  const where = { url: 'https://site.example', env: {}, client: async () => ({ call }) };
  const source = new BoardSource({ ...context('en'), ...where } as unknown as Context);
  expect((await source.read()).log.map(({ id }) => id)).toEqual([5, 9]);
  expect((await source.read()).log.map(({ id }) => id)).toEqual([11, 5, 10, 9]);
  expect((await source.read()).log.map(({ id }) => id)).toEqual([11, 5, 10, 9]);
  expect(asked).toEqual([-1, 9, 11]);
});

test('an empty site, a filter that nothing matches, and a server that is away say so', () => {
  const none = { ...data, top: { channels: [], models: [] }, keys: [], log: [] };
  expect(texts({}, 80, 24, 'en', none).join('\n')).toContain('no channels yet: gateway channel add');
  expect(texts({ view: 'models' }, 80, 24, 'zh', none).join('\n')).toContain('过去一小时没有请求');
  expect(texts({ filter: 'zzz' }).join('\n')).toContain('nothing matches “zzz”');
  expect(texts({}, 80, 24, 'en', { ...data, served: false })[0]).toContain('no server is running: gateway serve');
});

const press = (state: Partial<BoardState>, input: string, key: Record<string, unknown> = {}) =>
  pressed({ ...firstState, ...state }, { input, key }, data, 10);

test('keys choose the view, the row and what is opened; Esc goes back step by step', () => {
  expect(press({}, '3').view).toBe('keys');
  expect(press({ view: 'log' }, '', { tab: true }).view).toBe('channels');
  expect(press({}, '', { tab: true, shift: true }).view).toBe('log');
  expect(press({}, 'j').selected).toBe('1');
  expect(press({ selected: '1' }, '', { upArrow: true }).selected).toBe('3');
  expect(press({}, '', { upArrow: true }).selected).toBe('3');
  expect(press({}, 'G').selected).toBe('49');
  expect(press({ selected: '49' }, '', { pageUp: true }).selected).toBe('39');
  expect(press({}, '', { return: true }).opened).toBe(true);
  expect(press({ opened: true, filter: 'x' }, '', { escape: true })).toMatchObject({ opened: false, filter: 'x' });
  expect(press({ filter: 'x' }, '', { escape: true }).filter).toBe('');
  expect(press({ help: true, opened: true }, '', { escape: true })).toMatchObject({ help: false, opened: true });
  expect(press({}, ' ').paused).toBe(true);
});

test('while a filter is typed every key is a letter of it, and it looks at all that a row says', () => {
  expect(press({ typing: true, filter: 'a' }, 'q')).toMatchObject({ filter: 'aq', typing: true });
  expect(press({ typing: true, filter: 'ab' }, '', { backspace: true }).filter).toBe('a');
  expect(press({ typing: true, filter: 'ab' }, '', { return: true })).toMatchObject({ typing: false, filter: 'ab' });
  expect(press({ typing: true, filter: 'ab' }, '', { escape: true })).toMatchObject({ typing: false, filter: '' });
  const keys = (filter: string, view: BoardState['view']) => itemsOf(data, { view, filter }).map(({ key }) => key);
  expect(keys('主要', 'channels')).toEqual(['1']);
  expect(keys('FAILING', 'channels')).toEqual(['3']);
  expect(keys('mira', 'keys')).toEqual(['31']);
});

test.each([
  ['channels', 'priority=-5 weight=2', { priority: -5, weight: 2 }],
  ['channels', ' name=two words  tag= ', { name: 'two words', tag: '' }],
  ['keys', 'rpm=0 name=a=b', { rpm_limit: 0, name: 'a=b' }],
] as const)('a change of %s: %s', (view, typed, fields) => {
  expect(changeOf(view, typed, context('en'))).toMatchObject({ fields });
});

test.each([
  ['channels', 'key=sk-x', 'NAME=VALUE'],
  ['channels', 'constructor=1', 'NAME=VALUE'],
  ['channels', 'priority', 'NAME=VALUE'],
  ['channels', '', 'NAME=VALUE'],
  ['channels', 'name=', 'empty'],
  ['channels', 'weight=-1', 'weight'],
  ['channels', 'weight=1.5', 'weight'],
  ['keys', 'rpm=many', 'rpm'],
  ['keys', 'priority=1', 'rpm, tpm'],
] as const)('a change of %s that makes no sense is said and not sent: %s', (view, typed, words) => {
  expect(changeOf(view, typed, context('en'))).toMatchObject({ wrong: expect.stringContaining(words) });
});

test('while a change is typed every key is a letter of it, and Esc gives it up', () => {
  const typing = { ...firstState, change: 'pri' };
  const after = (input: string, key = {}) => pressed(typing, { input, key }, data, 10).change;
  expect([after('q'), after('d'), after('2'), after('', { backspace: true })]).toEqual(['priq', 'prid', 'pri2', 'pr']);
  expect([after('', { escape: true }), after('', { return: true }), after('x', { ctrl: true })]).toEqual([
    null,
    null,
    'pri',
  ]);
  expect(texts({ change: 'priority=5' }).at(-2)).toBe('change priority=5_');
});

test('no command, or only which gateway, is the board', () => {
  expect([[], ['--url', 'https://x'], ['--lang=zh', '-v']].map(namesNoCommand)).toEqual([true, true, true]);
  expect([['status'], ['--help'], ['-V'], ['--url', 'https://x', 'status']].map(namesNoCommand)).toEqual([
    ...[false, false, false, false],
  ]);
});
