/**
 * The console on a site of fixed answers, in a document, at a fixed time: what stands on a page, and what a press does.
 * The file that uses it begins with the line `// @vitest-environment happy-dom`.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createRoot, type Root } from 'react-dom/client';
import { toast } from 'sonner';
import { vi } from 'vitest';
import type { User } from '../../server/contract/entities.ts';
import { answered } from '../support/answered.ts';
import { type Answers, done, filled, now } from '../support/answers.ts';
import { fixTimeZone } from '../support/golden-file.ts';
import { act } from './mounted.tsx';
import { outlineOf } from './outline.ts';

export interface VisitOptions {
  readonly path: string;
  readonly user: User | null;
  readonly answers: Answers;
  /** Answers besides, or instead: responses as they are, and addresses that are no endpoint (`POST /v1/chat/completions`). */
  readonly more?: Readonly<Record<string, unknown>>;
  readonly language?: 'zh' | 'en';
  readonly width?: number;
  /** Instead of an answer, for reading and changing alike. */
  readonly refusal?: string;
  /** Why, as the server calls it. */
  readonly refusalCode?: string;
  /** Reading is answered all the same. */
  readonly changesOnly?: boolean;
}

const realSetImmediate = setImmediate;
const turn = () => new Promise<void>((resolve) => void realSetImmediate(resolve));

const icons = new Map<string, string>();
let root: Root | undefined;
let client: QueryClient | undefined;
let waiting = 0;
let asked = 0;
const calls: { readonly call: string; readonly isChange: boolean }[] = [];
let changes = 0;
const noted: string[] = [];
export const unanswered = new Set<string>();
/** Calls that the server would not take. */
export const misfits = new Set<string>();

