/** What the board of a terminal shows, as lines: figures with their curves above, one list below, keys at the foot. Pure. */

import type { OutputOf } from '../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../server/contract/endpoints/index.ts';
import type { Log } from '../../server/contract/entities.ts';
import { LogType } from '../../server/contract/enum.ts';
import { safeLine } from '../../server/contract/safe-text.ts';
import { storedIn } from '../../server/contract/stored-texts.ts';
import type { ChannelState } from '../../server/contract/traffic.ts';
import type { Context } from '../context.ts';
import { shorten, type TableColumn, table } from '../table.ts';
import { clock, counted, dayOf, resultLegend, resultOf, tookOf } from './log-row.ts';
import type { Money } from './money.ts';
import { markOf } from './state-marks.ts';
import {
  duration,
  failureLine,
  minuteTexts,
  stateWord,
  type Top,
  type TopChannel,
  type TopModel,
  type TopRow,
} from './top.ts';

export const boardViews = ['channels', 'models', 'keys', 'log'] as const;
export type BoardView = (typeof boardViews)[number];

type Recent = OutputOf<EndpointOf<'traffic.now'>>;

export interface BoardKey extends TopRow {
  readonly id: number;
  readonly user: string;
  /** Quota of the hour. */
  readonly charged: number;
}

export interface BoardData {
  readonly site: string;
  /** Where it is: an address, or the data directory. */
  readonly place: string;
  readonly served: boolean;
  readonly top: Top;
  readonly keys: readonly BoardKey[];
  readonly recent: Recent;
  /** By windows of five minutes, the oldest first. */
  readonly history: {
    readonly requests: readonly number[];
    readonly errors: readonly number[];
    readonly p95: readonly number[];
    readonly charge: readonly number[];
  };
  /** The newest first. */
  readonly log: readonly Log[];
  /** Epoch milliseconds. */
  readonly at: number;
}

export interface BoardState {
  readonly view: BoardView;
  /** By what `itemsOf` calls it; '' = the first. */
  readonly selected: string;
  readonly filter: string;
  /** The filter is being typed. */
  readonly typing: boolean;
  /** What is typed to change the selected row; null = nothing is. */
  readonly change: string | null;
  /** The selected row is opened. */
  readonly opened: boolean;
  /** The keys are listed. */
  readonly help: boolean;
  readonly paused: boolean;
  /** What the last action says, or a question that y answers. */
  readonly message: string;
}

export const firstState: BoardState = {
  ...{ view: 'channels', selected: '', filter: '', typing: false, opened: false, help: false, paused: false },
  ...{ message: '', change: null },
};

/** How a line looks, where colours may be used; the words say it too. */
export type Look = 'title' | 'heading' | 'selected' | 'bad' | 'warn' | 'good' | 'dim' | 'plain';
export interface BoardLine {
  readonly text: string;
  readonly look: Look;
}

export interface BoardRoom {
  readonly columns: number;
  readonly rows: number;
  /** Block characters can be drawn. */
  readonly unicode: boolean;
}

const bars = '▁▂▃▄▅▆▇█';
const plainBars = '_.-=+*#@';

/** @returns the newest values that fit; nothing is a gap at the foot, and the highest fills the line. */
export function sparkline(values: readonly number[], cells: number, unicode: boolean): string {
  const shown = values.slice(-Math.max(0, cells));
  const most = Math.max(...shown, 0);
  const marks = unicode ? bars : plainBars;
  return shown
    .map((value) => (most === 0 || value === 0 ? marks[0] : marks[Math.max(1, Math.round((value / most) * 7))]))
    .join('');
}

export interface BoardItem {
  readonly key: string;
  /** What a filter looks at. */
  readonly words: string;
}

/** Rows of a view that the filter leaves, in their order. */
export function itemsOf(data: BoardData, { view, filter }: Pick<BoardState, 'view' | 'filter'>): readonly BoardItem[] {
  const all: readonly BoardItem[] =
    view === 'channels'
      ? data.top.channels.map(({ id, name, state }) => ({ key: String(id), words: `${name} ${state}` }))
      : view === 'models'
        ? data.top.models.map(({ name }) => ({ key: name, words: name }))
        : view === 'keys'
          ? data.keys.map(({ id, name, user }) => ({ key: String(id), words: `${name} ${user}` }))
          : data.log.map((row) => ({ key: String(row.id), words: Object.values(row).join(' ') }));
  const needle = filter.toLowerCase();
  return needle === '' ? all : all.filter(({ words }) => words.toLowerCase().includes(needle));
}

