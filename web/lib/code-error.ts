/** Parts of the console that an upgrade has replaced while a tab was open: the tab is reloaded, once. */
import { basePath } from './base-path.ts';
import { hasChanges } from './dirty-form.ts';

const key = 'reloaded-at';
/** A second time within so long would be a circle. */
const restMs = 60_000;

/** Chromium, Firefox and Safari word it differently; the last is Vite's, for a style sheet. */
export const isCodeMissing = (error: unknown): boolean =>
  error instanceof Error &&
  /dynamically imported module|importing a module script failed|error loading dynamically|unable to preload css/i.test(
    error.message,
  );

/** Not while something typed would be lost, and not in a circle. */
export const canReload = (): boolean =>
  !hasChanges() && Date.now() - Number(sessionStorage.getItem(key) ?? 0) >= restMs;

/** @returns false when the server is out of reach: its page would be a blank one. */
export async function reloadPage(): Promise<boolean> {
  sessionStorage.setItem(key, String(Date.now()));
  const reached = await fetch(`${basePath}/`, { cache: 'no-store' }).then(
    (answer) => answer.ok,
    () => false,
  );
  if (reached) location.reload();
  return reached;
}
