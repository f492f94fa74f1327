/** Looks at a JSON text without building it: a guard against hostile nesting, and exact places for edits that leave every other byte as it is. */
import { rethrowOutOfMemory } from '../../contract/own-shortage.ts';

/** Re-serialising 50,000 nested arrays stalls the loop for two seconds; no real request comes near these. */
const maxDepth = 128;
const maxNodes = 100_000;
/** The widest request of any client seen has 19 members. */
export const maxMembers = 1000;

/** A top-level member: `text.slice(valueStart, valueEnd)` is its value. */
export interface Member {
  readonly key: string;
  readonly keyStart: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

export type Outline =
  | {
      readonly ok: true;
      readonly members: readonly Member[];
      /** Index of the closing brace. */
      readonly end: number;
      /** Members at every depth, in valid JSON. */
      readonly all: number;
    }
  | { readonly ok: false; readonly reason: 'not_object' | 'too_deep' | 'malformed' };

const quote = 34;
const backslash = 92;

/** Index just past the string that opens at `start`, or -1. */
function skipString(text: string, start: number): number {
  let at = start + 1;
  for (;;) {
    const end = text.indexOf('"', at);
    if (end < 0) return -1;
    let slashes = 0;
    for (let back = end - 1; back > start && text.charCodeAt(back) === backslash; back--) slashes++;
    if (slashes % 2 === 0) return end + 1;
    at = end + 1;
  }
}

const isSpace = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9;

/** Index of what stands at `start` or behind it, without the blanks in between. */
function firstFrom(text: string, start: number): number {
  let at = start;
  while (isSpace(text.charCodeAt(at))) at++;
  return at;
}

/** Index just past what stands before `end`, without the blanks in between. */
function lastBefore(text: string, end: number): number {
  let last = end;
  while (isSpace(text.charCodeAt(last - 1))) last--;
  return last;
}

/**
 * Walks the text once. It does not validate: `JSON.parse` does that afterwards; what it promises is that nesting and
 * size are bounded and that, for valid JSON, the members' places are exact.
 * @param max members.
 */
export function outline(text: string, max = Number.POSITIVE_INFINITY): Outline {
  let at = text.charCodeAt(0) <= 32 ? firstFrom(text, 0) : 0;
  if (text.charCodeAt(at) !== 123) return { ok: false, reason: 'not_object' };
  const members: Member[] = [];
  let depth = 0;
  let nodes = 0;
  let all = 0;
  let key = '';
  let keyStart = -1;
  let valueStart = -1;
  const length = text.length;
  while (at < length) {
    const code = text.charCodeAt(at);
    switch (code) {
      case quote: {
        let end = text.indexOf('"', at + 1) + 1;
        if (text.charCodeAt(end - 2) === backslash) end = skipString(text, at);
        if (end <= 0) return { ok: false, reason: 'malformed' };
        if (depth === 1 && keyStart < 0) {
          keyStart = at;
          key = text.slice(at + 1, end - 1);
          if (key.includes('\\')) key = decodeKey(text.slice(at, end));
        }
        at = end;
        continue;
      }
      case 123: // {
      case 91: // [
        depth++;
        nodes++;
        if (depth > maxDepth || nodes > maxNodes) return { ok: false, reason: 'too_deep' };
        break;
      case 125: // }
      case 93: // ]
        depth--;
        if (depth === 0) {
          if (valueStart >= 0)
            members.push({
              key,
              keyStart,
              valueStart,
              valueEnd: text.charCodeAt(at - 1) <= 32 ? lastBefore(text, at) : at,
            });
          return { ok: true, members, end: at, all };
        }
        break;
      case 44: // ,
        nodes++;
        if (nodes > maxNodes) return { ok: false, reason: 'too_deep' };
        if (depth === 1 && valueStart >= 0) {
          members.push({
            key,
            keyStart,
            valueStart,
            valueEnd: text.charCodeAt(at - 1) <= 32 ? lastBefore(text, at) : at,
          });
          if (members.length >= max) return { ok: false, reason: 'too_deep' };
          valueStart = -1;
          keyStart = -1;
        }
        break;
      case 58: // :
        all++;
        if (depth === 1 && valueStart < 0) {
          valueStart = text.charCodeAt(at + 1) <= 32 ? firstFrom(text, at + 1) : at + 1;
        }
        break;
    }
    at++;
  }
  return { ok: false, reason: 'malformed' };
}

function decodeKey(literal: string): string {
  try {
    return String(JSON.parse(literal));
  } catch (error) {
    rethrowOutOfMemory(error);
    return literal;
  }
}

/** A name that occurs twice in one object is read by some parsers as the first and by others as the last. */
interface OpenValue {
  /** Null = a list. */
  readonly names: Set<string> | null;
  /** The name of the member whose value is read. */
  name: string;
  isKey: boolean;
}

/**
 * The first name that stands twice in an object.
 * @param text valid JSON. @param isFree whether what a member holds may say what it likes; `inList` = a list stands round it.
 */
export function nameTwice(text: string, isFree: (name: string, inList: boolean) => boolean): string | null {
  const open: OpenValue[] = [];
  let lists = 0;
  /** Number of open values where a free one begins. */
  let free = Number.POSITIVE_INFINITY;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const inner = open.at(-1);
    if (code === quote) {
      const end = skipString(text, at);
      if (end < 0) return null;
      if (inner?.isKey === true && inner.names !== null) {
        inner.name = decodeKey(text.slice(at, end));
        if (open.length < free && inner.names.has(inner.name)) return inner.name;
        inner.names.add(inner.name);
      }
      at = end - 1;
    } else if (code === 123 || code === 91) {
      if (open.length < free && inner !== undefined && inner.names !== null && isFree(inner.name, lists > 0))
        free = open.length + 1;
      if (code === 91) lists++;
      open.push({ names: code === 123 ? new Set() : null, name: '', isKey: code === 123 });
    } else if (code === 125 || code === 93) {
      if (code === 93) lists--;
      open.pop();
      if (open.length < free) free = Number.POSITIVE_INFINITY;
    } else if (inner !== undefined && (code === 44 || code === 58)) inner.isKey = code === 44 && inner.names !== null;
  }
  return null;
}

