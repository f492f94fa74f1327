/** The frame of a page that shows a list: head, what lists it, pages, and what opens over it. */
import type { ReactNode } from 'react';
import { PageHead } from './page.tsx';
import { Pager, type PagerProps } from './pager.tsx';

export interface ListPageProps {
  readonly title: string;
  readonly count?: number | string | undefined;
  /** Beside the title. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  /** Absent: everything is on one page. */
  readonly pager?: PagerProps | undefined;
  /** Drawers, questions, what is done to the rows that are picked. */
  readonly over?: ReactNode;
}

export function ListPage({ title, count, actions, children, pager, over }: ListPageProps) {
  return (
    <>
      <PageHead title={title} count={count}>
        {actions}
      </PageHead>
      {children}
      {pager === undefined ? null : <Pager {...pager} />}
      {over}
    </>
  );
}
