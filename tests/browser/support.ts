/** A compiled gateway with a practice upstream, and Chromium before it. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core';
import { createSandbox, freePort, type Sandbox } from '../binary/support.ts';

/** People look here, where `GATEWAY_SHOTS=1` asks for pictures: to draw and to pack one takes longer than most of what is looked at. */
const shots = resolve(import.meta.dirname, '../../screenshots');
const keepsShots = process.env.GATEWAY_SHOTS === '1';
/** @returns where a file for people is written, in the words of the browser; nothing where nobody asked. */
export const kept = (name: string): { readonly path?: string } => (keepsShots ? { path: join(shots, name) } : {});

/** @param name with its extension. */
export async function shot(page: Page, name: string, more: { readonly fullPage?: true } = {}): Promise<void> {
  if (keepsShots) await page.screenshot({ ...more, ...kept(name) });
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Draws no window around its pages: a fifth of the processor time less. Debian's package chromium-headless-shell. */
const shell = '/usr/bin/chromium-headless-shell';
export const chromiumProgram = process.env.CHROMIUM ?? (existsSync(shell) ? shell : '/usr/bin/chromium');
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

/** @param env of the gateway, over a sandbox's own. */
export async function openStage(env: Record<string, string> = {}): Promise<Stage> {
  if (keepsShots) mkdirSync(shots, { recursive: true });
  // First, because a machine without Chromium ends here, before anything is started.
  const browser = await chromium.launch({ executablePath: chromiumProgram, args: quiet });
  const sandbox = createSandbox();
  const upstream = (await sandbox.start(['mock-upstream', '--port', String(freePort())])).line;
  const url = (await sandbox.start(['serve', '--port', String(freePort())], env)).line.replace('URL: ', '');
  const { setup_link: setupLink } = JSON.parse((await sandbox.run(['status', '--json'])).out) as { setup_link: string };
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

const rules = (wanted: string, where = 'document') =>
  `axe.run(${where}, { runOnly: ${wanted}, resultTypes: ['violations'], preload: false })`;
const standards = "['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']";
const faultsIn = (result: AxeResult): string[] =>
  result.violations.flatMap((one) =>
    one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 160)} ${node.failureSummary ?? ''}`),
  );

const withAxe = async (page: Page): Promise<void> => {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe);
};

/** The same without waiting, for pages that hold still. */
export async function violationsNow(page: Page): Promise<string[]> {
  await withAxe(page);
  return faultsIn((await page.evaluate(rules(standards))) as AxeResult);
}

/** What depends on colours. */
const colourRules = "['color-contrast', 'link-in-text-block']";
/** What holds for a page as one thing, whatever its parts are. */
const pageRules =
  "['document-title', 'html-has-lang', 'html-lang-valid', 'bypass', 'duplicate-id-aria', 'meta-viewport']";

/**
 * The parts of a page side by side, and by digest what could make a judgement of each another one: its words and
 * members, its place and size, what stands in its fields; with the theme for its colours, without for all else.
 */
const partsOf = `(async () => {
  const parts = [];
  const split = (element) => {
    if (element.matches('main') || element.querySelector('main') === null) return parts.push(element);
    for (const child of element.children) split(child);
  };
  split(document.body);
  const root = document.documentElement;
  const digest = async (facts) => {
    const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(facts.join('|')));
    return [...new Uint8Array(bytes)].join();
  };
  // Names that are made anew whenever something is mounted.
  const still = (text) => text.replace(/headlessui-([a-z-]+)-[^"\\s]+|_[rR]_[^"\\s]*_|«[^»]*»/g, '$1');
  const factsOf = (part, text) => {
    const { x, y, width, height } = part.getBoundingClientRect();
    const fields = [...part.querySelectorAll('input, select, textarea')].map((one) => [one.value, one.checked, one.disabled].join());
    return [root.lang, innerWidth, x, y, width, height, fields.join(';'), part.contains(document.activeElement), still(text)];
  };
  // Around the main part one link after the other is the current one: links are looked at one by one, then what is left.
  const piecesOf = (part) => {
    if (part.matches('main')) return [factsOf(part, part.outerHTML)];
    const links = [...part.querySelectorAll('a')];
    const bare = part.cloneNode(true);
    for (const link of bare.querySelectorAll('a')) link.replaceWith('link');
    return [factsOf(part, bare.outerHTML), ...links.map((link) => factsOf(link, link.outerHTML))];
  };
  const looksOf = async (part) => {
    const pieces = piecesOf(part);
    const [shapes, colours] = [pieces, pieces.map((facts) => [root.dataset.theme, ...facts])];
    return [await Promise.all(shapes.map(digest)), await Promise.all(colours.map(digest))];
  };
  const names = [...document.querySelectorAll('[id]')].map((one) => one.id).sort();
  const page = await digest([location.pathname, document.title, root.lang, ...names]);
  return { parts, page, looks: await Promise.all(parts.map(looksOf)) };
})()`;

/** Like `violationsNow`, but what looks exactly as it did before is not judged again. @param seen grows. */
export async function newViolations(page: Page, seen: Set<string>): Promise<string[]> {
  await withAxe(page);
  const found = (await page.evaluate(`${partsOf}.then(({ page, looks }) => ({ page, looks }))`)) as {
    readonly page: string;
    readonly looks: readonly (readonly [shapes: readonly string[], colours: readonly string[]])[];
  };
  const unseen = (check: string): boolean => seen.size !== seen.add(check).size;
  const fresh = found.looks.map(([shapes, colours]) => ({
    shape: shapes.filter(unseen).length > 0,
    colours: colours.filter(unseen).length > 0,
  }));
  const [shapes, colours] = [
    fresh.flatMap(({ shape }, at) => (shape ? [at] : [])),
    fresh.flatMap((one, at) => (one.colours && !one.shape ? [at] : [])),
  ];
  const runs = [
    ...(unseen(found.page) ? [rules(pageRules)] : []),
    ...[[shapes, standards] as const, [colours, colourRules] as const].flatMap(([places, wanted]) =>
      places.length === 0
        ? []
        : [
            `${partsOf}.then(({ parts }) => ${rules(wanted, `{ include: ${JSON.stringify(places)}.map((at) => parts[at]) }`)})`,
          ],
    ),
  ];
  const faults: string[] = [];
  for (const run of runs) faults.push(...faultsIn((await page.evaluate(run)) as AxeResult));
  return faults;
}

export async function logIn(page: Page, url: string, username: string, password: string): Promise<void> {
  await page.goto(`${url}/login`);
  await page.getByLabel('Username or email').fill(username);
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

/** The names in the list of a select. It is shut again. */
export async function choicesOf(select: Locator): Promise<string[]> {
  await select.click();
  const names = await select.page().getByRole('option').allTextContents();
  await select.page().keyboard.press('Escape');
  return names;
}

/** Takes a value of a select by its name. */
export async function choose(select: Locator, name: string): Promise<void> {
  await select.click();
  await select.page().getByRole('option', { name, exact: true }).click();
}
