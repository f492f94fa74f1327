/** Notes every function that is entered: a loader writes one call into the body of each function of server/ and db/. */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { parseAst } from 'vite';

export interface FunctionPlace {
  /** Below the root. */
  readonly file: string;
  /** The function's own name, or that of the variable or member that holds it; '' = neither. */
  readonly name: string;
  readonly line: number;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';
const functionKinds: ReadonlySet<string> = new Set([
  'FunctionDeclaration',
  'FunctionExpression',
  'ArrowFunctionExpression',
]);

const nameIn = (node: unknown): string => {
  if (!isNode(node)) return '';
  return typeof node.name === 'string' ? node.name : typeof node.value === 'string' ? node.value : '';
};

/** Name under which the recorder stands in the global scope. */
const recorder = '__enteredFunction';

/** @returns the source with a call in front of each function's body; the number in the call is the place's index in `places`. */
export function withRecorder(text: string, file: string, places: FunctionPlace[]): string {
  const inserts: { readonly at: number; readonly code: string }[] = [];
  let line = 1;
  let lineAt = 0;
  const lineOf = (offset: number): number => {
    if (offset < lineAt) {
      line = 1;
      lineAt = 0;
    }
    for (; lineAt < offset; lineAt++) if (text.charCodeAt(lineAt) === 10) line++;
    return line;
  };
  const visit = (node: Node, parent: Node): void => {
    if (functionKinds.has(node.type) && isNode(node.body)) {
      const name = nameIn(node.id) || nameIn(parent.type === 'VariableDeclarator' ? parent.id : parent.key);
      const id = places.push({ file, name, line: lineOf(node.start) }) - 1;
      const { body } = node;
      if (body.type === 'BlockStatement') inserts.push({ at: body.start + 1, code: `${recorder}(${id});` });
      else inserts.push({ at: body.start, code: `(${recorder}(${id}),` }, { at: body.end, code: ')' });
    }
    for (const value of Object.values(node))
      if (Array.isArray(value)) for (const item of value) isNode(item) && visit(item, node);
      else if (isNode(value)) visit(value, node);
  };
  const program = parseAst(text, { lang: file.endsWith('x') ? 'tsx' : 'ts' }) as unknown as Node;
  visit(program, program);
  const sorted = inserts
    .map((insert, order) => ({ ...insert, order }))
    .sort((a, b) => a.at - b.at || a.order - b.order);
  let result = '';
  let from = 0;
  for (const { at, code } of sorted) {
    result += text.slice(from, at) + code;
    from = at;
  }
  return result + text.slice(from);
}

export interface Recorder {
  readonly places: readonly FunctionPlace[];
  start(): void;
  /** @returns indexes of places in the order in which they were entered since the start. */
  stop(): readonly number[];
}

/** Installs the loader for a checkout; only what is imported afterwards is noted. */
export function recordFunctionsOf(root: string): Recorder {
  const places: FunctionPlace[] = [];
  let entered: number[] = [];
  let recording = false;
  Object.assign(globalThis, {
    [recorder]: (id: number) => {
      if (recording) entered.push(id);
    },
  });
  const folders = `${root.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}/(?:server|db)/`;
  Bun.plugin({
    name: 'walk',
    setup(build) {
      build.onLoad({ filter: new RegExp(`^${folders}.*\\.tsx?$`) }, ({ path }) => ({
        contents: withRecorder(readFileSync(path, 'utf8'), relative(root, path), places),
        loader: path.endsWith('x') ? 'tsx' : 'ts',
      }));
    },
  });
  return {
    places,
    start() {
      entered = [];
      recording = true;
    },
    stop() {
      recording = false;
      return entered;
    },
  };
}
