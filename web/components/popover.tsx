/** A panel at its button; closed by Escape, by a press elsewhere, by leaving it with the keyboard. */
import { Popover as Parts, PopoverButton, PopoverPanel } from '@headlessui/react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';

export interface PopoverProps {
  readonly button: ReactNode;
  /** Only where the button has no words. */
  readonly label?: string;
  readonly buttonClass?: string;
  /** The key that presses the button. */
  readonly shortcut?: string;
  readonly anchor?: 'bottom start' | 'bottom end';
  /** The class name of the panel. */
  readonly className: string;
  readonly children: (close: () => void) => ReactNode;
}

export function Popover({
  button,
  label,
  buttonClass = 'button',
  shortcut,
  anchor = 'bottom end',
  className,
  children,
}: PopoverProps) {
  return (
    <Parts className="relative flex">
      <PopoverButton className={buttonClass} aria-label={label} title={label} data-key={shortcut}>
        {button}
      </PopoverButton>
      {/* In its place on the page: in a portal it would bring hidden buttons that take the focus. */}
      <PopoverPanel
        focus
        className={`menu absolute top-full mt-1 max-sm:fixed max-sm:inset-x-3 max-sm:top-auto max-sm:bottom-3 max-sm:w-auto ${anchor === 'bottom end' ? 'right-0' : 'left-0'} ${className}`}
      >
        {({ close }) => <>{children(close)}</>}
      </PopoverPanel>
    </Parts>
  );
}

/** Stands for what is still on its way: a panel in which nothing takes the focus counts as lying elsewhere on the page. */
export function PanelWaiting({ className }: { readonly className: string }) {
  const { t } = useTranslation();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the focus waits here
    <div role="status" aria-label={t('app.loading')} tabIndex={0} className={className} />
  );
}
