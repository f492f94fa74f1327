/** How a request ended, in lists and beside one row. */
import type { TFunction } from 'i18next';
import type { Log } from '../../server/contract/entities.ts';
import { statusOf } from '../../server/contract/log-status.ts';
import { codeOf, detailsOf } from '../lib/log-details.ts';

const classes = {
  succeeded: 'status',
  retried: 'status status-wait',
  failed: 'status status-bad',
  refused: 'status status-off',
  client_left: 'status status-off',
  stopped: 'status status-bad',
  event: 'text-ink-2',
} as const;

/** How a request ended: a shape and words. */
export function LogStatusMark({ log, t }: { readonly log: Log; readonly t: TFunction }) {
  const status = statusOf(log);
  const code = codeOf(detailsOf(log));
  const words =
    status === 'event'
      ? t(`logs.t${log.type as 0 | 1 | 3 | 4}`)
      : (status === 'refused' || status === 'failed') && code !== ''
        ? `${code} ${t(`logs.status.${status}`).toLowerCase()}`
        : t(`logs.status.${status}`);
  return <span className={`${classes[status]} text-[12px]`}>{words}</span>;
}
