/** What one may do to the account: its name and what it means, and the button beside. */
import type { ReactNode } from 'react';

export interface ActionLineProps {
  readonly title: string;
  readonly text: ReactNode;
  readonly children: ReactNode;
}

export const ActionLine = ({ title, text, children }: ActionLineProps) => (
  <section
    aria-label={title}
    className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line py-3 first:pt-0 last:border-0 last:pb-0 max-sm:[&>.button]:basis-full"
  >
    <div className="min-w-0 flex-1 basis-56">
      <h3 className="font-medium">{title}</h3>
      <div className="text-[12px] leading-4 text-pretty text-ink-3">{text}</div>
    </div>
    {children}
  </section>
);
