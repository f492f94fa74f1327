/** Answers that fail, given inside the page: nothing is reloaded between two states, and the browser keeps its cache. */
import type { Page } from 'playwright-core';
import type { Stage } from './support.ts';

export interface Failure {
  readonly status?: number;
  readonly body?: string;
  readonly type?: string;
}
export type How = Failure | 'abort' | 'slow';

export const json = (status: number, message: string): Failure => ({
  status,
  type: 'application/json',
  body: JSON.stringify({ success: false, message, code: 'tried' }),
});
const html = (status: number): Failure => ({ status, type: 'text/html', body: '<html><h1>nginx</h1></html>' });

/** What every call may meet; a login that ran out is another matter. */
export const failures: Readonly<Record<string, Exclude<How, 'slow'>>> = {
  '403': json(403, 'not for you'),
  '429': json(429, 'too many'),
  '429 without JSON': html(429),
  '500': json(500, 'database is locked'),
  '500 without JSON': html(500),
  '502 with JSON': json(502, 'bad gateway'),
  '502 without JSON': html(502),
  'success:false': json(200, 'refused by a rule'),
  'no network': 'abort',
};

export interface Failing {
  readonly how: How;
  /** The one call that fails; null = all of them. */
  readonly only: string | null;
  /** Reads go well. */
  readonly writesOnly?: boolean;
}

interface QueryLike {
  readonly queryKey: readonly unknown[];
  readonly observers: readonly unknown[];
}
interface ClientLike {
  getQueryCache(): { getAll(): QueryLike[]; remove(query: QueryLike): void };
  getDefaultOptions(): { readonly queries?: object };
  setDefaultOptions(options: { readonly queries: object }): void;
  resetQueries(wanted: { readonly predicate: (query: QueryLike) => boolean }): Promise<void>;
  isFetching(): number;
}
interface Fiber {
  readonly memoizedProps?: { readonly client?: ClientLike } | null;
  readonly child: Fiber | null;
}

/** What the page and the test tell each other. */
export interface Faults {
  failing: Failing | null;
  readonly requested: Set<string>;
  client: ClientLike | null;
  readonly held: (() => void)[];
}
declare global {
  interface Window {
    faults: Faults;
  }
}

/** Runs in the page before anything of the console does. */
function install(): void {
  const saved = sessionStorage.getItem('failing');
  const faults: Faults = {
    failing: saved === null ? null : (JSON.parse(saved) as Failing),
    requested: new Set(),
    client: null,
    held: [],
  };
  window.faults = faults;
  const really = window.fetch.bind(window);
  window.fetch = (async (input: RequestInfo | URL, init?: RequestInit) => {
    const address = new URL(input instanceof Request ? input.url : input, location.href);
    const path = address.pathname.replace(/\/\d+(?=\/|$)/g, '/:id');
    if (!path.startsWith('/api/')) return really(input, init);
    const method = init?.method ?? 'GET';
    faults.requested.add(method === 'GET' ? path : `${method} ${path}`);
    const { failing } = faults;
    // Without the status there is no console at all: that has a test of its own.
    const spared = failing === null || path === '/api/status' || (failing.only !== null && failing.only !== path);
    if (failing === null || spared || (failing.writesOnly === true && method === 'GET')) return really(input, init);
    const { how } = failing;
    if (how === 'slow') await new Promise<void>((resolve) => faults.held.push(resolve));
    if (how === 'slow' || how === 'abort') throw new TypeError('Failed to fetch');
    return new Response(how.body ?? '', { status: how.status ?? 500, headers: { 'content-type': how.type ?? '' } });
  }) as typeof fetch;
  const clientIn = (fiber: Fiber | null): ClientLike | null =>
    fiber === null ? null : (fiber.memoizedProps?.client ?? clientIn(fiber.child));
  const found = ({ current }: { readonly current: Fiber }) => {
    const client = faults.client ?? clientIn(current.child);
    if (client === null || client === faults.client) return;
    faults.client = client;
    // What is worth a second try still gets it, only sooner.
    client.setDefaultOptions({ queries: { ...client.getDefaultOptions().queries, retryDelay: 1 } });
  };
  Object.assign(window, {
    __REACT_DEVTOOLS_GLOBAL_HOOK__: {
      supportsFiber: true,
      inject: () => 1,
      onCommitFiberRoot: (_id: number, root: { readonly current: Fiber }) => found(root),
      onCommitFiberUnmount: () => undefined,
      onPostCommitFiberRoot: () => undefined,
    },
  });
}

export async function withFaults(page: Page): Promise<void> {
  await page.addInitScript(install);
}

export const fail = (page: Page, failing: Failing | null): Promise<void> =>
  page.evaluate((wanted) => {
    window.faults.failing = wanted;
    for (const release of window.faults.held.splice(0)) release();
  }, failing);

/** Shows a page as if it was opened for the first time. */
export const mount = (page: Page, path: string, failing: Failing | null): Promise<void> =>
  page.evaluate(
    async ([address, wanted]) => {
      const { faults } = window;
      const painted = () => new Promise((resolve) => setTimeout(resolve));
      faults.failing = null;
      for (const release of faults.held.splice(0)) release();
      history.pushState(null, '', '/nowhere');
      await painted();
      // The first picture comes with the status and the code of its page.
      for (let tries = 0; faults.client === null && tries < 500; tries++)
        await new Promise((resolve) => setTimeout(resolve, 20));
      const { client } = faults;
      if (client === null) throw new Error('the console was not found');
      const cache = client.getQueryCache();
      const ours = (query: QueryLike) => query.queryKey[0] !== 'status';
      for (const query of cache.getAll()) if (ours(query) && query.observers.length === 0) cache.remove(query);
      faults.requested.clear();
      faults.failing = wanted;
      void client.resetQueries({ predicate: ours });
      history.pushState(null, '', `/${address}`);
      await painted();
    },
    [path, failing] as const,
  );

/** The same by loading everything anew. */
export async function load(page: Page, address: string, failing: Failing | null): Promise<void> {
  await page.evaluate((text) => sessionStorage.setItem('failing', text), JSON.stringify(failing));
  // The console may leave the page while it is still being loaded.
  await page.goto(address, { waitUntil: 'commit' }).catch(() => undefined);
}

/** Logs the super administrator in, in one language. */
export async function enter(stage: Stage, page: Page, language = 'en'): Promise<void> {
  await page.goto(`${stage.url}/nowhere`);
  await page.evaluate(async (lng) => {
    localStorage.setItem('i18nextLng', lng);
    const response = await fetch('/api/user/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'root', password: 'password1' }),
    });
    const { data } = (await response.json()) as { data: unknown };
    localStorage.setItem('user', JSON.stringify(data));
  }, language);
  await page.goto(`${stage.url}/nowhere`);
}
