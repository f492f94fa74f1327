/** Shows the page of an address to who may see it; pages load when they are opened. */

import { type ComponentType, lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Redirect, Route, Switch } from 'wouter';
import { extendedAddresses } from '../../server/contract/console-pages.ts';
import { Role } from '../../server/contract/enum.ts';
import { Boundary } from '../components/failure.tsx';
import { Waiting } from '../components/waiting.tsx';
import { messageOf } from '../lib/attempt.ts';
import { storeReturnPath } from '../lib/return-to.ts';
import { isAdmin, useUser } from '../lib/session.ts';
import { useStatus } from '../lib/status.ts';
import { readUser } from '../lib/stored-user.ts';
import { Shell } from '../shell/shell.tsx';
import { type Page, type PageProps, pageAt, pages } from './pages.tsx';

const SetupPage = lazy(async () => ({ default: (await import('../features/setup/setup-page.tsx')).SetupPage }));
const NotFoundPage = lazy(async () => ({
  default: (await import('../features/site/not-found-page.tsx')).NotFoundPage,
}));

/** A page and its code. */
interface Screen {
  readonly page: Page;
  /** Fetches the code, once. */
  readonly load: () => Promise<ComponentType<PageProps>>;
  /** The code if it is here, else what shows a placeholder until it is. */
  readonly content: () => ComponentType<PageProps>;
}

function screenOf(page: Page): Screen {
  let loaded: ComponentType<PageProps> | null = null;
  const load = async () => {
    loaded ??= await page.load();
    return loaded;
  };
  const later = lazy(async () => ({ default: await load() }));
  return { page, load, content: () => loaded ?? later };
}

const screens = pages.map(screenOf);

/** Fetches the code of a page before it is shown; a failure is shown in its place. */
export async function preloadPage(path: string): Promise<void> {
  const page = pageAt(path, readUser() !== null);
  await screens
    .find((one) => one.page === page)
    ?.load()
    .catch(() => undefined);
}

function ToLogin() {
  storeReturnPath();
  return <Redirect to="/login" />;
}

function ToSetup() {
  storeReturnPath();
  return <Redirect to="/setup" />;
}

interface GuardedProps extends PageProps {
  readonly screen: Screen;
}

/** React holds back for 300 ms what replaces a placeholder: a page whose code is here is shown without one. */
function Guarded({ screen, params }: GuardedProps) {
  const { path, needs } = screen.page;
  const user = useUser();
  const [Content] = useState(screen.content);
  if (needs !== Role.guest && user === null) return <ToLogin />;
  // Other consoles of this family have everybody's settings there.
  if (path === '/setting' && !isAdmin(user)) return <Redirect to="/personal" />;
  if (needs > Role.user && (user?.role ?? Role.guest) < needs) return <NotFoundPage />;
  return (
    <Boundary>
      <Content params={params} />
    </Boundary>
  );
}

export function App() {
  const { t } = useTranslation();
  const status = useStatus();
  if (status.data === undefined && status.error !== null) {
    return (
      <main className="grid h-dvh place-items-center gap-3 p-5 text-center">
        <div>
          <p role="alert" data-failure className="text-danger">
            {t('app.unreachable')}
          </p>
          <p className="mb-3 text-ink-2">{messageOf(status.error)}</p>
          <button type="button" className="button" onClick={() => status.refetch()}>
            {t('app.retry')}
          </button>
        </div>
      </main>
    );
  }
  if (status.data === undefined) return <Waiting />;
  const done = status.data.setup === true;
  return (
    <Shell>
      <Suspense fallback={<Waiting />}>
        <Switch>
          <Route path="/setup">
            {done ? (
              <Redirect to="/" />
            ) : (
              <Boundary>
                <SetupPage />
              </Boundary>
            )}
          </Route>
          {done ? null : (
            <Route>
              <ToSetup />
            </Route>
          )}
          {screens.map((screen) => (
            <Route key={screen.page.path} path={extendedAddresses[screen.page.path] ?? screen.page.path}>
              {(params) => <Guarded screen={screen} params={params} />}
            </Route>
          ))}
          <Route>
            <NotFoundPage />
          </Route>
        </Switch>
      </Suspense>
    </Shell>
  );
}
