/** A page asks the frame around it to open the search of the site. */

const requested = 'search-requested';

export const requestSearch = (): void => void dispatchEvent(new Event(requested));

/** @returns how to stop. */
export function onSearchRequest(open: () => void): () => void {
  addEventListener(requested, open);
  return () => removeEventListener(requested, open);
}
