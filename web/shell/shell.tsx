/** The frame around every page: sidebar, top bar, content. */
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useLocation } from 'wouter';
import { Icon, type IconName } from '../components/icon.tsx';
import { call } from '../lib/api.ts';
import { currentLanguage, setLanguage } from '../lib/i18n.ts';
import { isAdmin, useUser, writeUser } from '../lib/session.ts';

interface Status {
  readonly system_name?: string;
  readonly version?: string;
  readonly setup?: boolean;
  readonly self_use_mode_enabled?: boolean;
  readonly demo_site_enabled?: boolean;
  readonly docs_link?: string;
  readonly top_up_link?: string;
  readonly min_topup?: number;
  readonly enable_online_topup?: boolean;
  readonly enable_stripe_topup?: boolean;
}

export const useStatus = () =>
  useQuery({ queryKey: ['status'], queryFn: () => call('status.get') as Promise<Status>, staleTime: 60_000 });

function NavItem({
  to,
  icon,
  label,
  onGo,
}: {
  readonly to: string;
  readonly icon: IconName;
  readonly label: string;
  readonly onGo: () => void;
}) {
  const [path] = useLocation();
  const current = path === to;
  return (
    <Link
      href={to}
      onClick={onGo}
      aria-current={current ? 'page' : undefined}
      className={`my-px flex h-7 items-center gap-2.5 rounded-2 px-2 max-sm:h-11 ${current ? 'bg-press font-medium text-ink-1' : 'text-ink-2 hover:bg-hover'}`}
    >
      <span className={current ? 'text-accent-text' : 'text-ink-3'}>
        <Icon name={icon} />
      </span>
      {label}
    </Link>
  );
}

function toggleTheme(): void {
  const next = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
  document.documentElement.dataset.theme = next;
  localStorage.setItem('theme-mode', next);
}

export function Shell({ children }: { readonly children: ReactNode }) {
  const { t } = useTranslation();
  const user = useUser();
  const status = useStatus().data;
  const [open, setOpen] = useState(false);
  const [, navigate] = useLocation();
  const close = () => setOpen(false);
  const logout = async () => {
    await call('session.logout_post').catch(() => undefined);
    writeUser(null);
    navigate('/login');
  };
  const group = (label: string, items: ReactNode) => (
    <>
      <h2 className="px-2 pt-4 pb-1 text-[11px] leading-4 font-medium text-ink-3">{label}</h2>
      {items}
    </>
  );
  const side = (
    <nav aria-label={t('app.menu')} className="flex h-full flex-col px-2 pb-2">
      <Link href="/" onClick={close} className="flex h-12 items-center gap-2.5 px-2 font-semibold text-ink-1">
        <img src="/logo.svg" alt="" className="size-5" />
        <span className="truncate">{status?.system_name ?? 'New API'}</span>
      </Link>
      {user === null
        ? null
        : group(
            t('nav.console'),
            <>
              <NavItem to="/playground" icon="chat" label={t('nav.playground')} onGo={close} />
              <NavItem to="/token" icon="key" label={t('nav.tokens')} onGo={close} />
              <NavItem to="/log" icon="log" label={t('nav.logs')} onGo={close} />
            </>,
          )}
      {isAdmin(user)
        ? group(
            t('nav.admin'),
            <>
              <NavItem to="/channel" icon="channel" label={t('nav.channels')} onGo={close} />
              <NavItem to="/redemption" icon="code" label={t('nav.redemption')} onGo={close} />
              <NavItem to="/user" icon="users" label={t('nav.users')} onGo={close} />
              <NavItem to="/setting" icon="gear" label={t('nav.settings')} onGo={close} />
            </>,
          )
        : null}
      {user === null
        ? null
        : group(t('nav.personal'), <NavItem to="/topup" icon="wallet" label={t('nav.wallet')} onGo={close} />)}
      <div className="mt-auto border-t border-line px-2 pt-2 text-[11px] text-ink-3">
        {t('app.credit')} {status?.version}
      </div>
    </nav>
  );
  return (
    <div className={`grid h-dvh ${user === null ? '' : 'sm:grid-cols-[200px_minmax(0,1fr)]'}`}>
      <a href="#content" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-surface focus:p-3">
        {t('app.skip')}
      </a>
      {user === null ? null : (
        <div
          className={`${open ? 'fixed inset-y-0 left-0 z-20 w-64 bg-ground shadow-pop' : 'max-sm:hidden'} bg-ground`}
        >
          {side}
        </div>
      )}
      {open ? (
        <button
          type="button"
          className="fixed inset-0 z-10 bg-scrim sm:hidden"
          aria-label={t('app.close')}
          onClick={close}
        />
      ) : null}
      <div className="flex min-h-0 min-w-0 flex-col border-line bg-surface sm:border-l">
        <header className="flex h-12 flex-none items-center gap-2 border-b border-line px-5 max-sm:px-3">
          {user === null ? (
            <Link href="/" className="flex items-center gap-2 font-semibold text-ink-1">
              <img src="/logo.svg" alt="" className="size-5" />
              {status?.system_name ?? 'New API'}
            </Link>
          ) : (
            <button
              type="button"
              className="button button-ghost sm:hidden"
              aria-label={t('app.menu')}
              aria-expanded={open}
              onClick={() => setOpen(!open)}
            >
              <Icon name="menu" />
            </button>
          )}
          {status?.self_use_mode_enabled ? (
            <span className="rounded-1 bg-accent-soft px-1.5 text-[11px] text-accent-text">{t('app.selfUse')}</span>
          ) : null}
          {status?.demo_site_enabled ? (
            <span className="rounded-1 bg-warning-soft px-1.5 text-[11px] text-warning">{t('app.demo')}</span>
          ) : null}
          <div className="ml-auto flex items-center gap-1">
            <button
              type="button"
              className="button button-ghost"
              onClick={() => setLanguage(currentLanguage() === 'zh' ? 'en' : 'zh')}
            >
              {t('app.language')}
            </button>
            <button type="button" className="button button-ghost" onClick={toggleTheme} aria-label={t('app.theme')}>
              <Icon name="sun" />
            </button>
            {user === null ? (
              <Link href="/login" className="button">
                {t('nav.login')}
              </Link>
            ) : (
              <>
                <span className="px-1 text-ink-2 max-sm:hidden">{user.username}</span>
                <button type="button" className="button button-ghost" onClick={logout} aria-label={t('app.logout')}>
                  <Icon name="out" />
                </button>
              </>
            )}
          </div>
        </header>
        <main id="content" className="min-h-0 flex-1 overflow-auto">
          {children}
        </main>
      </div>
    </div>
  );
}
