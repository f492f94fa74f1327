import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { PageHead } from '../../components/page.tsx';
import { useUser } from '../../lib/session.ts';

export function HomePage() {
  const { t } = useTranslation();
  const user = useUser();
  return (
    <>
      <PageHead title={t('site.homeTitle')} />
      <div className="grid max-w-xl gap-4 px-5">
        <p className="text-ink-2">{t('site.homeText')}</p>
        <code className="rounded-2 border border-line bg-sunken px-3 py-2 font-mono text-[13px]">{`${location.origin}/v1`}</code>
        <p className="flex gap-2">
          <Link href={user === null ? '/login' : '/token'} className="button button-primary">
            {user === null ? t('nav.login') : t('nav.tokens')}
          </Link>
          <Link href="/about" className="button">
            {t('nav.about')}
          </Link>
        </p>
      </div>
    </>
  );
}