/** @returns the place of the selected row; the first where it is gone. */
export const placeOf = (items: readonly BoardItem[], selected: string): number =>
  Math.max(
    0,
    items.findIndex(({ key }) => key === selected),
  );

const looks: Partial<Readonly<Record<ChannelState, Look>>> = {
  failing: 'bad',
  slow: 'warn',
  disabled: 'dim',
  idle: 'dim',
};

interface Painter {
  readonly data: BoardData;
  readonly state: BoardState;
  readonly room: BoardRoom;
  readonly context: Pick<Context, 'say' | 'language'>;
  readonly money: Money;
}

const line = (text: string, look: Look = 'plain'): BoardLine => ({ text, look });
const cell = (text: string, cells: number): string => {
  const fitted = shorten(text, cells);
  return fitted + ' '.repeat(Math.max(0, cells - Bun.stringWidth(fitted)));
};
const ends = (left: string, right: string, columns: number): string => {
  const rest = columns - Bun.stringWidth(right);
  return rest < 8 ? shorten(left, columns) : `${cell(left, rest)}${right}`;
};

/** Requests, errors, latency and spend: the last minute in figures, three hours as a curve. */
function figures({ data, room, context: { say }, money }: Painter): BoardLine[] {
  const { recent, history } = data;
  const { requests, failed, p95, spend } = minuteTexts(recent, money);
  const quarter = Math.floor(room.columns / 4);
  const refused = recent.refused === 0 ? '' : say(`，拒绝 ${recent.refused}`, `, ${recent.refused} refused`);
  // A latency is short, and what was refused needs the room.
  const parts: readonly (readonly [width: number, string, string, readonly number[]])[] = [
    [quarter - 1, say('请求', 'Requests'), `${requests}/min`, history.requests],
    [quarter + 4, say('错误', 'Errors'), `${failed}${refused}`, history.errors],
    [quarter - 4, say('延迟 P95', 'P95'), p95, history.p95],
    [quarter, say('费用', 'Spend'), `${spend}/min`, history.charge],
  ];
  return [
    line(parts.map(([width, name, value]) => cell(`${name} ${value}`, width - 1)).join(' '), 'title'),
    line(
      parts.map(([width, , , values]) => cell(sparkline(values, width - 2, room.unicode), width - 1)).join(' '),
      'dim',
    ),
  ];
}

function tabs({ data, state, room, context: { say } }: Painter): BoardLine {
  const names: Readonly<Record<BoardView, string>> = {
    ...{
      channels: say('渠道', 'Channels'),
      models: say('模型', 'Models'),
      keys: say('令牌', 'Keys'),
      log: say('日志', 'Log'),
    },
  };
  const counts: Readonly<Record<BoardView, number | null>> = {
    ...{ channels: data.top.channels.length, models: data.top.models.length, keys: data.keys.length, log: null },
  };
  const all = boardViews.map((view, at) => {
    const count = counts[view];
    const words = `${at + 1} ${names[view]}${count === null ? '' : ` ${count}`}`;
    return view === state.view ? `[${words}]` : ` ${words} `;
  });
  const right = state.typing || state.filter !== '' ? `/${state.filter}${state.typing ? '_' : ''}` : '';
  return line(ends(all.join(' '), right, room.columns), 'heading');
}

const percent = (value: number | null): string => (value === null ? '–' : `${value}%`);
const minuteColumns = (say: Context['say']): readonly TableColumn[] => [
  { name: say('请求 1m', 'req 1m'), right: true },
  { name: say('成功 1m', 'ok 1m'), right: true },
  { name: 'p95 1m', right: true, priority: 1 },
  { name: say('成功 1h', 'ok 1h'), right: true, priority: 2 },
  { name: 'p95 1h', right: true, priority: 3 },
];
const minuteCells = (row: TopRow): string[] => [
  ...[String(row.minute.requests), percent(row.minute.success), duration(row.minute.p95)],
  ...[percent(row.success), duration(row.p95)],
];

interface Listed {
  readonly columns: readonly TableColumn[];
  readonly cells: (key: string) => readonly string[];
  readonly look: (key: string) => Look;
}

