/** A schema for the answer as Messages hold to it: words that are refused go into the description, as the maker's own packages do it. */
import { guardedLookup, type Json, list, record, text } from '../shared/json.ts';

/** Source: transformJSONSchema of the package @anthropic-ai/sdk, and https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations */
const formats = new Set('date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' '));
const isPlain = (value: unknown): boolean => value === null || typeof value !== 'object';
/** As deep as bodies may nest. */
const maxDepth = 100;
/** A larger one is told in words as well. */
const maxDefinitions = 1000;

/** Parts that are looked at: one of several types is each of them with all that is said of the whole. */
const maxParts = 10_000;
/** Characters that go into descriptions: a part of several types is told in each. */
const maxWords = 1_000_000;

/** What came of a whole schema. */
interface Outcome {
  /** Something went into a description. */
  moved: boolean;
  parts: number;
  words: number;
}

const isTooLarge = ({ parts, words }: Outcome): boolean => parts > maxParts || words > maxWords;

/** @returns null = it cannot be held to: it refers to itself, leaves open what an object may have, or grows too large. */
export function heldSchema(schema: unknown): { readonly schema: Json; readonly moved: boolean } | null {
  const outcome: Outcome = { moved: false, parts: 0, words: 0 };
  const held = refersToItself(schema) ? null : heldPart(schema, outcome, 0);
  return held === null || isTooLarge(outcome) ? null : { schema: held, moved: outcome.moved };
}

const reference = /^#\/(?:\$defs|definitions)\/([^/]+)$/;

/** Names of definitions that a part refers to. */
function referencesIn(value: unknown, depth = 0): readonly string[] {
  if (depth > maxDepth) return [];
  if (Array.isArray(value)) return value.flatMap((item) => referencesIn(item, depth + 1));
  const object = record(value);
  if (object === null) return [];
  const own = text(object.$ref);
  const name = own === null ? undefined : (reference.exec(own)?.[1] ?? own);
  return [
    ...(name === undefined ? [] : [name]),
    ...Object.values(object).flatMap((item) => referencesIn(item, depth + 1)),
  ];
}

function refersToItself(schema: unknown): boolean {
  const root = record(schema);
  const definitions = { ...record(root?.definitions), ...record(root?.$defs) };
  if (Object.keys(definitions).length > maxDefinitions) return true;
  const reached = new Map(Object.entries(definitions).map(([name, part]) => [name, new Set(referencesIn(part))]));
  if (referencesIn(schema).includes('#')) return true;
  const isOpen = new Set<string>();
  const done = new Set<string>();
  const leadsBack = (name: string): boolean => {
    if (isOpen.has(name)) return true;
    if (done.has(name)) return false;
    isOpen.add(name);
    for (const next of reached.get(name) ?? []) if (leadsBack(next)) return true;
    isOpen.delete(name);
    done.add(name);
    return false;
  };
  return [...reached.keys()].some(leadsBack);
}

function heldPart(schema: unknown, outcome: Outcome, depth: number): Json | null {
  const given = record(schema);
  outcome.parts++;
  if (given === null || depth > maxDepth || isTooLarge(outcome)) return null;
  const { $schema: _, $defs, definitions, ...rest } = given;
  const own: Record<string, unknown> = rest;
  const held: Record<string, unknown> = {};
  for (const [member, value] of [
    ['$defs', $defs],
    ['definitions', definitions],
  ] as const) {
    if (value === undefined) continue;
    const parts = heldMembers(value, outcome, depth);
    if (parts === null) return null;
    held[member] = parts;
  }
  const take = (member: string): unknown => {
    const value = own[member];
    delete own[member];
    return value;
  };
  const ref = take('$ref');
  if (ref !== undefined) return { ...held, $ref: ref };
  if (list(own.enum).length > 0 && list(own.enum).every(isPlain)) held.enum = take('enum');
  if (own.const !== undefined && isPlain(own.const)) held.const = take('const');
  const isLiteral = 'enum' in held || 'const' in held;
  const type = take('type');
  const [anyOf, oneOf, allOf] = [take('anyOf'), take('oneOf'), take('allOf')];
  const joined = Array.isArray(anyOf) ? anyOf : oneOf;
  const parts = Array.isArray(joined) ? joined : allOf;
  if (Array.isArray(type) && !isLiteral && !Array.isArray(parts)) {
    const types = new Set(type.map(text));
    return types.has(null) ? null : heldPart({ anyOf: [...types].map((one) => typed(own, one)) }, outcome, depth + 1);
  }
  if (Array.isArray(parts)) {
    const inner = parts.map((part) => heldPart(part, outcome, depth + 1));
    if (inner.includes(null)) return null;
    held[parts === allOf ? 'allOf' : 'anyOf'] = inner;
  } else if (!isLiteral) {
    if (typeof type !== 'string') return null;
    held.type = type;
  }
  for (const member of ['description', 'title'] as const) if (own[member] !== undefined) held[member] = take(member);
  if (held.type === 'object') {
    const more = take('additionalProperties');
    const properties = take('properties');
    const isOpen = more !== undefined && more !== false && more !== true;
    if (isOpen || (Object.keys(record(properties) ?? {}).length === 0 && more !== false)) return null;
    const members = heldMembers(properties ?? {}, outcome, depth);
    if (members === null) return null;
    Object.assign(held, { properties: members, additionalProperties: false });
    if (own.required !== undefined) held.required = take('required');
  } else if (held.type === 'string') {
    const format = take('format');
    if (formats.has(String(format))) held.format = format;
    else if (format !== undefined) own.format = format;
  } else if (held.type === 'array') {
    const items = take('items');
    const inner = items === undefined ? undefined : heldPart(items, outcome, depth + 1);
    if (inner === null) return null;
    if (inner !== undefined) held.items = inner;
    const least = take('minItems');
    if (least === 0 || least === 1) held.minItems = least;
    else if (least !== undefined) own.minItems = least;
  }
  return described(held, own, outcome);
}

/** Words with schemas within, and the type that they are about. */
const wordsOfType: Readonly<Record<string, string>> = {
  properties: 'object',
  additionalProperties: 'object',
  required: 'object',
  items: 'array',
  minItems: 'array',
};

/** One of several types has what is said of the whole. A schema within goes to one type alone: as a copy for each it doubled with every level. */
const typed = (own: Json, type: string | null): Json =>
  type === 'null'
    ? { type }
    : {
        ...Object.fromEntries(
          Object.entries(own).filter(([word]) => (guardedLookup(wordsOfType, word) ?? type) === type),
        ),
        type,
      };

function heldMembers(value: unknown, outcome: Outcome, depth: number): Json | null {
  const held: Record<string, unknown> = {};
  for (const [name, part] of Object.entries(record(value) ?? {})) {
    const inner = heldPart(part, outcome, depth + 1);
    if (inner === null) return null;
    held[name] = inner;
  }
  return held;
}

/** What is left is told to the model in words: `{minimum: 1, maximum: 5}`. */
function described(held: Record<string, unknown>, left: Json, outcome: Outcome): Json {
  const words = Object.entries(left).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  if (words.length === 0) return held;
  outcome.moved = true;
  for (const word of words) outcome.words += word.length;
  const before = text(held.description);
  return { ...held, description: `${before === null ? '' : `${before}\n\n`}{${words.join(', ')}}` };
}
