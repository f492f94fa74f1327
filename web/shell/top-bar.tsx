/** Breadcrumb, links of the site, search, notice, language, theme. */
import { useTranslation } from 'react-i18next';
import { Link, useLocation } from 'wouter';
import type { User } from '../../server/contract/entities.ts';
import { Icon } from '../components/icon.tsx';
import { LazyMenu } from '../components/lazy-menu.tsx';
import { currentLanguage, setLanguage } from '../lib/i18n.ts';
import { isAdmin } from '../lib/session.ts';
import { toggleTheme, useDark } from '../lib/theme.ts';
import { placesFor } from './nav.ts';
import { NewYear } from './new-year.tsx';
import { NoticeButton } from './notice.tsx';
import type { Status } from './status.ts';
import { StorageTrouble } from './storage-trouble.tsx';

const languages = [
  ['zh', '\u4e2d\u6587'],
  ['en', 'English'],
] as const;

function SiteLinks({ user, status }: { readonly user: User | null; readonly status: Status | undefined }) {
  const { t } = useTranslation();
  const [path] = useLocation();
  const link = (to: string, label: string) => (
    <Link
      href={to}
      aria-current={path === to ? 'page' : undefined}
      className={`rounded-2 px-2 py-1 hover:bg-hover ${path === to ? 'text-ink-1' : 'text-ink-2'}`}
    >
      {label}
    </Link>
  );
  return (
    <nav aria-label={t('nav.site')} className="flex items-center max-lg:hidden">
      {link('/', t('nav.home'))}
      {link(user === null ? '/login' : '/token', t('nav.console'))}
      {link('/pricing', t('nav.pricing'))}
      {status?.docs_link ? (
        <a
          href={status.docs_link}
          target="_blank"
          rel="noreferrer"
          className="rounded-2 px-2 py-1 text-ink-2 hover:bg-hover"
        >
          {t('nav.docs')}
        </a>
      ) : null}
      {link('/about', t('nav.about'))}
    </nav>
  );
}

export interface TopBarProps {
  readonly user: User | null;
  readonly status: Status | undefined;
  readonly withSidebar: boolean;
  readonly menuOpen: boolean;
  readonly onMenu: () => void;
  readonly onSearch: () => void;
  readonly onLogout: () => void;
}

export function TopBar({ user, status, withSidebar, menuOpen, onMenu, onSearch, onLogout }: TopBarProps) {
  const { t } = useTranslation();
  const [path] = useLocation();
  const dark = useDark();
  const here = placesFor(user, status).find(({ to }) => path === to || path.startsWith(`${to}/`));
  return (
    <header className="flex h-12 flex-none items-center gap-2 border-b border-line px-5 max-sm:px-3">
      {withSidebar ? (
        <button
          type="button"
          className="button button-ghost sm:hidden"
          aria-label={t('app.menu')}
          aria-expanded={menuOpen}
          onClick={onMenu}
        >
          <Icon name="menu" />
        </button>
      ) : (
        <Link href="/" className="flex min-w-0 items-center gap-2 font-semibold text-ink-1">
          <img src={status?.logo || '/logo.svg'} alt="" className="size-5" />
          <span className="truncate max-sm:sr-only">{status?.system_name}</span>
        </Link>
      )}
      {withSidebar && here !== undefined ? (
        <p className="truncate text-ink-3">
          <span className="max-sm:hidden">
            {t(here.group)}
            <span className="px-1.5 text-ink-3" aria-hidden="true">
              /
            </span>
          </span>
          <span className="font-medium text-ink-1">{t(here.label)}</span>
        </p>
      ) : null}
      {status?.self_use_mode_enabled ? (
        <span className="rounded-1 bg-accent-soft px-1.5 text-[11px] whitespace-nowrap text-accent-text">
          {t('app.selfUse')}
        </span>
      ) : null}
      {status?.demo_site_enabled ? (
        <span className="rounded-1 bg-warning-soft px-1.5 text-[11px] whitespace-nowrap text-warning">
          {t('app.demo')}
        </span>
      ) : null}
      {user !== null && isAdmin(user) ? <StorageTrouble /> : null}
      <NewYear />
      <div className="ml-auto flex items-center gap-1">
        <SiteLinks user={user} status={status} />
        {user === null ? null : (
          <button
            type="button"
            className="mx-1 flex h-7 items-center gap-2 rounded-2 border border-line-strong bg-ground px-2 text-ink-3 hover:bg-hover md:w-52"
            onClick={onSearch}
            aria-keyshortcuts="Control+K Meta+K"
          >
            <Icon name="search" />
            <span className="flex-1 text-left max-md:sr-only">{t('palette.open')}</span>
            <kbd className="max-md:hidden">{/Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘K' : 'Ctrl K'}</kbd>
          </button>
        )}
        <NoticeButton />
        <LazyMenu
          button={{ className: 'button button-ghost', label: t('app.languageMenu'), content: <Icon name="globe" /> }}
          anchor="bottom end"
          width="w-32"
          items={languages.map(([code, name]) => ({
            id: code,
            lang: code,
            content: (
              <>
                <span className="flex-1 text-left">{name}</span>
                {currentLanguage() === code ? <Icon name="check" /> : null}
              </>
            ),
            onPick: () => setLanguage(code),
          }))}
        />
        <button
          type="button"
          className="button button-ghost"
          onClick={toggleTheme}
          aria-pressed={dark}
          aria-label={t('app.theme')}
        >
          <Icon name={dark ? 'sun' : 'moon'} />
        </button>
        {user === null ? (
          <>
            <Link href="/login" className="button">
              {t('nav.login')}
            </Link>
            {status?.self_use_mode_enabled || status?.register_enabled === false ? null : (
              <Link href="/register" className="button button-primary max-sm:hidden">
                {t('nav.register')}
              </Link>
            )}
          </>
        ) : withSidebar ? null : (
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
        )}
      </div>
    </header>
  );
}
