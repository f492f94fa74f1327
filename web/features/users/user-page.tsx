/** One person: what they spent and when, their keys, limits, requests and what was done to the account. */

import { useTranslation } from 'react-i18next';
import { Link, useLocation } from 'wouter';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import type { Log } from '../../../server/contract/entities.ts';
import { statusOf } from '../../../server/contract/log-status.ts';
import { monthAt, type Statement } from '../../../server/contract/statement.ts';
import { storedIn } from '../../../server/contract/stored-texts.ts';
import { Boundary } from '../../components/failure.tsx';
import { PageHead } from '../../components/page.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { dateTime, day, grouped, relative } from '../../lib/format.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { useRead } from '../../lib/read.ts';
import { roleLabel } from '../../lib/session.ts';
import { useMoney } from '../../shell/money.ts';
import { LogStatusMark } from '../logs/log-columns.tsx';
import { keyUsage } from '../tokens/usage.ts';
import { UserStatus } from './user-columns.tsx';

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

function AccountDetails({
  overview: { user, last_seen_time: seen, last_ip: ip },
  month,
}: {
  readonly overview: Overview;
  readonly month: Statement;
}) {
  const { t, i18n } = useTranslation();
  const money = useMoney();
  const details: readonly (readonly [string, string, (string | undefined)?])[] = [
    [t('users.spentMonth'), money(month.total.quota)],
    [t('users.used'), money(user.used_quota)],
    [t('users.quota'), money(user.quota)],
    [t('users.requests'), grouped(user.request_count)],
    [t('users.lastSeen'), seen === 0 ? t('users.never') : relative(seen, i18n.language), ip],
    [t('users.group'), user.group],
  ];
  return (
    <dl className="mb-6 grid grid-cols-2 gap-x-5 gap-y-4 border-y border-line px-5 py-4 sm:grid-cols-3 xl:grid-cols-6">
      {details.map(([name, value, more = '']) => (
        <div key={name}>
          <dt className="text-[12px] text-ink-3">{name}</dt>
          <dd className="text-[16px] leading-6 font-semibold break-words">{value}</dd>
          {more === '' ? null : <dd className="font-mono text-[12px] leading-4 text-ink-3">{more}</dd>}
        </div>
      ))}
    </dl>
  );
}

/** Each day of the month so far, the highest as high as the box. */
function Days({ month }: { readonly month: Statement }) {
  const { t } = useTranslation();
  const money = useMoney();
  const last = Math.min(month.to, Date.now() / 1000);
  const spent = new Map<string, number>();
  for (const line of month.lines) spent.set(line.day, (spent.get(line.day) ?? 0) + line.quota);
  const days = Array.from({ length: Math.floor((last - month.from) / 86_400) + 1 }, (_, at) =>
    new Date((month.from + at * 86_400) * 1000).toISOString().slice(0, 10),
  );
  const max = Math.max(1, ...spent.values());
  if (![...spent.values()].some((one) => one > 0)) return <p className="px-5 text-ink-2">{t('users.nothingSpent')}</p>;
  return (
    <div className="px-5">
      <ul className="flex h-24 items-end gap-px border-b border-line-strong" aria-label={t('users.byDay')}>
        {days.map((one) => (
          <li
            key={one}
            className="flex h-full min-w-0 flex-1 items-end hover:bg-hover"
            title={`${one}: ${money(spent.get(one) ?? 0)}`}
          >
            <span className="sr-only">{`${one}: ${money(spent.get(one) ?? 0)}`}</span>
            <span
              className="block w-full bg-(--data-1)"
              style={{ height: `${((spent.get(one) ?? 0) / max) * 100}%` }}
            />
          </li>
        ))}
      </ul>
      <p className="mt-1 flex justify-between text-[11px] text-ink-3" aria-hidden="true">
        <span>{days[0]?.slice(5)}</span>
        {days.length < 3 ? null : <span>{days[Math.floor(days.length / 2)]?.slice(5)}</span>}
        <span>{days.length < 2 ? null : `${days.at(-1)?.slice(5)} (UTC)`}</span>
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
                  </span>
                </td>
                <td>
                  <span className={statusClasses[key.status as 1 | 2 | 3 | 4]}>
                    {t(`tokens.s${key.status as 1 | 2 | 3 | 4}`)}
                  </span>
                </td>
                <td>
                  {money(used)}{' '}
                  <span className="text-ink-3 max-sm:hidden">
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

function Requests({ username }: { readonly username: string }) {
  const { t } = useTranslation();
  const language = currentLanguage();
  const _money = useMoney();
  const rows = useRead({
    queryKey: ['user-log', username],
    queryFn: () => call('log.list', { p: 1, page_size: maxRows, username }),
  }).data;
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
              <code className="font-mono text-[12px]">{row.action}</code>
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
  const [, navigate] = useLocation();
  const overview = useRead({ queryKey: ['users', 'overview', id], queryFn: () => call('user.overview', { id }) }).data;
  const month = useRead({
    queryKey: ['statement', { user: id }, monthAt(Date.now())],
    queryFn: () => call('statement.get', { user: id, month: monthAt(Date.now()) }),
  }).data;
  if (overview === undefined || month === undefined) return <Waiting />;
  const { user } = overview;
  return (
    <>
      <PageHead title={user.username} count={user.display_name === user.username ? '' : user.display_name}>
        <button type="button" className="button" onClick={() => navigate(`/user/edit/${id}`)}>
          {t('app.edit')}
        </button>
        <Link href={`/statement?user=${id}`} className="button button-primary">
          {t('statement.title')}
        </Link>
      </PageHead>
      <p className="-mt-2 flex flex-wrap items-center gap-x-3 px-5 pb-3 text-[12px] text-ink-2">
        <UserStatus user={user} />
        <span>{t(roleLabel(user.role))}</span>
        {user.email === '' ? null : <span>{user.email}</span>}
        <span className="text-ink-3">#{user.id}</span>
      </p>
      <AccountDetails overview={overview} month={month} />
      <Section title={t('users.byDay')}>
        <Days month={month} />
      </Section>
      <Section title={t('tokens.title')}>
        <Keys keys={overview.keys} />
      </Section>
      <Section
        title={t('logs.title')}
        more={<Link href={`/log?user=${encodeURIComponent(user.username)}`}>{t('users.allRequests')}</Link>}
      >
        <Boundary>
          <Requests username={user.username} />
        </Boundary>
      </Section>
      <Audit audit={overview.audit} />
    </>
  );
}

export function UserPage({ id }: { readonly id: number }) {
  return (
    <Boundary>
      <Person id={id} />
    </Boundary>
  );
}
