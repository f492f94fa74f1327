/** Back and forth through the pages of a list, and how long they are. */
import { useTranslation } from 'react-i18next';
import { grouped } from '../lib/format.ts';
import { useUrl } from '../lib/url.ts';
import { Select } from './select.tsx';

const pageSizes = [10, 20, 50, 100];
const sizeKey = 'page-size';

/** Rows of a page until the reader selects another number: about what a screen holds. */
const defaultSize = 20;

/** The size the reader chose last, on whatever table. */
const storedSize = (initialSize: number): number => {
  const size = Number(localStorage.getItem(sizeKey));
  return pageSizes.includes(size) ? size : initialSize;
};

/** What an address asks for, if it can be had: the server sends no longer pages, and rows beyond them would be on none. */
export const sizeIn = (text: string, initialSize = defaultSize): number => {
  const size = Number(text);
  return pageSizes.includes(size) ? size : storedSize(initialSize);
};

export interface PagerProps {
  /** The first page is 1. */
  readonly page: number;
  /** null = rows are added as one scrolls. */
  readonly size: number | null;
  /** null = unknown: there is a next page while pages are full; undefined = nothing is known yet. */
  readonly total: number | null | undefined;
  /** Rows on this page. */
  readonly count?: number;
  readonly onPage: (page: number) => void;
  readonly onSize?: (size: number | null) => void;
  /** Rows shown so far; present where rows can be added as one scrolls. */
  readonly loaded?: number;
}

export function Pager({ page, size, total, count = 0, onPage, onSize, loaded }: PagerProps) {
  const { t } = useTranslation();
  if (total === undefined) return null;
  const isLast = size === null || (total === null ? count < size : page * size >= total);
  if (page === 1 && isLast && size !== null && (total ?? count) <= (pageSizes[0] ?? 0)) return null;
  const range = () =>
    size === null
      ? page
      : total === null
        ? t('app.range', {
            from: Math.min(page * size, (page - 1) * size + 1),
            to: (page - 1) * size + count,
            total: `${(page - 1) * size + count}${isLast ? '' : '+'}`,
          })
        : t('app.range', {
            from: Math.min(total, (page - 1) * size + 1),
            to: Math.min(page * size, total),
            total: grouped(total),
          });
  return (
    <div className="flex items-center gap-2 px-5 py-2.5">
      {size === null ? (
        <span className="text-[12px] text-ink-3">{t('app.range', { from: 1, to: loaded ?? count, total })}</span>
      ) : (
        <>
          <button type="button" className="button" disabled={page === 1} onClick={() => onPage(page - 1)}>
            {t('app.previous')}
          </button>
          <span className="text-[12px] text-ink-3">{range()}</span>
          <button type="button" className="button" disabled={isLast} onClick={() => onPage(page + 1)}>
            {t('app.next')}
          </button>
        </>
      )}
      {onSize === undefined ? null : (
        <span className="ml-auto max-sm:hidden">
          <Select
            label={t('table.size')}
            value={String(size ?? 'all')}
            options={[
              ...pageSizes.map((one) => [String(one), t('table.perPage', { count: one })] as const),
              ...(loaded === undefined ? [] : [['all', t('table.endless')] as const]),
            ]}
            onChange={(next) => {
              if (next === 'all') return onSize(null);
              localStorage.setItem(sizeKey, next);
              onSize(Number(next));
            }}
          />
        </span>
      )}
    </div>
  );
}

/** Where one is in a list, kept in the address. */
export interface PageState extends Pick<PagerProps, 'onPage'> {
  readonly page: number;
  readonly size: number;
  readonly onSize: (size: number | null) => void;
}

/** @param initialSize rows of a page until the reader selects another number. */
export function usePageState(initialSize?: number): PageState {
  const url = useUrl();
  return {
    page: url.page,
    size: sizeIn(url.get('size'), initialSize),
    onPage: (page) => url.set('p', String(page)),
    onSize: (size) => url.set('size', String(size)),
  };
}
