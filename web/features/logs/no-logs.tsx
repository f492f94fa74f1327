/** The log shows nothing: nothing passes the filters, or nothing has happened yet. */
import { useTranslation } from 'react-i18next';
import { Link, useLocation } from 'wouter';
import { Empty } from '../../components/empty.tsx';

export function NoLogs({ filtered }: { readonly filtered: boolean }) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  return filtered ? (
    <Empty text={t('logs.none')}>
      <button type="button" className="button" onClick={() => navigate('/log')}>
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
