/** Plants throws: a loader writes one call in front of each statement of functions of relay, protocols and providers. */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { parseAst } from 'vite';

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

export interface Place {
  /** Below the root. */
  readonly file: string;
  readonly line: number;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';
const functionKinds: ReadonlySet<string> = new Set([
  'FunctionDeclaration',
  'FunctionExpression',
  'ArrowFunctionExpression',
]);
const passed = '__passesStatement';

/** What fails in these are the statements inside. */
const evaluatesNothing: ReadonlySet<string> = new Set(['FunctionDeclaration', 'TryStatement']);

/** `return this.name`: reads a field, which cannot fail. */
const readsField = ({ type, argument }: Node): boolean =>
  type === 'ReturnStatement' &&
  isNode(argument) &&
  argument.type === 'MemberExpression' &&
  argument.computed === false &&
  isNode(argument.object) &&
  argument.object.type === 'ThisExpression';

/** A try of one statement holds nothing but the call that may fail, for reasons of somebody else's: what is thrown there is no defect. */
const isCallOfOthers = (block: Node, parent: Node): boolean =>
  parent.type === 'TryStatement' && parent.block === block && (block.body as readonly Node[]).length === 1;

/** @returns the source with a call in front of each statement inside of functions; the number in the call is the index in `places`. */
function withCalls(text: string, file: string, places: Place[]): string {
  const inserts: { readonly at: number; readonly code: string }[] = [];
  const lineOf = (offset: number): number => text.slice(0, offset).split('\n').length;
  const place = (at: number): number => places.push({ file, line: lineOf(at) }) - 1;
  const before = (statements: readonly Node[]) => {
    for (const statement of statements) {
      const { type, start } = statement;
      if (!evaluatesNothing.has(type) && !readsField(statement))
        inserts.push({ at: start, code: `${passed}(${place(start)});` });
    }
  };
  const visit = (node: Node, parent: Node, inFunction: boolean): void => {
    const isFunction = functionKinds.has(node.type) && isNode(node.body);
    if (isFunction) {
      const { body } = node as unknown as { readonly body: Node };
      if (body.type !== 'BlockStatement') {
        inserts.push({ at: body.start, code: `(${passed}(${place(body.start)}),` }, { at: body.end, code: ')' });
      }
    }
    if (inFunction && node.type === 'BlockStatement' && !isCallOfOthers(node, parent))
      before(node.body as readonly Node[]);
    if (inFunction && node.type === 'SwitchCase') before(node.consequent as readonly Node[]);
    for (const value of Object.values(node))
      if (Array.isArray(value)) for (const item of value) isNode(item) && visit(item, node, inFunction || isFunction);
      else if (isNode(value)) visit(value, node, inFunction || isFunction);
  };
  const program = parseAst(text, { lang: 'ts' }) as unknown as Node;
  visit(program, program, false);
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

/** Nobody waits for it: a timer's callback, or what a channel's test does before it has a request. */
const ownSteps = /relay-request\.ts|delivery\/stream\.ts/;
const timers = /health-report\.ts|affinity\.ts|channel-test\.ts|deadline\.ts|interval-timers\.ts/;
export const ofTimers = /(?:deadline|interval-timers)\.ts$/;

/** Installs the loader for a checkout; only what is imported afterwards is planted. */
export function plantIn(root: string) {
  const places: Place[] = [];
  let visits: Map<number, number> | null = null;
  let planted = -1;
  let left = 0;
  let always = false;
  let error = new Error();
  let wasMet = false;
  let stackAtThrow = '';
  const passes = (id: number): void => {
    if (visits !== null) visits.set(id, (visits.get(id) ?? 0) + 1);
    if (id !== planted || --left > 0 || (wasMet && !always)) return;
    stackAtThrow = new Error('planted').stack ?? '';
    wasMet = true;
    throw error;
  };
  Error.stackTraceLimit = 100;
  Object.assign(globalThis, { [passed]: passes });
  const folders = `${root.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}/server/(?:relay|protocols|providers)/`;
  Bun.plugin({
    name: 'planted',
    setup(build) {
      build.onLoad({ filter: new RegExp(`^${folders}.*\\.ts$`) }, ({ path }) => ({
        contents: withCalls(readFileSync(path, 'utf8'), relative(root, path), places),
        loader: 'ts',
      }));
    },
  });
  return {
    places: places as readonly Place[],
    record(): void {
      visits = new Map();
    },
    recorded(): ReadonlyMap<number, number> {
      const found = visits ?? new Map<number, number>();
      visits = null;
      return found;
    },
    /** @param from the visit that throws. @param forEver and all after it. */
    plant(id: number, from: number, forEver: boolean): Error {
      planted = id;
      left = from;
      always = forEver;
      wasMet = false;
      error = new TypeError("undefined is not an object (evaluating 'planted')");
      return error;
    },
    clear(): void {
      planted = -1;
    },
    met: () => wasMet,
    /** Where it was thrown last. */
    stack: () => stackAtThrow,
    /** Where a request has its own steps is no timer's and no test's. */
    metOutside: () =>
      !ownSteps.test(stackAtThrow) && (timers.test(stackAtThrow) || !stackAtThrow.includes('/server/relay/')),
  };
}
