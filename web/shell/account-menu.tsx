/** Who is logged in, at the foot of the sidebar: the own account, and the way out. */
import { useTranslation } from 'react-i18next';
import type { User } from '../../server/contract/entities.ts';
import { Icon } from '../components/icon.tsx';
import { LazyMenu } from '../components/lazy-menu.tsx';
import { roleLabel } from '../lib/session.ts';

export interface AccountMenuProps {
  readonly user: User;
  readonly collapsed: boolean;
  readonly onGo: () => void;
  readonly onLogout: () => void;
}

export function AccountMenu({ user, collapsed, onGo, onLogout }: AccountMenuProps) {
  const { t } = useTranslation();
  return (
    <LazyMenu
      button={{
        className: `flex h-11 items-center gap-2 rounded-2 border-t border-line px-2 text-left hover:bg-hover ${collapsed ? 'justify-center' : ''}`,
        content: (
          <>
            <span
              title={collapsed ? user.username : undefined}
              className="grid size-6 flex-none place-items-center rounded-2 bg-accent-soft text-[11px] font-semibold text-accent-text uppercase"
            >
              {user.username.slice(0, 1)}
            </span>
            <span className={collapsed ? 'sr-only' : 'min-w-0'}>
              <span className="block truncate leading-4">{user.username}</span>
              <span className="block text-[11px] leading-4 text-ink-3">{t(roleLabel(user.role))}</span>
            </span>
          </>
        ),
      }}
      anchor="top start"
      width="w-44"
      items={[
        {
          id: 'account',
          href: '/personal',
          onPick: onGo,
          content: (
            <>
              <Icon name="person" />
              {t('nav.account')}
            </>
          ),
        },
        {
          id: 'out',
          onPick: onLogout,
          content: (
            <>
              <Icon name="out" />
              {t('app.logout')}
            </>
          ),
        },
      ]}
    />
  );
}
