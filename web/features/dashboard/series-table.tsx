/** The legend with totals, and every bar as a row for those who want the numbers. */
import { useTranslation } from 'react-i18next';
import type { Chart } from './series.ts';

export interface SeriesTableProps {
  readonly chart: Chart;
  readonly nameOf: (name: string) => string;
  readonly format: (value: number) => string;
  readonly formatTime: (start: number) => string;
}

export function SeriesTable({ chart, nameOf, format, formatTime }: SeriesTableProps) {
  const { t } = useTranslation();
  return (
    <>
      <ul className="mt-2 flex flex-wrap gap-x-5 gap-y-1 text-[12px]">
        {chart.series.map(({ name, total }, index) => (
          <li key={name} className="flex items-center gap-1.5">
            <span className="size-2 rounded-full" style={{ background: `var(--data-${index + 1})` }} />
            <span className="text-ink-2">{nameOf(name)}</span>
            <span>{format(total)}</span>
          </li>
        ))}
      </ul>
      <details className="mt-3">
        <summary className="cursor-pointer text-[12px] text-ink-2">{t('dashboard.asTable')}</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
        <section className="mt-2 max-h-72 overflow-auto" tabIndex={0} aria-label={t('dashboard.asTable')}>
          <table className="sheet-table">
            <thead>
              <tr>
                <th scope="col">{t('dashboard.time')}</th>
                {chart.series.map(({ name }) => (
                  <th key={name} scope="col" className="number">
                    {nameOf(name)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {chart.starts.map((start, index) => (
                <tr key={start}>
                  <td>{formatTime(start)}</td>
                  {chart.series.map(({ name, values }) => (
                    <td key={name} className="number">
                      {format(values[index] ?? 0)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      </details>
    </>
  );
}
