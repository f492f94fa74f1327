import { useTranslation } from 'react-i18next';
import { PageHead } from '../../components/page.tsx';

export function NotFoundPage() {
  const { t } = useTranslation();
  return (
    <>
      <PageHead title={t('site.notFound')} />
      <p className="px-5 text-ink-2">{t('site.notFoundText')}</p>
    </>
  );
}
