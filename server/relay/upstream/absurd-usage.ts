/** Counts of tokens that cannot be, in an answer that passes through: nobody is charged by them, and its client is not told them. */
import { parseJson, record } from '../../protocols/shared/json.ts';
import type { RawFrame } from '../../protocols/shared/sse.ts';
import { tokenCount } from '../../protocols/shared/usage.ts';
import { type DeepEdit, editPaths } from '../intake/json-text.ts';

type Path = readonly (string | number)[];

/** Where dialects state what an answer used: in itself, or in what an event carries. */
const carriers = ['message', 'response', 'delta', 'x_groq'] as const;
const containers = ['usage', 'usageMetadata', 'meta'] as const;
/** Counts that stand in the answer itself. */
const bareCounts = ['prompt_eval_count', 'eval_count'] as const;
/** Others beside them, such as prices and times, are no counts. */
const countName = /(?:tokens?|count|units|requests)$/i;
/** A count below zero, with a fraction, or of eight digits and more. */
const suspicious = /(?:tokens?|count|units|requests)"\s{0,8}:\s{0,8}"?(?:-|\d{8}|\d{1,7}[.e])/i;
const deepest = 6;
/** Edits of one container at most. No upstream counts so many: the place of each is looked for. */
const maxEdits = 64;

/** Words are no counts. */
const isAbsurd = (value: unknown): boolean =>
  (typeof value === 'number' || (typeof value === 'string' && numeral.test(value))) && tokenCount(value) === null;
const numeral = /^[-+]?\d/;

/** Nearly always there is none, and nothing is made for it. */
function hasAbsurd(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || depth > deepest) return false;
  for (const name in value) {
    const one = (value as Readonly<Record<string, unknown>>)[name];
    if (typeof one === 'object' ? hasAbsurd(one, depth + 1) : isAbsurd(one) && countName.test(name)) return true;
  }
  return false;
}

function addAbsurd(value: unknown, path: Path, edits: DeepEdit[]): void {
  if (typeof value !== 'object' || value === null || path.length > deepest) return;
  for (const [name, one] of Object.entries(value)) {
    const place = [...path, Array.isArray(value) ? Number(name) : name];
    if (typeof one === 'object') addAbsurd(one, place, edits);
    else if (isAbsurd(one) && countName.test(name)) edits.push({ path: place, value: '0' });
  }
}

function addAbsurdWithin(container: unknown, path: Path, edits: DeepEdit[]): void {
  if (!hasAbsurd(container, 0)) return;
  const found: DeepEdit[] = [];
  addAbsurd(container, path, found);
  if (found.length <= maxEdits) edits.push(...found);
  else edits.push({ path, value: '{}' });
}

function addAbsurdOf(answer: unknown, path: Path, edits: DeepEdit[]): void {
  const members = record(answer);
  if (members === null) return;
  for (const name of containers) {
    const container = record(members[name]);
    if (container !== null) addAbsurdWithin(container, [...path, name], edits);
  }
  for (const name of bareCounts) if (isAbsurd(members[name])) edits.push({ path: [...path, name], value: '0' });
  if (!Array.isArray(members.choices)) return;
  for (const [at, choice] of members.choices.entries()) {
    const usage = record(choice)?.usage;
    if (usage !== undefined) addAbsurdWithin(usage, [...path, 'choices', at, 'usage'], edits);
  }
}

/** @param body an answer, an event, or a list of them. */
function absurdIn(body: unknown): readonly DeepEdit[] {
  const edits: DeepEdit[] = [];
  if (!Array.isArray(body)) addAbsurdOfEvent(body, [], edits);
  else for (const [at, answer] of body.entries()) addAbsurdOfEvent(answer, [at], edits);
  return edits;
}

function addAbsurdOfEvent(event: unknown, path: Path, edits: DeepEdit[]): void {
  addAbsurdOf(event, path, edits);
  const members = record(event);
  for (const name of carriers) if (members?.[name] !== undefined) addAbsurdOf(members[name], [...path, name], edits);
}

/** @param body what the bytes of a whole answer say. @returns the same where all is possible. */
export function withoutAbsurd<T extends Uint8Array>(bytes: T, body: unknown): T | Buffer<ArrayBuffer> {
  const edits = absurdIn(body);
  return edits.length === 0 ? bytes : Buffer.from(editPaths(Buffer.from(bytes).toString(), edits));
}

/** The same of an event. @param text its JSON, and what frames it. @returns null where all is possible. */
export function withoutAbsurdText(text: string): string | null {
  if (!suspicious.test(text)) return null;
  const begin = text.indexOf('{');
  const end = text.lastIndexOf('}') + 1;
  const json = text.slice(begin, end);
  const edits = begin < 0 ? [] : absurdIn(parseJson(json));
  return edits.length === 0 ? null : text.slice(0, begin) + editPaths(json, edits) + text.slice(end);
}

/** The same of a frame of a stream. @param bytes of it, as far as they were not changed. @returns null where all is possible. */
export function withoutAbsurdIn({ text }: Pick<RawFrame, 'text'>, bytes: Uint8Array): Buffer | null {
  const possible = suspicious.test(text) ? withoutAbsurdText(Buffer.from(bytes).toString()) : null;
  return possible === null ? null : Buffer.from(possible);
}
