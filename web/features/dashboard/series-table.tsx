/** The legend with totals, and every step as a row for those who want the numbers. */
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { Scrolls } from '../../components/scrolls.tsx';
import type { Stack } from '../../lib/traffic.ts';

export interface SeriesTableProps {
  readonly stacks: readonly Stack[];
  readonly starts: readonly number[];
  readonly hover: number | null;
  readonly nameOf: (stack: Stack) => string;
  readonly format: (value: number) => string;
  readonly formatTime: (start: number) => string;
  readonly linkOf: (start: number) => string;
}

/** Colours of the stacks in their order; what is small is grey. */
export const colorOf = ({ series }: Stack, at: number): string => (series === null ? '--data-8' : `--data-${at + 1}`);

export function SeriesTable({ stacks, starts, hover, nameOf, format, formatTime, linkOf }: SeriesTableProps) {
  const { t } = useTranslation();
  return (
    <>
      <ul className="mt-2 flex flex-wrap gap-x-5 gap-y-1 text-[12px]">
        {stacks.map((stack, at) => (
          <li key={stack.series?.id || stack.series?.name || 'rest'} className="flex items-center gap-1.5">
            <span className="size-2 rounded-1" style={{ background: `var(${colorOf(stack, at)})` }} />
            <span className="text-ink-2">{nameOf(stack)}</span>
            <span>{format(hover === null ? stack.total : (stack.values[hover] ?? 0))}</span>
          </li>
        ))}
      </ul>
      <details className="mt-3">
        <summary className="cursor-pointer text-[12px] text-ink-2">{t('dashboard.asTable')}</summary>
        <Scrolls className="mt-2 max-h-72 overflow-auto" aria-label={t('dashboard.asTable')}>
          <table className="sheet-table">
            <thead>
              <tr>
                <th scope="col">{t('dashboard.time')}</th>
                {stacks.map((stack) => (
                  <th key={stack.series?.id || stack.series?.name || 'rest'} scope="col" className="number">
                    {nameOf(stack)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {starts.map((start, at) => (
                <tr key={start}>
                  <td>
                    <Link href={linkOf(start)}>{formatTime(start)}</Link>
                  </td>
                  {stacks.map((stack) => (
                    <td key={stack.series?.id || stack.series?.name || 'rest'} className="number">
                      {format(stack.values[at] ?? 0)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scrolls>
      </details>
    </>
  );
}