function listOf({ data, state, room, context: { say, language }, money }: Painter): Listed {
  switch (state.view) {
    case 'channels': {
      const rows = new Map(data.top.channels.map((row) => [String(row.id), row]));
      const today = money.column('', (row: TopChannel) => row.charged_today);
      return {
        columns: [
          { name: say('渠道', 'channel') },
          { name: say('状态', 'state') },
          ...minuteColumns(say),
          { name: say('次/分 1h', 'rpm 1h'), right: true, priority: 4 },
          { name: say('首字 1h', 'TTFT 1h'), right: true, priority: 5 },
          { name: 'tok/s 1h', right: true, priority: 6 },
          { name: say('余额可用', 'lasts'), right: true, priority: 7 },
          { name: say('今日', 'today'), right: true, priority: 1 },
        ],
        cells: (key) => {
          const row = rows.get(key);
          if (row === undefined) return [];
          const word = `${markOf(row.state, room.unicode)} ${stateWord(row.state, say)}`;
          return [
            ...[safeLine(row.name), word, ...minuteCells(row), String(row.requests_per_minute)],
            ...[duration(row.first_token), row.tokens_per_second === null ? '–' : String(row.tokens_per_second)],
            ...[
              row.balance_lasts_days === null ? '–' : `${row.balance_lasts_days} d`,
              today.value(row, data.top.channels),
            ],
          ];
        },
        look: (key) => looks[rows.get(key)?.state ?? 'serving'] ?? 'plain',
      };
    }
    case 'models': {
      const rows = new Map(data.top.models.map((row) => [row.name, row]));
      const spend = money.column('', (row: TopModel) => row.charged);
      return {
        columns: [
          { name: say('模型', 'model') },
          ...minuteColumns(say),
          { name: say('次/分 1h', 'rpm 1h'), right: true, priority: 5 },
          { name: say('首字 1h', 'TTFT 1h'), right: true, priority: 4 },
          { name: say('费用 1h', 'spend 1h'), right: true, priority: 1 },
        ],
        cells: (key) => {
          const row = rows.get(key);
          return row === undefined
            ? []
            : [
                ...[safeLine(key), ...minuteCells(row), String(row.requests_per_minute)],
                ...[duration(row.first_token), spend.value(row, data.top.models)],
              ];
        },
        look: (key) => ((rows.get(key)?.minute.success ?? 100) < badSuccess ? 'bad' : 'plain'),
      };
    }
    case 'keys': {
      const rows = new Map(data.keys.map((row) => [String(row.id), row]));
      const spend = money.column('', (row: BoardKey) => row.charged);
      return {
        columns: [
          { name: say('令牌', 'key') },
          { name: say('用户', 'user'), priority: 2 },
          ...minuteColumns(say),
          { name: say('费用 1h', 'spend 1h'), right: true, priority: 1 },
        ],
        cells: (key) => {
          const row = rows.get(key);
          return row === undefined
            ? []
            : [safeLine(row.name), safeLine(row.user), ...minuteCells(row), spend.value(row, data.keys)];
        },
        look: (key) => ((rows.get(key)?.minute.success ?? 100) < badSuccess ? 'bad' : 'plain'),
      };
    }
    case 'log': {
      const rows = new Map(data.log.map((row) => [String(row.id), row]));
      return {
        columns: [
          { name: say('时间', 'time') },
          { name: say('结果', 'result') },
          { name: say('模型', 'model') },
          { name: say('用户/令牌', 'user/key'), priority: 1 },
          { name: say('渠道', 'channel'), priority: 4 },
          { name: say('用时', 'took'), right: true },
          { name: say('输入', 'in'), right: true, priority: 3 },
          { name: say('输出', 'out'), right: true, priority: 2 },
          { name: say('费用', 'cost'), right: true },
        ],
        cells: (key) => {
          const row = rows.get(key);
          if (row === undefined) return [];
          const who = [row.username, storedIn(row.token_name, language)].filter((one) => one !== '').join('/');
          return [
            ...[timeOf(row.created_at * 1000, data.at), resultOf(row, say), safeLine(row.model_name), safeLine(who)],
            ...[row.channel === 0 ? '' : safeLine(row.channel_name || `#${row.channel}`), duration(tookOf(row))],
            ...[counted(row.prompt_tokens), counted(row.completion_tokens)],
            row.quota === 0 ? '' : money.of(row.quota, 'exact'),
          ];
        },
        look: (key) => (rows.get(key)?.type === LogType.error ? 'bad' : 'plain'),
      };
    }
  }
}

