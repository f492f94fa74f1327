/** Figures of the console: sizes of what is loaded, and how it feels in Chromium on a fast and on a slow line. Needs dist/gateway. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import type { CDPSession, Page } from 'playwright-core';
import { logIn, openStage } from '../../../tests/browser/support.ts';

const root = resolve(import.meta.dirname, '..', '..', '..');
const assets = join(root, 'web/dist/assets');
const logRows = 10_000;
const toKb = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KB`;
const packed = (name: string): number => brotliCompressSync(readFileSync(join(assets, name))).length;

interface Metric {
  readonly name: string;
  readonly value: string;
  readonly goal: string;
}
const stats: Metric[] = [];
const note = (name: string, value: string, goal: string) => void stats.push({ name, value, goal });

/** Sent bytes of every script and style a page asks for, as the browser counts them. */
async function bytesLoaded(page: Page, url: string): Promise<number> {
  await page.goto(url, { waitUntil: 'networkidle' });
  return page.evaluate(() =>
    performance
      .getEntriesByType('resource')
      .filter((entry) => entry.name.includes('/assets/'))
      .reduce((sum, entry) => sum + (entry as PerformanceResourceTiming).encodedBodySize, 0),
  );
}

/** Largest paint and shifts of a fresh load. */
async function paint(page: Page, url: string): Promise<{ lcp: number; cls: number }> {
  await page.addInitScript(() => {
    const seen = { lcp: 0, cls: 0 };
    (window as unknown as { seen: typeof seen }).seen = seen;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) seen.lcp = entry.startTime;
    }).observe({ type: 'largest-contentful-paint', buffered: true });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        const shift = entry as PerformanceEntry & { readonly value: number; readonly hadRecentInput: boolean };
        if (!shift.hadRecentInput) seen.cls += shift.value;
      }
    }).observe({ type: 'layout-shift', buffered: true });
  });
  await page.goto(url, { waitUntil: 'networkidle' });
  await page.waitForTimeout(300);
  return page.evaluate(() => (window as unknown as { seen: { lcp: number; cls: number } }).seen);
}

/** Longest interaction of a short tour, as the Event Timing API sees it. */
async function interaction(page: Page, url: string): Promise<number> {
  await page.goto(`${url}/channel`, { waitUntil: 'networkidle' });
  await page.evaluate(() => {
    const seen = { worst: 0 };
    (window as unknown as { tour: typeof seen }).tour = seen;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) seen.worst = Math.max(seen.worst, entry.duration);
    }).observe({ type: 'event', durationThreshold: 16, buffered: false } as PerformanceObserverInit);
  });
  await page.getByLabel('Select all rows on this page').click();
  await page.getByRole('button', { name: 'Add channel' }).click();
  await page.waitForTimeout(200);
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+k');
  await page.waitForTimeout(200);
  await page.keyboard.type('log');
  await page.waitForTimeout(200);
  await page.keyboard.press('Escape');
  await page.waitForTimeout(400);
  return page.evaluate(() => (window as unknown as { tour: { worst: number } }).tour.worst);
}

const iterations = 3;

/** Other work on the machine only ever adds to what is measured: the least of a few rounds is the console's own. */
async function fastestOf<Found>(measure: () => Promise<Found>, cost: (found: Found) => number): Promise<Found> {
  let best = await measure();
  for (let round = 1; round < iterations; round += 1) {
    const next = await measure();
    if (cost(next) < cost(best)) best = next;
  }
  return best;
}

interface Scrolled {
  /** Longest task, milliseconds. */
  readonly worst: number;
  readonly framesPerSecond: number;
  readonly rows: number;
}

/** A table is scrolled from end to end, `step` pixels a frame. */
const scroll = (page: Page, step: number): Promise<Scrolled> =>
  page.evaluate(async (pixels) => {
    await new Promise((resolve) => setTimeout(resolve, 500));
    let worst = 0;
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) worst = Math.max(worst, entry.duration);
    });
    observer.observe({ type: 'longtask' });
    const box = document.querySelector('section[aria-busy]') as HTMLElement;
    const started = performance.now();
    let frames = 0;
    for (let at = 0; at < box.scrollHeight; at += pixels, frames += 1) {
      box.scrollTop = at;
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
    const seconds = (performance.now() - started) / 1000;
    await new Promise((resolve) => setTimeout(resolve, 200));
    observer.disconnect();
    return { worst, framesPerSecond: frames / seconds, rows: Math.round(box.scrollHeight / 36) };
  }, step);

