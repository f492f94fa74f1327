/** A month's bill, to be looked through, printed or sent: each line leads to its requests. */

import { Fragment, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { Link } from 'wouter';
import { monthAt, periodName, type Statement, type StatementLine } from '../../../server/contract/statement.ts';
import { Empty } from '../../components/empty.tsx';
import { Boundary } from '../../components/failure.tsx';
import { Icon } from '../../components/icon.tsx';
import { LazyMenu } from '../../components/lazy-menu.tsx';
import { LinkSheet } from '../../components/link-sheet.tsx';
import { PageHead } from '../../components/page.tsx';
import { StatementPaper } from '../../components/paper/statement-paper.tsx';
import { Select } from '../../components/select.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { download } from '../../lib/download.ts';
import { grouped } from '../../lib/format.ts';
import { useMoney } from '../../lib/money.ts';
import { useNarrow } from '../../lib/narrow.ts';
import { useOptionalRead, useRead } from '../../lib/read.ts';
import { isAdmin, useUser } from '../../lib/session.ts';
import { type Url, useUrl } from '../../lib/url.ts';
import { ScheduleSheet } from './schedule-sheet.tsx';
import { allDivisions, type Division, divisionIn, divisions, Shares } from './shares.tsx';

type StatementScope = Partial<Record<'user' | 'token', number>> & Partial<Record<'tag' | 'label' | 'project', string>>;

/** How far back months are offered. */
const maxMonths = 24;

const monthsUntil = (now: number): readonly string[] =>
  Array.from({ length: maxMonths }, (_, back) => {
    const at = new Date(now);
    return monthAt(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - back, 1));
  });

function scopeIn(url: Pick<Url, 'get'>): StatementScope {
  const [user, token] = [Number(url.get('user')), Number(url.get('token'))];
  if (token > 0) return { token };
  const whose = user > 0 ? { user } : {};
  for (const name of ['tag', 'label', 'project'] as const)
    if (url.get(name) !== '') return { [name]: url.get(name), ...(name === 'tag' ? {} : whose) };
  return whose;
}

const secondsOfDay = 86_400;

/** The rows of the log that a line is the sum of. */
export function logLinkOf(statement: Statement, line: StatementLine, admin: boolean): string {
  const from = Date.parse(line.day) / 1000;
  const query = new URLSearchParams({
    type: line.refund ? '4' : '2',
    model: line.model,
    from: String(from),
    to: String(from + secondsOfDay - 1),
  });
  // A refund does not name the key.
  if (statement.of === 'token' && !line.refund) query.set('token', statement.name);
  if (statement.of === 'label') query.set('label', statement.name);
  // Nor what its request was called.
  if (statement.of === 'project' && !line.refund) query.set('project', statement.name);
  if (admin && statement.username !== '') query.set('user', statement.username);
  return `/log?${query}`;
}

function exported(scope: StatementScope, month: string): Promise<void> {
  const query = new URLSearchParams(Object.entries({ ...scope, month }).map(([name, value]) => [name, String(value)]));
  return download(`/api/statement/export?${query}`, 'statement.csv');
}

type Sums = Statement['total'];

const sumOf = (lines: readonly StatementLine[]): Sums => {
  const add = (key: keyof Sums): number => lines.reduce((sum, line) => sum + line[key], 0);
  return {
    requests: add('requests'),
    prompt_tokens: add('prompt_tokens'),
    completion_tokens: add('completion_tokens'),
    quota: add('quota'),
  };
};

function Totals({ of }: { readonly of: Sums }) {
  const money = useMoney();
  return (
    <>
      <td className="number max-sm:hidden">{grouped(of.requests)}</td>
      <td className="number max-sm:hidden">{grouped(of.prompt_tokens)}</td>
      <td className="number max-sm:hidden">{grouped(of.completion_tokens)}</td>
      <td className="number">{money(of.quota, 'exact')}</td>
    </>
  );
}

/** On a phone: what its columns say where there is room for them. */
function Counts({ of }: { readonly of: Sums }) {
  const { t } = useTranslation();
  return (
    <span className="block text-[12px] leading-4 font-normal whitespace-normal text-ink-3 sm:hidden">
      {t('statement.counts', {
        count: of.requests,
        requests: grouped(of.requests),
        input: grouped(of.prompt_tokens),
        output: grouped(of.completion_tokens),
      })}
    </span>
  );
}

