import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { Frame } from '../../components/frame.tsx';
import { Icon } from '../../components/icon.tsx';
import { PageHead } from '../../components/page.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { useRead } from '../../lib/read.ts';
import { isRoot, useUser } from '../../lib/session.ts';

export function AboutPage() {
  const { t } = useTranslation();
  const about = useRead({ queryKey: ['about'], queryFn: () => call('status.about') }).data;
  return (
    <>
      <PageHead title={t('nav.about')}>
        {isRoot(useUser()) ? (
          <Link href="/setting?q=About" className="button">
            <Icon name="edit" />
            {t('site.edit')}
          </Link>
        ) : null}
      </PageHead>
      <div className="max-w-4xl px-5">
        {about === undefined ? <Waiting /> : null}
        {about ? <Frame title={t('nav.about')} content={about} asPage /> : null}
        {about === '' ? <p className="text-ink-2">{t('site.noAbout')}</p> : null}
        <p className="mt-4 flex gap-4">
          <Link href="/pricing">{t('nav.pricing')}</Link>
          <Link href="/api-docs">{t('apiDocs.title')}</Link>
        </p>
      </div>
    </>
  );
}