/** Loads every page first: none is shown half, and no module is loaded while the clock stands. */
export async function startVisits(): Promise<void> {
  fixTimeZone();
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', false);
  // What waits until the page is idle is read, too.
  vi.stubGlobal('requestIdleCallback', (work: () => void) => queueMicrotask(work));
  const { pages } = await import('../../web/app/pages.tsx');
  await import('../../web/app/routes.tsx');
  for (const { load } of pages) await load();
  // What is loaded when it is first opened, too.
  const web = join(import.meta.dirname, '../../web');
  for (const path of new Bun.Glob('{shell,components,features}/**/*.tsx').scanSync({ cwd: web }))
    await import(join(web, path));
  for (const path of new Bun.Glob('lib/*.ts').scanSync({ cwd: web })) await import(join(web, path));
  const { startLanguage } = await import('../../web/lib/i18n.ts');
  for (const language of ['zh', 'en']) {
    localStorage.setItem('i18nextLng', language);
    await startLanguage();
  }
  const drawn = readFileSync(join(import.meta.dirname, '../../web/components/icon.tsx'), 'utf8');
  for (const [, name = '', path = ''] of drawn.matchAll(/^ {2}(\w+):[\s\S]*?'([Mm]\s?-?\d[^']*)'/gm))
    icons.set(path, name);
  // A boundary says on the page what React says here.
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
  vi.useFakeTimers({ now: now * 1000, toFake: ['Date', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  // How long a machine took is nothing to read; a model takes half a second.
  vi.spyOn(performance, 'now').mockImplementation(() => answeredChats * 500);
  // Dialogs and menus come a moment later the first time.
  const { preloadMenus } = await import('../../web/components/lazy-menu.tsx');
  const { preloadOverlays } = await import('../../web/components/overlay.tsx');
  preloadMenus();
  preloadOverlays();
  await visit({ path: '/about', user: null, answers: { ...filled, 'status.notice': 'Welcome' } });
  for (let times = 0; times < 5; times++) await settle();
}

export async function endVisits(): Promise<void> {
  await leave();
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
}

const roundMs = 20;
/** As much time goes by in every step, so that what is asked again and again is asked in the same one. */
const stepRounds = 20;

/** Timers of a moment have run, all that was asked is answered, and no answer has led to another question. */
export async function settle(): Promise<void> {
  for (let quiet = 0, round = 0; (quiet < 3 && round < 60) || round < stepRounds; round++) {
    const before = asked;
    await act(async () => {
      // Where all is quiet, the rest of the step goes by at once.
      const rounds = quiet < 3 ? 1 : stepRounds - round;
      await vi.advanceTimersByTimeAsync(rounds * roundMs);
      round += rounds - 1;
      await turn();
    });
    const isPending = waiting > 0 || asked > before || document.querySelector('[data-waiting]') !== null;
    quiet = isPending ? 0 : quiet + 1;
  }
}

/** Which of several reads goes first, and whether two share an answer, depends on the machine: only changes have their place. */
function inOrder(made: typeof calls): string[] {
  const runs: string[][] = [[]];
  for (const { call, isChange } of made) {
    if (isChange) runs.push([call], []);
    else runs.at(-1)?.push(call);
  }
  return runs.flatMap((run) => [...new Set(run)].sort());
}

let second = 0;
let answeredChats = 0;
/** Steps are a second apart, however long those before took to settle. */
export const nextSecond = (): void => void vi.setSystemTime((now + second++) * 1000);

/** Time goes by. */
export async function pass(seconds: number): Promise<void> {
  second += seconds;
  await act(async () => void (await vi.advanceTimersByTimeAsync(seconds * 1000)));
  await settle();
}

function answer(address: string, init: RequestInit, options: VisitOptions): Response {
  const own = options.user === null ? {} : { 'user.self': options.user };
  return answered(address, init, {
    answers: { ...done, ...options.answers, ...own, ...options.more },
    refusal:
      options.refusal === undefined
        ? undefined
        : {
            message: options.refusal,
            code: options.refusalCode ?? 'refused',
            but: ['status.get', 'user.self'],
            changesOnly: options.changesOnly,
          },
    onCall(call, isChange) {
      calls.push({ call, isChange });
      if (isChange) changes++;
    },
    onUnanswered: (id) => void unanswered.add(id),
    onMisfit: (call) => void misfits.add(call),
  });
}

export async function leave(): Promise<void> {
  await act(async () => root?.unmount());
  client?.clear();
  root = undefined;
  document.body.replaceChildren();
  vi.clearAllTimers();
}

export interface Visit {
  /** What stands there: the page and what lies over it, that alone, or the frame around both. */
  outline(part?: 'page' | 'sheet' | 'frame'): string[];
  /** What happened since this was asked last: calls, news, another address. */
  happened(): string[];
  /** Changes that were asked of the site since this was asked last. */
  changes(): number;
  /** Ways back that were offered since this was asked last. */
  undoes(): (() => void)[];
}

export async function visit(options: VisitOptions): Promise<Visit> {
  await leave();
  const { path, user, language = 'en', width = 1440 } = options;
  (window as unknown as { happyDOM: { setViewport(size: object): void } }).happyDOM.setViewport({ width, height: 900 });
  localStorage.clear();
  document.documentElement.dataset.theme = 'light';
  sessionStorage.clear();
  localStorage.setItem('i18nextLng', language);
  second = 0;
  nextSecond();
  history.replaceState(null, '', path);
  vi.stubGlobal('fetch', async (address: string, init: RequestInit = {}) => {
    waiting++;
    asked++;
    try {
      // As from afar: not at once.
      await turn();
      if (/^\/(v1|pg)\//.test(address)) answeredChats++;
      return answer(address, init, options);
    } finally {
      waiting--;
    }
  });
  // What would leave the document is noted, and stays.
  const leaves = (what: string) => (to?: unknown) => void noted.push(`${what} ${String(to ?? '')}`.trim());
  vi.spyOn(location, 'assign').mockImplementation(leaves('leaves for'));
  vi.spyOn(location, 'reload').mockImplementation(leaves('loads the page again'));
  vi.spyOn(HTMLFormElement.prototype, 'submit').mockImplementation(function submit(this: HTMLFormElement) {
    noted.push(
      `submits ${this.method} ${this.action} ${[...new FormData(this)].map(([k, v]) => `${k}=${v}`).join(' ')}`,
    );
  });
  vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function click(this: HTMLAnchorElement) {
    noted.push(`saves a file ${this.download}`);
  });
  const click = HTMLElement.prototype.click;
  vi.spyOn(HTMLInputElement.prototype, 'click').mockImplementation(function pick(this: HTMLInputElement) {
    if (this.type === 'file') noted.push('asks the system for a file');
    else click.call(this);
  });
  vi.stubGlobal('print', leaves('prints'));
  vi.stubGlobal('open', (address: string) => void noted.push(`opens ${address}`));
  Object.defineProperty(navigator, 'clipboard', {
    configurable: true,
    value: { writeText: async (text: string) => void noted.push(`copies ${JSON.stringify(text)}`) },
  });
  const { writeUser, endSession } = await import('../../web/lib/session.ts');
  const { clearChanges } = await import('../../web/lib/dirty-form.ts');
  endSession(false);
  clearChanges();
  writeUser(user);
  await (await import('../../web/lib/i18n.ts')).startLanguage();
  const { App } = await import('../../web/app/routes.tsx');
  client = new QueryClient({ defaultOptions: { queries: { retry: false, refetchOnWindowFocus: false } } });
  const place = document.body.appendChild(document.createElement('div'));
  root = createRoot(place);
  calls.length = 0;
  noted.length = 0;
  let address = location.href;
  let seenToasts = toast.getHistory().length;
  await act(async () =>
    root?.render(
      <QueryClientProvider client={client as QueryClient}>
        <App />
      </QueryClientProvider>,
    ),
  );
  await settle();
  let ways: (() => void)[] = [];
  return {
    outline(part = 'page') {
      if (part === 'frame')
        return outlineOf([document.body], { icons, without: (element) => element.parentElement?.id === 'content' });
      const main = document.querySelector('main');
      const over = [...document.body.children].filter((one) => one !== place);
      const below = part === 'sheet' ? [] : [main ?? place];
      return outlineOf([...below, ...over], { icons });
    },
    happened() {
      const lines = [...inOrder(calls).map((call) => `asks ${call}`), ...noted];
      calls.length = 0;
      noted.length = 0;
      const news = toast.getHistory().slice(seenToasts);
      seenToasts += news.length;
      for (const one of news) {
        const { title, type, action } = one as {
          title?: unknown;
          type?: string;
          action?: { label?: unknown; onClick?: () => void };
        };
        if (action?.onClick !== undefined) ways.push(action.onClick);
        lines.push(
          `says ${type ?? ''} ${JSON.stringify(String(title))}${action?.label === undefined ? '' : ` (${String(action.label)})`}`,
        );
      }
      if (location.href !== address) lines.push(`goes to ${location.pathname}${location.search}${location.hash}`);
      address = location.href;
      return lines;
    },
    changes() {
      const made = changes;
      changes = 0;
      return made;
    },
    undoes() {
      const offered = ways;
      ways = [];
      return offered;
    },
  };
}