/** Scrolls on until the whole log has been loaded. */
async function loadWholeLog(page: Page, url: string, rows: number): Promise<void> {
  await page.goto(`${url}/log?size=all&live=off`, { waitUntil: 'networkidle' });
  await page.evaluate(async (count) => {
    const box = document.querySelector('section[aria-busy]') as HTMLElement;
    for (let attempts = 0; box.scrollHeight < count * 36; attempts += 1) {
      if (attempts > 3000) throw new Error(`the log stops at ${box.scrollHeight / 36} rows`);
      box.scrollTop = box.scrollHeight;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    box.scrollTop = 0;
  }, rows);
}

/** Requests through the practice upstream, so that there is a log. */
async function fillLog(page: Page, url: string, upstream: string, rows: number): Promise<void> {
  const key = await page.evaluate(async (base) => {
    const user = JSON.parse(localStorage.getItem('user') ?? '{}') as { id: number };
    const post = async (path: string, body: object) =>
      (await (
        await fetch(path, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'new-api-user': String(user.id) },
          body: JSON.stringify(body),
        })
      ).json()) as { data: { key: string } };
    const practice = { type: 199, name: 'practice', key: 'none', base_url: base, models: 'practice-small' };
    await post('/api/channel/', practice);
    return (await post('/api/token/', { name: 'fill', unlimited_quota: true })).data.key;
  }, upstream);
  let left = rows;
  const worker = async () => {
    while (left-- > 0)
      await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: '{"model":"practice-small","messages":[{"role":"user","content":"hi"}]}',
      }).then((answer) => answer.arrayBuffer());
  };
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await Promise.all(Array.from({ length: 32 }, worker));
}

async function slow(session: CDPSession, on: boolean): Promise<void> {
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: on ? 150 : 0,
    downloadThroughput: on ? (1.6 * 1024 * 1024) / 8 : -1,
    uploadThroughput: on ? (750 * 1024) / 8 : -1,
  });
  await session.send('Emulation.setCPUThrottlingRate', { rate: on ? 4 : 1 });
}

const names = readdirSync(assets);
const scripts = names.filter((name) => name.endsWith('.js')).map((name) => [name, packed(name)] as const);
const styles = names.filter((name) => name.endsWith('.css')).reduce((sum, name) => sum + packed(name), 0);
const stage = await openStage();
try {
  const { url } = stage;
  const page = await stage.newPage(await stage.newContext());
  await page.goto(stage.setupLink);
  await page.getByLabel('Username').fill('root');
  await page.getByLabel('Password', { exact: true }).fill('password1');
  await page.getByLabel('Confirm password').fill('password1');
  await page.getByRole('button', { name: 'Set up' }).click();
  await page.waitForURL('**/first');
  const fresh = await stage.newPage(await stage.newContext());
  note('entry (login), scripts and styles, brotli', toKb(await bytesLoaded(fresh, `${url}/login`)), '150 KB + 20 KB');
  const [largest] = scripts.filter(([name]) => !name.startsWith('index-')).sort(([, one], [, other]) => other - one);
  note(`largest chunk besides the entry (${largest?.[0] ?? ''})`, toKb(largest?.[1] ?? 0), '40 KB; playground 70 KB');
  note('styles, brotli', toKb(styles), '20 KB');
  note('all console files, brotli', toKb(names.reduce((sum, name) => sum + packed(name), 0)), '1536 KB');

  for (const [profile, throttled, lcpGoal, inpGoal] of [
    ['desktop', false, '800 ms', '100 ms'],
    ['slow (4x CPU, 1.6 Mbps, 150 ms)', true, '2500 ms', '200 ms'],
  ] as const) {
    const context = await stage.newContext();
    const guestPage = await stage.newPage(context);
    const session = await context.newCDPSession(guestPage);
    await slow(session, throttled);
    const { lcp, cls } = await paint(guestPage, `${url}/login`);
    note(`LCP, ${profile}`, `${lcp.toFixed(0)} ms`, lcpGoal);
    note(`CLS, ${profile}`, cls.toFixed(3), '0.05');
    await slow(session, false);
    await logIn(guestPage, url, 'root', 'password1');
    if (!throttled) {
      await guestPage.evaluate(async () => {
        const user = JSON.parse(localStorage.getItem('user') ?? '{}') as { id: number };
        await fetch('/api/channel/', {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'new-api-user': String(user.id) },
          body: JSON.stringify({
            type: 1,
            name: 'many',
            key: Array.from({ length: 1000 }, (_key, index) => `key-${index}`).join('\n'),
            models: 'gpt-4o',
            group: 'default',
          }),
        });
      });
    }
    await slow(session, throttled);
    note(
      `INP of a tour over 1,000 channels, ${profile}`,
      `${(await fastestOf(() => interaction(guestPage, url), Number)).toFixed(0)} ms`,
      inpGoal,
    );
    await guestPage.goto(`${url}/channel`, { waitUntil: 'networkidle' });
    const channels = await fastestOf(
      () => scroll(guestPage, 400),
      ({ worst }) => worst,
    );
    note(`longest task while scrolling them, ${profile}`, `${channels.worst.toFixed(0)} ms`, '50 ms (desktop)');
    await slow(session, false);
    if (!throttled) await fillLog(guestPage, url, stage.upstream, logRows);
    await loadWholeLog(guestPage, url, logRows);
    await slow(session, throttled);
    const log = await fastestOf(
      () => scroll(guestPage, 800),
      ({ worst }) => worst,
    );
    note(`longest task, log of ${log.rows} rows, ${profile}`, `${log.worst.toFixed(0)} ms`, '50 ms (desktop)');
    note(`frames a second while it scrolls, ${profile}`, log.framesPerSecond.toFixed(0), '55 (desktop)');
    await context.close();
  }
} finally {
  await stage.close();
}
for (const { name, value, goal } of stats) console.log(`${name.padEnd(64)} ${value.padStart(10)}   goal ${goal}`);
