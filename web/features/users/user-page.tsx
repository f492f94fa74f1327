/** One person: what they spent and when, their keys, limits, requests and what was done to the account. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import type { Log } from '../../../server/contract/entities.ts';
import { statusOf } from '../../../server/contract/log-status.ts';
import { monthAt, type Statement } from '../../../server/contract/statement.ts';
import { storedIn } from '../../../server/contract/stored-texts.ts';
import { Boundary } from '../../components/failure.tsx';
import { Icon } from '../../components/icon.tsx';
import { BuyerCard } from '../../components/invoices/buyer.tsx';
import { LogStatusMark } from '../../components/log-status.tsx';
import { PageHead } from '../../components/page.tsx';
import { Programs } from '../../components/programs.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { dateTime, day, grouped, relative } from '../../lib/format.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { keyUsage } from '../../lib/key-usage.ts';
import { useMoney } from '../../lib/money.ts';
import { useOptionalRead, useRead } from '../../lib/read.ts';
import { roleLabel } from '../../lib/session.ts';
import { MissingUser } from './missing-user.tsx';
import { GroupMark, UserStatus } from './user-columns.tsx';
import { UserDrawer } from './user-drawer.tsx';

type Overview = OutputOf<EndpointOf<'user.overview'>>;
const maxRows = 10;
const statusClasses = { 1: 'status', 2: 'status status-off', 3: 'status status-bad', 4: 'status status-bad' } as const;

function Section({
  title,
  more,
  children,
}: {
  readonly title: string;
  readonly more?: React.ReactNode;
  readonly children: React.ReactNode;
}) {
  return (
    <section className="mb-6">
      <h2 className="mb-2 flex items-baseline gap-3 px-5 font-semibold">
        {title}
        <span className="text-[12px] font-normal">{more}</span>
      </h2>
      {children}
    </section>
  );
}

interface FiguresProps {
  readonly overview: Overview;
  readonly month: Statement;
  /** Epoch seconds, 0 = none. */
  readonly lastRequest: number;
}

