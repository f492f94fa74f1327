/** Head of a page: title, count, actions. */
import { type ReactNode, useEffect, useRef } from 'react';
import { usePageTitle } from '../lib/page-title.ts';

export function PageHead({
  title,
  count,
  large = false,
  children,
}: {
  readonly title: string;
  readonly count?: ReactNode;
  /** The title is that of a page that strangers see first. */
  readonly large?: boolean;
  readonly children?: ReactNode;
}) {
  usePageTitle(title);
  const heading = useRef<HTMLHeadingElement>(null);
  // A new page is announced and takes the focus, as a page load would.
  useEffect(() => heading.current?.focus(), []);
  return (
    <div className="page-head flex min-h-14 flex-wrap items-center gap-2 px-5 pt-4 pb-3 max-sm:min-h-16">
      <div className="mr-auto flex min-w-0 flex-wrap items-center gap-x-2">
        <h1
          ref={heading}
          tabIndex={-1}
          className={`outline-none ${large ? 'text-[32px] leading-10 max-sm:text-[26px] max-sm:leading-8' : ''}`}
        >
          {title}
        </h1>
        {count === undefined ? null : <span className="text-ink-3">{count}</span>}
      </div>
      {/* On a phone each of them takes the remaining width. */}
      <div className="ml-auto flex grow flex-wrap items-center justify-end gap-2 max-sm:contents">{children}</div>
    </div>
  );
}
