/** State that lives in the address: reload, back and share restore it. */
import { useSearchParams } from 'wouter';

export interface Url {
  /** '' = absent. */
  readonly get: (name: string) => string;
  readonly page: number;
  /** '' removes; every other name than `p` and `open` goes back to the first page. */
  readonly set: (name: string, value: string) => void;
}

/** Where one is in a list, and what lies open over it, is no part of a filter. */
const passing = ['p', 'open', 'new', 'size', 'expired'];

/** What of an address is worth keeping under a name, '' = nothing. */
export function filterOf(query: URLSearchParams): string {
  const kept = [...query].filter(([name, value]) => value !== '' && !passing.includes(name));
  return String(new URLSearchParams(kept));
}

const keepsPage = new Set(['p', 'open', 'sort']);

export function useUrl(): Url {
  const [query, setQuery] = useSearchParams();
  return {
    get: (name) => query.get(name) ?? '',
    page: Math.max(1, Number(query.get('p')) || 1),
    set: (name, value) =>
      setQuery(
        (old) => {
          const next = new URLSearchParams(old);
          if (value === '' || (name === 'p' && value === '1')) next.delete(name);
          else next.set(name, value);
          if (!keepsPage.has(name)) next.delete('p');
          return next;
        },
        // A drawer is a place to come back from, a filter is not.
        { replace: name !== 'open' },
      ),
  };
}
