/** Frame of the pages of people who are not inside yet. */
import type { ReactNode } from 'react';
import { usePageTitle } from '../../lib/page-title.ts';
import { useStatus } from '../../lib/status.ts';

export function AccountCard({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  usePageTitle(title);
  return (
    <div className="mx-auto w-[360px] max-w-full px-4 pt-[8vh] pb-8">
      <p className="text-ink-2">{useStatus().data?.system_name}</p>
      <h1 className="mb-5 text-[20px] leading-7 font-semibold">{title}</h1>
      {children}
    </div>
  );
}