/** Of another day its date too. */
const timeOf = (ms: number, now: number): string =>
  dayOf(ms) === dayOf(now) ? clock(ms) : `${dayOf(ms).slice('2026-'.length)} ${clock(ms).slice(0, 'hh:mm'.length)}`;

/** Percent; below it a row stands out. */
const badSuccess = 80;

/** What stands instead of the list when a row is opened. */
function details(painter: Painter, key: string): BoardLine[] {
  const { data, state, context, money } = painter;
  const { say, language } = context;
  const pair = (name: string, value: string): BoardLine => line(`  ${cell(name, 18)} ${safeLine(value)}`);
  const rates = (row: TopRow): BoardLine[] => [
    pair(
      say('最近一分钟', 'last minute'),
      say(
        `${row.minute.requests} 次，成功 ${percent(row.minute.success)}，p95 ${duration(row.minute.p95)}`,
        `${row.minute.requests} requests, ${percent(row.minute.success)} ok, p95 ${duration(row.minute.p95)}`,
      ),
    ),
    pair(
      say('最近一小时', 'last hour'),
      say(
        `每分钟 ${row.requests_per_minute} 次，成功 ${percent(row.success)}，p95 ${duration(row.p95)}，首字 ${duration(row.first_token)}`,
        `${row.requests_per_minute} a minute, ${percent(row.success)} ok, p95 ${duration(row.p95)}, first token ${duration(row.first_token)}`,
      ),
    ),
  ];
  if (state.view === 'channels') {
    const row = data.top.channels.find(({ id }) => String(id) === key);
    if (row === undefined) return [];
    return [
      line(` ${safeLine(row.name)}  #${row.id}  ${stateWord(row.state, say)}`, 'title'),
      ...(row.state === 'failing' ? [line(` ${failureLine(row, context)}`, 'bad')] : []),
      ...rates(row),
      pair(say('今日费用', 'charged today'), money.of(row.charged_today)),
      ...(row.balance_lasts_days === null
        ? []
        : [pair(say('余额可用', 'balance lasts'), `${row.balance_lasts_days} d`)]),
    ];
  }
  if (state.view === 'log') {
    const row = data.log.find(({ id }) => String(id) === key);
    if (row === undefined) return [];
    const said = safeLine(storedIn(row.content, language));
    return [
      line(` ${row.request_id}  ${resultOf(row, say)}`, 'title'),
      ...(said === '' ? [] : [line(` ${said}`, row.type === LogType.error ? 'bad' : 'plain')]),
      pair(say('时间', 'time'), new Date(row.created_at * 1000).toISOString()),
      pair(say('模型', 'model'), row.model_name),
      pair(say('用户', 'user'), `${row.username} / ${storedIn(row.token_name, language)}`),
      pair(say('渠道', 'channel'), row.channel === 0 ? '–' : `${row.channel_name} #${row.channel}`),
      pair(say('用时', 'took'), duration(tookOf(row))),
      pair('tokens', `${counted(row.prompt_tokens) || '0'} / ${counted(row.completion_tokens) || '0'}`),
      pair(say('费用', 'cost'), money.of(row.quota, 'exact')),
      line(''),
      line(`  gateway logs explain ${row.id}`, 'dim'),
    ];
  }
  const row: TopRow | undefined =
    state.view === 'models'
      ? data.top.models.find(({ name }) => name === key)
      : data.keys.find(({ id }) => String(id) === key);
  return row === undefined ? [] : [line(` ${safeLine(row.name)}`, 'title'), ...rates(row)];
}

/** Of the name in a line that has more to say. */
const maxNoteName = 24;

/** A line that is too long goes on below, further in. */
function wrapped({ text, look }: BoardLine, columns: number): BoardLine[] {
  const rows: BoardLine[] = [];
  let rest = text;
  while (Bun.stringWidth(rest) > columns) {
    const fits = shorten(rest, columns).slice(0, -1);
    const gap = fits.lastIndexOf(' ');
    const cut = gap > columns / 2 ? gap : fits.length;
    rows.push(line(rest.slice(0, cut), look));
    rest = `    ${rest.slice(cut).trimStart()}`;
  }
  return [...rows, line(rest, look)];
}

