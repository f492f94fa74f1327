/** What the address says of the rows that are wanted. */
import type { Url } from '../../lib/url.ts';
import type { LogFilters } from './use-logs.ts';

const secondsOf = (text: string): number => (text === '' ? 0 : Math.floor(new Date(text).getTime() / 1000) || 0);

export const filtersIn = (url: Url, admin: boolean): LogFilters => ({
  type: Number(url.get('type')) || 0,
  model_name: url.get('model'),
  token_name: url.get('token'),
  group: url.get('group'),
  request_id: url.get('request'),
  start_timestamp: secondsOf(url.get('from')),
  end_timestamp: secondsOf(url.get('to')),
  ...(admin ? { username: url.get('user'), channel: Number(url.get('channel')) || 0 } : {}),
});
