/** Small edits deep inside of a JSON object's text; every byte that is not edited stays as it is. */
import { type Edits, editMembers, outline } from './json-text.ts';

export interface DeepEdit {
  readonly path: readonly (string | number)[];
  /** JSON text; undefined removes the member or element. */
  readonly value: string | undefined;
}

/** @param text an object's or a list's. What a path does not meet is left alone. */
export function editPaths(text: string, edits: readonly DeepEdit[]): string {
  if (edits.length === 0) return text;
  const groups = new Map<string | number, DeepEdit[]>();
  for (const { path, value } of edits) {
    const [first, ...rest] = path;
    if (first === undefined) continue;
    const group = groups.get(first) ?? [];
    group.push({ path: rest, value });
    groups.set(first, group);
  }
  return text.trimStart().startsWith('[') ? editElements(text, groups) : editObject(text, groups);
}

type Groups = ReadonlyMap<string | number, readonly DeepEdit[]>;

/** The last word about a place wins: what is removed needs no edits within. */
function changed(text: string | null, group: readonly DeepEdit[]): string | undefined {
  const whole = group.find(({ path }) => path.length === 0);
  if (whole !== undefined) return whole.value;
  return text === null ? undefined : editPaths(text, group);
}

function editObject(text: string, groups: Groups): string {
  const shape = outline(text);
  if (!shape.ok) return text;
  const edits = new Map<string, string | undefined>();
  for (const [key, group] of groups) {
    const member = shape.members.findLast((one) => one.key === key);
    edits.set(
      String(key),
      changed(member === undefined ? null : text.slice(member.valueStart, member.valueEnd), group),
    );
  }
  return editMembers(text, shape, edits as Edits);
}

function editElements(text: string, groups: Groups): string {
  const elements = elementsOf(text);
  const last = elements.at(-1);
  if (last === undefined) return text;
  let out = text.slice(0, elements[0]?.start ?? 0);
  let kept = 0;
  for (const [index, { start, end }] of elements.entries()) {
    const own = text.slice(start, end);
    const group = groups.get(index);
    const told = group === undefined ? own : changed(own, group);
    if (told === undefined) continue;
    // What stands between two elements stays with the second.
    out += kept === 0 ? told : text.slice(elements[index - 1]?.end ?? start, start) + told;
    kept++;
  }
  return out + text.slice(last.end);
}

interface Span {
  readonly start: number;
  readonly end: number;
}

const isSpace = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9;

/** @param text valid JSON, a list. */
function elementsOf(text: string): Span[] {
  const spans: Span[] = [];
  let depth = 0;
  let start = -1;
  let last = -1;
  const close = () => {
    if (start >= 0) spans.push({ start, end: last + 1 });
    start = -1;
  };
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isSpace(code)) continue;
    if (depth === 1 && (code === 44 || code === 93)) {
      close();
      if (code === 93) break;
      continue;
    }
    if (depth >= 1 && start < 0) start = at;
    if (code === 34) at = stringEnd(text, at);
    else if (code === 123 || code === 91) depth++;
    else if (code === 125 || code === 93) depth--;
    last = at;
  }
  return spans;
}

function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== 34) at += text.charCodeAt(at) === 92 ? 2 : 1;
  return at;
}
