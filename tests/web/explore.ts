/** Presses every control of a page once, one after the other, and what these open in turn; and notes what each of them does. */
import { act } from './mounted.tsx';
import { changed, nameOf } from './outline.ts';
import { settle, type Visit } from './visit.tsx';

const controls =
  'button, summary, input, textarea, select, [role=option], [role=menuitem], [role=tab], [role=radio], [role=switch], tr[data-row]';
const overlays = '[role=dialog], [role=menu], [role=listbox], [data-popover]';
/** Of things that look alike and stand beside each other. */
const mostAlike = 5;
/** The same on every page that has it. */
const common = /^(Columns \d|Saved filters|Custom$|Choose the day)/;
const mostOptions = 6;
const deepest = 3;

const isField = (element: Element): element is HTMLInputElement => /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName);
const isToggle = (element: Element): boolean => isField(element) && /^(checkbox|radio)$/.test(element.type);
const isGuard = (element: Element): boolean => /position: fixed; top: 1px/.test(element.getAttribute('style') ?? '');
const isDead = (element: Element): boolean =>
  (element as HTMLButtonElement).disabled === true ||
  (element as HTMLInputElement).readOnly === true ||
  element.getAttribute('aria-disabled') === 'true' ||
  (isField(element) && element.type === 'file') ||
  element.closest('[hidden], [inert]') !== null ||
  isGuard(element);

/** Where it stands, for what stands there once in each row to be known as one. */
function placeOf(element: Element): string {
  const path: string[] = [];
  for (let at: Element | null = element; at !== null && at.tagName !== 'BODY'; at = at.parentElement)
    path.push(`${at.tagName}${at.getAttribute('role') ?? ''}`);
  return path.join('<');
}
const looksOf = (element: Element): string =>
  (element.textContent ?? '').trim() || (element.querySelector('path')?.getAttribute('d') ?? nameOf(element));
const isRepeated = (element: Element): boolean => element.closest('tbody tr, li') !== null;

const isOpener = (element: Element): boolean =>
  element.hasAttribute('aria-haspopup') || element.hasAttribute('aria-expanded');

/** What tells it from others beside it. What opens something says what was chosen there last: it is known by its place. */
function markOf(element: Element): string {
  if (element.tagName === 'TR') return element.querySelector('.status')?.textContent ?? '';
  if (isOpener(element)) return `${isRepeated(element) ? '' : nameOf(element).slice(0, 5)}`;
  return isRepeated(element) ? looksOf(element) : nameOf(element);
}

