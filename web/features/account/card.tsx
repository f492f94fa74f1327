/** Frame of the pages of people who are not inside yet. */
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { usePageTitle } from '../../lib/page-title.ts';
import { useStatus } from '../../shell/status.ts';

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

/** Between a form and the other ways in. */
export function Or() {
  const { t } = useTranslation();
  return (
    <p className="my-3 flex items-center gap-3 text-[12px] text-ink-3 before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">
      {t('account.or')}
    </p>
  );
}

export function FormError({ text }: { readonly text: string }) {
  return (
    <p role="alert" className={`text-danger ${text === '' ? '' : 'mb-3'}`}>
      {text}
    </p>
  );
}
