/** What `gateway top` shows: how channels and models do in the last minute and the last hour, as facts and as lines. */

import type { OutputOf } from '../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../server/contract/endpoints/index.ts';
import { safeLine } from '../../server/contract/safe-text.ts';
import type { ChannelState } from '../../server/contract/traffic.ts';
import type { Context } from '../context.ts';
import { type TableColumn, table } from '../table.ts';
import { clock } from './log-row.ts';
import type { Money } from './money.ts';

interface Minute {
  /** Requests a minute; of channels attempts. */
  readonly requests: number;
  /** Percent; null = there were none. */
  readonly success: number | null;
  /** Milliseconds. */
  readonly first_token: number | null;
  readonly p95: number | null;
  readonly tokens_per_second: number | null;
}

/** All but `minute` are of the last hour. */
export interface TopRow {
  readonly name: string;
  readonly minute: Minute;
  readonly requests_per_minute: number;
  /** Percent; null = there were none. */
  readonly success: number | null;
  /** Milliseconds. */
  readonly first_token: number | null;
  readonly p95: number | null;
  readonly tokens_per_second: number | null;
}

export interface TopChannel extends TopRow {
  readonly id: number;
  readonly state: ChannelState;
  readonly since: number;
  readonly failed: number;
  readonly saved: number;
  readonly saved_by: readonly { readonly name: string; readonly requests: number }[];
  readonly words: string;
  readonly charged_today: number;
  readonly balance_lasts_days: number | null;
}

export interface TopModel extends TopRow {
  readonly charged: number;
}

export interface Top {
  readonly channels: readonly TopChannel[];
  readonly models: readonly TopModel[];
}

type Recent = OutputOf<EndpointOf<'traffic.now'>>;

const quietMinute: Minute = { requests: 0, success: null, first_token: null, p95: null, tokens_per_second: null };

export const perMinute = (count: number): number => Math.round((count / 60) * 10) / 10;
export const percent = (good: number, all: number): number | null =>
  all === 0 ? null : Math.round((good / all) * 1000) / 10;
/** Of the last minute, scaled to one where fewer seconds are known. */
export function minuteOf(figures: Recent['total'] | undefined, seconds: number): Minute {
  if (figures === undefined) return quietMinute;
  const { count, failed, first_token, p95, tokens_per_second } = figures;
  return {
    ...{ first_token, p95, tokens_per_second },
    requests: Math.round((count * 600) / seconds) / 10,
    success: percent(count - failed, count),
  };
}

/** The same hour with a newer minute. */
export function withMinute(top: Top, { seconds, channels, models }: Recent): Top {
  const byChannel = new Map(channels.map((one) => [one.id, one]));
  const byModel = new Map(models.map((one) => [one.name, one]));
  const known = new Set(top.models.map(({ name }) => name));
  const rows = top.channels.map((row): TopChannel => {
    const minute = minuteOf(byChannel.get(row.id), seconds);
    return { ...row, minute, state: stateNow(row.state, minute) };
  });
  return {
    channels: rows.toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state)),
    models: [
      ...top.models.map((row) => ({ ...row, minute: minuteOf(byModel.get(row.name), seconds) })),
      // So new that the hour does not have them yet.
      ...models
        .filter(({ name }) => name !== '' && !known.has(name))
        .map((one) => ({ ...newRow(one, seconds), name: one.name, charged: one.charge })),
    ],
  };
}

/** Fewer failures are not shown. */
const minFailing = 3;

/** Windows of traffic come a little later than what the minute shows. */
function stateNow(state: ChannelState, { requests, success }: Minute): ChannelState {
  if (state === 'disabled' || state === 'failing') return state;
  if (requests >= minFailing && success !== null && success < 50) return 'failing';
  return requests > 0 && state === 'idle' ? 'serving' : state;
}

/** Of what the hour does not have yet. */
export const newRow = (figures: Recent['total'], seconds: number): Omit<TopRow, 'name'> => ({
  minute: minuteOf(figures, seconds),
  requests_per_minute: perMinute(figures.count),
  success: percent(figures.count - figures.failed, figures.count),
  first_token: figures.first_token,
  p95: figures.p95,
  tokens_per_second: figures.tokens_per_second,
});

