/** Parts of the console that an upgrade has replaced while a tab was open: the tab is loaded anew, once. */
import { hasUnsaved } from './unsaved.ts';

const key = 'loaded-anew';
/** A second time within so long would be a circle. */
const restMs = 60_000;

/** Chromium, Firefox and Safari word it differently; the last is Vite's, for a style sheet. */
export const codeIsGone = (error: unknown): boolean =>
  error instanceof Error &&
  /dynamically imported module|importing a module script failed|error loading dynamically|unable to preload css/i.test(
    error.message,
  );

/** Not while something typed would be lost, not in a circle, and not into the blank page of an unreachable server. */
export function loadAnew(): void {
  const last = Number(sessionStorage.getItem(key) ?? 0);
  if (hasUnsaved() || Date.now() - last < restMs) return;
  sessionStorage.setItem(key, String(Date.now()));
  void fetch('/', { cache: 'no-store' }).then(
    (answer) => {
      if (answer.ok) location.reload();
    },
    () => undefined,
  );
}
