/** Arguments and schemas of tools where dialects disagree: text or object, free text or JSON, ids of every shape. */
import type { ChatRequest, Tool, ToolChoice } from '../canonical.ts';
import type { Dropped } from '../codec.ts';
import { type Json, parseExact, parseJson, record, text } from './json.ts';

/** Dialects that want an object get one, whatever the history says. */
export function argumentsObject(raw: string): Record<string, unknown> {
  if (raw.trim() === '') return {};
  return record(parseExact(raw)) ?? { _raw: raw };
}

/** A tool that takes free text, for dialects that know only JSON. */
export const customSchema = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
} as const;

export const wrapCustom = (input: string): string => JSON.stringify({ input });
export function unwrapCustom(wrapped: string): string {
  const input = record(parseJson(wrapped))?.input;
  return typeof input === 'string' ? input : wrapped;
}

/** @param definition name, description and parameters as OpenAI and its relatives nest them. */
export const functionTool = (definition: Json, strict: boolean | null): Tool => ({
  kind: 'function',
  name: text(definition.name) ?? '',
  description: text(definition.description),
  schema: definition.parameters ?? null,
  strict,
});

/** What the words of a custom tool follow; OpenAI's two dialects nest it differently. @returns null where they are free. */
export function grammarOf({ kind, raw }: Tool): Json | null {
  if (kind !== 'custom') return null;
  const tool = record(raw);
  const format = record((record(tool?.custom) ?? tool)?.format);
  return format?.type === 'grammar' ? (record(format.grammar) ?? format) : null;
}

/** A schema must name an object, also for a tool without arguments. */
export const objectSchema = (schema: unknown): Record<string, unknown> => {
  const fields = record(schema) ?? {};
  return fields.type === undefined ? { type: 'object', properties: {}, ...fields } : fields;
};

const matches = /^[a-zA-Z0-9_-]{1,64}$/;

/** Ids that every dialect accepts; the same id always becomes the same one. */
export const portableId = (id: string): string => (matches.test(id) ? id : `call_${Bun.hash(id).toString(36)}`);

const hashOf = (name: string): string => Bun.hash(name).toString(36).padStart(13, '0').slice(-8);

/** Longer names of bundles are cut: each of their tools repeats them. */
const maxBundle = 64;
const bundleWords = 40;

/** What a bundle's tools are called by before their own names where a dialect knows no bundles. */
export const bundlePrefix = (namespace: string): string =>
  namespace.length <= maxBundle ? `${namespace}__` : `${namespace.slice(0, bundleWords)}_${hashOf(namespace)}__`;

/** A bundle's name becomes part of its tools' names where a dialect knows no bundles. */
export const bundled = (namespace: string | null, name: string): string =>
  namespace === null ? name : bundlePrefix(namespace) + name;

/** Google wants a letter or `_` first. Source: https://ai.google.dev/api/caching#FunctionDeclaration */
const portableNames = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;
const maxWords = 50;

/**
 * Names that every dialect accepts. One that is changed ends with a hash of the whole, so that two tools never become one,
 * and that a name stays the same whatever other tools are offered. `toolRestorer` gives the client's own back.
 */
export function portableName(name: string): string {
  if (portableNames.test(name)) return name;
  const words = name
    .replace(/[^a-zA-Z0-9_-]+/g, '_')
    .replace(/^(?=[^a-zA-Z_])/, '_')
    .slice(0, maxWords);
  return `${words === '_' || words === '' ? 'tool' : words}_${hashOf(name)}`;
}

const unionWords = ['anyOf', 'oneOf', 'allOf'] as const;
/** Unions within unions, at the root. */
const maxUnions = 8;

export const hasRootUnion = (schema: unknown): boolean => {
  const root = record(schema);
  return root !== null && unionWords.some((word) => Array.isArray(root[word]));
};

/**
 * One object in the place of a union at the root: each property of each branch, required where all branches require it.
 * What is lost by it stands in the description; of a very large union that is all of it.
 */
export function withoutRootUnion(schema: unknown): unknown {
  const root = record(schema);
  if (root === null || !hasRootUnion(root)) return schema;
  const unions = Object.fromEntries(
    unionWords.flatMap((word) => (root[word] === undefined ? [] : [[word, root[word]]])),
  );
  const kept = Object.fromEntries(
    Object.entries(root).filter(([name]) => !(unionWords as readonly string[]).includes(name)),
  );
  const words = `The arguments match this schema: ${JSON.stringify(unions)}`;
  const said = text(root.description);
  const description = said === null ? words : `${said}\n\n${words}`;
  const joined = new JoinedBranches(root).of(root, 0);
  // Any argument is let through, and the description alone says which.
  if (joined === null) return { ...kept, type: 'object', additionalProperties: true, description };
  const { properties, required, isClosed } = joined;
  return {
    ...kept,
    type: 'object',
    properties: Object.fromEntries(
      [...properties].map(([name, forms]) => [name, forms.length === 1 ? forms[0] : { anyOf: forms }]),
    ),
    ...(required.size === 0 ? { required: undefined } : { required: [...required] }),
    ...(isClosed ? { additionalProperties: false } : {}),
    description,
  };
}

interface Branch {
  readonly properties: Map<string, unknown[]>;
  readonly required: Set<string>;
  readonly isClosed: boolean;
}

