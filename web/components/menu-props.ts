/** What a menu shows, for its light button and for its loaded whole. */
import type { ReactNode } from 'react';

export interface MenuEntry {
  readonly id: string;
  readonly content: ReactNode;
  readonly lang?: string;
  readonly danger?: boolean;
  readonly href?: string;
  readonly onPick?: () => void;
}

export interface MenuProps {
  readonly button: {
    readonly className: string;
    /** Only where the content has no words. */
    readonly label?: string | undefined;
    readonly content: ReactNode;
  };
  readonly items: readonly MenuEntry[];
  readonly anchor: 'bottom end' | 'top start';
  readonly width: string;
}
