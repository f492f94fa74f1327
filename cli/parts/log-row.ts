/** A row of the log in the words of the terminal: when, how it ended, how long it took. The same in the board and in the tail. */
import type { Log } from '../../server/contract/entities.ts';
import { LogType } from '../../server/contract/enum.ts';
import { statusOf } from '../../server/contract/log-status.ts';
import type { Context } from '../context.ts';

/** The time of day, in the zone of the terminal. */
export function clock(ms: number): string {
  const at = new Date(ms);
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':');
}

/** The day, in the zone of the terminal. */
export function dayOf(ms: number): string {
  const at = new Date(ms);
  return [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((part) => String(part).padStart(2, '0')).join('-');
}

/** In one short word; `statusOf` decides, as it does for the console. */
export function resultOf(row: Pick<Log, 'type' | 'end_reason' | 'other'>, say: Context['say']): string {
  const status = statusOf(row);
  switch (status) {
    case 'refused':
      return say('拒绝', 'refused');
    case 'failed':
      return say('失败', 'failed');
    case 'client_left':
      return say('断开', 'left');
    case 'stopped':
      return say('停止', 'stopped');
    case 'event':
      return eventOf(row.type, say);
    default:
      if (row.end_reason === 'quota_cut' || row.end_reason === 'word_cut') return say('中断', 'cut off');
      return status === 'retried' ? say('重试', 'retried') : say('成功', 'ok');
  }
}

function eventOf(type: number, say: Context['say']): string {
  if (type === LogType.topup) return say('充值', 'top-up');
  if (type === LogType.manage) return say('管理', 'manage');
  if (type === LogType.system) return say('系统', 'system');
  return say('其他', 'other');
}

/** Words of results that do not explain themselves, for a legend. */
export const resultLegend = (say: Context['say']): string =>
  say(
    '拒绝 = 未转发，断开 = 客户端离开，中断 = 预算或敏感词截断',
    'refused = not sent on, left = client went away, cut off = budget or word',
  );

/** Milliseconds that a request took; null = it never began. Older rows know whole seconds alone. */
export function tookOf({ other, use_time: seconds }: Pick<Log, 'other' | 'use_time'>): number | null {
  const exact = /"ms":(\d+)/.exec(other)?.[1];
  if (exact !== undefined && exact !== '0') return Number(exact);
  return seconds === 0 ? null : seconds * 1000;
}

/** Nothing is left blank. */
export const counted = (value: number): string => (value === 0 ? '' : value.toLocaleString('en-US'));