/** Rows that need an operator come first. */
const order: readonly ChannelState[] = ['failing', 'slow', 'serving', 'standby', 'idle', 'disabled'];

export const topOf = async (context: Context): Promise<Top> => (await topNow(context)).top;

/** With what it was made of: the last minute of the whole site. */
export async function topNow(context: Context): Promise<{ readonly top: Top; readonly recent: Recent }> {
  const client = await context.client();
  const range = { range: '1h', points: false, limit: 1000 } as const;
  const [states, channels, models, recent] = await Promise.all([
    client.call('traffic.channels'),
    client.call('traffic.all', { ...range, by: 'channel' }),
    client.call('traffic.all', { ...range, by: 'model' }),
    client.call('traffic.now'),
  ]);
  const { seconds } = recent;
  const minutes = new Map(recent.channels.map((one) => [one.id, one]));
  const ofModel = new Map(recent.models.map((one) => [one.name, one]));
  const traffic = new Map(channels.series.map(({ id, total }) => [id, total]));
  const rows = states.map(({ requests_per_minute, ...state }): TopChannel => {
    const total = traffic.get(state.id);
    return {
      ...state,
      minute: minuteOf(minutes.get(state.id), seconds),
      requests_per_minute,
      success: total === undefined ? null : percent(total.attempts - total.failed, total.attempts),
      first_token: total?.first_token.p50 ?? null,
      p95: total?.latency.p95 ?? null,
      tokens_per_second: total?.tokens_per_second ?? null,
    };
  });
  const top: Top = {
    channels: rows.toSorted(
      (a, b) =>
        order.indexOf(a.state) - order.indexOf(b.state) ||
        b.minute.requests - a.minute.requests ||
        b.requests_per_minute - a.requests_per_minute ||
        a.name.localeCompare(b.name),
    ),
    models: models.series.map(({ name, total }) => ({
      name,
      minute: minuteOf(ofModel.get(name), seconds),
      requests_per_minute: perMinute(total.requests),
      success: percent(total.requests - total.errors, total.requests),
      first_token: total.first_token.p50,
      p95: total.latency.p95,
      tokens_per_second: total.tokens_per_second,
      charged: total.charge,
    })),
  };
  return { top, recent };
}

/** The site's last minute as people read it, scaled to one where fewer seconds are known. */
export function minuteTexts({ total, seconds }: Pick<Recent, 'total' | 'seconds'>, money: Money) {
  const { requests, success, p95 } = minuteOf(total, seconds);
  return {
    requests: String(requests),
    failed: success === null ? '–' : `${Math.round((100 - success) * 10) / 10}%`,
    p95: duration(p95),
    spend: money.of(Math.round((total.charge * 60) / seconds), 'short'),
  };
}

/** Whose figures these are, and the site's last minute. */
export function topHead(
  {
    recent,
    site,
    place,
    at,
  }: { readonly recent: Recent; readonly site: string; readonly place: string; readonly at: number },
  { say }: Pick<Context, 'say'>,
  money: Money,
): string[] {
  const { requests, failed, p95, spend } = minuteTexts(recent, money);
  return [
    `${safeLine(site)}  ${safeLine(place)}  ${clock(at)}`,
    say(
      `最近一分钟：请求 ${requests}，失败 ${failed}，拒绝 ${recent.refused}，P95 ${p95}，费用 ${spend}`,
      `last minute: ${requests} requests, ${failed} failed, ${recent.refused} refused, P95 ${p95}, ${spend} spent`,
    ),
    '',
  ];
}

type Failing = Pick<TopChannel, 'name' | 'since' | 'failed' | 'saved' | 'saved_by' | 'words'>;