/** The month in four figures, before its lines. */
function Summary({ statement }: { readonly statement: Statement }) {
  const { t } = useTranslation();
  const money = useMoney();
  const { total } = statement;
  const figures = [
    ['statement.requests', total.requests],
    ['statement.input', total.prompt_tokens],
    ['statement.output', total.completion_tokens],
  ] as const;
  return (
    <dl className="mb-4 flex flex-wrap gap-x-10 gap-y-3">
      <div className="max-sm:basis-full">
        <dt className="text-[12px] text-ink-3">{t('statement.total')}</dt>
        <dd className="text-[28px] leading-9 font-semibold">{money(total.quota, 'cents')}</dd>
      </div>
      {figures.map(([label, value]) => (
        <div key={label}>
          <dt className="text-[12px] text-ink-3">{t(label)}</dt>
          <dd className="text-[16px] leading-7 font-medium sm:leading-9">{grouped(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

export function StatementSheet({ statement, admin }: { readonly statement: Statement; readonly admin: boolean }) {
  const { t } = useTranslation();
  const days = Map.groupBy(statement.lines, (line) => line.day);
  return (
    <article className="statement px-5 pb-4">
      <header className="mb-3">
        <p className="text-ink-2">
          {t(`statement.of.${statement.of}`, { name: statement.name, user: statement.username })}
          {statement.of !== 'label' && statement.of !== 'project'
            ? ''
            : statement.username === '' || !admin
              ? ''
              : ` · ${t('statement.of.user', { name: statement.username })}`}
        </p>
      </header>
      {statement.lines.length === 0 ? (
        <Empty text={t('statement.empty')} />
      ) : (
        <>
          <Summary statement={statement} />
          {/* From edge to edge, as every table. */}
          <div className="-mx-5">
            <table className="sheet-table">
              <caption className="sr-only">{t('statement.title')}</caption>
              <thead>
                <tr>
                  <th scope="col">{t('statement.model')}</th>
                  <th scope="col" className="number max-sm:hidden">
                    {t('statement.requests')}
                  </th>
                  <th scope="col" className="number max-sm:hidden">
                    {t('statement.input')}
                  </th>
                  <th scope="col" className="number max-sm:hidden">
                    {t('statement.output')}
                  </th>
                  <th scope="col" className="number">
                    {t('statement.amount')}
                  </th>
                </tr>
              </thead>
              <tbody>
                {[...days].map(([day, lines]) => (
                  <Fragment key={day}>
                    <tr className="font-medium [&>*]:bg-sunken">
                      <th scope="rowgroup" className="border-t-0">
                        {day}
                      </th>
                      <Totals of={sumOf(lines)} />
                    </tr>
                    {lines.map((line) => (
                      <tr key={`${line.model} ${line.refund}`}>
                        <td className="break-all whitespace-normal max-sm:py-1.5">
                          <Link href={logLinkOf(statement, line, admin)}>
                            {line.refund ? t('statement.refund', { model: line.model }) : line.model}
                          </Link>
                          <Counts of={line} />
                        </td>
                        <Totals of={line} />
                      </tr>
                    ))}
                  </Fragment>
                ))}
              </tbody>
              <tfoot>
                <tr className="font-semibold">
                  <th scope="row">
                    {t('statement.total')}
                    <Counts of={statement.total} />
                  </th>
                  <Totals of={statement.total} />
                </tr>
              </tfoot>
            </table>
          </div>
        </>
      )}
      {statement.lines.length === 0 ? null : (
        <p className="mt-4 max-w-4xl text-[12px] leading-4 text-ink-3">{t('statement.formula')}</p>
      )}
    </article>
  );
}

/** Recomputes every charge of the month from its own row. */
function Check({ scope, month }: { readonly scope: StatementScope; readonly month: string }) {
  const { t } = useTranslation();
  const [found, setFound] = useState<Statement['check']>(null);
  const [busy, setBusy] = useState(false);
  const check = async () => {
    setBusy(true);
    await attempt(async () => setFound((await call('statement.get', { ...scope, month, check: true })).check));
    setBusy(false);
  };
  return (
    <div className="statement-bar flex flex-wrap items-center gap-x-3 gap-y-2 px-5 pb-6">
      <button type="button" className="button" disabled={busy} onClick={check}>
        {t('statement.check')}
      </button>
      <span role="status">
        {found === null ? null : (
          <span className={found.unequal === 0 ? 'status' : 'status status-bad'}>
            {found.unequal === 0
              ? t('statement.checked', { count: found.checked })
              : t('statement.unequal', { count: found.unequal })}
          </span>
        )}
      </span>
      <p className="basis-full text-[12px] leading-4 text-ink-3">{t('statement.checkHelp')}</p>
    </div>
  );
}

/** What is done with this month's document: links to it, and its mails. */
function Sheets({ scope, month, open, onClose }: SheetsProps) {
  const name = useOptionalRead({
    queryKey: ['statement', scope, month],
    queryFn: () => call('statement.get', { ...scope, month }),
  }).data?.name;
  if (open === null || name === undefined) return null;
  return open === 'link' ? (
    // The title is what the server calls it.
    <LinkSheet of={{ ...scope, month }} title={`${month} ${name}`} onClose={onClose} />
  ) : (
    <ScheduleSheet scope={scope} name={name} onClose={onClose} />
  );
}

interface SheetsProps {
  readonly scope: StatementScope;
  readonly month: string;
  readonly open: 'link' | 'mail' | null;
  readonly onClose: () => void;
}

function Month({ scope, month }: { readonly scope: StatementScope; readonly month: string }) {
  const admin = isAdmin(useUser());
  const statement = useRead({
    queryKey: ['statement', scope, month],
    queryFn: () => call('statement.get', { ...scope, month }),
  }).data;
  if (statement === undefined) return <Waiting />;
  return (
    <>
      <StatementSheet statement={statement} admin={admin} />
      {/* What is printed instead. */}
      <div className="hidden print:block">
        <StatementPaper statement={statement} />
      </div>
      {statement.lines.length === 0 ? null : <Check scope={scope} month={month} />}
    </>
  );
}

interface MonthSelectProps {
  readonly month: string;
  readonly onChange: (month: string) => void;
}

function MonthSelect({ month, onChange }: MonthSelectProps) {
  const { t, i18n } = useTranslation();
  const months = monthsUntil(Date.now());
  return (
    <Select
      label={t('statement.month')}
      value={month}
      options={(months.includes(month) ? months : [month, ...months]).map((one) => [
        one,
        periodName(one, i18n.language),
      ])}
      onChange={onChange}
    />
  );
}

interface DivisionSelectProps {
  readonly division: Division | '';
  readonly admin: boolean;
  readonly onChange: (division: string) => void;
}

function DivisionSelect({ division, admin, onChange }: DivisionSelectProps) {
  const { t } = useTranslation();
  const options = [...divisions, ...(admin ? allDivisions : [])] as const;
  return (
    <Select<Division | ''>
      label={t('statement.divide')}
      value={division}
      options={[['', t('statement.by.day')], ...options.map((one) => [one, t(`statement.by.${one}`)] as const)]}
      onChange={onChange}
    />
  );
}

export function StatementPage() {
  const { t } = useTranslation();
  const url = useUrl();
  const scope = scopeIn(url);
  const me = useUser();
  const admin = isAdmin(me);
  const isAccount =
    scope.token === undefined && scope.tag === undefined && scope.label === undefined && scope.project === undefined;
  const division = isAccount ? divisionIn(url.get('by'), admin) : '';
  const month = url.get('month') || monthAt(Date.now());
  const narrow = useNarrow();
  const [open, setOpen] = useState<SheetsProps['open']>(null);
  const exportCsv = () => void exported(scope, month).catch((error: Error) => toast.error(error.message));
  const choices = (
    <span className="flex flex-wrap items-center gap-2">
      <MonthSelect month={month} onChange={(selected) => url.set('month', selected)} />
      {isAccount ? (
        <DivisionSelect division={division} admin={admin} onChange={(selected) => url.set('by', selected)} />
      ) : null}
    </span>
  );
  return (
    <>
      <PageHead title={t('statement.title')} count={narrow ? undefined : choices}>
        {narrow ? (
          <LazyMenu
            button={{
              className: 'button button-icon ml-auto w-9',
              label: t('statement.export'),
              content: <Icon name="more" />,
            }}
            anchor="bottom end"
            width="w-48"
            items={[
              { id: 'link', content: t('links.share'), onPick: () => setOpen('link') },
              { id: 'mail', content: t('statement.mail.button'), onPick: () => setOpen('mail') },
              { id: 'csv', content: t('statement.csv'), onPick: exportCsv },
              { id: 'print', content: t('statement.print'), onPick: () => window.print() },
            ]}
          />
        ) : (
          <>
            <button type="button" className="button" onClick={() => setOpen('link')}>
              {t('links.share')}
            </button>
            <button type="button" className="button" onClick={() => setOpen('mail')}>
              {t('statement.mail.button')}
            </button>
            <button type="button" className="button" onClick={() => window.print()}>
              {t('statement.print')}
            </button>
            <button type="button" className="button button-primary" onClick={exportCsv}>
              {t('statement.csv')}
            </button>
          </>
        )}
      </PageHead>
      {/* On a phone they have a row of their own. */}
      {narrow ? <div className="statement-bar px-5 pb-3">{choices}</div> : null}
      <Boundary key={`${month} ${division} ${JSON.stringify(scope)}`}>
        {division === '' ? (
          <Month scope={scope} month={month} />
        ) : (
          <Shares division={division} user={scope.user ?? me?.id ?? 0} month={month} />
        )}
      </Boundary>
      <Sheets
        key={`sheets ${month} ${JSON.stringify(scope)}`}
        {...{ scope, month, open }}
        onClose={() => setOpen(null)}
      />
    </>
  );
}