const helpLines = ({ say }: Pick<Context, 'say'>): readonly BoardLine[] =>
  [
    ['1 2 3 4  Tab', say('渠道、模型、令牌、日志', 'channels, models, keys, log')],
    ['↑ ↓  j k', say('选择；PgUp、PgDn、g、G 翻页', 'select; PgUp, PgDn, g, G by pages')],
    ['Enter  Esc', say('打开所选行，返回', 'open the selected row, go back')],
    ['/', say('过滤，Esc 清除', 'filter; Esc clears it')],
    ['t', say('测试所选渠道', 'test the selected channel')],
    ['d  e', say('禁用、启用所选渠道或令牌', 'disable or enable the selected channel or key')],
    ['c', say('修改所选渠道或令牌：priority=5', 'change the selected channel or key: priority=5')],
    ['o', say('在控制台中的地址', 'its address in the console')],
    ['space', say('暂停', 'pause')],
    ['?  q', say('本帮助，退出', 'this help, quit')],
  ]
    .map(([keys = '', words = '']) => line(`  ${cell(keys, 16)} ${words}`))
    .concat(line(`  ${resultLegend(say)}`, 'dim'));

/** Lines above the list and below it. */
const headLines = 5;
const footLines = 2;

/** @returns as many lines as there is room for, less one: a terminal that is full to its last cell scrolls. */
export function boardLines(painter: Painter): BoardLine[] {
  const { data, state, room, context } = painter;
  const { say } = context;
  const live = !data.served
    ? say('服务未运行：gateway serve', 'no server is running: gateway serve')
    : state.paused
      ? say('已暂停', 'paused')
      : say('实时', 'live');
  const head = [
    line(
      ends(`gateway  ${safeLine(data.site)}  ${safeLine(data.place)}`, `${live}  ${clock(data.at)}`, room.columns),
      data.served ? 'title' : 'warn',
    ),
    ...figures(painter),
    line('', 'plain'),
    tabs(painter),
  ];
  const height = Math.max(1, room.rows - 1 - headLines - footLines);
  const listed = state.help ? helpLines(context) : bodyOf(painter, height);
  const body = [...listed, ...latest(painter, height - listed.length)];
  const changed = state.change === null ? '' : say(`修改 ${state.change}_`, `change ${state.change}_`);
  const foot = [changed, state.message].filter((words) => words !== '').join('  · ');
  const keys = keysOf(painter);
  return [
    ...head,
    ...Array.from({ length: height }, (_, at) => body[at] ?? line('')),
    line(shorten(foot, room.columns), foot === '' ? 'plain' : 'warn'),
    line(shorten(keys, room.columns), 'dim'),
  ];
}

function keysOf(painter: Painter): string {
  const { state, room, context } = painter;
  const { say } = context;
  if (state.typing) return say('Enter 应用  Esc 清除', 'Enter applies  Esc clears');
  if (state.change !== null) return say('Enter 应用  Esc 取消', 'Enter applies  Esc cancels');
  if (state.help) return say('Esc 返回  q 退出', 'Esc back  q quit');
  const [first, last] = state.opened
    ? [say('Esc 返回', 'Esc back'), say('q 退出', 'q quit')]
    : [say('↑↓  Enter 打开', '↑↓  Enter open'), say('/ 过滤  ? 帮助  q 退出', '/ filter  ? help  q quit')];
  const actions = [...actionKeys(painter)];
  const all = (): string => [first, ...actions, last].join('  ');
  // In a narrow window the way out stays; the help has the others.
  while (actions.length > 0 && Bun.stringWidth(all()) > room.columns) actions.pop();
  return all();
}

/** What the selected row can be asked for, besides being opened. */
function actionKeys({ data, state, context: { say } }: Painter): readonly string[] {
  const items = itemsOf(data, state);
  const key = items[placeOf(items, state.selected)]?.key;
  if (key === undefined) return [];
  const [off, change, address] = [say('d 禁用', 'd disable'), say('c 修改', 'c change'), say('o 链接', 'o link')];
  if (state.view === 'keys') return [off, change, address];
  if (state.view !== 'channels') return [address];
  const isOff = data.top.channels.find(({ id }) => String(id) === key)?.state === 'disabled';
  return [say('t 测试', 't test'), isOff ? say('e 启用', 'e enable') : off, change, address];
}

