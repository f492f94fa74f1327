/** The places of the console, one row each: the sidebar, the breadcrumb, the palette and the jump keys read them. */
import type { User } from '../../server/contract/entities.ts';
import type { IconName } from '../components/icon.tsx';
import { isAdmin } from '../lib/session.ts';
import type { Status } from './status.ts';

export interface Place {
  readonly to: string;
  readonly icon: IconName;
  readonly label: `nav.${'playground' | 'dashboard' | 'account' | 'pricing' | 'drawings' | 'tasks' | 'tokens' | 'logs' | 'channels' | 'redemption' | 'orders' | 'users' | 'settings' | 'wallet'}`;
  readonly group: 'nav.use' | 'nav.console' | 'nav.admin' | 'nav.personal';
  /** Pressed after `g`. */
  readonly jump?: string;
  readonly when?: (status: Status | undefined) => boolean;
}

const places: readonly Place[] = [
  { to: '/playground', icon: 'chat', label: 'nav.playground', group: 'nav.use', jump: 'p' },
  {
    to: '/detail',
    icon: 'chart',
    label: 'nav.dashboard',
    group: 'nav.console',
    jump: 'd',
    when: (status) => status?.enable_data_export === true,
  },
  { to: '/token', icon: 'key', label: 'nav.tokens', group: 'nav.console', jump: 't' },
  { to: '/log', icon: 'log', label: 'nav.logs', group: 'nav.console', jump: 'l' },
  {
    to: '/midjourney',
    icon: 'image',
    label: 'nav.drawings',
    group: 'nav.console',
    when: (status) => status?.enable_drawing === true,
  },
  {
    to: '/task',
    icon: 'task',
    label: 'nav.tasks',
    group: 'nav.console',
    when: (status) => status?.enable_task === true,
  },
  { to: '/channel', icon: 'channel', label: 'nav.channels', group: 'nav.admin', jump: 'c' },
  { to: '/redemption', icon: 'code', label: 'nav.redemption', group: 'nav.admin', jump: 'r' },
  {
    to: '/orders',
    icon: 'wallet',
    label: 'nav.orders',
    group: 'nav.admin',
    jump: 'o',
    when: (status) => status?.self_use_mode_enabled !== true,
  },
  { to: '/user', icon: 'users', label: 'nav.users', group: 'nav.admin', jump: 'u' },
  { to: '/setting', icon: 'gear', label: 'nav.settings', group: 'nav.admin', jump: 's' },
  { to: '/topup', icon: 'wallet', label: 'nav.wallet', group: 'nav.personal', jump: 'w' },
  { to: '/personal', icon: 'person', label: 'nav.account', group: 'nav.personal', jump: 'a' },
];

export const navGroups = ['nav.use', 'nav.console', 'nav.admin', 'nav.personal'] as const;

export const placesFor = (user: User | null, status: Status | undefined): readonly Place[] =>
  user === null
    ? []
    : places.filter(({ group, when }) => (group !== 'nav.admin' || isAdmin(user)) && (when?.(status) ?? true));
