/** Sheets for objects, dialogs for decisions. */

import { Dialog, DialogPanel, DialogTitle } from '@headlessui/react';
import { type ReactNode, type RefObject, useEffect, useId, useLayoutEffect, useRef } from 'react';
import { createPortal } from 'react-dom';
import { useTranslation } from 'react-i18next';
import { leave, useDirty } from '../lib/dirty-form.ts';
import { useBeside } from '../lib/narrow.ts';
import { Boundary } from './failure.tsx';
import { Icon } from './icon.tsx';
import { Scrolls } from './scrolls.tsx';

export interface SheetProps {
  readonly title: ReactNode;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly footer?: ReactNode;
  /** Something was typed into it that closing would lose. */
  readonly dirty?: boolean;
  /** In a wide window the list beside it stays in use: nothing is dimmed, and another row can be opened. */
  readonly beside?: boolean;
}

const typedInto = ':is(input:not([type=checkbox], [type=radio], [type=range]), textarea):not(:disabled, [readonly])';

/** @param first is given the field that one types into next: the one that is marked, or the first, if there is one. */
function Body({ first, children }: { readonly first: RefObject<HTMLElement | null>; readonly children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  // Here and not in the sheet: what a dialog holds is on the page later than the dialog.
  useLayoutEffect(() => {
    first.current =
      box.current?.querySelector<HTMLElement>('[data-autofocus]') ??
      box.current?.querySelector<HTMLElement>(typedInto) ??
      null;
  }, [first]);
  return (
    <Scrolls as="div" ref={box} className="flex-1 overflow-auto px-5 py-4">
      <Boundary>{children}</Boundary>
      {/* What lies below the edge fades into it; the end of the contents lies above. */}
      <div
        aria-hidden="true"
        className="pointer-events-none sticky -bottom-4 -mx-5 -mb-4 h-4 bg-linear-to-t from-surface to-transparent"
      />
    </Scrolls>
  );
}

const panelClass =
  'fixed right-0 bottom-0 flex max-h-dvh w-[520px] max-w-full flex-col border-line-strong bg-surface shadow-drawer max-sm:max-h-[92dvh] max-sm:rounded-t-3 max-sm:border-t sm:top-0 sm:border-l';

/** Escape closes it, unless something stands above it or is being typed into. */
function BesidePanel({
  title,
  onClose,
  children,
}: {
  readonly title: (id: string) => ReactNode;
  readonly onClose: () => void;
  readonly children: ReactNode;
}) {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const close = useRef(onClose);
  close.current = onClose;
  useEffect(() => {
    box.current?.focus({ preventScroll: true });
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented) return;
      if (document.querySelector('[role=dialog][aria-modal=true]') !== null) return;
      if (event.target instanceof Element && event.target.closest('input, select, textarea') !== null) return;
      close.current();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return createPortal(
    <div ref={box} role="dialog" aria-labelledby={id} tabIndex={-1} className={`${panelClass} z-20 outline-none`}>
      {title(id)}
      {children}
    </div>,
    document.body,
  );
}

/** At the right of the page; on a phone at its foot. */
export function Sheet({ title, onClose, children, footer, dirty = false, beside = false }: SheetProps) {
  const { t } = useTranslation();
  useDirty(dirty);
  const first = useRef<HTMLElement>(null);
  const isBeside = useBeside() && beside;
  const close = () => leave(onClose);
  const head = (heading: ReactNode) => (
    <header className="flex h-12 flex-none items-center gap-2 border-b border-line pr-3 pl-5">
      {heading}
      <button type="button" className="button button-ghost" onClick={close} aria-label={t('app.close')}>
        <Icon name="close" />
      </button>
    </header>
  );
  const headingClass = 'flex-1 truncate text-[16px] font-semibold';
  const body = (
    <>
      <Body first={first}>{children}</Body>
      {footer === undefined ? null : (
        <footer className="flex flex-none flex-wrap justify-end gap-2 border-t border-line px-5 py-2.5">
          {footer}
        </footer>
      )}
    </>
  );
  if (isBeside)
    return (
      <BesidePanel
        onClose={close}
        title={(id) =>
          head(
            <h2 id={id} className={headingClass}>
              {title}
            </h2>,
          )
        }
      >
        {body}
      </BesidePanel>
    );
  return (
    <Dialog open onClose={close} initialFocus={first} className="relative z-20 outline-none">
      <div className="fixed inset-0 bg-scrim" aria-hidden="true" />
      <DialogPanel className={panelClass}>
        {head(<DialogTitle className={headingClass}>{title}</DialogTitle>)}
        {body}
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
    <Dialog open onClose={onClose} className="relative z-30 outline-none">
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
