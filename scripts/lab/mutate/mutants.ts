/** Every small change of a source file that its tests should notice, read from the syntax tree that Vite's parser makes. */
import { parseAst } from 'vite';

export interface Mutant {
  /** The same for the same change of the same line, wherever that line stands. */
  readonly id: string;
  readonly file: string;
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly before: string;
  readonly after: string;
  readonly operator: string;
  /** The expression or statement around the change, and whether it names a member. */
  readonly whole: readonly [start: number, end: number];
  readonly isKey: boolean;
  /** It takes effect when its module is loaded, and never again. */
  readonly isOnLoad: boolean;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

type Change = readonly [operator: string, start: number, end: number, after: string];

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';
const childrenOf = (node: Node): Node[] =>
  Object.values(node).flatMap((value) => (Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : []));

const replacements: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '-': '+',
  '+': '-',
  '*': '/',
  '/': '*',
  '&&': '||',
  '||': '&&',
};
const kindOf = (operator: string): string =>
  /^[<>]/.test(operator) ? 'boundary' : /[=]/.test(operator) ? 'equality' : /[&|]/.test(operator) ? 'logic' : 'sum';

/** Types, imports and member names are no behaviour. */
const isSilent = (type: string): boolean =>
  /^TS(?!AsExpression|SatisfiesExpression|NonNullExpression)|^Import|^Export(All|Specifier)/.test(type);
const isText = (node: unknown): boolean =>
  isNode(node) &&
  (node.type === 'TemplateLiteral' ||
    (node.type === 'Literal' && typeof node.value === 'string') ||
    (node.type === 'BinaryExpression' && (isText(node.left) || isText(node.right))));

/** The place of an operator between its two sides. */
function between(node: Node, text: string): number {
  const { left, right, operator } = node;
  if (!isNode(left) || !isNode(right)) return -1;
  const gap = text
    .slice(left.end, right.start)
    .replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, (all) => ' '.repeat(all.length));
  const at = gap.indexOf(String(operator));
  return at < 0 ? -1 : left.end + at;
}

function ofOperator(node: Node, text: string): Change[] {
  const operator = String(node.operator);
  const other = replacements[operator];
  const at = between(node, text);
  if (other === undefined || at < 0 || (operator === '+' && isText(node))) return [];
  return [[kindOf(operator), at, at + operator.length, other]];
}

function ofLiteral(node: Node): Change[] {
  const raw = String(node.raw);
  if (typeof node.value === 'boolean') return [['truth', node.start, node.end, String(!node.value)]];
  if (/^\d[\d_]*n?$/.test(raw)) {
    const suffix = raw.endsWith('n') ? 'n' : '';
    const value = BigInt(raw.replace(/[_n]/g, ''));
    return [value + 1n, value - 1n].map((next): Change => ['constant', node.start, node.end, `(${next}${suffix})`]);
  }
  if (typeof node.value === 'string' && node.value !== '') return [['text', node.start, node.end, "'changed'"]];
  return [];
}

function ofReturn(node: Node): Change[] {
  const value = node.argument;
  if (!isNode(value)) return [];
  const asBoolean =
    ['LogicalExpression', 'UnaryExpression'].includes(value.type) ||
    (value.type === 'BinaryExpression' && /[<>=]/.test(String(value.operator)));
  return (asBoolean ? ['true', 'false'] : ['null'])
    .filter((after) => value.type !== 'Literal' || String(value.raw) !== after)
    .map((after): Change => ['return', value.start, value.end, after]);
}

function ofStatement(node: Node): Change[] {
  const { expression } = node;
  if (!isNode(expression)) return [];
  const isWork = ['CallExpression', 'AwaitExpression', 'AssignmentExpression', 'UpdateExpression'];
  return isWork.includes(expression.type) ? [['statement', node.start, node.end, 'void 0;']] : [];
}

const sliceOf = (text: string, { start, end }: Node): string => text.slice(start, end);

/** What is joined by `&&`, without parentheses around it. */
function conjunctsOf(node: Node): Node[] {
  if (node.type !== 'LogicalExpression' || node.operator !== '&&') return [node];
  return [node.left, node.right].flatMap((side) => (isNode(side) ? conjunctsOf(side) : []));
}

/** A condition of several loses one of them: the whole chain at once, so that each is left out once. */
function ofChain(node: Node, parent: Node | null, text: string): Change[] {
  const isInner = parent?.type === 'LogicalExpression' && parent.operator === '&&';
  if (isInner || node.operator !== '&&') return [];
  const all = conjunctsOf(node);
  return all.map((_, dropped): Change => {
    const left = all.filter((_one, index) => index !== dropped);
    return ['conjunct', node.start, node.end, left.map((one) => `(${sliceOf(text, one)})`).join(' && ')];
  });
}

/** Of two neighbours, one of them a spread, the other one wins. */
function ofSpreads(node: Node, text: string): Change[] {
  const list = node.type === 'ObjectExpression' ? node.properties : node.elements;
  const members = Array.isArray(list) ? list.filter(isNode) : [];
  const isSpread = ({ type }: Node): boolean => type === 'SpreadElement';
  return members.flatMap((one, index): Change[] => {
    const other = members[index + 1];
    if (other === undefined || !(isSpread(one) || isSpread(other))) return [];
    if (node.type === 'ArrayExpression' && !(isSpread(one) && isSpread(other))) return [];
    const [first, second] = [sliceOf(text, one), sliceOf(text, other)];
    if (first === second) return [];
    return [['spread', one.start, other.end, second + text.slice(one.end, other.start) + first]];
  });
}

