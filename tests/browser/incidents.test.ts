/** What ran in others' pages, in a real browser: the part of the console that shows it, and nothing around it. */
import { resolve } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { incident } from '../incidents/incident.ts';
import { chromiumProgram } from './support.ts';

const root = resolve(import.meta.dirname, '../..');
let browser: Browser;
beforeAll(async () => {
  browser = await chromium.launch({
    executablePath: chromiumProgram,
    args: ['--headless', '--no-sandbox', '--disable-gpu'],
  });
});
afterAll(() => browser.close());

const payloads = [
  '<script>hit()</script>',
  '<img src=x onerror=hit()>',
  '<svg onload=hit()><animate onbegin=hit() attributeName=x dur=1s></svg>',
  '<a href="javascript:hit()">x</a>',
  '[x](javascript:hit())',
  '[x](JaVaScRiPt&colon;hit())',
  '![x](x"onerror="hit())',
  '<iframe srcdoc="<script>parent.hit()</script>"></iframe>',
  '<math><mtext><table><mglyph><style><img src=x onerror=hit()></style></mglyph></table></mtext></math>',
  '<form action="javascript:hit()"><button>x</button></form>',
  '<details open ontoggle=hit()>x</details>',
  '<noscript><p title="</noscript><img src=x onerror=hit()>">',
  '```\n</code></pre><script>hit()</script>\n```',
];

incident('CVE-2026-25802', 'Markdown of a model ran as script in the page that showed it', async () => {
  const built = await Bun.build({
    entrypoints: [resolve(root, 'web/lib/markdown.ts')],
    target: 'browser',
    format: 'esm',
  });
  const module = (await built.outputs[0]?.text()) ?? '';
  const page = await browser.newPage();
  await page.setContent(
    `<main></main><script type="module">${module.replace(
      /export\s*\{\s*toSafeHtml\s*\};?/,
      'window.show = (text) => { document.querySelector("main").innerHTML = toSafeHtml(text); };',
    )}</script>`,
  );
  await page.waitForFunction(() => 'show' in window);
  const run = (text: string, safely: boolean) =>
    page.evaluate(
      async ({ text, safely }) => {
        const scope = window as unknown as { hits: number; hit: () => void; show: (text: string) => void };
        scope.hits = 0;
        scope.hit = () => scope.hits++;
        const main = document.querySelector('main') as HTMLElement;
        if (safely) scope.show(text);
        else main.innerHTML = text;
        for (const element of main.querySelectorAll<HTMLElement>('*')) {
          if (element instanceof HTMLAnchorElement || element instanceof HTMLButtonElement) element.click();
        }
        // Pictures that are not there fail in a later turn.
        const image = new Image();
        await new Promise((done) => {
          image.onerror = done;
          image.src = 'data:image/png,x';
        });
        await new Promise((done) => setTimeout(done, 50));
        return scope.hits;
      },
      { text, safely },
    );
  // That such a page would run it: else nothing is proven by what follows.
  expect(await run('<img src=data:image/png,x onerror=hit()>', false)).toBe(1);
  for (const payload of payloads) expect([payload, await run(payload, true)]).toEqual([payload, 0]);
  await page.close();
});
