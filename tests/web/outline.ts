/** A page as a screen reader would tell it: one line for each thing, what lies within it further to the right. */

/** What says nothing to a reader, or is made anew by each run. */
const silent =
  /^(class|id|inert|for|href|role|type|value|checked|d|viewBox|fill|stroke.*|autocomplete|autocorrect|spellcheck|tabindex|name|rows|size|form|method|action|rel|decoding|loading|aria-(labelledby|describedby|controls|label|hidden|owns|activedescendant)|data-(headlessui-.*|row|open|focus|hover|active|closed|enter|leave|transition|disabled|checked|selected|sonner.*))$/;
/** Classes that say something: how it went, where it is shown, how important it is. */
const telling =
  /^(status(-\w+)?|(bg|text|border)-(danger|warning|success|accent|info)(-\w+)?|(max-\w+:|sm:|md:|lg:)?hidden|opacity-\d+|button-\w+|number|lead|actions|measured|dense|compact|roomy|has-note|total|animate-\w+|line-through|italic|invisible)$/;
const blocks =
  /^(ADDRESS|ARTICLE|ASIDE|BLOCKQUOTE|BODY|DD|DETAILS|DIALOG|DIV|DL|DT|FIELDSET|FIGURE|FOOTER|FORM|HEADER|HR|LEGEND|LI|MAIN|NAV|OL|P|PRE|SECTION|TABLE|TBODY|TD|TFOOT|TH|THEAD|TR|UL)$/;
const kinds: Readonly<Record<string, string>> = {
  A: 'link',
  ARTICLE: 'article',
  ASIDE: 'aside',
  BUTTON: 'button',
  CODE: 'code',
  DETAILS: 'details',
  DT: 'term',
  FIELDSET: 'group',
  FOOTER: 'footer',
  FORM: 'form',
  HEADER: 'header',
  HR: 'line',
  IFRAME: 'frame',
  IMG: 'image',
  INPUT: 'field',
  LI: 'item',
  MAIN: 'main',
  METER: 'meter',
  NAV: 'navigation',
  PRE: 'code',
  PROGRESS: 'progress',
  SECTION: 'section',
  SELECT: 'field',
  SUMMARY: 'summary',
  TABLE: 'table',
  TEXTAREA: 'field',
  TH: 'column',
};

export interface OutlineOptions {
  /** Names of the icons by what they draw. */
  readonly icons: ReadonlyMap<string, string>;
  /** Left out. */
  readonly without?: (element: Element) => boolean;
}

/** Keeps the focus within a dialog; is not visible. */
const isGuard = (element: Element): boolean => /position: fixed; top: 1px/.test(element.getAttribute('style') ?? '');
/** Whose parts stand apart without a blank between them. */
const isSpaced = (element: Element): boolean =>
  /(^|\s)(inline-)?(flex|grid)(\s|$)/.test(element.getAttribute('class') ?? '');

/** Of many things of one kind, as steps of time are, the first and the last are enough. @returns where to leave off. */
function alikeFrom(element: Element): number {
  const { children } = element;
  const first = children[0];
  const isMany = children.length > 12 && element.childNodes.length === children.length;
  if (!isMany || element.querySelector('[data-row], input, button') !== null) return Number.POSITIVE_INFINITY;
  return [...children].every(({ tagName }) => tagName === first?.tagName) ? 4 : Number.POSITIVE_INFINITY;
}

const plain = (text: string | null | undefined): string => (text ?? '').replace(/\s+/g, ' ').trim();
/** Without what is made anew by each run, and without the style sheet of a framed document. */
const shortened = (value: string): string =>
  plain(value.replace(/<style>.*<\/style>/s, '').replace(/_r_\w+_|«\w+»/g, '…'));
const byId = (ids: string | null): string =>
  (ids ?? '')
    .split(' ')
    .map((id) => (id === '' ? '' : plain(document.getElementById(id)?.textContent)))
    .filter(Boolean)
    .join(' ');

const isField = (element: Element): element is HTMLInputElement => /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName);

/** What a control is called. */
export function nameOf(element: Element): string {
  const named = element.getAttribute('aria-label') ?? byId(element.getAttribute('aria-labelledby'));
  if (plain(named) !== '') return plain(named);
  if (isField(element)) {
    const label = element.labels?.[0];
    return plain(label?.textContent) || plain(element.getAttribute('placeholder'));
  }
  return plain(element.textContent) || plain(element.getAttribute('title'));
}

