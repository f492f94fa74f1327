/** What stands in the top bar: where one is, marks of the site, the language, the ways in and out. */
import { useTranslation } from 'react-i18next';
import { Link, useLocation } from 'wouter';
import type { User } from '../../server/contract/entities.ts';
import { Icon } from '../components/icon.tsx';
import { LazyMenu } from '../components/lazy-menu.tsx';
import { fileAddress } from '../lib/base-path.ts';
import { currentLanguage } from '../lib/i18n.ts';
import { pageLanguages } from '../lib/page-languages.ts';
import { useShownPage } from '../lib/page-title.ts';
import { docsFor, type Status } from '../lib/status.ts';
import { chapterAt, type NavItem } from './nav.ts';
import { pickLanguage } from './own-user.ts';

export function SiteLinks({ user, status }: { readonly user: User | null; readonly status: Status | undefined }) {
  const { t } = useTranslation();
  const [path] = useLocation();
  const docs = docsFor(user, status, chapterAt(path));
  const isWithin = (to: string): boolean => path === to || (to !== '/' && path.startsWith(`${to}/`));
  const isSitePage = ['/', '/pricing', '/about'].some(isWithin);
  const link = (to: string, label: string, here = isWithin(to)) => (
    <Link
      href={to}
      aria-current={here ? (path === to ? 'page' : 'true') : undefined}
      className={`rounded-2 px-2 py-1 hover:bg-hover ${here ? 'text-ink-1' : 'text-ink-2'}`}
    >
      {label}
    </Link>
  );
  return (
    <nav
      aria-label={t('nav.site')}
      className={`flex items-center ${user === null ? 'max-lg:hidden' : 'max-xl:hidden'}`}
    >
      {link('/', t('nav.home'))}
      {/* Everything behind the login is the console. */}
      {link(user === null ? '/login' : '/token', t('nav.console'), user !== null && !isSitePage)}
      {link('/pricing', t('nav.pricing'))}
      {docs !== null ? (
        <a href={docs} target="_blank" rel="noreferrer" className="rounded-2 px-2 py-1 text-ink-2 hover:bg-hover">
          {t('nav.docs')}
        </a>
      ) : null}
      {link('/about', t('nav.about'))}
    </nav>
  );
}

/** The same where there is no room for them and no sidebar that has them. */
export function SiteMenu({ user, status }: { readonly user: User | null; readonly status: Status | undefined }) {
  const { t } = useTranslation();
  const [path, navigate] = useLocation();
  const item = (to: string, content: string) => ({ id: to, content, onPick: () => navigate(to) });
  const docs = docsFor(user, status, chapterAt(path));
  return (
    <span className={user === null ? 'lg:hidden' : 'xl:hidden'}>
      <LazyMenu
        button={{ className: 'button button-ghost', label: t('nav.site'), content: <Icon name="menu" /> }}
        anchor="bottom end"
        width="w-40"
        items={[
          item('/', t('nav.home')),
          item(user === null ? '/login' : '/token', t('nav.console')),
          item('/pricing', t('nav.pricing')),
          ...(docs !== null
            ? [{ id: 'docs', content: t('nav.docs'), onPick: () => window.open(docs, '_blank', 'noopener') }]
            : []),
          item('/about', t('nav.about')),
        ]}
      />
    </span>
  );
}

export function MenuButton({ open, onMenu }: { readonly open: boolean; readonly onMenu: () => void }) {
  const { t } = useTranslation();
  return (
    <button
      type="button"
      className="button button-ghost sm:hidden"
      aria-label={t('app.menu')}
      aria-expanded={open}
      onClick={onMenu}
    >
      <Icon name="menu" />
    </button>
  );
}

export function Brand({ status }: { readonly status: Status | undefined }) {
  return (
    <Link href="/" className="flex min-w-0 items-center gap-2 font-semibold text-ink-1">
      <img src={fileAddress(status?.logo || '/logo.svg')} alt="" className="size-5" />
      <span className="truncate max-sm:sr-only">{status?.system_name}</span>
    </Link>
  );
}

export interface BreadcrumbProps {
  /** Absent: the page is not in the menu. */
  readonly item: NavItem | undefined;
  /** The site's name: on a phone the page's own stands right below. */
  readonly site: string;
}