/** Value as JSON text; undefined removes the member. */
export type Edits = ReadonlyMap<string, string | undefined>;

/** Applies edits to top-level members and leaves every other byte alone; new members go to the end. */
export function editMembers(text: string, shape: Outline & { ok: true }, edits: Edits): string {
  const { members, end } = shape;
  const first = members[0];
  let out = text.slice(0, first?.keyStart ?? end);
  let before = out.length;
  let kept = 0;
  for (const member of members) {
    const edited = edits.has(member.key);
    const value = edited ? edits.get(member.key) : text.slice(member.valueStart, member.valueEnd);
    // The comma and the blanks before a member stay with it and go with it; the first one kept has none.
    if (value !== undefined) {
      if (kept++ > 0) out += text.slice(before, member.keyStart);
      out += text.slice(member.keyStart, member.valueStart) + value;
    }
    before = member.valueEnd;
  }
  if (first !== undefined) out += text.slice(before, end);
  for (const [key, value] of edits)
    if (value !== undefined && !hasKey(members, key)) out += `${kept++ > 0 ? ',' : ''}${JSON.stringify(key)}:${value}`;
  return out + text.slice(end);
}

function hasKey(members: readonly Member[], key: string): boolean {
  for (const member of members) if (member.key === key) return true;
  return false;
}

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

/** The last edit of a place wins: within a removed value none is needed. */
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
  return editMembers(text, shape, edits);
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
    const edited = group === undefined ? own : changed(own, group);
    if (edited === undefined) continue;
    // Bytes between two elements stay with the second.
    out += kept === 0 ? edited : text.slice(elements[index - 1]?.end ?? start, start) + edited;
    kept++;
  }
  return out + text.slice(last.end);
}

interface Span {
  readonly start: number;
  readonly end: number;
}

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
    if (code === quote) {
      const after = skipString(text, at);
      at = (after < 0 ? text.length : after) - 1;
    } else if (code === 123 || code === 91) depth++;
    else if (code === 125 || code === 93) depth--;
    last = at;
  }
  return spans;
}
