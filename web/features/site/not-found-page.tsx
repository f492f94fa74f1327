import { useTranslation } from 'react-i18next';
import { Link, useLocation } from 'wouter';
import { Empty } from '../../components/empty.tsx';
import { Icon } from '../../components/icon.tsx';
import { PageHead } from '../../components/page.tsx';
import { basePath } from '../../lib/base-path.ts';
import { requestSearch } from '../../lib/search-request.ts';
import { isAdmin, useUser } from '../../lib/session.ts';

/** Says that there is no such page, and leads on: by search, and to the pages that are looked for most. */
export function NotFoundPage() {
  const { t } = useTranslation();
  const user = useUser();
  const [path] = useLocation();
  const pages = [
    ...(user === null
      ? ([['/', t('nav.home')]] as const)
      : ([
          ['/detail', t('nav.dashboard')],
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
      <div className="px-5 py-8">
        <Empty text={t('site.notFoundText')}>
          <code className="max-w-full rounded-2 bg-sunken px-2 py-1 font-mono text-[12px] break-all text-ink-2">
            {basePath + path}
          </code>
          <nav aria-label={t('site.notFoundLinks')} className="flex flex-wrap justify-center gap-2">
            {pages.map(([to, title], index) => (
              <Link key={to} href={to} className={`button ${index === 0 ? 'button-primary' : ''}`}>
                {title}
              </Link>
            ))}
            {user === null ? null : (
              <button type="button" className="button" onClick={requestSearch}>
                <Icon name="search" />
                {t('palette.open')}
              </button>
            )}
          </nav>
        </Empty>
      </div>
    </>
  );
}
