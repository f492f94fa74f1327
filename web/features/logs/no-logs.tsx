/** The log shows nothing: nothing passes the filters, or nothing has happened yet. */
import { useTranslation } from 'react-i18next';
import { Link, useLocation } from 'wouter';
import { Empty } from '../../components/empty.tsx';
import type { Url } from '../../lib/url.ts';
import { filterLabels } from './log-filters.ts';

export interface NoLogsProps {
  /** By a filter or by a range. */
  readonly filtered: boolean;
  /** By a filter. */
  readonly narrowed: boolean;
  readonly url: Url;
  /** The end lies before the beginning. */
  readonly backwards: boolean;
}

export function NoLogs({ filtered, narrowed, url, backwards }: NoLogsProps) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const by = narrowed ? filterLabels.filter(([name]) => url.get(name) !== '') : [];
  const text = backwards
    ? t('logs.backwards')
    : t('logs.noneOf', {
        filters: by.map(([name, label]) => `${t(`logs.${label}`)} “${url.get(name)}”`).join(' · '),
      });
  if (filtered && by.length === 0 && !backwards)
    return (
      <Empty text={t('logs.noneInTime')}>
        <span className="flex flex-wrap gap-2">
          <Link href="/log?range=all" className="button">
            {t('logs.allTime')}
          </Link>
          <Link href="/playground" className="button">
            {t('logs.tryOne')}
          </Link>
        </span>
      </Empty>
    );
  return filtered ? (
    <Empty text={text}>
      <button type="button" className="button" onClick={() => navigate('/log?range=all')}>
        {t('app.clearFilters')}
      </button>
    </Empty>
  ) : (
    <Empty text={t('logs.empty')} command="gateway logs tail">
      <Link href="/playground" className="button">
        {t('logs.tryOne')}
      </Link>
    </Empty>
  );
}
