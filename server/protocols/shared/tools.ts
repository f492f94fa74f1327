/** Arguments and schemas of tools where dialects disagree: text or object, free text or JSON, ids of every shape. */
import type { Tool } from '../canonical.ts';
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

/** A bundle's name becomes part of its tools' names where a dialect knows no bundles. */
export const bundled = (namespace: string | null, name: string): string =>
  namespace === null ? name : `${namespace}__${name}`;

/** Names that every dialect accepts. */
export const portableName = (name: string): string =>
  matches.test(name) ? name : name.slice(0, 64).replace(/[^a-zA-Z0-9_-]/g, '_') || 'tool';

/** Types of tools that the client runs, in forms of their own dialects. */
const clientRun = /^(?:local_shell|shell|apply_patch|computer|bash|text_editor|str_replace|memory)/;

/** Why a tool is not offered in another dialect. */
export const notPassed = ({ name }: Tool, index: number): string =>
  clientRun.test(name)
    ? `/tools/${index}: ${name} has a form that only its own dialect knows`
    : `/tools/${index}: ${name} runs only at its own provider`;
