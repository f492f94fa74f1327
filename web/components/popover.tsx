/** A panel at its button; closed by Escape, by a press elsewhere, by leaving it with the keyboard. */
import { Popover as Parts, PopoverButton, PopoverPanel } from '@headlessui/react';
import type { ReactNode } from 'react';

export interface PopoverProps {
  readonly button: ReactNode;
  /** Only where the button has no words. */
  readonly label?: string;
  readonly buttonClass?: string;
  /** The key that presses the button. */
  readonly shortcut?: string;
  readonly anchor?: 'bottom start' | 'bottom end';
  /** Of the panel. */
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
    <Parts className="contents">
      <PopoverButton className={buttonClass} aria-label={label} data-key={shortcut}>
        {button}
      </PopoverButton>
      <PopoverPanel focus anchor={{ to: anchor, gap: 4, padding: 8 }} className={`menu ${className}`}>
        {({ close }) => <>{children(close)}</>}
      </PopoverPanel>
    </Parts>
  );
}
