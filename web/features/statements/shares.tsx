/** A month divided by users, keys, labels or projects: each share leads to its own statement. */
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { ShareKind, StatementShares } from '../../../server/contract/statement.ts';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { grouped } from '../../lib/format.ts';
import { useMoney } from '../../lib/money.ts';
import { useRead } from '../../lib/read.ts';

/** How the address says it: `all-` before it = everybody's. */
export const divisions = ['token', 'label', 'project'] as const;
export const allDivisions = ['all-user', 'all-token', 'all-label', 'all-project'] as const;
export type Division = (typeof divisions)[number] | (typeof allDivisions)[number];

export const divisionIn = (text: string, admin: boolean): Division | '' =>
  [...divisions, ...(admin ? allDivisions : [])].find((one) => one === text) ?? '';

/** null = it has none: what no label or project was named for. */
function hrefOf(by: ShareKind, share: StatementShares['shares'][number], month: string): string | null {
  if (by === 'user' || by === 'token')
    return share.id === 0 ? null : `/statement?${new URLSearchParams({ [by]: String(share.id), month })}`;
  if (share.name === '') return null;
  const user: Record<string, string> = share.user === 0 ? {} : { user: String(share.user) };
  return `/statement?${new URLSearchParams({ [by]: share.name, ...user, month })}`;
}

export function SharesSheet({ found, everybody }: { readonly found: StatementShares; readonly everybody: boolean }) {
  const { t } = useTranslation();
  const money = useMoney();
  const { by, month, shares, total } = found;
  const owners = everybody && by !== 'user' && by !== 'label';
  // Where more came back to one than he spent, the others have more than the total: nobody has more than all.
  const whole = shares.reduce((most, { quota }) => Math.max(most, quota), total.quota);
  const percent = (quota: number): string =>
    quota < 0 ? '–' : whole <= 0 ? '' : `${((quota / whole) * 100).toFixed(1)} %`;
  const cells = (of: StatementShares['total'], share: string) => (
    <>
      <td className="number max-sm:hidden">{grouped(of.requests)}</td>
      <td className="number max-sm:hidden">{grouped(of.prompt_tokens)}</td>
      <td className="number max-sm:hidden">{grouped(of.completion_tokens)}</td>
      <td className="number">{money(of.quota, 'exact')}</td>
      <td className="number">{share}</td>
    </>
  );
  if (shares.length === 0) return <p className="px-5 pb-4 text-ink-2">{t('statement.empty')}</p>;
  return (
    <article className="statement pb-4">
      <table className="sheet-table">
        <caption className="sr-only">{t(`statement.by.${by}`)}</caption>
        <thead>
          <tr>
            <th scope="col">{t(`statement.share.${by}`)}</th>
            {owners ? <th scope="col">{t('statement.share.user')}</th> : null}
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
            <th scope="col" className="number">
              {t('statement.portion')}
            </th>
          </tr>
        </thead>
        <tbody>
          {shares.map((share) => {
            const href = hrefOf(by, share, month);
            const name =
              share.name || (by === 'label' || by === 'project' ? t(`statement.without.${by}`) : `#${share.id}`);
            return (
              <tr key={`${share.user} ${share.id} ${share.name}`}>
                <td className="break-all whitespace-normal">
                  {href === null ? <span className="text-ink-2">{name}</span> : <Link href={href}>{name}</Link>}
                </td>
                {owners ? <td className="break-all whitespace-normal">{share.username}</td> : null}
                {cells(share, percent(share.quota))}
              </tr>
            );
          })}
        </tbody>
        <tfoot>
          <tr className="font-semibold">
            <th scope="row" colSpan={owners ? 2 : 1}>
              {t('statement.total')}
            </th>
            {cells(total, '')}
          </tr>
        </tfoot>
      </table>
      {by === 'label' ? <p className="mt-4 px-5 text-[12px] leading-4 text-ink-3">{t('statement.labelHelp')}</p> : null}
    </article>
  );
}

interface SharesProps {
  readonly division: Division;
  /** Whose, where it is not everybody's. */
  readonly user: number;
  readonly month: string;
}

export function Shares({ division, user, month }: SharesProps) {
  const everybody = division.startsWith('all-');
  const by = division.replace('all-', '') as ShareKind;
  const input = { by, month, ...(everybody ? {} : { user }) };
  const found = useRead({
    queryKey: ['statement', 'shares', input],
    queryFn: () => call('statement.shares', input),
  }).data;
  return found === undefined ? <Waiting /> : <SharesSheet found={found} everybody={everybody} />;
}
