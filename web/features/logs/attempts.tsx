/** The route a request took: each channel that was asked, what it said, how long that took. */
import { useTranslation } from 'react-i18next';
import type { Log } from '../../../server/contract/entities.ts';
import { storedIn } from '../../../server/contract/stored-texts.ts';
import { timeText } from '../../lib/format.ts';
import { currentLanguage } from '../../lib/i18n.ts';

interface Attempt {
  readonly channel: number;
  readonly name: string;
  /** Absent = it answered. */
  readonly reason?: string;
  readonly status?: number | null;
  readonly ms?: number;
  readonly message?: string;
}

/** @param info `admin_info` of the row; ids alone where nothing failed or the row is an old one. */
function attemptsIn(log: Log, info: unknown): readonly Attempt[] {
  const { attempts, use_channel: ids } = (info ?? {}) as { attempts?: Attempt[]; use_channel?: string[] };
  return (
    attempts ??
    (ids ?? []).map((id) => ({ channel: Number(id), name: Number(id) === log.channel ? log.channel_name : '' }))
  );
}

export function Attempts({ log, info }: { readonly log: Log; readonly info: unknown }) {
  const { t } = useTranslation();
  const attempts = attemptsIn(log, info);
  if (attempts.length === 0) return null;
  // What stands above as the error of the request is not repeated, but for the status before it.
  const said = log.type === 5 ? storedIn(log.content, currentLanguage()) : '';
  const isSaid = (message: string): boolean => said !== '' && message.replace(/^\d+\s+/, '') === said;
  const hasReasons = attempts.some(({ reason }) => reason !== undefined);
  return (
    <section className="mb-6">
      <h2 className="mb-2 font-semibold">{t('logs.attempts')}</h2>
      <ol>
        {attempts.map(({ channel, name, reason, status, ms, message }, index) => {
          const failed = hasReasons ? reason !== undefined : index < attempts.length - 1 || log.type === 5;
          return (
            <li
              // biome-ignore lint/suspicious/noArrayIndexKey: a channel may be tried twice, and the order never changes
              key={`${index}-${channel}`}
              className={`border-l-2 pb-2 pl-3 ${failed ? 'border-danger' : 'border-success'}`}
            >
              <div className="flex flex-wrap items-baseline gap-x-2">
                <span className="font-medium">
                  {name} <span className="text-[12px] font-normal text-ink-3">#{channel}</span>
                </span>
                <span className={failed ? 'text-danger' : 'text-success'}>
                  {failed ? t('logs.failedWith') : t('logs.answered')}
                </span>
                <span className="text-[12px] text-ink-3">
                  {[
                    status ? `HTTP ${status}` : '',
                    reason === undefined || reason === 'status' ? '' : t(`logs.reason.${reason as 'timeout'}`),
                    ms === undefined ? '' : timeText(ms),
                  ]
                    .filter((part) => part !== '')
                    .join(' · ')}
                </span>
              </div>
              {message && !isSaid(message) ? <p className="text-[12px] break-words text-ink-2">{message}</p> : null}
            </li>
          );
        })}
      </ol>
    </section>
  );
}
