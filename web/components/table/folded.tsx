/** Filters that would fill a narrow screen wait behind a button there; where one is set they are open. */
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'wouter';

/** Parts of the address that are no filters. */
const others = new Set(['p', 'size', 'sort', 'open', 'live', 'tab', 'view', 'range']);

export function Folded({ children }: { readonly children: ReactNode }) {
  const { t } = useTranslation();
  const [query] = useSearchParams();
  const [open, setOpen] = useState(() => [...query.keys()].some((name) => !others.has(name)));
  return (
    <>
      <button type="button" className="button sm:hidden" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? t('table.fold') : t('table.unfold')}
      </button>
      <div className={open ? 'contents' : 'contents max-sm:hidden'}>{children}</div>
    </>
  );
}
