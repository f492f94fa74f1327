/** The pages of the console, one row each: the router, the sidebar, the breadcrumb, the palette and the jump keys read them. */
import type { ComponentType } from 'react';
import { type ConsolePage, pageAddresses } from '../../server/contract/console-pages.ts';
import { Role } from '../../server/contract/enum.ts';
import type { IconName } from '../components/icon.tsx';
import type { Status } from '../lib/status.ts';
import type { zh } from '../locales/zh.ts';

/** Services that redirect back to a page of ours. */
const returns: ReadonlySet<string> = new Set(['github', 'oidc', 'linuxdo', 'telegram']);

export interface PageProps {
  /** What the address says in the places the path names. */
  readonly params: Readonly<Record<string, string | undefined>>;
}

/** Whose texts have a title: it is what the menu calls the page, too. */
type TitledPage = {
  [Name in keyof typeof zh]: (typeof zh)[Name] extends { readonly title: string } ? Name : never;
}[keyof typeof zh];

/** How a page is reached from the menu. */
export interface Navigation {
  readonly icon: IconName;
  readonly label: `nav.${keyof typeof zh.nav}` | `${TitledPage}.title`;
  readonly group: 'nav.use' | 'nav.console' | 'nav.admin' | 'nav.personal';
  /** Pressed after `g`. */
  readonly key?: string;
  readonly when?: (status: Status | undefined) => boolean;
}

export interface Page {
  readonly path: ConsolePage;
  /** Fetches the code of the page. */
  readonly load: () => Promise<ComponentType<PageProps>>;
  /** The least role that sees it; a guest has not logged in. */
  readonly needs: typeof Role.guest | typeof Role.user | typeof Role.admin | typeof Role.root;
  readonly navigation?: Navigation;
  /** Of a page that the menu does not have: the one it belongs to. */
  readonly within?: ConsolePage;
  /** The chapter of the documentation about it; absent = its first page. */
  readonly docs?: string;
}

