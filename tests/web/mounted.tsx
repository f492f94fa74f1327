/**
 * A piece of the console in a document that can be clicked and typed into, with the answers of the API that are given.
 * The file that uses it begins with the line `// @vitest-environment happy-dom`.
 */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { type ReactNode, act as reactAct } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { expect, vi } from 'vitest';
import { endpoints } from '../../server/contract/endpoints/index.ts';
import type { User } from '../../server/contract/entities.ts';

/** What an endpoint, or a path that is none, answers: its data, a response, or what makes one of the call's fields. */
type Answer = unknown | ((fields: Readonly<Record<string, unknown>>) => unknown);

export interface Refusal {
  readonly refused: string;
  readonly status?: number;
}

export interface Mounted {
  /** Calls in their order: the endpoint, or the path of none, and its fields. */
  readonly calls: readonly (readonly [id: string, fields: Readonly<Record<string, unknown>>])[];
  /** What can be read, in one line. */
  text(): string;
  /** Clicks the button, link, option or tab of that name. */
  press(name: string | RegExp): Promise<void>;
  /** Types over what is in the field of that label. */
  type(label: string | RegExp, value: string): Promise<void>;
  /** Looks again until it holds. */
  until(holds: () => void): Promise<void>;
  field(label: string | RegExp): HTMLInputElement;
}

const fits = (text: string | null | undefined, name: string | RegExp): boolean => {
  const found = (text ?? '').replace(/\s+/g, ' ').trim();
  return typeof name === 'string' ? found === name : name.test(found);
};
const nameOf = (element: Element): string =>
  element.getAttribute('aria-label') ?? element.textContent ?? element.getAttribute('title') ?? '';

/** What the work changes is rendered when it is over. Outside of it React renders by itself, as in a browser. */
export async function act(work: () => Promise<void>): Promise<void> {
  const environment = globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean };
  environment.IS_REACT_ACT_ENVIRONMENT = true;
  try {
    await reactAct(work);
  } finally {
    environment.IS_REACT_ACT_ENVIRONMENT = false;
  }
}

let root: Root | undefined;
let client: QueryClient | undefined;

const pattern = (path: string): RegExp => new RegExp(`^${path.replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`);

function endpointOf(method: string, pathname: string) {
  for (const row of endpoints) {
    const found = row.method === method ? pattern(row.path).exec(pathname) : null;
    // A path without parts is meant before one whose part could be anything.
    if (
      found !== null &&
      (found.groups === undefined || !endpoints.some((one) => one.method === method && one.path === pathname))
    )
      return { row, parts: { ...found.groups } };
  }
  return null;
}

/** Whatever was mounted before is gone. @param user who is logged in. */
export async function mounted(
  piece: () => Promise<ReactNode> | ReactNode,
  {
    path = '/',
    user = null,
    answers = {},
  }: { path?: string; user?: User | null; answers?: Readonly<Record<string, Answer>> } = {},
): Promise<Mounted> {
  await unmounted();
  localStorage.clear();
  localStorage.setItem('i18nextLng', 'zh');
  history.replaceState(null, '', path);
  const calls: [string, Record<string, unknown>][] = [];
  vi.stubGlobal('fetch', async (address: string, init: RequestInit = {}) => {
    const { pathname, searchParams } = new URL(address, 'https://site.example');
    const found = endpointOf(init.method ?? 'GET', pathname);
    const id = found?.row.id ?? pathname;
    const body = typeof init.body === 'string' ? (JSON.parse(init.body) as object) : {};
    const fields = { ...Object.fromEntries(searchParams), ...found?.parts, ...body };
    calls.push([id, fields]);
    if (!(id in answers)) return Response.json({ success: false, message: id, code: 'not_found' }, { status: 404 });
    const given = answers[id];
    const data = typeof given === 'function' ? await given(fields) : given;
    if (data instanceof Response) return data;
    const { refused, status = 200 } = (typeof data === 'object' && data !== null ? data : {}) as Partial<Refusal>;
    if (refused !== undefined) return Response.json({ success: false, message: refused, code: 'refused' }, { status });
    const isRaw = found !== null && 'envelope' in found.row && found.row.envelope === 'raw';
    return Response.json(isRaw ? data : { success: true, message: '', data });
  });
  const { writeUser } = await import('../../web/lib/session.ts');
  writeUser(user);
  await (await import('../../web/lib/i18n.ts')).startLanguage();
  const place = document.body.appendChild(document.createElement('div'));
  root = createRoot(place);
  client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const shown = await piece();
  await act(async () =>
    root?.render(<QueryClientProvider client={client as QueryClient}>{shown}</QueryClientProvider>),
  );
  const settle = () => act(async () => void (await new Promise((resolve) => setTimeout(resolve, 5))));
  const until = async (holds: () => void): Promise<void> => {
    await expect
      .poll(
        async () => {
          await settle();
          holds();
          return true;
        },
        { timeout: 5000 },
      )
      .toBe(true);
  };
  const one = <Found extends Element>(
    selector: string,
    name: string | RegExp,
    label: (of: Element) => string,
  ): Found => {
    const all = [...document.querySelectorAll<Found>(selector)];
    const found = all.find((element) => fits(label(element), name));
    if (found === undefined)
      throw new Error(`no ${String(name)} among: ${all.map((element) => label(element).trim()).join(' | ')}`);
    return found;
  };
  const field: Mounted['field'] = (label) =>
    one<HTMLInputElement>('input,textarea,select', label, (element) => {
      const { labels } = element as HTMLInputElement;
      return element.getAttribute('aria-label') ?? labels?.[0]?.textContent ?? '';
    });
  await settle();
  return {
    calls,
    text: () => (document.body.textContent ?? '').replace(/\s+/g, ' '),
    async press(name) {
      const element = one<HTMLElement>('button,a,[role=option],[role=menuitem],[role=tab],[role=radio]', name, nameOf);
      await act(async () => element.click());
      await settle();
    },
    async type(label, value) {
      const input = field(label);
      const prototype = Object.getPrototypeOf(input) as object;
      await act(async () => {
        Object.getOwnPropertyDescriptor(prototype, 'value')?.set?.call(input, value);
        input.dispatchEvent(new Event('input', { bubbles: true }));
      });
    },
    until,
    field,
  };
}

/** For `afterEach`. */
export async function unmounted(): Promise<void> {
  await act(async () => root?.unmount());
  client?.clear();
  root = undefined;
  document.body.replaceChildren();
}
