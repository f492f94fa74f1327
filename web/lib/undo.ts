/** Changes that can be taken back are not asked about: they are done, and the way back is offered for a while. */
import i18next from 'i18next';
import { toast } from 'sonner';
import { attempt } from './attempt.ts';

const undoMs = 10_000;

export interface Change {
  readonly work: () => Promise<unknown>;
  readonly back: () => Promise<unknown>;
  readonly done: string;
  /** Shows what the server has now; after the change, and after it was taken back. */
  readonly refresh: () => Promise<unknown>;
}

/** @returns false when it failed; the error has been shown. */
export async function runUndoable({ work, back, done, refresh }: Change): Promise<boolean> {
  const ok = await attempt(work);
  await refresh();
  if (ok) offerUndo({ back, done, refresh });
  return ok;
}

/** For work that has been done already. */
export function offerUndo({ back, done, refresh }: Omit<Change, 'work'>): void {
  toast.success(done, {
    duration: undoMs,
    action: {
      label: i18next.t('app.undo'),
      onClick: () => void attempt(back, i18next.t('app.undone')).then(refresh),
    },
  });
}
