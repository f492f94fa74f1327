/** State that lives in the address: reload, back and share restore it. */
import { useCallback, useMemo } from 'react';
import { useSearchParams } from 'wouter';
import { type Sort, sortsOf } from '../../server/contract/sort.ts';

export interface Url {
  /** '' = absent. */
  readonly get: (name: string) => string;
  readonly page: number;
  /** '' removes; every other name than `p` goes back to the first page. */
  readonly set: (name: string, value: string) => void;
  /** Several at once. */
  readonly put: (values: Readonly<Record<string, string>>) => void;
  /** Opens something over the list: a place of its own, that Back leaves. @param instead of what is open now. */
  readonly show: (id: string, instead?: boolean) => void;
  /** Closes it; the way back does not lead to it again. */
  readonly close: () => void;
}

/** Marks an entry of the history that was opened from the list before it. */
const overList = { overList: true };
const isOverList = (): boolean => (history.state as typeof overList | null)?.overList === true;

/** What lies open over a list. */
const over = ['open', 'new'];
/** That, and where one is in a list, is no part of a filter. */
const passing = [...over, 'p', 'size', 'expired'];

/** What of an address is worth keeping under a name, '' = nothing. */
export function filterOf(query: URLSearchParams): string {
  const kept = [...query].filter(([name, value]) => value !== '' && !passing.includes(name));
  return String(new URLSearchParams(kept));
}

/** The order the address asks for, as the server takes it; undefined = its own. */
export function sortIn<Field extends string>(url: Pick<Url, 'get'>, fields: readonly Field[]): Sort<Field> | undefined {
  const asked = url.get('sort');
  return sortsOf(fields).find((one) => one === asked);
}

export function useUrl(): Url {
  const [query, setQuery] = useSearchParams();
  /** Stable, so that rows may be given them. */
  const changes = useMemo(() => {
    const put: Url['put'] = (values) =>
      setQuery(
        (old) => {
          const next = new URLSearchParams(old);
          if (!Object.hasOwn(values, 'p')) next.delete('p');
          for (const [name, value] of Object.entries(values))
            if (value === '' || (name === 'p' && value === '1')) next.delete(name);
            else next.set(name, value);
          return next;
        },
        { replace: true },
      );
    const set: Url['set'] = (name, value) => put({ [name]: value });
    const show: Url['show'] = (id, instead = false) =>
      setQuery((old) => new URLSearchParams([...old].filter(([name]) => !over.includes(name)).concat([['open', id]])), {
        replace: instead,
        state: instead ? (history.state as unknown) : overList,
      });
    const close: Url['close'] = () => {
      if (isOverList()) history.back();
      else setQuery((old) => new URLSearchParams([...old].filter(([name]) => !over.includes(name))), { replace: true });
    };
    return { put, set, show, close };
  }, [setQuery]);
  const get = useCallback((name: string) => query.get(name) ?? '', [query]);
  return {
    get,
    page: Math.max(1, Number(query.get('p')) || 1),
    ...changes,
  };
}