export function Breadcrumb({ item, site }: BreadcrumbProps) {
  const { t } = useTranslation();
  const [path] = useLocation();
  const page = useShownPage();
  const onPhone = <span className="font-semibold text-ink-1 sm:hidden">{site}</span>;
  if (item === undefined)
    return (
      <p className="truncate font-medium text-ink-1">
        <span className="max-sm:hidden">{page}</span>
        {onPhone}
      </p>
    );
  const label = t(item.label);
  const slash = (
    <span className="px-1.5 text-ink-3" aria-hidden="true">
      /
    </span>
  );
  return (
    <p className="truncate text-ink-3">
      <span className="max-sm:hidden">
        {t(item.group)}
        {slash}
      </span>
      {path === item.to ? (
        <>
          <span className="font-medium text-ink-1 max-sm:hidden">{label}</span>
          {onPhone}
        </>
      ) : (
        <>
          {/* From a page below it, the way back; on a phone the page's own name stands right below. */}
          <Link href={item.to} className="text-ink-2 hover:underline max-sm:font-medium max-sm:text-ink-1">
            {label}
          </Link>
          {page === '' || page === label ? null : (
            <span className="max-sm:hidden">
              {slash}
              <span className="font-medium text-ink-1">{page}</span>
            </span>
          )}
        </>
      )}
    </p>
  );
}

/** Ways a site may run that everybody should see. */
export function Marks({ status }: { readonly status: Status | undefined }) {
  const { t } = useTranslation();
  return (
    <>
      {status?.self_use_mode_enabled ? (
        <span className="rounded-1 bg-accent-soft px-1.5 max-sm:hidden text-[11px] whitespace-nowrap text-accent-text">
          {t('app.selfUse')}
        </span>
      ) : null}
      {status?.demo_site_enabled ? (
        <span className="rounded-1 bg-warning-soft px-1.5 text-[11px] whitespace-nowrap text-warning">
          {t('app.demo')}
        </span>
      ) : null}
    </>
  );
}

export function SearchButton({ onSearch }: { readonly onSearch: () => void }) {
  const { t } = useTranslation();
  return (
    <button
      type="button"
      className="mx-1 flex h-7 items-center gap-2 rounded-2 border border-line-strong bg-ground px-2 text-ink-3 hover:bg-hover md:w-60"
      onClick={onSearch}
      aria-keyshortcuts="Control+K Meta+K"
    >
      <Icon name="search" />
      <span className="min-w-0 flex-1 truncate text-left max-md:sr-only">{t('palette.open')}</span>
      <kbd className="max-md:hidden">{/Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘K' : 'Ctrl K'}</kbd>
    </button>
  );
}

export function LanguageMenu() {
  const { t } = useTranslation();
  return (
    <LazyMenu
      button={{ className: 'button button-ghost', label: t('app.languageMenu'), content: <Icon name="globe" /> }}
      anchor="bottom end"
      width="w-32"
      items={Object.entries(pageLanguages).map(([code, { name }]) => ({
        id: code,
        lang: code,
        content: (
          <>
            <span className="flex-1 text-left">{name}</span>
            {currentLanguage() === code ? <Icon name="check" /> : null}
          </>
        ),
        onPick: () => pickLanguage(code),
      }))}
    />
  );
}

/** Login and registration. */
export function LoginLinks({ status }: { readonly status: Status | undefined }) {
  const { t } = useTranslation();
  const [path] = useLocation();
  return (
    <>
      {path === '/login' ? null : (
        <Link href="/login" className="button">
          {t('nav.login')}
        </Link>
      )}
      {path === '/register' || status?.self_use_mode_enabled || status?.register_enabled === false ? null : (
        <Link href="/register" className="button button-primary max-sm:hidden">
          {t('nav.register')}
        </Link>
      )}
    </>
  );
}

export function UserMenu({ user, onLogout }: { readonly user: User; readonly onLogout: () => void }) {
  const { t } = useTranslation();
  return (
    <LazyMenu
      button={{
        className: 'button button-ghost',
        content: (
          <>
            <span className="grid size-5 place-items-center rounded-1 bg-accent-soft text-[11px] text-accent-text uppercase">
              {user.username.slice(0, 1)}
            </span>
            <span className="max-sm:sr-only">{user.username}</span>
          </>
        ),
      }}
      anchor="bottom end"
      width="w-40"
      items={[
        {
          id: 'out',
          content: (
            <>
              <Icon name="out" />
              {t('app.logout')}
            </>
          ),
          onPick: onLogout,
        },
      ]}
    />
  );
}
