/** A site that is set up, with somebody inside, and what they ask of it by hand. */
import type { Page } from 'playwright-core';
import { setUp } from '../binary/support.ts';
import { enter } from './faults.ts';
import { callFrom, openStage, type Stage, settled } from './support.ts';

export interface Inside {
  readonly stage: Stage;
  readonly page: Page;
  /** A key of the site. */
  readonly key: string;
  readonly ask: (method: string, path: string, body?: unknown) => Promise<unknown>;
  readonly set: (options: Readonly<Record<string, string>>) => Promise<void>;
  readonly open: (path: string) => Promise<Page>;
  /** Somebody who has not logged in. */
  readonly guest: (width?: number) => Promise<Page>;
}

export async function openInside(): Promise<Inside> {
  const stage = await openStage();
  const key = await setUp(stage.sandbox, stage.upstream);
  const page = await stage.newPage(await stage.newContext(true));
  await enter(stage, page);
  const ask = async (method: string, path: string, body?: unknown) => {
    const answer = await callFrom(page, method, path, body);
    if (!answer.success) throw new Error(`${method} ${path}: ${answer.message}`);
    return answer.data;
  };
  return {
    stage,
    page,
    key,
    ask,
    set: async (options) => {
      for (const [name, value] of Object.entries(options)) await ask('PUT', '/api/option/', { key: name, value });
    },
    open: async (path) => {
      await page.goto(`${stage.url}/${path}`);
      await settled(page);
      return page;
    },
    guest: async (width = 1280) => {
      const other = await stage.newPage(await stage.newContext(true));
      await other.setViewportSize({ width, height: 800 });
      await other.addInitScript(() => localStorage.setItem('i18nextLng', 'en'));
      return other;
    },
  };
}

export const stored = (page: Page, name: string): Promise<string | null> =>
  page.evaluate((one) => localStorage.getItem(one), name);
export const widthOf = async (page: Page, selector: string): Promise<number> =>
  Math.round((await page.locator(selector).first().boundingBox())?.width ?? 0);
