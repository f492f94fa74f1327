/** A sheet for things that belong together. */
import type { ReactNode } from 'react';

export interface CardProps {
  readonly title: string;
  readonly actions?: ReactNode;
  /** A table reaches the edges. */
  readonly flush?: boolean;
  readonly children: ReactNode;
}

export function Card({ title, actions, flush = false, children }: CardProps) {
  return (
    <section aria-label={title} className="rounded-3 border border-line bg-surface">
      <header className="flex min-h-11 items-center gap-2 border-b border-line px-4 py-1.5">
        <h2 className="flex-1 font-semibold">{title}</h2>
        {actions}
      </header>
      <div className={flush ? 'in-card overflow-x-auto [&_tbody_tr:last-child>td]:border-b-0' : 'px-4 py-3'}>
        {children}
      </div>
    </section>
  );
}
