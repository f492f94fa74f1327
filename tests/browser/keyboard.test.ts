/** Every page by the keyboard alone: Tab reaches each control, shows where one is, and comes round again. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { consolePages } from '../../server/contract/console-pages.ts';
import { figure } from '../support/figure.ts';
import { inShare } from '../support/often.ts';
import { type Inside, openInside } from './inside.ts';
import { settled } from './support.ts';

/** With what stands in the place of a part; pages that lead on to others are left out. */
const places = consolePages
  .filter((path) => !['/oauth/:type', '/chat2link', '/chat/:id?', '/key', '/document'].includes(path))
  .map((path) => path.replace(':id', '1').slice(1));
const outside = ['', 'about', 'login', 'register', 'reset', 'pricing', 'pricing/practice-small', 'nowhere'];
const pages = [
  ...places.filter((path) => !['login', 'register', 'reset', 'user/reset', 'device'].includes(path)),
  ...[
    'pricing/practice-small',
    'token?open=new',
    'token?open=1',
    'log?size=all',
    'detail?range=7d',
    'detail?view=margin',
  ],
  ...['channel?mode=tag', 'channel/add', 'channel/edit/1', 'orders?view=callbacks', 'user?open=1', 'nowhere'],
  ...['setting?tab=operation', 'setting?tab=operation&block=visual', 'setting?tab=operation&block=history'],
  ...['setting?tab=ratelimit', 'setting?tab=models', 'setting?tab=system', 'setting?tab=other', 'setting?q=retry'],
];

interface Walk {
  readonly reached: number;
  readonly missed: readonly string[];
  readonly unmarked: readonly string[];
  /** Tab came back to where it began. */
  readonly round: boolean;
}

/** Runs in the page: notes what gets the focus, and whether it looks otherwise than before and after. */
function watch(): void {
  const seen = new Set<Element>();
  const looks = (element: Element): string => {
    let text = '';
    // A field may be marked by what stands around it.
    for (let at: Element | null = element, up = 0; at !== null && up < 4; at = at.parentElement, up++) {
      const { outlineStyle, outlineWidth, outlineColor, boxShadow, borderColor, backgroundColor } =
        getComputedStyle(at);
      text += `${outlineStyle} ${outlineWidth} ${outlineColor} ${boxShadow} ${borderColor} ${backgroundColor}|`;
    }
    return text;
  };
  const nameOf = (element: Element): string =>
    `${element.tagName.toLowerCase()} ${element.getAttribute('aria-label') ?? element.textContent?.trim().slice(0, 40) ?? ''}`;
  const unmarked = new Set<string>();
  let before: readonly [Element, string] | null = null;
  const compare = (): void => {
    if (before?.[0].isConnected && looks(before[0]) === before[1]) unmarked.add(nameOf(before[0]));
    before = null;
  };
  /** @returns whether the focus is at another control than before. */
  const note = (): boolean => {
    const now = document.activeElement;
    if (now === before?.[0]) return false;
    compare();
    if (now === null || now === document.body) return false;
    seen.add(now);
    before = [now, looks(now)];
    return true;
  };
  const controls =
    'a[href], button, input:not([type=hidden]), select, textarea, summary, iframe, [tabindex], [contenteditable=true]';
  const isOpen = (element: Element): boolean =>
    element.getClientRects().length > 0 &&
    element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true }) &&
    element.getAttribute('tabindex') !== '-1' &&
    !element.matches(':disabled') &&
    element.closest('[inert], [aria-hidden=true]') === null;
  const radios = (element: Element): boolean =>
    element instanceof HTMLInputElement &&
    element.type === 'radio' &&
    [...seen].some((one) => one instanceof HTMLInputElement && one.name === element.name);
  const missed = (): string[] => {
    const modal = document.querySelector('[role=dialog][aria-modal=true], dialog:modal');
    return [...(modal ?? document).querySelectorAll(controls)]
      .filter((element) => isOpen(element) && !seen.has(element) && !radios(element))
      .map(nameOf);
  };
  Object.assign(window, { keyboardWalk: { seen, note, missed, compare, unmarked } });
}

interface Watched {
  readonly keyboardWalk: {
    readonly seen: Set<Element>;
    note(): boolean;
    missed(): string[];
    compare(): void;
    readonly unmarked: Set<string>;
  };
}

/** A date with its time has so many parts, which Tab goes through; longer it stays nowhere. */
const parts = 9;
/** More controls than any page has. */
const most = 500;

async function walk(page: Page): Promise<Walk> {
  await page.evaluate(watch);
  let round = false;
  // Behind the last control is the window itself, then the first one.
  let still = 0;
  for (let pressed = 0; pressed < most && !round && still < parts; pressed++) {
    await page.keyboard.press('Tab');
    const came = await page.evaluate(() => {
      const { keyboardWalk } = window as unknown as Watched;
      const before = keyboardWalk.seen.size;
      if (!keyboardWalk.note()) return 'still';
      return keyboardWalk.seen.size > before ? 'new' : 'known';
    });
    round = came === 'known';
    still = came === 'still' ? still + 1 : 0;
  }
  return page.evaluate((came) => {
    const { keyboardWalk } = window as unknown as Watched;
    (document.activeElement as HTMLElement | null)?.blur();
    keyboardWalk.compare();
    const { seen, unmarked } = keyboardWalk;
    return { reached: seen.size, missed: keyboardWalk.missed(), unmarked: [...unmarked], round: came };
  }, round);
}

let inside: Inside;
beforeAll(async () => {
  inside = await openInside();
  const body = '{"model":"practice-small","messages":[{"role":"user","content":"hi"}]}';
  for (let sent = 0; sent < 4; sent++)
    await fetch(`${inside.stage.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${inside.key}` },
      body,
    }).then((answer) => answer.text());
  await inside.ask('POST', '/api/user/', { username: 'mira', password: 'password1', display_name: 'Mira' });
  await inside.ask('POST', '/api/redemption/', { name: 'gift', quota: 5_000_000, count: 2 });
});
afterAll(() => inside.stage.close());

test.each([
  ['who is inside', pages],
  ['a stranger', outside],
] as const)(
  '%s reaches every control of every page by Tab, sees where, and comes round',
  async (who, all) => {
    const page = who === 'a stranger' ? await inside.guest() : inside.page;
    const faults: string[] = [];
    let controls = 0;
    let walked = 0;
    for (const [at, path] of all.entries()) {
      if (!inShare(at, 0)) continue;
      await page.goto(`${inside.stage.url}/${path}`);
      await settled(page);
      let found = await walk(page);
      // What came while it was walked is behind it: the next round meets it.
      if (found.missed.length > 0) {
        await settled(page);
        found = await walk(page);
      }
      const { reached, missed, unmarked, round } = found;
      walked++;
      controls += reached;
      if (reached === 0) faults.push(`/${path}: nothing is reached`);
      if (!round) faults.push(`/${path}: does not come round in ${most}`);
      for (const one of missed) faults.push(`/${path}: not reached: ${one}`);
      for (const one of unmarked) faults.push(`/${path}: not marked: ${one}`);
    }
    figure(`${who}: ${walked} pages, ${controls} controls reached by Tab`);
    expect(faults).toEqual([]);
    expect(inside.stage.complaints).toEqual([]);
  },
  900_000,
);