class JoinedBranches {
  /** Properties and branches so far. Each branch may name all others, and each of those again: no more are joined than the schema has characters. */
  private joined = 0;
  private readonly most: number;
  /** Schemas, as they are compared. */
  private readonly written = new Map<unknown, string>();

  constructor(private readonly root: Json) {
    this.most = JSON.stringify(root).length;
  }

  /** @returns null = there is too much of it. */
  of(schema: Json, depth: number): Branch | null {
    const properties = new Map<string, unknown[]>();
    const required = new Set(Array.isArray(schema.required) ? schema.required.map(String) : []);
    const seen = new Map<string, Set<string>>();
    const add = (name: string, form: unknown) => {
      this.joined++;
      const written = this.written.get(form) ?? JSON.stringify(form);
      this.written.set(form, written);
      const forms = seen.get(name) ?? new Set();
      seen.set(name, forms);
      if (forms.has(written)) return;
      forms.add(written);
      const known = properties.get(name);
      if (known === undefined) properties.set(name, [form]);
      else known.push(form);
    };
    for (const [name, form] of Object.entries(record(schema.properties) ?? {})) add(name, form);
    let isClosed = schema.additionalProperties === false;
    for (const word of unionWords) {
      const forms = schema[word];
      if (!Array.isArray(forms) || depth >= maxUnions) continue;
      const branches: Branch[] = [];
      for (const form of forms) {
        this.joined++;
        const branch = this.joined > this.most ? null : this.of(resolved(form, this.root), depth + 1);
        if (branch === null) return null;
        this.joined += branch.required.size;
        branches.push(branch);
      }
      for (const branch of branches)
        for (const [name, values] of branch.properties) for (const value of values) add(name, value);
      const [first, ...more] = branches;
      const named = word === 'allOf' ? branches.flatMap((branch) => [...branch.required]) : (first?.required ?? []);
      for (const name of named)
        if (word === 'allOf' || more.every((branch) => branch.required.has(name))) required.add(name);
      if (word !== 'allOf') isClosed ||= branches.length > 0 && branches.every((branch) => branch.isClosed);
    }
    return this.joined > this.most ? null : { properties, required, isClosed };
  }
}

/** What a branch points to, where that lies in the schema itself. */
function resolved(form: unknown, root: Json): Json {
  const [, group = '', name = ''] = text(record(form)?.$ref)?.match(/^#\/(\$defs|definitions)\/([^/]+)$/) ?? [];
  const found = record(record(root[group])?.[name]);
  return found ?? record(form) ?? {};
}

/**
 * A list that came later in the conversation may offer a tool again, and upstreams refuse two of one name.
 * Sources: dataelement/Clawith#251, tailcallhq/forgecode#892.
 * @param nameOf the name that a tool is sent under; null = it has none. @returns the same list where each is offered once.
 */
export function offeredOnce<T>(
  tools: readonly T[],
  nameOf: (tool: T) => string | null,
  dropped: Dropped,
): readonly T[] {
  const names = new Set<string>();
  const once = tools.filter((tool, index) => {
    const name = nameOf(tool);
    if (name === null || !names.has(name)) {
      if (name !== null) names.add(name);
      return true;
    }
    dropped.push(`/tools/${index}: ${name} is offered already`);
    return false;
  });
  return once.length === tools.length ? tools : once;
}

/** @param names of the tools that are sent. @returns the choice; null, and declared, where it names a tool that is not. */
export function offeredChoice(
  choice: ToolChoice | null,
  names: ReadonlySet<unknown>,
  dropped: Dropped,
): ToolChoice | null {
  if (choice === null || typeof choice === 'string') return choice;
  if (names.has(choice.name) || names.has(portableName(choice.name))) return choice;
  dropped.push(`/tool_choice: ${choice.name} is not among the tools that are sent`);
  return null;
}

/** Types of tools that the client runs, in forms of their own dialects. */
const clientRun = /^(?:local_shell|shell|apply_patch|computer|bash|text_editor|str_replace|memory)/;

/** Why a tool is not offered in another dialect. */
export const notPassed = ({ name }: Tool, index: number): string =>
  clientRun.test(name)
    ? `/tools/${index}: ${name} has a form that only its own dialect knows`
    : `/tools/${index}: ${name} runs only at its own provider`;

/** Whether each object of a schema requires all of its members and takes no others. */
function isClosed(schema: unknown): boolean {
  const open: unknown[] = [schema];
  while (open.length > 0) {
    const value = open.pop();
    const members = record(value);
    if (members !== null) {
      const properties = record(members.properties);
      if (members.type === 'object' || properties !== null) {
        const required = new Set(Array.isArray(members.required) ? members.required : []);
        if (members.additionalProperties !== false) return false;
        for (const name in properties) if (!required.has(name)) return false;
      }
    }
    if (typeof value === 'object') for (const inner of Object.values(value ?? {})) open.push(inner);
  }
  return true;
}

/**
 * OpenAI follows closed schemas alone strictly, where others follow those that leave something open too; its own clients
 * are refused by it. Source: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
 */
export function strictFor(
  { dialect }: ChatRequest,
  { strict, schema }: { readonly strict: boolean | null; readonly schema: unknown },
  path: string,
  dropped: Dropped,
): boolean | null {
  if (strict !== true || dialect === 'openai-chat' || dialect === 'openai-responses' || isClosed(schema)) return strict;
  dropped.push(`${path}/strict: a schema that leaves something open is not followed strictly`);
  return false;
}