/** Who fails since when, in the upstream's words, and who served in its place. */
export function failureLine(channel: Failing, { say }: Pick<Context, 'say'>): string {
  const { name, since, failed, saved, saved_by: by, words } = channel;
  const when = since === 0 ? '' : new Date(since * 1000).toISOString().slice(0, 16).replace('T', ' ');
  const who = by.map((one) => one.name).join(', ');
  // Seen in the last minute alone: more is not known yet.
  if (failed === 0)
    return safeLine(say(`${name}：最近一分钟的请求失败`, `${name}: requests of the last minute failed`));
  const rescue =
    saved === 0
      ? say('无其他渠道代为完成', 'no other channel served them')
      : say(`${saved} 次由 ${who} 完成`, `${saved} served by ${who}`);
  return safeLine(
    say(
      `${name}：自 ${when} UTC 起失败 ${failed} 次，${rescue}：${words}`,
      `${name}: ${failed} failed since ${when} UTC, ${rescue}: ${words}`,
    ),
  );
}

const chinese: Readonly<Record<ChannelState, string>> = {
  serving: '正常',
  slow: '缓慢',
  failing: '失败',
  standby: '备用',
  idle: '空闲',
  disabled: '已禁用',
};

export const stateWord = (state: ChannelState, say: Context['say']): string => say(chinese[state], state);

/** Two digits of seconds while they say something; what is short in milliseconds. */
export const duration = (ms: number | null): string =>
  ms === null ? '–' : ms < 1000 ? `${Math.round(ms)}ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)}s`;
/** A longer forecast says nothing. */
const maxDays = 365;
const formatNumber = (value: number | null, unit = ''): string => (value === null ? '–' : `${value}${unit}`);

/** @param room cells of a line. @param mark the shape before the word of a state. */
export function topLines(
  top: Top,
  context: Context,
  money: Money,
  room: number,
  mark: (state: ChannelState) => string = () => '',
): string[] {
  const { say } = context;
  if (top.channels.length === 0)
    return [say('还没有渠道：gateway channel add', 'no channels yet: gateway channel add')];
  // The last minute stands first: in an incident the hour is too late. 1m and 1h say over what.
  const shared: readonly TableColumn[] = [
    { name: say('请求 1m', 'req 1m'), right: true },
    { name: say('成功 1m', 'ok 1m'), right: true },
    { name: 'p95 1m', right: true },
    { name: say('次/分 1h', 'rpm 1h'), right: true, priority: 3 },
    { name: say('成功 1h', 'ok 1h'), right: true },
    { name: 'p95 1h', right: true, priority: 2 },
    { name: say('首字 1h', 'TTFT 1h'), right: true, priority: 4 },
    { name: 'tok/s 1h', right: true, priority: 5 },
  ];
  const cells = (row: TopRow): string[] => [
    String(row.minute.requests),
    formatNumber(row.minute.success, '%'),
    duration(row.minute.p95),
    String(row.requests_per_minute),
    formatNumber(row.success, '%'),
    duration(row.p95),
    duration(row.first_token),
    formatNumber(row.tokens_per_second),
  ];
  const today = money.column('', (row: TopChannel) => row.charged_today);
  const spend = money.column('', (row: TopModel) => row.charged);
  const look = { maxWidth: room, header: true, color: false };
  const channels = table(
    [
      { name: say('渠道', 'channel') },
      { name: say('状态', 'state') },
      ...shared,
      { name: say('今日', 'today'), right: true },
      { name: say('余额可用', 'lasts'), right: true, priority: 6 },
    ],
    top.channels.map((row) => [
      safeLine(row.name),
      `${mark(row.state)} ${stateWord(row.state, say)}`.trimStart(),
      ...cells(row),
      today.value(row, top.channels),
      row.balance_lasts_days !== null && row.balance_lasts_days > maxDays
        ? say('超过一年', '> 1 year')
        : formatNumber(row.balance_lasts_days, ' d'),
    ]),
    look,
  );
  const models = table(
    [{ name: say('模型', 'model') }, ...shared, { name: say('费用 1h', 'spend 1h'), right: true }],
    top.models.map((row) => [safeLine(row.name), ...cells(row), spend.value(row, top.models)]),
    look,
  );
  const failing = top.channels.filter(({ state }) => state === 'failing').map((one) => failureLine(one, context));
  const quiet = say('过去一小时没有请求', 'no requests in the last hour');
  return [...channels, ...failing, '', ...(top.models.length === 0 ? [quiet] : models)];
}