/** What is typed into a field. */
function wordsFor(field: HTMLInputElement): string {
  const description = `${nameOf(field)} ${field.name}`.toLowerCase();
  if (field.type === 'date') return '2026-11-20';
  if (field.type === 'datetime-local') return '2026-11-20T10:15';
  if (field.type === 'time') return '10:15';
  if (field.type === 'month') return '2026-10';
  if (field.type === 'number' || field.type === 'range' || /decimal|numeric/.test(field.inputMode ?? '')) return '10';
  if (field.type === 'email' || /e-?mail/.test(description)) return 'new@site.example';
  if (field.type === 'password') return 'password9';
  if (field.type === 'url' || /\b(url|address|webhook)\b/.test(description)) return 'https://new.example';
  if (field.tagName === 'TEXTAREA' && /^\s*[[{]/.test(field.value)) return '{"a":"b"}';
  return 'abc';
}

async function type(field: HTMLInputElement, value: string): Promise<void> {
  await act(async () => {
    const { set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field) as object, 'value') ?? {};
    set?.call(field, value);
    field.dispatchEvent(new Event('input', { bubbles: true }));
    field.dispatchEvent(new Event('change', { bubbles: true }));
  });
  await settle();
}
async function press(element: HTMLElement): Promise<void> {
  await act(async () => {
    element.focus();
    const at = { bubbles: true, cancelable: true, button: 0, pointerType: 'mouse' };
    element.dispatchEvent(new PointerEvent('pointerdown', at));
    element.dispatchEvent(new MouseEvent('mousedown', at));
    element.dispatchEvent(new PointerEvent('pointerup', at));
    element.dispatchEvent(new MouseEvent('mouseup', at));
    element.click();
  });
  await settle();
}
/** @param name `Enter`, `Control+k`, or several one after the other: `g t`. */
async function key(name: string): Promise<void> {
  for (const one of name.split(' ')) {
    const on = document.activeElement ?? document.body;
    const what = { key: one.replace('Control+', ''), ctrlKey: one.includes('+'), bubbles: true, cancelable: true };
    await act(async () => {
      on.dispatchEvent(new KeyboardEvent('keydown', what));
      on.dispatchEvent(new KeyboardEvent('keyup', what));
    });
  }
  await settle();
}

const overlaysNow = (): Element[] =>
  [...document.querySelectorAll(overlays)].filter((one) => one.closest('[hidden]') === null);
const topOverlay = (known: readonly Element[]): Element | undefined =>
  overlaysNow()
    .filter((one) => !known.includes(one))
    .at(-1);

export interface Exploration {
  /** What is around the page is pressed, not the page. */
  readonly frame?: boolean;
  /** What many pages have is pressed as well. */
  readonly common?: boolean;
  /** Keys that are pressed first. */
  readonly keys?: readonly string[];
}

export async function explore(
  open: () => Promise<Visit>,
  { frame = false, common: withCommon = false, keys = [] }: Exploration = {},
): Promise<string[]> {
  const lines: string[] = [];
  const tried = new Set<string>();
  const alike = new Map<string, number>();
  let visit = await open();
  const home = location.pathname;
  const part = frame ? 'frame' : 'page';
  let before = visit.outline(part);
  visit.happened();

  /** @returns the next control in there that was not pressed yet. */
  const ids = new WeakMap<Element, string>();
  const idOf = (element: Element, trail: string): string => {
    const held = ids.get(element);
    if (held !== undefined) return held;
    const place = isOpener(element) && !isRepeated(element) ? '' : placeOf(element);
    const id = `${trail}|${place}|${markOf(element)}`;
    ids.set(element, id);
    return id;
  };
  const next = (scope: ParentNode, trail: string): HTMLElement | undefined => {
    for (const element of scope.querySelectorAll<HTMLElement>(controls)) {
      if (frame && element.closest('main') !== null) continue;
      if (isDead(element) || (element.tagName === 'TR' && element.querySelector('td') === null)) continue;
      const id = idOf(element, trail);
      if (tried.has(id)) continue;
      tried.add(id);
      const place = `${trail}|${placeOf(element)}`;
      if (!withCommon && common.test(nameOf(element))) continue;
      const count = alike.get(place) ?? 0;
      alike.set(place, count + 1);
      const isSort = element.closest('th') !== null;
      if (!isSort && count >= (element.getAttribute('role') === 'option' ? mostOptions : mostAlike)) continue;
      if (isToggle(element) && isRepeated(element) && count > 0) continue;
      return element;
    }
    return undefined;
  };
  const note = (depth: number, line: string): void => void lines.push(`${'    '.repeat(depth)}${line}`);

  /** Notes what came of the last step. */
  const noteChanges = (depth: number): void => {
    for (const line of visit.happened()) note(depth + 1, line);
    const after = visit.outline(part);
    for (const line of changed(before, after)) note(depth + 1, line);
    before = after;
  };
  const nameAs = (element: Element): string => {
    const kind = element.getAttribute('role') ?? element.tagName.toLowerCase();
    return `${kind === 'tr' ? 'row' : kind} ${JSON.stringify(kind === 'tr' ? element.getAttribute('data-row') : nameOf(element))}`;
  };

  const step = async (element: HTMLElement, depth: number): Promise<void> => {
    if (isField(element) && !isToggle(element)) {
      const words = wordsFor(element);
      note(depth, `> types ${JSON.stringify(words)} into ${JSON.stringify(nameOf(element))}`);
      const first = element.value;
      await type(element, words);
      noteChanges(depth);
      // A form keeps what was typed until it is sent; what narrows a list is taken back.
      if (depth === 0 && element.closest('form') === null && element.isConnected) {
        await type(element, first);
        visit.happened();
        before = visit.outline(part);
      }
      return;
    }
    // A column that sorts goes through three states.
    for (let times = element.closest('th') === null || isField(element) ? 1 : 3; times > 0; times--) {
      note(depth, `> presses ${nameAs(element)}`);
      await press(element);
      noteChanges(depth);
    }
    for (const undo of visit.undoes()) {
      note(depth, '> takes it back');
      await act(async () => undo());
      await settle();
      noteChanges(depth);
    }
  };

  const closeOverlays = async (was: readonly Element[]): Promise<void> => {
    for (let round = 0; round < 4 && topOverlay(was) !== undefined; round++) {
      await key('Escape');
      const question = topOverlay(was)?.querySelector<HTMLElement>('.button-danger');
      if (question !== null && question !== undefined && round > 0) await press(question);
    }
  };

  const walk = async (scope: () => ParentNode | null, trail: string, depth: number): Promise<void> => {
    for (;;) {
      const place = scope();
      const element = place === null ? undefined : next(place, trail);
      if (element === undefined) return;
      const [was, id] = [overlaysNow(), idOf(element, trail)];
      await step(element, depth);
      if (location.pathname !== home) {
        visit = await open();
        before = visit.outline(part);
        visit.happened();
        if (depth > 0) return;
        continue;
      }
      const inner = `${trail}/${nameOf(element)}`;
      for (let round = 0; round < 12 && depth < deepest; round++) {
        const over = topOverlay(was);
        if (over === undefined) break;
        const count = tried.size;
        await walk(() => (over.isConnected ? over : null), inner, depth + 1);
        if (over.isConnected || tried.size === count || location.pathname !== home) break;
        // It closed before all in it was pressed.
        const again = [...(scope()?.querySelectorAll<HTMLElement>(controls) ?? [])].find(
          (one) => !isDead(one) && idOf(one, trail) === id,
        );
        if (again === undefined) break;
        await press(again);
        visit.happened();
        before = visit.outline(part);
      }
      if (topOverlay(was) !== undefined) {
        await closeOverlays(was);
        visit.happened();
        before = visit.outline(part);
      }
    }
  };
  for (const name of keys) {
    note(0, `> key ${name}`);
    await key(name);
    noteChanges(0);
    if (location.pathname === home) continue;
    visit = await open();
    before = visit.outline(part);
    visit.happened();
  }
  if (keys.length > 0) await closeOverlays([]);
  await walk(() => (frame ? document.body : document.querySelector('main')), '', 0);
  return lines;
}
