/** Every function of a file with its size, read from the syntax tree that Vite's parser makes. */
import { parseAst } from 'vite';

export interface FunctionInfo {
  readonly file: string;
  /** '' = it has none of its own. */
  readonly name: string;
  readonly line: number;
  /** With those of the functions inside. */
  readonly lines: number;
  /** Ways to part: if, ?:, loops, case, catch. */
  readonly branches: number;
  readonly parameters: number;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';
const kinds: ReadonlySet<string> = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);
const branchKinds: ReadonlySet<string> = new Set([
  'IfStatement',
  'ConditionalExpression',
  'ForStatement',
  'ForOfStatement',
  'ForInStatement',
  'WhileStatement',
  'DoWhileStatement',
  'CatchClause',
]);

const childrenOf = (node: Node): Node[] =>
  Object.values(node).flatMap((value) => (Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : []));

const nameIn = (node: unknown): string => {
  if (!isNode(node)) return '';
  return typeof node.name === 'string' ? node.name : typeof node.value === 'string' ? node.value : '';
};

/** What the parent calls a function: a variable, a member, a method. */
const nameFrom = (parent: Node): string => nameIn(parent.type === 'VariableDeclarator' ? parent.id : parent.key);

/** @param file a path that ends in .ts or .tsx. */
export function functionsIn(file: string, text: string): readonly FunctionInfo[] {
  const lineStarts = [0, ...[...text.matchAll(/\n/g)].map((match) => match.index + 1)];
  const lineOf = (offset: number): number => {
    let low = 0;
    let high = lineStarts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((lineStarts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
  const found: FunctionInfo[] = [];
  /** @returns the branches below a node. */
  const walk = (node: Node, parent: Node): number => {
    let branches = branchKinds.has(node.type) || (node.type === 'SwitchCase' && isNode(node.test)) ? 1 : 0;
    for (const child of childrenOf(node)) branches += walk(child, node);
    if (!kinds.has(node.type)) return branches;
    const line = lineOf(node.start);
    const parameters = Array.isArray(node.params) ? node.params.length : 0;
    found.push({
      file,
      name: nameIn(node.id) || nameFrom(parent),
      line,
      lines: lineOf(node.end) - line + 1,
      branches,
      parameters,
    });
    return branches;
  };
  const program = parseAst(text, { lang: file.endsWith('x') ? 'tsx' : 'ts' }) as unknown as Node;
  walk(program, program);
  return found;
}
