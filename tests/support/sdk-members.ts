/** Reads the request types of vendors' SDKs out of their declarations: the path of each list, number and choice of words that a request may have. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseSync } from 'vite';

export type Node = { readonly type: string } & Readonly<Record<string, unknown>>;

/** Where names are looked up: a file or a namespace in it. */
export interface Scope {
  readonly file: string;
  readonly outer: Scope | null;
  /** Declarations by name; several where interfaces are merged. */
  readonly types: Map<string, Node[]>;
  readonly spaces: Map<string, Scope>;
  /** Names from other files; `*` = all that it exports, as a namespace. */
  readonly imports: Map<string, { readonly file: string; readonly name: string }>;
  /** Files of which everything is exported again. */
  readonly all: string[];
}

/** What a name or a parameter of a type stands for. */
export interface Bound {
  readonly node: Node;
  readonly scope: Scope;
  readonly values: Values;
}
export type Values = ReadonlyMap<string, Bound>;

export const modules = join(import.meta.dirname, '../../node_modules');
export const noValues: Values = new Map();

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value;
export const nodesOf = (value: unknown): readonly Node[] => (Array.isArray(value) ? value.filter(isNode) : []);
export const nodeOf = (value: unknown): Node | null => (isNode(value) ? value : null);
/** A name as it is written: an identifier, or the text of a literal. */
export const nameOf = (value: unknown): string => {
  const node = nodeOf(value);
  return String(node?.name ?? node?.value ?? '');
};

/** Declarations that were read, by file. */
const files = new Map<string, Scope>();

export function fileScope(file: string): Scope {
  const known = files.get(file);
  if (known !== undefined) return known;
  const scope = newScope(file, null);
  files.set(file, scope);
  declare(parseSync(file, readFileSync(file, 'utf8')).program.body, scope);
  return scope;
}

const newScope = (file: string, outer: Scope | null): Scope => ({
  ...{ file, outer, types: new Map(), spaces: new Map() },
  ...{ imports: new Map(), all: [] },
});

/** @returns the declarations that a path in an import means; null = another package. */
function fileAt(from: string, source: string): string | null {
  if (!source.startsWith('.')) return null;
  const plain = resolve(dirname(from), source.replace(/\.[cm]?js$/, ''));
  for (const path of [`${plain}.d.ts`, join(plain, 'index.d.ts')]) if (existsSync(path)) return path;
  return null;
}

function declare(statements: unknown, scope: Scope): void {
  for (const statement of nodesOf(statements)) {
    const source = nodeOf(statement.source);
    if (source !== null) {
      const file = fileAt(scope.file, String(source.value));
      if (file === null) continue;
      if (statement.type === 'ExportAllDeclaration') scope.all.push(file);
      for (const one of nodesOf(statement.specifiers)) {
        const name = one.type === 'ImportNamespaceSpecifier' ? '*' : nameOf(one.imported ?? one.local);
        scope.imports.set(nameOf(one.type === 'ExportSpecifier' ? one.exported : one.local), { file, name });
      }
      continue;
    }
    const declared = nodeOf(statement.declaration) ?? statement;
    if (declared.type === 'TSModuleDeclaration') {
      const name = nameOf(declared.id);
      const space = scope.spaces.get(name) ?? newScope(scope.file, scope);
      scope.spaces.set(name, space);
      declare(nodeOf(declared.body)?.body, space);
    } else if (/^TS(?:Interface|TypeAlias|Enum)Declaration$/.test(declared.type)) {
      const name = nameOf(declared.id);
      scope.types.set(name, [...(scope.types.get(name) ?? []), declared]);
    }
  }
}

interface Found {
  readonly declarations: readonly Node[];
  readonly scope: Scope;
}

/** @param names of a qualified name, from the left. */
export function lookUp(names: readonly string[], from: Scope): Found | null {
  for (let scope: Scope | null = from; scope !== null; scope = scope.outer) {
    const found = within(names, scope);
    if (found !== null) return found;
  }
  return null;
}

