/** Drawers and dialogs, loaded when one is first wanted, or when the browser has nothing else to do. */
import { lazy, Suspense } from 'react';
import type { ConfirmProps, DrawerProps } from './overlay-panels.tsx';

const load = () => import('./overlay-panels.tsx');
const LazyDrawer = lazy(async () => ({ default: (await load()).Drawer }));
const LazyConfirm = lazy(async () => ({ default: (await load()).Confirm }));

export const warmOverlays = (): void => void load();

export const Drawer = (props: DrawerProps) => (
  <Suspense>
    <LazyDrawer {...props} />
  </Suspense>
);

export const Confirm = (props: ConfirmProps) => (
  <Suspense>
    <LazyConfirm {...props} />
  </Suspense>
);
