/** The button of a menu whose code is loaded when the pointer or the focus comes near it. */
import { lazy, Suspense, useState } from 'react';
import type { MenuProps } from './menu-props.ts';

const load = () => import('./menu.tsx');
const OpenMenu = lazy(async () => ({ default: (await load()).OpenMenu }));

export const preloadMenus = (): void => void load();

export function LazyMenu(props: MenuProps) {
  const [open, setOpen] = useState(false);
  const { className, label, content } = props.button;
  const plain = (
    <button
      type="button"
      className={className}
      aria-label={label}
      aria-haspopup="menu"
      aria-expanded={false}
      onPointerEnter={preloadMenus}
      onFocus={preloadMenus}
      onClick={() => setOpen(true)}
    >
      {content}
    </button>
  );
  return open ? (
    <Suspense fallback={plain}>
      <OpenMenu {...props} />
    </Suspense>
  ) : (
    plain
  );
}
