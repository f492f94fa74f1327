/** Texts on which a pattern tries the most: a loop of it is fed over and over, and what follows cannot match. */

type Node =
  | { readonly kind: 'signs'; readonly signs: string }
  | { readonly kind: 'empty' }
  | { readonly kind: 'all'; readonly items: readonly Node[] }
  | { readonly kind: 'one'; readonly items: readonly Node[] }
  | { readonly kind: 'repeat'; readonly item: Node; readonly min: number; readonly max: number };

const empty: Node = { kind: 'empty' };
/** Of these a class takes those that it has: enough to tell the classes of all patterns apart. */
const alphabet = [
  ...'aAzZxX09 _-.,:;=/\\"\'`<>()[]{}@+*?!#$%&|~^',
  ...['\t', '\n', '\r', '\0', '\u007f', '\u0080', 'é', 'ſ', '中', '$', '￥', '\u200b', '\u00a0'],
];

/** Reads a pattern as far as its loops and the signs they take are concerned. What it only looks at is a part of its own. */
class Reader {
  private at = 0;
  /** Bodies of assertions. */
  readonly looked: Node[] = [];

  constructor(
    private readonly source: string,
    private readonly flags: string,
  ) {}

  read(): Node {
    return this.oneOf();
  }

  private oneOf(): Node {
    const items = [this.sequence()];
    while (this.source[this.at] === '|') {
      this.at++;
      items.push(this.sequence());
    }
    return items.length === 1 ? (items[0] as Node) : { kind: 'one', items };
  }

  private sequence(): Node {
    const items: Node[] = [];
    while (this.at < this.source.length && !'|)'.includes(this.source[this.at] as string)) items.push(this.repeated());
    return { kind: 'all', items };
  }

  private repeated(): Node {
    let item = this.atom();
    for (;;) {
      const found = /^(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/.exec(this.source.slice(this.at));
      if (found === null) return item;
      this.at += found[0].length;
      const [, sign, least = '0', comma, most] = found;
      const min = sign === '+' ? 1 : sign === undefined ? Number(least) : 0;
      const max =
        sign === '?' ? 1 : sign === undefined && (comma === undefined || most !== '') ? Number(most ?? least) : 1e9;
      item = { kind: 'repeat', item, min, max: sign === undefined && comma === undefined ? min : max };
    }
  }

  private atom(): Node {
    const { source } = this;
    const sign = source[this.at] as string;
    if (sign === '(') return this.group();
    if (sign === '[') {
      const start = this.at;
      for (this.at++; source[this.at] !== ']'; this.at++) if (source[this.at] === '\\') this.at++;
      this.at++;
      return this.matching(source.slice(start, this.at));
    }
    this.at++;
    if (sign === '^' || sign === '$') return empty;
    if (sign === '.') return this.matching('.');
    if (sign !== '\\') return { kind: 'signs', signs: sign };
    const rest = source.slice(this.at);
    const long = /^(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\da-f]{4}|x[\da-f]{2}|k<[^>]*>|\d+|.)/is.exec(rest)?.[0] ?? '';
    this.at += long.length;
    if (long === 'b' || long === 'B') return empty;
    return this.matching(`\\${long}`);
  }

  private group(): Node {
    const head = /^\((?:\?(?:<?[=!]|:|<\w+>))?/.exec(this.source.slice(this.at))?.[0] ?? '(';
    this.at += head.length;
    const inner = this.oneOf();
    this.at++;
    if (!/[=!]$/.test(head)) return inner;
    this.looked.push(inner);
    return empty;
  }

  private matching(source: string): Node {
    const flags = this.flags.replace(/[gy]/g, '');
    const one = new RegExp(`^(?:${source})$`, flags);
    const signs = alphabet.filter((sign) => one.test(sign)).join('');
    if (signs !== '') return { kind: 'signs', signs };
    // A sign or two that no class of the others has.
    for (let code = 0; code < 0x10000; code++) {
      const sign = String.fromCharCode(code);
      if (one.test(sign)) return { kind: 'signs', signs: sign };
    }
    return empty;
  }
}

/** A text that a part of a pattern takes, or nearly so. */
function sample(node: Node, random: () => number): string {
  switch (node.kind) {
    case 'empty':
      return '';
    case 'signs': {
      const all = [...node.signs];
      return all[Math.floor(random() * all.length)] ?? '';
    }
    case 'all':
      return node.items.map((item) => sample(item, random)).join('');
    case 'one':
      return sample(node.items[Math.floor(random() * node.items.length)] as Node, random);
    case 'repeat': {
      const times = Math.min(node.max, Math.max(node.min, Math.floor(random() * 3)));
      return Array.from({ length: Math.min(times, 70) }, () => sample(node.item, random)).join('');
    }
  }
}

/** Every place of a pattern with what stands before it. */
function* places(
  node: Node,
  before: readonly Node[],
): Generator<{ readonly node: Node; readonly before: readonly Node[] }> {
  yield { node, before };
  if (node.kind === 'all') {
    for (const [at, item] of node.items.entries()) yield* places(item, [...before, ...node.items.slice(0, at)]);
  } else if (node.kind === 'one') for (const item of node.items) yield* places(item, before);
  else if (node.kind === 'repeat') yield* places(node.item, before);
}

const signsOf = (node: Node): string => {
  switch (node.kind) {
    case 'signs':
      return node.signs;
    case 'empty':
      return '';
    case 'repeat':
      return signsOf(node.item);
    default:
      return node.items.map(signsOf).join('');
  }
};

const ends = ['', '\n', '\0', '!', 'é', '\u200b"'];

/**
 * @param random in [0, 1).
 * @param length UTF-16 units of each.
 */
export function hostileTexts(
  { source, flags }: Pick<RegExp, 'source' | 'flags'>,
  random: () => number,
  length: number,
): ReadonlySet<string> {
  const reader = new Reader(source, flags);
  const whole = reader.read();
  const texts = new Set<string>();
  const add = (before: string, pump: string) => {
    if (pump === '') return;
    const end = ends[Math.floor(random() * ends.length)] ?? '';
    texts.add(before + pump.repeat(Math.ceil(length / pump.length)).slice(0, length) + end);
  };
  for (const root of [whole, ...reader.looked])
    for (const { node, before } of places(root, [])) {
      const start = before.map((item) => sample(item, random)).join('');
      if (node.kind === 'repeat' && node.max > 1000) {
        // What a loop and one behind it may both take is among its signs.
        for (const sign of new Set(signsOf(node.item))) add(start, sign);
        for (let times = 0; times < 3; times++) add(start, sample(node.item, random));
      }
      // A pattern that begins anywhere begins again at each repetition.
      if (start !== '') add('', start);
    }
  for (let times = 0; times < 3; times++) add('', sample(whole, random));
  for (const sign of new Set(signsOf(whole))) add('', sign);
  return texts;
}
