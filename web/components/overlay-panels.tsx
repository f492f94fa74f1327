/** Drawers for objects, dialogs for decisions. */

import { Dialog, DialogPanel, DialogTitle } from '@headlessui/react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { leave, useUnsaved } from '../lib/unsaved.ts';
import { Boundary } from './failure.tsx';
import { Icon } from './icon.tsx';

export interface DrawerProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly footer?: ReactNode;
  /** Something was typed into it that closing would lose. */
  readonly dirty?: boolean;
}

export function Drawer({ title, onClose, children, footer, dirty = false }: DrawerProps) {
  const { t } = useTranslation();
  useUnsaved(dirty);
  const close = () => leave(onClose);
  return (
    <Dialog open onClose={close} className="relative z-20">
      <div className="fixed inset-0 bg-scrim" aria-hidden="true" />
      <DialogPanel className="fixed inset-y-0 right-0 flex w-[520px] max-w-full flex-col border-l border-line-strong bg-surface shadow-drawer">
        <header className="flex h-12 flex-none items-center gap-2 border-b border-line pr-3 pl-5">
          <DialogTitle className="flex-1 truncate text-[16px] font-semibold">{title}</DialogTitle>
          <button type="button" className="button button-ghost" onClick={close} aria-label={t('app.close')}>
            <Icon name="close" />
          </button>
        </header>
        <div className="flex-1 overflow-auto px-5 py-4">
          <Boundary>{children}</Boundary>
        </div>
        {footer === undefined ? null : (
          <footer className="flex flex-none justify-end gap-2 border-t border-line px-5 py-2.5">{footer}</footer>
        )}
      </DialogPanel>
    </Dialog>
  );
}

export interface ConfirmProps {
  readonly title: string;
  readonly text: ReactNode;
  readonly action: string;
  /** What not doing it is called. */
  readonly cancel?: string;
  /** What may be done instead. */
  readonly other?: { readonly action: string; readonly onChoose: () => void } | undefined;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

export function Confirm({ title, text, action, cancel, other, onConfirm, onClose }: ConfirmProps) {
  const { t } = useTranslation();
  return (
    <Dialog open onClose={onClose} className="relative z-30">
      <div className="fixed inset-0 bg-scrim" aria-hidden="true" />
      <div className="fixed inset-0 grid grid-cols-1 place-items-center p-4">
        <DialogPanel className="w-[420px] max-w-full rounded-3 border border-line-strong bg-raised p-5 shadow-pop">
          <DialogTitle className="font-semibold">{title}</DialogTitle>
          <div className="mt-2 mb-5 text-ink-2">{text}</div>
          <div className="flex flex-wrap justify-end gap-2">
            <button type="button" className="button" onClick={onClose} data-autofocus>
              {cancel ?? t('app.cancel')}
            </button>
            {other === undefined ? null : (
              <button type="button" className="button" onClick={other.onChoose}>
                {other.action}
              </button>
            )}
            <button type="button" className="button button-danger" onClick={onConfirm}>
              {action}
            </button>
          </div>
        </DialogPanel>
      </div>
    </Dialog>
  );
}
