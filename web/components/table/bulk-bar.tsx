/** What can be done with the chosen rows; floats over the foot of the table. */
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Icon } from '../icon.tsx';
import type { Selection } from './column.ts';

export interface BulkBarProps {
  readonly selection: Selection;
  /** Every row the filter finds, also those on other pages. */
  readonly matching: ReadonlySet<number>;
  readonly children: ReactNode;
}

export function BulkBar({ selection, matching, children }: BulkBarProps) {
  const { t } = useTranslation();
  const { chosen, onChange } = selection;
  if (chosen.size === 0) return null;
  return (
    <section
      aria-label={t('table.chosen')}
      className="fixed bottom-6 left-1/2 z-10 flex max-w-[calc(100vw-24px)] -translate-x-1/2 items-center gap-1 overflow-x-auto rounded-3 border border-line-strong bg-raised p-1.5 shadow-pop"
    >
      <span className="px-2 whitespace-nowrap" role="status">
        {t('table.count', { chosen: chosen.size, total: matching.size })}
      </span>
      {chosen.size < matching.size ? (
        <button type="button" className="button button-ghost text-accent-text" onClick={() => onChange(matching)}>
          {t('table.all')}
        </button>
      ) : null}
      {children}
      <button
        type="button"
        className="button button-ghost"
        aria-label={t('table.none')}
        onClick={() => onChange(new Set())}
      >
        <Icon name="close" />
      </button>
    </section>
  );
}
