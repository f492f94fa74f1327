import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { Framed } from '../../components/framed.tsx';
import { PageHead } from '../../components/page.tsx';
import { call } from '../../lib/api.ts';

export function AboutPage() {
  const { t } = useTranslation();
  const about = useQuery({ queryKey: ['about'], queryFn: () => call('status.about') }).data;
  return (
    <>
      <PageHead title={t('nav.about')} />
      <div className="max-w-4xl px-5">
        {about ? (
          <Framed title={t('nav.about')} content={about} asPage />
        ) : (
          <p className="text-ink-2">{about === undefined ? t('app.loading') : t('site.noAbout')}</p>
        )}
        <p className="mt-4">
          <Link href="/api-docs">{t('apiDocs.title')}</Link>
        </p>
      </div>
    </>
  );
}
