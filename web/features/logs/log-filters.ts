/** What the address says of the rows that are wanted. */
import type { TFunction } from 'i18next';
import { errorStatuses, type LogFacet, type LogStatus, logStatuses } from '../../../server/contract/log-status.ts';
import { nameKinds } from '../../../server/contract/names.ts';
import type { Filter } from '../../components/filter-bar.tsx';
import { rangeIn } from '../../lib/range.ts';
import type { Url } from '../../lib/url.ts';
import type { Counts } from './use-counts.ts';
import type { LogFilters } from './use-logs.ts';

/** What the log shows where its address names no range. */
export const defaultRange = '24h';

/** `=` and a name means exactly this model, else a part of its name; `%` is passed on as it is typed. */
const modelIn = (text: string): string =>
  text.startsWith('=') ? text.slice(1) : text === '' || text.includes('%') ? text : `%${text}%`;

/** A channel is looked for by its id or by a part of its name. */
const channelOf = (text: string): Pick<LogFilters, 'channel' | 'channel_name'> =>
  /^\d{1,15}$/.test(text) ? { channel: Number(text) } : { channel_name: text };

export const statusesIn = (text: string): LogStatus[] => {
  const names = text.split(',');
  return logStatuses.filter((status) => names.includes(status));
};

export function filtersIn(url: Pick<Url, 'get'>, admin: boolean): LogFilters {
  const request = url.get('request').trim();
  // A request has its own moment: no range may hide it.
  const { from, to } = request === '' ? rangeIn(url.get, defaultRange) : { from: 0, to: 0 };
  return {
    type: Number(url.get('type')) || 0,
    status: statusesIn(url.get('status')),
    error: url.get('error'),
    model_name: modelIn(url.get('model').trim()),
    token_name: url.get('token'),
    ...(url.get('label') === '' ? {} : { label: url.get('label') }),
    group: url.get('group'),
    request_id: request,
    ...namesIn(url.get),
    start_timestamp: from,
    // The log is asked for its last second, too.
    end_timestamp: to === 0 ? 0 : to - 1,
    ...(admin ? { username: url.get('user'), ...channelOf(url.get('channel').trim()) } : {}),
  };
}

/** Of those that are named: each makes the list ask for what has it. */
const namesIn = (get: Url['get']): Pick<LogFilters, (typeof nameKinds)[number]> =>
  Object.fromEntries(nameKinds.flatMap((kind) => (get(kind) === '' ? [] : [[kind, get(kind)]])));

/** Nothing can lie between the two times. */
export const isBackwards = ({ start_timestamp: from, end_timestamp: to }: LogFilters): boolean =>
  from !== 0 && to !== 0 && from > to;

/** What the rows are narrowed by, and what that is called in `logs`. */
export const filterLabels = [
  ['status', 'ended'],
  ['error', 'error'],
  ['model', 'model'],
  ['user', 'user'],
  ['token', 'token'],
  ['label', 'names.label'],
  ['channel', 'channel'],
  ['group', 'group'],
  ['type', 'type'],
  ['request', 'requestId'],
  ['agent', 'names.agent'],
  ['session', 'names.session'],
  ['project', 'names.project'],
  ['end_user', 'names.end_user'],
  ['subagent', 'names.subagent'],
  ['prompt', 'names.prompt'],
] as const;

/** How a value that was counted stands in the address. */
export const addressOf = (by: LogFacet, value: string): string => (by === 'model' ? `=${value}` : value);

/** What went wrong in words: a reason with the status that came with it, or the site's own code. */
export function errorText(t: TFunction, error: string): string {
  const [, reason = error, status] = /^([a-z]+) (\d{3})$/.exec(error) ?? [];
  const words = t(`logs.reason.${reason as 'timeout'}`, { defaultValue: reason });
  return status === undefined ? words : t('logs.reasonStatus', { reason: words, status });
}

/** What a value is called. */
export function nameOf(t: TFunction, by: LogFacet, { value, name }: { readonly value: string; readonly name: string }) {
  if (by === 'status') return t(`logs.status.${value as LogStatus}`);
  if (by === 'error') return errorText(t, value);
  return by === 'channel' ? name || `#${value}` : value;
}

const errors = errorStatuses.join();
const kinds = [1, 2, 3, 4, 5] as const;

/** Several outcomes side by side. */
const statusWords = (t: TFunction, value: string): string =>
  value === errors
    ? t('logs.allErrors')
    : statusesIn(value)
        .map((status) => t(`logs.status.${status}`))
        .join(' · ');

export interface FilterOptions {
  readonly t: TFunction;
  readonly admin: boolean;
  readonly counts: Counts | undefined;
  readonly get: Url['get'];
}

/** The chips; what was counted is offered for each. */
export function logFilterBar({ t, admin, counts, get }: FilterOptions): readonly Filter[] {
  const counted = (by: LogFacet): (readonly [string, string])[] => {
    const values = counts?.facets.find((one) => one.by === by)?.values ?? [];
    const options = values.map((one) => [addressOf(by, one.value), nameOf(t, by, one)] as const);
    const now = get(by);
    const known = options.some(([value]) => value === now);
    return now === '' || known || by === 'channel' ? options : [...options, [now, now.replace(/^=/, '')]];
  };
  const statuses: (readonly [string, string])[] = [
    ...[...logStatuses.filter((status) => admin || status !== 'retried'), errors, 'failed,retried'],
    ...(get('status').includes(',') ? [get('status')] : []),
  ]
    .filter((value, at, all) => all.indexOf(value) === at && (admin || !value.includes('retried')))
    .map((value) => [value, statusWords(t, value)]);
  const options: Readonly<Record<(typeof filterLabels)[number][0], Pick<Filter, 'options' | 'free'>>> = {
    status: { options: statuses },
    error: { options: counted('error'), free: true },
    model: { options: counted('model'), free: true },
    user: { options: counted('user'), free: true },
    token: { options: counted('token'), free: true },
    label: {},
    channel: { options: counted('channel'), free: true },
    group: { options: counted('group'), free: true },
    type: { options: [['0', t('logs.all')], ...kinds.map((kind) => [String(kind), t(`logs.t${kind}`)] as const)] },
    request: {},
    agent: {},
    session: {},
    project: {},
    end_user: {},
    subagent: {},
    prompt: {},
  };
  return filterLabels
    .filter(([name]) => admin || (name !== 'user' && name !== 'channel'))
    .map(([name, label]) => ({ name, label: t(`logs.${label}`), ...options[name] }));
}
