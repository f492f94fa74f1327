/** A panel below its button; closed by Escape, by a press elsewhere, by leaving it with the keyboard. */
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';

export interface PopoverProps {
  readonly button: ReactNode;
  /** Of the panel. */
  readonly className: string;
  readonly children: (close: () => void) => ReactNode;
}

export function Popover({ button, className, children }: PopoverProps) {
  const id = useId();
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    opener.current?.focus();
  };
  useEffect(() => {
    if (!open) return;
    const outside = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener('pointerdown', outside);
    document.addEventListener('focusin', outside);
    return () => {
      document.removeEventListener('pointerdown', outside);
      document.removeEventListener('focusin', outside);
    };
  }, [open]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape is heard from everything inside
    <div
      ref={box}
      className="relative max-sm:hidden"
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !open) return;
        event.stopPropagation();
        close();
      }}
    >
      <button
        ref={opener}
        type="button"
        className="button"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onClick={() => setOpen(!open)}
      >
        {button}
      </button>
      {open ? (
        <div id={id} className={`menu absolute top-full right-0 mt-1 ${className}`}>
          {children(close)}
        </div>
      ) : null}
    </div>
  );
}
