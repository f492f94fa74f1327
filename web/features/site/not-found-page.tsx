import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { Icon } from '../../components/icon.tsx';
import { PageHead } from '../../components/page.tsx';
import { requestSearch } from '../../lib/search-request.ts';
import { isAdmin, useUser } from '../../lib/session.ts';

/** Says that there is no such page, and leads on: by search, and to the pages that are looked for most. */
export function NotFoundPage() {
  const { t } = useTranslation();
  const user = useUser();
  const pages = [
    ...(user === null
      ? ([['/', t('nav.home')]] as const)
      : ([
          ['/token', t('tokens.title')],
          ['/log', t('logs.title')],
        ] as const)),
    user !== null && isAdmin(user)
      ? (['/channel', t('channels.title')] as const)
      : (['/pricing', t('nav.pricing')] as const),
    ...(user === null ? ([['/login', t('nav.login')]] as const) : []),
  ];
  return (
    <>
      <PageHead title={t('site.notFound')} />
      <div className="grid justify-items-start gap-4 px-5 pb-6">
        <p className="text-ink-2">{t('site.notFoundText')}</p>
        {user === null ? null : (
          <button type="button" className="button button-primary" onClick={requestSearch}>
            <Icon name="search" />
            {t('palette.open')}
          </button>
        )}
        <nav aria-label={t('site.notFoundLinks')} className="flex flex-wrap gap-2">
          {pages.map(([to, title]) => (
            <Link key={to} href={to} className="button">
              {title}
            </Link>
          ))}
        </nav>
      </div>
    </>
  );
}