export function within([first = '', ...rest]: readonly string[], scope: Scope): Found | null {
  const declarations = scope.types.get(first);
  if (rest.length === 0 && declarations !== undefined) return { declarations, scope };
  const space = scope.spaces.get(first);
  const inner = space === undefined || rest.length === 0 ? null : within(rest, space);
  if (inner !== null) return inner;
  const imported = scope.imports.get(first);
  if (imported !== undefined) {
    const names = imported.name === '*' ? rest : [imported.name, ...rest];
    return names.length === 0 ? null : within(names, fileScope(imported.file));
  }
  for (const file of scope.all) {
    const found = within([first, ...rest], fileScope(file));
    if (found !== null) return found;
  }
  return null;
}

export const qualified = (node: Node | null): readonly string[] =>
  node === null
    ? []
    : node.type === 'TSQualifiedName'
      ? [...qualified(nodeOf(node.left)), nameOf(node.right)]
      : [nameOf(node)];

/** Walks one request type. */
class Walk {
  /** Words that a member may be, by its path. */
  readonly words = new Map<string, Set<string>>();
  readonly paths = new Set<string>();
  private readonly seen = new Map<Node, Set<string>>();

  /** @param path of the value; '' = the request. @param open declarations that the value lies in: of recursive ones the first round counts. */
  type(node: Node, scope: Scope, values: Values, path: string, open: readonly Node[]): void {
    switch (node.type) {
      case 'TSNumberKeyword':
        if (path !== '') this.paths.add(path);
        return;
      case 'TSArrayType':
        this.list(node.elementType, { node, scope, values }, path, open);
        return;
      case 'TSTupleType':
        for (const element of nodesOf(node.elementTypes)) this.list(element, { node, scope, values }, path, open);
        return;
      case 'TSUnionType':
      case 'TSIntersectionType':
        for (const one of nodesOf(node.types)) this.type(one, scope, values, path, open);
        return;
      case 'TSParenthesizedType':
      case 'TSTypeOperator':
      case 'TSOptionalType': {
        const inner = nodeOf(node.typeAnnotation);
        if (inner !== null) this.type(inner, scope, values, path, open);
        return;
      }
      case 'TSLiteralType': {
        const value = nodeOf(node.literal)?.value;
        if (typeof value === 'string') this.word(path, value);
        else if (typeof value === 'number') this.paths.add(path);
        return;
      }
      case 'TSTypeLiteral':
        this.members(nodesOf(node.members), scope, values, path, open);
        return;
      case 'TSIndexedAccessType':
        this.indexed(node, scope, values, path, open);
        return;
      case 'TSTypeReference':
        this.reference(node, scope, values, path, open);
        return;
    }
  }

  private word(path: string, word: string): void {
    const words = this.words.get(path) ?? new Set();
    words.add(word);
    this.words.set(path, words);
  }

  private list(element: unknown, { scope, values }: Bound, path: string, open: readonly Node[]): void {
    if (path !== '') this.paths.add(path);
    const inner = nodeOf(element);
    if (inner !== null) this.type(inner, scope, values, `${path}[]`, open);
  }

  private members(members: readonly Node[], scope: Scope, values: Values, path: string, open: readonly Node[]): void {
    for (const member of members) {
      const type = nodeOf(nodeOf(member.typeAnnotation)?.typeAnnotation);
      if (type === null) continue;
      if (member.type === 'TSIndexSignature') this.type(type, scope, values, `${path}{}`, open);
      if (member.type !== 'TSPropertySignature') continue;
      const name = nameOf(member.key);
      this.type(type, scope, values, path === '' ? name : `${path}.${name}`, open);
    }
  }

  /** `Params['member']`. */
  private indexed(node: Node, scope: Scope, values: Values, path: string, open: readonly Node[]): void {
    const object = nodeOf(node.objectType);
    const key = String(nodeOf(nodeOf(node.indexType)?.literal)?.value ?? '');
    const found = object?.type === 'TSTypeReference' ? lookUp(qualified(nodeOf(object.typeName)), scope) : null;
    for (const declaration of found?.declarations ?? [])
      for (const member of nodesOf(nodeOf(declaration.body)?.body)) {
        const type = nodeOf(nodeOf(member.typeAnnotation)?.typeAnnotation);
        if (nameOf(member.key) === key && type !== null) this.type(type, found?.scope ?? scope, values, path, open);
      }
  }

