/** Unsaved input: the console asks before it is thrown away. */
import { useLayoutEffect, useSyncExternalStore } from 'react';

/** A form of this page has been edited: when the session expires, the login opens above it. */
let typed = false;

/** Also where the form itself is closed and its draft waits to be stored. */
export const hasChanges = (): boolean => typed && (drafts.size > 0 || document.querySelector('form') !== null);

/** A new page, or what was typed has been stored. */
export const clearChanges = (): void => {
  typed = false;
};

/** The forms whose contents would be lost. */
const drafts = new Set<symbol>();
/** What waits for an answer. */
let pending: (() => void) | null = null;
const listeners = new Set<() => void>();
const ask = (go: (() => void) | null): void => {
  pending = go;
  for (const listener of listeners) listener();
};

/** While `dirty`, whatever would throw the form away asks first. */
export function useDirty(dirty: boolean): void {
  // With the commit that shows the form as stored: a click right after it must not be asked about.
  useLayoutEffect(() => {
    if (!dirty) return;
    const draft = Symbol('draft');
    drafts.add(draft);
    return () => void drafts.delete(draft);
  }, [dirty]);
}

/** Two states of a form say the same. */
export const sameForm = (one: object, other: object): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Does it at once, or when the reader has agreed to lose what was typed. */
export function leave(go: () => void): void {
  if (drafts.size === 0) go();
  else ask(go);
}

/** @returns what waits for an answer; null = nothing does. */
export const usePendingNavigation = (): (() => void) | null =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => pending,
  );

export function resolveNavigation(discard: boolean): void {
  const go = pending;
  ask(null);
  if (!discard) return;
  drafts.clear();
  go?.();
}

/** What of an address only turns a form to another side. */
const viewParams = ['block', 'tab', 'q', 'changed'];
const pageOf = (address: string | URL): string => {
  const url = new URL(address, location.href);
  for (const name of viewParams) url.searchParams.delete(name);
  return url.href;
};

/** Links, keys and the browser's own Back ask too. Called once, before anything listens to the address. */
export function watchForms(): void {
  document.addEventListener('input', (event) => {
    if ((event.target as HTMLElement).closest('form') !== null) typed = true;
  });
  addEventListener('beforeunload', (event) => {
    if (drafts.size > 0) event.preventDefault();
  });
  let here = { address: location.href, state: history.state as unknown };
  const update = () => {
    here = { address: location.href, state: history.state as unknown };
  };
  const push = history.pushState.bind(history);
  for (const name of ['pushState', 'replaceState'] as const) {
    const change = history[name].bind(history);
    history[name] = (...to) => {
      const isNewPage = to[2] != null && pageOf(to[2]) !== pageOf(location.href);
      const go = () => {
        change(...to);
        update();
      };
      if (isNewPage) leave(go);
      else go();
    };
  }
  addEventListener(
    'popstate',
    (event) => {
      if (drafts.size === 0) return update();
      // The address has changed already: it is put back before the page learns of it.
      event.stopImmediatePropagation();
      push(here.state, '', here.address);
      ask(() => history.back());
    },
    { capture: true },
  );
}
