import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { PageHead } from '../../components/page.tsx';
import { call } from '../../lib/api.ts';

export function AboutPage() {
  const { t } = useTranslation();
  const about = useQuery({ queryKey: ['about'], queryFn: () => call('status.about') });
  return (
    <>
      <PageHead title={t('nav.about')} />
      <p className="max-w-prose px-5 whitespace-pre-wrap text-ink-2">{about.data || t('site.noAbout')}</p>
    </>
  );
}
