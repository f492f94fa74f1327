/** Pieces of an answer that no part of the common form can be made of: a client of the upstream's own dialect gets them all the same. */
import type { EventOf } from '../canonical.ts';

/** Members that say what a piece is, whose it is, or prove it: a model wrote none of them. */
const labels: ReadonlySet<string> = new Set([
  ...['type', 'id', 'object', 'model', 'name', 'role', 'status', 'index', 'format', 'language'],
  ...['mime_type', 'mimeType', 'media_type', 'finish_reason', 'stop_reason', 'encrypted_content'],
]);
const isLabel = (name: string): boolean => labels.has(name) || /(?:_id|signature)$/i.test(name);

/** @param value the piece as the upstream wrote it. */
export function omitted(what: string, value: unknown): EventOf<'omitted'> {
  const words = wordsIn(value);
  return words === '' ? { type: 'omitted', what } : { type: 'omitted', what, words };
}

/** @param value of a member. @returns an empty text where the member says nothing to anybody who reads the answer. */
export const omittedWords = (name: string, value: unknown): string => (isLabel(name) ? '' : wordsIn(value));

/** All texts in it, in no order. Nesting is as deep as an upstream likes. */
function wordsIn(value: unknown): string {
  let words = '';
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === 'string') words += next;
    else if (Array.isArray(next)) for (const item of next) open.push(item);
    else if (typeof next === 'object' && next !== null)
      for (const [name, member] of Object.entries(next)) if (!isLabel(name)) open.push(member);
  }
  return words;
}
