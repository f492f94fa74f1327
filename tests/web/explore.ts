/**
 * Presses every control of a page once, one after the other, and what these open in turn. What it notes of a press is what it
 * does beyond the page: calls, news, other addresses, files. What holds for every press is judged at once.
 */
import { act } from './mounted.tsx';
import { changed, nameOf } from './outline.ts';
import { nextSecond, pass, settle, type Visit } from './visit.tsx';

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

/** What is typed into a field, one after the other: where only some texts fit, first one that does not. */
function wordsFor(field: HTMLInputElement): readonly string[] {
  const description = `${nameOf(field)} ${field.name}`.toLowerCase();
  if (field.type === 'date') return ['2026-11-20'];
  if (field.type === 'datetime-local') return ['2026-11-20T10:15'];
  if (field.type === 'time') return ['10:15'];
  if (field.type === 'month') return ['2026-10'];
  if (field.type === 'number' || field.type === 'range') return ['10'];
  if (/decimal|numeric/.test(field.inputMode ?? '')) return ['-1', '10'];
  if (field.type === 'email' || /e-?mail/.test(description)) return ['new@site.example'];
  if (field.type === 'password') return ['password9'];
  if (field.type === 'url' || /\b(url|address|webhook)\b/.test(description)) return ['https://new.example'];
  const isJson = /^\s*[[{]/.test(field.value) || /\b(mapping|override|json)\b/.test(description);
  if (field.tagName === 'TEXTAREA' && isJson) return ['{', '{"a":"b"}'];
  return ['abc'];
}

async function type(field: HTMLInputElement, value: string): Promise<void> {
  nextSecond();
  await act(async () => {
    const { set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field) as object, 'value') ?? {};
    set?.call(field, value);
    field.dispatchEvent(new Event('input', { bubbles: true }));
    field.dispatchEvent(new Event('change', { bubbles: true }));
  });
  await settle();
}
async function press(element: HTMLElement): Promise<void> {
  nextSecond();
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
  nextSecond();
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

/** Says where a page that threw an error would stand. */
const brokenPage = 'This page could not be shown';

/** A press of what is chosen already, and of what asks the system for a file, changes nothing. */
const mayDoNothing = (element: Element): boolean =>
  element.tagName === 'TR' ||
  /^(radio|option|tab|menuitemradio)$/.test(element.getAttribute('role') ?? '') ||
  isToggle(element) ||
  element.getAttribute('aria-pressed') === 'true' ||
  element.closest('th') !== null;

interface Note {
  readonly depth: number;
  readonly line: string;
  /** It says what a step did, not which step was taken. */
  readonly isEffect: boolean;
}

/** @returns effects with the steps that led to them, and no other step. */
function effectsOf(notes: readonly Note[]): string[] {
  const kept: string[] = [];
  // Steps above this depth have led to what is kept below.
  let above = 0;
  for (const { depth, line, isEffect } of notes.toReversed()) {
    if (!isEffect && depth >= above) continue;
    kept.push(`${'    '.repeat(depth)}${line}`);
    above = isEffect ? Math.max(above, depth) : depth;
  }
  return kept.reverse();
}

const overlaysNow = (): Element[] =>
  [...document.querySelectorAll(overlays)].filter((one) => one.closest('[hidden]') === null);
const topOverlay = (known: readonly Element[]): Element | undefined =>
  overlaysNow()
    .filter((one) => !known.includes(one))
    .at(-1);

export interface Explored {
  /** Presses that did something beyond the page, each with what it did; those that led to it stand above. */
  readonly effects: readonly string[];
  /** Presses after which something does not hold that always must. */
  readonly problems: readonly string[];
  /** How often a change was sent; each of them was refused, where the site refuses. */
  readonly sent: number;
}

export interface Exploration {
  /** What the site says to every change: it must be seen after each. */
  readonly refusal?: string | undefined;
  /** What is around the page is pressed, not the page. */
  readonly frame?: boolean;
  /** What lies over the page is pressed. */
  readonly sheet?: boolean;
  /** Buttons that set what may be set already. */
  readonly sets?: readonly string[];
  /** A selector: nothing else is pressed. */
  readonly within?: string;
  /** What many pages have is pressed as well. */
  readonly common?: boolean;
  /** Keys that are pressed first. */
  readonly keys?: readonly string[];
}

export async function explore(
  open: () => Promise<Visit>,
  { refusal, frame = false, sheet = false, within, common: withCommon = false, sets = [], keys = [] }: Exploration = {},
): Promise<Explored> {
  const notes: Note[] = [];
  const problems: string[] = [];
  let sent = 0;
  const tried = new Set<string>();
  const alike = new Map<string, number>();
  let visit = await open();
  const home = location.pathname;
  const part = frame ? 'frame' : sheet ? 'sheet' : 'page';
  const opened = (): ParentNode | null => overlaysNow().find((one) => one.getAttribute('role') === 'dialog') ?? null;
  const isLeft = (): boolean => location.pathname !== home || (sheet && opened() === null);
  let before = visit.outline(part);
  /** Reads that were made: what is read again after no change is read by the clock, in whichever step that comes. */
  const reads = new Set(visit.happened());
  visit.changes();

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
  const isPressed = (element: HTMLElement, trail: string): boolean => {
    if (frame && element.closest('main') !== null) return false;
    if (within !== undefined && trail === '' && element.closest(within) === null) return false;
    if (isDead(element) || (element.tagName === 'TR' && element.querySelector('td') === null)) return false;
    const id = idOf(element, trail);
    if (tried.has(id)) return false;
    tried.add(id);
    const place = `${trail}|${placeOf(element)}`;
    if (!withCommon && common.test(nameOf(element))) return false;
    const count = alike.get(place) ?? 0;
    alike.set(place, count + 1);
    const isSort = element.closest('th') !== null;
    if (!isSort && count >= (element.getAttribute('role') === 'option' ? mostOptions : mostAlike)) return false;
    return !(isToggle(element) && isRepeated(element) && count > 0);
  };
  const next = (scope: ParentNode, trail: string): HTMLElement | undefined => {
    const all = [...scope.querySelectorAll<HTMLElement>(controls)];
    const isSending = (element: Element): boolean => element.getAttribute('type') === 'submit';
    const isLeaving = (element: Element): boolean => /^(Close|Cancel)$/.test(nameOf(element));
    // What a form sends it sends when all of it was typed; it is left when all of it was pressed.
    const isReady = (element: HTMLElement): boolean =>
      !isSending(element) ||
      all.every((one) => {
        const isOfForm = one.closest('form') === (element as HTMLButtonElement).form;
        return !isOfForm || isSending(one) || isLeaving(one) || isDead(one) || tried.has(idOf(one, trail));
      });
    return (
      all.find((element) => !isLeaving(element) && isReady(element) && isPressed(element, trail)) ??
      all.find((element) => !isLeaving(element) && isPressed(element, trail)) ??
      all.find((element) => isPressed(element, trail))
    );
  };
  const note = (depth: number, line: string, isEffect = false): void => void notes.push({ depth, line, isEffect });

  const reopen = async (): Promise<void> => {
    visit = await open();
    before = visit.outline(part);
    for (const line of visit.happened()) reads.add(line);
    visit.changes();
  };

  /** Notes what came of the last step. @returns whether anything did. */
  const noteChanges = (depth: number): boolean => {
    const step = notes.at(-1)?.line ?? '';
    const happened = visit.happened();
    const changes = visit.changes();
    sent += changes;
    for (const line of happened)
      if (changes > 0 || !line.startsWith('asks ') || !reads.has(line)) note(depth + 1, line, true);
    for (const line of happened) reads.add(line);
    const after = visit.outline(part);
    const seen = changed(before, after);
    before = after;
    if (after.some((line) => line.includes(brokenPage))) problems.push(`${step}: the page broke`);
    if (refusal !== undefined && changes > 0 && ![...happened, ...after].some((line) => line.includes(refusal)))
      problems.push(`${step}: nobody is told that it was refused`);
    return happened.length + seen.length > 0;
  };
  const nameAs = (element: Element): string => {
    const kind = element.getAttribute('role') ?? element.tagName.toLowerCase();
    return `${kind === 'tr' ? 'row' : kind} ${JSON.stringify(kind === 'tr' ? element.getAttribute('data-row') : nameOf(element))}`;
  };

  const step = async (element: HTMLElement, depth: number): Promise<void> => {
    if (isField(element) && !isToggle(element)) {
      const first = element.value;
      const name = nameOf(element);
      for (const words of wordsFor(element)) {
        if (!element.isConnected) break;
        note(depth, `> types ${JSON.stringify(words)} into ${JSON.stringify(name)}`);
        await type(element, words);
        noteChanges(depth);
      }
      // A form keeps what was typed until it is sent; what narrows a list is taken back.
      if (depth === 0 && element.closest('form') === null && element.isConnected) {
        await type(element, first);
        visit.happened();
        before = visit.outline(part);
      }
      return;
    }
    const isSort = element.closest('th') !== null && !isField(element);
    const name = nameAs(element);
    const begun = notes.length;
    const states: string[] = [];
    // A column that sorts goes through three states.
    for (let times = isSort ? 3 : 1; times > 0; times--) {
      note(depth, `> presses ${nameAs(element)}`);
      if (nameOf(element) === '') problems.push(`${nameAs(element)} in ${placeOf(element)}: it has no name`);
      const mayStay = mayDoNothing(element) || sets.includes(nameOf(element));
      await press(element);
      // A form that is wrong says so already, and leads to the field.
      const leads = document.activeElement?.getAttribute('aria-invalid') === 'true';
      if (!noteChanges(depth) && !mayStay && !leads) problems.push(`> presses ${nameAs(element)}: nothing comes of it`);
      states.push(new URLSearchParams(location.search).get('sort') ?? '');
    }
    const [up = '', down = '', back] = states;
    const goesRound = up !== '' && down === (up.startsWith('-') ? up.slice(1) : `-${up}`) && back === '';
    const asked = [up, down].map(
      (sort) =>
        notes.slice(begun).find(({ line }) => line.startsWith('asks ') && line.split(' ').includes(`sort=${sort}`))
          ?.line,
    );
    const [first, second] = asked.map((line) => line?.split(' ')[1] ?? '');
    if (isSort && goesRound && first === second) {
      const line = `> sorts by ${name} and back${first === '' ? '' : `, asks ${first}`}`;
      notes.splice(begun, notes.length, { depth, line, isEffect: true });
    }
    for (const undo of visit.undoes()) {
      note(depth, '> takes it back');
      await act(async () => undo());
      await settle();
      noteChanges(depth);
    }
  };

  const closeOverlays = async (was: readonly Element[], by: Element | null): Promise<void> => {
    for (let round = 0; round < 4 && topOverlay(was) !== undefined; round++) {
      await key('Escape');
      const question = topOverlay(was)?.querySelector<HTMLElement>('.button-danger');
      if (question !== null && question !== undefined && round > 0) await press(question);
    }
    if (by?.isConnected === true && topOverlay(was) === undefined && document.activeElement === document.body)
      problems.push(`${nameAs(by)}: focus is lost when what it opened closes`);
  };

  const walk = async (scope: () => ParentNode | null, trail: string, depth: number): Promise<void> => {
    for (;;) {
      if (depth === 0 && isLeft()) await reopen();
      const place = scope();
      const element = place === null ? undefined : next(place, trail);
      if (element === undefined) return;
      const [was, id] = [overlaysNow(), idOf(element, trail)];
      await step(element, depth);
      if (isLeft()) {
        await reopen();
        if (depth > 0) return;
        continue;
      }
      const inner = `${trail}/${nameOf(element)}`;
      for (let round = 0; round < 12 && depth < deepest; round++) {
        const over = topOverlay(was);
        if (over === undefined) break;
        const count = tried.size;
        await walk(() => (over.isConnected ? over : null), inner, depth + 1);
        if (over.isConnected || tried.size === count || isLeft()) break;
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
        await closeOverlays(was, element);
        visit.happened();
        before = visit.outline(part);
      }
    }
  };
  for (const name of keys) {
    note(0, `> key ${name}`);
    await key(name);
    noteChanges(0);
    if (location.pathname !== home) await reopen();
  }
  if (keys.length > 0) await closeOverlays([], null);
  await walk(() => (frame ? document.body : sheet ? opened() : document.querySelector('main')), '', 0);
  return { effects: effectsOf(notes), problems, sent };
}

/** What a walk can press besides: links, and rows. */
const reachable = `${controls}, a[href]`;

/** The last of that name that can be pressed; what lies over the page first. */
function controlNamed(wanted: string): HTMLElement {
  const [, name = '', nth] = /^(.*?)(?: #(\d+))?$/.exec(wanted) ?? [];
  const places = [...overlaysNow().reverse(), document.querySelector('main') ?? document.body, document.body];
  const named = (place: Element): HTMLElement[] =>
    [...place.querySelectorAll<HTMLElement>(reachable)].filter((element) => {
      const own = element.tagName === 'TR' ? `row ${element.getAttribute('data-row')}` : nameOf(element);
      return !isDead(element) && (own === name || (name.endsWith('…') && own.startsWith(name.slice(0, -1))));
    });
  const found = places.map(named).find((list) => list.length > 0)?.[Number(nth ?? 1) - 1];
  if (found !== undefined) return found;
  const top = overlaysNow().at(-1) ?? document.querySelector('main') ?? document.body;
  throw new Error(
    `no ${wanted} among: ${[...top.querySelectorAll(reachable)].map((element) => nameOf(element)).join(' | ')}`,
  );
}

/** Moves a pointer over something, or off it. @param at parts of its width and height. */
async function point(selector: string, at: readonly number[] | null): Promise<void> {
  const place = document.querySelector(selector);
  if (place === null) throw new Error(`no ${selector}`);
  const { left, top, width, height } = place.getBoundingClientRect();
  const [x = 0, y = 0] = at ?? [];
  const where = { bubbles: true, clientX: left + x * width, clientY: top + y * height, pointerType: 'mouse' };
  const kinds = at === null ? ['out', 'leave'] : ['over', 'enter', 'move'];
  await act(async () => {
    for (const kind of kinds) {
      const more = { ...where, bubbles: !/enter|leave/.test(kind), relatedTarget: at === null ? document.body : null };
      place.dispatchEvent(new PointerEvent(`pointer${kind}`, more));
      place.dispatchEvent(new MouseEvent(`mouse${kind}`, more));
    }
  });
  await settle();
}

/** Lines of what one step draws, for a person to read. */
const mostDrawn = 16;

/**
 * Steps that a person takes on purpose, each with what came of it: `press Save`, `press Delete #2`, `type Name = abc`,
 * `key Enter`, `point .chart 0.5 0.5`, `leave .chart`, `wait 2`. A name that ends in … may go on.
 */
export async function walk(open: () => Promise<Visit>, steps: readonly string[]): Promise<string[]> {
  const visit = await open();
  const lines = ['> opens it', ...visit.happened().map((line) => `    ${line}`)];
  let before = visit.outline();
  const missing: string[] = [];
  for (const step of steps) {
    lines.push(`> ${step}`);
    const page = location.pathname;
    try {
      await take(step, visit);
    } catch (error) {
      missing.push(String(error));
    }
    for (const line of visit.happened()) lines.push(`    ${line}`);
    const after = visit.outline();
    if (after.some((line) => line.includes(brokenPage))) missing.push(`${step}: the page broke`);
    // Another page has an outline of its own.
    const drawn = page === location.pathname ? changed(before, after) : [];
    const shown =
      drawn.length > mostDrawn ? [...drawn.slice(0, mostDrawn), `… ${drawn.length - mostDrawn} lines more`] : drawn;
    for (const line of shown) lines.push(`    ${line}`);
    before = after;
  }
  if (missing.length > 0) throw new Error(missing.join('\n'));
  return lines;
}

async function take(step: string, visit: Visit): Promise<void> {
  const [, kind = '', rest = ''] = /^(\w+) ?(.*)$/s.exec(step) ?? [];
  if (kind === 'press') return press(controlNamed(rest));
  if (kind === 'key') return key(rest);
  if (kind === 'leave') return point(rest, null);
  if (kind === 'wait') return pass(Number(rest));
  if (kind === 'type') {
    const [, name = '', value = ''] = /^(.*?) = (.*)$/s.exec(rest) ?? [];
    const field = controlNamed(name) as HTMLInputElement;
    field.focus();
    return type(field, value);
  }
  if (kind === 'point') {
    const [, selector = '', x = '', y = ''] = /^(.*) ([\d.]+) ([\d.]+)$/.exec(rest) ?? [];
    return point(selector, [Number(x), Number(y)]);
  }
  if (kind !== 'undo') throw new Error(step);
  await act(async () => {
    for (const undo of visit.undoes()) undo();
  });
  return settle();
}
