/** Writes values of the request types that vendors' SDKs declare: together they have each member and each variant of a union. */
import { resolve } from 'node:path';
import {
  argumentsOf,
  type Bound,
  fileScope,
  lookUp,
  modules,
  type Node,
  nameOf,
  nodeOf,
  nodesOf,
  noValues,
  qualified,
  type Scope,
  type Values,
  within,
} from './sdk-members.ts';

/** So deep are members written; below stands a word. */
const deepest = 9;

/** Words of a choice that are written: the others are read alike. */
const words = 2;

interface Member {
  readonly name: string;
  readonly optional: boolean;
  readonly variants: readonly unknown[];
}

/** Writes the variants of one type. */
class Samples {
  /** @param open declarations that the value lies in: of recursive ones one round is written. */
  of(node: Node | null, scope: Scope, values: Values, open: readonly Node[]): readonly unknown[] {
    if (node === null || open.length > deepest) return ['x'];
    switch (node.type) {
      case 'TSStringKeyword':
      case 'TSTemplateLiteralType':
        return ['x'];
      case 'TSNumberKeyword':
        return [1];
      case 'TSBooleanKeyword':
        return [true];
      case 'TSNullKeyword':
      case 'TSUndefinedKeyword':
      case 'TSNeverKeyword':
        return [];
      case 'TSUnknownKeyword':
      case 'TSAnyKeyword':
      case 'TSObjectKeyword':
        return [{ x: 1 }];
      case 'TSArrayType':
        return this.of(nodeOf(node.elementType), scope, values, open).map((one) => [one]);
      case 'TSTupleType':
        return [nodesOf(node.elementTypes).flatMap((one) => this.of(one, scope, values, open).slice(0, 1))];
      case 'TSUnionType':
        return this.union(nodesOf(node.types), scope, values, open);
      case 'TSIntersectionType':
        return this.intersection(nodesOf(node.types), scope, values, open);
      case 'TSParenthesizedType':
      case 'TSTypeOperator':
      case 'TSOptionalType':
        return this.of(nodeOf(node.typeAnnotation), scope, values, open);
      case 'TSLiteralType':
        return [nodeOf(node.literal)?.value ?? 'x'];
      case 'TSTypeLiteral':
        return objects(this.members(nodesOf(node.members), scope, values, open));
      case 'TSIndexedAccessType':
        return this.indexed(node, scope, values, open);
      case 'TSTypeReference':
        return this.reference(node, scope, values, open);
      default:
        return ['x'];
    }
  }

  private union(types: readonly Node[], scope: Scope, values: Values, open: readonly Node[]): readonly unknown[] {
    const all = types.flatMap((one) => this.of(one, scope, values, open));
    let choices = 0;
    return all.filter((one) => typeof one !== 'string' || choices++ < words);
  }

  private intersection(
    types: readonly Node[],
    scope: Scope,
    values: Values,
    open: readonly Node[],
  ): readonly unknown[] {
    return types
      .map((one) => this.of(one, scope, values, open))
      .reduce((all, more) => all.flatMap((one) => more.map((other) => ({ ...(one as object), ...(other as object) }))));
  }

  private members(members: readonly Node[], scope: Scope, values: Values, open: readonly Node[]): Member[] {
    return members.flatMap((member): Member[] => {
      const type = nodeOf(nodeOf(member.typeAnnotation)?.typeAnnotation);
      const name = member.type === 'TSIndexSignature' ? 'any' : nameOf(member.key);
      if (type === null || (member.type !== 'TSPropertySignature' && member.type !== 'TSIndexSignature')) return [];
      return [{ name, optional: member.optional === true, variants: this.of(type, scope, values, open) }];
    });
  }

