/** What can be done with the chosen rows; floats over the foot of the table. */
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { attempt } from '../../lib/attempt.ts';
import { Icon } from '../icon.tsx';
import type { Selection } from './column.ts';

export interface BulkBarProps {
  readonly selection: Selection;
  /** Every row in sight; all that match, where there are no pages. */
  readonly matching: ReadonlySet<number>;
  /** Chooses the rows of other pages as well; null and absent = there are none. */
  readonly onAll?: (() => Promise<unknown>) | null;
  readonly children: ReactNode;
}

export function BulkBar({ selection, matching, onAll = null, children }: BulkBarProps) {
  const { t } = useTranslation();
  const { selected, onChange } = selection;
  if (selected.size === 0) return null;
  return (
    <section
      data-bulk
      aria-label={t('table.chosen')}
      className="fixed bottom-6 left-1/2 z-10 flex max-w-[calc(100vw-24px)] -translate-x-1/2 items-center gap-1 overflow-x-auto rounded-3 border border-line-strong bg-raised p-1.5 shadow-pop"
    >
      <span className="px-2 whitespace-nowrap" role="status">
        {onAll === null
          ? t('table.count', { chosen: selected.size, total: matching.size })
          : t('table.chosenCount', { count: selected.size })}
      </span>
      {selected.size < matching.size || (onAll !== null && selected.size <= matching.size) ? (
        <button
          type="button"
          className="button button-ghost text-accent-text"
          onClick={() => (onAll === null ? onChange(matching) : void attempt(onAll))}
        >
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
