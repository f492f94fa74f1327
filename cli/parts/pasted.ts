/** A key may be a JSON file of many lines: a line end inside of it does not end the answer. */

/** An empty line gives up what never becomes whole. */
export function continues(text: string): boolean {
  if (!text.trimStart().startsWith('{') || text.endsWith('\n')) return false;
  try {
    JSON.parse(text);
    return false;
  } catch {
    return true;
  }
}

/** @param text so far. @param input what came, line ends among it. @returns what is there now, and whether it is the answer. */
export function withInput(text: string, input: string): { readonly text: string; readonly whole: boolean } {
  const [first = '', ...lines] = input.replace(/\r\n?/g, '\n').split('\n');
  let held = text + printable(first);
  for (const line of lines) {
    if (!continues(held)) return { text: held.trimEnd(), whole: true };
    held += `\n${printable(line)}`;
  }
  return { text: held, whole: false };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: keys that are no text
const printable = (text: string): string => text.replace(/[\u0000-\u001f\u007f]/g, '');