  /** `Params['member']`. */
  private indexed(node: Node, scope: Scope, values: Values, open: readonly Node[]): readonly unknown[] {
    const object = nodeOf(node.objectType);
    const key = String(nodeOf(nodeOf(node.indexType)?.literal)?.value ?? '');
    const found = object?.type === 'TSTypeReference' ? lookUp(qualified(nodeOf(object.typeName)), scope) : null;
    for (const declaration of found?.declarations ?? [])
      for (const member of nodesOf(nodeOf(declaration.body)?.body))
        if (nameOf(member.key) === key)
          return this.of(nodeOf(nodeOf(member.typeAnnotation)?.typeAnnotation), found?.scope ?? scope, values, open);
    return ['x'];
  }

  private reference(node: Node, scope: Scope, values: Values, open: readonly Node[]): readonly unknown[] {
    const names = qualified(nodeOf(node.typeName));
    const [name = ''] = names;
    const given = nodesOf(nodeOf(node.typeArguments)?.params);
    const [first = null, second = null] = given;
    const bound = names.length === 1 ? values.get(name) : undefined;
    if (bound !== undefined) return this.of(bound.node, bound.scope, bound.values, open);
    const found = lookUp(names, scope);
    if (found !== null) {
      const merged = found.declarations.flatMap((one) =>
        this.declared(one, found.scope, argumentsOf(one, given, found.scope, { scope, values }), open),
      );
      return merged;
    }
    if (/^(?:Readonly)?Array$/.test(name) || name === 'Iterable')
      return this.of(first, scope, values, open).map((one) => [one]);
    if (name === 'Record') return this.of(second, scope, values, open).map((one) => ({ any: one }));
    if (/^(?:Omit|Pick|Partial|Required|Readonly|NonNullable|Promise)$/.test(name))
      return this.of(first, scope, values, open);
    return ['x'];
  }

  private declared(node: Node, scope: Scope, values: Values, open: readonly Node[]): readonly unknown[] {
    if (open.includes(node)) return [];
    const inner = [...open, node];
    if (node.type === 'TSEnumDeclaration')
      return nodesOf(nodeOf(node.body)?.members)
        .map((member) => nodeOf(member.initializer)?.value)
        .filter((word) => !/UNSPECIFIED/.test(String(word)))
        .slice(0, words);
    const alias = nodeOf(node.typeAnnotation);
    if (alias !== null) return this.of(alias, scope, values, inner);
    return objects(this.interfaceMembers(node, { node, scope, values }, inner));
  }

  private interfaceMembers(node: Node, { scope, values }: Bound, open: readonly Node[]): Member[] {
    const own = this.members(nodesOf(nodeOf(node.body)?.body), scope, values, open);
    const inherited = nodesOf(node.extends).flatMap((parent) => {
      const found = lookUp(qualified(nodeOf(parent.expression)), scope);
      const given = nodesOf(nodeOf(parent.typeArguments)?.params);
      return (found?.declarations ?? []).flatMap((one) =>
        this.interfaceMembers(
          one,
          {
            node: one,
            scope: found?.scope ?? scope,
            values: argumentsOf(one, given, scope, { scope, values }),
          },
          [...open, one],
        ),
      );
    });
    return [...inherited.filter(({ name }) => own.every((one) => one.name !== name)), ...own];
  }
}

/** One with all members, and one with the necessary ones for each further variant of a member. */
function objects(members: readonly Member[]): readonly unknown[] {
  const written = members.filter(({ variants }) => variants.length > 0);
  const first = ({ name, variants }: Member) => [name, variants[0]] as const;
  const least = Object.fromEntries(written.filter(({ optional }) => !optional).map(first));
  return [
    Object.fromEntries(written.map(first)),
    ...written.flatMap(({ name, variants }) => variants.slice(1).map((value) => ({ ...least, [name]: value }))),
  ];
}

/** @param file of the declarations, below `node_modules`. @param name of an exported type. */
export function samplesOf(file: string, name: string): readonly unknown[] {
  const scope = fileScope(resolve(modules, file));
  const found = within(name.split('.'), scope);
  if (found === null) throw new Error(`${file} has no type ${name}`);
  const reference = {
    type: 'TSTypeReference',
    typeName: { type: 'Identifier', name: nameOf(found.declarations[0]?.id) },
  };
  return new Samples().of(reference, found.scope, noValues, []);
}
