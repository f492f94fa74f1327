/** One table of routes; pages load when they are opened. */
import { lazy, type ReactNode, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { Redirect, Route, Switch } from 'wouter';
import { isAdmin, useUser } from '../lib/session.ts';
import { Shell } from '../shell/shell.tsx';
import { useStatus } from '../shell/status.ts';

const ChannelsPage = lazy(() =>
  import('../features/channels/channels-page.tsx').then((module) => ({ default: module.ChannelsPage })),
);
const TokensPage = lazy(() =>
  import('../features/tokens/tokens-page.tsx').then((module) => ({ default: module.TokensPage })),
);
const UsersPage = lazy(() =>
  import('../features/users/users-page.tsx').then((module) => ({ default: module.UsersPage })),
);
const RedemptionPage = lazy(() =>
  import('../features/redemption/redemption-page.tsx').then((module) => ({ default: module.RedemptionPage })),
);
const OrdersPage = lazy(() =>
  import('../features/orders/orders-page.tsx').then((module) => ({ default: module.OrdersPage })),
);
const WalletPage = lazy(() =>
  import('../features/wallet/wallet-page.tsx').then((module) => ({ default: module.WalletPage })),
);
const SettingsPage = lazy(() =>
  import('../features/settings/settings-page.tsx').then((module) => ({ default: module.SettingsPage })),
);
const DashboardPage = lazy(() =>
  import('../features/dashboard/dashboard-page.tsx').then((module) => ({ default: module.DashboardPage })),
);
const PricingPage = lazy(() =>
  import('../features/pricing/pricing-page.tsx').then((module) => ({ default: module.PricingPage })),
);
const DrawingsPage = lazy(() =>
  import('../features/works/drawings-page.tsx').then((module) => ({ default: module.DrawingsPage })),
);
const TasksPage = lazy(() =>
  import('../features/works/tasks-page.tsx').then((module) => ({ default: module.TasksPage })),
);
const PersonalPage = lazy(() =>
  import('../features/personal/personal-page.tsx').then((module) => ({ default: module.PersonalPage })),
);
const ApiDocsPage = lazy(() =>
  import('../features/api-docs/api-docs-page.tsx').then((module) => ({ default: module.ApiDocsPage })),
);
const ChatPage = lazy(() => import('../features/chat/chat-page.tsx').then((module) => ({ default: module.ChatPage })));
const PlaygroundPage = lazy(() =>
  import('../features/playground/playground-page.tsx').then((module) => ({ default: module.PlaygroundPage })),
);
const LogsPage = lazy(() => import('../features/logs/logs-page.tsx').then((module) => ({ default: module.LogsPage })));
const LoginPage = lazy(() =>
  import('../features/account/login-page.tsx').then((module) => ({ default: module.LoginPage })),
);
const RegisterPage = lazy(() =>
  import('../features/account/register-page.tsx').then((module) => ({ default: module.RegisterPage })),
);
const ResetPage = lazy(() =>
  import('../features/account/reset-page.tsx').then((module) => ({ default: module.ResetPage })),
);
const NewPasswordPage = lazy(() =>
  import('../features/account/new-password-page.tsx').then((module) => ({ default: module.NewPasswordPage })),
);
const CallbackPage = lazy(() =>
  import('../features/account/callback-page.tsx').then((module) => ({ default: module.CallbackPage })),
);
const SetupPage = lazy(() =>
  import('../features/setup/setup-page.tsx').then((module) => ({ default: module.SetupPage })),
);
const HomePage = lazy(() => import('../features/site/home-page.tsx').then((module) => ({ default: module.HomePage })));
const AboutPage = lazy(() =>
  import('../features/site/about-page.tsx').then((module) => ({ default: module.AboutPage })),
);
const NotFoundPage = lazy(() =>
  import('../features/site/not-found-page.tsx').then((module) => ({ default: module.NotFoundPage })),
);

interface Page {
  readonly path: string;
  readonly page: ReactNode;
  readonly needs: 'nobody' | 'user' | 'admin';
}

const pages: readonly Page[] = [
  { path: '/', page: <HomePage />, needs: 'nobody' },
  { path: '/about', page: <AboutPage />, needs: 'nobody' },
  { path: '/login', page: <LoginPage />, needs: 'nobody' },
  { path: '/register', page: <RegisterPage />, needs: 'nobody' },
  { path: '/reset', page: <ResetPage />, needs: 'nobody' },
  { path: '/user/reset', page: <NewPasswordPage />, needs: 'nobody' },
  { path: '/api-docs', page: <ApiDocsPage />, needs: 'nobody' },
  { path: '/pricing', page: <PricingPage />, needs: 'nobody' },
  { path: '/detail', page: <DashboardPage />, needs: 'user' },
  { path: '/personal', page: <PersonalPage />, needs: 'user' },
  { path: '/midjourney', page: <DrawingsPage />, needs: 'user' },
  { path: '/task', page: <TasksPage />, needs: 'user' },
  { path: '/playground', page: <PlaygroundPage />, needs: 'user' },
  { path: '/token', page: <TokensPage />, needs: 'user' },
  { path: '/log', page: <LogsPage />, needs: 'user' },
  { path: '/topup', page: <WalletPage />, needs: 'user' },
  { path: '/orders', page: <OrdersPage />, needs: 'admin' },
  { path: '/redemption', page: <RedemptionPage />, needs: 'admin' },
  { path: '/setting', page: <SettingsPage />, needs: 'admin' },
];

function Guarded({ page, needs }: Page) {
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
            <Guarded path="/channel" page={<ChannelsPage />} needs="admin" />
          </Route>
          <Route path={/^\/user(\/edit(\/\d+)?)?\/?$/}>
            <Guarded path="/user" page={<UsersPage />} needs="admin" />
          </Route>
          {pages.map((one) => (
            <Route key={one.path} path={one.path}>
              <Guarded {...one} />
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
