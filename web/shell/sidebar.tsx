/** The places of the console at the left; folded it shows icons with names in tooltips. */
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { Link, useLocation } from 'wouter';
import { Frame } from '../components/frame.tsx';
import { Icon, type IconName } from '../components/icon.tsx';
import { fileAddress } from '../lib/base-path.ts';
import { chatLinks, docsFor, type Status } from '../lib/status.ts';
import { AccountMenu, type AccountMenuProps } from './account-menu.tsx';
import { chapterAt, navGroups, navItems, placeAt } from './nav.ts';
import { useWarnings } from './warnings.ts';

interface ItemProps {
  readonly to: string;
  readonly icon: IconName;
  readonly label: string;
  readonly collapsed: boolean;
  readonly onGo: () => void;
  /** The page in sight belongs to it; absent = its address says so. */
  readonly current?: boolean;
  readonly count?: number | undefined;
  readonly countLabel?: string;
}

function Item({ to, icon, label, collapsed, onGo, current: given, count, countLabel }: ItemProps) {
  const [path] = useLocation();
  const current = given ?? (path === to || (to !== '/' && path.startsWith(`${to}/`)));
  return (
    <Link
      href={to}
      onClick={onGo}
      title={count ? `${label}: ${count} ${countLabel}` : collapsed ? label : undefined}
      aria-current={current ? 'page' : undefined}
      className={`relative my-px flex h-7 items-center gap-2.5 rounded-2 px-2 max-sm:h-11 ${collapsed ? 'justify-center' : ''} ${current ? 'bg-press font-medium text-ink-1 before:absolute before:inset-y-1.5 before:-left-2 before:w-0.5 before:rounded-r-sm before:bg-accent' : 'text-ink-2 hover:bg-hover'}`}
    >
      <span className={current ? 'text-accent-text' : 'text-ink-3'}>
        <Icon name={icon} />
      </span>
      <span className={collapsed ? 'sr-only' : 'truncate'}>{label}</span>
      {count ? (
        <span className={`text-[11px] font-semibold text-danger ${collapsed ? 'absolute top-0 right-0.5' : 'ml-auto'}`}>
          {count}
          <span className="sr-only">{` ${countLabel}`}</span>
        </span>
      ) : null}
    </Link>
  );
}

/** Opens beside the console. */
function DocsItem({ href, collapsed }: { readonly href: string; readonly collapsed: boolean }) {
  const { t } = useTranslation();
  return (
    <a
      href={href}
      target="_blank"
      rel="noreferrer"
      title={collapsed ? t('nav.docs') : undefined}
      className={`my-px flex h-7 items-center gap-2.5 rounded-2 px-2 text-ink-2 hover:bg-hover max-sm:h-11 ${collapsed ? 'justify-center' : ''}`}
    >
      <span className="text-ink-3">
        <Icon name="book" />
      </span>
      <span className={collapsed ? 'sr-only' : 'truncate'}>{t('nav.docs')}</span>
    </a>
  );
}

function Heading({ label, collapsed }: { readonly label: string; readonly collapsed: boolean }) {
  return (
    <h2
      className={`px-2 text-[11px] leading-4 font-medium text-ink-3 ${collapsed ? 'mx-1 mt-3 mb-2 h-px overflow-hidden bg-line' : 'pt-4 pb-1'}`}
    >
      {label}
    </h2>
  );
}

export interface SidebarProps extends AccountMenuProps {
  readonly status: Status | undefined;
  readonly onFold: () => void;
}

export function Sidebar({ user, status, collapsed, onFold, onGo, onLogout }: SidebarProps) {
  const { t } = useTranslation();
  const trouble = useWarnings(user);
  const items = navItems(user, status);
  const [path] = useLocation();
  const here = placeAt(path, items);
  const docs = docsFor(user, status, chapterAt(path));
  const chats = chatLinks(status);
  const unreadable = chats === null;
  useEffect(() => {
    if (unreadable) toast.error(t('chat.parseFailed'));
  }, [unreadable, t]);
  return (
    <nav aria-label={t('app.menu')} className="flex h-full flex-col px-2 pb-2">
      <Link
        href="/"
        onClick={onGo}
        title={collapsed ? status?.system_name : undefined}
        className={`flex h-12 flex-none items-center gap-2.5 px-2 font-semibold text-ink-1 ${collapsed ? 'justify-center' : ''}`}
      >
        <img src={fileAddress(status?.logo || '/logo.svg')} alt="" className="size-5" />
        <span className={collapsed ? 'sr-only' : 'truncate'}>{status?.system_name}</span>
      </Link>
      {/* However low the window is, what folds it and the account stay in sight. */}
      <div className="-mx-2 min-h-0 flex-1 overflow-y-auto px-2">
        {navGroups.map((group) => {
          const inside = items.filter((item) => item.group === group);
          if (inside.length === 0) return null;
          return (
            <div key={group}>
              <Heading label={t(group)} collapsed={collapsed} />
              {inside.map(({ to, icon, label }) => (
                <Item
                  key={to}
                  {...{ to, icon, collapsed, onGo }}
                  label={t(label)}
                  current={to === here?.to}
                  count={to === '/channel' ? trouble : undefined}
                  countLabel={t('nav.autoDisabled')}
                />
              ))}
              {group === 'nav.use'
                ? chats?.map(({ name }, index) => (
                    <Item key={name} to={`/chat/${index}`} icon="chat" label={name} collapsed={collapsed} onGo={onGo} />
                  ))
                : null}
            </div>
          );
        })}
        <div className="xl:hidden">
          <Heading label={t('nav.site')} collapsed={collapsed} />
          <Item to="/" icon="home" label={t('nav.home')} collapsed={collapsed} onGo={onGo} />
          {docs === null ? null : <DocsItem href={docs} collapsed={collapsed} />}
          <Item to="/about" icon="help" label={t('nav.about')} collapsed={collapsed} onGo={onGo} />
        </div>
      </div>
      <div className="grid flex-none gap-1 pt-2">
        <button
          type="button"
          className={`button button-ghost max-sm:hidden ${collapsed ? 'px-0' : 'justify-start px-2'}`}
          aria-pressed={collapsed}
          aria-label={t('nav.fold')}
          title={t('nav.fold')}
          onClick={onFold}
        >
          <Icon name={collapsed ? 'unfold' : 'fold'} />
          {collapsed ? null : <span className="font-normal">{t('nav.fold')}</span>}
        </button>
        <AccountMenu {...{ user, collapsed, onGo, onLogout }} />
        {collapsed ? null : (
          <div className="px-2 text-[11px] leading-4 text-ink-3">
            {status?.footer_html ? (
              <Frame title={t('nav.footer')} content={status.footer_html} small />
            ) : (
              `${t('app.credit')} ${status?.version ?? ''}`
            )}
          </div>
        )}
      </div>
    </nav>
  );
}
