/**
 * The master key is changed while no node lives. A node that was only suspended meanwhile would go on to encrypt under the
 * former key, and nobody could decrypt it: its thread ends as soon as that is noticed, and its next start fails because the key does not fit.
 */
import { AppError } from '../../contract/errors.ts';
import type { Timers } from '../../contract/timers.ts';

const checkMs = 3000;

/** @param prove throws AppError secret_unreadable when the key is not the site's; other errors are ignored. @returns what stops it. */
export function watchKey(
  prove: () => Promise<void>,
  lost: (error: AppError) => void,
  timers: Pick<Timers, 'every'>,
): () => void {
  let looking = false;
  const look = () => {
    if (looking) return;
    looking = true;
    void prove()
      .catch((error: unknown) => {
        if (error instanceof AppError && error.code === 'secret_unreadable') lost(error);
      })
      .finally(() => {
        looking = false;
      });
  };
  const timer = timers.every(look, checkMs);
  return () => timer.close();
}
