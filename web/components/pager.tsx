/** Back and forth through the pages of a list. */
import { useTranslation } from 'react-i18next';

export interface PagerProps {
  /** The first page is 1. */
  readonly page: number;
  readonly size: number;
  readonly total: number;
  readonly onPage: (page: number) => void;
}

export function Pager({ page, size, total, onPage }: PagerProps) {
  const { t } = useTranslation();
  if (total <= size && page === 1) return null;
  return (
    <div className="flex items-center gap-2 px-5 py-3">
      <button type="button" className="button" disabled={page === 1} onClick={() => onPage(page - 1)}>
        {t('app.previous')}
      </button>
      <span className="text-[12px] text-ink-3">
        {t('app.range', { from: (page - 1) * size + 1, to: Math.min(page * size, total), total })}
      </span>
      <button type="button" className="button" disabled={page * size >= total} onClick={() => onPage(page + 1)}>
        {t('app.next')}
      </button>
    </div>
  );
}