function stateOf(element: Element): string[] {
  const words: string[] = [];
  for (const { name, value } of [...element.attributes].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (silent.test(name)) continue;
    if (name === 'style') words.push(`{${value.replace(/\s+/g, ' ').replace(/;\s*$/, '')}}`);
    else words.push(value === '' || value === 'true' ? name : `${name}=${shortened(value)}`);
  }
  for (const one of (element.getAttribute('class') ?? '').split(/\s+/)) if (telling.test(one)) words.push(`.${one}`);
  return words;
}

function fieldState(field: HTMLInputElement): string[] {
  const type = field.tagName === 'INPUT' ? field.type : field.tagName.toLowerCase();
  if (type === 'checkbox' || type === 'radio') return [type, field.checked ? 'on' : 'off'];
  const hint = byId(field.getAttribute('aria-describedby'));
  return [
    ...(type === 'text' ? [] : [type]),
    ...(field.value === '' ? [] : [`= ${JSON.stringify(field.value)}`]),
    ...(hint === '' ? [] : [`hint ${JSON.stringify(hint)}`]),
  ];
}

/** A drawing in one line: of each shape its kind and its figures. */
function drawing(svg: Element, icons: ReadonlyMap<string, string>): string {
  const shapes = [...svg.querySelectorAll('*')];
  const icon = shapes.length === 1 ? icons.get(shapes[0]?.getAttribute('d') ?? '') : undefined;
  if (icon !== undefined) return `icon ${icon}`;
  const parts = shapes.map((shape) =>
    [
      shape.tagName.toLowerCase(),
      ...[...shape.attributes]
        .filter(({ name }) => !/^(class|fill|stroke.*)$/.test(name))
        .map(({ name, value }) => `${name}=${value}`),
      ...stateOf(shape).filter((word) => word.startsWith('.')),
      ...(shape.children.length === 0 && plain(shape.textContent) !== '' ? [plain(shape.textContent)] : []),
    ].join(' '),
  );
  return [`drawing ${nameOf(svg)}`.trim(), ...parts].join(' | ');
}

