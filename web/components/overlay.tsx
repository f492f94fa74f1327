/** Sheets and dialogs, loaded when one is first wanted, or when the browser has nothing else to do. */
import { lazy, Suspense } from 'react';
import type { ConfirmProps, SheetProps } from './overlay-panel.tsx';

const load = () => import('./overlay-panel.tsx');
const LazySheet = lazy(async () => ({ default: (await load()).Sheet }));
const LazyConfirm = lazy(async () => ({ default: (await load()).Confirm }));

export const preloadOverlays = (): void => void load();

export const Sheet = (props: SheetProps) => (
  <Suspense>
    <LazySheet {...props} />
  </Suspense>
);

export const Confirm = (props: ConfirmProps) => (
  <Suspense>
    <LazyConfirm {...props} />
  </Suspense>
);
