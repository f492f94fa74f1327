/**
 * The master key is changed while no node lives. One that only stood still meanwhile would seal under the former key what nobody
 * can open: its thread ends as soon as that is seen, and finds at its next start that its key opens nothing.
 */
import { AppError } from '../../contract/errors.ts';

const checkMs = 3000;

/** @param prove throws AppError secret_unreadable when the key is not the site's; whatever else it throws says nothing. @returns what stops it. */
export function watchKey(prove: () => Promise<void>, lost: (error: AppError) => void): () => void {
  let looking = false;
  const timer = setInterval(() => {
    if (looking) return;
    looking = true;
    void prove()
      .catch((error: unknown) => {
        if (error instanceof AppError && error.code === 'secret_unreadable') lost(error);
      })
      .finally(() => {
        looking = false;
      });
  }, checkMs);
  return () => clearInterval(timer);
}