export function outlineOf(places: readonly Element[], { icons, without = () => false }: OutlineOptions): string[] {
  const lines: string[] = [];
  const hints = new Set(
    [...document.querySelectorAll('[aria-describedby]')].flatMap((one) =>
      isField(one) ? (one.getAttribute('aria-describedby') ?? '').split(' ') : [],
    ),
  );
  let words = '';
  const say = (depth: number): void => {
    const text = plain(words);
    words = '';
    if (text !== '') lines.push(`${'  '.repeat(depth)}${text}`);
  };
  const put = (depth: number, line: string): void => void lines.push(`${'  '.repeat(depth)}${line}`);

  const walkAll = (element: Element, depth: number): void => {
    const isApart = isSpaced(element);
    const children = [...element.childNodes];
    const left = alikeFrom(element);
    for (const [at, child] of children.entries()) {
      if (isApart) words += ' ';
      if (at >= left && at < children.length - 1) {
        if (at === left) put(depth, `… ${children.length - 1 - left} more`);
        continue;
      }
      walk(child, depth);
    }
  };
  const row = (element: Element, depth: number): void => {
    const table = element.closest('table');
    const heads = [...(table?.querySelectorAll('thead tr:last-child > *') ?? [])];
    put(depth, ['row', element.getAttribute('data-row') ?? '', ...stateOf(element)].filter(Boolean).join(' '));
    let at = 0;
    for (const cell of element.children) {
      const title = plain(heads[at]?.textContent);
      at += (cell as HTMLTableCellElement).colSpan || 1;
      const first = lines.length;
      walkAll(cell, depth + 2);
      say(depth + 2);
      const contents = lines.splice(first);
      const state = stateOf(cell).filter((word) => !word.startsWith('colspan'));
      const head = `${title === '' ? '·' : title}:${state.length === 0 ? '' : ` [${state.join(' ')}]`}`;
      if (contents.length === 1) put(depth + 1, `${head} ${contents[0]?.trim()}`);
      else {
        put(depth + 1, head);
        lines.push(...contents);
      }
    }
  };

  function walk(node: ChildNode, depth: number): void {
    if (node.nodeType === 3) {
      words += node.textContent ?? '';
      return;
    }
    if (node.nodeType !== 1) return;
    const element = node as Element;
    const tag = element.tagName.toUpperCase();
    if (/^(SCRIPT|STYLE|TEMPLATE|CAPTION|COLGROUP|OPTION)$/.test(tag) || without(element)) return;
    if (element.hasAttribute('hidden') || hints.has(element.id) || isGuard(element)) return;
    if (tag === 'BR') {
      words += ' ';
      return;
    }
    if (tag === 'DATALIST') {
      say(depth);
      put(depth, `choices ${[...element.children].map((one) => one.getAttribute('value')).join(', ')}`);
      return;
    }
    if (tag === 'SVG') {
      say(depth);
      put(depth, [drawing(element, icons), ...stateOf(element)].join(' '));
      return;
    }
    if (tag === 'TR' && element.parentElement?.tagName !== 'THEAD') {
      say(depth);
      row(element, depth);
      return;
    }
    if (tag === 'LABEL') {
      const { control } = element as HTMLLabelElement;
      say(depth);
      if (control === null || control === undefined) walkAll(element, depth);
      else for (const child of element.querySelectorAll('input,select,textarea,button')) walk(child, depth);
      words = '';
      return;
    }
    const role = element.getAttribute('role');
    const level = /^H([1-6])$/.exec(tag)?.[1];
    const kind = role ?? (level === undefined ? (kinds[tag] ?? '') : `heading ${level}`);
    const state = stateOf(element);
    if (kind === '' && state.length === 0) {
      const isBlock = blocks.test(tag);
      if (isBlock) say(depth);
      walkAll(element, depth);
      if (isBlock) say(depth);
      return;
    }
    say(depth);
    const label = element.getAttribute('aria-label') ?? byId(element.getAttribute('aria-labelledby'));
    const isControl = isField(element);
    const href = element.getAttribute('href');
    const head = [
      kind === '' ? 'text' : kind,
      ...(isControl
        ? [JSON.stringify(nameOf(element))]
        : plain(label) === '' || element.tagName === 'TABLE'
          ? []
          : [JSON.stringify(plain(label))]),
      ...(href === null ? [] : [`→ ${href}`]),
      ...(isControl ? fieldState(element) : []),
      ...state,
    ].join(' ');
    const first = lines.length;
    if (!isControl) walkAll(element, depth + 1);
    say(depth + 1);
    const contents = lines.splice(first);
    // What holds nothing but words stands in one line with them.
    if (contents.length === 1 && !/^\s*(link|button|field|row|icon|drawing|text) /.test(contents[0] ?? ''))
      put(depth, `${head}: ${contents[0]?.trim()}`);
    else if (contents.length > 0 || kind !== '' || state.length > 0) {
      put(depth, head);
      lines.push(...contents);
    }
  }
  for (const place of places) {
    walk(place, 0);
    say(0);
  }
  return lines;
}

/** What is other in `after`: lines that went and lines that came, in their order. */
export function changed(before: readonly string[], after: readonly string[]): string[] {
  let [start, end] = [0, 0];
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  while (
    end < before.length - start &&
    end < after.length - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  )
    end++;
  const gone = before.slice(start, before.length - end);
  const come = after.slice(start, after.length - end);
  // The longest common part of what is left, by lines.
  const table = Array.from({ length: gone.length + 1 }, () => new Uint16Array(come.length + 1));
  for (let a = gone.length - 1; a >= 0; a--)
    for (let b = come.length - 1; b >= 0; b--)
      (table[a] as Uint16Array)[b] =
        gone[a] === come[b]
          ? (table[a + 1]?.[b + 1] ?? 0) + 1
          : Math.max(table[a + 1]?.[b] ?? 0, table[a]?.[b + 1] ?? 0);
  const lines: string[] = [];
  for (let a = 0, b = 0; a < gone.length || b < come.length; ) {
    if (a < gone.length && b < come.length && gone[a] === come[b]) {
      a++;
      b++;
    } else if (b >= come.length || (a < gone.length && (table[a + 1]?.[b] ?? 0) >= (table[a]?.[b + 1] ?? 0))) {
      const line = gone[a++] ?? '';
      lines.push(`- ${line}`);
      // What lies within a thing goes with it.
      const depth = line.search(/\S/);
      while (a < gone.length && (gone[a] ?? '').search(/\S/) > depth && gone[a] !== come[b]) a++;
    } else lines.push(`+ ${come[b++]}`);
  }
  return lines;
}