  private reference(node: Node, scope: Scope, values: Values, path: string, open: readonly Node[]): void {
    const names = qualified(nodeOf(node.typeName));
    const [name = ''] = names;
    const given = nodesOf(nodeOf(node.typeArguments)?.params);
    const bound = names.length === 1 ? values.get(name) : undefined;
    if (bound !== undefined) {
      this.type(bound.node, bound.scope, bound.values, path, open);
      return;
    }
    const found = lookUp(names, scope);
    const [first, second] = given;
    if (found !== null)
      for (const declaration of found.declarations)
        this.declaration(
          declaration,
          found.scope,
          argumentsOf(declaration, given, found.scope, { scope, values }),
          path,
          open,
        );
    else if (/^(?:Readonly)?Array$/.test(name) || name === 'Iterable')
      this.list(first, { node, scope, values }, path, open);
    else if (name === 'Record' && second !== undefined) this.type(second, scope, values, `${path}{}`, open);
    else if (/^(?:Omit|Pick|Partial|Required|Readonly|NonNullable|Promise)$/.test(name) && first !== undefined)
      this.type(first, scope, values, path, open);
  }

  private declaration(node: Node, scope: Scope, values: Values, path: string, open: readonly Node[]): void {
    const seen = this.seen.get(node) ?? new Set();
    if (open.includes(node) || (values.size === 0 && seen.has(path))) return;
    seen.add(path);
    this.seen.set(node, seen);
    const inner = [...open, node];
    if (node.type === 'TSEnumDeclaration') {
      for (const member of nodesOf(nodeOf(node.body)?.members)) this.word(path, nameOf(member.initializer));
      return;
    }
    const alias = nodeOf(node.typeAnnotation);
    if (alias !== null) {
      this.type(alias, scope, values, path, inner);
      return;
    }
    for (const parent of nodesOf(node.extends)) {
      const found = lookUp(qualified(nodeOf(parent.expression)), scope);
      const given = nodesOf(nodeOf(parent.typeArguments)?.params);
      for (const declaration of found?.declarations ?? [])
        this.declaration(
          declaration,
          found?.scope ?? scope,
          argumentsOf(declaration, given, scope, { scope, values }),
          path,
          inner,
        );
    }
    this.members(nodesOf(nodeOf(node.body)?.body), scope, values, path, inner);
  }
}

/** What the parameters of a type stand for: what is given, else what it says itself. */
export function argumentsOf(
  declaration: Node,
  given: readonly Node[],
  own: Scope,
  { scope, values }: Pick<Bound, 'scope' | 'values'>,
): Values {
  const parameters = nodesOf(nodeOf(declaration.typeParameters)?.params);
  if (parameters.length === 0) return noValues;
  const bound = new Map<string, Bound>();
  for (const [at, parameter] of parameters.entries()) {
    const argument = given[at];
    const fallback = nodeOf(parameter.default) ?? nodeOf(parameter.constraint);
    if (argument !== undefined) bound.set(nameOf(parameter.name), { node: argument, scope, values });
    else if (fallback !== null) bound.set(nameOf(parameter.name), { node: fallback, scope: own, values: noValues });
  }
  return bound;
}

/**
 * Paths of the lists, numbers and choices of words that a request type has: `tools[].max_uses`, `metadata{}`.
 * @param file of the declarations, below `node_modules`. @param name of an exported type.
 */
export function membersOf(file: string, name: string): ReadonlySet<string> {
  const scope = fileScope(resolve(modules, file));
  const found = within(name.split('.'), scope);
  if (found === null) throw new Error(`${file} has no type ${name}`);
  const walk = new Walk();
  for (const declaration of found.declarations)
    walk.type(
      { type: 'TSTypeReference', typeName: { type: 'Identifier', name: nameOf(declaration.id) } },
      found.scope,
      noValues,
      '',
      [],
    );
  const paths = new Set(walk.paths);
  for (const [path, words] of walk.words) if (words.size > 1) paths.add(path);
  return paths;
}
