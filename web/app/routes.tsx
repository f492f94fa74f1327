/** One table of routes; pages load when they are opened. */
import { lazy, type ReactNode, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { Redirect, Route, Switch } from 'wouter';
import { isAdmin, readUser, useUser } from '../lib/session.ts';
import { Shell } from '../shell/shell.tsx';
import { useStatus } from '../shell/status.ts';

const loadChannels = async () => ({ default: (await import('../features/channels/channels-page.tsx')).ChannelsPage });
const loadTokens = async () => ({ default: (await import('../features/tokens/tokens-page.tsx')).TokensPage });
const loadUsers = async () => ({ default: (await import('../features/users/users-page.tsx')).UsersPage });
const loadRedemption = async () => ({
  default: (await import('../features/redemption/redemption-page.tsx')).RedemptionPage,
});
const loadOrders = async () => ({ default: (await import('../features/orders/orders-page.tsx')).OrdersPage });
const loadWallet = async () => ({ default: (await import('../features/wallet/wallet-page.tsx')).WalletPage });
const loadSettings = async () => ({ default: (await import('../features/settings/settings-page.tsx')).SettingsPage });
const loadDashboard = async () => ({
  default: (await import('../features/dashboard/dashboard-page.tsx')).DashboardPage,
});
const loadPricing = async () => ({ default: (await import('../features/pricing/pricing-page.tsx')).PricingPage });
const loadDrawings = async () => ({ default: (await import('../features/works/drawings-page.tsx')).DrawingsPage });
const loadTasks = async () => ({ default: (await import('../features/works/tasks-page.tsx')).TasksPage });
const loadPersonal = async () => ({ default: (await import('../features/personal/personal-page.tsx')).PersonalPage });
const loadApiDocs = async () => ({ default: (await import('../features/api-docs/api-docs-page.tsx')).ApiDocsPage });
const loadChat = async () => ({ default: (await import('../features/chat/chat-page.tsx')).ChatPage });
const loadPlayground = async () => ({
  default: (await import('../features/playground/playground-page.tsx')).PlaygroundPage,
});
const loadLogs = async () => ({ default: (await import('../features/logs/logs-page.tsx')).LogsPage });
const loadLogin = async () => ({ default: (await import('../features/account/login-page.tsx')).LoginPage });
const loadRegister = async () => ({ default: (await import('../features/account/register-page.tsx')).RegisterPage });
const loadReset = async () => ({ default: (await import('../features/account/reset-page.tsx')).ResetPage });
const loadNewPassword = async () => ({
  default: (await import('../features/account/new-password-page.tsx')).NewPasswordPage,
});
const loadCallback = async () => ({ default: (await import('../features/account/callback-page.tsx')).CallbackPage });
const loadSetup = async () => ({ default: (await import('../features/setup/setup-page.tsx')).SetupPage });
const loadHome = async () => ({ default: (await import('../features/site/home-page.tsx')).HomePage });
const loadAbout = async () => ({ default: (await import('../features/site/about-page.tsx')).AboutPage });
const loadNotFound = async () => ({ default: (await import('../features/site/not-found-page.tsx')).NotFoundPage });

const ChannelsPage = lazy(loadChannels);
const TokensPage = lazy(loadTokens);
const UsersPage = lazy(loadUsers);
const RedemptionPage = lazy(loadRedemption);
const OrdersPage = lazy(loadOrders);
const WalletPage = lazy(loadWallet);
const SettingsPage = lazy(loadSettings);
const DashboardPage = lazy(loadDashboard);
const PricingPage = lazy(loadPricing);
const DrawingsPage = lazy(loadDrawings);
const TasksPage = lazy(loadTasks);
const PersonalPage = lazy(loadPersonal);
const ApiDocsPage = lazy(loadApiDocs);
const ChatPage = lazy(loadChat);
const PlaygroundPage = lazy(loadPlayground);
const LogsPage = lazy(loadLogs);
const LoginPage = lazy(loadLogin);
const RegisterPage = lazy(loadRegister);
const ResetPage = lazy(loadReset);
const NewPasswordPage = lazy(loadNewPassword);
const CallbackPage = lazy(loadCallback);
const SetupPage = lazy(loadSetup);
const HomePage = lazy(loadHome);
const AboutPage = lazy(loadAbout);
const NotFoundPage = lazy(loadNotFound);

interface Page {
  readonly path: string;
  readonly page: ReactNode;
  /** Fetches the code of the page. */
  readonly load: () => Promise<unknown>;
  readonly needs: 'nobody' | 'user' | 'admin';
}

const pages: readonly Page[] = [
  { path: '/', page: <HomePage />, load: loadHome, needs: 'nobody' },
  { path: '/about', page: <AboutPage />, load: loadAbout, needs: 'nobody' },
  { path: '/login', page: <LoginPage />, load: loadLogin, needs: 'nobody' },
  { path: '/register', page: <RegisterPage />, load: loadRegister, needs: 'nobody' },
  { path: '/reset', page: <ResetPage />, load: loadReset, needs: 'nobody' },
  { path: '/user/reset', page: <NewPasswordPage />, load: loadNewPassword, needs: 'nobody' },
  { path: '/api-docs', page: <ApiDocsPage />, load: loadApiDocs, needs: 'nobody' },
  { path: '/pricing', page: <PricingPage />, load: loadPricing, needs: 'nobody' },
  { path: '/detail', page: <DashboardPage />, load: loadDashboard, needs: 'user' },
  { path: '/personal', page: <PersonalPage />, load: loadPersonal, needs: 'user' },
  { path: '/midjourney', page: <DrawingsPage />, load: loadDrawings, needs: 'user' },
  { path: '/task', page: <TasksPage />, load: loadTasks, needs: 'user' },
  { path: '/playground', page: <PlaygroundPage />, load: loadPlayground, needs: 'user' },
  { path: '/token', page: <TokensPage />, load: loadTokens, needs: 'user' },
  { path: '/log', page: <LogsPage />, load: loadLogs, needs: 'user' },
  { path: '/topup', page: <WalletPage />, load: loadWallet, needs: 'user' },
  { path: '/channel', page: <ChannelsPage />, load: loadChannels, needs: 'admin' },
  { path: '/user', page: <UsersPage />, load: loadUsers, needs: 'admin' },
  { path: '/orders', page: <OrdersPage />, load: loadOrders, needs: 'admin' },
  { path: '/redemption', page: <RedemptionPage />, load: loadRedemption, needs: 'admin' },
  { path: '/setting', page: <SettingsPage />, load: loadSettings, needs: 'admin' },
];

/** Fetches the page of an address before anybody has decided to show it. */
export function warmPage(path: string): void {
  const found = pages.find((one) => path === one.path || path.startsWith(`${one.path}/`));
  const load = found === undefined || found.needs === 'nobody' || readUser() !== null ? found?.load : loadLogin;
  void load?.().catch(() => undefined);
}

function Guarded({ page, needs }: Omit<Page, 'load' | 'path'>) {
  const user = useUser();
  if (needs !== 'nobody' && user === null) return <Redirect to="/login" />;
  if (needs === 'admin' && !isAdmin(user)) return <NotFoundPage />;
  return page;
}

export function App() {
  const { t } = useTranslation();
  const status = useStatus();
  if (status.isError) {
    return (
      <main className="grid h-dvh place-items-center gap-3 p-5 text-center">
        <div>
          <p className="mb-3 text-danger">{t('app.unreachable')}</p>
          <button type="button" className="button" onClick={() => status.refetch()}>
            {t('app.retry')}
          </button>
        </div>
      </main>
    );
  }
  if (status.data === undefined) return null;
  const done = status.data.setup === true;
  return (
    <Shell>
      <Suspense fallback={<p className="p-5 text-ink-3">{t('app.loading')}</p>}>
        <Switch>
          <Route path="/setup">{done ? <Redirect to="/" /> : <SetupPage />}</Route>
          {done ? null : (
            <Route>
              <Redirect to="/setup" />
            </Route>
          )}
          <Route path="/oauth/:type">{({ type }) => <CallbackPage type={type} />}</Route>
          <Route path="/chat2link">
            <ChatPage index={0} leave />
          </Route>
          <Route path="/chat/:id?">{({ id }) => <ChatPage key={id} index={Number(id ?? 0)} />}</Route>
          <Route path={/^\/channel(\/(add|edit\/\d+))?\/?$/}>
            <Guarded page={<ChannelsPage />} needs="admin" />
          </Route>
          <Route path={/^\/user(\/edit(\/\d+)?)?\/?$/}>
            <Guarded page={<UsersPage />} needs="admin" />
          </Route>
          {pages.map((one) => (
            <Route key={one.path} path={one.path}>
              <Guarded page={one.page} needs={one.needs} />
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
