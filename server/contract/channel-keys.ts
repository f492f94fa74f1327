/** Keys of a channel in one text: one per line, but a key that is JSON is one key however many lines it has. */

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A list of objects is a list of keys. */
function keysOf(text: string): readonly string[] | null {
  const value = parsed(text);
  if (Array.isArray(value)) return value.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
  return typeof value === 'object' && value !== null ? [text] : null;
}

const opens = (line: string): boolean => line.startsWith('{') || line.startsWith('[');
const closes = (line: string): boolean => line.endsWith('}') || line.endsWith(']');

/** @returns keys without blank lines and outer spaces. What begins like JSON and is none stays in one piece: it may hold a private key. */
export function keysIn(text: string): string[] {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const keys: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    if (!opens(line)) {
      keys.push(line);
      continue;
    }
    let end = at;
    let found: readonly string[] | null = null;
    for (; end < lines.length && found === null; end++)
      if (closes(lines[end] ?? '')) found = keysOf(lines.slice(at, end + 1).join('\n'));
    keys.push(...(found ?? [lines.slice(at).join('\n')]));
    at = end - 1;
  }
  return keys;
}
