/** What would change, name by name, before it is stored. */
import { Dialog, DialogPanel, DialogTitle } from '@headlessui/react';
import { useTranslation } from 'react-i18next';
import type { PriceChange } from '../../../server/contract/pricing/diff.ts';
import { Scrolls } from '../scrolls.tsx';

export interface ChangesProps {
  readonly title: string;
  readonly changes: readonly PriceChange[];
  readonly action: string;
  /** What was changed some time ago, not what will be. */
  readonly past?: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

export function Changes({ title, changes, action, past, onConfirm, onClose }: ChangesProps) {
  const { t } = useTranslation();
  return (
    <Dialog open onClose={onClose} className="relative z-30">
      <div className="fixed inset-0 bg-scrim" aria-hidden="true" />
      <div className="fixed inset-0 grid grid-cols-1 place-items-center p-4">
        <DialogPanel className="flex max-h-[calc(100dvh-2rem)] w-[640px] max-w-full flex-col rounded-3 border border-line-strong bg-raised shadow-pop">
          <DialogTitle className="px-5 pt-5 pb-3 font-semibold">
            {title}
            <span className="ml-2 font-normal text-ink-3">{t('prices.count', { count: changes.length })}</span>
          </DialogTitle>
          <Scrolls className="min-h-0 flex-1 overflow-auto" aria-label={title}>
            <table className="sheet-table">
              <thead>
                <tr>
                  <th scope="col">{t('prices.map')}</th>
                  <th scope="col">{t('prices.name')}</th>
                  <th scope="col" className="number">
                    {past ? t('prices.earlier') : t('prices.before')}
                  </th>
                  <th scope="col" className="number">
                    {past ? t('prices.later') : t('prices.after')}
                  </th>
                </tr>
              </thead>
              <tbody>
                {changes.map(({ key, name, before, after }) => (
                  <tr key={`${key}/${name}`}>
                    <td className="text-ink-3">{key}</td>
                    <td>{name}</td>
                    <td className="number text-ink-3">{before ?? '–'}</td>
                    <td className={`number ${after === null ? 'text-danger' : ''}`}>{after ?? '–'}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scrolls>
          <div className="flex justify-end gap-2 p-5">
            <button type="button" className="button" onClick={onClose} data-autofocus>
              {t('app.cancel')}
            </button>
            <button type="button" className="button button-primary" onClick={onConfirm}>
              {action}
            </button>
          </div>
        </DialogPanel>
      </div>
    </Dialog>
  );
}
