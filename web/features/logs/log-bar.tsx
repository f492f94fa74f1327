/** What narrows the log. */
import { useTranslation } from 'react-i18next';
import { FilterBar } from '../../components/filter-bar.tsx';
import { RangeControl } from '../../components/range-control.tsx';
import type { Url } from '../../lib/url.ts';
import { defaultRange, logFilterBar } from './log-filters.ts';
import type { Counts } from './use-counts.ts';

export interface LogBarProps {
  readonly url: Url;
  readonly admin: boolean;
  readonly counts: Counts | undefined;
}

export function LogBar({ url, admin, counts }: LogBarProps) {
  const { t } = useTranslation();
  return (
    <FilterBar filters={logFilterBar({ t, admin, counts, get: url.get })}>
      <RangeControl initial={defaultRange} all />
    </FilterBar>
  );
}