export const pages: readonly Page[] = [
  { path: '/', load: async () => (await import('../features/site/home-page.tsx')).HomePage, needs: Role.guest },
  { path: '/about', load: async () => (await import('../features/site/about-page.tsx')).AboutPage, needs: Role.guest },
  {
    path: '/login',
    load: async () => (await import('../features/account/login-page.tsx')).LoginPage,
    needs: Role.guest,
  },
  {
    path: '/register',
    load: async () => (await import('../features/account/register-page.tsx')).RegisterPage,
    needs: Role.guest,
  },
  {
    path: '/reset',
    load: async () => (await import('../features/account/reset-page.tsx')).ResetPage,
    needs: Role.guest,
  },
  {
    path: '/user/reset',
    load: async () => (await import('../features/account/new-password-page.tsx')).NewPasswordPage,
    needs: Role.guest,
  },
  {
    path: '/oauth/:type',
    load: async () => {
      const { CallbackPage } = await import('../features/account/callback-page.tsx');
      const { NotFoundPage } = await import('../features/site/not-found-page.tsx');
      return ({ params }) =>
        returns.has(params.type ?? '') ? <CallbackPage type={params.type ?? ''} /> : <NotFoundPage />;
    },
    needs: Role.guest,
  },
  {
    path: '/device',
    load: async () => (await import('../features/account/device-page.tsx')).DevicePage,
    needs: Role.user,
    docs: 'agents',
  },
  {
    path: '/first',
    load: async () => (await import('../features/setup/first-page.tsx')).FirstPage,
    needs: Role.admin,
    docs: 'quick-start',
  },
  {
    path: '/key',
    load: async () => (await import('../features/tokens/shared-key-page.tsx')).SharedKeyPage,
    needs: Role.guest,
    docs: 'agents',
  },
  {
    path: '/document',
    load: async () => (await import('../features/links/document-page.tsx')).DocumentPage,
    needs: Role.guest,
  },
  {
    path: '/api-docs',
    load: async () => (await import('../features/api-docs/api-docs-page.tsx')).ApiDocsPage,
    needs: Role.guest,
    docs: 'api',
  },
  {
    path: '/chat2link',
    load: async () => {
      const { ChatPage } = await import('../features/chat/chat-page.tsx');
      return () => <ChatPage index={0} leave />;
    },
    needs: Role.guest,
  },
  {
    path: '/chat/:id?',
    load: async () => {
      const { ChatPage } = await import('../features/chat/chat-page.tsx');
      return ({ params }) => <ChatPage key={params.id} index={Number(params.id ?? 0)} />;
    },
    needs: Role.guest,
  },
  {
    path: '/playground',
    load: async () => (await import('../features/playground/playground-page.tsx')).PlaygroundPage,
    needs: Role.user,
    docs: 'quick-start',
    navigation: { icon: 'chat', label: 'playground.title', group: 'nav.use', key: 'p' },
  },
  {
    path: '/connect',
    load: async () => (await import('../features/tokens/connect-page.tsx')).ConnectPage,
    needs: Role.user,
    docs: 'agents',
    navigation: { icon: 'plug', label: 'connect.title', group: 'nav.use', key: 'b' },
  },
  {
    path: '/pricing',
    load: async () => (await import('../features/pricing/pricing-page.tsx')).PricingPage,
    needs: Role.guest,
    docs: 'billing',
    navigation: { icon: 'tag', label: 'nav.pricing', group: 'nav.use', key: 'm' },
  },
  {
    path: '/detail',
    load: async () => (await import('../features/dashboard/dashboard-page.tsx')).DashboardPage,
    needs: Role.user,
    docs: 'monitoring',
    navigation: {
      icon: 'chart',
      label: 'nav.dashboard',
      group: 'nav.console',
      key: 'd',
      when: (status) => status?.enable_data_export === true,
    },
  },
  {
    path: '/token',
    load: async () => (await import('../features/tokens/tokens-page.tsx')).TokensPage,
    needs: Role.user,
    docs: 'users',
    navigation: { icon: 'key', label: 'tokens.title', group: 'nav.console', key: 't' },
  },
  {
    path: '/log',
    load: async () => (await import('../features/logs/logs-page.tsx')).LogsPage,
    needs: Role.user,
    docs: 'troubleshooting',
    navigation: { icon: 'log', label: 'logs.title', group: 'nav.console', key: 'l' },
  },
  {
    path: '/midjourney',
    load: async () => (await import('../features/tasks/drawings-page.tsx')).DrawingsPage,
    needs: Role.user,
    docs: 'billing',
    navigation: {
      icon: 'image',
      label: 'nav.drawings',
      group: 'nav.console',
      when: (status) => status?.enable_drawing === true,
    },
  },
  {
    path: '/task',
    load: async () => (await import('../features/tasks/tasks-page.tsx')).TasksPage,
    needs: Role.user,
    docs: 'billing',
    navigation: {
      icon: 'task',
      label: 'nav.tasks',
      group: 'nav.console',
      when: (status) => status?.enable_task === true,
    },
  },
  {
    path: '/channel',
    load: async () => (await import('../features/channels/channels-page.tsx')).ChannelsPage,
    needs: Role.admin,
    docs: 'channels',
    navigation: { icon: 'channel', label: 'channels.title', group: 'nav.admin', key: 'c' },
  },
  {
    path: '/virtual-model',
    load: async () => (await import('../features/virtual-models/virtual-models-page.tsx')).VirtualModelsPage,
    needs: Role.admin,
    docs: 'channels',
    navigation: { icon: 'chain', label: 'virtualModels.title', group: 'nav.admin', key: 'v' },
  },
  {
    path: '/redemption',
    load: async () => (await import('../features/redemption/redemption-page.tsx')).RedemptionPage,
    needs: Role.admin,
    docs: 'users',
    navigation: { icon: 'code', label: 'redemption.title', group: 'nav.admin', key: 'r' },
  },
  {
    path: '/orders',
    load: async () => (await import('../features/orders/orders-page.tsx')).OrdersPage,
    needs: Role.admin,
    docs: 'users',
    navigation: {
      icon: 'card',
      label: 'orders.title',
      group: 'nav.admin',
      key: 'o',
      when: (status) => status?.self_use_mode_enabled !== true,
    },
  },
  {
    path: '/budget',
    load: async () => (await import('../features/budgets/budgets-page.tsx')).BudgetsPage,
    needs: Role.admin,
    docs: 'billing',
    navigation: { icon: 'gauge', label: 'budgets.title', group: 'nav.admin', key: 'e' },
  },
  {
    path: '/user',
    load: async () => (await import('../features/users/users-page.tsx')).UsersPage,
    needs: Role.admin,
    docs: 'users',
    navigation: { icon: 'users', label: 'users.title', group: 'nav.admin', key: 'u' },
  },
  {
    path: '/user/:id',
    load: async () => {
      const { UserPage } = await import('../features/users/user-page.tsx');
      return ({ params }) => <UserPage key={params.id} id={Number(params.id) || 0} />;
    },
    needs: Role.admin,
    docs: 'users',
  },
  {
    path: '/nodes',
    load: async () => (await import('../features/nodes/nodes-page.tsx')).NodesPage,
    needs: Role.admin,
    docs: 'several-machines',
    within: '/setting',
    navigation: {
      icon: 'node',
      label: 'nodes.title',
      group: 'nav.admin',
      key: 'n',
      when: (status) => status?.several_nodes === true,
    },
  },
  {
    path: '/alert',
    load: async () => (await import('../features/alerts/rules-page.tsx')).AlertRulesPage,
    needs: Role.admin,
    docs: 'monitoring',
    within: '/setting',
  },
  {
    path: '/audit',
    load: async () => (await import('../features/audit/audit-page.tsx')).AuditPage,
    needs: Role.root,
    docs: 'security',
    navigation: { icon: 'history', label: 'audit.title', group: 'nav.admin', key: 'h' },
  },
  {
    path: '/setting',
    load: async () => (await import('../features/settings/settings-page.tsx')).SettingsPage,
    needs: Role.admin,
    docs: 'options',
    navigation: { icon: 'gear', label: 'settings.title', group: 'nav.admin', key: 's' },
  },
  {
    path: '/topup',
    load: async () => (await import('../features/wallet/wallet-page.tsx')).WalletPage,
    needs: Role.user,
    docs: 'users',
    navigation: { icon: 'wallet', label: 'nav.wallet', group: 'nav.personal', key: 'w' },
  },
  {
    path: '/statement',
    load: async () => (await import('../features/statements/statement-page.tsx')).StatementPage,
    needs: Role.user,
    docs: 'users',
    navigation: { icon: 'receipt', label: 'statement.title', group: 'nav.personal' },
  },
  {
    path: '/invoice',
    load: async () => (await import('../features/invoices/invoice-page.tsx')).InvoicePage,
    needs: Role.user,
    docs: 'users',
    within: '/topup',
  },
  {
    path: '/personal',
    load: async () => (await import('../features/personal/profile-page.tsx')).ProfilePage,
    needs: Role.user,
    docs: 'users',
    navigation: { icon: 'person', label: 'nav.account', group: 'nav.personal', key: 'a' },
  },
];

/** @returns the page that is shown at an address: the login where it needs one. */
export function pageAt(path: string, loggedIn: boolean): Page | undefined {
  const page = pages.find((one) => pageAddresses(one.path).test(path));
  return page === undefined || page.needs === Role.guest || loggedIn
    ? page
    : pages.find((one) => one.path === '/login');
}
