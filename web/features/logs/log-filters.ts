/** What the address says of the rows that are wanted. */
import { rangeIn } from '../../lib/range.ts';
import type { Url } from '../../lib/url.ts';
import type { LogFilters } from './use-logs.ts';

/** A part of a name; somebody who knows of `%` says where it stands. */
const partOf = (model: string): string => (model === '' || model.includes('%') ? model : `%${model}%`);

/** A channel is looked for by its id or by a part of its name. */
const channelOf = (text: string): Pick<LogFilters, 'channel' | 'channel_name'> =>
  /^\d{1,15}$/.test(text) ? { channel: Number(text) } : { channel_name: text };

export function filtersIn(url: Pick<Url, 'get'>, admin: boolean): LogFilters {
  const { from, to } = rangeIn(url.get, 'all');
  return {
    type: Number(url.get('type')) || 0,
    model_name: partOf(url.get('model').trim()),
    token_name: url.get('token'),
    group: url.get('group'),
    request_id: url.get('request'),
    start_timestamp: from,
    end_timestamp: to,
    ...(admin ? { username: url.get('user'), ...channelOf(url.get('channel').trim()) } : {}),
  };
}

/** Nothing can lie between the two times. */
export const isBackwards = ({ start_timestamp: from, end_timestamp: to }: LogFilters): boolean =>
  from !== 0 && to !== 0 && from > to;

/** What the rows are narrowed by, and what that is called in `logs`. */
export const narrowedBy = [
  ['model', 'model'],
  ['token', 'token'],
  ['user', 'user'],
  ['channel', 'channel'],
  ['group', 'group'],
  ['request', 'requestId'],
] as const;
