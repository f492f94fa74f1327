/** Breadcrumb, links of the site, search, notice, language, theme. */
import { lazy, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import type { User } from '../../server/contract/entities.ts';
import { Icon } from '../components/icon.tsx';
import { isAdmin } from '../lib/session.ts';
import type { Status } from '../lib/status.ts';
import { toggleTheme, useDark } from '../lib/theme.ts';
import { navItems, placeAt } from './nav.ts';
import { NewYear } from './new-year.tsx';
import { NoticeButton } from './notice.tsx';
import { StorageWarning } from './storage-warning.tsx';
import {
  Brand,
  Breadcrumb,
  LanguageMenu,
  LoginLinks,
  Marks,
  MenuButton,
  SearchButton,
  SiteLinks,
  SiteMenu,
  UserMenu,
} from './top-bar-parts.tsx';

/** Resolves when the page has nothing more urgent to do: what may come a moment later does not delay the first picture. */
const whenIdle = (): Promise<void> =>
  new Promise((resolve) => {
    // Safari has no such callback.
    if (typeof requestIdleCallback === 'function') requestIdleCallback(() => resolve(), { timeout: 2000 });
    else setTimeout(resolve, 500);
  });

const Alerts = lazy(async () => {
  await whenIdle();
  return { default: (await import('./alerts.tsx')).Alerts };
});

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
  const here = placeAt(path, navItems(user, status));
  return (
    <header className="flex h-12 flex-none items-center gap-2 border-b border-line px-5 max-sm:px-3">
      {withSidebar ? <MenuButton open={menuOpen} onMenu={onMenu} /> : <Brand status={status} />}
      {withSidebar ? <Breadcrumb item={here} site={status?.system_name ?? ''} /> : null}
      <Marks status={status} />
      {user !== null && isAdmin(user) ? <StorageWarning /> : null}
      <NewYear />
      <div className="ml-auto flex items-center gap-1">
        <SiteLinks user={user} status={status} />
        {withSidebar ? null : <SiteMenu user={user} status={status} />}
        {user === null ? null : <SearchButton onSearch={onSearch} />}
        {user !== null && isAdmin(user) ? (
          <Suspense>
            <Alerts />
          </Suspense>
        ) : null}
        <NoticeButton />
        <LanguageMenu />
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
          <LoginLinks status={status} />
        ) : withSidebar ? null : (
          <UserMenu user={user} onLogout={onLogout} />
        )}
      </div>
    </header>
  );
}
