/** Work that may fail: the server's own words become a toast. */
import { toast } from 'sonner';
import { ApiError } from './api.ts';

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Failures of calls that nothing waits for are shown as well. */
export function reportUnhandled(): void {
  addEventListener('unhandledrejection', ({ reason }: PromiseRejectionEvent) => {
    if (reason instanceof ApiError) toast.error(reason.message);
  });
}

/** @returns false when it failed; the error has been shown. */
export async function attempt(work: () => Promise<unknown>, done?: string): Promise<boolean> {
  try {
    await work();
    if (done !== undefined) toast.success(done);
    return true;
  } catch (error) {
    toast.error(messageOf(error));
    return false;
  }
}
