/** Lays pictures side by side under their names, a dozen on a sheet, drawn by the browser that took them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

export interface PageImage {
  /** Of the file, without `.png`. */
  readonly name: string;
  readonly page: string;
  readonly width: number;
  readonly issues: number;
}

/** Pictures beside each other, how wide each is drawn, and how many go on a sheet. */
const layouts: readonly (readonly [from: number, columns: number, size: number, most: number])[] = [
  [1000, 3, 640, 12],
  [700, 4, 460, 12],
  [0, 6, 300, 12],
];

const launched = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--allow-file-access-from-files'],
  });

/** Writes `beside-PAGE.png`: the PNG that was given at the left, ours at the right. @param given files by page. */
export async function renderBeside(
  folder: string,
  given: ReadonlyMap<string, string>,
  images: readonly PageImage[],
): Promise<void> {
  const browser = await launched();
  const page = await browser.newPage({ viewport: { width: 2904, height: 600 } });
  for (const [name, file] of given) {
    const own = images.find((one) => one.page === name);
    if (own === undefined) continue;
    const at = join(folder, `beside-${name}`);
    const both = [pathToFileURL(file).href, `${own.name}.png`].map((from) => `<img src="${from}">`);
    writeFileSync(
      `${at}.html`,
      `<!doctype html><meta charset="utf-8"><style>body{margin:8px;background:#888;display:flex;align-items:start;gap:8px}img{width:1440px}</style>${both.join('')}`,
    );
    await page.goto(pathToFileURL(`${at}.html`).href);
    await page.screenshot({ path: `${at}.png`, fullPage: true });
  }
  await browser.close();
}

/** @returns how many sheets there are: `sheet-NN.png`. */
export async function renderGrid(folder: string, images: readonly PageImage[]): Promise<number> {
  const browser = await launched();
  const page = await browser.newPage();
  let made = 0;
  for (const [index, [from, columns, size, most]] of layouts.entries()) {
    const below = layouts[index - 1]?.[0] ?? Number.POSITIVE_INFINITY;
    const own = images
      .filter(({ width }) => width >= from && width < below)
      .sort((a, b) => a.page.localeCompare(b.page) || a.name.localeCompare(b.name));
    for (let at = 0; at < own.length; at += most) {
      made++;
      const name = join(folder, `sheet-${String(made).padStart(2, '0')}`);
      const cells = own
        .slice(at, at + most)
        .map(
          (one) =>
            `<figure><figcaption>${one.name}${one.issues > 0 ? ` · <b>${one.issues}</b>` : ''}</figcaption><img src="${one.name}.png"></figure>`,
        );
      writeFileSync(
        `${name}.html`,
        `<!doctype html><meta charset="utf-8"><style>body{margin:8px;background:#888;font:13px sans-serif;display:grid;grid-template-columns:repeat(${columns},${size}px);gap:8px}figure{margin:0}figcaption{padding:2px;color:#fff}b{color:#ff0}img{width:${size}px;display:block}</style>${cells.join('')}`,
      );
      await page.setViewportSize({ width: columns * (size + 8) + 8, height: 600 });
      await page.goto(pathToFileURL(`${name}.html`).href);
      await page.screenshot({ path: `${name}.png`, fullPage: true });
    }
  }
  await browser.close();
  return made;
}
