/** Back and forth through the pages of a list, and how long they are. */
import { useTranslation } from 'react-i18next';

export const pageSizes = [10, 20, 50, 100];
const sizeKey = 'page-size';

/** The size the reader chose last, on whatever table. */
export const rememberedSize = (): number => {
  const size = Number(localStorage.getItem(sizeKey));
  return pageSizes.includes(size) ? size : 10;
};

export interface PagerProps {
  /** The first page is 1. */
  readonly page: number;
  readonly size: number;
  /** null = unknown: there is a next page while pages are full. */
  readonly total: number | null;
  /** Rows on this page. */
  readonly count?: number;
  readonly onPage: (page: number) => void;
  readonly onSize?: (size: number) => void;
}

export function Pager({ page, size, total, count = 0, onPage, onSize }: PagerProps) {
  const { t } = useTranslation();
  const isLast = total === null ? count < size : page * size >= total;
  if (page === 1 && isLast && (total ?? count) <= (pageSizes[0] ?? 0)) return null;
  return (
    <div className="flex items-center gap-2 px-5 py-2.5">
      <button type="button" className="button" disabled={page === 1} onClick={() => onPage(page - 1)}>
        {t('app.previous')}
      </button>
      <span className="text-[12px] text-ink-3">
        {total === null
          ? page
          : t('app.range', { from: Math.min(total, (page - 1) * size + 1), to: Math.min(page * size, total), total })}
      </span>
      <button type="button" className="button" disabled={isLast} onClick={() => onPage(page + 1)}>
        {t('app.next')}
      </button>
      {onSize === undefined ? null : (
        <select
          className="field ml-auto h-7 w-auto max-sm:hidden"
          aria-label={t('table.size')}
          value={size}
          onChange={(event) => {
            localStorage.setItem(sizeKey, event.target.value);
            onSize(Number(event.target.value));
          }}
        >
          {pageSizes.map((one) => (
            <option key={one} value={one}>
              {t('table.perPage', { count: one })}
            </option>
          ))}
        </select>
      )}
    </div>
  );
}
