/** What a request spent its time on, as far as its row says: attempts that failed, waiting, the stream. */
import { useTranslation } from 'react-i18next';
import type { Log } from '../../../server/contract/entities.ts';
import { timeText } from '../../lib/format.ts';
import { firstTokenOf, type LogDetails, type Span, spansOf } from '../../lib/log-details.ts';

const classes: Readonly<Record<Span['kind'], string>> = {
  failed: 'bg-danger-solid',
  wait: 'bg-line-control',
  stream: 'bg-(--data-1)',
};

export function Timeline({ log, details }: { readonly log: Log; readonly details: LogDetails }) {
  const { t } = useTranslation();
  const spans = spansOf(log, details);
  if (spans.length === 0) return null;
  const waiting = firstTokenOf(log, details) === null ? t('logs.untilResponse') : t('logs.untilFirst');
  const nameOf = ({ kind, name }: Span): string =>
    kind === 'stream'
      ? t('logs.streaming')
      : kind === 'wait'
        ? waiting
        : name === ''
          ? t('logs.failedAttempt')
          : t('logs.failedAt', { name });
  return (
    <section className="mb-5">
      <h2 className="mb-2 font-semibold">{t('logs.timeSpent')}</h2>
      <div className="mb-1.5 flex h-1.5 gap-px" aria-hidden="true">
        {spans.map((span, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: their order never changes
          <i key={at} className={`min-w-0.5 ${classes[span.kind]}`} style={{ flex: `${span.ms} 0 0` }} />
        ))}
      </div>
      <ul className="flex flex-wrap gap-x-4 text-[12px] text-ink-2">
        {spans.map((span, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: their order never changes
          <li key={at} className="flex items-center gap-1.5">
            <i className={`size-2 ${classes[span.kind]}`} aria-hidden="true" />
            {nameOf(span)} {timeText(span.ms)}
          </li>
        ))}
      </ul>
    </section>
  );
}
