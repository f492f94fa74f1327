/** The frame around every page: sidebar, top bar, content, and what is reachable from everywhere. */

import { lazy, type ReactNode, Suspense, useCallback, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import { Frame } from '../components/frame.tsx';
import { call } from '../lib/api.ts';
import { clearChanges } from '../lib/dirty-form.ts';
import { useTablet } from '../lib/narrow.ts';
import { useSiteTitle } from '../lib/page-title.ts';
import { onSearchRequest } from '../lib/search-request.ts';
import { useEnded, useLoginRequest, useUser, writeUser } from '../lib/session.ts';
import { useStatus } from '../lib/status.ts';
import { CopyDialog } from './copy-dialog.tsx';
import { FailedReads } from './failed-reads.tsx';
import { LeaveQuestion } from './leave-question.tsx';
import { navItems } from './nav.ts';
import { useOwnUser } from './own-user.ts';
import { Shortcuts } from './shortcuts.tsx';
import { Sidebar } from './sidebar.tsx';
import { TopBar } from './top-bar.tsx';

const LoginAgain = lazy(async () => ({ default: (await import('./login-again.tsx')).LoginAgain }));
const LoginForStep = lazy(async () => ({ default: (await import('./login-again.tsx')).LoginForStep }));
const Palette = lazy(() => import('./palette.tsx').then((module) => ({ default: module.Palette })));
const foldKey = 'default_collapse_sidebar';

/** Home, chat and set-up have the page to themselves. */
const wide = (path: string): boolean => path === '/' || path === '/setup' || /^\/chat(\/|$)/.test(path);

export function Shell({ children }: { readonly children: ReactNode }) {
  const { t } = useTranslation();
  const user = useUser();
  const ended = useEnded();
  const loginRequest = useLoginRequest();
  const status = useStatus().data;
  const [path, navigate] = useLocation();
  const [open, setOpen] = useState(false);
  const [palette, setPalette] = useState(false);
  const [selected, setSelected] = useState(() => localStorage.getItem(foldKey));
  const tablet = useTablet();
  const collapsed = (selected ?? String(tablet || status?.default_collapse_sidebar === true)) === 'true';
  const withSidebar = user !== null && !wide(path);
  const items = navItems(user, status);
  useOwnUser(path);
  const openPalette = useCallback(() => setPalette(true), []);
  useEffect(() => onSearchRequest(openPalette), [openPalette]);
  useSiteTitle(status?.system_name);

  // biome-ignore lint/correctness/useExhaustiveDependencies: what was typed belongs to the page that was left
  useEffect(clearChanges, [path]);

  const logout = async () => {
    await call('session.logout_post').catch(() => undefined);
    writeUser(null);
    navigate('/login');
  };
  const sidebar = (small: boolean) =>
    user === null ? null : (
      <Sidebar
        user={user}
        status={status}
        collapsed={small}
        onFold={() => {
          localStorage.setItem(foldKey, String(!collapsed));
          setSelected(String(!collapsed));
        }}
        onGo={() => setOpen(false)}
        onLogout={logout}
      />
    );
  const columns = collapsed ? 'sm:grid-cols-[60px_minmax(0,1fr)]' : 'sm:grid-cols-[200px_minmax(0,1fr)]';
  return (
    <div className={`app-frame grid h-dvh ${withSidebar ? columns : ''}`}>
      <a href="#content" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-surface focus:p-3">
        {t('app.skip')}
      </a>
      {withSidebar ? <div className="app-side min-h-0 bg-ground max-sm:hidden">{sidebar(collapsed)}</div> : null}
      {withSidebar && open ? (
        <>
          <button
            type="button"
            className="fixed inset-0 z-10 bg-scrim sm:hidden"
            aria-label={t('app.close')}
            onClick={() => setOpen(false)}
          />
          <div className="fixed inset-y-0 left-0 z-20 w-64 bg-ground shadow-pop sm:hidden">{sidebar(false)}</div>
        </>
      ) : null}
      <div className={`flex min-h-0 min-w-0 flex-col bg-surface ${withSidebar ? 'border-line sm:border-l' : ''}`}>
        <TopBar
          user={user}
          status={status}
          withSidebar={withSidebar}
          menuOpen={open}
          onMenu={() => setOpen(!open)}
          onSearch={openPalette}
          onLogout={logout}
        />
        <main id="content" className="min-h-0 flex-1 overflow-auto">
          <FailedReads />
          {children}
          {(withSidebar && !collapsed) || path.startsWith('/chat') || !status?.footer_html ? null : (
            <footer className="mt-auto px-5 py-3">
              <Frame title={t('nav.footer')} content={status.footer_html} small />
            </footer>
          )}
        </main>
      </div>
      <CopyDialog />
      <LeaveQuestion />
      {user !== null && ended ? (
        <Suspense>
          <LoginAgain />
        </Suspense>
      ) : null}
      {user !== null && !ended && loginRequest !== null ? (
        <Suspense>
          <LoginForStep onDone={loginRequest} />
        </Suspense>
      ) : null}
      {user === null ? null : <Shortcuts items={items} onPalette={openPalette} />}
      {user !== null && palette ? (
        <Suspense>
          <Palette user={user} items={items} onClose={() => setPalette(false)} />
        </Suspense>
      ) : null}
    </div>
  );
}