/** An argument is its neighbour; the type checker refuses those of another type. */
function ofArguments(node: Node, text: string): Change[] {
  const given = Array.isArray(node.arguments) ? node.arguments.filter(isNode) : [];
  const isPlain = ({ type }: Node): boolean => !/Function|^SpreadElement$|^AwaitExpression$/.test(type);
  return given.flatMap((one, index): Change[] =>
    [given[index - 1], given[index + 1]].flatMap((other): Change[] =>
      other === undefined || !isPlain(one) || !isPlain(other) || sliceOf(text, one) === sliceOf(text, other)
        ? []
        : [['argument', one.start, one.end, sliceOf(text, other)]],
    ),
  );
}

function changesOf(node: Node, parent: Node | null, text: string): Change[] {
  switch (node.type) {
    case 'IfStatement':
    case 'ConditionalExpression': {
      const { test } = node;
      return isNode(test) ? [['condition', test.start, test.end, `!(${text.slice(test.start, test.end)})`]] : [];
    }
    case 'BinaryExpression':
      return ofOperator(node, text);
    case 'LogicalExpression':
      return [...ofOperator(node, text), ...ofChain(node, parent, text)];
    case 'ObjectExpression':
    case 'ArrayExpression':
      return ofSpreads(node, text);
    case 'CallExpression':
    case 'NewExpression':
      return ofArguments(node, text);
    case 'Literal':
      return ofLiteral(node);
    case 'ReturnStatement':
      return ofReturn(node);
    case 'ExpressionStatement':
      return ofStatement(node);
    default:
      return [];
  }
}

/** Words and looks are another matter than behaviour: rows of labels and errors, classes and plain attributes are left alone. */
const isMessage = (node: Node): boolean => {
  const { key, name, value } = node;
  if (node.type === 'JSXAttribute')
    return (isNode(name) && name.name === 'className') || (isNode(value) && value.type === 'Literal');
  return (
    node.type === 'Property' && isNode(key) && ['zh', 'en', 'label', 'help', 'description'].includes(String(key.name))
  );
};

/** A value that stands there for the type checker alone: of an element that is always there. */
const isFallback = (node: Node, parent: Node): boolean =>
  parent.type === 'ArrayPattern' ||
  (parent.type === 'LogicalExpression' &&
    parent.operator === '??' &&
    parent.right === node &&
    node.type === 'Literal' &&
    isNode(parent.left) &&
    parent.left.type === 'MemberExpression' &&
    parent.left.computed === true);

export function mutantsOf(file: string, text: string): Mutant[] {
  const found: Mutant[] = [];
  const seen = new Map<string, number>();
  const walk = (node: Node, parent: Node | null, isOnLoad: boolean): void => {
    if (isSilent(node.type) || isMessage(node)) return;
    const isKey = parent !== null && parent.key === node && parent.computed !== true;
    const isWhole = /^(?:Binary|Logical|Object|Array)Expression$/.test(node.type);
    for (const [operator, start, end, change] of changesOf(node, parent, text)) {
      // A number that names a member stands in no parentheses.
      const after = isKey ? change.replace(/^\((.*)\)$/, '[$1]') : change;
      const lineStart = text.lastIndexOf('\n', start) + 1;
      const lineEnd = text.indexOf('\n', start);
      const content = text.slice(lineStart, lineEnd < 0 ? undefined : lineEnd).trim();
      const base = `${file}|${content}|${operator}|${start - lineStart}|${change.slice(0, 40)}`;
      const nth = seen.get(base) ?? 0;
      seen.set(base, nth + 1);
      const line = text.slice(0, start).split('\n').length;
      const before = text.slice(start, end);
      const whole = isWhole ? ([node.start, node.end] as const) : ([start, end] as const);
      const id = nth === 0 ? base : `${base}#${nth}`;
      found.push({ id, file, line, start, end, before, after, operator, whole, isKey, isOnLoad });
    }
    const isWithin = isOnLoad && !/Function|^MethodDefinition$/.test(node.type);
    for (const child of childrenOf(node)) if (!isFallback(child, node)) walk(child, node, isWithin);
  };
  walk(parseAst(text, { lang: file.endsWith('x') ? 'tsx' : 'ts' }) as unknown as Node, null, true);
  return found;
}

export const applied = (text: string, mutants: readonly Mutant[]): string =>
  [...mutants]
    .sort((a, b) => b.start - a.start)
    .reduce((result, { start, end, after }) => result.slice(0, start) + after + result.slice(end), text);

/** The same sample for the same seed, and nearly the same after an edit elsewhere: by the hash of seed and name. */
export const sampled = (all: readonly Mutant[], seed: string, count: number): Mutant[] =>
  all
    .map((mutant) => ({ mutant, rank: Bun.hash(`${seed}|${mutant.id}`) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .slice(0, count)
    .map(({ mutant }) => mutant);