/** The rows of the log that an opened channel, model or key has. */
function ownRows({ data, state }: Painter): ReadonlySet<string> {
  const items = itemsOf(data, state);
  const key = items[placeOf(items, state.selected)]?.key ?? '';
  const named = data.keys.find(({ id }) => String(id) === key);
  const isOwn = (row: Log): boolean =>
    state.view === 'channels'
      ? String(row.channel) === key
      : state.view === 'models'
        ? row.model_name === key
        : row.token_name === named?.name && row.username === named?.user;
  return new Set(data.log.filter(isOwn).map(({ id }) => String(id)));
}

/** Lines that make it worth it: a gap, a heading and a few rows. */
const minLatest = 5;

/** What is left below a short list, or below an opened row, shows the newest rows of the log: of the opened row its own. */
function latest(painter: Painter, height: number): readonly BoardLine[] {
  const { data, state, room } = painter;
  if (height < minLatest || state.view === 'log' || state.help || (state.filter !== '' && !state.opened)) return [];
  const ofLog: Painter = { ...painter, state: { ...state, view: 'log', filter: '' } };
  const own = state.opened ? ownRows(painter) : null;
  const items = itemsOf(data, ofLog.state)
    .filter(({ key }) => own === null || own.has(key))
    .slice(0, height - 2);
  if (items.length === 0) return [];
  const { columns, cells, look } = listOf(ofLog);
  const rows = items.map(({ key }) => cells(key));
  const [head = '', ...texts] = table(columns, rows, { maxWidth: room.columns - 2, header: true, color: false });
  return [
    line(''),
    line(`  ${head}`, 'heading'),
    ...texts.map((text, at) => line(`  ${text}`, look(items[at]?.key ?? '') === 'bad' ? 'bad' : 'dim')),
  ];
}

function bodyOf(painter: Painter, height: number): readonly BoardLine[] {
  const { data, state, room, context } = painter;
  const { say } = context;
  const items = itemsOf(data, state);
  const place = placeOf(items, state.selected);
  const key = items[place]?.key ?? '';
  if (items.length === 0) {
    const none: Readonly<Record<BoardView, string>> = {
      channels: say('还没有渠道：gateway channel add', 'no channels yet: gateway channel add'),
      models: say('过去一小时没有请求', 'no requests in the last hour'),
      keys: say('过去一小时没有请求', 'no requests in the last hour'),
      log: say('还没有日志', 'nothing in the log yet'),
    };
    return [
      line(
        `  ${state.filter === '' ? none[state.view] : say(`没有匹配“${state.filter}”的行`, `nothing matches “${state.filter}”`)}`,
        'dim',
      ),
    ];
  }
  if (state.opened) return details(painter, key).flatMap((one) => wrapped(one, room.columns));
  const { columns, cells, look } = listOf(painter);
  // The heading, and below a failing channel what its upstream says.
  const failing = state.view === 'channels' ? data.top.channels.find(({ id }) => String(id) === key) : undefined;
  const note =
    failing?.state === 'failing'
      ? [
          line(
            shorten(
              `  ${failureLine({ ...failing, name: shorten(failing.name, maxNoteName) }, context)}`,
              room.columns,
            ),
            'bad',
          ),
        ]
      : [];
  const visible = Math.max(1, height - 1 - note.length);
  const from = Math.max(0, Math.min(place - Math.floor(visible / 2), items.length - visible));
  const shown = items.slice(from, from + visible);
  // Over all rows, whatever is shown of them: columns stay where they are while one scrolls and filters.
  const all = itemsOf(data, { ...state, filter: '' });
  const [head = '', ...texts] = table(
    columns,
    all.map((item) => cells(item.key)),
    { maxWidth: room.columns - 2, header: true, color: false },
  );
  const textOf = new Map(all.map((item, at) => [item.key, texts[at] ?? '']));
  return [
    line(`  ${head}`, 'heading'),
    ...shown.map(({ key: item }) => {
      const isSelected = item === key;
      const mark = isSelected ? (room.unicode ? '▸' : '>') : ' ';
      return line(`${mark} ${textOf.get(item) ?? ''}`, isSelected ? 'selected' : look(item));
    }),
    ...note,
  ];
}
