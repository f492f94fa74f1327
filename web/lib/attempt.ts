/** Work that may fail: the server's own words become a toast. */
import { toast } from 'sonner';

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** @returns false when it failed and the reader was told. */
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