/** What there is and what was spent in large letters, when something was done in small ones. */
function Figures({ overview, month, lastRequest }: FiguresProps) {
  const { t, i18n } = useTranslation();
  const money = useMoney();
  const { user, last_login_time: login, last_ip: ip, low_balance_below: limit } = overview;
  const low = user.quota < limit;
  const when = (at: number, none: string) =>
    at === 0 ? (
      <span className="text-ink-3">{none}</span>
    ) : (
      <span title={dateTime(at)}>{relative(at, i18n.language)}</span>
    );
  const amounts: readonly (readonly [name: string, value: string, note?: string])[] = [
    [t('users.quota'), money(user.quota), low ? t('users.low', { limit: money(limit) }) : ''],
    [t('users.spentMonth'), money(month.total.quota)],
    [t('users.usedAll'), money(user.used_quota)],
    [t('users.requests'), grouped(user.request_count)],
  ];
  const times: (readonly [name: string, value: React.ReactNode])[] = [
    [t('users.lastRequest'), when(lastRequest, t('users.noRequest'))],
    [t('users.lastLogin'), when(login, t('users.noLogin'))],
  ];
  if (ip !== '') times.push([t('users.lastIp'), ip]);
  return (
    <div className="mb-6 border-y border-line px-5 py-4">
      <dl className="grid grid-cols-2 gap-x-5 gap-y-4 sm:grid-cols-4">
        {amounts.map(([name, value, note = '']) => (
          <div key={name}>
            <dt className="text-[12px] text-ink-3">{name}</dt>
            <dd className={`text-[20px] leading-7 font-semibold break-words ${note === '' ? '' : 'text-danger'}`}>
              {value}
            </dd>
            {note === '' ? null : <dd className="text-[12px] leading-4 text-danger">{note}</dd>}
          </div>
        ))}
      </dl>
      <dl className="mt-3 flex flex-wrap gap-x-6 gap-y-1">
        {times.map(([name, value]) => (
          <div key={name} className="flex flex-wrap gap-x-2">
            <dt className="text-ink-3">{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/** Days of the month shown at least, so that bars stay bars. */
const leastDays = 14;

/** Each day since the first of this month on which something was spent, the highest as high as the box; what that is stands at its line. */
function Days({ month }: { readonly month: Statement }) {
  const { t } = useTranslation();
  const money = useMoney();
  const last = Math.min(month.to, Date.now() / 1000);
  const spent = new Map<string, number>();
  for (const line of month.lines) spent.set(line.day, (spent.get(line.day) ?? 0) + line.quota);
  const whole = Array.from({ length: Math.floor((last - month.from) / 86_400) + 1 }, (_, at) =>
    new Date((month.from + at * 86_400) * 1000).toISOString().slice(0, 10),
  );
  // Nothing was spent before the first day: empty days there would only squeeze the others.
  const first = whole.findIndex((one) => (spent.get(one) ?? 0) > 0);
  const days = whole.slice(Math.min(Math.max(0, first), Math.max(0, whole.length - leastDays)));
  const max = Math.max(1, ...spent.values());
  if (![...spent.values()].some((one) => one > 0)) return <p className="px-5 text-ink-2">{t('users.nothingSpent')}</p>;
  const peak = days.find((one) => spent.get(one) === max) ?? '';
  const today = days.at(-1) ?? '';
  return (
    <div className="px-5">
      <p className="mb-2 flex flex-wrap gap-x-5 text-[12px] text-ink-2">
        <span>{t('users.today', { amount: money(spent.get(today) ?? 0) })}</span>
        <span>{t('users.peak', { amount: money(max), day: peak.slice(5) })}</span>
        <span className="text-ink-3">UTC</span>
      </p>
      <div className="relative border-t border-dashed border-line">
        <span className="absolute top-0 left-0 bg-surface pr-1.5 text-[11px] leading-4 text-ink-3" aria-hidden="true">
          {money(max)}
        </span>
        <ul className="flex h-24 items-end gap-px border-b border-line-strong" aria-label={t('users.byDay')}>
          {days.map((one) => (
            <li
              key={one}
              className="flex h-full min-w-0 flex-1 items-end hover:bg-hover"
              title={`${one}: ${money(spent.get(one) ?? 0)}`}
            >
              <span className="sr-only">{`${one}: ${money(spent.get(one) ?? 0)}`}</span>
              <span
                className="mx-auto block w-full max-w-12 bg-(--data-1)"
                // Refunds may exceed what was spent on a day.
                style={{ height: `${Math.max(0, ((spent.get(one) ?? 0) / max) * 100)}%` }}
              />
            </li>
          ))}
        </ul>
      </div>
      <p className="mt-1 flex text-[11px] text-ink-3" aria-hidden="true">
        {days.map((one, at) => (
          <span key={one} className="flex min-w-0 flex-1 justify-center whitespace-nowrap">
            {[0, Math.floor(days.length / 2), days.length - 1].includes(at) ? one.slice(5) : null}
          </span>
        ))}
      </p>
    </div>
  );
}

function Keys({ keys }: Pick<Overview, 'keys'>) {
  const { t, i18n } = useTranslation();
  const money = useMoney();
  if (keys.length === 0) return <p className="px-5 text-ink-2">{t('users.noKeys')}</p>;
  return (
    <div className="overflow-x-auto">
      <table className="sheet-table">
        <caption className="sr-only">{t('tokens.title')}</caption>
        <thead>
          <tr>
            <th scope="col">{t('tokens.name')}</th>
            <th scope="col">{t('tokens.status')}</th>
            <th scope="col">{t('tokens.spent')}</th>
            <th scope="col" className="max-sm:hidden">
              {t('tokens.lastUsed')}
            </th>
            <th scope="col" className="max-sm:hidden">
              {t('tokens.expires')}
            </th>
            <th scope="col">
              <span className="sr-only">{t('statement.title')}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => {
            const { spend, used, limit } = keyUsage(key);
            return (
              <tr key={key.id}>
                <td>
                  <span className="block py-1.5 whitespace-normal">
                    {key.name} <span className="block font-mono text-[12px] text-ink-3">{key.key}</span>
                    {/* On a phone it has no column of its own. */}
                    <span className="block text-[12px] text-ink-3 sm:hidden">
                      {key.accessed_time === 0 ? t('tokens.notUsed') : relative(key.accessed_time, i18n.language)}
                    </span>
                  </span>
                </td>
                <td>
                  <span className={statusClasses[key.status as 1 | 2 | 3 | 4]}>
                    {t(`tokens.s${key.status as 1 | 2 | 3 | 4}`)}
                  </span>
                </td>
                <td>
                  {money(used)}{' '}
                  <span className="text-ink-3 max-sm:block max-sm:text-[12px]">
                    {spend === 'none' ? t('tokens.spentNone') : t(`tokens.spentOf.${spend}`, { limit: money(limit) })}
                  </span>
                </td>
                <td className="max-sm:hidden">
                  {key.accessed_time === 0
                    ? t('tokens.notUsed')
                    : `${relative(key.accessed_time, i18n.language)}${key.last_ip === '' ? '' : ` · ${key.last_ip}`}`}
                </td>
                <td className="max-sm:hidden">
                  {key.expired_time === -1 ? t('tokens.never') : day(key.expired_time, i18n.language)}
                </td>
                <td className="number">
                  <Link href={`/statement?token=${key.id}`}>{t('statement.title')}</Link>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** What a request took and cost; an event, as a top-up is one, did neither. */
function FiguresOf({ row }: { readonly row: Log }) {
  const money = useMoney();
  const isEvent = statusOf(row) === 'event';
  return (
    <>
      <td className="number max-lg:hidden">{isEvent ? null : grouped(row.prompt_tokens)}</td>
      <td className="number max-lg:hidden">{isEvent ? null : grouped(row.completion_tokens)}</td>
      <td className="number">{isEvent ? null : money(row.quota, 'exact')}</td>
    </>
  );
}

const logOf = (username: string) => ({
  queryKey: ['user-log', username],
  queryFn: () => call('log.list', { p: 1, page_size: maxRows, username }),
});

function Requests({ username }: { readonly username: string }) {
  const { t } = useTranslation();
  const language = currentLanguage();
  const rows = useRead(logOf(username)).data;
  if (rows === undefined) return <Waiting />;
  if (rows.items.length === 0) return <p className="px-5 text-ink-2">{t('users.noRequests')}</p>;
  return (
    <table className="sheet-table dense">
      <caption className="sr-only">{t('logs.title')}</caption>
      <thead>
        <tr>
          <th scope="col">{t('logs.time')}</th>
          <th scope="col" className="max-sm:hidden">
            {t('logs.ended')}
          </th>
          <th scope="col">{t('logs.model')}</th>
          <th scope="col" className="max-sm:hidden">
            {t('logs.token')}
          </th>
          <th scope="col" className="number max-lg:hidden">
            {t('logs.prompt')}
          </th>
          <th scope="col" className="number max-lg:hidden">
            {t('logs.completion')}
          </th>
          <th scope="col" className="number">
            {t('logs.cost')}
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.items.map((row) => (
          <tr key={row.id}>
            <td>
              <Link href={`/log?open=${row.id}`} className="font-mono text-[12px]">
                <span className="max-sm:hidden">{dateTime(row.created_at).slice(0, 5)}</span>
                {dateTime(row.created_at).slice(5)}
              </Link>
            </td>
            <td className="max-sm:hidden">
              <LogStatusMark log={row} t={t} />
            </td>
            <td className="break-all whitespace-normal">
              {row.model_name === '' ? row.content : <code className="font-mono text-[12px]">{row.model_name}</code>}
            </td>
            <td className="text-ink-2 max-sm:hidden">{storedIn(row.token_name, language)}</td>
            <FiguresOf row={row} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Audit({ audit }: Pick<Overview, 'audit'>) {
  const { t } = useTranslation();
  if (audit === null) return null;
  return (
    <Section title={t('users.audit')}>
      {audit.length === 0 ? (
        <p className="px-5 text-ink-2">{t('users.noAudit')}</p>
      ) : (
        <ul className="grid gap-1 px-5">
          {audit.map((row) => (
            <li key={row.id} className="flex flex-wrap gap-x-3">
              <span className="text-ink-3">{dateTime(row.created_at)}</span>
              <span title={row.action}>{row.action_label}</span>
              <span>{row.actor}</span>
              <span className="text-ink-3">{row.ip}</span>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function Person({ id }: { readonly id: number }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [editing, setEditing] = useState(false);
  const overview = useRead({ queryKey: ['users', 'overview', id], queryFn: () => call('user.overview', { id }) }).data;
  const month = useRead({
    queryKey: ['statement', { user: id }, monthAt(Date.now())],
    queryFn: () => call('statement.get', { user: id, month: monthAt(Date.now()) }),
  }).data;
  const username = overview?.user.username ?? '';
  const log = useOptionalRead({ ...logOf(username), enabled: username !== '' }).data;
  const groups = useOptionalRead({ queryKey: ['groups'], queryFn: () => call('group.list') }).data ?? [];
  if (overview === undefined || month === undefined) return <Waiting />;
  const { user, keys } = overview;
  const lastRequest = Math.max(
    log?.items.find((row) => statusOf(row) !== 'event')?.created_at ?? 0,
    ...keys.map(({ accessed_time: at }) => at),
  );
  return (
    <>
      <PageHead title={user.username} count={user.display_name === user.username ? '' : user.display_name}>
        <button type="button" className="button" onClick={() => setEditing(true)}>
          {t('app.edit')}
        </button>
        <button type="button" className="button button-primary" onClick={() => setEditing(true)}>
          <Icon name="plus" />
          {t('users.addQuota')}
        </button>
      </PageHead>
      <p className="-mt-2 flex flex-wrap items-center gap-x-3 px-5 pb-3 text-[12px] text-ink-2">
        <UserStatus user={user} />
        <span>{t(roleLabel(user.role))}</span>
        <span>
          {t('users.group')} <GroupMark name={user.group} />
        </span>
        {user.email === '' ? null : <span>{user.email}</span>}
        <span className="text-ink-3">#{user.id}</span>
      </p>
      <Figures overview={overview} month={month} lastRequest={lastRequest} />
      <Section title={t('users.byDay')} more={<Link href={`/statement?user=${id}`}>{t('statement.title')}</Link>}>
        <Days month={month} />
      </Section>
      <Section title={t('tokens.title')}>
        <Keys keys={keys} />
      </Section>
      <div className="px-5 *:mb-6">
        <Boundary>
          <Programs userId={id} />
        </Boundary>
      </div>
      <div className="mb-6 max-w-[640px] px-5">
        <Boundary>
          <BuyerCard
            userId={id}
            more={
              <Link className="text-[12px]" href={`/orders?view=invoices&q=${encodeURIComponent(user.username)}`}>
                {t('invoices.title')}
              </Link>
            }
          />
        </Boundary>
      </div>
      <Section
        title={t('logs.title')}
        more={<Link href={`/log?user=${encodeURIComponent(user.username)}`}>{t('users.allRequests')}</Link>}
      >
        <Boundary>
          <Requests username={user.username} />
        </Boundary>
      </Section>
      <Audit audit={overview.audit} />
      {editing ? (
        <UserDrawer
          user={user}
          groups={groups}
          onClose={() => setEditing(false)}
          onSaved={() => {
            setEditing(false);
            void client.invalidateQueries({ queryKey: ['users'] });
          }}
        />
      ) : null}
    </>
  );
}

export function UserPage({ id }: { readonly id: number }) {
  return (
    <Boundary missing={(text) => <MissingUser id={id} text={text} />}>
      <Person id={id} />
    </Boundary>
  );
}
