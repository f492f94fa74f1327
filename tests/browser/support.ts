/** A compiled gateway with a practice upstream, and Chromium before it. */
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { createSandbox, freePort, type Sandbox } from '../binary/support.ts';

/** People look here. */
export const shots = resolve(import.meta.dirname, '../../screenshots');
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const quiet = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export interface Stage {
  readonly sandbox: Sandbox;
  readonly browser: Browser;
  readonly url: string;
  /** Carries the one-time code, as printed at start. */
  readonly setupLink: string;
  readonly upstream: string;
  /** What browsers of this stage complained about. */
  readonly complaints: string[];
  /** @param still without transitions. */
  readonly newContext: (still?: boolean) => Promise<BrowserContext>;
  readonly newPage: (context: BrowserContext) => Promise<Page>;
  readonly close: () => Promise<void>;
}

export async function openStage(): Promise<Stage> {
  mkdirSync(shots, { recursive: true });
  const sandbox = createSandbox();
  const upstream = (await sandbox.start(['mock-upstream', '--port', String(freePort())])).line;
  const url = (await sandbox.start(['serve', '--port', String(freePort())])).line.replace('URL: ', '');
  const { setup_link: setupLink } = JSON.parse((await sandbox.run(['status', '--json'])).out) as { setup_link: string };
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: quiet });
  const complaints: string[] = [];
  return {
    sandbox,
    browser,
    url,
    setupLink,
    upstream,
    complaints,
    async newContext(still = false) {
      const context = await browser.newContext({
        locale: 'en-US',
        viewport: { width: 1280, height: 800 },
        ...(still ? { reducedMotion: 'reduce' as const } : {}),
      });
      await context.grantPermissions(['clipboard-read', 'clipboard-write']);
      return context;
    },
    async newPage(context) {
      const page = await context.newPage();
      page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warning')
          complaints.push(`${message.type()}: ${message.text()}`);
      });
      const traffic = { open: 0, since: performance.now() };
      const count = (change: number) => () => {
        traffic.open += change;
        traffic.since = performance.now();
      };
      page.on('request', count(1));
      page.on('requestfinished', count(-1));
      page.on('requestfailed', count(-1));
      traffics.set(page, traffic);
      page.on('pageerror', (error) => complaints.push(error.message));
      page.on('response', (response) => {
        if (response.status() < 400) return;
        complaints.push(`${response.status()} ${response.url()}`);
        // What went wrong on the server is needed to mend it.
        if (response.status() >= 500)
          void response.text().then(
            (text) => console.log(response.url(), text.slice(0, 500)),
            () => undefined,
          );
      });
      return page;
    },
    async close() {
      await browser.close();
      await sandbox.close();
    },
  };
}

const traffics = new WeakMap<Page, { open: number; since: number }>();
const quietMs = 120;

/** Nothing has been asked of the server for a moment. */
export async function quietLine(page: Page): Promise<void> {
  const limit = performance.now() + 60_000;
  for (;;) {
    const { open, since } = traffics.get(page) ?? { open: 0, since: 0 };
    if (open <= 0 && performance.now() - since > quietMs) return;
    if (performance.now() > limit) throw new Error(`${page.url()} never falls silent`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The page has read all it wants to show. */
export async function settled(page: Page): Promise<void> {
  await page.waitForFunction(
    () =>
      (document.querySelector('main')?.textContent ?? '') !== '' && document.querySelector('[data-waiting]') === null,
  );
  await quietLine(page);
}

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

/** WCAG A and AA of 2.0, 2.1 and 2.2. The page's policy forbids injected scripts, so axe is evaluated by the debugger instead. */
export async function violationsOn(page: Page): Promise<string[]> {
  // Colours fade while menus and drawers open; they are judged when they have arrived.
  await page.waitForTimeout(350);
  return violationsNow(page);
}

/** The same without waiting, for pages that hold still. */
export async function violationsNow(page: Page): Promise<string[]> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe);
  const result = (await page.evaluate(
    "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'], resultTypes: ['violations'], preload: false })",
  )) as AxeResult;
  return result.violations.flatMap((one) =>
    one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 160)} ${node.failureSummary ?? ''}`),
  );
}

export async function logIn(page: Page, url: string, username: string, password: string): Promise<void> {
  await page.goto(`${url}/login`);
  await page.getByLabel('Username or e-mail').fill(username);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.waitForURL('**/token');
}

export interface Answer {
  readonly success: boolean;
  readonly message: string;
  readonly data: unknown;
}

/** A call as the console makes it, from inside the page. */
export const callFrom = (page: Page, method: string, path: string, body?: unknown): Promise<Answer> =>
  page.evaluate(
    async ([verb, address, content]) => {
      const user = JSON.parse(localStorage.getItem('user') ?? '{}') as { id?: number };
      const response = await fetch(address, {
        method: verb,
        headers: { 'content-type': 'application/json', 'new-api-user': String(user.id) },
        ...(content === undefined ? {} : { body: JSON.stringify(content) }),
      });
      return (await response.json()) as Answer;
    },
    [method, path, body] as const,
  );
