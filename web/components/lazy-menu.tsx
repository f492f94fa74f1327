/** The button of a menu whose code is loaded when somebody comes near it. */
import { lazy, type ReactNode, Suspense, useState } from 'react';

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

const load = () => import('./menu.tsx');
const OpenMenu = lazy(async () => ({ default: (await load()).OpenMenu }));

export const warmMenus = (): void => void load();

export function LazyMenu(props: MenuProps) {
  const [wanted, setWanted] = useState(false);
  const { className, label, content } = props.button;
  const plain = (
    <button
      type="button"
      className={className}
      aria-label={label}
      aria-haspopup="menu"
      aria-expanded={false}
      onPointerEnter={warmMenus}
      onFocus={warmMenus}
      onClick={() => setWanted(true)}
    >
      {content}
    </button>
  );
  return wanted ? (
    <Suspense fallback={plain}>
      <OpenMenu {...props} />
    </Suspense>
  ) : (
    plain
  );
}
